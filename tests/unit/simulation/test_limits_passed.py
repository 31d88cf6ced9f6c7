"""Joints that pass their limits are named: which one, when, and in which state."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.forces import JointLimit
from ramidyn.robot import Robot

INERTIA = Inertia.from_box(1.0, (0.1, 0.1, 0.1))


def slider() -> Robot:
    """Return a hinge and a slide that nothing stops or pulls."""
    b = RobotBuilder("slider", gravity=(0.0, 0.0, 0.0))
    hinge = Joint.revolute((0, 0, 1), name="hinge", limits=(-1.0, 0.5))
    slide = Joint.prismatic((1, 0, 0), name="slide", limits=(-0.2, 0.3))
    b.add(Body("arm", INERTIA), "world", hinge)
    b.add(Body("cart", INERTIA), "arm", slide)
    return Robot.from_description(b.description())


def warned(robot: Robot, method: str, q: Any, qd: Any, **options: Any) -> str:
    with pytest.warns(RuntimeWarning, match="beyond its") as seen:
        getattr(robot, method)(q, qd, **options)
    assert seen[0].filename == __file__
    [message] = [str(w.message) for w in seen]
    return message


@pytest.mark.parametrize(
    ("method", "options"), [("rollout", {"steps": 1000}), ("simulate", {})]
)
def test_the_joint_that_is_first_beyond_its_limit_is_named(
    method: str, options: dict[str, Any]
) -> None:
    message = warned(slider(), method, [0.0, 0.0], [0.0, 0.5], **options)
    assert re.search(
        r"robot 'slider': joint 'slide' is 0\.1\d* m beyond its upper limit, 0\.3 m, "
        r"at t = 0\.8\d* s; limits do not act by themselves",
        message,
    )
    message = warned(slider(), method, [0.0, 0.0], [-1.2, 0.0], **options)
    assert re.search(
        r"joint 'hinge' is 0\.1\d* rad beyond its lower limit, -1 rad, at t = 0\.91\d*",
        message,
    )


def test_states_of_a_batch_are_counted() -> None:
    q, qd = np.zeros((5, 2)), np.zeros((5, 2))
    qd[3], qd[4] = [0.0, 0.6], [9.0, 0.6]
    message = warned(slider(), "rollout", q, qd, steps=1000)
    assert re.search(
        r"joint '.*' .* in state 4 \(2 of 5 states in all\), as are 1 more of its",
        message,
    )


def test_a_state_that_diverges_does_not_hide_a_joint_that_passes() -> None:
    q, qd = np.zeros((2, 2)), np.array([[0.0, 0.5], [0.0, 0.0]])
    push = np.zeros((2, 1, 2))
    push[1] = 1.0

    def policy(push: Any) -> Any:
        return push / (1.0 - push)

    with pytest.warns(RuntimeWarning) as seen:
        slider().rollout(q, qd, steps=1000, policy=policy, inputs={"push": push})
    texts = [str(w.message) for w in seen]
    assert any("state 1 is not finite" in text for text in texts)
    assert any("joint 'slide'" in text and "in state 0" in text for text in texts)


def test_small_passes_and_stops_are_not_named() -> None:
    robot = slider()
    robot.rollout([0.0, 0.0], [0.0, 0.35], steps=1000)  # warnings are errors
    stopped = robot.add_force(JointLimit("slide", 2000.0))
    stopped.rollout([0.0, 0.0], [0.0, 0.9], steps=1000)


def test_all_rows_of_a_small_run_are_looked_at_each_time() -> None:
    robot, q, qd = slider(), np.zeros((3, 2)), np.zeros((3, 2))
    for _ in range(3):
        robot.rollout(q, qd, steps=10)  # warnings are errors
        robot.rollout(q[0], qd[0], steps=2000)
    q[2, 1], qd[2, 1] = 0.42, -4.0  # it is back at the end
    assert "in state 2" in warned(robot, "rollout", q, qd, steps=10)
    assert "joint 'slide'" in warned(robot, "rollout", q[2], -qd[2], steps=2000)


def test_runs_of_many_states_are_looked_at_again_and_again() -> None:
    robot, q, qd = slider(), np.zeros((600, 2)), np.zeros((600, 2))
    for _ in range(3):
        robot.rollout(q, qd, steps=10)  # warnings are errors
    q[599, 1] = 0.5
    for _ in range(3):
        assert "in state 599" in warned(robot, "rollout", q, qd, steps=10)
    q[:, 1], qd[:, 1] = 0.41, 0.1
    assert "600 of 600" in warned(robot, "rollout", q, qd, steps=10)


def test_a_joint_that_comes_back_is_found_in_the_first_run() -> None:
    robot, q, qd = slider(), np.zeros((600, 2)), np.zeros((600, 2))
    q[599, 1], qd[599, 1] = 0.42, -4.0
    assert "in state 599" in warned(robot, "rollout", q, qd, steps=10)
