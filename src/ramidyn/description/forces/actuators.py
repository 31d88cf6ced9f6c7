"""Actuators: a control in, a force along a joint or a tendon out.

    force = gain(l, l̇) u + bias(l, l̇)        τ = gear force

u is the entry of the input ``control`` at the actuator's place among the actuators of
the robot, l = gear q the length of its transmission (of a spherical joint: gear · the
rotation vector; of a floating one: 0). Ranges limit u and the force.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from ramidyn.description.forces.fields import element, joint, label, parameter

Range = tuple[float, float]
ANY: Final[Range] = (-math.inf, math.inf)


@final
@dataclass(frozen=True, slots=True)
class Motor:
    """A motor: τ = gear u.

    Args:
        joint: the joint it drives, or "" for a tendon.
        gear: [-]; 3 or 6 numbers for a spherical or a floating joint.
        control_range: limits of u.
        force_range: limits of the force before the gear [N m or N].
        armature: rotor inertia before the gear; gear² armature joins the mass matrix
            [kg m² or kg]. Not for tendons.
        tendon: name of the `Tendon` it pulls.
        in_parent: whether the moment of a spherical or floating joint is along the
            axes of the parent (MJCF's jointinparent), not the body's.
        name: name of the element.
    """

    joint: str = joint("")
    gear: float | tuple[float, ...] = parameter("-", 1.0, signed=True)
    control_range: Range = ANY
    force_range: Range = ANY
    armature: float = 0.0
    tendon: str = element("")
    in_parent: bool = False
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class PositionServo:
    """A position servo: force = stiffness (u − l) − damping l̇.

    Args:
        joint: the joint it drives, or "" for a tendon.
        stiffness: gain on the position, MJCF's kp [N m/rad or N/m].
        damping: gain on the velocity, MJCF's kv [N m s/rad or N s/m].
        damping_ratio: instead of ``damping``: 1 is critical, for the inertia that the
            servo feels in the initial configuration (MJCF's dampratio).
        gear: [-].
        control_range: limits of u [rad or m].
        force_range: limits of the force before the gear [N m or N].
        armature: rotor inertia before the gear [kg m² or kg].
        tendon: name of the `Tendon` it pulls.
        name: name of the element.
    """

    joint: str = joint("")
    stiffness: float = parameter("N m/rad or N/m", 1.0)
    damping: float = parameter("N m s/rad or N s/m", 0.0)
    damping_ratio: float | None = None
    gear: float | tuple[float, ...] = parameter("-", 1.0, signed=True)
    control_range: Range = ANY
    force_range: Range = ANY
    armature: float = 0.0
    tendon: str = element("")
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class VelocityServo:
    """A velocity servo: force = damping (u − l̇).

    Args:
        joint: the joint it drives, or "" for a tendon.
        damping: gain on the velocity, MJCF's kv [N m s/rad or N s/m].
        gear: [-].
        control_range: limits of u [rad/s or m/s].
        force_range: limits of the force before the gear [N m or N].
        armature: rotor inertia before the gear [kg m² or kg].
        tendon: name of the `Tendon` it pulls.
        name: name of the element.
    """

    joint: str = joint("")
    damping: float = parameter("N m s/rad or N s/m", 1.0)
    gear: float | tuple[float, ...] = parameter("-", 1.0, signed=True)
    control_range: Range = ANY
    force_range: Range = ANY
    armature: float = 0.0
    tendon: str = element("")
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class GeneralActuator:
    """An actuator of MJCF's type "general", without a state of its own.

        force = (g₀ + g₁ l + g₂ l̇) u + b₀ + b₁ l + b₂ l̇

    Args:
        joint: the joint it drives, or "" for a tendon.
        gain: g₀, g₁, g₂.
        bias: b₀, b₁, b₂.
        gear: [-].
        control_range: limits of u.
        force_range: limits of the force before the gear [N m or N].
        armature: rotor inertia before the gear [kg m² or kg].
        tendon: name of the `Tendon` it pulls.
        name: name of the element.
    """

    joint: str = joint("")
    gain: tuple[float, float, float] = parameter("-", (1.0, 0.0, 0.0), signed=True)
    bias: tuple[float, float, float] = parameter("-", (0.0, 0.0, 0.0), signed=True)
    gear: float | tuple[float, ...] = parameter("-", 1.0, signed=True)
    control_range: Range = ANY
    force_range: Range = ANY
    armature: float = 0.0
    tendon: str = element("")
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class ActuatorForceRange:
    """Limits of the sum of all actuator forces on a joint or a tendon.

    MJCF's actuatorfrcrange. A joint's limits hold after gears, and for actuators that
    pull on it by a tendon too. A tendon's hold before gears: where the sum is outside,
    all actuators of the tendon are scaled by the same factor.

    Args:
        joint: a joint with one coordinate, or "" for a tendon.
        lower: [N m or N]; of a tendon at most 0.
        upper: [N m or N]; of a tendon at least 0.
        tendon: name of the `Tendon`.
        name: name of the element.
    """

    joint: str = joint("")
    lower: float = parameter("N m or N", -math.inf, signed=True)
    upper: float = parameter("N m or N", math.inf, signed=True)
    tendon: str = element("")
    name: str = label()


Actuator: TypeAlias = Motor | PositionServo | VelocityServo | GeneralActuator
ACTUATORS: Final = (Motor, PositionServo, VelocityServo, GeneralActuator)
