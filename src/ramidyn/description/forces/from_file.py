"""Forces that a robot's file asks for, and which of them act.

A file offers forces; ``load(..., passive=True, actuators=True)`` makes them act. What
does not act is named in a line of the warning at loading, unless it was declined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ramidyn.description.description import FileForces, Unsupported
from ramidyn.description.forces.fields import referred_names
from ramidyn.description.forces.joints import (
    JointDamper,
    JointFriction,
    JointSpring,
    Tendon,
)
from ramidyn.errors import counted_noun, quoted_names

if TYPE_CHECKING:
    from ramidyn.description.contacts import Contact
    from ramidyn.description.description import JointDescription
    from ramidyn.description.forces.element import ForceElement

Element = TypeVar("Element", bound="ForceElement | Contact")
WORDS = {
    "JointSpring": ("springs of ", "joint", "joints"),
    "JointDamper": ("damping of ", "joint", "joints"),
    "JointFriction": ("friction of ", "joint", "joints"),
    "GravityCompensation": ("gravity compensation of ", "body", "bodies"),
    "Tendon": ("", "tendon", "tendons"),
    "Motor": ("", "motor", "motors"),
    "PositionServo": ("", "position servo", "position servos"),
    "VelocityServo": ("", "velocity servo", "velocity servos"),
    "GeneralActuator": ("", "general actuator", "general actuators"),
}
"""What a number of elements is called, by kind; "of" names what they act on."""


def joint_elements(
    joint: str,
    stiffness: float,
    reference: float | tuple[float, ...],
    damping: float,
    friction: float,
) -> list[ForceElement]:
    """Return the passive forces of a joint."""
    found: list[ForceElement] = []
    if stiffness:
        found.append(JointSpring(joint, stiffness, reference, name=f"{joint}_spring"))
    if damping:
        found.append(JointDamper(joint, damping, name=f"{joint}_damping"))
    if friction:
        found.append(JointFriction(joint, friction, name=f"{joint}_friction"))
    return found


def passive_of(joints: Iterable[JointDescription]) -> FileForces:
    """Return the passive forces of joints with one coordinate."""
    found: list[ForceElement] = []
    for j in joints:
        if j.type in ("revolute", "prismatic", "helical"):
            found += joint_elements(
                j.name, j.stiffness, j.spring_reference, j.damping, j.friction
            )
    return FileForces(tuple(found))


def acting_forces(
    offered: FileForces, passive: bool | None, actuators: bool | None
) -> tuple[ForceElement, ...]:
    """Return the forces that act, each with a name of its own."""
    wanted: list[ForceElement] = []
    if passive:
        wanted += offered.passive
    if actuators:
        pulled = {n for a in offered.actuators for n in referred_names(a, "force")}
        missing = pulled - {f.name for f in wanted if isinstance(f, Tendon)}
        for tendon in offered.passive:
            if tendon.name in missing and isinstance(tendon, Tendon):
                slack = replace(tendon, stiffness=0.0, damping=0.0, friction=0.0)
                wanted.append(slack)
        wanted += offered.actuators
    return tuple(distinct_elements(wanted))


def without_friction(offered: FileForces) -> FileForces:
    """Return the forces of a file without the friction of joints."""
    kept = tuple(f for f in offered.passive if not isinstance(f, JointFriction))
    return replace(offered, passive=kept)


def distinct_elements(
    elements: Sequence[Element], taken: Collection[str] = ()
) -> Iterator[Element]:
    """Yield elements with distinct names; tendons, which others name, keep theirs."""
    names = {*taken, *(f.name for f in elements if isinstance(f, Tendon))}
    for element in elements:
        name = element.name
        if not isinstance(element, Tendon):
            while name in names:
                name += "_"
            names.add(name)
        yield element if name == element.name else replace(element, name=name)


def unused_forces(offered: FileForces, answers: Mapping[str, bool | None]) -> list[str]:
    """Return a line for each kind of force that does not act and was not declined.

    Args:
        offered: all forces of the file.
        answers: the options "passive", "actuators" and "contacts"; None: not answered.
    """
    lines: list[str] = []
    for option, what, elements in (
        ("passive", "passive force", [f for f in offered.passive if _acts(f)]),
        ("actuators", "force of actuators", _without_ranges(offered.actuators)),
    ):
        if answers[option] is None and elements:
            many = what.replace("force", "forces")
            dry = ""
            if any(isinstance(f, JointFriction) for f in elements):
                dry = " (dry_friction=True takes friction as rigid)"
            lines.append(
                f"{counted_noun(len(elements), what, many)} in the file "
                f"{'does' if len(elements) == 1 else 'do'} not act: "
                f"{_by_kind(elements)}; load with "
                f"{option}=True to take them{dry}, {option}=False to decline"
            )
    kinds: dict[Unsupported, list[str]] = {}
    for one in offered.unsupported:
        if answers[one.option] is not False:
            kinds.setdefault(replace(one, name=""), []).append(one.name)
    for one, names in kinds.items():
        what = one.kind.format(n=len(names), s="" if len(names) == 1 else "s")
        lines.append(
            f"{one.reason}: {what} ({quoted_names(names)}); load with "
            f"{one.option}=False to decline"
        )
    if answers["contacts"] is None and offered.contacts:
        names = list(dict.fromkeys(offered.contacts))
        lines.append(
            f"{counted_noun(len(offered.contacts), 'geom')} can touch others in "
            f"MuJoCo, but contacts in the file do not act: {quoted_names(names, 3)}; "
            "load with contacts=True to take those with its planes (or ground=), "
            "contacts=False to decline"
        )
    return lines


def _acts(element: ForceElement) -> bool:
    if isinstance(element, Tendon):
        return bool(element.stiffness or element.damping or element.friction)
    return True


def _without_ranges(elements: Sequence[ForceElement]) -> list[ForceElement]:
    """Return the actuators of a file without the limits of their sums."""
    if not elements:
        return []
    from ramidyn.description.forces.actuators import ActuatorForceRange  # noqa: PLC0415  where there are some

    return [f for f in elements if not isinstance(f, ActuatorForceRange)]


def _by_kind(elements: Sequence[ForceElement]) -> str:
    """Return the elements by kind: their own names, or those of what they act on."""
    kinds: dict[str, list[str]] = {}
    for f in elements:
        kind = type(f).__name__
        acts_on = (*referred_names(f, "frame"), *referred_names(f, "joint"))
        kinds.setdefault(kind, []).append(acts_on[0] if WORDS[kind][0] else f.name)
    parts: list[str] = []
    for kind, names in kinds.items():
        prefix, one, many = WORDS[kind]
        parts.append(
            f"{prefix}{counted_noun(len(names), one, many)} ({quoted_names(names, 3)})"
        )
    return ", ".join(parts)
