"""Force elements of robots that are edited: renamed, removed, their joints locked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ramidyn.description.forces.bodies import GravityCompensation
from ramidyn.description.forces.fields import entries, referred_names, renamed_fields
from ramidyn.description.forces.inputs import Custom
from ramidyn.description.forces.joints import Tendon
from ramidyn.errors import ModelError, is_among, unknown_name

if TYPE_CHECKING:
    from ramidyn.description.contacts import Contact
    from ramidyn.description.forces.element import ForceElement

Element = TypeVar("Element", bound="ForceElement | Contact")


def with_prefix(element: Element, prefix: str) -> Element:
    """Return an element with every name behind a prefix."""
    if isinstance(element, Custom):
        raise ModelError(
            f"attach: force {element.name!r} is a function of the whole robot; remove "
            "it first, and add one to the result"
        )

    def new_name(_: str, name: str) -> str:
        return name if name == "world" else prefix + name

    changes = renamed_fields(element, new_name)
    return replace(element, name=prefix + element.name, **changes)


def on_frame(element: Element, old: str, new: str) -> Element:
    """Return an element that names another frame in the place of one."""
    changes = renamed_fields(
        element, lambda kind, n: new if (kind, n) == ("frame", old) else n
    )
    return replace(element, **changes)


def without_element(
    forces: Sequence[ForceElement], name: str, owner: str
) -> tuple[ForceElement, ...]:
    """Return the elements but one."""
    if not is_among(name, [f.name for f in forces]):
        raise unknown_name("force", str(name), owner, [f.name for f in forces])
    users = [f.name for f in forces if name in referred_names(f, "force")]
    if users:
        raise ModelError(
            f"force {name!r} cannot be removed: {users[0]!r} pulls on it; remove that "
            "one first"
        )
    return tuple(f for f in forces if f.name != name)


def forces_without(
    forces: Sequence[ForceElement], gone: Mapping[str, Any]
) -> tuple[ForceElement, ...]:
    """Return the elements that remain if some joints are gone, locked at values.

    A force along a locked joint does nothing; a tendon loses a part that is constant.
    """
    left: list[ForceElement] = []
    lost: set[str] = set()
    for element in forces:
        if isinstance(element, Tendon):
            rest = _tendon_without(element, gone)
        elif isinstance(element, GravityCompensation) and element.joints:
            kept = tuple(n for n in element.joints if n not in gone)
            rest = replace(element, joints=kept) if kept else None
        else:
            is_lost = any(n in gone for n in referred_names(element, "joint"))
            is_lost |= any(n in lost for n in referred_names(element, "force"))
            rest = None if is_lost else element
        if rest is None:
            lost.add(element.name)
        else:
            left.append(rest)
    return tuple(left)


def contacts_without(
    contacts: Sequence[Contact], gone: Collection[str]
) -> tuple[Contact, ...]:
    """Return the contacts that remain if some joints are gone or locked."""
    return tuple(
        c for c in contacts if not any(n in gone for n in referred_names(c, "joint"))
    )


def _tendon_without(element: Tendon, gone: Mapping[str, Any]) -> Tendon | None:
    pairs = list(zip(element.joints, element.coefficients, strict=True))
    kept = [(n, c) for n, c in pairs if n not in gone]
    if not kept:
        return None
    fixed = sum(
        c * float(gone[n][0]) for n, c in pairs if n in gone and gone[n] is not None
    )
    joints, coefficients = zip(*kept, strict=True)
    rest = tuple(x - fixed for x in entries(element.rest_length))
    return replace(
        element,
        joints=joints,
        coefficients=coefficients,
        rest_length=rest[0] if len(rest) == 1 else rest,
    )
