"""Compliant contact with the ground, and tires.

The ground is a plane, n · x = offset with the unit normal n, or z = height(x, y): a
function of two symbols. A point is below it by d (measured along the normal; where the
ground is curved, to its tangent plane), and sinks in with ḋ.

    N = stiffness dⁿ max(0, 1 + dissipation ḋ)        Hunt and Crossley
    f = −friction N v / √(v² + transition_velocity²)   v: the sliding velocity
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from ramidyn.description.forces.bodies import ORIGIN, Point
from ramidyn.description.forces.fields import frame, label, parameter
from ramidyn.description.forces.joints import TRANSITION

Height: TypeAlias = Callable[[Any, Any], Any]
UP: Point = (0.0, 0.0, 1.0)


@final
@dataclass(frozen=True, slots=True)
class PointContact:
    """Contact of a point of a body with the ground.

    Args:
        frame: a body or a frame.
        stiffness: k of N = k dⁿ [N/m, for n = 1].
        dissipation: Hunt and Crossley's coefficient [s/m].
        friction: coefficient of friction.
        point: the point, in the coordinates of the frame [m].
        exponent: n, 1 or more.
        transition_velocity: sliding velocity at which friction is 71 % of its full
            value [m/s].
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the element.
    """

    frame: str = frame()
    stiffness: float = parameter("N/m^n")
    dissipation: float = parameter("s/m", 0.0)
    friction: float = parameter("-", 0.0)
    point: Point = ORIGIN
    exponent: float = 1.0
    transition_velocity: float = parameter("m/s", TRANSITION)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class SphereContact:
    """Contact of a sphere on a body with the ground.

    Args:
        frame: a body or a frame.
        radius: [m].
        stiffness: k of N = k dⁿ [N/m^1.5, for n = 1.5].
        dissipation: Hunt and Crossley's coefficient [s/m].
        friction: coefficient of friction.
        center: the center, in the coordinates of the frame [m].
        exponent: n, 1 or more; 1.5 is Hertz's for a sphere.
        transition_velocity: sliding velocity at which friction is 71 % of its full
            value [m/s].
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the element.
    """

    frame: str = frame()
    radius: float = parameter("m")
    stiffness: float = parameter("N/m^n")
    dissipation: float = parameter("s/m", 0.0)
    friction: float = parameter("-", 0.0)
    center: Point = ORIGIN
    exponent: float = 1.5
    transition_velocity: float = parameter("m/s", TRANSITION)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class Tire:
    """A tire: the disk of a wheel on the ground, with the brush model of slip.

        N = max(0, stiffness d + damping ḋ)
        s = −(longitudinal_stiffness vₓ, cornering_stiffness v_y) / √(V² + low_speed²)
        f = s (1 − ρ + ρ²/3),  ρ = |s| / (3 friction N);  friction N s/|s| if ρ > 1

    v is the velocity of the wheel's lowest point, along its heading and across; V that
    of its center along its heading. |f| is at most friction N. Without slip from
    camber, aligning moment and rolling resistance.

    Args:
        frame: the wheel, a body that spins.
        radius: [m].
        stiffness: of the vertical spring [N/m].
        damping: of the vertical damper [N s/m].
        longitudinal_stiffness: force per slip, at small slip [N].
        cornering_stiffness: force per slip angle, at small angles [N/rad].
        friction: coefficient of friction.
        axis: the axis of the wheel, in the coordinates of the frame.
        center: its center there [m].
        low_speed: speed below which slip is measured against it [m/s].
        normal: direction of the ground's normal, in the world.
        offset: n · x of points of the ground [m].
        height: z of the ground as a function of x and y, instead of a plane.
        name: name of the element.
    """

    frame: str = frame()
    radius: float = parameter("m")
    stiffness: float = parameter("N/m")
    damping: float = parameter("N s/m", 0.0)
    longitudinal_stiffness: float = parameter("N", 0.0)
    cornering_stiffness: float = parameter("N/rad", 0.0)
    friction: float = parameter("-", 1.0)
    axis: Point = (0.0, 1.0, 0.0)
    center: Point = ORIGIN
    low_speed: float = parameter("m/s", 0.5)
    normal: Point = UP
    offset: float = parameter("m", 0.0, signed=True)
    height: Height | None = None
    name: str = label()
