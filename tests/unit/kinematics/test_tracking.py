"""Moving targets: followed frame by frame, no joint too fast; one step as code."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.robot import Robot
from ramidyn.tasks import Posture, Task, kinematic_step
from support.arms import arm7, torso

DT = 0.01
Q0 = np.array([0.3, 0.7, -0.2, 1.0, 0.4, 0.6, 0.1])


def circle(robot: Robot, q: Any, frame: str, n: int, radius: float = 0.05) -> Any:
    """Return poses on a circle, from where the frame is."""
    T = np.tile(robot.pose(q, frame), (n, 1, 1))
    t = np.linspace(0.0, 2.0, n)
    T[:, 0, 3] += radius * np.sin(3 * t)
    T[:, 2, 3] += radius * (np.cos(3 * t) - 1.0)
    return T


def test_a_hand_follows_a_circle() -> None:
    robot = arm7()
    T = circle(robot, Q0, "hand", 100)
    found = robot.track({"hand": T}, Q0, dt=DT)
    assert found.success.all()
    np.testing.assert_allclose(robot.pose(found.q, "hand"), T, atol=1e-6)
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.05  # it does not jump
    assert found.errors["hand"].shape == (100, 2)


def test_clips_run_side_by_side(rng: np.random.Generator) -> None:
    robot = arm7()
    starts = Q0 + rng.normal(scale=0.1, size=(5, 7))
    T = np.array([circle(robot, q, "hand", 20) for q in starts])
    both = robot.track({"hand": T}, starts, dt=DT)
    assert both.q.shape == (5, 20, 7)
    assert "all 100 targets solved" in repr(both)
    for k in (0, 4):
        alone = robot.track({"hand": T[k]}, starts[k], dt=DT)
        np.testing.assert_array_equal(both.q[k], alone.q)
    same = robot.track({"hand": T}, starts, dt=DT, threads=2)
    np.testing.assert_array_equal(same.q, both.q)


def test_velocity_limits_hold() -> None:
    robot = arm7()
    T = circle(robot, Q0, "hand", 40, radius=0.3)
    found = robot.track({"hand": T}, Q0, dt=DT, velocity_limits=0.5)
    rates = np.diff(np.concatenate([Q0[None], found.q]), axis=0) / DT
    assert np.abs(rates).max() < 0.5 + 1e-9
    assert np.abs(rates).max() > 0.5 - 1e-9
    assert not found.success.all()
    assert "of 40 targets solved; largest errors: 'hand' (pose)" in repr(found)


def test_targets_out_of_reach_are_followed_closely() -> None:
    # The arm is stretched: steps without enough damping jump from side to side.
    robot = arm7()
    stretched = np.full(7, 0.05)
    p = circle(robot, stretched, "hand", 40)[:, :3, 3] * 1.1
    goal = Task("hand", "position")
    found = robot.track({goal: p}, stretched, dt=0.1)
    best = robot.inverse_kinematics({goal: p}, found.q, starts=1)
    assert not best.success[-1]
    gaps = found.errors[goal][1:, 0] - best.errors[goal][1:, 0]
    assert gaps.max() < 1e-3
    assert np.abs(np.diff(found.q[1:], axis=0)).max() < 0.2


def test_smoothness_slows_the_motion() -> None:
    robot = arm7()
    T = circle(robot, Q0, "hand", 40)
    free = robot.track({"hand": T}, Q0, dt=DT)
    slow = robot.track({"hand": T}, Q0, dt=DT, smoothness=0.5)
    lengths = [np.abs(np.diff(x.q, axis=0)).sum() for x in (free, slow)]
    assert lengths[1] < lengths[0]


def test_the_first_frame_is_found() -> None:
    robot = arm7()
    T = circle(robot, Q0, "hand", 10)
    assert robot.track({"hand": T}, dt=DT).success.all()


def test_constraints_hold_in_every_frame(rng: np.random.Generator) -> None:
    robot = torso()
    q = robot.random_configuration(rng)
    goal = Task("right_hand", "position")
    p = circle(robot, q, "right_hand", 15)[:, :3, 3]
    found = robot.track({goal: p}, q, dt=DT, constraints=["left_hand"])
    assert found.gap.max() < 1e-12
    held = np.tile(robot.pose(q, "left_hand"), (15, 1, 1))
    np.testing.assert_allclose(robot.pose(found.q, "left_hand"), held, atol=1e-11)
    assert found.success.all()


def test_a_step_is_one_frame() -> None:
    robot = arm7()
    T = circle(robot, Q0, "hand", 5)
    step = ramidyn.compile(kinematic_step(robot, "hand", iterations=2), robot)
    limits = np.full(7, 2.0)
    after = step(Q0, T[1], DT, limits, 0.1)
    frames = robot.track(
        {"hand": T[1:2]},
        Q0,
        dt=DT,
        velocity_limits=2.0,
        smoothness=0.1,
        iterations=2,
    )
    np.testing.assert_allclose(after.q, frames.q[0], atol=1e-14)
    np.testing.assert_allclose(after.qd, (after.q - Q0) / DT, atol=1e-10)


def test_a_step_takes_weights_as_constants() -> None:
    robot = arm7()
    like = np.zeros(7)
    T = circle(robot, Q0, "hand", 5)[2]
    q = {}
    for weight in (0.01, 1.0):
        goals = ["hand", Posture()]
        step = kinematic_step(robot, goals, weights={Posture(): weight})
        compiled = ramidyn.compile(step, robot)
        q[weight] = compiled(Q0, T, like, DT, np.full(7, 1e3), 0.0).q
    assert np.linalg.norm(q[1.0]) < np.linalg.norm(q[0.01])


def test_a_policy_calls_a_step() -> None:
    robot = arm7()
    step = ramidyn.compile(kinematic_step(robot, "hand"), robot)
    T = circle(robot, Q0, "hand", 5, radius=0.02)[4]
    limits = np.full(7, 1.0)

    def policy(q: Any, qd: Any) -> Any:
        wanted = step(q, T, 0.1, limits, 0.0).qd
        return robot.inverse_dynamics(q, qd, 30.0 * (wanted - qd))

    run = robot.rollout(Q0, np.zeros(7), policy=policy, dt=1e-3, steps=100)
    before, after = (
        np.linalg.norm(robot.pose(q, "hand")[:3, 3] - T[:3, 3]) for q in (Q0, run.q[-1])
    )
    assert after < 0.9 * before


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_step_is_exported_as_c(tmp_path: Path) -> None:
    robot = arm7()
    exported = ramidyn.export_c(kinematic_step(robot, "hand"), robot, tmp_path / "c")
    exported.check()


def test_mistakes_are_named() -> None:
    robot = arm7()
    T = circle(robot, Q0, "hand", 5)
    with pytest.raises(ramidyn.ArgumentError, match="dt is 0; expected a time step"):
        robot.track({"hand": T}, Q0, dt=0)
    with pytest.raises(ramidyn.ArgumentError, match="iterations is 0; expected 1"):
        robot.track({"hand": T}, Q0, dt=DT, iterations=0)
    with pytest.raises(ramidyn.ArgumentError, match="smoothness is -1; expected 0"):
        robot.track({"hand": T}, Q0, dt=DT, smoothness=-1)
    with pytest.raises(ramidyn.ShapeError, match=r"have \[\] frames and \[\] clips"):
        robot.track({"hand": T[0]}, Q0, dt=DT)
    with pytest.raises(ramidyn.ShapeError, match="velocity_limits is 0; expected 7"):
        robot.track({"hand": T}, Q0, dt=DT, velocity_limits=0)
    with pytest.raises(ramidyn.ShapeError, match="q_start has 2 rows; expected one"):
        robot.track({"hand": T}, np.stack([Q0, Q0]), dt=DT)
    with pytest.raises(ramidyn.ArgumentError, match=r"targets is .*; expected a dict"):
        robot.track("hand", Q0, dt=DT)  # type: ignore[arg-type]
    with pytest.raises(ramidyn.ArgumentError, match="iterations is 0; expected 1"):
        kinematic_step(robot, "hand", iterations=0)
