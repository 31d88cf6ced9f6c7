"""Newton's method for closing loops, inside kernels: a batch in one native call.

Each state takes the steps that `project` and `assemble` take for one state.
"""

from __future__ import annotations

import math
import sys
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ramidyn.mechanism.constraints.rank import CLOSED, rank_of
from ramidyn.mechanism.constraints.samples import PRECISION
from ramidyn.symbolic.dense import at_least, ldl, solve
from ramidyn.symbolic.expr import ONE, ZERO
from ramidyn.symbolic.functions import absolute, maximum, minimum, norm, where
from ramidyn.symbolic.repeat import repeat_until

if TYPE_CHECKING:
    from ramidyn.mechanism.states import Kernels
    from ramidyn.robot import Robot

PROJECTIONS, VELOCITIES, ASSEMBLIES = 20, 5, 100
"""most steps of q in `project`, of its q̇, and of `assemble`"""
FIRST, LEAST, MOST = 1e-4, 1e-12, 1e6
"""damping of `assemble`, over |Φ|"""
AT_LIMIT = 1e-12
"""[rad, m]"""


def projected(robot: Robot, kernels: Kernels, q: Any, goal: Any) -> tuple[Any, Any]:
    """Return q after the steps of `project`, and Φ."""

    def step(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        q, phi, _ = carry
        there = robot.integrate(q, kernels.correction(q, phi))
        left = kernels.position(there)[0]
        before, after = _largest(phi), _largest(left)
        is_finite = after <= sys.float_info.max
        is_stuck = (0.9 * before < after) & (after < PRECISION)
        goes_on = where(is_finite, where(is_stuck, ZERO, ONE), ZERO)
        return where(is_finite, there, q), where(is_finite, left, phi), goes_on

    start = (q, kernels.position(q)[0], ONE)
    found = repeat_until(
        step, start, lambda c: c[2] * _largest(c[1]) < goal, PROJECTIONS
    )
    return found.carry[:2]


def projected_velocity(_: Robot, kernels: Kernels, q: Any, qd: Any) -> Any:
    """Return q̇ after the steps of `project` at a closed q."""
    J = kernels.position(q)[1]

    def step(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        v, left = carry
        v = v + kernels.correction(q, left)
        return v, J @ v

    def until(carry: tuple[Any, Any]) -> Any:
        v, left = carry
        return _largest(left) <= CLOSED * (1.0 + _largest(v))

    first = step((qd, J @ qd))
    return repeat_until(step, first, until, VELOCITIES - 1).carry[0]


def assembled(
    robot: Robot, kernels: Kernels, q: Any, free: Any, limit: Any
) -> tuple[Any, Any, Any]:
    """Return q after the damped steps of `assemble`, Φ, and the senses of its cuts.

    ``free`` is 1 for entries of q̇ that may move, else 0.
    """

    def step(carry: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        q, phi, mu, _ = carry
        size = norm(phi)
        J = kernels.position(q)[1]
        there = _within_limits(robot, q, J, phi, free, mu * minimum(size, 1.0))
        left = kernels.position(there)[0]
        is_better = norm(left) < size
        may_go_on = where((mu <= MOST) & (size >= limit), ONE, ZERO)
        return (
            where(is_better, there, q),
            where(is_better, left, phi),
            where(is_better, maximum(mu * 0.2, LEAST), mu * 10.0),
            where(is_better, ONE, may_go_on),
        )

    def until(carry: tuple[Any, Any, Any, Any]) -> Any:
        _, phi, _, goes_on = carry
        return goes_on * _largest(phi) < 1e-3 * limit

    start = (q, kernels.position(q)[0], FIRST, ONE)
    q, phi, *_ = repeat_until(step, start, until, ASSEMBLIES).carry
    return q, phi, kernels.position(q)[2]


def _within_limits(
    robot: Robot, q: Any, J: Any, phi: Any, free: Any, damping: Any
) -> Any:
    """Return q after one damped step; joints driven against a limit stay there."""
    null = rank_of(robot.placed_model, robot.conventions).null
    # Jᵀ N = 0: N Nᵀ changes no step, and makes up for the rank that is always missing.
    constant = null @ np.transpose(null)

    def attempt(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        _, free, _ = carry
        Jf = J * free
        A = Jf @ np.transpose(J) + constant + damping * np.eye(len(J), dtype=int)
        factor = ldl(A.tolist(), at_least(damping))
        v = -(np.transpose(Jf) @ np.array(solve(*factor, phi)))
        moved = robot.integrate(q, v * minimum(1.0, 1.0 / maximum(_largest(v), 1e-12)))
        held = _held(robot, q, moved, free)
        return moved, free - held, held.sum()

    start = (q, free, ONE)
    moved, free, _ = repeat_until(attempt, start, lambda c: c[2] < 0.5, robot.nv).carry
    out = moved.copy()
    for j in robot.model.joints:
        is_free = reduce(minimum, free[j.v_index : j.v_index + j.nv], ONE) > 0.5
        for k in range(j.q_index, j.q_index + j.nq):
            low, high = float(robot.limits.lower[k]), float(robot.limits.upper[k])
            x = moved[k] if low == -math.inf else maximum(moved[k], low)
            x = x if high == math.inf else minimum(x, high)
            out[k] = where(is_free, x, moved[k])
    return out


def _held(robot: Robot, q: Any, moved: Any, free: Any) -> Any:
    """Return 1 for entries of q̇ that drive a joint on against its limit, else 0."""
    held: Any = np.full(robot.nv, ZERO)
    for j in robot.model.joints:
        k = j.q_index
        low, high = float(robot.limits.lower[k]), float(robot.limits.upper[k])
        if not j.nq == j.nv == 1 or (math.isinf(low) and math.isinf(high)):
            continue
        up, down = moved[k] > q[k], moved[k] < q[k]
        on = where(up, q[k] + AT_LIMIT, where(down, q[k] - AT_LIMIT, q[k]))
        is_out = [ZERO, ZERO]
        for e, x in enumerate((moved[k], on)):
            below = where(x < low, ONE, ZERO) if low > -math.inf else ZERO
            is_out[e] = where(x > high, ONE, below) if high < math.inf else below
        held[j.v_index] = free[j.v_index] * is_out[0] * is_out[1]
    return held


def _largest(x: Any) -> Any:
    return reduce(maximum, absolute(x))
