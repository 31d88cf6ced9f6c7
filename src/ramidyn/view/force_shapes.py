"""What loops, force elements and contacts look like: marks on bodies, and connections.

Springs are helices, dampers and rods bars, cut joints red balls on both bodies. A
contact is its point or shape, a tire its disk, a bushing a cube; what acts in a joint
is a ring around its axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from ramidyn.description.contacts import (
    CONTACTS,
    GROUND_CONTACTS,
    Contact,
    ContactBox,
    ContactCapsule,
    ContactPoint,
    ContactPoints,
    ContactSphere,
    SpherePair,
)
from ramidyn.description.description import Color, Description, JointDescription
from ramidyn.description.editing import WORLD, frame_of
from ramidyn.description.forces.actuators import ACTUATORS
from ramidyn.description.forces.bodies import (
    ORIGIN,
    Bushing,
    GravityCompensation,
    PointSpring,
    TorsionSpring,
)
from ramidyn.description.forces.contacts import UP, PointContact, SphereContact, Tire
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.fields import referred_names
from ramidyn.description.mesh_files import TriangleMesh
from ramidyn.description.pose import Array, Pose
from ramidyn.view.triangles import (
    Part,
    along,
    ball,
    box,
    capsule,
    moved_mesh,
    ring,
    scaled,
)

LOOP: Final[Color] = (0.80, 0.16, 0.24, 1.0)
PASSIVE: Final[Color] = (0.10, 0.55, 0.50, 1.0)
ACTIVE: Final[Color] = (0.93, 0.62, 0.15, 1.0)
CONTACT: Final[Color] = (0.55, 0.30, 0.70, 0.6)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Connection:
    """What joins a point of one body to a point of another."""

    name: str
    layer: str
    """"loops" or "forces" """
    is_spring: bool
    color: Color
    body_a: str
    point_a: Array
    body_b: str
    point_b: Array


def connections_of(description: Description) -> list[Connection]:
    """Return the springs, dampers and loops between two bodies."""
    found: list[Connection] = []
    for f in description.forces:
        if isinstance(f, PointSpring):
            (a, x), (b, y) = (
                _point(description, f.frame_a, f.point_a),
                _point(description, f.frame_b, f.point_b),
            )
            has_spring = f.stiffness != 0
            found.append(Connection(f.name, "forces", has_spring, PASSIVE, a, x, b, y))
    for loop in description.loops:
        if not loop.joints:
            a, b = loop.body_a or WORLD, loop.body_b or WORLD
            x, y = loop.placement_a.p, loop.placement_b.p
            found.append(Connection(loop.name, "loops", False, LOOP, a, x, b, y))
    return found


def marks_of(description: Description, size: float) -> Iterator[Part]:
    """Yield the marks of loops and force elements on their bodies."""
    for c in connections_of(description):
        for body, point in ((c.body_a, c.point_a), (c.body_b, c.point_b)):
            r = (0.015 if c.layer == "loops" else 0.01) * size
            yield Part(body, c.layer, _ball(r, point), c.color, c.name)
    joints = {j.name: (b.name, j) for b in description.bodies for j in b.joints}
    layers = (("forces", description.forces), ("contacts", description.contacts))
    for layer, f in ((layer, f) for layer, elements in layers for f in elements):
        color, radius = _ring_look(f)
        for name in referred_names(f, "joint"):
            if name in joints:
                body, joint = joints[name]
                yield Part(
                    body, layer, _joint_ring(joint, radius * size), color, f.name
                )
        for body, mesh in _shapes(description, f, size):
            yield Part(body, layer, mesh, _color(f), f.name)


def ground_levels(description: Description) -> Iterator[float]:
    """Yield the heights of level ground that contacts and tires touch."""
    for element in (*description.forces, *description.contacts):
        if not isinstance(
            element, (PointContact, SphereContact, Tire, *GROUND_CONTACTS)
        ):
            continue
        if element.height is None and element.normal == UP:
            yield element.offset


def _color(element: ForceElement | Contact) -> Color:
    touching = (PointContact, SphereContact, Tire, *CONTACTS)
    return CONTACT if isinstance(element, touching) else PASSIVE


def _ring_look(element: ForceElement | Contact) -> tuple[Color, float]:
    """Return the color and the radius of the ring around a joint."""
    if isinstance(element, ACTUATORS):
        return ACTIVE, 0.05
    return (CONTACT, 0.045) if isinstance(element, CONTACTS) else (PASSIVE, 0.035)


def _shapes(
    description: Description, element: ForceElement | Contact, size: float
) -> Iterator[tuple[str, TriangleMesh]]:
    """Yield the bodies that an element is fixed to, and its shape there."""
    match element:
        case PointContact() | ContactPoint():
            body, p = _point(description, element.frame, element.point)
            yield body, _ball(0.015 * size, p)
        case SphereContact() | ContactSphere():
            body, p = _point(description, element.frame, element.center)
            yield body, _ball(element.radius, p)
        case Tire():
            body, T = _frame(description, element.frame)
            r = element.radius
            axis = T.R @ np.array(element.axis)
            yield (
                body,
                moved_mesh(ring(r, 0.03 * r), along(axis, T.apply(element.center))),
            )
        case Bushing():
            body, T = _frame(description, element.frame_b)
            edge = 0.03 * size
            yield body, moved_mesh(box(edge, edge, edge), T)
        case TorsionSpring():
            body, T = _frame(description, element.frame_b)
            yield body, moved_mesh(ring(0.04 * size, 0.005 * size), T)
        case GravityCompensation():
            own = next(b for b in description.bodies if b.name == element.body)
            if own.inertial is not None:
                yield own.name, _ball(0.015 * size, own.inertial.com)
        case ContactPoints():
            for point in element.points:
                body, p = _point(description, element.frame, point)
                yield body, _ball(0.015 * size, p)
        case ContactCapsule():
            body, T = _frame(description, element.frame)
            shape = capsule(element.radius, 2.0 * element.half_length)
            axis, center = T.R @ np.array(element.axis), T.apply(element.center)
            yield body, moved_mesh(shape, along(axis, center))
        case ContactBox():
            body, T = _frame(description, element.frame)
            assert isinstance(element.placement, Pose)
            yield body, moved_mesh(box(*element.size), T @ element.placement)
        case SpherePair():
            a, x = _point(description, element.frame_a, element.center_a)
            b, y = _point(description, element.frame_b, element.center_b)
            yield a, _ball(element.radius_a, x)
            yield b, _ball(element.radius_b, y)
        case _:
            return


def _joint_ring(joint: JointDescription, radius: float) -> TriangleMesh:
    shape = ring(radius, 0.12 * radius)
    return moved_mesh(shape, along(joint.axis, joint.position))


def _frame(description: Description, name: str) -> tuple[str, Pose]:
    body, placement = frame_of(description, name)
    return body or WORLD, placement


def _point(
    description: Description, frame: str, point: tuple[float, float, float] = ORIGIN
) -> tuple[str, Array]:
    body, T = _frame(description, frame)
    return body, T.apply(np.array(point))


def _ball(radius: float, center: Array) -> TriangleMesh:
    return moved_mesh(scaled(ball(), (radius, radius, radius)), Pose(np.eye(3), center))
