"""Poses as numbers: where one frame stands in another.

``T_a_b`` maps b-coordinates to a: x_a = R_a_b x_b + p_a_b. Neighbors cancel:
``T_a_c = T_a_b @ T_b_c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from ramify.errors import ShapeError
from ramify.model.constants import (
    IDENTITY,
    ORIGIN,
    Array,
    Matrix,
    Rows,
    Three,
    clean_position,
    clean_rotation,
    direction,
    moved,
    norm,
    times,
    transposed,
)

Vector = Sequence[float] | Array


@final
@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Pose:
    """The rotation and position of one frame in another."""

    rows: Rows
    """of R"""
    origin: Three
    """p"""

    def __init__(self, R: npt.ArrayLike, p: npt.ArrayLike) -> None:
        R, p = np.asarray(R, dtype=float), np.asarray(p, dtype=float)
        self._set(R.tolist(), p.tolist())

    def _set(self, rows: Matrix, origin: Sequence[float]) -> Pose:
        object.__setattr__(self, "rows", clean_rotation(rows))
        object.__setattr__(self, "origin", clean_position(origin))
        return self

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
        """Return the pose of Python's floats, which need no arrays."""
        return object.__new__(Pose)._set(rows, origin)

    @staticmethod
    def identity() -> Pose:
        """Return the pose of a frame in itself."""
        return Pose.of(IDENTITY)

    @staticmethod
    def at(position: Vector) -> Pose:
        """Return a translated frame with parallel axes."""
        return Pose.of(IDENTITY, [float(x) for x in position])

    @staticmethod
    def from_rpy(rpy: Vector, position: Vector = ORIGIN) -> Pose:
        """Return the pose of URDF's roll, pitch, yaw: R = Rz(y) Ry(p) Rx(r)."""
        (cr, sr), (cp, sp), (cy, sy) = (direction(float(a)) for a in rpy)
        R = (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )
        return Pose.of(R, [float(x) for x in position])

    @staticmethod
    def from_quaternion(wxyz: Vector, position: Vector = ORIGIN) -> Pose:
        """Return the pose of a quaternion (w, x, y, z), normalized here."""
        q = np.asarray(wxyz, dtype=float)
        length = norm(q.ravel().tolist())
        if q.shape != (4,) or not 0.0 < length < np.inf:
            raise ShapeError(
                f"the quaternion is {wxyz!r}; expected 4 finite numbers, not all zero"
            )
        w, x, y, z = (q / length).tolist()
        R = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
        return Pose.of(R, [float(x) for x in position])

    @staticmethod
    def from_axis_angle(axis: Vector, angle: float, position: Vector = ORIGIN) -> Pose:
        """Return the pose turned by ``angle`` [rad] about ``axis``."""
        x, y, z = (float(e) for e in axis)
        length = norm((x, y, z))
        x, y, z = x / length, y / length, z / length
        c, s = direction(float(angle))
        v = 1 - c
        R = (
            (c + v * x * x, v * x * y - s * z, v * x * z + s * y),
            (v * x * y + s * z, c + v * y * y, v * y * z - s * x),
            (v * x * z - s * y, v * y * z + s * x, c + v * z * z),
        )
        return Pose.of(R, [float(x) for x in position])

    def __matmul__(self, other: Pose) -> Pose:
        if self.is_identity():
            return other
        if other.is_identity():
            return self
        columns = transposed(other.rows)
        R = [[x * a + y * b + z * c for a, b, c in columns] for x, y, z in self.rows]
        return Pose.of(R, moved(self.rows, other.origin, self.origin))

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in this one."""
        R = transposed(self.rows)
        return Pose.of(R, [0.0 - x for x in times(R, self.origin)])

    def apply(self, point: Vector) -> Array:
        """Return a point of the inner frame in coordinates of the outer."""
        return np.array(moved(self.rows, [float(x) for x in point], self.origin))

    def is_identity(self) -> bool:
        """Return whether this is exactly the identity."""
        return self.rows == IDENTITY and self.origin == ORIGIN
