"""Closed loops, numerically: kernels of a mechanism, admissible states, assembly.

    Φ(q) = 0,   J q̇ = 0

`assemble` closes the loops from a guess that may be far; `project` mends a state that
is almost admissible.
"""

# ruff: noqa: N803, N806  the book's letters: J, N, T_a

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast, final
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt

from ramify.algorithms.loops.cuts import row_names
from ramify.compiling import compile
from ramify.errors import ModelError, ShapeError
from ramify.function import Function
from ramify.model.pose import Array
from ramify.once import once
from ramify.quantities import dynamics, loops
from ramify.quantities.base import Quantity
from ramify.quantities.redundancy import (
    CLOSED,
    PRECISION,
    ROUNDING,
    Rank,
    rank_of,
)
from ramify.robot import Robot

ADMISSIBLE = 1e-6
"""|Φ| and |J q̇| up to which a given state is taken as admissible"""
TRIES = 20

Mask = npt.NDArray[np.bool_]
"""of q̇: which entries may move"""


# ------------------------------------------------------------ kernels and states


@final
class Kernels:
    """The compiled functions of one mechanism."""

    def __init__(self, robot: Robot) -> None:
        self._robot = ref(robot)

    def compile(self, quantity: Quantity | list[Quantity]) -> Function:
        """Return a compiled function of the robot."""
        robot = self._robot()
        assert robot is not None
        return compile(quantity, robot)

    @once
    def position(self) -> Function:
        """(q) -> Φ, J, senses."""
        phi, jacobian = loops.constraint_residual, loops.constraint_jacobian
        return self.compile([phi, jacobian, loops.constraint_senses])

    @once
    def bias(self) -> Function:
        """(q, qd) -> γ."""
        return self.compile(loops.constraint_bias)

    @once
    def correction(self) -> Function:
        """(q, x) -> the least v with J v = −x."""
        return self.compile(loops.constraint_correction)

    @once
    def inverse_dynamics(self) -> Function:
        """(q, qd, qdd) -> τ of the tree."""
        return self.compile(dynamics.inverse_dynamics)


_KERNELS: WeakKeyDictionary[Robot, Kernels] = WeakKeyDictionary()


def kernels(robot: Robot) -> Kernels:
    """Return the compiled functions of a robot with loops."""
    if not robot.model.loops:
        raise ModelError(f"robot {robot.name!r} has no loops; robot.add_loop makes one")
    return _KERNELS.setdefault(robot, Kernels(robot))


def check_state(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    tolerance: float = ADMISSIBLE,
) -> None:
    """Raise ModelError unless all loops are closed at q, and stay so with q̇."""
    position = kernels(robot).position
    phi, J, senses = position(normalized(robot, "q", q))
    limit = tolerance
    if not float(np.abs(phi).max(initial=0.0)) <= limit:
        limit = max(limit, rank(robot).closed)
    refuse(robot, phi, limit, "is open at q: |Φ| is", "assemble(q) closes it")
    if (senses < 0).any():
        raise ModelError(
            f"robot {robot.name!r}: loops are closed at q with axes of cuts opposite"
        )
    if qd is not None:
        v = vector("qd", qd, robot.nv)
        rate = rounding_filter(robot, J) @ J @ v
        scale = 1.0 + float(np.abs(v).max(initial=0.0))
        what = "is opened by qd: |J qd| is"
        refuse(robot, rate, tolerance * scale, what, "project(q, qd) mends it")


def rank(robot: Robot) -> Rank:
    """Return which rows of a robot's loops count, and how well they close."""
    return rank_of(robot.placed_model, robot.conventions)


def rounding_filter(robot: Robot, J: Array) -> Array:
    """Return F of `Rank.filter`; the rank is looked for only where it may matter."""
    values = np.linalg.svd(J, compute_uv=False)
    values = values / max(float(values.max(initial=0.0)), 1e-300)
    if ((values > ROUNDING) & (values < PRECISION)).any():
        return rank(robot).filter(J)
    return np.eye(len(J))


def refuse(robot: Robot, x: Array, tolerance: float, what: str, cure: str) -> None:
    """Raise ModelError if a row is above a tolerance, with its loop's name."""
    r = int(np.argmax(np.abs(x)))
    if not abs(x[r]) <= tolerance:
        name, row = row_names(robot.model)[r].rsplit(".", 1)
        raise ModelError(
            f"loop {name!r} {what} {abs(x[r]):.3g} (row {row!r}); expected at most "
            f"{tolerance:.3g}; {cure}"
        )


# ------------------------------------------------------------ assembly


def assemble(
    robot: Robot,
    q_guess: npt.ArrayLike | None = None,
    *,
    fixed: Mapping[str, npt.ArrayLike] | Iterable[str] = (),
    tolerance: float | None = None,
    rng: np.random.Generator | int = 0,
) -> Array:
    """Return a configuration near a guess in which all loops are closed.

    Damped Gauss-Newton steps within the joint limits; where they lead nowhere, again
    from other starts.

    Args:
        robot: the robot.
        q_guess: (nq,) where to start; neutral by default.
        fixed: joints that stay: their values by name, or names (as in the guess).
        tolerance: of |Φ| [m, rad]; by default 1e-9, or what the digits of the file
            allow.
        rng: where other starts come from, or a seed.

    Raises:
        ModelError: no start led to a closed configuration; with what is left open.
        UnknownName: a joint of ``fixed`` is not there.
    """
    kernels(robot)
    start = normalized(
        robot, "q_guess", robot.neutral() if q_guess is None else q_guess
    )
    if tolerance is not None and not tolerance > 0:
        raise ShapeError(f"tolerance is {tolerance!r}; expected more than 0")
    if isinstance(fixed, str) or not isinstance(cast(object, fixed), Iterable):
        raise ShapeError(
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
    generator = np.random.default_rng(rng)
    start = _limited(robot, start, free)
    is_exact = tolerance is not None  # otherwise the digits of the file may decide
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
            f"no closed configuration found from {TRIES} starts{held}: at best |Φ| is "
            f"{best:.3g}, by loop {name!r} (row {row!r}), where J has rank "
            f"{rank(robot).of(J)} of {len(J)} rows"
        )
    raise ModelError(
        f"robot {robot.name!r}: loops were closed with axes of cuts opposite only"
    )


