"""Named configurations of an SRDF file: ``<group_state>``, as MoveIt writes them.

Joints that a state does not name are where the robot's file has them; one that follows
another follows it. Nothing else of the file is read.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ramidyn.description.description import Description, JointDescription
from ramidyn.description.editing import (
    join_configuration,
    rest_coordinates,
    split_configuration,
)
from ramidyn.description.formats.read import read_source
from ramidyn.description.formats.xml import numbers, parse_xml, where, word
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError


def beside(source: str | os.PathLike[str]) -> Path:
    """Return where the SRDF of a robot file is, if it has the same name."""
    path = read_source(source)[1]
    if path is None:
        raise ArgumentError(
            "srdf is True, but the robot is given as text; pass the path of the SRDF"
        )
    return path.with_name(path.name.removesuffix(".xacro")).with_suffix(".srdf")


def with_group_states(
    description: Description, source: str | os.PathLike[str]
) -> Description:
    """Return the description with the configurations that an SRDF names."""
    text, path = read_source(source)
    label = path.name if path is not None else "srdf"
    root = parse_xml(text, label)
    if root.tag != "robot":
        raise ModelError(
            f"{label}: the first element is <{root.tag}>; expected <robot> (SRDF)"
        )
    states = root.findall("group_state")
    names = Counter((*description.keyframes, *(word(s, "name") for s in states)))
    keyframes, warnings = dict(description.keyframes), list(description.warnings)
    for state in states:
        name = word(state, "name")
        if names[name] > 1:  # such as the "home" of an arm and of its hand
            name = f"{word(state, 'group')}/{name}"
        if name in keyframes:
            raise ModelError(f"{where(state)}: a second state {name!r}")
        keyframes[name] = _configuration(description, state, warnings)
    return replace(description, keyframes=keyframes, warnings=tuple(warnings))


def _configuration(
    description: Description, state: ET.Element, warnings: list[str]
) -> Array:
    """Return the configuration of a state, in the coordinates of the robot's file."""
    joints = {j.name: j for b in description.bodies for j in b.joints}
    given: dict[str, Array] = {}
    for element in state.findall("joint"):
        name = word(element, "name")
        if name not in joints:
            warnings.append(
                f"{where(element)}: not a moving joint of {description.name!r}; ignored"
            )
            continue
        type_ = joint_type(name, joints[name].type)
        values = list(numbers(element, "value", type_.nq))
        given[name] = np.array(type_.scalar_first(values))
    parts = split_configuration(description, rest_coordinates(description)) | given
    for name in joints:
        parts[name] = _followed(name, joints, given, parts)
    return join_configuration(description.bodies, parts)


def _followed(
    name: str,
    joints: Mapping[str, JointDescription],
    given: Mapping[str, Array],
    parts: Mapping[str, Array],
) -> Array:
    """Return the value of a joint, or that of the joint that it follows, scaled."""
    factor, offset, seen = 1.0, 0.0, {name}
    while (mimic := joints[name].mimic) is not None and name not in given:
        if mimic.of not in joints or mimic.of in seen:
            break  # building the robot raises an error
        factor, offset = factor * mimic.multiplier, offset + factor * mimic.offset
        name = mimic.of
        seen.add(name)
    return parts[name] if len(seen) == 1 else factor * parts[name] + offset
