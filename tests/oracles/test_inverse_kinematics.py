"""Inverse kinematics of real robots, judged by Pinocchio; loops of real mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.tasks import Task
from support.real_robots import example_urdfs
from support.references import needs_shared_robots, path_of

pin: Any = pytest.importorskip("pinocchio", reason="pinocchio is absent")
ARMS = {
    "xarm_description/xarm7.urdf": "link_eef",
    "ur_description/ur10_robot.urdf": "tool0",
}
pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")


@pytest.mark.parametrize("file", ARMS)
def test_poses_are_reached_by_pinocchios_kinematics(
    file: str, rng: np.random.Generator
) -> None:
    paths = example_urdfs()
    if file not in paths:
        pytest.skip("example-robot-data is absent")
    robot, frame = ramidyn.load(paths[file]), ARMS[file]
    T = robot.pose(robot.random_configuration(rng, batch=300), frame)
    found = robot.inverse_kinematics({frame: T})
    assert found.success.mean() > 0.99
    model = pin.buildModelFromUrdf(str(paths[file]))
    data, k = model.createData(), model.getFrameId(frame)
    for q, target, ok in zip(found.q, T, found.success, strict=True):
        pin.forwardKinematics(model, data, q)
        M = pin.updateFramePlacement(model, data, k)
        turn = np.linalg.norm(pin.log3(M.rotation.T @ target[:3, :3]))
        is_there = np.linalg.norm(M.translation - target[:3, 3]) <= 1e-4
        assert bool(is_there and turn <= 1e-3) == ok
        assert (q >= model.lowerPositionLimit).all()
        assert (q <= model.upperPositionLimit).all()


@needs_shared_robots
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "frame", "held", "closed"),
    [
        ("cassie", "left-foot", "right-foot", 1e-12),
        # The digits of this file let its loops close no better.
        ("toddlerbot_2xc", "left_hand", "left_foot_center", 1e-7),
    ],
)
def test_loops_of_legged_robots_stay_closed(
    name: str, frame: str, held: str, closed: float, rng: np.random.Generator
) -> None:
    robot = ramidyn.load(path_of(name).with_suffix(".xml"))
    q0 = robot.assemble(robot.keyframes.get("home", robot.clamp()))
    p = robot.pose(q0, frame)[:3, 3] + rng.uniform(-0.05, 0.05, size=(40, 3))
    found = robot.inverse_kinematics(
        {Task(frame, "position"): p}, q0, constraints=[held], starts=3
    )
    assert found.success.mean() > 0.9
    assert np.abs(robot.constraint_residual(found.q)).max() < closed
    assert (found.q >= robot.limits.lower - 1e-12).all()
    assert (found.q <= robot.limits.upper + 1e-12).all()
    reached = robot.pose(found.q, frame)[:, :3, 3]
    gap = np.linalg.norm(reached - p, axis=1)
    np.testing.assert_array_less(gap[found.success], 1e-4)
