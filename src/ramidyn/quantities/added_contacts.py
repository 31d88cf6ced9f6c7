"""Add contacts to a model: checked, and traced where the ground is a function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ramidyn.algorithms.forces.contact_forces import check_height
from ramidyn.description.contacts import (
    GROUND_CONTACTS,
    Contact,
    DryFriction,
    HardLimit,
)
from ramidyn.description.description import Description
from ramidyn.errors import ArgumentError, ModelError, names_of
from ramidyn.tree.contact_checks import checked_contact
from ramidyn.tree.model import Model, PublicJoint


def with_contacts(
    model: Model, elements: Iterable[object], name: str | None = None
) -> Description:
    """Return the description of a model with more contacts."""
    for element in elements:
        new = checked_contact(element, name, model)
        if isinstance(new, GROUND_CONTACTS) and new.height is not None:
            check_height(new)
        model = replace(model, contacts=(*model.contacts, new))
    assert model.description is not None
    return replace(model.description, contacts=model.contacts)


def hard_limits(model: Model, joints: Sequence[str] | None) -> list[Contact]:
    """Return the hard limits of joints, all that have limits by default."""
    wanted = _joints(model, joints, "add_hard_limits")
    if joints is not None:
        return [HardLimit(j.name, name=f"{j.name}_limit") for j in wanted]
    known = {c.joint for c in model.contacts if isinstance(c, HardLimit)}
    found = [j.name for j in wanted if _is_limited(j) and j.name not in known]
    if not found and not known:
        raise ModelError(
            f"add_hard_limits: no joint of robot {model.name!r} has limits; add "
            "ramidyn.contacts.HardLimit(joint, lower, upper)"
        )
    return [HardLimit(n, name=f"{n}_limit") for n in found]


def dry_friction(
    model: Model, force: float | None, joints: Sequence[str] | None
) -> list[Contact]:
    """Return dry friction of joints, all that have friction by default."""
    wanted = _joints(model, joints, "add_dry_friction")
    if joints is None:
        known = {c.joint for c in model.contacts if isinstance(c, DryFriction)}
        wanted = [j for j in wanted if j.name not in known]
        if force is None:
            wanted = [j for j in wanted if j.friction]
        else:
            wanted = [j for j in wanted if j.nv == 1]
        if not wanted and not known:
            raise ModelError(
                f"add_dry_friction: no joint of robot {model.name!r} has friction in "
                "its file; pass force"
            )
    return [DryFriction(j.name, force, name=f"{j.name}_dry_friction") for j in wanted]


def _joints(model: Model, names: Sequence[str] | None, who: str) -> list[PublicJoint]:
    if names is None:
        return list(model.joints)
    if isinstance(names, str):
        raise ArgumentError(f"{who}: joints is {names!r}; expected a list of names")
    return [model.joint(n) for n in names_of(f"{who}: joints", names)]


def _is_limited(joint: PublicJoint) -> bool:
    limits = joint.limits
    if joint.nq != 1 or limits is None:
        return False
    ends = limits.lower, limits.upper
    return any(isinstance(x, float) and math.isfinite(x) for x in ends)
