"""Projection: correct a state that is almost consistent with the loops.

`project` changes it least in the norm of M.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.loops import newton
from ramidyn.description.pose import Array
from ramidyn.mechanism.constraints.rank import CLOSED
from ramidyn.mechanism.constraints.samples import PRECISION
from ramidyn.mechanism.states import (
    checked_tolerance,
    constraints,
    kernels,
    normalized,
    rank,
    refuse,
    rounding_filter,
    vector,
)

if TYPE_CHECKING:
    from ramidyn.robot import Robot

ROUNDED = 1e-15
"""|Φ| [m, rad] at rounding level. Where J nearly loses rank, the error of q is much
larger than the remaining gap, and the next step of a simulation magnifies it."""


def project(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    *,
    tolerance: float | None = None,
) -> Any:
    """Return q, or (q, q̇), with its loops closed; see `Robot.project`."""
    k = kernels(robot)
    q = normalized(robot, "q", q)
    tolerance = checked_tolerance(tolerance)
    limit = tolerance or CLOSED

    def moved(here: newton.Iterate) -> Array:
        return robot.integrate(here.q, k.correction(here.q, here.phi))

    def judge(here: newton.Iterate, there: newton.Iterate) -> newton.Verdict:
        is_stuck = 0.9 * here.size < there.size < PRECISION
        is_finite = math.isfinite(there.size)  # J loses rank at some configurations
        return newton.Verdict(is_kept=is_finite, goes_on=is_finite and not is_stuck)

    evaluate = partial(constraints, robot)
    goal = 0.01 * tolerance if tolerance else ROUNDED
    found = newton.closed(q, evaluate, moved, judge, tolerance=goal, steps=20)
    if tolerance is None and not found.size <= limit:
        limit = max(limit, rank(robot).closed)
    what = "does not close near q: |Φ| is"
    refuse(robot, found.phi, limit, what, "try assemble(q), which searches further")
    q = found.q
    if qd is None:
        return q
    v = vector("qd", qd, robot.nv)
    J = rounding_filter(robot, found.J) @ found.J
    for _ in range(5):  # once, unless redundant rows are damped
        v = v + k.correction(q, J @ v)
        scale = 1.0 + float(np.abs(v).max(initial=0.0))
        if float(np.abs(J @ v).max(initial=0.0)) <= CLOSED * scale:
            break
    return q, v
