"""Assembly: find a configuration that closes all loops, from a distant guess."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.loops import newton
from ramidyn.algorithms.loops.cuts import row_names
from ramidyn.coordinates.configurations import generator_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.mechanism.batches import Batch, is_regular
from ramidyn.mechanism.constraints.rank import CLOSED
from ramidyn.mechanism.newton_kernels import ASSEMBLIES, AT_LIMIT, FIRST, LEAST, MOST
from ramidyn.mechanism.state_arrays import (
    is_batch,
    normalized,
    state_rows,
    with_unit_quaternions,
)
from ramidyn.mechanism.states import (
    checked_tolerance,
    constraints,
    kernels,
    rank,
    rounding_filter,
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
    given: Any = robot.neutral() if q_guess is None else q_guess
    has_batch = is_batch(given)
    if has_batch:
        states = state_rows("q_guess", given, robot.nq)
        batch = Batch.of(robot, [states], [partial(normalized, robot, "q_guess")])
        start = with_unit_quaternions(robot, states[batch.valid])
    else:
        batch = Batch(robot, np.array([0]), 1, {})
        start = normalized(robot, "q_guess", given)[None]
    search = AssemblySearch(robot, checked_tolerance(tolerance), has_batch)
    start = search.hold(fixed, start, batch)
    q, errors = search.closed(_limited(robot, start, search.free), generator_of(rng))
    if has_batch:
        return batch.result("assemble", errors, q)[0]
    if errors:
        raise ModelError(errors[0])
    return q[0]


@final
class AssemblySearch:
    """A search for closed configurations, of one state or of many at once."""

    def __init__(self, robot: Robot, tolerance: float | None, has_batch: bool) -> None:
        self.robot = robot
        self.is_exact = tolerance is not None  # else the file's precision may decide
        self.limit = tolerance or CLOSED
        self.is_native = has_batch and is_regular(robot)
        self.free: Mask = np.ones(robot.nv, dtype=bool)
        self.names: list[str] = []

    def hold(
        self,
        fixed: Mapping[str, npt.ArrayLike] | Iterable[str],
        start: Array,
        batch: Batch,
    ) -> Array:
        """Hold some joints; return the starts with their values."""
        if isinstance(fixed, str) or not isinstance(cast(object, fixed), Iterable):
            raise ArgumentError(
                f"fixed is {fixed!r}; expected a list of joint names, or values by name"
            )
        values: Mapping[str, npt.ArrayLike] = {}
        self.names = list(fixed)
        if isinstance(fixed, Mapping):
            values = cast(Mapping[str, npt.ArrayLike], fixed)
        start = np.array(start)
        for n in self.names:
            joint = self.robot.model.joint(n)
            if n in values:
                own = slice(joint.q_index, joint.q_index + joint.nq)
                start[:, own] = batch.values(f"fixed[{n!r}]", values[n], joint.nq)
            self.free[joint.v_index : joint.v_index + joint.nv] = False
        scaled = with_unit_quaternions(self.robot, start)
        for i in np.flatnonzero(~np.isfinite(scaled).all(axis=1)).tolist():
            normalized(self.robot, "fixed", start[i])  # raises an error
        return scaled

    def closed(
        self, start: Array, generator: np.random.Generator
    ) -> tuple[Array, dict[int, str]]:
        """Return closed configurations, and errors by index."""
        q, best = np.array(start), np.full(len(start), math.inf)
        left = np.arange(len(start))
        for k in range(TRIES):
            if not left.size:
                break
            begin = start[left]
            if k:
                scale = min(0.1 * k, 1.0)
                push = generator.normal(scale=scale, size=self.robot.nv) * self.free
                pushed = self.robot.integrate(begin, np.tile(push, (len(left), 1)))
                begin = _limited(self.robot, pushed, self.free)
            found, sizes = self._try(begin)
            if not self.is_exact and (sizes >= self.limit).any():
                self.limit = rank(self.robot).closed
            is_better = sizes < best[left]
            better = left[is_better]
            q[better], best[better] = found[is_better], sizes[is_better]
            left = left[~(sizes < self.limit)]
        return q, {i: self._error(q[i], float(best[i])) for i in left.tolist()}

    def _try(self, start: Array) -> tuple[Array, Array]:
        """Return what Newton's method finds, and |Φ|; inf if a cut is reversed."""
        if not self.is_native:
            found = [
                _closed(self.robot, q, self.free, self.limit, self.is_exact)
                for q in start
            ]
            return np.array([q for q, _ in found]), np.array([x for _, x in found])
        free = self.free.astype(float)
        q, phi, senses = kernels(self.robot).assembly(start, free, self.limit)
        sizes: Array = np.abs(phi).max(axis=1)
        sizes[(sizes < self.limit) & (senses < 0).any(axis=1)] = math.inf
        return q, sizes

    def _error(self, q: Array, best: float) -> str:
        """Return why no closed configuration was found."""
        if best == math.inf:
            return (
                f"robot {self.robot.name!r}: loops close only with cut axes pointing "
                "in opposite directions"
            )
        phi, J, _ = kernels(self.robot).position(q)
        r = int(np.argmax(np.abs(phi)))
        name, row = row_names(self.robot.model)[r].rsplit(".", 1)
        held = f" with {', '.join(map(repr, self.names))} held" if self.names else ""
        return (
            f"no closed configuration found from {TRIES} starts{held}: the best has "
            f"|Φ| = {best:.3g}, at loop {name!r} (row {row!r}), where J has rank "
            f"{rank(self.robot).of(J)} of {len(J)} rows"
        )


def _closed(
    robot: Robot, q: Array, free: Mask, tolerance: float, is_exact: bool
) -> tuple[Array, float]:
    """Return q after Levenberg-Marquardt steps, and |Φ|; inf if a cut is reversed."""
    mu = FIRST

    def moved(here: newton.Iterate) -> Array:
        F = np.eye(len(here.phi)) if is_exact else rounding_filter(robot, here.J)
        damping = math.sqrt(mu * min(float(np.linalg.norm(here.phi)), 1.0))
        return _step(robot, here.q, F @ here.J, F @ here.phi, free, damping)

    def judge(here: newton.Iterate, there: newton.Iterate) -> newton.Verdict:
        nonlocal mu
        size = float(np.linalg.norm(here.phi))
        if float(np.linalg.norm(there.phi)) < size:
            mu = max(mu * 0.2, LEAST)
            return newton.ON
        goes_on = mu <= MOST and size >= tolerance
        mu *= 10.0
        return newton.Verdict(is_kept=False, goes_on=goes_on)

    evaluate = partial(constraints, robot)
    found = newton.closed(
        q,
        evaluate,
        moved,
        judge,
        tolerance=1e-3 * tolerance,
        steps=ASSEMBLIES,
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
            and not _within(robot, q + np.sign(moved - q) * AT_LIMIT, j.q_index)
        ]
        if not held:
            break
        free[held] = False
    return _limited(robot, moved, free)


def _within(robot: Robot, q: Array, k: int) -> bool:
    return bool(robot.limits.lower[k] <= q[k] <= robot.limits.upper[k])


def _limited(robot: Robot, q: Array, free: Mask) -> Array:
    """Return q with its free joints clamped to their limits."""
    out = robot.clamp(q)
    for j in robot.model.joints:
        if not free[j.v_slice].all():
            out[..., j.q_slice] = q[..., j.q_slice]
    return out
