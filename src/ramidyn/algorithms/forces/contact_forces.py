"""Compliant contact with the ground, and tires.

    d, ḋ  depth of the lowest point, and its rate      n  normal of the ground
    N     normal force                                 v  velocity of that point

All vectors are in the coordinates of the body: only what the ground asks for of the
body's pose in the world is computed (of a level plane, its height and the vertical).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, final

import numpy as np

from ramidyn.algorithms.forces.applied import (
    Applied,
    ForceScene,
    Leg,
    axes_of,
    point_of,
)
from ramidyn.description.contacts import GroundContact
from ramidyn.description.forces.bodies import Point
from ramidyn.description.forces.contacts import (
    Height,
    PointContact,
    SphereContact,
    Tire,
)
from ramidyn.errors import ShapeError, TraceError
from ramidyn.spatial.vector3 import ONE, ZERO, Vec, vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.derivatives import forward
from ramidyn.symbolic.expr import Expr, const, extremum, lift, power, where
from ramidyn.symbolic.inline import inline
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tree.element_checks import element_word

Grounded: TypeAlias = PointContact | SphereContact | Tire | GroundContact


def check_height(element: Grounded) -> None:
    """Trace the height function of an element: an error says what is wrong with it."""
    slope(element, const(0.0), const(0.0))


def slope(element: Grounded, x: Expr, y: Expr) -> tuple[Expr, Vec]:
    """Return the height of the ground below a point, and its unit normal there."""
    assert element.height is not None
    what = f"{element_word(element)} {element.name!r}"
    found = inline(_program(element.height, what), {"x": x, "y": y})
    z, zx, zy = found["z"], found["zx"], found["zy"]
    k = ONE / (zx * zx + zy * zy + 1.0).sqrt()
    return z, Vec((-(zx * k), -(zy * k), k))


@lru_cache(maxsize=64)
def _program(height: Height, what: str) -> Program:
    """Return the program of the height and its slopes along x and y."""

    def sloped(x: Expr, y: Expr) -> dict[str, Any]:
        try:
            z = height(x, y)
        except TraceError:
            raise
        except Exception as error:
            raise TraceError(
                f"{what}: height(x, y) cannot be traced: "
                f"{type(error).__name__}: {error}"
            ) from error
        shape = np.asarray(z, dtype=object).shape
        if shape != ():
            raise ShapeError(
                f"{what}: height(x, y) has shape {shape}; expected one number"
            )
        if z is None:
            raise TraceError(
                f"{what}: height(x, y) is None; did the function return it?"
            )
        (row,) = forward([lift(z)], {x: {0: ONE}, y: {1: ONE}})
        return {"z": z, "zx": row.get(0, ZERO), "zy": row.get(1, ZERO)}

    return trace(sloped, {"x": (), "y": ()}, "height")


SMALLEST = 1e-30
"""a depth, or a square, that counts as zero and is never divided by"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Above:
    """A point of a body above the ground."""

    leg: Leg
    x: Vec
    normal: Vec
    """in coordinates of the body"""
    height: Expr
    """above the ground, along the normal"""


def _above(scene: ForceScene, element: PointContact | SphereContact | Tire) -> _Above:
    frame = scene.model.frame(element.frame)
    leg = scene.leg(frame.body)
    x = point_of(frame, _center(element))
    if element.height is None:
        n = vec(*element.normal)
        normal = leg.R.T @ n
        height = n.dot(leg.p) + normal.dot(x) - scene.number(element, "offset")
        return _Above(leg, x, normal, height)
    p = leg.point(x)
    z, n = slope(element, p[0], p[1])
    return _Above(leg, x, leg.R.T @ n, (p[2] - z) * n[2])


def _center(element: PointContact | SphereContact | Tire) -> Point:
    return element.point if isinstance(element, PointContact) else element.center


# ------------------------------------------------------------ points and spheres


def contact(
    scene: ForceScene, element: PointContact | SphereContact, applied: Applied
) -> None:
    """Add Hunt and Crossley's normal force, and friction."""
    at = _above(scene, element)
    d, x = _depth(scene, element, at)
    v = at.leg.speed(x)
    approach = -at.normal.dot(v)
    N = scene.number(element, "stiffness") * _to_power(d, element.exponent)
    c = scene.number(element, "dissipation")
    if not c.is_zero:
        N = N * extremum("max", ZERO, ONE + c * approach)
    f = at.normal * N
    if not scene.is_zero(element, "friction"):
        slow = scene.number(element, "transition_velocity")
        sliding = v + at.normal * approach
        speed = (sliding.dot(sliding) + slow * slow).sqrt()
        f = f - sliding * (scene.number(element, "friction") * N / speed)
    applied.push(scene.model.frame(element.frame).body, Force(x.cross(f), f))


