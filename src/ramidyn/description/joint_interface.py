"""What a joint type knows: the interface of the classes in `joint_types`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ramidyn.spatial.vector3 import ZERO, near_one, quaternion, unit_quaternion
from ramidyn.symbolic.expr import Expr

if TYPE_CHECKING:
    from ramidyn.description.conventions import Conventions
    from ramidyn.description.description import JointDescription
    from ramidyn.description.pose import Array, Pose
    from ramidyn.spatial.transform import Step

Entry = TypeVar("Entry")
Entries = tuple[Expr, ...]
"""of a joint, in q or in q̇"""
Labels = tuple[tuple[str, str], ...]
"""the name and the unit of each coordinate or, without "/s", of each velocity"""
Column = tuple[float, ...]
"""a motion in body coordinates: angular, then linear part"""


class JointType(ABC):
    """A type of joint, as files and users know it."""

    __slots__ = ()

    name: ClassVar[str]
    coordinates: ClassVar[Labels]
    velocities: ClassVar[Labels]
    has_axis: ClassVar[bool] = True
    has_quaternion: ClassVar[bool] = False
    """q ends with a quaternion, q̇ begins with the angular velocity"""
    is_free: ClassVar[bool] = False
    """all six motions: conventions say how q̇ is ordered, and its linear axes"""

    @property
    def nq(self) -> int:
        """The number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """The number of degrees of freedom."""
        return len(self.velocities)

    @property
    def neutral(self) -> tuple[float, ...]:
        """The coordinates at which the joint does not move its body."""
        zeros = (0.0,) * self.nq
        return (*zeros[:-1], 1.0) if self.has_quaternion else zeros

    def scalar_first(self, q: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return q with its quaternion as w x y z, from x y z w."""
        return (*q[:-4], q[-1], *q[-4:-1]) if self.has_quaternion else tuple(q)

    def scalar_last(self, q: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return q with its quaternion as x y z w, from w x y z."""
        return (*q[:-4], *q[-3:], q[-4]) if self.has_quaternion else tuple(q)

    @abstractmethod
    def parts(self, joint: JointDescription) -> tuple[Part, ...]:
        """Return the joints of a Tree that make up one, each with its axis."""


class SimpleJoint(JointType):
    """A type of which a Tree is made: it moves one body."""

    __slots__ = ()

    shared_inertia: ClassVar[tuple[str, ...]] = ()
    """what parent and body may carry alike, for mass regrouping: m, hz, rod, I"""

    def parts(self, joint: JointDescription) -> tuple[Part, ...]:
        """Return this one, with the joint's axis."""
        return ((self, joint.axis),)

    def under(self, conventions: Conventions) -> SimpleJoint:
        """Return the motion whose velocity is the caller's."""
        return self

    @abstractmethod
    def pose(self, axis: Array, q: Array) -> Pose:
        """Return the motion about an axis, in numbers; quaternions w x y z."""

    @abstractmethod
    def steps(self, q: Entries) -> tuple[Step, ...]:
        """Return X_J(q)."""

    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return S."""

    def rate(self, q: Entries, v: Entries) -> Entries:
        """Return dq/dt = Q(q) v."""
        return v

    def velocity(self, q: Entries, rate: Entries) -> Entries:
        """Return v of dq/dt = Q(q) v, for a rate that keeps a quaternion's length."""
        return rate

    def integrate(self, q: Entries, v: Entries) -> Entries:
        """Return q ⊕ v: where the velocity v leads in 1 s."""
        return tuple(a + b for a, b in zip(q, v, strict=True))

    def difference(self, q0: Entries, q1: Entries) -> Entries:
        """Return the shortest v with q0 ⊕ v = q1."""
        return tuple(b - a for a, b in zip(q0, q1, strict=True))

    def bracket(self, u: Entries, v: Entries) -> Entries:
        """Return [u, v] of the Lie algebra of the motions."""
        return (ZERO,) * self.nv

    def deflection(self, rest: Entries, q: Entries) -> Entries:
        """Return the deflection of a spring at q, along the joint's freedoms."""
        return self.difference(rest, q)

    def normalized(self, q: Entries) -> Entries:
        """Return q, its quaternion of length one."""
        if not self.has_quaternion:
            return q
        return (*q[:-4], *unit_quaternion(near_one(quaternion(q[-4:]))))


Part = tuple[SimpleJoint, "Array"]
"""a joint of a Tree that is all of a joint or a part of it, and its axis"""
