"""Inverse kinematics of robots with loops: closed to rounding, limits never passed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.robot import Robot
from ramidyn.tasks import Task
from support.parallel import FEET, LONGEST, SHORTEST, TOPS, delta, hexapod
from support.planar import four_bar

CLOSED = 1e-12


def check(robot: Robot, found: Any) -> None:
    """Check what holds whether or not targets are reached."""
    assert np.abs(robot.constraint_residual(found.q)).max() < CLOSED
    assert (found.q >= robot.limits.lower - CLOSED).all()
    assert (found.q <= robot.limits.upper + CLOSED).all()


@pytest.mark.slow
def test_delta_moves_its_platform(rng: np.random.Generator) -> None:
    robot = delta()
    q0 = robot.assemble(robot.neutral())
    p = robot.pose(q0, "platform")[:3, 3] + rng.uniform(-0.06, 0.06, size=(60, 3))
    found = robot.inverse_kinematics({Task("platform", "position"): p}, q0)
    check(robot, found)
    assert found.success.all()
    T = robot.pose(found.q, "platform")
    np.testing.assert_allclose(T[:, :3, 3], p, atol=1e-4)
    np.testing.assert_allclose(T[:, :3, :3], np.tile(np.eye(3), (60, 1, 1)), atol=1e-9)
    one = robot.inverse_kinematics({Task("platform", "position"): p[3]}, q0)
    np.testing.assert_array_equal(one.q, found.q[3])


@pytest.mark.slow
def test_delta_out_of_reach_stops_at_the_edge() -> None:
    robot = delta()
    q0 = robot.assemble(robot.neutral())
    goal = Task("platform", "position")
    found = robot.inverse_kinematics({goal: [0.0, 0.0, -1.5]}, q0, starts=2)
    check(robot, found)
    assert not found.success
    height = robot.pose(found.q, "platform")[2, 3]
    assert -0.95 < height < -0.75  # arms down at their limit, or stretched


@pytest.mark.slow
def test_hexapod_reaches_poses_within_its_legs(rng: np.random.Generator) -> None:
    robot = hexapod()
    q0 = robot.assemble(robot.clamp())
    T = np.tile(robot.pose(q0, "platform"), (40, 1, 1))
    T[:, :3, 3] += rng.uniform(-0.1, 0.1, size=(40, 3))
    found = robot.inverse_kinematics({"platform": T}, q0, starts=10)
    check(robot, found)
    # In closed form: the length of each leg, from its foot to the platform.
    tops = np.einsum("nij,kj->nki", T[:, :3, :3], TOPS) + T[:, None, :3, 3]
    lengths = np.linalg.norm(tops - FEET, axis=2)
    is_reachable = ((lengths >= SHORTEST) & (lengths <= LONGEST)).all(axis=1)
    assert 5 < is_reachable.sum() < 39
    np.testing.assert_array_equal(found.success, is_reachable)


def test_four_bar_follows_its_coupler() -> None:
    robot = four_bar()
    q0 = robot.assemble(robot.neutral())
    target = robot.assemble(q0 + 0.3, fixed=[robot.joint_names[0]])
    p = robot.pose(target, "coupler")[:3, 3]
    goal = Task("coupler", "position", "world")
    found = robot.inverse_kinematics({goal: p}, q0)
    assert found.success
    check(robot, found)
