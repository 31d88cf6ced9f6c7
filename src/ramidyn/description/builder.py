"""Build a robot in Python: bodies, joints, frames and loops, one call each.

    >>> arm = RobotBuilder("arm")
    >>> link = Body("link", Inertia.from_capsule(1.5, radius=0.04, length=0.4))
    >>> hand = Body("hand", Inertia.from_box(0.5, (0.1, 0.05, 0.02)))
    >>> arm.add(link, joint=Joint.revolute((0, 0, 1), name="shoulder"))
    Body('link', 1.5 kg)
    >>> arm.add(hand, link, Joint.revolute((0, 1, 0), limits=(-2, 2)), (0, 0, 0.5))
    Body('hand', 0.5 kg)
    >>> [joint.name for body in arm.description().bodies for joint in body.joints]
    ['shoulder', 'hand_joint']

A mistake raises an error at once, with what was given and what is possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, cast, final

import numpy as np

from ramidyn.description.body_inertia import Inertia
from ramidyn.description.builder_checks import (
    WORLD,
    Placement,
    checked_array,
    checked_instance,
    checked_name,
    checked_number,
    checked_pose,
    checked_vector,
    nonnegative_number,
    shown,
)
from ramidyn.description.constants import Array, norm
from ramidyn.description.description import (
    BodyDescription,
    Description,
    FrameDescription,
    JointDescription,
    Limits,
    LoopDescription,
    Mimic,
)
from ramidyn.description.joint_types import joint_type
from ramidyn.description.loop_types import (
    check_given,
    check_single,
    check_type,
    coupling,
    cut_joint,
)
from ramidyn.description.pose import Pose, Vector
from ramidyn.errors import ModelError, unknown_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

ORIGIN = (0.0, 0.0, 0.0)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Body:
    """A rigid body: its name, its inertia, and the named frames fixed to it.

    Without an inertia it has no mass: it is just a frame, or a link between two joints.
    """

    name: str
    inertia: Inertia | None = None
    frames: Mapping[str, Placement] = field(default_factory=dict[str, Placement])

    def __post_init__(self) -> None:
        checked_name("a body", self.name)
        if self.inertia is not None:
            checked_instance(f"body {self.name!r}: inertia", self.inertia, Inertia)
        poses: dict[str, Pose] = {}
        for frame, placement in self.frames.items():
            if checked_name(f"body {self.name!r}: a frame", frame) == self.name:
                raise ModelError(f"body {self.name!r} has a frame of the same name")
            poses[frame] = checked_pose(
                f"body {self.name!r}: frame {frame!r}", placement
            )
        object.__setattr__(self, "frames", MappingProxyType(poses))

    def __repr__(self) -> str:
        mass = "no mass" if self.inertia is None else f"{self.inertia.mass:g} kg"
        return f"Body({self.name!r}, {mass})"


class JointOptions(TypedDict, total=False):
    """Keyword options of every joint, besides its geometry.

    ``name``: by default the body's, and "_joint". ``limits``: (lower, upper), or one
    such pair for each coordinate. ``velocity``, ``effort``: the largest allowed.
    ``armature``: rotor inertia [kg m², kg]. ``damping``, ``friction``, ``stiffness``:
    kept with the joint. ``position``: the joint's anchor in body coordinates.
    ``mimic``: the name of the joint to follow, or (name, multiplier, offset).
    """

    name: str
    limits: Sequence[float] | Sequence[Sequence[float]]
    velocity: float
    effort: float
    armature: float
    damping: float
    friction: float
    stiffness: float
    position: Vector
    mimic: str | tuple[str, float] | tuple[str, float, float]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joint:
    """How a body moves relative to its parent; axes are in body coordinates."""

    type: str
    """a joint type of the description, or "fixed" """
    details: JointDescription
    """everything except the name, which is empty until assigned"""

    @staticmethod
    def revolute(axis: Vector = Z, **options: Unpack[JointOptions]) -> Joint:
        """Return a joint that rotates about its axis."""
        return _joint("revolute", options, axis=axis)

    @staticmethod
    def prismatic(axis: Vector = Z, **options: Unpack[JointOptions]) -> Joint:
        """Return a joint that slides along its axis."""
        return _joint("prismatic", options, axis=axis)

    @staticmethod
    def helical(
        pitch: float, axis: Vector = Z, **options: Unpack[JointOptions]
    ) -> Joint:
        """Return a screw: it rotates about its axis, advancing by ``pitch`` [m/rad]."""
        joint = _joint("helical", options, axis=axis)
        pitch = checked_number("Joint.helical: pitch", pitch)
        return Joint("helical", replace(joint.details, pitch=pitch))

    @staticmethod
    def cylindrical(axis: Vector = Z, **options: Unpack[JointOptions]) -> Joint:
        """Return a joint that rotates about its axis and slides along it."""
        return _joint("cylindrical", options, axis=axis)

    @staticmethod
    def universal(
        axis: Vector = X,
        axis2: Vector = Y,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Return a joint that rotates about ``axis``, then about ``axis2``."""
        joint = _joint("universal", options, axis=axis)
        second = _direction("Joint.universal: axis2", axis2)
        if np.linalg.norm(np.cross(joint.details.axis, second)) < 1e-6:
            raise ModelError(
                "Joint.universal: axis and axis2 are parallel; expected two directions"
            )
        return Joint("universal", replace(joint.details, axis2=second))

    @staticmethod
    def planar(normal: Vector = Z, **options: Unpack[JointOptions]) -> Joint:
        """Return a joint that slides in a plane and rotates about its normal."""
        return _joint("planar", options, normal=normal)

    @staticmethod
    def spherical(**options: Unpack[JointOptions]) -> Joint:
        """Return a ball joint."""
        return _joint("spherical", options)

    @staticmethod
    def floating(**options: Unpack[JointOptions]) -> Joint:
        """Return the joint of a body that moves freely."""
        return _joint("floating", options)

    @staticmethod
    def fixed(name: str = "") -> Joint:
        """Return the joint of a body that does not move relative to its parent."""
        return _joint("fixed", {"name": name} if name else {})

    def __repr__(self) -> str:
        name = f" {self.details.name!r}" if self.details.name else ""
        return f"Joint({self.type}{name})"


