"""Forces along joints: springs, dampers, friction, limits and fixed tendons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.description.forces.fields import (
    ANGULAR_DAMPING,
    ANGULAR_STIFFNESS,
    joint,
    label,
    parameter,
)

TRANSITION = 0.01
"""[rad/s, m/s] velocity at which friction has reached 71 % of its full value"""


@final
@dataclass(frozen=True, slots=True)
class JointSpring:
    """A spring on a joint.

        τ = −stiffness (q − reference)

    On a spherical joint q − reference is the rotation vector from the reference to q;
    on a floating one also the displacement, as in MuJoCo.

    Args:
        joint: the joint.
        stiffness: [N m/rad or N/m].
        reference: where the spring is at rest [rad or m]: one number, or all
            coordinates of a joint that has several, quaternions x, y, z, w. Neutral by
            default.
        name: name of the element.
    """

    joint: str = joint()
    stiffness: float = parameter(ANGULAR_STIFFNESS)
    reference: float | tuple[float, ...] = parameter("rad or m", 0.0, signed=True)
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class JointDamper:
    """A viscous damper on a joint, on each of its degrees of freedom.

        τ = −damping q̇

    Args:
        joint: the joint.
        damping: [N m s/rad or N s/m].
        name: name of the element.
    """

    joint: str = joint()
    damping: float = parameter(ANGULAR_DAMPING)
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class JointFriction:
    """Coulomb friction in a joint, on each of its degrees of freedom.

        τ = −friction q̇ / √(q̇² + transition_velocity²)

    Friction is regularized: it is smooth, and a joint under load creeps.

    Args:
        joint: the joint.
        friction: [N m or N].
        transition_velocity: the velocity at which friction is 71 % of its full value
            [rad/s or m/s].
        name: name of the element.
    """

    joint: str = joint()
    friction: float = parameter("N m or N")
    transition_velocity: float = parameter("rad/s or m/s", TRANSITION)
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class JointLimit:
    """Limits of a joint with one coordinate, as one-sided springs.

        τ = −stiffness d max(0, 1 + dissipation ḋ)

    where q is beyond a limit by d. The limits of the file are the default.

    Args:
        joint: the joint.
        stiffness: [N m/rad or N/m].
        dissipation: Hunt and Crossley's coefficient [s/rad or s/m].
        lower: lower limit [rad or m]; −inf for none.
        upper: upper limit [rad or m]; inf for none.
        name: name of the element.
    """

    joint: str = joint()
    stiffness: float = parameter(ANGULAR_STIFFNESS)
    dissipation: float = parameter("s/rad or s/m", 0.0)
    lower: float | None = parameter("rad or m", None, signed=True)
    upper: float | None = parameter("rad or m", None, signed=True)
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class Tendon:
    """A fixed tendon: a length made of joints, with a spring, a damper and friction.

        l = Σ coefficient q,    τ = coefficient f
        f = −stiffness (l − rest_length) − damping l̇
            − friction l̇ / √(l̇² + transition_velocity²)

    Actuators may pull on it (``tendon=``), also where it has no spring.

    Args:
        joints: joints with one coordinate each.
        coefficients: one for each joint [m/rad or 1].
        stiffness: [N/m].
        damping: [N s/m].
        rest_length: length without spring force [m]; (shortest, longest) for a spring
            that is slack between two lengths.
        friction: [N].
        transition_velocity: velocity at which friction is 71 % of its full value [m/s].
        name: name of the element.
    """

    joints: tuple[str, ...] = joint()
    coefficients: tuple[float, ...] = parameter("m/rad or 1", signed=True)
    stiffness: float = parameter("N/m", 0.0)
    damping: float = parameter("N s/m", 0.0)
    rest_length: float | tuple[float, float] = parameter("m", 0.0, signed=True)
    friction: float = parameter("N", 0.0)
    transition_velocity: float = parameter("m/s", TRANSITION)
    name: str = label()
