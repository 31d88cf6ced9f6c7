"""Forces that a robot's file asks for, and which of them act.

A file offers forces; ``load(..., passive=True, actuators=True)`` makes them act. What
does not act is named in one warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ramidyn.description.description import FileForces
from ramidyn.description.forces import inputs
from ramidyn.description.forces.fields import referred
from ramidyn.description.forces.joints import (
    JointDamper,
    JointFriction,
    JointSpring,
    Tendon,
)
from ramidyn.description.warning_groups import listed

if TYPE_CHECKING:
    from ramidyn.description.description import JointDescription
    from ramidyn.description.forces.element import ForceElement

WORDS = {
    "JointSpring": "springs of joints",
    "JointDamper": "damping of joints",
    "JointFriction": "friction of joints",
    "GravityCompensation": "gravity compensation of bodies",
    "Tendon": "tendons",
    "Motor": "motors",
    "PositionServo": "position servos",
    "VelocityServo": "velocity servos",
    "GeneralActuator": "actuators",
    "ActuatorForceRange": "limits of actuators on joints",
}


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


def taken(
    offered: FileForces, passive: bool | None, actuators: bool | None
) -> tuple[ForceElement, ...]:
    """Return the forces that act, each with a name of its own."""
    wanted: list[ForceElement] = []
    if passive:
        wanted += offered.passive
    if actuators:
        pulled = {n for a in offered.actuators for n in referred(a, "force")}
        missing = pulled - {f.name for f in wanted if isinstance(f, Tendon)}
        for tendon in offered.passive:
            if tendon.name in missing and isinstance(tendon, Tendon):
                slack = replace(tendon, stiffness=0.0, damping=0.0, friction=0.0)
                wanted.append(slack)
        wanted += offered.actuators
    return tuple(_distinct(wanted))


def _distinct(elements: Sequence[ForceElement]) -> Iterable[ForceElement]:
    """Yield elements with distinct names; tendons, which others name, keep theirs."""
    names = {f.name for f in elements if isinstance(f, Tendon)}
    for element in elements:
        name = element.name
        if not isinstance(element, Tendon):
            while name in names:
                name += "_"
            names.add(name)
        yield element if name == element.name else replace(element, name=name)


def not_taken(
    offered: FileForces, passive: bool | None, actuators: bool | None
) -> list[str]:
    """Return one warning about all that does not act and was not declined, or none."""
    waiting: list[ForceElement] = []
    options: list[str] = []
    springs = [f for f in offered.passive if _acts(f)]
    if passive is None and springs:
        waiting += springs
        options.append("passive=True")
    motors = _without_ranges(offered.actuators)
    if actuators is None and motors:
        waiting += motors
        options.append("actuators=True")
    named = {type(f) for f in inputs.actuators(motors)} | {Tendon}
    kinds = dict.fromkeys(type(f) for f in waiting)
    parts = [_listed(kind, waiting, kind in named) for kind in kinds]
    if not parts and not offered.unsupported:
        return []
    if passive is False and actuators is False:
        return []
    text = "forces in the file that do not act: " if parts else ""
    text += "; ".join(parts)
    if options:
        text += f" (load with {' and '.join(options)} to take them, False to decline)"
    if offered.unsupported:
        text += ". " if text else ""
        text += f"Not supported: {'; '.join(offered.unsupported)}"
    return [text]


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


def _listed(kind: type, elements: Sequence[ForceElement], by_name: bool) -> str:
    """Return the elements of a kind: their own names, or those of what they act on."""
    own = [f for f in elements if type(f) is kind]
    if by_name:
        names = [f.name for f in own]
    else:
        names = [n for f in own for n in (*referred(f, "joint"), *referred(f, "frame"))]
    return f"{WORDS[kind.__name__]} {listed(names)}"
