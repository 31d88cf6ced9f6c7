"""States between the rows of a run: cubic in the tangent space of the earlier row.

u(0) = 0,  u̇(0) = q̇₀,  q₀ ⊕ u(h) = q₁,  u̇(h) = q̇₁ seen from q₀ (tangent_rate)
q(t) = q₀ ⊕ u(t),  q̇(t) = u̇(t) seen from q(t)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ramidyn.concurrency import made_once
from ramidyn.coordinates.configurations import (
    differences,
    integrated_q,
    long_tangent_rate,
    velocity_of_tangent,
)
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.function import Function
from ramidyn.kernels import kernel
from ramidyn.mechanism.state_arrays import checked_numbers
from ramidyn.symbolic.expr import const

if TYPE_CHECKING:
    from ramidyn.robot import Robot
    from ramidyn.simulation.run import Run


def interpolated(run: Run, time: npt.ArrayLike) -> tuple[Array, Array]:
    """Return the states of a run at some times; see `Run.at`."""
    if run.robot is None:
        raise ArgumentError(
            "this run was loaded without its robot, which interpolation needs; pass it "
            "to Run.load(path, robot)"
        )
    if not len(run.times):
        raise ArgumentError("this run has no rows")
    t, t0, t1 = checked_numbers("time", time), run.times[0], run.times[-1]
    slack = 1e-9 * (t1 - t0)
    if t.ndim > 1 or not ((t0 - slack <= t) & (t <= t1 + slack)).all():
        raise ArgumentError(
            f"time is {time!r}; expected numbers from {t0:.6g} to {t1:.6g} s"
        )
    if len(run.times) == 1:
        rows = np.zeros(t.shape, dtype=int)
        return run.q[..., rows, :], run.qd[..., rows, :]
    later = np.searchsorted(run.times, t, side="right") - 1
    k = np.maximum(0, np.minimum(later, len(run.times) - 2))
    h = run.times[k + 1] - run.times[k]
    s = (t - run.times[k]) / h
    states = [run.q[..., k, :], run.qd[..., k, :]]
    states += [run.q[..., k + 1, :], run.qd[..., k + 1, :]]
    lead = states[0].shape[:-1]
    flat = [np.reshape(x, (-1, x.shape[-1])).astype(float) for x in states]
    between = [np.broadcast_to(x, lead).ravel() for x in (h, s)]
    q, qd = cubic_of(run.robot)(*flat, *between)
    return np.reshape(q, states[0].shape), np.reshape(qd, states[1].shape)


def cubic_of(robot: Robot) -> Function:
    """Return the compiled interpolation (q0, qd0, q1, qd1, h, s) -> q, qd."""

    def make() -> Function:
        nq, nv = robot.nq, robot.nv
        shapes = {"q0": nq, "qd0": nv, "q1": nq, "qd1": nv, "h": (), "s": ()}
        name = f"interpolate {robot.name}"
        return kernel(partial(_cubic, robot), shapes, name=name)

    return made_once(robot.__dict__, "_cubic", make)


def _cubic(
    robot: Robot, q0: Any, qd0: Any, q1: Any, qd1: Any, h: Any, s: Any
) -> dict[str, Any]:
    model, conventions = robot.model, robot.conventions
    u1: Any = np.array(differences(model, conventions, q0, q1))
    for joint in (body.joint for body in model.tree.bodies):
        if joint.leader is None and joint.nq == 1:  # turns count, unlike on a circle
            u1[joint.v_index] = q1[joint.q_index] - q0[joint.q_index]
    v1 = np.array(long_tangent_rate(model, conventions, u1, qd1))
    a, b = u1 / h - qd0, v1 - qd0
    # u = h (q̇₀ s + (3 a − b) s² + (b − 2 a) s³)
    c2, c3 = 3.0 * a - b, b - 2.0 * a
    u = h * (s * (qd0 + s * (c2 + s * c3)))
    rate = qd0 + s * (2.0 * c2 + s * (3.0 * c3))
    q = integrated_q(model, conventions, q0, u, const(1.0))
    return {"q": q, "qd": velocity_of_tangent(model, conventions, u, rate)}