@final
class RobotBuilder:
    """Collects bodies, parents first, and returns their Description."""

    def __init__(self, name: str, gravity: Vector = (0.0, 0.0, -9.81)) -> None:
        self.name: str = checked_name("a robot", name)
        self.gravity: Array = checked_vector(f"robot {name!r}: gravity", gravity)
        self._bodies: dict[str, BodyDescription] = {}
        self._joints: set[str] = set()
        self._frames: dict[str, FrameDescription] = {}
        self._loops: dict[str, LoopDescription] = {}

    def add(
        self,
        body: Body,
        parent: Body | str = WORLD,
        joint: Joint | Sequence[Joint] = (),
        placement: Placement = ORIGIN,
    ) -> Body:
        """Add a body, and return it.

        Args:
            body: the body.
            parent: a body added before, its name, or "world".
            joint: its joint, or several, in order from the parent outward; none, or
                ``Joint.fixed()``, fixes it.
            placement: of its frame in the parent's, with all joints at zero: a
                position, a `Pose` or its (4, 4) matrix.
        """
        what = f"body {checked_instance('body', body, Body).name!r}"
        for name in (body.name, *body.frames):
            self._check_free(name)
        above = self._known_body(parent)
        joints = (joint,) if isinstance(joint, Joint) else tuple(joint)
        names = self._joint_names(body, joints)
        moving = [j for j in joints if j.type != "fixed"]
        self._bodies[body.name] = BodyDescription(
            body.name,
            above,
            checked_pose(f"{what}: placement", placement),
            tuple(
                replace(j.details, name=n) for j, n in zip(moving, names, strict=False)
            ),
            None if body.inertia is None else body.inertia.inertial(),
            fixed_joint=names[0] if joints and not moving else None,
        )
        self._joints.update(names)
        for name, pose in body.frames.items():
            self._frames[name] = FrameDescription(name, body.name, cast(Pose, pose))
        return body

    def _joint_names(self, body: Body, joints: Sequence[Joint]) -> list[str]:
        what = f"body {body.name!r}"
        names: list[str] = []
        for k, joint in enumerate(joints):
            type_ = checked_instance(f"{what}: joint", joint, Joint).type
            if type_ == "fixed" and len(joints) > 1:
                raise ModelError(f"{what}: a fixed joint must be its only joint")
            name = joint.details.name or f"{body.name}_joint{k + 1 if k else ''}"
            if name in self._joints or name in names:
                raise ModelError(
                    f"{what}: robot {self.name!r} already has a joint {name!r}"
                )
            names.append(name)
        return names

    def add_frame(
        self, name: str, body: Body | str, placement: Placement = ORIGIN
    ) -> None:
        """Add a named frame fixed to a body, or to the world."""
        self._check_free(checked_name("a frame", name))
        pose = checked_pose(f"frame {name!r}: placement", placement)
        self._frames[name] = FrameDescription(name, self._known_body(body), pose)

    def close(
        self,
        name: str,
        type: str,  # noqa: A002 - as in the description
        a: Body | str | None = None,
        b: Body | str | None = None,
        *,
        at: Placement | None = None,
        at_b: Placement | None = None,
        length: float | None = None,
        joints: Sequence[str] | None = None,
        coefficients: Sequence[float] | None = None,
    ) -> None:
        """Close a loop: connect body b to body a by a cut joint, or couple two joints.

        Args:
            name: the name of the constraint.
            type: what holds: "weld", "revolute", "prismatic", "universal",
                "cylindrical", "spherical", "planar", "point_on_line",
                "point_on_plane", "distance" (a rod between two points), or "coupling".
            a: one body, or "world".
            b: the other.
            at: the cut's frame in body a, by default a's; a joint acts along its z.
            at_b: the cut's frame in body b; by default where it meets the one in a
                with all joints at zero.
            length: distance: of the rod; by default what it is with all joints at zero.
            joints: coupling: the dependent joint and the one that it follows.
            coefficients: coupling: y = Σ c_k x^k, by default y = x; (0, 2) is a gear.
        """
        what = f"loop {checked_name('a loop', name)!r}"
        if name in self._loops:
            raise ModelError(f"{what} already exists in robot {self.name!r}")
        check_type(f"{what}: type", type)
        of_coupling = {"joints": joints, "coefficients": coefficients}
        check_given(what, type, (a, b, at, at_b, length), of_coupling)
        if type == "coupling":
            new = coupling(what, name, joints, coefficients)
            types = {j.name: j.type for x in self._bodies.values() for j in x.joints}
            for n in new.joints:
                if n not in types:
                    owner = f"robot {self.name!r}, for {what}"
                    raise unknown_name("moving joint", str(n), owner, types)
                check_single(what, n, types[n])
        else:
            ends = (
                self._known_body(a, f", for {what}"),
                self._known_body(b, f", for {what}"),
            )
            T_world = neutral_poses(self._bodies.values())
            cut_a = checked_pose(f"{what}: at", ORIGIN if at is None else at)
            cut_b = None if at_b is None else checked_pose(f"{what}: at_b", at_b)
            neutral = T_world.__getitem__
            new = cut_joint(
                what, name, type, ends, cut_a, cut_b, length, neutral, "at_b"
            )
        self._loops[name] = new

    def description(self) -> Description:
        """Return the robot so far."""
        if not self._bodies:
            raise ModelError(f"robot {self.name!r} has no bodies; add one first")
        joints = {j.name: j for b in self._bodies.values() for j in b.joints}
        for joint in joints.values():
            if joint.mimic is not None and joint.mimic.of not in joints:
                owner = f"robot {self.name!r}, for the mimic of {joint.name!r}"
                raise unknown_name("moving joint", joint.mimic.of, owner, joints)
        x, y, z = (float(g) for g in self.gravity)
        return Description(
            self.name,
            tuple(self._bodies.values()),
            tuple(self._frames.values()),
            tuple(self._loops.values()),
            gravity=(x, y, z),
        )

    def _check_free(self, name: str) -> None:
        if name in self._bodies or name in self._frames:
            raise ModelError(
                f"robot {self.name!r} already has a body or frame {name!r}"
            )

    def _known_body(self, body: Body | str | None, whose: str = "") -> str | None:
        """Return the name of an added body; None for the world."""
        name = body.name if isinstance(body, Body) else cast(object, body)
        if not isinstance(name, str):
            raise ModelError(
                f"{shown(name)} is not a body{whose}; expected a Body or its name"
            )
        if name == WORLD:
            return None
        if name not in self._bodies:
            owner = f"robot {self.name!r}{whose}"
            raise unknown_name("body", name, owner, (WORLD, *self._bodies))
        return name


