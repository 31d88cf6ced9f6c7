"""Operational-space control of robots with loops: two arms that hold one box."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.control import OperationalSpace
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError
from ramidyn.mechanism.loops import add_loop
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.loops import as_robot
from support.planar import UP, four_bar, rod

BOX = Task("box_center", ("x", "z", "ry"), "local_world_aligned")
CLOSED = 1e-8
"""of the commanded accelerations: rounding of a state that Newton steps closed"""


@functools.cache
def arms() -> Robot:
    """Two arms of three joints in a plane; the box is rigid in both hands."""
    b = RobotBuilder("two_arms")
    for side, x in (("left", -0.3), ("right", 0.3)):
        links = (("upper", 0.5), ("fore", 0.4), ("hand", 0.1))
        parent, at = "world", (x, 0.0, 0.0)
        for name, length in links:
            joint = Joint.revolute(UP, name=f"{side}_{name}_joint")
            body = Body(f"{side}_{name}", rod(1.0, length))
            b.add(body, parent, joint, at)
            parent, at = f"{side}_{name}", (length, 0.0, 0.0)
    box = Inertia.from_box(4.0, (0.3, 0.2, 0.2))
    b.add(Body("box", box), "left_hand", Joint.fixed(name="grip"), (0.25, 0.0, 0.0))
    b.add_frame("box_center", "left_hand", (0.25, 0.0, 0.0))
    turned = Pose(np.diag([-1.0, 1.0, -1.0]), np.array([0.25, 0.0, 0.0]))
    return add_loop(
        as_robot(b.description()),
        "left_hand",
        "right_hand",
        joint="weld",
        placement_a=Pose(np.eye(3), np.array([0.25, 0.0, 0.0])),
        placement_b=turned,
        name="right_grip",
    )


def state(robot: Robot, start: list[float]) -> tuple[Array, Array]:
    """A closed configuration, and a velocity that keeps it closed."""
    q = robot.assemble(np.array(start))
    qd = np.random.default_rng(0).normal(size=robot.nv)
    J = robot.constraint_jacobian(q)
    return q, qd - np.linalg.pinv(J, rcond=1e-9) @ (J @ qd)


HOLDING = [1.9, -1.3, -0.6, 1.2, 1.3, 0.6]


def torques(control: OperationalSpace, **given: Any) -> Array:
    return evaluate(control.function.program, given)["torques"]


def test_a_box_in_two_hands_accelerates_as_commanded() -> None:
    robot = arms()
    q, qd = state(robot, HOLDING)
    control = OperationalSpace(robot, BOX)
    rng = np.random.default_rng(1)
    wanted, posture = rng.normal(size=3), rng.normal(size=6)
    tau = torques(control, q=q, qd=qd, accelerations=wanted, posture=posture)
    moved = robot.task_acceleration(q, qd, tau, BOX)
    np.testing.assert_allclose(moved, wanted, atol=CLOSED * 10)


def test_torques_are_those_of_the_dense_constrained_equations() -> None:
    robot = arms()
    q, qd = state(robot, HOLDING)
    rng = np.random.default_rng(2)
    wanted, posture = rng.normal(size=2), rng.normal(size=6)
    task = Task("box_center", ("x", "z"), "local_world_aligned")
    control = OperationalSpace(robot, task)
    tau = torques(control, q=q, qd=qd, accelerations=wanted, posture=posture)

    M, h = robot.mass_matrix(q), robot.bias_forces(q, qd)
    Jc, gamma = robot.constraint_jacobian(q), robot.constraint_bias(q, qd)
    inverse = np.linalg.inv(M)
    S = np.linalg.pinv(Jc @ inverse @ Jc.T, rcond=1e-9, hermitian=True)
    Phi = inverse - inverse @ Jc.T @ S @ Jc @ inverse
    qdd = posture - inverse @ Jc.T @ S @ (Jc @ posture + gamma)
    J = robot.task_jacobian(q, task)
    free = robot.inverse_dynamics(q, qd, np.zeros(6))
    np.testing.assert_allclose(free, h, atol=1e-12)
    Jdqd = robot.task_acceleration(q, qd, h, task) - J @ (-inverse @ Jc.T @ S @ gamma)
    F = np.linalg.solve(J @ Phi @ J.T, wanted - J @ qdd - Jdqd)
    expected = M @ qdd + h + J.T @ F
    np.testing.assert_allclose(tau, expected, atol=CLOSED * np.abs(expected).max())
    np.testing.assert_allclose(control.inverse(q), J @ Phi @ J.T, rtol=1e-7)


def test_the_posture_of_a_closed_robot_does_not_move_the_box() -> None:
    robot = arms()
    q, qd = state(robot, HOLDING)
    task = Task("box_center", ("x", "z"), "local_world_aligned")
    control = OperationalSpace(robot, task)
    still = {"q": q, "qd": qd, "accelerations": np.zeros(2)}
    moved = [
        robot.task_acceleration(
            q, qd, torques(control, **still, posture=size * np.ones(6)), task
        )
        for size in (0.0, 100.0)
    ]
    np.testing.assert_allclose(moved[1], moved[0], atol=100 * CLOSED)


@pytest.mark.parametrize("passive", [("right_hand_joint",), ("right_upper_joint",)])
def test_passive_joints_in_a_loop_get_no_torque(passive: tuple[str, ...]) -> None:
    robot = arms()
    q, qd = state(robot, HOLDING)
    driven = [j for j in robot.joint_names if j not in passive and "_" in j]
    driven = [j for j in driven if j != "grip"]
    control = OperationalSpace(robot, BOX, actuated=driven)
    wanted, posture = np.array([0.3, -0.2, 0.5]), np.ones(6)
    tau = torques(control, q=q, qd=qd, accelerations=wanted, posture=posture)
    (k,) = [robot.model.joint(j).v_index for j in passive]
    assert tau[k] == 0.0
    moved = robot.task_acceleration(q, qd, tau, BOX)
    np.testing.assert_allclose(moved, wanted, atol=CLOSED * 10)


def test_a_crank_alone_drives_a_four_bar() -> None:
    robot = four_bar()
    q, qd = state(robot, [0.7, 0.3, 1.9])
    task = Task("rocker", "ry")
    control = OperationalSpace(robot, task, actuated=["crank_joint"])
    tau = torques(
        control, q=q, qd=qd, accelerations=np.array([2.0]), posture=np.zeros(3)
    )
    assert tau[0] != 0.0
    assert not tau[1:].any()
    moved = robot.task_acceleration(q, qd, tau, task)
    np.testing.assert_allclose(moved, [2.0], atol=CLOSED)


def test_a_level_that_loops_leave_no_freedom_is_refused() -> None:
    with pytest.raises(
        Exception, match=r"have 2 rows, but only 1 can move independently"
    ):
        OperationalSpace(four_bar(), Task("coupler", ("x", "z")))


def test_an_algorithm_cannot_be_chosen_with_loops() -> None:
    with pytest.raises(
        ArgumentError, match="'rjk' cannot be used, because robot 'four_bar' has closed"
    ):
        OperationalSpace(four_bar(), Task("rocker", "ry"), algorithm="rjk")
