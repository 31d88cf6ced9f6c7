"""A robot as URDF for other libraries: the file's own text, or generated."""

from __future__ import annotations

import math
import re

from ramidyn.cli.arguments import RobotFile, built_in
from ramidyn.cli.peers import PeerError
from ramidyn.description.description import BodyDescription, Description
from ramidyn.description.formats.read import read_source
from ramidyn.description.pose import Array, Pose

URDF_JOINTS = {"revolute": "revolute", "prismatic": "prismatic"}


def text_of(source: RobotFile) -> tuple[str, str | None]:
    """Return the text of a robot, and the root that it is to be loaded with."""
    if source.path is not None:
        return read_source(source.path)[0], source.root
    description = built_in(source.name)
    has_floating_root = any(j.type == "floating" for j in description.bodies[0].joints)
    return urdf(description), "floating" if has_floating_root else source.root


def urdf(description: Description) -> str:
    """Return the URDF of a description; a floating root is left to the loader."""
    parts = [f'<robot name="{description.name}">']
    root = description.bodies[0]
    hangs_free = any(j.type == "floating" for j in root.joints)
    if not hangs_free:
        parts.append('<link name="world_"/>')
    for body in description.bodies:
        parts.append(_link(body))
        if body.parent is not None or not hangs_free:
            parts.append(_joint(body))
    return "\n".join([*parts, "</robot>"])


def _link(body: BodyDescription) -> str:
    if body.inertial is None:
        return f'<link name="{body.name}"/>'
    own = body.inertial
    entries = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2)}
    entries["zz"] = (2, 2)
    shown = " ".join(f'i{n}="{float(own.inertia[k])!r}"' for n, k in entries.items())
    return (
        f'<link name="{body.name}"><inertial><origin xyz="{_three(own.com)}"/>'
        f'<mass value="{own.mass!r}"/><inertia {shown}/></inertial></link>'
    )


def _joint(body: BodyDescription) -> str:
    parent = body.parent or "world_"
    name, type_, axis = f"{body.name}_fixed", "fixed", ""
    if body.joints:
        joint = body.joints[0]
        if (
            len(body.joints) > 1
            or joint.type not in URDF_JOINTS
            or joint.position.any()
        ):
            raise PeerError(f"URDF cannot express joint {joint.name!r}")
        name, type_ = joint.name, URDF_JOINTS[joint.type]
        limits = '<limit lower="-3" upper="3" effort="100" velocity="10"/>'
        axis = f'<axis xyz="{_three(joint.axis)}"/>{limits}'
    return (
        f'<joint name="{name}" type="{type_}"><parent link="{parent}"/>'
        f'<child link="{body.name}"/>{_origin(body.placement)}{axis}</joint>'
    )


def _origin(pose: Pose) -> str:
    (xx, _, _), (yx, _, _), (zx, zy, zz) = pose.R
    roll, yaw = math.atan2(zy, zz), math.atan2(yx, xx)
    pitch = math.atan2(-zx, math.hypot(xx, yx))
    return f'<origin xyz="{_three(pose.p)}" rpy="{roll!r} {pitch!r} {yaw!r}"/>'


def _three(x: Array) -> str:
    return " ".join(repr(float(v)) for v in x)


def without_shapes(text: str) -> str:
    """Return URDF without what needs meshes."""
    return re.sub(r"<(visual|collision)\b(?:[^>]*/>|.*?</\1\s*>)", "", text, flags=re.S)
