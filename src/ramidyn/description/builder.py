"""Bodies and joints that users make in Python: see `ramidyn.builder`.

A mistake raises an error at once, with what was given and what is possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, final

import numpy as np

from ramidyn.description.body_inertia import Inertia
from ramidyn.description.builder_checks import (
    Placement,
    checked_array,
    checked_direction,
    checked_instance,
    checked_name,
    checked_number,
    checked_pose,
    checked_vector,
    nonnegative_number,
    shown,
)
from ramidyn.description.description import (
    BodyDescription,
    JointDescription,
    Limits,
    Mimic,
)
from ramidyn.description.joint_types import joint_type
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
        if not isinstance(self.frames, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"body {self.name!r}: frames is {shown(self.frames)}; expected a "
                "dictionary of placements by name"
            )
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
        second = checked_direction("Joint.universal: axis2", axis2)
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
        details["axis"] = checked_direction(f"{owner}: {word}", value)
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