def neutral_poses(bodies: Iterable[BodyDescription]) -> dict[str | None, Pose]:
    """Return the pose of each body with all joints at zero; None is the world."""
    T_world: dict[str | None, Pose] = {None: Pose.identity()}
    for body in bodies:
        T_world[body.name] = T_world[body.parent] @ body.placement
    return T_world


# ------------------------------------------------------------ making joints


def _joint(type_: str, options: Mapping[str, Any], **axis: Vector) -> Joint:
    """Return a joint from checked parts."""
    owner = f"Joint.{type_}"
    for option in options:
        if option not in JointOptions.__annotations__:
            raise unknown_name("option", option, owner, JointOptions.__annotations__)
    given = dict(options)
    name = given.pop("name", "")
    if name:
        owner = f"{owner} {checked_name('a joint', name)!r}"
    checks: dict[str, Callable[[str, Any], Any]] = {
        "position": checked_vector,
        "mimic": _mimic,
    }
    checks |= dict.fromkeys(
        ("armature", "damping", "friction", "stiffness"), nonnegative_number
    )
    details = {
        option: check(f"{owner}: {option}", given[option])
        for option, check in checks.items()
        if option in given
    }
    for word, value in axis.items():
        details["axis"] = _direction(f"{owner}: {word}", value)
    if "mimic" in details and joint_type(name, type_).nq != 1:
        raise ModelError(
            f"{owner} cannot mimic; only a joint with one coordinate can: revolute, "
            "prismatic or helical"
        )
    limits = _limits(owner, type_, given)
    return Joint(type_, JointDescription(name, type_, limits=limits, **details))


