"""MJCF's <actuator>: names, joints, gears and ranges, as data."""

from __future__ import annotations

import math
from typing import Final

from ramidyn.description.description import Actuator, JointDescription
from ramidyn.description.formats.mjcf.bodies import Worldbody
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    Attributes,
    Defaults,
    Settings,
    choice,
    like,
    unknown,
)
from ramidyn.description.formats.xml import Element, number, numbers

KINDS: Final = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder"),
    *("muscle", "adhesion", "dcmotor", "plugin", "pid", "orientation"),
)
"""the elements; in a default class they all set the same attributes"""
FREEDOMS: Final = {"spherical": 3, "floating": 6}
Range = tuple[float, float]
NONE: Final[Range] = (-math.inf, math.inf)


def read_actuators(
    sections: list[Element], world: Worldbody, defaults: Defaults, settings: Settings
) -> tuple[Actuator, ...]:
    """Return the actuators in document order."""
    joints = {j.name: j for body in world.bodies for j in body.joints}
    found: list[Actuator] = []
    for i, (element, merged) in enumerate(actuator_elements(sections, defaults)):
        name = merged.get("joint") or merged.get("jointinparent")
        if name is not None and name not in joints:
            raise unknown(element, "joint", name, joints)
        joint = joints[name] if name is not None else None
        gear = numbers(merged, "gear", range(1, 7), (1.0,), largest=LARGEST)
        if joint is not None:
            gear = (*gear, *(0.0,) * 6)[: FREEDOMS.get(joint.type, 1)]
        control = _range(merged, "ctrl", settings)
        if control == NONE and joint is not None:
            control = _inherited(merged, joint)
        found.append(
            Actuator(
                element.get("name") or f"{element.tag}{i}",
                element.tag,
                name,
                tuple(gear),
                control,
                _range(merged, "force", settings),
            )
        )
    return tuple(found)


def actuator_elements(
    sections: list[Element], defaults: Defaults
) -> list[tuple[Element, Element]]:
    """Return every actuator in document order, as written and with its defaults."""
    elements = [e for section in sections for e in section if e.tag in KINDS]
    found: list[tuple[Element, Element]] = []
    for element in elements:
        assert isinstance(element, Element)
        found.append((element, _merged(element, defaults)))
    return found


def _merged(element: Element, defaults: Defaults) -> Element:
    attributes: Attributes = {}
    for kind in KINDS:
        attributes.update(defaults.apply(element, tag=kind).attrib)
    return like(element, {**attributes, **element.attrib})


def _range(element: Element, what: str, settings: Settings) -> Range:
    """Return a range of the file where it counts, else an infinite one."""
    given = f"{what}range" in element.attrib
    limited = choice(element, f"{what}limited", "true", "false", "auto", default="auto")
    counts = limited == "true" or (limited == "auto" and settings.autolimits)
    if not given or not counts:
        return NONE
    low, high = numbers(element, f"{what}range", 2, (0.0, 0.0), largest=LARGEST)
    return low, high


def _inherited(element: Element, joint: JointDescription) -> Range:
    """Return the joint's range, scaled by ``inheritrange``, where that is given."""
    share = number(element, "inheritrange", 0.0, largest=LARGEST)
    if share <= 0 or joint.limits is None:
        return NONE
    low, high = joint.limits.lower[0], joint.limits.upper[0]
    middle, half = (low + high) / 2, share * (high - low) / 2
    return middle - half, middle + half
