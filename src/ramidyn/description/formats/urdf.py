"""Parse URDF text into a Description.

The format is ROS's (http://wiki.ros.org/urdf/XML), read as leniently as real files
require, with two additions: the joint type ``spherical`` (or ``ball``),
and closed loops, which URDF cannot express, as children of ``<robot>``:

    <loop name="four_bar" type="revolute">
      <body_a link="coupler" xyz="0.3 0 0" rpy="0 0 0"/>
      <body_b link="rocker"  xyz="0 0 0.2" rpy="0 0 0"/>
    </loop>

The two frames meet as the type says, one of `loop_types.ROWS`, along z of the first;
"distance" keeps their origins ``length`` meters apart. A link "world" that is not in
the file is the fixed world. A coupling is between joints, y = Σ c_k x^k; without
``follows``, y is held at c_0:

    <loop name="gear" type="coupling" joint="y" follows="x" coefficients="0 2"/>

A transmission is kept as data. What does not move mass (visual, collision, gazebo ...)
is not read here, so meshes need not exist; shapes.py reads it on demand.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from ramidyn.description.constants import (
    IDENTITY,
    Array,
    full,
    is_surely_physical,
    norm,
    turned_inertia,
)
from ramidyn.description.description import (
    BodyDescription,
    Description,
    Inertial,
    JointDescription,
    Limits,
    LoopDescription,
    Mimic,
)
from ramidyn.description.forces.from_file import passive_of
from ramidyn.description.formats.urdf_graph import (
    Elements,
    by_name,
    depth_first,
    ends,
    joined_names,
    read_transmissions,
    refuse_cycles,
    supported_type,
)
from ramidyn.description.formats.xml import (
    LARGEST,
    fault,
    number,
    numbers,
    parse_xml,
    warn_unphysical,
    where,
    word,
)
from ramidyn.description.loop_types import check_single, check_type, coupling, cut_joint
from ramidyn.description.pose import Pose, placed_at, rotation_of_rpy
from ramidyn.errors import unknown_name

TYPES: Final = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "floating",
    "planar": "planar",
    "spherical": "spherical",
    "ball": "spherical",
}
"""Joint types of the file, and what Ramidyn calls them."""

_WORLD: Final = {"world": ET.Element("link", name="world")}
_ONE_COORDINATE: Final = ("revolute", "prismatic")
_LINK_PARTS: Final = frozenset(
    (
        *("inertial", "visual", "collision", "contact", "material", "sensor"),
        *("gazebo", "self_collision_checking", "collision_checking"),
    )
)
_JOINT_PARTS: Final = frozenset(
    (
        *("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
        *("calibration", "safety_controller", "hardwareInterface", "gazebo"),
    )
)


def parse_urdf(text: str, label: str) -> Description:
    """Return the robot that a URDF text describes.

    Bodies stand depth first, the children of a link in the file order of their joints.

    Args:
        text: the whole file
        label: what errors call it, usually the file's name

    Raises:
        ModelError: the text is not a URDF robot; the message begins with file and line.
        UnsupportedJoint: a joint type that URDF, or Ramidyn, does not have.
    """
    robot = parse_xml(text, label)
    if robot.tag != "robot":
        raise fault(robot, "not a URDF file; expected the root element <robot>")
    for element in robot.iter():
        if element.tag.startswith("xacro:"):
            raise fault(element, "left over from xacro: run xacro on the file first")
    links, joints = by_name(robot, "link"), by_name(robot, "joint")
    if not links:
        raise fault(robot, "a robot without links; expected at least one <link>")
    warnings: list[str] = []
    bodies: list[BodyDescription] = []
    for link, parent, joint in depth_first(robot, links, joints):
        inertial = _inertial(links[link], warnings)
        if parent is None or joint is None:
            root = BodyDescription(link, None, Pose.identity(), inertial=inertial)
            bodies.append(root)
        else:
            bodies.append(_body(link, parent, inertial, joints[joint], warnings))
    bodies = _with_sound_mimics(bodies, joints, warnings)
    _warn_unknown(links, _LINK_PARTS, warnings)
    _warn_unknown(joints, _JOINT_PARTS, warnings)
    moving = {j.name: j for body in bodies for j in body.joints}
    loops = [_loop(e, links, moving) for e in by_name(robot, "loop").values()]
    return Description(
        name=robot.get("name", "").strip() or label,
        bodies=tuple(bodies),
        loops=tuple(loops),
        format="urdf",
        actuators=read_transmissions(robot, moving),
        offered=passive_of(moving.values()),
        warnings=tuple(warnings),
    )


# ------------------------------------------------------------ links and joints


def _body(
    link: str,
    parent: str,
    inertial: Inertial | None,
    joint: ET.Element,
    warnings: list[str],
) -> BodyDescription:
    moving = _joint(joint, warnings)
    return BodyDescription(
        link,
        parent,
        read_origin(_part(joint, "origin", warnings)),
        joints=() if moving is None else (moving,),
        inertial=inertial,
        fixed_joint=word(joint, "name") if moving is None else None,
    )


def _inertial(link: ET.Element, warnings: list[str]) -> Inertial | None:
    inertial = _part(link, "inertial", warnings)
    if inertial is None:
        return None
    mass_element = _part(inertial, "mass", warnings)
    if mass_element is None:
        raise fault(inertial, 'no <mass>; expected <mass value="..."/>')
    mass = number(mass_element, "value", largest=LARGEST)
    if mass < 0:
        raise fault(mass_element, f"a negative mass, {mass:g} kg; expected 0 or more")
    pose = read_origin(_part(inertial, "origin", warnings))
    matrix = _part(inertial, "inertia", warnings)
    if matrix is None:
        warnings.append(f"{where(inertial)}: no <inertia>; treated as a point mass")
        return Inertial(mass, pose.p, np.zeros((3, 3)))
    ixx, iyy, izz = [number(matrix, a, largest=LARGEST) for a in ("ixx", "iyy", "izz")]
    ixy, ixz, iyz = [
        number(matrix, a, 0.0, largest=LARGEST) for a in ("ixy", "ixz", "iyz")
    ]
    I = (ixx, ixy, ixz, iyy, iyz, izz)
    if not is_surely_physical(I):
        warn_unphysical(link, full(I), warnings)
    return Inertial(mass, pose.p, full(turned_inertia(I, pose.rows)))


def _joint(joint: ET.Element, warnings: list[str]) -> JointDescription | None:
    """Return the joint, or None where it is fixed."""
    name = word(joint, "name")
    given, type_ = supported_type(joint, TYPES)
    mimic = _mimic(joint, type_, warnings)
    if type_ == "fixed":
        return None
    if type_ not in (*_ONE_COORDINATE, "planar"):
        return JointDescription(name, type_)
    dynamics = _part(joint, "dynamics", warnings)
    return JointDescription(
        name,
        type_,
        axis=_axis(joint, warnings),
        limits=_limits(joint, given, warnings),
        damping=0.0 if dynamics is None else number(dynamics, "damping", 0.0),
        friction=0.0 if dynamics is None else number(dynamics, "friction", 0.0),
        is_continuous=given == "continuous",
        mimic=mimic,
    )


def _axis(joint: ET.Element, warnings: list[str]) -> Array:
    element = _part(joint, "axis", warnings)
    if element is None and joint.get("type", "").strip() == "planar":
        return np.array([0.0, 0.0, 1.0])  # what such files mean, as in Pinocchio
    if element is None:
        return np.array([1.0, 0.0, 0.0])  # URDF's own default
    xyz = numbers(element, "xyz", 3, largest=LARGEST)
    length = norm(xyz)
    if length < 1e-9:
        raise fault(
            element, f"a zero axis, xyz={element.get('xyz')!r}; expected a direction"
        )
    return np.array(xyz) / length


def _limits(joint: ET.Element, given: str, warnings: list[str]) -> Limits | None:
    if given not in ("revolute", "prismatic", "continuous"):
        return None
    element = _part(joint, "limit", warnings)
    if element is None:
        if given != "continuous":
            warnings.append(f"{where(joint)}: no <limit>; treated as unlimited")
        return None
    lower, upper = -math.inf, math.inf
    attributes = element.attrib
    if given != "continuous" and ("lower" in attributes or "upper" in attributes):
        lower, upper = number(element, "lower", 0.0), number(element, "upper", 0.0)
    elif given != "continuous":
        warnings.append(
            f"{where(element)}: neither lower nor upper; treated as unlimited"
        )
    if lower > upper:
        raise fault(
            element,
            f"lower={lower:g} is above upper={upper:g}; expected lower <= upper",
        )
    velocity = number(element, "velocity", math.inf)
    effort = number(element, "effort", math.inf)
    return Limits((lower,), (upper,), (velocity,), (effort,))


def _mimic(joint: ET.Element, type_: str, warnings: list[str]) -> Mimic | None:
    element = _part(joint, "mimic", warnings)
    if element is None:
        return None
    if type_ == "fixed":
        warnings.append(f"{where(element)}: ignored, because the joint is fixed")
        return None
    if type_ not in _ONE_COORDINATE:
        raise fault(
            element,
            f"a {type_} joint cannot mimic; expected a revolute, continuous or "
            "prismatic one",
        )
    return Mimic(
        word(element, "joint"),
        number(element, "multiplier", 1.0, largest=LARGEST),
        number(element, "offset", 0.0, largest=LARGEST),
    )


def _with_sound_mimics(
    bodies: list[BodyDescription], joints: Elements, warnings: list[str]
) -> list[BodyDescription]:
    """Return the bodies; joints that mimic a missing joint become independent."""
    moving = {j.name: j for body in bodies for j in body.joints}
    mimics = {name: j.mimic.of for name, j in moving.items() if j.mimic is not None}
    lost = [name for name, of in mimics.items() if of not in joints]
    if lost:
        missing = joined_names(dict.fromkeys(mimics.pop(name) for name in lost))
        warnings.append(
            f"{where(joints[lost[0]])}: mimics a joint that does not exist; treated as "
            f"independent: {joined_names(lost)} (no joint {missing} in the file)"
        )
    for name, of in mimics.items():
        if of not in moving or moving[of].type not in _ONE_COORDINATE:
            raise fault(
                joints[name],
                f"mimics {of!r}, a {joints[of].get('type')} joint; expected a "
                "revolute, continuous or prismatic one",
            )
    refuse_cycles(mimics, joints)
    if not lost:
        return bodies
    free = {name: replace(moving[name], mimic=None) for name in lost}
    return [
        replace(body, joints=tuple(free.get(j.name, j) for j in body.joints))
        for body in bodies
    ]


def _loop(
    loop: ET.Element, links: Elements, moving: Mapping[str, JointDescription]
) -> LoopDescription:
    name, what = word(loop, "name"), where(loop)
    type_ = check_type(f"{what}: type", word(loop, "type"))
    if type_ == "coupling":
        return _coupling(loop, name, moving)
    a, b = ends(loop, {**links, **_WORLD}, ("body_a", "body_b"))
    length = (
        number(loop, "length", largest=LARGEST) if "length" in loop.attrib else None
    )
    if type_ == "distance" and length is None:
        word(loop, "length")
    names = [None if n not in links else n for n in (word(a, "link"), word(b, "link"))]
    return cut_joint(
        what,
        name,
        type_,
        (names[0], names[1]),
        read_origin(a),
        read_origin(b),
        length,
    )


def _coupling(
    loop: ET.Element, name: str, moving: Mapping[str, JointDescription]
) -> LoopDescription:
    what = where(loop)
    joints = [word(loop, "joint")]
    if "follows" in loop.attrib:
        followed = word(loop, "follows")
        joints += [followed] if followed in moving else followed.split()
    for n in joints:
        if n not in moving:
            raise fault(loop, str(unknown_name("moving joint", n, "the file", moving)))
        check_single(what, n, moving[n].type)
    standard = (0.0, *(1.0 for _ in joints[1:] or "x"))
    given = numbers(loop, "coefficients", None, standard, largest=LARGEST)
    return coupling(what, name, joints, given)


# ------------------------------------------------------------ small parts


def read_origin(element: ET.Element | None) -> Pose:
    """Return the pose that an <origin> gives."""
    if element is None:
        return Pose.identity()
    xyz = numbers(element, "xyz", 3, (0.0, 0.0, 0.0), largest=LARGEST)
    rpy = numbers(element, "rpy", 3, (0.0, 0.0, 0.0), largest=LARGEST)
    return placed_at(rotation_of_rpy(*rpy) if any(rpy) else IDENTITY, xyz)


def _part(element: ET.Element, tag: str, warnings: list[str]) -> ET.Element | None:
    """Return the child of that name; of several, the first, with a warning."""
    found = element.findall(tag)
    if len(found) > 1:
        warnings.append(f"{where(found[1])}: a second <{tag}>; the first one is used")
    return found[0] if found else None


def _warn_unknown(
    elements: Elements, known: frozenset[str], warnings: list[str]
) -> None:
    """Warn of unknown children."""
    for element in elements.values():
        unknown = (child.tag for child in element if child.tag not in known)
        for tag in dict.fromkeys(unknown):
            if ":" not in tag:
                warnings.append(f"{where(element)}: unknown element <{tag}> ignored")
