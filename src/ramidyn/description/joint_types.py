"""Joint types: one class each. Everything that depends on the type of a joint is here.

A joint acts between its frame on the parent, whose z is the joint's axis, and the frame
of the body that it moves (RBDA §4.4):

    type        q                        q̇ (body coordinates)    motion
    revolute    angle                    rate                     turn about z
    prismatic   distance                 rate                     shift along z
    helical     angle                    rate                     turn, shift by pitch·q
    planar      x, y, angle              vx, vy, wz               shift in xy, turn
    spherical   quaternion x y z w       angular velocity         turn
    floating    position, quaternion     angular, then linear     anything

Others are chains of these, with massless bodies between: a cylindrical joint is a
revolute and a prismatic one, a universal joint two revolute ones. S is constant in body
coordinates (`columns`), and the rest follows from the group of the motions:

                dq/dt (`rate`)     q ⊕ v (`integrate`)   v of q₀ ⊕ v = q₁ (`difference`)
    1 freedom   v                  q + v                 q₁ − q₀
    spherical   ½ q ⊗ (v, 0)       q ⊗ exp(v/2)          2 log(q₀* ⊗ q₁)
    planar      R v                T exp(v)              log(T₀⁻¹ T₁)
    floating    R v, ½ q ⊗ (w, 0)  T exp(v)              log(T₀⁻¹ T₁)

A new type is one class, one line in `JOINT_TYPES`, and the parsers that read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar, final

import numpy as np

from ramidyn.description.conventions import Conventions
from ramidyn.description.description import JointDescription
from ramidyn.description.pose import Array, Pose, frame_with_z
from ramidyn.errors import UnsupportedJoint
from ramidyn.spatial.transform import Rotate, Shift, Step, Turn
from ramidyn.spatial.vector3 import (
    ZERO,
    ZERO3,
    Vec,
    against_screw,
    along_screw,
    angular_velocity,
    near_one,
    quaternion,
    quaternion_rate,
    rotation_between,
    sinc,
    transposed_rotation,
    turned_quaternion,
    unit_quaternion,
    vec,
    wrapped_angle,
)
from ramidyn.symbolic.expr import Expr

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


Part = tuple[SimpleJoint, Array]
"""a joint of a Tree that is all of a joint or a part of it, and its axis"""


# ------------------------------------------------------------ one class for each type


POSITION: Labels = (("x", "m"), ("y", "m"), ("z", "m"))
QUATERNION: Labels = (("qx", ""), ("qy", ""), ("qz", ""), ("qw", ""))
ANGULAR: Labels = (("wx", "rad"), ("wy", "rad"), ("wz", "rad"))
LINEAR: Labels = (("vx", "m"), ("vy", "m"), ("vz", "m"))

WX, WY, WZ, VX, VY, VZ = (tuple(float(i == k) for i in range(6)) for k in range(6))
"""motions about and along the axes of the body, angular part first"""


# ------------------------------------------------------------ one degree of freedom


@dataclass(frozen=True, slots=True)
class Axial(SimpleJoint):
    """A screw about z. Its body's frame may be turned about z and shifted along it."""

    turns: ClassVar[bool] = True
    advance: float = 0.0
    """shift along z for each unit of q"""

    def pose(self, axis: Array, q: Array) -> Pose:
        angle = q[0] if self.turns else 0.0
        return Pose.from_axis_angle(axis, angle, axis * self.advance * q[0])

    def steps(self, q: Entries) -> tuple[Step, ...]:
        turn = (_turn_z(q[0]),) if self.turns else ()
        return (*turn, Shift(2, q[0] * self.advance)) if self.advance else turn

    def columns(self) -> tuple[Column, ...]:
        return ((0.0, 0.0, float(self.turns), 0.0, 0.0, self.advance),)


@final
@dataclass(frozen=True, slots=True)
class Revolute(Axial):
    """A hinge."""

    name = "revolute"
    coordinates = velocities = (("", "rad"),)
    shared_inertia = ("m", "hz", "rod")


@final
@dataclass(frozen=True, slots=True)
class Prismatic(Axial):
    """A slide."""

    name = "prismatic"
    coordinates = velocities = (("", "m"),)
    shared_inertia = ("I",)
    turns = False
    advance: float = 1.0


@final
@dataclass(frozen=True, slots=True)
class Helical(Axial):
    """A screw: it advances by its pitch [m/rad]."""

    name = "helical"
    coordinates = velocities = (("", "rad"),)
    shared_inertia = ("rod",)

    def parts(self, joint: JointDescription) -> tuple[Part, ...]:
        return ((Helical(joint.pitch), joint.axis),)


