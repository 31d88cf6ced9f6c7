"""Checks of a contact against its robot, and what a robot's contacts are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ramidyn.description.contacts import (
    CONTACTS,
    GROUND_CONTACTS,
    Contact,
    ContactBox,
    ContactCandidate,
    ContactCapsule,
    ContactPoints,
    DryFriction,
    GroundContact,
    HardLimit,
    SpherePair,
    check_number_of_candidates,
    ground_candidates,
)
from ramidyn.errors import ArgumentError
from ramidyn.tree.element_checks import (
    check_apart,
    check_unclaimed,
    described_joints,
    labeled_element,
    unit_direction,
    with_ground,
    with_limits,
)
from ramidyn.tree.model import Model, check_leads
from ramidyn.tree.tree import ROOT


def checked_contact(element: object, name: str | None, model: Model) -> Contact:
    """Return a contact with its name and clean numbers.

    Raises:
        ArgumentError, ModelError, UnknownName: it cannot act on that robot.
    """
    if not isinstance(element, CONTACTS):
        raise ArgumentError(
            f"add_contact: {element!r} given; expected a contact, such as "
            'ramidyn.contacts.ContactSphere("foot", radius=0.02, friction=0.8)'
        )
    what, new = labeled_element(element, name, model)
    for field in ("friction", "force", "half_length", "restitution"):
        value = getattr(new, field, None)
        if isinstance(value, tuple):
            raise ArgumentError(f"{what}: {field} is {value!r}; expected a number")
        if value is not None and value < 0.0:
            raise ArgumentError(f"{what}: {field} is {value:g}; expected 0 or more")
    bounce = getattr(new, "restitution", 0.0)
    if not 0.0 <= bounce <= 1.0:
        raise ArgumentError(
            f"{what}: restitution is {bounce:g}; expected a number from 0 to 1"
        )
    new = _CHECKS[type(new)](what, new, model)
    check_unclaimed(what, new, model)
    check_number_of_candidates(model.name, (*model.contacts, new))
    return new


# ------------------------------------------------------------ each kind


def _ground_contact(what: str, element: GroundContact, model: Model) -> GroundContact:
    element = with_ground(what, element, model)
    if isinstance(element, ContactCapsule):
        return replace(element, axis=unit_direction(f"{what}: axis", element.axis))
    if isinstance(element, ContactPoints) and not element.points:
        raise ArgumentError(f"{what}: points is (); expected one or more")
    if isinstance(element, ContactBox) and not min(element.size) > 0.0:
        raise ArgumentError(
            f"{what}: size is {element.size!r}; expected 3 numbers more than 0"
        )
    return element


def _sphere_pair(what: str, element: SpherePair, model: Model) -> SpherePair:
    check_apart(what, element, model)
    return element


def _hard_limit(what: str, element: HardLimit, model: Model) -> HardLimit:
    check_leads(element, model.mimics)
    return with_limits(what, element, model)


def _dry_friction(what: str, element: DryFriction, model: Model) -> DryFriction:
    check_leads(element, model.mimics)
    if element.force is not None:
        return element
    force = described_joints(model)[element.joint].friction
    if not force:
        raise ArgumentError(
            f"{what}: joint {element.joint!r} has no friction in its file; pass force"
        )
    return replace(element, force=force)


_CHECKS: dict[type, Callable[[str, Any, Model], Any]] = {
    **dict.fromkeys(GROUND_CONTACTS, _ground_contact),
    SpherePair: _sphere_pair,
    HardLimit: _hard_limit,
    DryFriction: _dry_friction,
}


# ------------------------------------------------------------ candidates of a robot


def robot_candidates(model: Model) -> tuple[ContactCandidate, ...]:
    """Return what can touch the ground, in the order of the contacts.

    A shape whose body is fixed to the world now, because joints were locked, cannot.
    """
    return tuple(
        candidate
        for c in model.contacts
        if isinstance(c, GROUND_CONTACTS) and model.frames[c.frame].body != ROOT
        for candidate in ground_candidates(c)
    )


def touch_count(model: Model) -> int:
    """Return how many contacts of a robot can close, limits excepted."""
    if not model.contacts:
        return 0
    return len(robot_candidates(model)) + len(robot_pairs(model))


def robot_pairs(model: Model) -> tuple[SpherePair, ...]:
    """Return the pairs of spheres that can move against each other."""
    return tuple(
        c
        for c in model.contacts
        if isinstance(c, SpherePair)
        and model.frames[c.frame_a].body != model.frames[c.frame_b].body
    )
