"""Poses as numbers: the position and rotation of one frame in another.

``T_a_b`` maps b-coordinates to a: x_a = R_a_b x_b + p_a_b. Neighbors cancel:
``T_a_c = T_a_b @ T_b_c``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.constants import (
    EXACT,
    IDENTITY,
    ORIGIN,
    Array,
    Matrix,
    Rows,
    Three,
    clean_position,
    clean_rotation,
    cross,
    direction,
    moved_point,
    norm,
    quaternion,
    times,
    transpose,
)
from ramidyn.errors import ArgumentError, ShapeError, is_among

Vector = Sequence[float] | Array
Order = Literal["xyzw", "wxyz"]
"""the order of a quaternion's entries; never a silent one"""


@final
@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Pose:
    """The rotation and position of one frame in another."""

    rows: Rows
    """of R"""
    origin: Three
    """p"""

    def __init__(self, R: npt.ArrayLike, p: npt.ArrayLike) -> None:
        R, p = _numbers("R", R), _numbers("p", p)
        if R.shape != (3, 3) or p.shape != (3,):
            raise ShapeError(
                f"R has shape {R.shape} and p {p.shape}; expected (3, 3) and (3,)"
            )
        _set_rows(self, clean_rotation(R.tolist()))
        _set_origin(self, clean_position(p.tolist()))

    def __repr__(self) -> str:
        return f"Pose(R={self.R!r}, p={self.p!r})"

    @property
    def R(self) -> Array:
        """(3, 3) rotation matrix."""
        return np.array(self.rows)

    @property
    def p(self) -> Array:
        """(3,) position [m]."""
        return np.array(self.origin)

    @staticmethod
    def of(rows: Matrix, origin: Sequence[float] = ORIGIN) -> Pose:
        """Return a pose from Python floats, without arrays."""
        return _clean(clean_rotation(rows), clean_position(origin))

    @staticmethod
    def identity() -> Pose:
        """Return the pose of a frame in itself."""
        return Pose.of(IDENTITY)

    @staticmethod
    def at(position: Vector) -> Pose:
        """Return a translated frame with parallel axes."""
        return Pose.of(IDENTITY, _three("position", position))

    @staticmethod
    def from_rpy(rpy: Vector, position: Vector = ORIGIN) -> Pose:
        """Return a pose from URDF's roll, pitch, yaw: R = Rz(y) Ry(p) Rx(r)."""
        R = rotation_of_rpy(*_three("roll, pitch, yaw", rpy))
        return placed_at(R, _three("position", position))

    @staticmethod
    def from_quaternion(
        quaternion: Vector, position: Vector = ORIGIN, *, order: Order
    ) -> Pose:
        """Return a pose from a quaternion, which is normalized.

        Args:
            quaternion: (4,) of any length except zero.
            position: (3,) [m].
            order: "xyzw" (Pinocchio, ROS, SciPy) or "wxyz" (MuJoCo); that of a robot is
                ``robot.conventions.quaternion``.
        """
        q = _numbers("the quaternion", quaternion)
        length = norm(q.ravel().tolist())
        if q.shape != (4,) or not 0.0 < length < np.inf:
            raise ShapeError(
                f"the quaternion is {quaternion!r}; expected 4 finite numbers, not all "
                "zero"
            )
        w, x, y, z = _as_wxyz((q / length).tolist(), order)
        R = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
        return Pose.of(R, _three("position", position))

    @staticmethod
    def from_q(q: Vector, *, order: Order) -> Pose:
        """Return a pose from the q of a floating joint.

        ``Pose.from_q(q[:7], order=robot.conventions.quaternion)``

        Args:
            q: (7,) position [m] and quaternion.
            order: of the quaternion, as in `from_quaternion`.
        """
        values = _numbers("q", q)
        if values.shape != (7,):
            raise ShapeError(
                f"q has shape {values.shape}; a floating joint has 7 entries: position "
                "and quaternion"
            )
        return Pose.from_quaternion(values[3:], values[:3], order=order)

    @staticmethod
    def from_rotation_vector(rotation: Vector, position: Vector = ORIGIN) -> Pose:
        """Return a pose rotated about a vector by its length [rad]."""
        axis = _three("rotation vector", rotation)
        angle = norm(axis)
        return Pose.from_axis_angle(axis if angle else (0, 0, 1), angle, position)

    @staticmethod
    def from_axis_angle(axis: Vector, angle: float, position: Vector = ORIGIN) -> Pose:
        """Return a pose rotated by ``angle`` [rad] about ``axis``."""
        x, y, z = _three("axis", axis)
        length = norm((x, y, z))
        if not length:
            raise ShapeError("the axis is zero; expected a direction")
        x, y, z = x / length, y / length, z / length
        turn = _numbers("angle", angle)
        if turn.shape != () or not np.isfinite(turn):
            raise ShapeError(f"angle: {angle!r} given; expected a finite number [rad]")
        c, s = direction(float(turn))
        v = 1 - c
        R = (
            (c + v * x * x, v * x * y - s * z, v * x * z + s * y),
            (v * x * y + s * z, c + v * y * y, v * y * z - s * x),
            (v * x * z - s * y, v * y * z + s * x, c + v * z * z),
        )
        return Pose.of(R, _three("position", position))

    def __matmul__(self, other: Pose) -> Pose:
        if self.is_identity():
            return other
        if other.is_identity():
            return self
        p = self.origin
        if other.origin != ORIGIN:
            p = moved_point(self.rows, other.origin, p)
        if self.rows == IDENTITY:
            return _clean(other.rows, clean_position(p))
        if other.rows == IDENTITY:
            return _clean(self.rows, clean_position(p))
        columns = transpose(other.rows)
        R = [[x * a + y * b + z * c for a, b, c in columns] for x, y, z in self.rows]
        return _clean(clean_rotation(R), clean_position(p))

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in this one."""
        R = transpose(self.rows)
        if self.origin == ORIGIN:
            return _clean(R, ORIGIN)
        return _clean(R, clean_position([0.0 - x for x in times(R, self.origin)]))

    def apply(self, point: Vector) -> Array:
        """Return a point of the inner frame in coordinates of the outer frame."""
        return np.array(moved_point(self.rows, _three("point", point), self.origin))

    def quaternion(self, *, order: Order) -> Array:
        """Return the quaternion of the rotation, (4,), with w ≥ 0.

        Args:
            order: "xyzw" (Pinocchio, ROS, SciPy) or "wxyz" (MuJoCo).
        """
        w, x, y, z = quaternion(self.rows)
        return np.array(
            [x, y, z, w] if _checked_order(order) == "xyzw" else [w, x, y, z]
        )

    def q(self, *, order: Order) -> Array:
        """Return this pose as the q of a floating joint, (7,): position and quaternion.

        Args:
            order: of the quaternion; that of a robot is
                ``robot.conventions.quaternion``.
        """
        return np.concatenate([self.p, self.quaternion(order=order)])

    def rotation_vector(self) -> Array:
        """Return the rotation as a vector, (3,): axis times angle, at most π [rad]."""
        w, *u = quaternion(self.rows)
        sine = norm(u)
        # atan2 keeps all digits where the angle is small, or near π.
        scale = 2.0 * math.atan2(sine, w) / sine if sine else 2.0
        return np.array([scale * e for e in u])

    def is_identity(self) -> bool:
        """Return whether this is exactly the identity."""
        return self.rows == IDENTITY and self.origin == ORIGIN


_set_rows = Pose.rows.__set__  # type: ignore[attr-defined]
_set_origin = Pose.origin.__set__  # type: ignore[attr-defined]


def _clean(rows: Rows, origin: Three) -> Pose:
    """Return a pose of numbers without noise."""
    pose = object.__new__(Pose)
    _set_rows(pose, rows)
    _set_origin(pose, origin)
    return pose


def placed_at(rows: Rows, origin: Sequence[float]) -> Pose:
    """Return the pose of a rotation that `clean_rotation` has seen."""
    return _clean(rows, clean_position(origin))


@lru_cache(maxsize=1024)  # files have few different angles
def rotation_of_rpy(roll: float, pitch: float, yaw: float) -> Rows:
    """Return Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, sr), (cp, sp), (cy, sy) = map(direction, (roll, pitch, yaw))
    R = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return clean_rotation(R)


