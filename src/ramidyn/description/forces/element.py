"""All kinds of force elements, and names that are reserved."""

from __future__ import annotations

from typing import Final, TypeAlias

from ramidyn.description.forces.actuators import (
    ActuatorForceRange,
    GeneralActuator,
    Motor,
    PositionServo,
    VelocityServo,
)
from ramidyn.description.forces.bodies import (
    Bushing,
    GravityCompensation,
    PointSpring,
    TorsionSpring,
)
from ramidyn.description.forces.contacts import PointContact, SphereContact, Tire
from ramidyn.description.forces.inputs import Custom
from ramidyn.description.forces.joints import (
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
