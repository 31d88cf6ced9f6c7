"""All kinds of force elements, their run-time inputs, and what they do to a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, cast

from ramify.model.forces.actuators import (
    ACTUATORS,
    Actuator,
    ActuatorForceRange,
    GeneralActuator,
    Motor,
    PositionServo,
    VelocityServo,
)
from ramify.model.forces.bodies import (
    Bushing,
    GravityCompensation,
    PointSpring,
    TorsionSpring,
)
from ramify.model.forces.contacts import PointContact, SphereContact, Tire
from ramify.model.forces.custom import Custom
from ramify.model.forces.fields import entries, parameters
from ramify.model.forces.joints import (
    JointDamper,
    JointFriction,
    JointLimit,
    JointSpring,
    Tendon,
)

ForceElement: TypeAlias = (
    JointSpring
    | JointDamper
    | JointFriction
    | JointLimit
    | Tendon
    | PointSpring
    | TorsionSpring
    | Bushing
    | GravityCompensation
    | Motor
    | PositionServo
    | VelocityServo
    | GeneralActuator
    | ActuatorForceRange
    | PointContact
    | SphereContact
    | Tire
    | Custom
)
KINDS: Final[tuple[type[ForceElement], ...]] = (
    JointSpring,
    JointDamper,
    JointFriction,
    JointLimit,
    Tendon,
    PointSpring,
    TorsionSpring,
    Bushing,
    GravityCompensation,
    Motor,
    PositionServo,
    VelocityServo,
    GeneralActuator,
    ActuatorForceRange,
    PointContact,
    SphereContact,
    Tire,
    Custom,
)

CONTROL: Final = "control"
RESERVED: Final = frozenset(
    [
        "q",
        "qd",
        "qdd",
        "tau",
        "external",
        "control",
        "out",
        "dt",
        "state",
        "algorithm",
        "expressed_in",
        "damping",
    ]
)
"""names that an input of a `Custom` cannot have: those of other arguments"""


def actuators(forces: Iterable[ForceElement]) -> list[Actuator]:
    """Return the actuators, in the order of the input ``control``."""
    return [f for f in forces if isinstance(f, ACTUATORS)]


def force_inputs(forces: Iterable[ForceElement]) -> dict[str, tuple[int, ...]]:
    """Return the run-time inputs of force elements: names and shapes, in order.

    This alone decides what forward dynamics and all else takes besides the state.
    """
    elements = tuple(forces)
    n = len(actuators(elements))
    inputs: dict[str, tuple[int, ...]] = {CONTROL: (n,)} if n else {}
    for element in elements:
        if isinstance(element, Custom):
            inputs.update(cast("Mapping[str, tuple[int, ...]]", dict(element.inputs)))
    return inputs


INPUT_WORDS: Final = {
    CONTROL: "controls of the actuators, in the order of robot.forces",
    "time": "time [s]",
}


def described(element: ForceElement) -> str:
    """Return an element in a few words: its parameters with units."""
    parts: list[str] = []
    for name, unit in parameters(element).items():
        value = getattr(element, name)
        if value not in (0.0, (0.0, 0.0, 0.0)):
            shown = ", ".join(f"{x:.4g}" for x in entries(value))
            shown = f"({shown})" if isinstance(value, tuple) else shown
            parts.append(f"{name} {shown}" + (f" {unit}" if unit != "-" else ""))
    return ", ".join(parts)
