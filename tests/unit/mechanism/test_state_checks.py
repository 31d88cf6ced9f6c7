"""States that cannot be meant are named by joint, value and index."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest

from ramidyn.errors import ModelError, ShapeError
from ramidyn.loading import load
from ramidyn.mechanism import state_checks
from ramidyn.robot import Robot
from support.planar import Planar, four_bar

FLYER = """<mujoco model="flyer"><option><flag contact="disable"/></option><worldbody>
<body name="base"><freejoint name="free"/><geom size=".1"/>
  <body name="arm"><joint name="elbow" axis="0 1 0" range="-90 90"/><geom size=".1"/>
    <body name="rail"><joint name="slide" type="slide" range="0 1"/><geom size=".1"/>
    </body></body>
  <body name="wheel"><joint name="spin"/><geom size=".1"/></body>
</body></worldbody></mujoco>"""
ELBOW = 7


def flyer(conventions: str = "pinocchio") -> Robot:
    return load(FLYER, conventions=conventions)


def changed(q: Any, **at: float) -> Any:
    out = np.array(q)
    for key, value in at.items():
        out[..., int(key[1:])] = value
    return out


def test_states_that_can_be_meant_pass(rng: np.random.Generator) -> None:
    robot = flyer()
    q = robot.random_configuration(rng, batch=5)
    robot.check_state(q)
    robot.check_state(q, rng.normal(size=(5, robot.nv)))
    robot.check_state(q[0], np.zeros(robot.nv))
    robot.check_state(changed(q, _7=6.0, _8=40.0, _9=1e4))  # wheels turn, rails end
    robot.check_state(robot.neutral() * 1.05)  # kernels normalize


@pytest.mark.parametrize(
    ("conventions", "q", "qd", "message"),
    [
        ("pinocchio", {"_7": np.nan}, None, "q[7] of joint 'elbow' is nan"),
        ("pinocchio", {"_8": -np.inf}, None, "q[8] of joint 'slide' is -inf"),
        ("pinocchio", {}, {"_7": np.nan}, "qd[7] of joint 'slide' is nan"),
        (
            "pinocchio",
            {"_7": 90.0},
            None,
            "q[7] of joint 'elbow' is 90 rad, more than a full turn beyond its limits "
            "(-1.57 to 1.57); is it in degrees?",
        ),
        (
            "mujoco",
            {"_3": 0.0},
            None,
            "the quaternion q[3:7] of joint 'free' has length 0; expected a unit "
            "quaternion (wxyz)",
        ),
        (
            "mujoco",
            {"_4": 1e200},
            None,
            "the quaternion q[3:7] of joint 'free' has length 1e+200; expected a unit "
            "quaternion (wxyz)",
        ),
        (
            "pinocchio",
            {"_5": 2.0},
            None,
            "the quaternion q[3:7] of joint 'free' has length 2.24; expected a unit "
            "quaternion (xyzw)",
        ),
    ],
)
@pytest.mark.parametrize("row", [None, 2])
def test_what_is_wrong_is_named(
    conventions: str, q: Any, qd: Any, message: str, row: int | None
) -> None:
    robot = flyer(conventions)
    states, rates = robot.neutral(), np.zeros(robot.nv)
    if row is None:
        states, rates = changed(states, **q), changed(rates, **(qd or {}))
        expected = f"robot 'flyer': {message}"
    else:
        states, rates = np.tile(states, (4, 1)), np.tile(rates, (4, 1))
        states[row] = changed(states[row], **q)
        rates[row] = changed(rates[row], **(qd or {}))
        expected = f"robot 'flyer': state {row}: {message}"
    with pytest.raises(ModelError, match=f"^{re.escape(expected)}$"):
        robot.check_state(states, rates)


def test_faults_come_in_the_order_of_states_and_are_counted() -> None:
    robot = flyer()
    q = np.tile(robot.neutral(), (9, 1))
    q[1:, ELBOW] = 45.0
    message = r"state 1: .*; state 5: .*; and 3 more$"
    with pytest.raises(ModelError, match=message):
        robot.check_state(q)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(9), r"q has shape \(9,\); expected \(10,\) or \(batch, 10\)"),
        (np.zeros((2, 2, 10)), r"q has shape \(2, 2, 10\); expected"),
        ("abc", "q is not an array of numbers; expected"),
    ],
)
def test_wrong_shapes_are_named(q: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        flyer().check_state(q)


def test_batches_of_unequal_length_are_named() -> None:
    for robot in (flyer(), four_bar()):
        q, qd = robot.neutral(), np.zeros(robot.nv)
        with pytest.raises(ShapeError, match=r"^batch sizes differ: q 2, qd 3; exp"):
            robot.check_state(np.array([q] * 2), np.array([qd] * 3))


def test_one_configuration_may_have_many_velocities() -> None:
    robot = four_bar()
    rates = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    with pytest.raises(ModelError, match=r"state 1: loop 'pin' does not stay closed"):
        robot.check_state(robot.assemble(), rates)


def test_open_loops_of_a_batch_are_named_by_state() -> None:
    robot = four_bar()
    closed = robot.assemble()
    states = np.array([closed, closed + np.array([0.1, 0, 0]), closed])
    robot.check_state(states[[0, 2]], np.zeros(3))
    with pytest.raises(
        ModelError, match=r"^robot .*: state 1: loop 'pin' is open at q"
    ):
        robot.check_state(states)
    with pytest.raises(
        ModelError, match=r"state 0: loop 'pin' does not stay closed under qd"
    ):
        robot.check_state(states[[0, 2]], np.array([[1.0, 0, 0], [0, 0, 0]]))


def test_loops_of_a_large_batch_are_checked_together() -> None:
    robot, mechanism = four_bar(), Planar("four_bar")
    q, qd = mechanism.state(0.3, 1.0)
    states, rates = np.tile(q, (5000, 1)), np.tile(qd, (5000, 1))
    checked = Mock(wraps=state_checks.check_closed)
    with patch.object(state_checks, "check_closed", checked):
        robot.check_state(states, rates)
        assert not checked.called
        states[77, 1] += 1e-3
        rates[4999, 1] += 1e-3
        message = r"state 77: loop 'pin' is open .*state 4999: .*does not stay closed"
        with pytest.raises(ModelError, match=message):
            robot.check_state(states, rates)
    assert checked.call_count == 2
