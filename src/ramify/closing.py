"""Closed loops, numerically: kernels of a mechanism, admissible states, assembly.

    Φ(q) = 0,   J q̇ = 0

`assemble` closes the loops from a guess that may be far; `project` mends a state that
is almost admissible.
"""

# ruff: noqa: N803, N806  the book's letters: J, N, T_a

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
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
from ramify.quantities.redundancy import numerical_rank
from ramify.robot import Robot

TOLERANCE = 1e-9
"""|Φ| [m, rad] of a closed configuration"""
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
    q = vector("q", q, robot.nq)
    for name, length in _quaternions(robot, q):
        if not abs(length - 1.0) <= ADMISSIBLE:
            raise _wrong_length("q", name, length)
    phi, J, senses = position(q)
    refuse(robot, phi, tolerance, "is open at q: |Φ| is", "assemble(q) closes it")
    if (senses < 0).any():
        raise ModelError(
            f"robot {robot.name!r}: loops are closed at q with axes of cuts opposite"
        )
    if qd is not None:
        v = vector("qd", qd, robot.nv)
        rate = J @ v
        scale = 1.0 + float(np.abs(v).max(initial=0.0))
        what = "is opened by qd: |J qd| is"
        refuse(robot, rate, tolerance * scale, what, "project(q, qd) mends it")


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
    tolerance: float = TOLERANCE,
    rng: np.random.Generator | int = 0,
) -> Array:
    """Return a configuration near a guess in which all loops are closed.

    Damped Gauss-Newton steps within the joint limits; where they lead nowhere, again
    from other starts.

    Args:
        robot: the robot.
        q_guess: (nq,) where to start; neutral by default.
        fixed: joints that stay: their values by name, or names (as in the guess).
        tolerance: of |Φ| [m, rad].
        rng: where other starts come from, or a seed.

    Raises:
        ModelError: no start led to a closed configuration; with what is left open.
        UnknownName: a joint of ``fixed`` is not there.
    """
    kernels(robot)
    start = _normalized(
        robot, "q_guess", robot.neutral() if q_guess is None else q_guess
    )
    if not tolerance > 0:
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
    start = _normalized(robot, "fixed", start)
    generator = np.random.default_rng(rng)
    start = _limited(robot, start, free)
    best, where = math.inf, start
    for k in range(TRIES):
        q = start
        if k:
            push = generator.normal(scale=min(0.1 * k, 1.0), size=robot.nv) * free
            q = _limited(robot, robot.integrate(start, push), free)
        q, size = _closed(robot, q, free, tolerance)
        if size < tolerance:
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
            f"{numerical_rank(J)} of {len(J)} rows"
        )
    raise ModelError(
        f"robot {robot.name!r}: loops were closed with axes of cuts opposite only"
    )


def _closed(
    robot: Robot, q: Array, free: Mask, tolerance: float
) -> tuple[Array, float]:
    """Return q after Levenberg-Marquardt steps, and |Φ|; inf if a cut is reversed."""
    position = kernels(robot).position
    phi, jacobian, senses = position(q)
    size, mu = float(np.linalg.norm(phi)), 1e-4
    for _ in range(100):
        if float(np.abs(phi).max(initial=0.0)) < 1e-3 * tolerance:
            break
        moved = _step(robot, q, jacobian, phi, free, math.sqrt(mu * min(size, 1.0)))
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


def _quaternions(robot: Robot, q: Array) -> Iterator[tuple[str, float]]:
    """Yield joints with quaternions, the last four of their coordinates; lengths."""
    for j in robot.model.joints:
        if j.nq > j.nv:
            end = j.q_index + j.nq
            yield j.name, float(np.linalg.norm(q[end - 4 : end]))


def _normalized(robot: Robot, what: str, q: npt.ArrayLike) -> Array:
    """Return a configuration as a user gave it, its quaternions of length one."""
    x = vector(what, q, robot.nq)
    lengths = dict(_quaternions(robot, x))
    for name, length in lengths.items():
        if length < ADMISSIBLE:
            raise _wrong_length(what, name, length)
    return robot.normalize(x) if lengths else x


def _wrong_length(what: str, joint: str, length: float) -> ModelError:
    cure = "; robot.normalize(q) scales it" if length > ADMISSIBLE else ""
    return ModelError(
        f"{what} has a quaternion of length {length:.6g} at joint {joint!r}; expected "
        f"1{cure}"
    )


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
    tolerance: float = TOLERANCE,
) -> Any:
    """Return q with its loops closed, or (q, q̇) with q̇ keeping them so.

    The least change, measured by the mass matrix: no momentum is added along motions
    that the loops allow.
    """
    k = kernels(robot)
    q = _normalized(robot, "q", q)
    for _ in range(20):
        phi = k.position(q)[0]
        if float(np.abs(phi).max(initial=0.0)) < 0.01 * tolerance:
            break
        q = robot.integrate(q, k.correction(q, phi))
    else:
        what = "does not close near q: |Φ| is"
        refuse(robot, k.position(q)[0], tolerance, what, "assemble(q) looks further")
    if qd is None:
        return q
    v = vector("qd", qd, robot.nv)
    rate = k.position(q)[1] @ v
    return q, v + k.correction(q, rate)
