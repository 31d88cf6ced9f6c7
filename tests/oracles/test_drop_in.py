"""Pinocchio's q and Ramidyn's: equal, or made equal by the line in the docs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.errors import ShapeError
from ramidyn.loading import load
from support.references import URDFS, needs_shared_robots, path_of
from support.robot_poses import poses

pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio, the oracle, is absent")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning"),
    needs_shared_robots,
]


@pytest.mark.parametrize("name", URDFS)
def test_shared_robots_take_pinocchios_q_as_the_docs_say(name: str) -> None:
    path = path_of(name)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    robot = load(path, root="floating", mimic="independent")
    assert list(robot.joint_names) == list(model.names)[1:]
    assert robot.nv == model.nv
    neutral = pin.neutral(model)
    pin.seed(0)
    q_pin = pin.randomConfiguration(model, neutral - 1, neutral + 1)
    q_pin[3:7] *= np.sign(q_pin[6])  # q and −q are one rotation
    q = robot.integrate(robot.neutral(), pin.difference(model, neutral, q_pin))
    if robot.nq == model.nq:
        np.testing.assert_allclose(q, q_pin, atol=1e-14)
    back = pin.integrate(model, neutral, robot.difference(robot.neutral(), q))
    np.testing.assert_allclose(back, q_pin, atol=1e-12)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q_pin)
    found = poses(robot, q)
    for body in robot.body_names:
        T = data.oMf[model.getFrameId(body, pin.FrameType.BODY)]
        np.testing.assert_allclose(found[body][0], T.translation, atol=1e-9)
        np.testing.assert_allclose(found[body][1], T.rotation, atol=1e-9)


def test_shape_errors_say_what_is_not_in_q() -> None:
    path = path_of("pr2")
    robot, model = load(path), pin.buildModelFromUrdf(str(path))
    assert robot.nq < robot.with_root("floating").nq < model.nq
    message = (
        r"q has shape \(\d+,\); .* Joints of robot 'pr2' that mimic others have no "
        r'entry \(\d+\); load\(..., mimic="independent"\) adds them. A continuous '
        r"joint is one angle, not \(cos, sin\) as in Pinocchio; 'Coming from Pinocchio'"
    )
    with pytest.raises(ShapeError, match=message):
        robot.gravity_forces(pin.neutral(model))
    with pytest.raises(
        ShapeError,
        match=r"qd has shape .* mimic others .* adds "
        r"them\.$",
    ):
        robot.kinetic_energy(robot.neutral(), np.zeros(model.nv))
