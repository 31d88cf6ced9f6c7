"""Every integrator, stabilization and method together: right, or refused.

Right is the solution of q̈ = FD(q, q̇, τ) by scipy, which knows nothing of our steps, up
to the error of the integrator's order; for `linearize`, the differences of a rollout.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.algorithms.integrators import INTEGRATORS, STABILIZATIONS
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.forces import JointDamper, JointSpring
from ramidyn.robot import Robot
from support.planar import Planar, four_bar

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* is too long for this motion", "ignore:.* reaches .* with stabilize="
)

Start = tuple[Robot, Array, Array, Array]
DURATION, DT = 0.1, 1e-3
DIFFERENCES = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))


@cache
def sprung_tree() -> Start:
    robot = ramidyn.robots.chain(3)
    first, second, _ = robot.joint_names
    robot = robot.add_force(JointDamper(first, 0.05))
    robot = robot.add_force(JointSpring(second, 2.0))
    q, qd = np.array([0.3, -0.4, 0.5]), np.array([0.5, 0.2, -0.5])
    return robot, q, qd, np.full(3, 0.02)


@cache
def driven_loop() -> Start:
    q, qd = Planar("four_bar").state(0.3, 2.0)
    return four_bar(), q, qd, np.array([0.3, 0.0, 0.1])


STARTS = {"tree": sprung_tree, "loops": driven_loop}
REFUSED = {
    ("rollout", "adaptive"): "integrator is 'adaptive'; possible: 'semi_implicit",
    ("linearize", "adaptive"): "integrator is 'adaptive'; possible: 'semi_implicit",
    ("linearize", "implicit"): "integrator is 'implicit'; possible: 'semi_implicit",
    ("linearize", "partition"): "stabilize is 'partition'; possible: 'none', ",
    ("loops", "implicit"): "robot 'four_bar' has loops, which 'implicit' does not supp",
}
"""the combinations that are not supported, and what the error says"""
CASES = [
    (integrator, stabilize, kind)
    for integrator in INTEGRATORS
    for stabilize in STABILIZATIONS
    for kind in STARTS
]


def refusal(method: str, integrator: str, stabilize: str, kind: str) -> str | None:
    pairs = [(method, integrator), (method, stabilize), (kind, integrator)]
    return "|".join(REFUSED[pair] for pair in pairs if pair in REFUSED) or None


@cache
def exact_end(kind: str) -> Array:
    """Return the state at the end by scipy."""
    integrate = pytest.importorskip("scipy.integrate")
    robot, q, qd, tau = STARTS[kind]()
    n = robot.nq

    def rate(_: float, y: Array) -> Array:
        return np.concatenate([y[n:], robot.forward_dynamics(y[:n], y[n:], tau)])

    start, span = np.concatenate([q, qd]), (0.0, DURATION)
    return integrate.solve_ivp(rate, span, start, rtol=1e-11, atol=1e-12).y[:, -1]


def error_of(method: str, kind: str, dt: float, **options: Any) -> float:
    robot, q, qd, tau = STARTS[kind]()
    if method == "rollout":
        run = robot.rollout(q, qd, tau, dt, steps=round(DURATION / dt), **options)
    else:
        run = robot.simulate(q, qd, tau, dt, duration=DURATION, **options)
    end = np.concatenate([run.q[-1], run.qd[-1]])
    return float(np.abs(end - exact_end(kind)).max())


@pytest.mark.parametrize("method", ["rollout", "simulate"])
@pytest.mark.parametrize(("integrator", "stabilize", "kind"), CASES)
def test_motions_converge_to_the_exact_one_or_are_refused(
    integrator: str, stabilize: str, kind: str, method: str
) -> None:
    options = {"integrator": integrator, "stabilize": stabilize}
    message = refusal(method, integrator, stabilize, kind)
    if message is not None:
        with pytest.raises(ArgumentError, match=message):
            error_of(method, kind, DT, **options)
        return
    coarse = error_of(method, kind, DT, **options)
    if integrator == "adaptive":
        assert coarse < 1e-6
        return
    order = INTEGRATORS[integrator].order
    assert coarse < (1e-7 if order == 4 else 0.05)
    fine = error_of(method, kind, DT / 2, **options)
    assert fine < 1e-9 or fine < 1.2 * coarse / 2**order


@pytest.mark.parametrize(("integrator", "stabilize", "kind"), CASES)
def test_linearized_steps_are_differences_of_rollouts_or_are_refused(
    integrator: str, stabilize: str, kind: str
) -> None:
    robot, q, qd, tau = STARTS[kind]()
    options: dict[str, Any] = {"integrator": integrator, "stabilize": stabilize}
    message = refusal("linearize", integrator, stabilize, kind)
    if message is not None:
        with pytest.raises(ArgumentError, match=message):
            robot.linearize(q, qd, tau, DT, **options)
        return
    A, B = robot.linearize(q, qd, tau, DT, **options)

    def after(qd: Array, tau: Array) -> Array:
        run = robot.rollout(q, qd, tau, DT, steps=1, **options)
        return np.concatenate([run.q[-1], run.qd[-1]])

    def difference(f: Callable[[float], Array]) -> Array:
        h = 1e-4
        return np.sum([w / h * f(k * h) for k, w in DIFFERENCES], axis=0)

    # Along q̇ itself, loops stay closed.
    along_qd = difference(lambda t: after((1.0 + t) * qd, tau))
    along_tau = difference(lambda t: after(qd, (1.0 + t) * tau))
    np.testing.assert_allclose(A[:, robot.nv :] @ qd, along_qd, atol=1e-8)
    np.testing.assert_allclose(B @ tau, along_tau, atol=1e-8)
