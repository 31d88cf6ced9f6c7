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
from ramidyn.errors import ModelError
from ramidyn.mechanism.batches import Batch, Check
from ramidyn.mechanism.constraints.rank import CLOSED, TOLERANCE
from ramidyn.mechanism.constraints.samples import PRECISION
from ramidyn.mechanism.newton_kernels import PROJECTIONS, VELOCITIES
from ramidyn.mechanism.state_arrays import (
    is_batch,
    normalized,
    state_batch,
    vector,
    with_unit_quaternions,
)
from ramidyn.mechanism.states import (
    checked_tolerance,
    constraints,
    kernels,
    rank,
    refuse,
    rounding_filter,
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
    if is_batch(q, qd):
        batch, errors, found = _project_batch(robot, q, qd, tolerance)
        results = batch.result("project", errors, *found)
        return results[0] if qd is None else results
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
    found = newton.closed(
        q, evaluate, moved, judge, tolerance=_goal(tolerance), steps=PROJECTIONS
    )
    if tolerance is None and not found.size <= limit:
        limit = max(limit, rank(robot).closed)
    what = "does not close near q: |Φ| is"
    refuse(robot, found.phi, limit, what, "try assemble(q), which searches further")
    q = found.q
    if qd is None:
        return q
    v = vector("qd", qd, robot.nv)
    J = rounding_filter(robot, found.J) @ found.J
    for _ in range(VELOCITIES):  # once, unless redundant rows are damped
        v = v + k.correction(q, J @ v)
        scale = 1.0 + float(np.abs(v).max(initial=0.0))
        if float(np.abs(J @ v).max(initial=0.0)) <= CLOSED * scale:
            break
    return q, v


def _goal(tolerance: float | None) -> float:
    return 0.01 * tolerance if tolerance else ROUNDED


def _project_batch(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike | None, tolerance: float | None
) -> tuple[Batch, dict[int, str], list[Array]]:
    """Project all valid states; those that the kernel does not close, one by one."""
    tolerance = checked_tolerance(tolerance)
    given: list[Array] = [x for x in state_batch(robot, q, qd) if x is not None]
    checks: list[Check] = [
        partial(normalized, robot, "q"),
        lambda v: vector("qd", v, robot.nv),
    ]
    batch = Batch.of(robot, given, checks[: len(given)])
    found = [x[batch.valid] for x in given]
    start, *rates = found
    errors: dict[int, str] = {}
    is_closed = np.zeros(len(start), dtype=bool)
    if len(start) and (qd is None or rank(robot).tolerance <= TOLERANCE):
        k = kernels(robot)
        units = with_unit_quaternions(robot, start)
        closed, phi = k.projection(units, _goal(tolerance))
        limit = tolerance or max(CLOSED, rank(robot).closed)
        is_closed = np.abs(phi).max(axis=1) <= limit
        found = [closed, *(k.velocity_projection(closed, v) for v in rates)]
    for i in np.flatnonzero(~is_closed).tolist():
        try:
            one = project(robot, start[i], *(v[i] for v in rates), tolerance=tolerance)
        except ModelError as error:
            errors[i] = str(error)
            continue
        for x, y in zip(found, one if rates else [one], strict=True):
            x[i] = y
    return batch, errors, found
