"""What derivatives cost: pinned, at or below the best figures of the design.

Costs are `Ops.cost` of the lowered program, what the machine pays. Figures of others
are of ∂/∂q and ∂/∂q̇ alone: M and M⁻¹ are left out there.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

import ramidyn
from ramidyn.compiler import program_of
from ramidyn.robot import Robot
from ramidyn.simplify.passes import lower, simplify
from ramidyn.symbolic.column_loop import SIDE_BY_SIDE
from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import Call, Expr
from ramidyn.symbolic.program import Callee, Program, reachable
from ramidyn.tracing.quantity import Quantity
from support.paths import SHARED_ROBOTS
from support.real_robots import example_urdfs

MADE = {
    "humanoid30 plain": functools.partial(ramidyn.robots.humanoid30, "plain"),
    "humanoid30 general": functools.partial(ramidyn.robots.humanoid30, "general"),
    "chain30 plain": functools.partial(ramidyn.robots.chain30, "plain"),
}
FILES = {
    "iiwa14": "iiwa14/iiwa14.xml",
    "g1_with_hands": "g1_with_hands/g1_with_hands.xml",
}
TALOS = "talos_data/talos_full_v2.urdf"


@functools.cache
def robot_of(name: str) -> Robot:
    if name in MADE:
        return MADE[name]()
    if name == "talos":
        paths = example_urdfs()
        if TALOS not in paths:
            pytest.skip("needs example-robot-data")
        return ramidyn.load(paths[TALOS], root="floating", mimic="independent")
    if not (SHARED_ROBOTS / FILES[name]).exists():
        pytest.skip(f"no {FILES[name]} in {SHARED_ROBOTS}")
    return ramidyn.load(SHARED_ROBOTS / FILES[name])


def cost(program: Program) -> int:
    return count(lower(simplify(program))).cost


def first_two(program: Program) -> Program:
    """Return the program without its third output, M or M⁻¹."""
    kept = sum(v.size for v in program.outputs[:2])
    results = program.results[:kept]
    for call in program.calls:
        loop = call.value.columns
        block = loop.rows * SIDE_BY_SIDE
        places = [e.value for e in results if e.op == "result"]
        used = {p // block * SIDE_BY_SIDE + p % SIDE_BY_SIDE for p in places}
        sweeps = (
            s._replace(columns=tuple(c for c in s.columns if c in used))
            for s in loop.sweeps
        )
        shorter = Callee(loop._replace(sweeps=tuple(sweeps)))
        made = Call("call", call.args, shorter, call.region)
        results = tuple(
            Expr("result", (made,), e.value, e.region) if e.op == "result" else e
            for e in results
        )
    order = reachable(results)
    return replace(program, outputs=program.outputs[:2], results=results, order=order)


def traced(robot: Robot, quantity: Quantity) -> Program:
    return program_of(quantity, robot)


DESIGN = {
    "iiwa14": (2123, 3226),
    "humanoid30 plain": (12341, 35448),
    "humanoid30 general": (15865, 41754),
    "g1_with_hands": (31891, 120622),
}
"""the best figures so far: of inverse dynamics, of forward dynamics"""
FAST = ("iiwa14",)
BY_NAME = [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in DESIGN]


@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
@pytest.mark.parametrize("name", BY_NAME)
def test_derivatives_cost_no_more_than_the_best_figures(name: str) -> None:
    robot = robot_of(name)
    inverse = traced(robot, ramidyn.inverse_dynamics_derivatives)
    forward = traced(robot, ramidyn.forward_dynamics_derivatives)
    found = cost(first_two(inverse)), cost(first_two(forward))
    assert found[0] <= DESIGN[name][0]
    assert found[1] <= DESIGN[name][1]


GRADIENT = 2.2
"""of forward dynamics: what it may cost with its gradient"""


@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
@pytest.mark.parametrize(
    "name",
    [
        "iiwa14",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in (*MADE, "g1_with_hands", "talos")
        ),
    ],
)
def test_a_gradient_costs_little_more_than_forward_dynamics(name: str) -> None:
    robot = robot_of(name)
    gradient = ramidyn.vjp(ramidyn.forward_dynamics, ("q", "qd", "tau"))
    with_gradient = cost(traced(robot, gradient))
    assert with_gradient <= GRADIENT * cost(traced(robot, ramidyn.forward_dynamics))


PINNED = {
    "iiwa14": (2149, 3173, 1253),
    "humanoid30 plain": (11294, 33048, 6249),
    "humanoid30 general": (14593, 36565, 12303),
    "chain30 plain": (21070, 85672, 6777),
    "g1_with_hands": (30682, 111489, 17402),
    "talos": (29442, 107344, 15536),
}
"""whole, as compiled: dID with M, dFD with M⁻¹, forward dynamics with its gradient"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
@pytest.mark.parametrize("name", PINNED)
def test_costs_of_derivatives_are_pinned(name: str) -> None:
    robot = robot_of(name)
    wanted = (
        ramidyn.inverse_dynamics_derivatives,
        ramidyn.forward_dynamics_derivatives,
        ramidyn.vjp(ramidyn.forward_dynamics, ("q", "qd", "tau")),
    )
    assert tuple(cost(traced(robot, x)) for x in wanted) == PINNED[name]
