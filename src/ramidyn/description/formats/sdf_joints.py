"""The joints of an SDF model: in the tree, reversed, or closing a loop."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from ramidyn.description.constants import Array, cross, dot, norm, times, transpose
from ramidyn.description.description import (
    JointDescription,
    Limits,
    LoopDescription,
    Mimic,
)
from ramidyn.description.formats.sdf_frames import (
    MODEL,
    SdfFrames,
    child_text,
    flag,
)
from ramidyn.description.formats.urdf_graph import supported_type
from ramidyn.description.formats.xml import (
    CONTENT,
    LARGEST,
    fault,
    number,
    numbers,
    where,
    word,
)
from ramidyn.description.loop_types import cut_joint
from ramidyn.description.pose import Pose, frame_with_z
from ramidyn.errors import UnsupportedJoint

TYPES: Final = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "screw": "helical",
    "universal": "universal",
    "revolute2": "universal",
    "ball": "spherical",
    "fixed": "fixed",
    "gearbox": "gearbox",
}
"""Joint types of the file, and what Ramidyn calls them."""
CUTS: Final = {"fixed": "weld"}
"""Types of joints that are called otherwise where they close a loop."""
UNLIMITED: Final = 1e16
"""A larger limit is how SDF says that there is none."""

_AXES: Final = {"spherical": 0, "fixed": 0, "universal": 2}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One axis of a joint, in the model's frame."""

    direction: tuple[float, float, float]
    limits: tuple[float, float, float, float]
    """lower, upper, velocity, effort"""
    damping: float
    friction: float
    stiffness: float
    spring_reference: float
    mimic: Mimic | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class SdfJoint:
    """A joint in the model's frame, before it has a place in the tree."""

    element: ET.Element
    name: str
    given: str
    type: str
    T_model_joint: Pose
    axes: tuple[Axis, ...]
    pitch: float
    """[m/rad]"""


def read_joint(
    element: ET.Element,
    frames: SdfFrames,
    version: tuple[int, ...],
    warnings: list[str],
) -> SdfJoint:
    """Return a joint of the file."""
    name = word(element, "name")
    given, type_ = supported_type(element, TYPES)
    T = frames.pose(name, element)
    tags = ("axis", "axis2")[: 2 if given == "gearbox" else _AXES.get(type_, 1)]
    axes = tuple(_axis(element, tag, T, frames, version) for tag in tags)
    for tag in ("axis", "axis2"):
        part = element.find(tag)
        if part is not None and tag not in tags:
            warnings.append(f"{where(part)}: ignored; a {given} joint does not have it")
    if type_ == "universal":
        a, b = (axis.direction for axis in axes)
        if norm(cross(a, b)) < 1e-6:
            raise fault(element, "axis and axis2 are parallel; expected two directions")
    return SdfJoint(element, name, given, type_, T, axes, _pitch(element, type_))


def _pitch(joint: ET.Element, type_: str) -> float:
    if type_ != "helical":
        return 0.0
    pitch = joint.find("screw_thread_pitch")
    if pitch is None:
        raise fault(
            joint,
            "no <screw_thread_pitch> [m per turn]; <thread_pitch>, which simulators "
            "read differently, is not supported",
        )
    return number(pitch, CONTENT, largest=LARGEST) / (2 * math.pi)


def _axis(
    joint: ET.Element, tag: str, T: Pose, frames: SdfFrames, version: tuple[int, ...]
) -> Axis:
    element = joint.find(tag)
    if element is None:
        raise fault(joint, f"no <{tag}>; it is required")
    xyz = element.find("xyz")
    given = (0.0, 0.0, 1.0) if xyz is None else numbers(xyz, CONTENT, 3)
    length = norm(given)
    if not 1e-9 < length < LARGEST:
        raise fault(
            element if xyz is None else xyz, "a zero axis; expected a direction"
        )
    parent_frame = element.find("use_parent_model_frame")
    expressed_in = "" if xyz is None else xyz.get("expressed_in", "").strip()
    if expressed_in:
        R = frames.pose(expressed_in, joint).rows
    elif (version < (1, 5) and parent_frame is None) or (
        parent_frame is not None and flag(parent_frame, word(parent_frame, CONTENT))
    ):
        R = frames.pose(MODEL, joint).rows
    else:
        R = T.rows
    x, y, z = times(R, [e / length for e in given])
    limit, dynamics = element.find("limit"), element.find("dynamics")
    lower, upper = (
        _value(limit, "lower", -math.inf, True),
        _value(limit, "upper", math.inf, True),
    )
    if lower > upper and limit is not None:
        raise fault(
            limit, f"lower={lower:g} is above upper={upper:g}; expected lower <= upper"
        )
    most = (_value(limit, tag, -1.0, True) for tag in ("velocity", "effort"))
    velocity, effort = (x if x >= 0 else math.inf for x in most)  # −1: no limit
    return Axis(
        (x, y, z),
        (lower, upper, velocity, effort),
        _value(dynamics, "damping"),
        _value(dynamics, "friction"),
        _value(dynamics, "spring_stiffness"),
        _value(dynamics, "spring_reference"),
        _mimic(element),
    )


