"""The joints of a Tree: how each moves its body, over symbols.

A Tree has six kinds; loaders build the others from them (a universal joint is two
revolute ones with a massless body between, a cylindrical one a revolute and a
prismatic one). Each acts along z of its frame:

    kind        q                        q̇ (body coordinates)   motion
    revolute    angle                    rate                    turn about z
    prismatic   distance                 rate                    shift along z
    helical     angle                    rate                    turn, shift by pitch·q
    spherical   quaternion x y z w       angular velocity        turn
    planar      x, y, angle              vx, vy, wz              shift in xy, turn
    floating    position, quaternion     angular, then linear    anything

A quaternion may have any length but zero: only its direction counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from ramidyn.description.description import Limits
from ramidyn.description.pose import Array
from ramidyn.spatial.frames import Tag
from ramidyn.spatial.transform import Rotate, Shift, Step, Turn
from ramidyn.spatial.vector3 import IDENTITY, ONE, ZERO3, Mat, mat, unit, vec
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.expr import Expr, const

SIZES = {
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "helical": (1, 1),
    "spherical": (4, 3),
    "planar": (3, 3),
    "floating": (7, 6),
}
"""(coordinates, degrees of freedom) of each kind"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class TreeJoint:
    """One joint of a Tree, at its place in q and q̇.

    A joint that follows another (mimic) has no place of its own: ``leader`` is the
    body whose joint it follows, with q = multiplier · q_leader + offset.
    """

    name: str
    kind: str
    q_index: int
    v_index: int
    pitch: float = 0.0
    reference: float = 0.0
    """the coordinate at which the joint does not move its body (MJCF ``ref``)"""
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    spring_reference: float = 0.0
    limits: Limits | None = None
    is_continuous: bool = False
    leader: int | None = None
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def nq(self) -> int:
        """The number of its coordinates."""
        return SIZES[self.kind][0]

    @property
    def nv(self) -> int:
        """The number of its degrees of freedom."""
        return SIZES[self.kind][1]

    def steps(self, q: tuple[Expr, ...]) -> tuple[Step, ...]:
        """Return the steps from the joint's frame on the parent to the body's frame."""
        match self.kind:
            case "revolute":
                return (_turn_z(self._moved(q[0])),)
            case "prismatic":
                return (Shift(2, self._moved(q[0])),)
            case "helical":
                angle = self._moved(q[0])
                return (_turn_z(angle), Shift(2, angle * self.pitch))
            case "spherical":
                return (Rotate(transposed_rotation(*q)),)
            case "planar":
                return (Shift(0, q[0]), Shift(1, q[1]), _turn_z(q[2]))
            case _:
                x, y, z, *quaternion = q
                E = transposed_rotation(*quaternion)
                return (Shift(0, x), Shift(1, y), Shift(2, z), Rotate(E))

    def _moved(self, q: Expr) -> Expr:
        return q - self.reference

    def columns(self, frame: Tag) -> tuple[Motion, ...]:
        """Return the motion of each degree of freedom in body coordinates."""
        match self.kind:
            case "revolute":
                halves = [(unit(2), ZERO3)]
            case "prismatic":
                halves = [(ZERO3, unit(2))]
            case "helical":
                halves = [(unit(2), vec(0.0, 0.0, self.pitch))]
            case "spherical":
                halves = [(e, ZERO3) for e in IDENTITY]
            case "planar":
                halves = [(ZERO3, unit(0)), (ZERO3, unit(1)), (unit(2), ZERO3)]
            case _:
                angular = [(e, ZERO3) for e in IDENTITY]
                halves = [*angular, *((ZERO3, e) for e in IDENTITY)]
        return tuple(Motion(w, v, frame) for w, v in halves)

    def neutral(self) -> Array:
        """Return the coordinates at which the body is at its placement."""
        match self.kind:
            case "spherical":
                return np.array([0.0, 0.0, 0.0, 1.0])
            case "floating":
                return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
            case "planar":
                return np.zeros(3)
            case _:
                return np.array([self.reference])


def _turn_z(angle: Expr) -> Turn:
    return Turn(2, angle.cos(), angle.sin())


def transposed_rotation(x: Expr, y: Expr, z: Expr, w: Expr) -> Mat:
    """Return E = Rᵀ of a quaternion of any length: from parent to body coordinates.

    With k = 2 / (q · q) the length cancels, without a root:
    R = 1 + k (w v× + v× v×), v = (x, y, z).
    """
    xx, yy, zz = x * x, y * y, z * z
    a, b, c = yy + zz, xx + zz, xx + yy
    k = const(2.0) / (w * w + xx + a)
    kx, ky, kz = k * x, k * y, k * z
    xy, xz, yz = x * ky, x * kz, y * kz
    wx, wy, wz = w * kx, w * ky, w * kz
    return mat(
        (ONE - k * a, xy + wz, xz - wy),
        (xy - wz, ONE - k * b, yz + wx),
        (xz + wy, yz - wx, ONE - k * c),
    )