# ------------------------------------------------------------ several


@final
@dataclass(frozen=True, slots=True)
class Planar(SimpleJoint):
    """Two shifts, then a turn about z; q̇ is along the axes of the body."""

    name = "planar"
    coordinates = velocities = (("x", "m"), ("y", "m"), ("angle", "rad"))
    shared_inertia = ("rod",)

    def pose(self, axis: Array, q: Array) -> Pose:
        F = Pose.of(frame_with_z(axis))
        inside = Pose.from_axis_angle((0, 0, 1), q[2], (q[0], q[1], 0.0))
        return F @ inside @ F.inverse()

    def steps(self, q: Entries) -> tuple[Step, ...]:
        return Shift(0, q[0]), Shift(1, q[1]), _turn_z(q[2])

    def columns(self) -> tuple[Column, ...]:
        return VX, VY, WZ

    def rate(self, q: Entries, v: Entries) -> Entries:
        c, s = q[2].cos(), q[2].sin()
        return c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]

    def velocity(self, q: Entries, rate: Entries) -> Entries:
        c, s = q[2].cos(), q[2].sin()
        return c * rate[0] + s * rate[1], c * rate[1] - s * rate[0], rate[2]

    def integrate(self, q: Entries, v: Entries) -> Entries:
        half = v[2] * 0.5
        s, c = (q[2] + half).sin(), (q[2] + half).cos()
        k = sinc(half * half)
        x, y = k * v[0], k * v[1]
        return q[0] + (c * x - s * y), q[1] + (s * x + c * y), q[2] + v[2]

    def difference(self, q0: Entries, q1: Entries) -> Entries:
        turn = wrapped_angle(q1[2] - q0[2])
        half = turn * 0.5
        s, c = (q0[2] + half).sin(), (q0[2] + half).cos()
        k = sinc(half * half)
        x, y = q1[0] - q0[0], q1[1] - q0[1]
        return (c * x + s * y) / k, (c * y - s * x) / k, turn

    def bracket(self, u: Entries, v: Entries) -> Entries:
        return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], ZERO

    def deflection(self, rest: Entries, q: Entries) -> Entries:
        x, y, turn = (a - b for a, b in zip(q, rest, strict=True))
        return self.velocity(q, (x, y, turn))


@final
@dataclass(frozen=True, slots=True)
class Spherical(SimpleJoint):
    """A ball: any turn about the joint's origin."""

    name = "spherical"
    coordinates = QUATERNION
    velocities = ANGULAR
    shared_inertia = ("m",)
    has_axis = False
    has_quaternion = True

    def pose(self, axis: Array, q: Array) -> Pose:
        return Pose.from_quaternion(q, order="wxyz")

    def steps(self, q: Entries) -> tuple[Step, ...]:
        return (Rotate(transposed_rotation(*q)),)

    def columns(self) -> tuple[Column, ...]:
        return WX, WY, WZ

    def rate(self, q: Entries, v: Entries) -> Entries:
        return quaternion_rate(q, v)

    def velocity(self, q: Entries, rate: Entries) -> Entries:
        return angular_velocity(q, rate)

    def integrate(self, q: Entries, v: Entries) -> Entries:
        return turned_quaternion(quaternion(q), vec(*v))

    def difference(self, q0: Entries, q1: Entries) -> Entries:
        return rotation_between(quaternion(q0), quaternion(q1))

    def bracket(self, u: Entries, v: Entries) -> Entries:
        return vec(*u).cross(vec(*v))