def _value(
    element: ET.Element | None,
    tag: str,
    default: float = 0.0,
    may_be_infinite: bool = False,
) -> float:
    child = None if element is None else element.find(tag)
    if child is None:
        return default
    text = (child.text or "").strip().lower()
    if may_be_infinite and text.lstrip("+-") in ("inf", "infinity"):
        return float(text)
    value = number(child, CONTENT, largest=LARGEST)
    if may_be_infinite and abs(value) >= UNLIMITED:
        return math.copysign(math.inf, value)
    return value


def _mimic(axis: ET.Element) -> Mimic | None:
    """q = multiplier (q_of − reference) + offset."""
    element = axis.find("mimic")
    if element is None:
        return None
    if element.get("axis", "axis").strip() != "axis":
        raise fault(element, "only the first axis of a joint can be mimicked")
    multiplier = _value(element, "multiplier", 1.0)
    offset = _value(element, "offset") - multiplier * _value(element, "reference")
    return Mimic(word(element, "joint"), multiplier, offset)


# ------------------------------------------------------------ a place in the tree


def tree_joint(
    joint: SdfJoint, T_model_body: Pose, is_reversed: bool, warnings: list[str]
) -> JointDescription | None:
    """Return a joint as that of a body, or None where it is fixed.

    Reversed, the body is the joint's parent in the file. It moves the other way about
    the same axes, the last one first, so that every coordinate keeps its meaning;
    only the orientation of a ball joint is inverted.
    """
    if joint.type == "fixed":
        return None
    T = T_model_body.inverse()
    axes = joint.axes[::-1] if is_reversed else joint.axes
    sign = -1.0 if is_reversed else 1.0
    directions = [
        np.array([sign * x for x in times(T.rows, axis.direction)]) for axis in axes
    ]
    if is_reversed and joint.type in ("spherical", "universal"):
        what = {
            "spherical": "q is the orientation of its parent link in its child link",
            "universal": "q has the angle about axis2 first",
        }
        warnings.append(
            f"{where(joint.element)}: hangs in the tree by its child link; "
            f"{what[joint.type]}"
        )
    if not axes:
        return JointDescription(joint.name, joint.type, position=_at(T, joint))
    first = axes[0]
    _warn_of_second(joint, axes[1:], warnings)
    lower, upper, velocity, effort = zip(*(axis.limits for axis in axes), strict=True)
    return JointDescription(
        joint.name,
        joint.type,
        axis=directions[0],
        axis2=directions[1] if len(directions) > 1 else None,
        position=_at(T, joint),
        pitch=joint.pitch,
        limits=Limits(lower, upper, velocity, effort),
        damping=first.damping,
        friction=first.friction,
        stiffness=first.stiffness,
        spring_reference=first.spring_reference,
        is_continuous=joint.given == "continuous",
        mimic=first.mimic,
    )


def _at(T: Pose, joint: SdfJoint) -> Array:
    return T.apply(joint.T_model_joint.p)


def _warn_of_second(
    joint: SdfJoint, others: Iterable[Axis], warnings: list[str]
) -> None:
    for other in others:
        if (joint.axes[0].damping, joint.axes[0].stiffness) != (
            other.damping,
            other.stiffness,
        ):
            warnings.append(
                f"{where(joint.element)}: damping and stiffness of one axis are used "
                "for both"
            )


def loop_joint(
    joint: SdfJoint,
    ends: tuple[str | None, str | None],
    T_model_ends: tuple[Pose, Pose],
    warnings: list[str],
) -> LoopDescription:
    """Return a joint between two bodies as the closure of a loop.

    The bodies may be the world, and their poses are in the model's frame.
    """
    if joint.type == "helical":
        raise UnsupportedJoint(
            f"{where(joint.element)}: a screw cannot close a loop; order the joints so "
            "that another one does"
        )
    if any(a.damping or a.stiffness or a.friction for a in joint.axes):
        warnings.append(
            f"{where(joint.element)}: closes a loop; its damping, friction and spring "
            "are ignored"
        )
    p = joint.T_model_joint.origin
    cut_a = cut_b = joint.T_model_joint
    if joint.axes:
        z = np.array(joint.axes[0].direction)
        cut_a = cut_b = Pose.of(frame_with_z(z), p)
    if joint.type == "universal":
        a, b = (axis.direction for axis in joint.axes)
        if abs(dot(a, b)) > 1e-6:
            raise UnsupportedJoint(
                f"{where(joint.element)}: closes a loop with axes that are not "
                "perpendicular; order the joints so that another one does"
            )
        y, z, x = transpose(frame_with_z(np.array(b)))
        cut_b = Pose.of(transpose((x, y, z)), p)  # z of A and x of B stay normal
    T_a, T_b = (T.inverse() for T in T_model_ends)
    return cut_joint(
        where(joint.element),
        joint.name,
        CUTS.get(joint.type, joint.type),
        ends,
        T_a @ cut_a,
        T_b @ cut_b,
    )


def gearbox_ends(joint: SdfJoint) -> tuple[str, float]:
    """Return the reference body and the ratio of a gearbox."""
    ratio = joint.element.find("gearbox_ratio")
    value = 1.0 if ratio is None else number(ratio, CONTENT, largest=LARGEST)
    return child_text(joint.element, "gearbox_reference_body"), value
