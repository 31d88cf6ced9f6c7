"""Very long time loops: no memory is lost, and steps are those made one by one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.robot import Robot
from support.processes import resident

DT = 1e-3


def robot() -> Robot:
    return ramidyn.robots.chain(3, geometry="plain")


def step_of(robot: Robot) -> Any:
    """Return a semi-implicit step with a damper, so that states stay bounded."""

    def step(q: Any, qd: Any) -> dict[str, Any]:
        qd = qd + DT * robot.forward_dynamics(q, qd, -0.05 * qd)
        return {"q": robot.integrate(q, qd, DT), "qd": qd}

    return ramidyn.kernel(step, {"q": robot.nq, "qd": robot.nv}, name="step")


def soak(batch: int, length: int, times: int) -> None:
    """Run ``batch * length * times`` steps in so many calls, then one by one."""
    arm, rng = robot(), np.random.default_rng(0)
    step = step_of(arm)
    run = ramidyn.scan(step, carry=("q", "qd"), length=length, record=())
    q, qd = arm.random_configuration(rng, batch=batch), np.zeros((batch, arm.nv))
    slow_q, slow_qd = q, qd
    q, qd = run(q, qd)
    before = resident() if sys.platform == "linux" else 0
    for _ in range(times - 1):
        q, qd = run(q, qd)
    grown = (resident() if sys.platform == "linux" else 0) - before
    assert grown < 2**21, f"{grown:,} bytes more after {batch * length * times:,} steps"
    assert np.isfinite(q).all()
    for _ in range(length * times):
        slow_q, slow_qd = step(slow_q, slow_qd)
    np.testing.assert_array_equal(q, slow_q)
    np.testing.assert_array_equal(qd, slow_qd)


def test_a_million_steps_are_those_made_one_by_one() -> None:
    soak(batch=1003, length=100, times=10)


@pytest.mark.slow
def test_a_hundred_million_steps_lose_no_memory() -> None:
    soak(batch=1003, length=10_000, times=10)


@pytest.mark.slow
def test_rollouts_lose_no_memory() -> None:
    arm, rng = robot(), np.random.default_rng(0)
    q = arm.random_configuration(rng, batch=512)
    sizes = []
    for k in range(200):
        arm.rollout(q, dt=DT, steps=100 + k % 3, policy=lambda qd: -0.05 * qd, every=1)
        sizes.append(resident() if sys.platform == "linux" else 0)
    assert sizes[-1] - sizes[100] < 2**24  # steps of old policies are forgotten
