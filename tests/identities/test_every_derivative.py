"""Derivatives of every quantity of the registry, forward and in reverse.

Along a random change of all inputs and some parameters, y changes by ẏ: by jvp, by a
complex step of the interpreter, and ȳ · ẏ = x̄ · ẋ with x̄ by vjp. New quantities are
included when they are registered. Trees have every joint type between them, several
roots, mimic joints, floating bases, force elements and external forces, in several
conventions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import forces
from ramidyn.catalog.paper_robots import JOINTS, random_tree
from ramidyn.compiler import program_of
from ramidyn.description.description import Mimic
from ramidyn.description.pose import Array
from ramidyn.quantities.registry import MODULES, QUANTITIES
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.jacobians import identifier
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.quantity import REQUIRED, Quantity
from support import complex_step
from support.close import assert_close
from support.every_joint import every_joint
from support.loops import closed_state
from support.planar import four_bar
from support.states import q_rate, state, with_joints

TOLERANCE = 1e-12
"""of complex steps, relative to the largest entry; M⁻¹ of a large tree loses three to
four digits both ways, so that its programs are evaluated in long double"""


def of_joints(*joints: str, seed: int, conventions: str, roots: int = 1) -> Robot:
    description = random_tree(len(joints), seed, joints, roots=roots, massless=0.0)
    return Robot.from_description(description, conventions=conventions)


def mimicking() -> Robot:
    """Two trees with a joint that follows one of the other tree, and rotors."""
    joints = ("revolute", "prismatic", "planar", "revolute")
    description = random_tree(5, 3, joints, roots=2, massless=0.0)
    single = [
        j.name
        for b in description.bodies
        for j in b.joints
        if j.type in ("revolute", "prismatic")
    ]
    follows = {single[-1]: Mimic(single[0], -0.7, 0.2)}
    changed = with_joints(
        description, lambda n: {"armature": 0.3, "mimic": follows.get(n)}
    )
    return Robot.from_description(changed, conventions="featherstone")


def sprung() -> Robot:
    """A floating base with a limb, a spring between its ends, and dampers."""
    robot = of_joints("floating", "helical", "universal", seed=6, conventions="mujoco")
    first, *_, last = robot.body_names
    spring = forces.PointSpring(first, last, 30.0, 2.0, rest_length=0.1)
    screw = next(j.name for j in robot.model.joints if j.type == "helical")
    return robot.add_force(spring).add_force(forces.JointDamper(screw, 1.5))


SMALL: dict[str, Callable[[], Robot]] = {
    "mimicking": mimicking,
    "sprung": sprung,
    "balls": lambda: of_joints(
        "spherical", "cylindrical", "fixed", seed=2, conventions="pinocchio"
    ),
    "four_bar": four_bar,
}
LARGE: dict[str, Callable[[], Robot]] = {
    "all_pinocchio": lambda: every_joint("pinocchio"),
    "all_mujoco": lambda: every_joint("mujoco"),
    "branched": lambda: of_joints(*JOINTS, seed=17, conventions="mujoco", roots=2),
}
PRECISION: dict[bool, tuple[Any, Any]] = {
    False: (float, complex),
    True: (np.longdouble, np.clongdouble),
}
NEEDS_LOOPS = {n for n, m in MODULES.items() if m == "closed_loops" or "loop_" in n}
MIMICKING = {"mimicking", "all_pinocchio", "all_mujoco"}
NO_MIMIC_JOINTS = {n for n, m in MODULES.items() if m == "articulated"}
QUATERNIONS = {"sprung", "balls", *LARGE}
CASES = [
    pytest.param(
        robot,
        name,
        space,
        marks=[pytest.mark.slow]
        if robot in LARGE or (robot, space) == ("sprung", "coordinates")
        else [],  # balls have quaternions too
    )
    for robot in (*SMALL, *LARGE)
    for name in QUANTITIES
    if name not in NEEDS_LOOPS or robot == "four_bar"
    if name not in NO_MIMIC_JOINTS or robot not in MIMICKING
    for space in ("tangent", "coordinates")
    if space == "tangent"
    or (robot in QUATERNIONS and "q" in QUANTITIES[name].declaration.inputs)
]


@functools.cache
def robot_of(name: str) -> Robot:
    return {**SMALL, **LARGE}[name]()


def test_these_robots_have_every_joint_type() -> None:
    bodies = [b for name in SMALL for b in robot_of(name).description.bodies]
    assert {j.type for b in bodies for j in b.joints} | {"fixed"} == set(JOINTS)


def with_options(name: str, robot: Robot) -> Quantity:
    """Return a quantity with the options that it needs, and an external force."""
    body = "coupler" if robot.loops else robot.body_names[-1]
    tree = robot.model.tree
    below = [tree.name(i) for i in tree.support(robot.model.frame(body).body)]
    base = next(n for n in below if n in robot.body_names)
    given = {"frame": body, "base": base, "tasks": [ramidyn.tasks.Task(body, "x")]}
    options = QUANTITIES[name].declaration.defaults
    chosen = {n: given[n] for n, default in options.items() if default is REQUIRED}
    if "external" in options:
        chosen |= {"external": (body,), "expressed_in": "local_world_aligned"}
    return QUANTITIES[name](**chosen)


def inputs_of(
    robot: Robot, program: Program, rng: np.random.Generator
) -> dict[str, Array]:
    known = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    if robot.loops:
        known["q"], known["qd"] = closed_state(robot)
    known["q0"] = known["q"]
    known["q1"] = robot.integrate(known["q"], 0.3 * rng.normal(size=robot.nv))
    known["dt"] = np.array(0.02)
    body = robot.tree.bodies[-1].name
    known[f"inertia:{body}"] = robot.inertial_parameters([body])
    turn = rng.normal(size=4)
    placement = [*rng.normal(size=3), *(turn / np.linalg.norm(turn))]
    known[f"placement:{body}"] = np.array(placement)
    return {
        v.name: known[v.name] if v.name in known else rng.normal(size=v.shape)
        for v in program.inputs
    }


def parameters_of(robot: Robot) -> tuple[str, ...]:
    body = robot.tree.bodies[-1].name
    return "gravity", f"inertia:{body}", f"placement:{body}"


def further(program: Program, word: str, values: Mapping[str, Array]) -> Any:
    """Return values as the inputs <name>_<word> of a program."""
    names = [v.name for v in program.inputs if v.name.endswith(f"_{word}")]
    return dict(zip(names, values.values(), strict=True))


@pytest.mark.parametrize(("robot_name", "name", "space"), CASES)
def test_every_quantity_changes_as_by_a_complex_step(
    robot_name: str, name: str, space: str, rng: np.random.Generator
) -> None:
    robot = robot_of(robot_name)
    quantity = with_options(name, robot)
    program = program_of(quantity, robot, parameters_of(robot))
    inputs = inputs_of(robot, program, rng)
    wrt = tuple(inputs)
    moves = {n: rng.normal(size=np.shape(x)) for n, x in inputs.items()}
    along = dict(moves)
    if "q" in inputs and space == "tangent":
        moves["q"] = rng.normal(size=robot.nv)
        along["q"] = q_rate(robot, inputs["q"], moves["q"])
    real, complex_ = PRECISION[robot_name in LARGE]
    expected = complex_step.directional(program, inputs, along, complex_)

    forward = program_of(ramidyn.jvp(quantity, wrt, space=space), robot)
    found = evaluate(forward, {**inputs, **further(forward, "tangent", moves)}, real)
    for y, change in expected.items():
        assert_close(found[f"{y}_tangent"], change, y, tolerance=TOLERANCE)

    backward = program_of(ramidyn.vjp(quantity, wrt, space=space), robot)
    weights = {n: rng.normal(size=np.shape(x)) for n, x in expected.items()}
    given = {**inputs, **further(backward, "cotangent", weights)}
    found = evaluate(backward, given, real)
    products = [weights[y] * change for y, change in expected.items()]
    scale = max(1.0, sum(float(np.abs(x).sum()) for x in products))
    total = sum(float(x.sum()) for x in products)
    names = {x: f"{identifier(x)}_cotangent" for x in wrt}
    back = sum(float((found[names[x]] * moves[x]).sum()) for x in wrt)
    assert abs(back - total) <= TOLERANCE * scale


# ------------------------------------------------------------ second derivatives

SCALARS = ("kinetic_energy", "potential_energy", "elastic_energy")


def test_these_are_all_quantities_with_one_number() -> None:
    robot = robot_of("four_bar")
    for name in QUANTITIES:
        outputs = program_of(with_options(name, robot), robot).outputs
        assert (name in SCALARS) == any(v.shape == () for v in outputs)


def changes_of_gradient(
    robot: Robot, gradient: Program, inputs: dict[str, Array], wrt: str
) -> dict[str, Array]:
    """Return the derivatives of a gradient by complex steps, in the tangent space."""
    directions = np.eye(robot.nv)
    if wrt == "q":
        directions = np.stack([q_rate(robot, inputs["q"], e) for e in directions])
    found = complex_step.directional(gradient, inputs, {wrt: directions})
    full = {n: np.broadcast_to(x, (robot.nv, robot.nv)) for n, x in found.items()}
    return {n: np.transpose(x) for n, x in full.items()}


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("robot_name", SMALL)
def test_hessians_are_complex_steps_of_the_gradient(
    robot_name: str, name: str, rng: np.random.Generator
) -> None:
    robot, quantity = robot_of(robot_name), QUANTITIES[name]
    inputs = inputs_of(robot, program_of(quantity, robot), rng)
    wrt = tuple(inputs)
    found = evaluate(program_of(ramidyn.hessian(quantity, wrt), robot), inputs)
    gradient = program_of(ramidyn.derivative(quantity, wrt)(algorithm="reverse"), robot)
    for k, x in enumerate(wrt):
        for z in wrt[k:]:
            expected = changes_of_gradient(robot, gradient, inputs, z)[f"d{name}_d{x}"]
            second = found[f"d2{name}_d{x}_d{z}"]
            assert_close(second, expected, f"{x} {z}", tolerance=TOLERANCE)


@pytest.mark.parametrize("robot_name", SMALL)
def test_hessians_of_costs_are_complex_steps_of_their_gradients(
    robot_name: str, rng: np.random.Generator
) -> None:
    """A cost of a user, with both sides of minimum, maximum, where and abs in use."""
    robot = robot_of(robot_name)
    body, m = robot.body_names[-1], ramidyn.math

    def cost(q: Any, qd: Any) -> Any:
        hand = robot.pose(q, body)[:3, 3]
        tau = robot.gravity_forces(q)
        speed = robot.kinetic_energy(q, qd)
        bounded = sum(m.minimum(x * x, 4.0) + m.maximum(x, 0.1 * x) ** 3 for x in tau)
        near = m.where(hand[2] < 0.1, hand @ hand, abs(hand[0]) * speed)
        return bounded + near + m.sqrt(1.0 + speed) * m.exp(0.1 * hand[1])

    shapes = {"q": robot.nq, "qd": robot.nv}
    second = trace(ramidyn.hessian(cost, ("q", "qd")), shapes)
    gradient = trace(ramidyn.derivative(cost, ("q", "qd")), shapes)
    inputs = {"q": state(robot, rng)["q"], "qd": rng.normal(size=robot.nv)}
    if robot.loops:
        inputs["q"], inputs["qd"] = closed_state(robot)
    found = evaluate(second, inputs)
    for x, z in (("q", "q"), ("q", "qd"), ("qd", "qd")):
        steps = {z: np.eye(inputs[z].size)}
        moved = complex_step.directional(gradient, inputs, steps)[f"dresult_d{x}"]
        expected = np.transpose(np.broadcast_to(moved, (inputs[z].size, shapes[x])))
        assert_close(found[f"d2result_d{x}_d{z}"], expected, tolerance=TOLERANCE)
    assert_close(found["d2result_dq_dq"], found["d2result_dq_dq"].T)