def _limits(owner: str, type_: str, given: Mapping[str, Any]) -> Limits | None:
    if not {"limits", "velocity", "effort"} & given.keys():
        return None
    kind = joint_type(owner, type_)
    if kind.has_quaternion:
        raise ModelError(f"{owner}: a {type_} joint cannot have limits")
    n = kind.nq
    pairs: list[tuple[float, float]] = [(-math.inf, math.inf)] * n
    if "limits" in given:
        shape = (n, 2) if n > 1 else (2,)
        array = checked_array(f"{owner}: limits", given["limits"], shape, finite=False)
        pairs = [(float(a), float(b)) for a, b in np.reshape(array, (n, 2))]
    for lower, upper in pairs:
        if lower > upper:
            raise ModelError(
                f"{owner}: limits are ({lower:g}, {upper:g}); expected lower <= upper"
            )
    most = {
        word: (nonnegative_number(f"{owner}: {word}", given[word], finite=False),) * n
        for word in ("velocity", "effort")
        if word in given
    }
    return Limits(tuple(a for a, _ in pairs), tuple(b for _, b in pairs), **most)


def _mimic(what: str, value: Any) -> Mimic:
    match value:
        case str(of):
            return Mimic(of)
        case (str(of), multiplier):
            return Mimic(of, checked_number(what, multiplier))
        case (str(of), multiplier, offset):
            return Mimic(
                of, checked_number(what, multiplier), checked_number(what, offset)
            )
        case _:
            raise ModelError(
                f"{what} is {shown(value)}; expected the name of a joint, or (name, "
                "multiplier, offset)"
            )


def _direction(what: str, value: object) -> Array:
    axis = checked_vector(what, value)
    length = norm(axis.tolist())
    if length < 1e-9:
        raise ModelError(f"{what} is {shown(value)}; expected a nonzero direction")
    unit = axis if length == 1 else axis / length
    unit.setflags(write=False)
    return unit