def _closed(
    robot: Robot, q: Array, free: Mask, tolerance: float, is_exact: bool
) -> tuple[Array, float]:
    """Return q after Levenberg-Marquardt steps, and |Φ|; inf if a cut is reversed."""
    position = kernels(robot).position
    phi, jacobian, senses = position(q)
    size, mu = float(np.linalg.norm(phi)), 1e-4
    for _ in range(100):
        if float(np.abs(phi).max(initial=0.0)) < 1e-3 * tolerance:
            break
        F = np.eye(len(phi)) if is_exact else rounding_filter(robot, jacobian)
        damping = math.sqrt(mu * min(size, 1.0))
        moved = _step(robot, q, F @ jacobian, F @ phi, free, damping)
        found = position(moved)
        new = float(np.linalg.norm(found[0]))
        if new < size:
            q, size, mu = moved, new, max(mu * 0.2, 1e-12)
            phi, jacobian, senses = found
        elif mu > 1e6 or size < tolerance:
            break
        else:
            mu *= 10.0
    worst = float(np.abs(phi).max(initial=0.0))
    return q, math.inf if worst < tolerance and (senses < 0).any() else worst


def _step(robot: Robot, q: Array, J: Array, phi: Array, free: Mask, mu: float) -> Array:
    """Return q after one damped step; joints that it drives at a limit stay there."""
    free, moved = np.array(free), q
    for _ in range(robot.nv):
        damped = np.vstack([J * free, mu * np.eye(robot.nv)])
        rhs = np.concatenate([-phi, np.zeros(robot.nv)])
        v: Array = np.linalg.lstsq(damped, rhs)[0].astype(float)
        v *= min(1.0, 1.0 / max(float(np.abs(v).max(initial=0.0)), 1e-12))
        moved = robot.integrate(q, v)
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
    """Return q with the joints that are free within their limits."""
    out = np.array(q)
    for j in robot.model.joints:
        if free[j.v_index : j.v_index + j.nv].all():
            k = slice(j.q_index, j.q_index + j.nq)
            low, high = robot.limits.lower[k], robot.limits.upper[k]
            out[k] = np.minimum(np.maximum(q[k], low), high)
    return out


def normalized(robot: Robot, what: str, q: npt.ArrayLike) -> Array:
    """Return a configuration as a user gave it, its quaternions of length one."""
    x = vector(what, q, robot.nq)
    joints = [j for j in robot.model.joints if j.nq > j.nv]
    for j in joints:
        end = j.q_index + j.nq  # the last four of its coordinates
        if not x[end - 4 : end].any():
            raise ModelError(
                f"{what} has a quaternion of zero length at joint {j.name!r}; expected "
                "one that gives a direction, such as that of robot.neutral()"
            )
    return robot.normalize(x) if joints else x


def vector(what: str, value: npt.ArrayLike, n: int) -> Array:
    """Return what a user gave as n numbers."""
    try:
        x: Array = np.ravel(np.array(value, dtype=float))
    except (TypeError, ValueError):
        x = np.zeros(0)
    if x.shape != (n,) or not np.isfinite(x).all():
        numbers = "finite number" if n == 1 else "finite numbers"
        raise ShapeError(f"{what} is {value!r}; expected {n} {numbers}")
    return x


def project(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    *,
    tolerance: float | None = None,
) -> Any:
    """Return q with its loops closed, or (q, q̇) with q̇ keeping them so.

    The least change, measured by the mass matrix: no momentum is added along motions
    that the loops allow. |Φ| is at most ``tolerance``: by default 1e-9, or what the
    digits of the file allow.
    """
    k = kernels(robot)
    q = normalized(robot, "q", q)
    limit, size = tolerance or CLOSED, math.inf
    for _ in range(20):
        phi = k.position(q)[0]
        last, size = size, float(np.abs(phi).max(initial=0.0))
        if size < 0.01 * limit or 0.9 * last < size < PRECISION:
            break
        q = robot.integrate(q, k.correction(q, phi))
    if size >= 0.01 * limit:
        phi = k.position(q)[0]
        if tolerance is None and not float(np.abs(phi).max(initial=0.0)) <= limit:
            limit = max(limit, rank(robot).closed)
        what = "does not close near q: |Φ| is"
        refuse(robot, phi, limit, what, "assemble(q) looks further")
    if qd is None:
        return q
    v = vector("qd", qd, robot.nv)
    J = k.position(q)[1]
    J = rounding_filter(robot, J) @ J
    for _ in range(5):  # once, unless redundant rows are damped
        v = v + k.correction(q, J @ v)
        scale = 1.0 + float(np.abs(v).max(initial=0.0))
        if float(np.abs(J @ v).max(initial=0.0)) <= CLOSED * scale:
            break
    return q, v
