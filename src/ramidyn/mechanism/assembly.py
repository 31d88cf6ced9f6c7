"""Assembly: find a configuration that closes all loops, from a distant guess."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.loops import newton
from ramidyn.algorithms.loops.cuts import row_names
from ramidyn.coordinates.configurations import generator_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.mechanism.constraints.rank import CLOSED
from ramidyn.mechanism.states import (
    checked_tolerance,
    constraints,
    kernels,
    normalized,
    rank,
    rounding_filter,
    vector,
)

if TYPE_CHECKING:
    from ramidyn.robot import Robot

TRIES = 20

Mask = npt.NDArray[np.bool_]
"""of q̇: which entries may move"""


def assemble(
    robot: Robot,
    q_guess: npt.ArrayLike | None = None,
    *,
    fixed: Mapping[str, npt.ArrayLike] | Iterable[str] = (),
    tolerance: float | None = None,
    rng: np.random.Generator | int = 0,
) -> Array:
    """Return a configuration with all loops closed; see `Robot.assemble`."""
    kernels(robot)
    start = normalized(
        robot, "q_guess", robot.neutral() if q_guess is None else q_guess
    )
    tolerance = checked_tolerance(tolerance)
    if isinstance(fixed, str) or not isinstance(cast(object, fixed), Iterable):
        raise ArgumentError(
            f"fixed is {fixed!r}; expected a list of joint names, or values by name"
        )
    free = np.ones(robot.nv, dtype=bool)
    values: Mapping[str, npt.ArrayLike] = {}
    names = list(fixed)
    if isinstance(fixed, Mapping):
        values = cast(Mapping[str, npt.ArrayLike], fixed)
    for n in names:
        joint = robot.model.joint(n)
        if n in values:
            value = vector(f"fixed[{n!r}]", values[n], joint.nq)
            start[joint.q_index : joint.q_index + joint.nq] = value
        free[joint.v_index : joint.v_index + joint.nv] = False
    start = normalized(robot, "fixed", start)
    generator = generator_of(rng)
    start = _limited(robot, start, free)
    is_exact = tolerance is not None  # otherwise the file's precision may decide
    limit = tolerance or CLOSED
    best, where = math.inf, start
    for k in range(TRIES):
        q = start
        if k:
            push = generator.normal(scale=min(0.1 * k, 1.0), size=robot.nv) * free
            q = _limited(robot, robot.integrate(start, push), free)
        q, size = _closed(robot, q, free, limit, is_exact)
        if not is_exact and size >= limit:
            limit = rank(robot).closed
        if size < limit:
            return q
        if size < best:
            best, where = size, q
    phi, J, _ = kernels(robot).position(where)
    if best < math.inf:
        r = int(np.argmax(np.abs(phi)))
        name, row = row_names(robot.model)[r].rsplit(".", 1)
        held = f" with {', '.join(map(repr, names))} held" if names else ""
        raise ModelError(
            f"no closed configuration found from {TRIES} starts{held}: the best has "
            f"|Φ| = {best:.3g}, at loop {name!r} (row {row!r}), where J has rank "
            f"{rank(robot).of(J)} of {len(J)} rows"
        )
    raise ModelError(
        f"robot {robot.name!r}: loops close only with cut axes pointing in opposite "
        "directions"
    )


def _closed(
    robot: Robot, q: Array, free: Mask, tolerance: float, is_exact: bool
) -> tuple[Array, float]:
    """Return q after Levenberg-Marquardt steps, and |Φ|; inf if a cut is reversed."""
    mu = 1e-4

    def moved(here: newton.Iterate) -> Array:
        F = np.eye(len(here.phi)) if is_exact else rounding_filter(robot, here.J)
        damping = math.sqrt(mu * min(float(np.linalg.norm(here.phi)), 1.0))
        return _step(robot, here.q, F @ here.J, F @ here.phi, free, damping)

    def judge(here: newton.Iterate, there: newton.Iterate) -> newton.Verdict:
        nonlocal mu
        size = float(np.linalg.norm(here.phi))
        if float(np.linalg.norm(there.phi)) < size:
            mu = max(mu * 0.2, 1e-12)
            return newton.ON
        goes_on = mu <= 1e6 and size >= tolerance
        mu *= 10.0
        return newton.Verdict(is_kept=False, goes_on=goes_on)

    evaluate = partial(constraints, robot)
    found = newton.closed(
        q, evaluate, moved, judge, tolerance=1e-3 * tolerance, steps=100
    )
    senses = kernels(robot).position(found.q)[2]
    is_reversed = found.size < tolerance and (senses < 0).any()
    return found.q, math.inf if is_reversed else found.size


def _step(
    robot: Robot, q: Array, J: Array, phi: Array, free: Mask, damping: float
) -> Array:
    """Return q after one damped step; joints driven against a limit stay there."""
    free, moved = np.array(free), q
    for _ in range(robot.nv):
        moved = robot.integrate(
            q, newton.correction(J * free, phi, damping, longest=1.0)
        )
        held = [
            j.v_index
            for j in robot.model.joints
            if j.nq == j.nv == 1
            and free[j.v_index]
            and not _within(robot, moved, j.q_index)
            and not _within(robot, q + np.sign(moved - q) * 1e-12, j.q_index)
        ]
        if not held:
            break
        free[held] = False
    return _limited(robot, moved, free)


def _within(robot: Robot, q: Array, k: int) -> bool:
    return bool(robot.limits.lower[k] <= q[k] <= robot.limits.upper[k])


def _limited(robot: Robot, q: Array, free: Mask) -> Array:
    """Return q with its free joints clamped to their limits."""
    out = np.array(q)
    for j in robot.model.joints:
        if free[j.v_index : j.v_index + j.nv].all():
            k = slice(j.q_index, j.q_index + j.nq)
            low, high = robot.limits.lower[k], robot.limits.upper[k]
            out[k] = np.minimum(np.maximum(q[k], low), high)
    return out
