"""The pose of an MJCF element: position, and five ways to write a rotation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ramidyn.description.constants import (
    IDENTITY,
    ORIGIN,
    Rows,
    Three,
    Vector,
    angle_of,
    cross,
    dot,
    norm,
    transpose,
)
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    ORIENTATIONS,
    TINY,
    Settings,
)
from ramidyn.description.formats.xml import Element, fault, numbers
from ramidyn.description.pose import Pose


def position(element: Element, attribute: str = "pos") -> Three:
    """Return a position, the origin where none is written."""
    return numbers(element, attribute, 3, ORIGIN, largest=LARGEST)


def pose(element: Element, settings: Settings) -> Pose:
    """Return the pose that ``pos`` and an orientation attribute give."""
    return Pose.of(rotation(element, settings), position(element))


def rotation(element: Element, settings: Settings) -> Rows:
    """Return the rotation that one of the orientation attributes gives."""
    given = [name for name in ORIENTATIONS if name in element.attrib]
    if not given:
        return IDENTITY
    if len(given) > 1:
        raise fault(element, f"{' and '.join(given)} are both given; expected one")
    match given[0]:
        case "quat":
            q = numbers(element, "quat", 4, largest=LARGEST)
            return Pose.from_quaternion(
                _direction(element, "quat", q), order="wxyz"
            ).rows
        case "axisangle":
            *axis, angle = numbers(element, "axisangle", 4, largest=LARGEST)
            n = _direction(element, "axisangle", axis)
            return Pose.from_axis_angle(n, radians(angle, settings)).rows
        case "euler":
            angles = numbers(element, "euler", 3, largest=LARGEST)
            return from_euler(angles, settings)
        case "xyaxes":
            axes = numbers(element, "xyaxes", 6, largest=LARGEST)
            x = _direction(element, "xyaxes", axes[:3])
            along = dot(x, axes[3:])
            across = [b - a * along for a, b in zip(x, axes[3:], strict=True)]
            y = _direction(element, "xyaxes", across)
            return transpose([x, y, cross(x, y)])
        case _:
            z = numbers(element, "zaxis", 3, largest=LARGEST)
            return onto(_direction(element, "zaxis", z))


def radians(angle: float, settings: Settings) -> float:
    """Return an angle of the file in radians."""
    return math.radians(angle) if settings.degrees else angle


def from_euler(angles: Sequence[float], settings: Settings) -> Rows:
    """Return the rotation of Euler angles: lower case turns with the body."""
    so_far = Pose.identity()
    if not any(angles):
        return so_far.rows
    for letter, angle in zip(settings.euler_sequence, angles, strict=True):
        axis = IDENTITY["xyz".index(letter.lower())]
        turn = Pose.from_axis_angle(axis, radians(angle, settings))
        so_far = so_far @ turn if letter.islower() else turn @ so_far
    return so_far.rows


def onto(z: Vector) -> Rows:
    """Return the smallest rotation that turns the z axis onto a unit vector."""
    axis = (-z[1], z[0], 0.0)
    sine = norm(axis)
    if sine < TINY:
        return IDENTITY if z[2] > 0 else ((1.0, 0, 0), (0, -1.0, 0), (0, 0, -1.0))
    return Pose.from_axis_angle(axis, angle_of((z[2], sine))).rows


def segment(element: Element) -> tuple[Pose, float]:
    """Return the pose (z along it) and the half length of a ``fromto``."""
    if any(position(element)):
        raise fault(element, "both pos and fromto are given; expected one")
    ends = numbers(element, "fromto", 6, largest=LARGEST)
    pairs = list(zip(ends[:3], ends[3:], strict=True))
    along = [a - b for a, b in pairs]
    length = norm(along)
    if length / 2 < TINY:
        raise fault(element, "fromto: both points are the same; expected a segment")
    middle = [(a + b) / 2 for a, b in pairs]
    return Pose.of(onto([x / length for x in along]), middle), length / 2


def direction(element: Element, attribute: str, default: Vector) -> Three:
    """Return a unit vector along the three numbers of an attribute."""
    vector = numbers(element, attribute, 3, default, largest=LARGEST)
    return _direction(element, attribute, vector)


def _direction(element: Element, attribute: str, vector: Vector) -> Three:
    length = norm(vector)
    if length < TINY:
        kind = "zero quaternion" if len(vector) == 4 else "zero vector"
        written = element.get(attribute, "")
        raise fault(element, f"{attribute}={written!r}: a {kind} has no direction")
    return tuple([x / length for x in vector])
