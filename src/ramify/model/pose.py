"""Poses as numbers: where one frame stands in another.

``T_a_b`` maps b-coordinates to a: x_a = R_a_b x_b + p_a_b. Neighbours cancel:
``T_a_c = T_a_b @ T_b_c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ramify.errors import ShapeError
from ramify.model.constants import (
    Array,
    clean_position,
    clean_rotation,
    direction,
    norm,
    product,
    times,
    total,
)

Vector = Sequence[float] | Array


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """The rotation and position of one frame in another."""

    R: Array
    """(3, 3) rotation matrix"""
    p: Array
    """(3,) position [m]"""

    def __post_init__(self) -> None:
        R = clean_rotation(np.asarray(self.R, dtype=float).tolist())
        p = clean_position(np.asarray(self.p, dtype=float).tolist())
        object.__setattr__(self, "R", np.array(R))
        object.__setattr__(self, "p", np.array(p))

    @staticmethod
    def identity() -> Pose:
        """Return the pose of a frame in itself."""
        return Pose(np.eye(3), np.zeros(3))

    @staticmethod
    def at(position: Vector) -> Pose:
        """Return a translated frame with parallel axes."""
        return Pose(np.eye(3), np.asarray(position, dtype=float))

    @staticmethod
    def from_rpy(rpy: Vector, position: Vector = (0.0, 0.0, 0.0)) -> Pose:
        """Return the pose of URDF's roll, pitch, yaw: R = Rz(y) Ry(p) Rx(r)."""
        (cr, sr), (cp, sp), (cy, sy) = (direction(float(a)) for a in rpy)
        R = np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )
        return Pose(R, np.asarray(position, dtype=float))

    @staticmethod
    def from_quaternion(wxyz: Vector, position: Vector = (0.0, 0.0, 0.0)) -> Pose:
        """Return the pose of a quaternion (w, x, y, z), normalized here."""
        q = np.asarray(wxyz, dtype=float)
        length = norm(q.ravel().tolist())
        if q.shape != (4,) or not 0.0 < length < np.inf:
            raise ShapeError(
                f"the quaternion is {wxyz!r}; expected 4 finite numbers, not all zero"
            )
        w, x, y, z = (q / length).tolist()
        R = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        return Pose(R, np.asarray(position, dtype=float))

    @staticmethod
    def from_axis_angle(
        axis: Vector, angle: float, position: Vector = (0.0, 0.0, 0.0)
    ) -> Pose:
        """Return the pose turned by ``angle`` [rad] about ``axis``."""
        x, y, z = (float(e) for e in axis)
        length = norm((x, y, z))
        x, y, z = x / length, y / length, z / length
        c, s = direction(float(angle))
        v = 1 - c
        R = np.array(
            [
                [c + v * x * x, v * x * y - s * z, v * x * z + s * y],
                [v * x * y + s * z, c + v * y * y, v * y * z - s * x],
                [v * x * z - s * y, v * y * z + s * x, c + v * z * z],
            ]
        )
        return Pose(R, np.asarray(position, dtype=float))

    def __matmul__(self, other: Pose) -> Pose:
        R = product(self.R.tolist(), other.R.tolist())
        return Pose(np.array(R), self.apply(other.p))

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in this one."""
        R: Array = np.transpose(self.R)
        return Pose(R, 0.0 - np.array(times(R.tolist(), self.p.tolist())))

    def apply(self, point: Vector) -> Array:
        """Return a point of the inner frame in coordinates of the outer."""
        x, y, z = (float(e) for e in point)
        rows, p = self.R.tolist(), self.p.tolist()
        return np.array(
            [
                total(a * x, b * y, c * z, e)
                for (a, b, c), e in zip(rows, p, strict=True)
            ]
        )

    def is_identity(self) -> bool:
        """Return whether this is exactly the identity."""
        return bool(np.array_equal(self.R, np.eye(3)) and not self.p.any())
