"""Models whose mass matrix is singular wherever they are: refused, joints named."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.compiler import compile, program_of
from ramidyn.errors import ModelError
from ramidyn.loading import load
from ramidyn.quantities import (
    closed_loops,
    dynamics,
    dynamics_derivatives,
    mass_matrix,
    operational,
)
from ramidyn.quantities.differentiation import derivative, vjp
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from ramidyn.tree.singular import check_dynamics, idle_joints

BOX = '<geom type="box" size=".1 .2 .3" mass="1" pos=".1 .2 .3"/>'
JOINTS = {
    "two hinges on one axis": (
        '<joint name="a" axis="1 2 3"/><joint name="b" axis="1 2 3"/>',
        ["a", "b"],
    ),
    "two hinges on one axis, opposite": (
        '<joint name="a" axis="0 0 1"/><joint name="b" axis="0 0 -1"/>',
        ["a", "b"],
    ),
    "four slides": (
        '<joint name="a" type="slide" axis="1 2 3"/>'
        '<joint name="b" type="slide" axis="0 1 3"/>'
        '<joint name="c" type="slide" axis="3 1 0"/>'
        '<joint name="d" type="slide" axis="1 1 1"/>',
        ["a", "b", "c", "d"],
    ),
    "three slides in a plane": (
        '<joint name="a" type="slide" axis="1 0 0"/>'
        '<joint name="b" type="slide" axis="0 1 0"/>'
        '<joint name="c" type="slide" axis="1 1 0"/>',
        ["a", "b", "c"],
    ),
}
REGULAR = {
    "three hinges": '<joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>',
    "hinges side by side": '<joint axis="0 0 1"/><joint axis="0 0 1" pos="1 0 0"/>',
    "hinge and slide": '<joint axis="0 0 1"/><joint type="slide" axis="0 0 1"/>',
    "armature": '<joint axis="0 0 1" armature=".1"/><joint axis="0 0 1"/>',
}
QUANTITIES = [
    dynamics.forward_dynamics,
    dynamics.forward_dynamics(algorithm="aba"),
    dynamics.forward_dynamics(algorithm="ltdl"),
    mass_matrix.mass_matrix_inverse(algorithm="aba"),
    mass_matrix.mass_matrix_inverse(algorithm="ltdl"),
    mass_matrix.mass_matrix_factor,
    mass_matrix.mass_matrix_solve,
    operational.operational_inertia_inverse("hand"),
    *(
        dynamics_derivatives.forward_dynamics_derivatives(algorithm=a)
        for a in ("forward", "reverse", "idsva")
    ),
    derivative(dynamics.forward_dynamics, "q"),
    vjp(dynamics.forward_dynamics, "tau"),
]


def model(joints: str) -> Robot:
    """Return a moving base, with a body on some joints, and one beyond."""
    return load(
        f"""<mujoco><option><flag contact="disable"/></option><worldbody>
        <body name="base"><joint name="first" axis="1 0 1"/>{BOX}
        <body name="arm" pos=".3 .2 .1" euler="10 20 30">{joints}{BOX}
        <body name="hand" pos="0 0 1"><joint name="last"/>{BOX}</body></body></body>
        </worldbody></mujoco>"""
    )


def message(robot: Robot, names: list[str]) -> str:
    listed = ", ".join(map(repr, names))
    return re.escape(
        f"robot {robot.name!r}: the mass matrix is singular because joints {listed} "
        f"can move "
        "together without moving any inertia; remove or lock one of them, or give one "
        "armature"
    )


@pytest.mark.parametrize("name", JOINTS)
def test_joints_that_move_no_inertia_together_are_named(name: str) -> None:
    joints, names = JOINTS[name]
    robot = model(joints)
    q = robot.random_configuration(np.random.default_rng(0))
    M = robot.mass_matrix(q)
    assert np.linalg.cond(M) > 1e12
    with pytest.raises(ModelError, match=message(robot, names)):
        check_dynamics(robot.model)


@pytest.mark.parametrize("quantity", QUANTITIES, ids=str)
def test_every_algorithm_refuses_a_singular_mass_matrix(quantity: Quantity) -> None:
    robot = model(JOINTS["two hinges on one axis"][0])
    with pytest.raises(ModelError, match=message(robot, ["a", "b"])):
        compile(quantity, robot)


def test_loops_refuse_a_singular_mass_matrix() -> None:
    robot = model(JOINTS["two hinges on one axis"][0])
    closed = robot.add_loop("world", "hand", joint="point_on_plane", check=False)
    for quantity in (dynamics.forward_dynamics, closed_loops.constraint_correction):
        with pytest.raises(ModelError, match=message(robot, ["a", "b"])):
            program_of(quantity, closed)


@pytest.mark.parametrize("name", REGULAR)
def test_joints_that_move_inertia_are_not_refused(name: str) -> None:
    robot = model(REGULAR[name])
    q = robot.random_configuration(np.random.default_rng(0))
    assert np.linalg.cond(robot.mass_matrix(q)) < 1e6
    assert idle_joints(robot.model.tree) == ()


@pytest.mark.parametrize("seed", range(12))
def test_a_mass_matrix_is_singular_exactly_where_joints_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = ["1 0 0", "0 1 0", "1 1 0", "0 0 1"]
    joints = "".join(
        f'<joint type="{rng.choice(["slide", "hinge"])}" axis="{rng.choice(axes)}"/>'
        for _ in range(rng.integers(2, 5))
    )
    robot = model(joints)
    q = robot.random_configuration(rng)
    (M,) = evaluate(program_of(mass_matrix.mass_matrix, robot), {"q": q}).values()
    is_singular = np.linalg.cond(M) > 1e12
    assert bool(idle_joints(robot.model.tree)) == is_singular


def test_a_joint_that_follows_can_make_the_mass_matrix_regular() -> None:
    def made(multiplier: float | None) -> Robot:
        builder = RobotBuilder("twice")
        builder.add(Body("none", None), "world", Joint.revolute(name="a"))
        inertia = Inertia.from_box(1.0, (0.1, 0.2, 0.3))
        joint = Joint.revolute(name="b")
        if multiplier is not None:
            joint = Joint.revolute(name="b", mimic=("a", multiplier, 0.0))
        builder.add(Body("box", inertia), "none", joint)
        return Robot.from_description(builder.description())

    with pytest.raises(ModelError, match=message(made(None), ["a", "b"])):
        check_dynamics(made(None).model)
    assert idle_joints(made(2.0).model.tree) == ()
    with pytest.raises(ModelError, match=message(made(-1.0), ["a", "b"])):
        check_dynamics(made(-1.0).model)
