"""Parameters as inputs: the same values change nothing, others are right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ramidyn.catalog.paper_robots import random_tree
from ramidyn.compiler import compile, program_of
from ramidyn.description.description import Inertial
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, CompileError, UnknownName
from ramidyn.quantities import dynamics, mass_matrix, momentum_energy
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tree.tree import BodyInertia
from support.close import assert_close
from support.states import state, value

JOINTS = ("revolute", "prismatic", "helical", "universal", "spherical", "fixed")
QUANTITIES = (
    dynamics.inverse_dynamics,
    mass_matrix.mass_matrix,
    dynamics.forward_dynamics(algorithm="aba"),
    dynamics.forward_dynamics(algorithm="ltdl"),
    momentum_energy.kinetic_energy,
    momentum_energy.center_of_mass,
)


def robot_of(description, conventions: str = "pinocchio") -> Robot:
    return Robot.from_description(description, conventions=conventions)


@pytest.fixture(params=["pinocchio", "mujoco"])
def robot(request: pytest.FixtureRequest) -> Robot:
    return robot_of(random_tree(12, 3, joints=JOINTS, massless=0.0), request.param)


def ten(mass: float, com: Array, inertia: Array) -> Array:
    """The parameters of an inertia about its body's origin."""
    b = BodyInertia.of(mass, com, inertia)
    upper = [b.I[0, 0], b.I[0, 1], b.I[1, 1], b.I[0, 2], b.I[1, 2], b.I[2, 2]]
    return np.array([b.m, *b.h, *upper])


def seven(T: Pose, robot: Robot) -> Array:
    xyzw = Rotation.from_matrix(T.R).as_quat()
    is_xyzw = robot.conventions.quaternion == "xyzw"
    return np.array([*T.p, *(xyzw if is_xyzw else np.roll(xyzw, 1))])


def moving_body(robot: Robot, skip: int):
    bodies = [b for b in robot.description.bodies if b.joints and b.inertial]
    return bodies[skip]


@pytest.mark.parametrize("quantity", QUANTITIES, ids=str)
def test_other_values_give_the_robot_with_those_values(
    robot: Robot, quantity, rng: np.random.Generator
) -> None:
    heavy, moved = moving_body(robot, 4), moving_body(robot, 2)
    inertial = Inertial(2.5, rng.normal(size=3), np.diag([0.3, 0.4, 0.5]))
    pose = Pose.from_quaternion(rng.normal(size=4), rng.normal(size=3), order="wxyz")
    gravity = (1.0, -2.0, 3.0)
    bodies = tuple(
        replace(
            b,
            inertial=inertial if b is heavy else b.inertial,
            placement=pose if b is moved else b.placement,
        )
        for b in robot.description.bodies
    )
    changed = replace(robot.description, bodies=bodies, gravity=gravity)
    now = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    expected = value(robot_of(changed, str(robot.conventions)), quantity, **now)

    names = ["gravity", f"inertia:{heavy.name}", f"placement:{moved.name}"]
    program = program_of(quantity, robot, names)
    given = {
        names[0]: np.array(gravity),
        names[1]: ten(inertial.mass, inertial.com, inertial.inertia),
        names[2]: seven(pose, robot),
    }
    inputs = {v.name: {**now, **given}[v.name] for v in program.inputs}
    (ours,) = evaluate(program, inputs).values()
    assert_close(ours, expected)


def test_a_fixed_bodys_inertia_can_be_an_input(rng: np.random.Generator) -> None:
    robot = robot_of(random_tree(12, 3, joints=JOINTS, massless=0.0))
    fixed = next(
        b
        for b in robot.description.bodies
        if not b.joints and b.inertial and robot.model.frames[b.name].body >= 0
    )
    name = f"inertia:{fixed.name}"
    program = program_of(dynamics.inverse_dynamics, robot, [name])
    own = fixed.inertial
    assert own is not None
    now = state(robot, rng)
    given = {**now, name: ten(own.mass, own.com, own.inertia)}
    (ours,) = evaluate(program, given).values()
    assert_close(ours, value(robot, dynamics.inverse_dynamics, **now))


def test_native_code_takes_parameters_last(rng: np.random.Generator) -> None:
    robot = robot_of(random_tree(4, 1, joints=("revolute",), massless=0.0))
    f = compile(dynamics.gravity_forces, robot, parameters=["gravity"])
    q = state(robot, rng)["q"]
    once, twice = f(q, np.array([0, 0, -1.0])), f(q, np.array([0, 0, -2.0]))
    assert_close(2 * once, twice)
    assert_close(9.81 * once, robot.gravity_forces(q))


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (
            "mass",
            ArgumentError,
            r"parameter 'mass'; possible: 'gravity', 'inertia:<body>'",
        ),
        ("gravity:x", ArgumentError, "possible: 'gravity'"),
        ("inertia:bodi1", UnknownName, "no body 'bodi1'.*Close: 'body1"),
        ("placement:tool", CompileError, "'placement:tool': the body is fixed to its"),
        (
            "inertia:table",
            CompileError,
            "'inertia:table': the body is fixed to the wor",
        ),
    ],
)
def test_wrong_parameters_are_refused(name: str, error: type, message: str) -> None:
    description = random_tree(3, 1, joints=("revolute",))
    first = description.bodies[0]
    tool = replace(first, name="tool", parent=first.name, joints=())
    table = replace(first, name="table", joints=())
    robot = robot_of(replace(description, bodies=(*description.bodies, tool, table)))
    with pytest.raises(error, match=message):
        program_of(dynamics.inverse_dynamics, robot, [name])
