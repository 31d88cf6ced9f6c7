"""Policies are traced into the step: what they return with symbols and with numbers.

The joint forces that a run records are those that the same function gives for the
recorded states, called with NumPy arrays, and the run is that of held joint forces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import math
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run

DT, STEPS, BATCH = 5e-3, 40, 11
TIP = ramidyn.tasks.Task("link3", "position", "local_world_aligned")
AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0))

pytestmark = pytest.mark.filterwarnings("ignore:.* is too long for this motion")


@pytest.fixture(scope="module")
def arm() -> Robot:
    builder, parent = RobotBuilder("arm"), "world"
    rod = Inertia.from_box(1.0, (0.05, 0.05, 0.3), at=(0, 0, 0.15))
    for k, axis in enumerate(AXES):
        builder.add(Body(f"link{k}", rod), parent, Joint.revolute(axis), (0, 0, 0.3))
        parent = f"link{k}"
    return Robot.from_description(builder.description())


def rolled(arm: Robot, policy: Callable[..., Any], **inputs: Array) -> Run:
    """Return a run of many states, checked against held joint forces."""
    rng = np.random.default_rng(1)
    q, qd = rng.normal(size=(2, BATCH, arm.nv))
    run = arm.rollout(
        q, qd, dt=DT, steps=STEPS, policy=policy, inputs=inputs, record="tau"
    )
    held = arm.rollout(q, qd, run.tau[:, :-1], DT)
    np.testing.assert_allclose(held.q, run.q, atol=1e-11)
    return run


def test_pd_control_follows_targets_of_each_step(arm: Robot) -> None:
    def pd(q: Any, qd: Any, target: Any) -> Any:
        return 5.0 * (target - q) - 0.1 * qd

    targets = np.random.default_rng(2).normal(size=(BATCH, STEPS, arm.nv))
    run = rolled(arm, pd, target=targets)
    expected = pd(run.q[:, :-1], run.qd[:, :-1], targets)
    np.testing.assert_allclose(run.tau[:, :-1], expected, atol=1e-11)


def test_a_neural_network_is_a_policy(arm: Robot) -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(16, 2 * arm.nv)), rng.normal(size=(arm.nv, 16))
    shift = rng.normal(size=16)

    def network(q: Any, qd: Any, scale: Any) -> Any:
        hidden = math.tanh(first @ np.concatenate([q, qd]) + shift)
        return scale * (second @ hidden)

    run = rolled(arm, network, scale=np.array([2.0]))
    state = np.concatenate([run.q, run.qd], axis=-1)
    expected = 2.0 * np.tanh(state @ first.T + shift) @ second.T
    np.testing.assert_allclose(run.tau, expected, atol=1e-11)


def test_an_operational_space_controller_is_a_policy(arm: Robot) -> None:
    """Its hand moves to the goal like a critically damped point mass."""
    goal, kp, kd = np.array([0.3, 0.1, 0.9]), 100.0, 20.0

    def controller(q: Any, qd: Any) -> Any:
        J = arm.jacobian(q, "link3", expressed_in="local_world_aligned")[:3]
        x = arm.pose(q, "link3")[:3, 3]
        wanted = kp * (goal - x) - kd * (J @ qd)
        drift = arm.acceleration(
            q, qd, np.zeros(arm.nv), "link3", expressed_in="local_world_aligned"
        )[:3]
        force = arm.operational_inertia(q, TIP) @ (wanted - drift)
        return J.T @ force + arm.bias_forces(q, qd)

    q, qd = np.array([0.3, 0.5, 0.6, 0.2]), np.zeros(arm.nv)
    how: dict[str, Any] = {"policy": controller, "integrator": "rk4"}
    run = arm.rollout(q, qd, dt=1e-4, steps=4000, every=400, **how)
    gap = arm.pose(run.q, "link3")[:, :3, 3] - goal
    t = run.times[:, None]
    expected = gap[0] * (1.0 + 10.0 * t) * np.exp(-10.0 * t)
    np.testing.assert_allclose(gap, expected, atol=2e-4)
