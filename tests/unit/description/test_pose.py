"""Poses to and from quaternions, rotation vectors and q of a floating joint."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ramidyn.description.pose import Pose
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.loading import load
from support.robot_poses import poses

QUATERNION = np.array([0.1, -0.5, 0.7, 0.5])  # xyzw, of length 1
BALL = """<mujoco model="ball"><worldbody><body name="ball"><freejoint name="free"/>
<geom size=".1"/></body></worldbody></mujoco>"""


def test_quaternions_are_scipys_in_xyzw_and_turned_in_wxyz() -> None:
    R = Rotation.from_quat(QUATERNION).as_matrix()
    T = Pose.from_quaternion(3 * QUATERNION, (1, 2, 3), order="xyzw")
    np.testing.assert_allclose(T.R, R, atol=1e-15)
    turned = Pose.from_quaternion(np.roll(QUATERNION, 1), order="wxyz")
    np.testing.assert_allclose(turned.R, R, atol=1e-15)
    np.testing.assert_allclose(T.quaternion(order="xyzw"), QUATERNION, atol=1e-15)
    np.testing.assert_allclose(
        T.quaternion(order="wxyz"), np.roll(QUATERNION, 1), atol=1e-15
    )


@pytest.mark.parametrize("length", [1e300, 1e155, 1e-155, 1e-300])
def test_quaternions_may_have_extreme_lengths(length: float) -> None:
    expected = Pose.from_quaternion(QUATERNION, order="xyzw").R
    R = Pose.from_quaternion(length * QUATERNION, order="xyzw").R
    np.testing.assert_allclose(R, expected, atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-7, 1.0, 3.1, np.pi - 1e-9, np.pi])
def test_rotation_vectors_are_scipys(angle: float) -> None:
    vector = angle * np.array([2.0, -3.0, 6.0]) / 7
    T = Pose.from_rotation_vector(vector, (1, 2, 3))
    R = Rotation.from_rotvec(vector).as_matrix()
    np.testing.assert_allclose(T.R, R, atol=1e-14)
    np.testing.assert_allclose(T.p, (1, 2, 3))
    again = Pose.from_rotation_vector(T.rotation_vector())
    np.testing.assert_allclose(again.R, R, atol=1e-14)
    if angle < np.pi:
        np.testing.assert_allclose(T.rotation_vector(), vector, rtol=1e-7, atol=1e-15)


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_pose_is_q_of_a_floating_joint_in_the_robots_order(conventions: str) -> None:
    robot = load(BALL, conventions=conventions)
    order = robot.conventions.quaternion
    T = Pose.from_quaternion(QUATERNION, (1, 2, 3), order="xyzw")
    q = T.q(order=order)
    p, R = poses(robot, q)["ball"]
    np.testing.assert_allclose(p, T.p)
    np.testing.assert_allclose(R, T.R, atol=1e-15)
    back = Pose.from_q(q, order=order)
    np.testing.assert_allclose(back.R, T.R, atol=1e-15)
    np.testing.assert_allclose(back.p, T.p)


@pytest.mark.parametrize("name", ["from_quaternion", "from_q", "quaternion", "q"])
def test_no_quaternion_order_is_silent(name: str) -> None:
    order = inspect.signature(getattr(Pose, name)).parameters["order"]
    assert order.default is inspect.Parameter.empty
    assert order.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            lambda: Pose.from_quaternion((0, 0, 0, 1), order="xyz"),  # type: ignore[arg-type]
            ArgumentError,
            r"order is 'xyz'; possible: 'xyzw' \(Pinocchio, ROS, SciPy\), 'wxyz' \(Mu",
        ),
        (
            lambda: Pose.identity().quaternion(order="wzyx"),  # type: ignore[arg-type]
            ArgumentError,
            "order is 'wzyx'; possible",
        ),
        (
            lambda: Pose.from_quaternion((0, 0, 0, 0), order="xyzw"),
            ShapeError,
            r"the quaternion is \(0, 0, 0, 0\); expected 4 finite numbers, not all ze",
        ),
        (
            lambda: Pose.from_q((0, 0, 0, 1), order="xyzw"),
            ShapeError,
            r"q has shape \(4,\); a floating joint has 7 entries: position and quat",
        ),
        (
            lambda: Pose(np.eye(2), np.zeros(3)),
            ShapeError,
            r"R has shape \(2, 2\) and p \(3,\); expected \(3, 3\) and \(3,\)",
        ),
        (
            lambda: Pose.at((1.0, 2.0)),
            ShapeError,
            r"position: \(1.0, 2.0\) given; expected 3 numbers",
        ),
        (
            lambda: Pose.from_rotation_vector((0.0,)),
            ShapeError,
            r"rotation vector: \(0.0,\) given; expected 3 numbers",
        ),
        (
            lambda: Pose.from_rpy("abc"),  # type: ignore[arg-type]
            ShapeError,
            "roll, pitch, yaw: 'abc' given; expected 3 numbers",
        ),
        (
            lambda: Pose.from_axis_angle((0, 0, 0), 1.0),
            ShapeError,
            "the axis is zero; expected a direction",
        ),
    ],
)
def test_wrong_orders_and_sizes_are_named(wrong: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()