@final
@dataclass(frozen=True, slots=True)
class Floating(SimpleJoint):
    """Any motion: shifts along the axes of the parent, then a rotation.

    Where the caller's linear velocity is along the axes of the parent, position and
    orientation move ``apart``: q ⊕ v is p + v and q ⊗ exp(w/2).
    """

    apart: bool = False

    name = "floating"
    coordinates = (*POSITION, *QUATERNION)
    velocities = (*ANGULAR, *LINEAR)
    has_axis = False
    has_quaternion = True
    is_free = True

    def under(self, conventions: Conventions) -> SimpleJoint:
        return Floating(apart=conventions.floating_velocity != "body")

    def pose(self, axis: Array, q: Array) -> Pose:
        return Pose.from_quaternion(q[3:], q[:3], order="wxyz")

    def steps(self, q: Entries) -> tuple[Step, ...]:
        x, y, z, *orientation = q
        E = transposed_rotation(*orientation)
        return Shift(0, x), Shift(1, y), Shift(2, z), Rotate(E)

    def columns(self) -> tuple[Column, ...]:
        return WX, WY, WZ, VX, VY, VZ

    def rate(self, q: Entries, v: Entries) -> Entries:
        linear = Vec(v[3:])
        if not self.apart:
            linear = transposed_rotation(*q[3:]).T @ linear
        return (*linear, *quaternion_rate(q[3:], v[:3]))

    def velocity(self, q: Entries, rate: Entries) -> Entries:
        linear, w = Vec(rate[:3]), angular_velocity(q[3:], rate[3:])
        if not self.apart:
            linear = transposed_rotation(*q[3:]) @ linear
        return (*w, *linear)

    def integrate(self, q: Entries, v: Entries) -> Entries:
        w, shift = vec(*v[:3]), vec(*v[3:])
        if not self.apart:
            shift = transposed_rotation(*q[3:]).T @ along_screw(w, shift)
        return (*(vec(*q[:3]) + shift), *turned_quaternion(quaternion(q[3:]), w))

    def difference(self, q0: Entries, q1: Entries) -> Entries:
        w = rotation_between(quaternion(q0[3:]), quaternion(q1[3:]))
        shift = vec(*q1[:3]) - vec(*q0[:3])
        if not self.apart:
            shift = against_screw(w, transposed_rotation(*q0[3:]) @ shift)
        return (*w, *shift)

    def bracket(self, u: Entries, v: Entries) -> Entries:
        wu, lu, wv, lv = (vec(*x) for x in (u[:3], u[3:], v[:3], v[3:]))
        turning = wu.cross(wv)
        return (*turning, *(ZERO3 if self.apart else wu.cross(lv) + lu.cross(wv)))

    def deflection(self, rest: Entries, q: Entries) -> Entries:
        w = rotation_between(quaternion(rest[3:]), quaternion(q[3:]))
        shift = vec(*q[:3]) - vec(*rest[:3])
        return (*w, *(transposed_rotation(*q[3:]) @ shift))


def _turn_z(angle: Expr) -> Turn:
    return Turn(2, angle.cos(), angle.sin())


# ------------------------------------------------------------ chains of these


@final
@dataclass(frozen=True, slots=True)
class Cylindrical(JointType):
    """A turn about an axis and a shift along it, apart."""

    name = "cylindrical"
    coordinates = velocities = (("angle", "rad"), ("distance", "m"))

    def parts(self, joint: JointDescription) -> tuple[Part, ...]:
        return (Revolute(), joint.axis), (Prismatic(), joint.axis)


@final
@dataclass(frozen=True, slots=True)
class Universal(JointType):
    """Turns about two axes."""

    name = "universal"
    coordinates = velocities = (("angle 1", "rad"), ("angle 2", "rad"))

    def parts(self, joint: JointDescription) -> tuple[Part, ...]:
        second = np.array([1.0, 0.0, 0.0]) if joint.axis2 is None else joint.axis2
        return (Revolute(), joint.axis), (Revolute(), second)


# ------------------------------------------------------------ by name

JOINT_TYPES: dict[str, JointType] = {
    t.name: t
    for t in (
        *(Revolute(), Prismatic(), Helical(), Cylindrical(), Universal()),
        *(Planar(), Spherical(), Floating()),
    )
}
"""Types with freedom; a body without joints is fixed to its parent."""


def joint_type(joint: str, type_: str) -> JointType:
    """Return the type of that name, for the joint of that name."""
    if type_ not in JOINT_TYPES:
        raise UnsupportedJoint(
            f"joint {joint!r} is {type_!r}; supported: {', '.join(JOINT_TYPES)}, fixed"
        )
    return JOINT_TYPES[type_]


def joint_pose(joint: JointDescription, q: Array) -> Pose:
    """Return the motion of a joint's body at q, quaternions w x y z."""
    type_, T, start = joint_type(joint.name, joint.type), Pose.identity(), 0
    if type_.nq == 1:
        q = q - joint.reference
    for motion, axis in type_.parts(joint):
        T = T @ motion.pose(axis, q[start : start + motion.nq])
        start += motion.nq
    return T


def neutral_coordinates(joint: JointDescription) -> Array:
    """Return the q at which a joint does not move its body, quaternions w x y z."""
    type_ = joint_type(joint.name, joint.type)
    if type_.nq == 1:
        return np.array([joint.reference])
    return np.array(type_.scalar_first(type_.neutral))
