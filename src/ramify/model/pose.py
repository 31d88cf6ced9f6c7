"""Poses as numbers: where one frame stands in another.

``T_a_b`` maps b-coordinates to a: x_a = R_a_b x_b + p_a_b. Neighbours cancel:
``T_a_c = T_a_b @ T_b_c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ramify.errors import ShapeError

Array = npt.NDArray[np.float64]
Vector = Sequence[float] | Array


def quarter_turns_exact(x: float) -> tuple[float, float]:
    """Return (cos x, sin x), with the zeros and ones of quarter turns exact.

    Files write 1.5708 for π/2 as often as all its digits; only an angle within
    4e-15 of a quarter turn (what a double can hold of it) is rounded.
    """
    k = round(x / (np.pi / 2))
    if abs(x - k * np.pi / 2) < 4e-15 * max(1.0, abs(k)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[k % 4]
    return float(np.cos(x)), float(np.sin(x))


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """The rotation and position of one frame in another."""

    R: Array
    """(3, 3) rotation matrix"""
    p: Array
    """(3,) position [m]"""

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
        (cr, sr), (cp, sp), (cy, sy) = (quarter_turns_exact(float(a)) for a in rpy)
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
        """Return the pose of a quaternion (w, x, y, z), normalised here."""
        q = np.asarray(wxyz, dtype=float)
        length = float(np.linalg.norm(q))
        if q.shape != (4,) or not 0.0 < length < np.inf:
            raise ShapeError(
                f"the quaternion is {wxyz!r}; expected 4 finite numbers, not all zero"
            )
        w, x, y, z = q / length
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
        n = np.asarray(axis, dtype=float)
        n = n / np.linalg.norm(n)
        c, s = quarter_turns_exact(angle)
        K = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
        R = c * np.eye(3) + s * K + (1 - c) * np.outer(n, n)
        return Pose(R, np.asarray(position, dtype=float))

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in this one."""
        R: Array = np.transpose(self.R)
        return Pose(R, -(R @ self.p))

    def apply(self, point: Vector) -> Array:
        """Return a point of the inner frame in coordinates of the outer."""
        return self.R @ np.asarray(point, dtype=float) + self.p

    def is_identity(self) -> bool:
        """Return whether this is exactly the identity."""
        return bool(np.array_equal(self.R, np.eye(3)) and not self.p.any())
