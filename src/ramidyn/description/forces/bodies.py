"""Forces between two bodies, or a body and the world, and on single bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.description.forces.fields import frame, joint, label, parameter

Point = tuple[float, float, float]
ORIGIN: Point = (0.0, 0.0, 0.0)
SIDES = ("tension", "compression")


@final
@dataclass(frozen=True, slots=True)
class PointSpring:
    """A spring and damper between two points, in line with them.

        f = −(stiffness (l − rest_length) + damping l̇) along the line from a to b

    It acts on b, and −f on a. Where the points coincide there is no line, and no force.

    Args:
        frame_a: a body, a frame, or "world".
        frame_b: another one.
        stiffness: [N/m].
        damping: [N s/m].
        rest_length: [m].
        point_a: the point, in the coordinates of frame a [m].
        point_b: the point, in the coordinates of frame b [m].
        one_sided: "tension" (a cable: it never pushes, and is slack below its rest
            length), "compression" (a stop: it never pulls, and is free beyond it), or
            None.
        name: name of the element.
    """

    frame_a: str = frame()
    frame_b: str = frame()
    stiffness: float = parameter("N/m", 0.0)
    damping: float = parameter("N s/m", 0.0)
    rest_length: float = parameter("m", 0.0)
    point_a: Point = ORIGIN
    point_b: Point = ORIGIN
    one_sided: str | None = None
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class TorsionSpring:
    """A rotational spring and damper between two frames, about any axis.

        n = −stiffness φ − damping ω

    φ is the rotation vector from frame a to frame b, ω the angular velocity of b in a.
    The moment acts on b, and −n on a. φ is less than π: there the spring snaps over.

    Args:
        frame_a: a body, a frame, or "world".
        frame_b: another one.
        stiffness: [N m/rad].
        damping: [N m s/rad].
        name: name of the element.
    """

    frame_a: str = frame()
    frame_b: str = frame()
    stiffness: float = parameter("N m/rad")
    damping: float = parameter("N m s/rad", 0.0)
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class Bushing:
    """A bushing: springs and dampers along and about the axes of frame a.

        f = −K x − C ẋ        n = −A(φ) (Kᵣ φ) − Cᵣ ω

    x is the origin of b in frame a, φ the rotation vector from a to b. A(φ), nearly
    the identity where φ is small, makes −Kᵣ φ the gradient of ½ φᵀ Kᵣ φ. Force and
    moment act on b at its origin; the opposite acts on a there.

    Args:
        frame_a: a body, a frame, or "world"; its axes count.
        frame_b: another one.
        stiffness: along x, y, z of frame a [N/m].
        damping: along x, y, z [N s/m].
        torsional_stiffness: about x, y, z [N m/rad].
        torsional_damping: about x, y, z [N m s/rad].
        name: name of the element.
    """

    frame_a: str = frame()
    frame_b: str = frame()
    stiffness: tuple[float, float, float] = parameter("N/m", (0.0, 0.0, 0.0))
    damping: tuple[float, float, float] = parameter("N s/m", (0.0, 0.0, 0.0))
    torsional_stiffness: tuple[float, float, float] = parameter(
        "N m/rad", (0.0, 0.0, 0.0)
    )
    torsional_damping: tuple[float, float, float] = parameter(
        "N m s/rad", (0.0, 0.0, 0.0)
    )
    name: str = label()


@final
@dataclass(frozen=True, slots=True)
class GravityCompensation:
    """A force at the center of mass of a body, against its weight.

        f = −fraction m g

    Args:
        body: the body.
        fraction: 1 carries the whole weight of the body (not of those it carries).
        joints: joints along which it acts; () is all joints between the body and the
            world. Along some of them only, no energy is counted for it.
        by_actuators: whether actuators apply it: then `ActuatorForceRange` limits it
            together with their forces (MJCF's actuatorgravcomp), and no energy is
            counted for it.
        name: name of the element.
    """

    body: str = frame()
    fraction: float = parameter("-", 1.0, signed=True)
    joints: tuple[str, ...] = joint(())
    by_actuators: bool = False
    name: str = label()