def contact_energy(scene: ForceScene, element: PointContact | SphereContact) -> Expr:
    """Return k dⁿ⁺¹ / (n + 1)."""
    d, _ = _depth(scene, element, _above(scene, element))
    n = element.exponent + 1.0
    return scene.number(element, "stiffness") * _to_power(d, n) * (1.0 / n)


def _depth(
    scene: ForceScene, element: PointContact | SphereContact, at: _Above
) -> tuple[Expr, Vec]:
    """Return the depth of the lowest point, and the point."""
    if isinstance(element, PointContact):
        return -at.height, at.x
    r = scene.number(element, "radius")
    return r - at.height, at.x - at.normal * r


def _to_power(d: Expr, n: float) -> Expr:
    """Return max(0, d)ⁿ, with a derivative that is finite at zero."""
    if n == 1.0:
        return extremum("max", d, ZERO)
    d = extremum("max", d, const(SMALLEST))
    whole = int(n)
    if n - whole == 0.5:
        return power(d, const(float(whole))) * d.sqrt()
    return power(d, const(n))


def contact_point(
    scene: ForceScene, element: PointContact | SphereContact | Tire
) -> Vec:
    """Return the point that touches the ground first, in coordinates of the body."""
    at = _above(scene, element)
    if isinstance(element, Tire):
        axis, flat, _ = _disk(scene, element, at)
        return _lowest(scene, element, at, axis, flat)
    return _depth(scene, element, at)[1]


# ------------------------------------------------------------ tires


def tire(scene: ForceScene, element: Tire, applied: Applied) -> None:
    """Add the vertical force, and those of slip by the brush model."""
    at = _above(scene, element)
    k, c, mu = (scene.number(element, n) for n in ("stiffness", "damping", "friction"))
    axis, flat, d = _disk(scene, element, at)
    along = axis.cross(at.normal) / flat
    across = at.normal.cross(along)
    x = _lowest(scene, element, at, axis, flat)
    v = at.leg.speed(x)
    N = k * d - c * at.normal.dot(v)
    N = where(d > 0.0, extremum("max", N, ZERO), ZERO)
    V = along.dot(at.leg.speed(at.x))
    slow = scene.number(element, "low_speed")
    per_speed = ONE / (V * V + slow * slow).sqrt()
    stiff = scene.number(element, "longitudinal_stiffness")
    corner = scene.number(element, "cornering_stiffness")
    sx = -(stiff * along.dot(v)) * per_speed
    sy = -(corner * across.dot(v)) * per_speed
    full = mu * N * 3.0 + SMALLEST
    rho = (sx * sx + sy * sy + SMALLEST).sqrt() / full
    brush = ONE - rho + rho * rho * (1.0 / 3.0)
    share = where(rho < 1.0, brush, (1.0 / 3.0) / extremum("max", rho, ONE))
    f = at.normal * N + along * (sx * share) + across * (sy * share)
    applied.push(scene.model.frame(element.frame).body, Force(x.cross(f), f))


def tire_energy(scene: ForceScene, element: Tire) -> Expr:
    """Return ½ k d² of the vertical spring."""
    _, _, d = _disk(scene, element, _above(scene, element))
    d = extremum("max", d, ZERO)
    return scene.number(element, "stiffness") * d * d * 0.5


def _lowest(scene: ForceScene, element: Tire, at: _Above, axis: Vec, flat: Expr) -> Vec:
    """Return the lowest point of a wheel."""
    down = (axis * axis.dot(at.normal) - at.normal) / flat
    return at.x + down * scene.number(element, "radius")


def _disk(scene: ForceScene, element: Tire, at: _Above) -> tuple[Vec, Expr, Expr]:
    """Return the axis of a wheel, the sine of its angle to the normal, and its depth.

    The sine is 1 where the wheel stands upright.
    """
    frame = scene.model.frame(element.frame)
    axis = axes_of(frame) @ vec(*element.axis)
    s = axis.dot(at.normal)
    flat = (extremum("max", ONE - s * s, const(SMALLEST))).sqrt()
    return axis, flat, scene.number(element, "radius") * flat - at.height