def _three(what: str, values: Vector) -> list[float]:
    try:
        found = [float(x) for x in values]
    except (TypeError, ValueError, OverflowError):
        found = []
    if len(found) != 3 or not all(map(math.isfinite, found)):
        raise ShapeError(f"{what}: {values!r} given; expected 3 numbers")
    return found


def _numbers(what: str, values: npt.ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{what}: {values!r} given; expected numbers") from None


def _checked_order(order: str) -> str:
    if not is_among(order, ("xyzw", "wxyz")):
        raise ArgumentError(
            f"order is {order!r}; possible: 'xyzw' (Pinocchio, ROS, SciPy), 'wxyz' "
            "(MuJoCo)"
        )
    return order


def _as_wxyz(values: Sequence[float], order: str) -> Sequence[float]:
    if _checked_order(order) == "wxyz":
        return values
    x, y, z, w = values
    return w, x, y, z


def frame_with_z(axis: Array) -> Rows:
    """Return axes with z along ``axis``; exact where it is a coordinate axis."""
    return _frame_with_z(*axis.tolist())


@lru_cache(maxsize=1024)  # most joints turn about one of a few axes
def _frame_with_z(*given: float) -> Rows:
    length = norm(given)
    z = [e / length for e in given]
    # Of equal entries the first: within rounding, so that the last bit does not decide.
    largest = max(map(abs, z)) - EXACT
    k = next(k for k in range(3) if abs(z[k]) > largest)
    i, j = (k + 1) % 3, (k + 2) % 3
    if abs(z[i]) < EXACT and abs(z[j]) < EXACT:
        # Turned about x where it points down.
        sign = math.copysign(1.0, given[k])
        y, z = ([sign * e for e in IDENTITY[n]] for n in (j, k))
        return clean_rotation(transpose([IDENTITY[i], y, z]))
    x = cross(IDENTITY[i], z)
    length = norm(x)
    x = [e / length for e in x]
    return clean_rotation(transpose([x, cross(z, x), z]))
