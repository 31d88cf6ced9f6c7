"""Rigid contact with the ground, hard limits and dry friction, as data.

They constrain velocities; they have no stiffness, and what sticks does not creep. The
ground is that of compliant contact (`forces/contacts.py`): a plane, n · x = offset with
the unit normal n, or z = height(x, y), a function of two symbols.

    gap ≥ 0,  λₙ ≥ 0,  gap λₙ = 0       a contact pushes, and only where it touches
    |λₜ| ≤ friction λₙ                  Coulomb's cone; against the sliding velocity
    v₊ ≥ −restitution v₋                for an impact, along the normal

Every shape that touches the ground is made of spheres (`ContactCandidate`): a point is
one without radius, a capsule has two, a box eight points.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from ramidyn.description.constants import moved_point
from ramidyn.description.forces.bodies import ORIGIN, Point
from ramidyn.description.forces.contacts import UP, Height
from ramidyn.description.forces.fields import frame, joint, label, parameter
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError


@final
@dataclass(frozen=True, slots=True)
class ContactPoint:
    """Rigid contact of a point of a body with the ground.

    Args:
        frame: a body or a frame.
        point: the point, in the coordinates of the frame [m].
        friction: coefficient of friction.
        restitution: from 0 (it does not bounce) to 1 (it bounces back as fast).
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the contact.
    """

    frame: str = frame()
    point: Point = ORIGIN
    friction: float = parameter("-", 0.0)
    restitution: float = parameter("-", 0.0)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class ContactPoints:
    """Rigid contact of several points of a body with the ground, such as of a sole.

    Args:
        frame: a body or a frame.
        points: the points, in the coordinates of the frame [m].
        friction: coefficient of friction.
        restitution: from 0 (it does not bounce) to 1 (it bounces back as fast).
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the contact.
    """

    frame: str = frame()
    points: tuple[Point, ...] = ()
    friction: float = parameter("-", 0.0)
    restitution: float = parameter("-", 0.0)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class ContactSphere:
    """Rigid contact of a sphere on a body with the ground.

    Args:
        frame: a body or a frame.
        radius: [m].
        center: the center, in the coordinates of the frame [m].
        friction: coefficient of friction.
        restitution: from 0 (it does not bounce) to 1 (it bounces back as fast).
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the contact.
    """

    frame: str = frame()
    radius: float = parameter("m")
    center: Point = ORIGIN
    friction: float = parameter("-", 0.0)
    restitution: float = parameter("-", 0.0)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class ContactCapsule:
    """Rigid contact of a capsule on a body with the ground, at its two ends.

    On curved ground, what is between the ends can pass through the ground.

    Args:
        frame: a body or a frame.
        radius: of the capsule [m].
        half_length: from its center to the center of a cap [m].
        center: its center, in the coordinates of the frame [m].
        axis: its direction there.
        friction: coefficient of friction.
        restitution: from 0 (it does not bounce) to 1 (it bounces back as fast).
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the contact.
    """

    frame: str = frame()
    radius: float = parameter("m")
    half_length: float = 0.0
    center: Point = ORIGIN
    axis: Point = UP
    friction: float = parameter("-", 0.0)
    restitution: float = parameter("-", 0.0)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class ContactBox:
    """Rigid contact of a box on a body with the ground, at its eight corners.

    On curved ground, what is between the corners can pass through the ground.

    Args:
        frame: a body or a frame.
        size: its three edges [m].
        placement: of its center and axes in the frame: a position, a `Pose` or its
            (4, 4) matrix.
        friction: coefficient of friction.
        restitution: from 0 (it does not bounce) to 1 (it bounces back as fast).
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the contact.
    """

    frame: str = frame()
    size: Point = ORIGIN
    placement: Pose | Point = ORIGIN
    friction: float = parameter("-", 0.0)
    restitution: float = parameter("-", 0.0)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class SpherePair:
    """Rigid contact of two spheres on two bodies, or of one with the world.

    Args:
        frame_a: a body, a frame, or "world".
        frame_b: another one.
        radius_a: [m].
        radius_b: [m].
        center_a: center of the sphere, in the coordinates of frame a [m].
        center_b: center of the sphere, in the coordinates of frame b [m].
        friction: coefficient of friction.
        restitution: from 0 (they do not bounce) to 1 (they bounce back as fast).
        name: name of the contact.
    """

    frame_a: str = frame()
    frame_b: str = frame()
    radius_a: float = parameter("m")
    radius_b: float = parameter("m")
    center_a: Point = ORIGIN
    center_b: Point = ORIGIN
    friction: float = parameter("-", 0.0)
    restitution: float = parameter("-", 0.0)
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class HardLimit:
    """Limits of a joint with one coordinate, which it cannot pass.

    The limits of the file are the default.

    Args:
        joint: the joint.
        lower: lower limit [rad or m]; −inf for none.
        upper: upper limit [rad or m]; inf for none.
        name: name of the limit.
    """

    joint: str = joint()
    lower: float | None = parameter("rad or m", None, signed=True)
    upper: float | None = parameter("rad or m", None, signed=True)
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class DryFriction:
    """Dry friction in a joint, on each of its degrees of freedom.

        |τ| ≤ force,  τ = −force sign(q̇) where it moves

    It holds a joint at rest under any load up to ``force``. The friction of the file is
    the default.

    Args:
        joint: the joint.
        force: [N m or N].
        name: name of the element.
    """

    joint: str = joint()
    force: float | None = parameter("N m or N", None)
    name: str = label()


GroundContact: TypeAlias = (
    ContactPoint | ContactPoints | ContactSphere | ContactCapsule | ContactBox
)
Contact: TypeAlias = GroundContact | SpherePair | HardLimit | DryFriction
GROUND_CONTACTS: Final[tuple[type[GroundContact], ...]] = (
    ContactPoint,
    ContactPoints,
    ContactSphere,
    ContactCapsule,
    ContactBox,
)
CONTACTS: Final[tuple[type[Contact], ...]] = (
    *GROUND_CONTACTS,
    SpherePair,
    HardLimit,
    DryFriction,
)


# ------------------------------------------------------------ candidates


@final
@dataclass(frozen=True, slots=True)
class ContactCandidate:
    """A sphere on a body that can touch the ground; a point if its contact has none."""

    contact: GroundContact
    """whose friction, restitution, radius and ground it has"""
    center: Point
    """in the coordinates of the contact's frame [m]"""
    name: str
    """of the contact, with the number of the cap or corner if there are several"""

    @property
    def has_radius(self) -> bool:
        """Whether it is a sphere: then "radius" is a number of its contact."""
        return isinstance(self.contact, (ContactSphere, ContactCapsule))


