"""Tasks at singular configurations: never a finite number that means nothing."""

from __future__ import annotations

import numpy as np
import pytest

import ramify
from ramify.algorithms.operational.tasks import Task
from ramify.control import OperationalSpace
from ramify.model.builder import Body, Joint
from ramify.robot import Robot
from support.loops import as_robot
from support.planar import UP, rod

TIP = Task("hand", ("x", "z"), "world")


@pytest.fixture(scope="module")
def arm() -> Robot:
    """Two bars in a plane and a hand at their end."""
    b = ramify.RobotBuilder("arm")
    b.add(Body("upper", rod(0.5, 1.0)), "world", Joint.revolute(UP, name="shoulder"))
    elbow = Joint.revolute(UP, name="elbow")
    b.add(Body("fore", rod(0.7, 0.8)), "upper", elbow, (1.0, 0, 0))
    wrist = Joint.revolute(UP, name="wrist")
    b.add(Body("hand", rod(0.1, 0.2)), "fore", wrist, (0.8, 0, 0))
    return as_robot(b.description())


def stretched(count: int) -> np.ndarray:
    q = np.random.default_rng(0).normal(size=(count, 3))
    q[:, 1] = 0.0
    return q


def test_inertia_of_a_stretched_arm_is_not_finite(arm: Robot) -> None:
    q = stretched(50)
    inverse = arm.operational_inertia_inverse(q, [TIP])
    assert (np.linalg.matrix_rank(inverse) == 1).all()
    inertia = arm.operational_inertia(q, [TIP])
    assert not np.isfinite(inertia).all(axis=(1, 2)).any()
    q[:, 1] = 1e-3
    inertia = arm.operational_inertia(q, [TIP])
    inverse = arm.operational_inertia_inverse(q, [TIP])
    np.testing.assert_allclose(inertia @ inverse, [np.eye(2)] * 50, atol=1e-6)


def test_torques_of_a_stretched_arm_are_not_finite_or_damped(arm: Robot) -> None:
    q, rest = stretched(50), np.zeros((50, 3))
    wanted = np.random.default_rng(1).normal(size=(50, 2))
    tau = OperationalSpace(arm, [TIP])(q, rest, wanted)
    assert not np.isfinite(tau).all(axis=1).any()
    for damping in (1e-1, 1e-3, 1e-6):
        control = OperationalSpace(arm, [TIP], damping=damping)
        added = control(q, rest, wanted) - control(q, rest, 0 * wanted)
        assert np.abs(added).max() < 10 / damping
