"""MJCF joints: free, ball, slide and hinge, in the coordinates of their body."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ramidyn.description.constants import IDENTITY, ORIGIN, moved_point, times
from ramidyn.description.description import JointDescription, Limits
from ramidyn.description.formats.mjcf.defaults import LARGEST, Settings, choice, flag
from ramidyn.description.formats.mjcf.orientation import direction, position, radians
from ramidyn.description.formats.xml import Element, fault, number, numbers, where
from ramidyn.description.pose import Pose

TYPES: Final = {
    "free": "floating",
    "ball": "spherical",
    "slide": "prismatic",
    "hinge": "revolute",
}
LARGEST_FORCE: Final = 1e100
"""of armature, damping, friction and stiffness: to hold a joint still, files have
1e11 and more; products of a few stay finite"""
FREEDOMS: Final = {"floating": 6, "spherical": 3, "prismatic": 1, "revolute": 1}


def read_joint(
    name: str,
    element: Element,
    T_body_frame: Pose,
    settings: Settings,
    warnings: list[str],
) -> JointDescription:
    """Return a <joint>, with its defaults filled in, given in a frame of its body."""
    kind = TYPES[choice(element, "type", *TYPES, default="hinge")]
    axis, anchor = IDENTITY[2], ORIGIN
    if kind != "floating":
        anchor = moved_point(T_body_frame.rows, position(element), T_body_frame.origin)
        if kind != "spherical":
            axis = times(T_body_frame.rows, direction(element, "axis", axis))
    is_scalar = FREEDOMS[kind] == 1
    return JointDescription(
        name,
        kind,
        axis=np.array(axis),
        position=np.array(anchor),
        reference=_angle(element, "ref", kind, settings) if is_scalar else 0.0,
        limits=_limits(element, kind, settings, warnings),
        armature=_not_negative(element, "armature"),
        damping=_first_of_polynomial(element, "damping", warnings),
        friction=_not_negative(element, "frictionloss"),
        stiffness=_first_of_polynomial(element, "stiffness", warnings),
        spring_reference=(
            _angle(element, "springref", kind, settings) if is_scalar else 0.0
        ),
        actuator_force_range=_actuator_range(element, kind, settings, warnings),
        actuator_gravity_compensation=flag(element, "actuatorgravcomp"),
    )


def _actuator_range(
    element: Element, kind: str, settings: Settings, warnings: list[str]
) -> tuple[float, float] | None:
    if FREEDOMS[kind] > 1 or not is_limited(element, "actuatorfrc", settings, warnings):
        return None
    low, high = numbers(element, "actuatorfrcrange", 2, (0.0, 0.0))
    return low, high


def _angle(element: Element, attribute: str, kind: str, settings: Settings) -> float:
    value = number(element, attribute, 0.0, largest=LARGEST)
    return radians(value, settings) if kind == "revolute" else value


def _not_negative(element: Element, attribute: str) -> float:
    value = number(element, attribute, 0.0, largest=LARGEST_FORCE)
    if value < 0:
        raise fault(element, f"{attribute}={value:g}; expected at least 0")
    return value


def _first_of_polynomial(
    element: Element, attribute: str, warnings: list[str]
) -> float:
    """Return the linear coefficient of a spring or damper."""
    first, *higher = numbers(
        element, attribute, range(1, 4), (0.0,), largest=LARGEST_FORCE
    )
    if any(higher):
        warnings.append(
            f"{where(element)}: {attribute} is a polynomial; only its first "
            f"coefficient, {first:g}, is kept"
        )
    return first


def _limits(
    element: Element, kind: str, settings: Settings, warnings: list[str]
) -> Limits | None:
    lower, upper = -math.inf, math.inf
    has_range = kind != "floating" and is_limited(element, "", settings, warnings)
    if has_range:
        lower, upper = numbers(element, "range", 2, (0.0, 0.0))
        if kind in ("revolute", "spherical"):
            lower, upper = radians(lower, settings), radians(upper, settings)
    if kind == "spherical" and has_range:
        warnings.append(
            f"{where(element)}: the range of a ball joint limits its rotation angle "
            f"({upper:g} rad), not its coordinates; it is ignored"
        )
    if FREEDOMS[kind] > 1:
        return None
    effort: tuple[float, ...] = ()
    ends = _actuator_range(element, kind, settings, [])
    if ends is not None:
        effort = (max(map(abs, ends)),)
    if not has_range and not effort:
        return None
    return Limits((lower,), (upper,), effort=effort)


def is_limited(
    element: Element, prefix: str, settings: Settings, warnings: list[str]
) -> bool:
    """Return whether a range is in force, by MuJoCo's rules."""
    name = f"{prefix}range"
    if name not in element.attrib and f"{prefix}limited" not in element.attrib:
        return False
    lower, upper = numbers(element, name, 2, (0.0, 0.0))
    word = choice(element, f"{prefix}limited", "true", "false", "auto", default="auto")
    if word == "false" or (word == "auto" and not lower and not upper):
        return False
    if word == "auto" and not settings.autolimits:
        raise fault(
            element,
            f"{name} without {prefix}limited, and compiler autolimits='false'; "
            f"expected {prefix}limited='true' or 'false'",
        )
    if lower < upper:
        return True
    if word == "true":
        raise fault(
            element, f"{name}={element.get(name, '')!r}; expected lower < upper"
        )
    warnings.append(
        f"{where(element)}: {name}={element.get(name)!r} has lower >= upper and is "
        "ignored, as MuJoCo does"
    )
    return False
