"""Methods called with symbols: the kernel is the sum of its parts, and shares them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.catalog.paper_robots import random_tree
from ramidyn.compiler import program_of
from ramidyn.errors import CompileError, ShapeError, TraceError
from ramidyn.linalg.factor import ltdl
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.functions import sqrt
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.quantity import REQUIRED, Quantity
from support.close import assert_close
from support.planar import four_bar, parallelogram

DT = 1e-3


@functools.cache
def arm() -> Robot:
    joints = ("revolute", "helical", "prismatic")
    return Robot.from_description(random_tree(5, 3, joints=joints, massless=0.0))


@functools.cache
def linkage() -> Robot:
    return four_bar()


def robot_of(name: str) -> Robot:
    return linkage() if name.startswith(("constrai", "loop")) else arm()


def asked(name: str) -> tuple[Robot, Quantity, dict[str, Any]]:
    """Return a quantity with its options, and those by name."""
    robot, quantity = robot_of(name), QUANTITIES[name]
    defaults = quantity.declaration.defaults
    options: dict[str, Any] = {
        n: robot.body_names[-1] for n, x in defaults.items() if x is REQUIRED
    }
    if "tasks" in options and "damping" in defaults:
        options["damping"] = 0.1  # more rows than can move independently
    return robot, quantity(**options), options


def content(program: Program) -> tuple[Any, ...]:
    """Return the operations of a program, without names and regions."""
    *_, codes, args, values, slots, _, results, _, calls, _ = program.flat()
    return codes, args, values, slots, results, calls


def sum_of(*parts: Ops) -> dict[str, int]:
    return {
        f: sum(getattr(p, f) for p in parts) for f in ("mul", "add", "div", "sincos")
    }


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_method_alone_in_a_kernel_is_its_own_program(name: str) -> None:
    robot, quantity, options = asked(name)
    own = program_of(quantity, robot)
    shapes = {v.name: v.shape for v in own.inputs}

    def call(*state: Any) -> Any:
        found = getattr(robot, name)(*state, **options)
        outputs = found if isinstance(found, tuple) else (found,)
        assert [np.shape(x) for x in outputs] == [v.shape for v in own.outputs]
        return found

    inlined = check(trace(call, shapes))
    assert content(inlined) == content(own)


def test_a_step_is_the_sum_of_its_parts() -> None:
    robot = arm()

    def step(q: Any, qd: Any, tau: Any) -> Any:
        qdd = robot.forward_dynamics(q, qd, tau)
        qd = qd + DT * qdd
        return robot.integrate(q, qd, DT), qd

    n = robot.nv
    step_kernel = ramidyn.kernel(step, {"q": robot.nq, "qd": n, "tau": n})
    dynamics = robot.forward_dynamics.ops  # type: ignore[attr-defined]
    program = trace(lambda q, qd: robot.integrate(q, qd, DT), {"q": robot.nq, "qd": n})
    own = Ops(mul=n, add=n)
    expected = sum_of(dynamics, count(simplify(program)), own)
    assert sum_of(step_kernel.ops) == expected

    rng = np.random.default_rng(0)
    q, qd, tau = robot.random_configuration(rng, 5), *rng.normal(size=(2, 5, n))
    v = qd + DT * robot.forward_dynamics(q, qd, tau)
    after = step_kernel(q, qd, tau)
    assert_close(after[1], v)
    assert_close(after[0], robot.integrate(q, v, DT))


def test_quantities_of_one_state_share_what_a_list_of_them_shares() -> None:
    robot, frame = arm(), arm().body_names[-1]

    def both(q: Any, qd: Any) -> Any:
        return {"T": robot.pose(q, frame), "h": robot.bias_forces(q, qd)}

    wanted = [ramidyn.pose(frame), ramidyn.bias_forces]
    together = program_of(wanted, robot)
    inlined = trace(both, {"q": robot.nq, "qd": robot.nv})
    assert count(simplify(inlined)) == count(simplify(together))
    apart = [count(simplify(program_of(x, robot))).total for x in wanted]
    assert count(simplify(inlined)).total < sum(apart)


def test_calling_twice_costs_nothing_more() -> None:
    robot = arm()
    once = trace(robot.mass_matrix, {"q": robot.nq})
    twice = trace(
        lambda q: robot.mass_matrix(q) + robot.mass_matrix(q), {"q": robot.nq}
    )
    added = robot.nv * (robot.nv + 1) // 2
    assert count(twice).total <= count(once).total + added


def test_numbers_among_symbols_fold() -> None:
    robot = arm()
    zero = np.zeros(robot.nv)
    at_rest = trace(
        lambda q: robot.inverse_dynamics(q, zero, [0] * robot.nv), {"q": robot.nq}
    )
    gravity = program_of(ramidyn.gravity_forces, robot)
    assert count(simplify(at_rest)) == count(simplify(gravity))
    fixed = trace(lambda x: robot.mass_matrix([*x, *[0.1] * (robot.nq - 1)]), {"x": 1})
    q = np.full(robot.nq, 0.1)
    (found,) = evaluate(fixed, {"x": q[:1]}).values()
    (expected,) = evaluate(program_of(ramidyn.mass_matrix, robot), {"q": q}).values()
    assert_close(found, expected)
    assert count(fixed).sincos <= 1


def test_two_robots_share_one_kernel() -> None:
    left, right = arm(), linkage()

    def energies(q: Any, p: Any) -> Any:
        return left.potential_energy(q) + right.potential_energy(p)

    program = trace(energies, {"q": left.nq, "p": right.nq})
    q, p = np.full(left.nq, 0.3), np.full(right.nq, 0.2)
    (found,) = evaluate(program, {"q": q, "p": p}).values()
    parts = [
        evaluate(program_of(ramidyn.potential_energy, r), {"q": x})["potential_energy"]
        for r, x in ((left, q), (right, p))
    ]
    assert_close(found, sum(parts))


def test_a_batch_of_symbols_gives_a_batch_of_results() -> None:
    robot, frame = arm(), arm().body_names[-1]

    def stages(Q: Any, q: Any) -> Any:
        return {
            "T": robot.pose(Q, frame),
            "d": robot.difference(Q, q),
            "V": robot.potential_energy(Q),
        }

    program = trace(stages, {"Q": (3, robot.nq), "q": robot.nq})
    assert [v.shape for v in program.outputs] == [(3, 4, 4), (3, robot.nv), (3,)]
    Q = robot.random_configuration(1, 3)
    found = evaluate(program, {"Q": Q, "q": np.zeros(robot.nq)})
    for k in range(3):
        inputs = {"q": Q[k]}
        (T,) = evaluate(program_of(ramidyn.pose(frame), robot), inputs).values()
        assert_close(found["T"][k], T)
        assert_close(found["d"][k], -Q[k])


def test_a_batch_axis_at_the_end_stays_there() -> None:
    norm = ramidyn.kernel(lambda x: [x @ x, x[0]], {"x": 2}, layout="batch_last")
    program = trace(norm, {"x": (2, 5)})
    x = np.arange(10.0).reshape(2, 5)
    expected = np.array([(x * x).sum(0), x[0]])
    assert_close(evaluate(program, {"x": x})["result"], expected)


def test_kernels_and_compiled_lists_are_inlined_too() -> None:
    robot = arm()
    both = ramidyn.compile([ramidyn.mass_matrix, ramidyn.bias_forces], robot)
    half = ramidyn.kernel(lambda x, k=0.5: k * x, {"x": 2, "k": ()})

    def f(q: Any, qd: Any) -> Any:
        found = both(q, qd)
        return (
            found.mass_matrix @ qd + found.bias_forces,
            half(q[:2]),
            half(k=3, x=[1, 2]),
        )

    program = trace(f, {"q": robot.nq, "qd": robot.nv})
    q, qd = np.full(robot.nq, 0.4), np.full(robot.nv, 0.7)
    tau, halved, constant = evaluate(program, {"q": q, "qd": qd}).values()
    inputs = {"q": q, "qd": qd, "qdd": qd}
    own = evaluate(program_of(ramidyn.inverse_dynamics, robot), inputs)
    assert_close(tau, own["inverse_dynamics"])
    assert_close(halved, 0.5 * q[:2])
    assert_close(constant, np.array([3.0, 6.0]))


def test_the_regions_and_labels_of_a_program_come_with_it() -> None:
    robot = arm()
    own = program_of(ramidyn.inverse_dynamics, robot)
    n = robot.nv
    inlined = trace(
        lambda q, qd, qdd: 2.0 * robot.inverse_dynamics(q, qd, qdd),
        {"q": robot.nq, "qd": n, "qdd": n},
    )
    used = [own.regions[e.region] for e in own.order if e.args]
    assert [inlined.regions[e.region] for e in inlined.order if e.args][
        : len(used)
    ] == used
    assert set(own.labels.values()) <= set(inlined.labels.values())


@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")  # redundant loops
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_kernel_of_redundant_loops_is_damped_for_its_own_dtype(dtype: str) -> None:
    robot = parallelogram()
    n = robot.nv

    def step(q: Any, qd: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, qd, tau)

    inner = ramidyn.kernel(step, {"q": n, "qd": n, "tau": n})
    outer = ramidyn.kernel(inner, {"q": n, "qd": n, "tau": n}, dtype=dtype)
    own = ramidyn.compile(ramidyn.forward_dynamics, robot, dtype=dtype)
    programs = [f._compilation.traced_for("float64") for f in (outer, own)]
    assert content(programs[0]) == content(programs[1])


def test_symbols_are_refused_where_they_cannot_be() -> None:
    robot = arm()
    n = robot.nv

    def shaped(q: Any) -> Any:
        return robot.mass_matrix(q[:2])

    with pytest.raises(ShapeError, match=rf"q has shape \(2,\); .* needs \({n},\) or"):
        trace(shaped, {"q": n})

    def written(q: Any) -> Any:
        return robot.mass_matrix(q, out=np.empty((n, n)))

    with pytest.raises(TraceError, match=r"was called with symbols and out=; omit"):
        trace(written, {"q": n})

    def compared(q: Any) -> Any:
        return robot.mass_matrix([*q[1:], q[0] < 0.0])

    with pytest.raises(TraceError, match=r"a comparison is not a number"):
        trace(compared, {"q": n})


def test_a_loop_over_columns_is_written_out() -> None:
    robot = Robot.from_description(random_tree(14, 3, joints=("revolute",)))
    n = robot.nv
    derivatives = ramidyn.compile(ramidyn.forward_dynamics_derivatives, robot)
    assert derivatives.program.calls

    def fn(q: Any, qd: Any, tau: Any) -> Any:
        along_q, along_qd, _ = robot.forward_dynamics_derivatives(q, qd, tau)
        return along_q + 2.0 * along_qd

    program = trace(fn, {"q": n, "qd": n, "tau": n})
    rng = np.random.default_rng(3)
    state = {name: rng.normal(size=n) for name in ("q", "qd", "tau")}
    by_loop = evaluate(derivatives.program, state)
    expected = by_loop["dqdd_dq"] + 2.0 * by_loop["dqdd_dqd"]
    assert_close(evaluate(program, state)["result"], expected)


def test_a_scalar_output_is_a_symbol() -> None:
    robot = arm()

    def energy(q: Any, qd: Any) -> Any:
        found = robot.kinetic_energy(q, qd)
        assert isinstance(found, Expr)
        return sqrt(found)

    trace(energy, {"q": robot.nq, "qd": robot.nv})


def test_what_runs_loops_of_its_own_is_refused_with_what_to_use() -> None:
    robot = arm()
    parents = [-1] * robot.nv

    def factored(q: Any) -> Any:
        return ltdl(robot.mass_matrix(q), parents).D

    expected = (
        r"H holds symbols, but sparse factors cannot .* use robot.mass_matrix_solve"
    )
    with pytest.raises(TraceError, match=expected):
        trace(factored, {"q": robot.nq})
    long = ramidyn.robots.chain(145)
    with pytest.raises(
        CompileError, match=r"are not compiled to straight-line code. I"
    ):
        trace(long.mass_matrix_solve, {"q": long.nq, "b": long.nv})