def ground_candidates(contact: GroundContact) -> tuple[ContactCandidate, ...]:
    """Return the spheres and points that a checked shape is made of."""
    match contact:
        case ContactPoint():
            centers = [contact.point]
        case ContactPoints():
            centers = list(contact.points)
        case ContactSphere():
            centers = [contact.center]
        case ContactCapsule():
            c, a, h = contact.center, contact.axis, contact.half_length
            centers = [_shifted(c, a, h), _shifted(c, a, -h)]
        case ContactBox():
            assert isinstance(contact.placement, Pose)
            T = contact.placement
            corners = itertools.product(*((x / 2.0, -x / 2.0) for x in contact.size))
            moved = (moved_point(T.rows, corner, T.origin) for corner in corners)
            centers = [(x, y, z) for x, y, z in moved]
    if isinstance(contact, ContactPoint | ContactSphere):
        return (ContactCandidate(contact, centers[0], contact.name),)
    return tuple(
        ContactCandidate(contact, x, f"{contact.name}[{k}]")
        for k, x in enumerate(centers)
    )


def _shifted(x: Point, axis: Point, by: float) -> Point:
    return x[0] + axis[0] * by, x[1] + axis[1] * by, x[2] + axis[2] * by


MOST: Final = 128
"""candidates of a robot: the contact problem couples all of them, three rows each"""


def check_number_of_candidates(robot: str, contacts: Sequence[Contact]) -> None:
    """Refuse more candidates than the contact problem can have."""
    shapes = [c for c in contacts if isinstance(c, GROUND_CONTACTS)]
    pairs = sum(isinstance(c, SpherePair) for c in contacts)
    n = sum(len(ground_candidates(c)) for c in shapes) + pairs
    if n > MOST:
        raise ModelError(
            f"robot {robot!r} would have {n} contact candidates (a capsule has 2, a "
            f"box 8), at most {MOST} are possible: each step would solve for {3 * n} "
            f"unknowns coupled by {(3 * n) ** 2:,} numbers; take fewer shapes, such as "
            "load(..., contacts=['left_foot', 'right_foot'])"
        )
