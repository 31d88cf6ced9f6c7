"""Springs and dampers between two bodies, bushings, gravity compensation.

Everything is in coordinates of the nearest common ancestor of the two bodies; what acts
on b acts on a in the opposite direction at the same line or point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.forces.applied import (
    Applied,
    ForceScene,
    Leg,
    axes_of,
    point_of,
    rotation_vector,
)
from ramidyn.description.forces.bodies import (
    ORIGIN,
    Bushing,
    GravityCompensation,
    PointSpring,
    TorsionSpring,
)
from ramidyn.spatial.vector3 import ONE, ZERO, ZERO3, Mat, Vec, against_screw, vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import Expr, extremum, where

COINCIDENT = 1e-20
"""[m²] added to the square of a length, so that it is never zero"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Two bodies as their common ancestor sees them."""

    a: int
    b: int
    leg_a: Leg
    leg_b: Leg

    @staticmethod
    def of(scene: ForceScene, frame_a: str, frame_b: str) -> _Ends:
        """Return the bodies of two frames."""
        a, b = (scene.model.frame(n).body for n in (frame_a, frame_b))
        meet = scene.tree.common_ancestor(a, b)
        return _Ends(a, b, scene.leg(a, meet), scene.leg(b, meet))

    def push(self, applied: Applied, f: Vec, n: Vec, x_a: Vec, x_b: Vec) -> None:
        """Add a force and a moment on b, and the opposite on a.

        The force acts at the point x of each body, given in its coordinates; f and n
        are in those of the ancestor.
        """
        for i, leg, x, sign in (
            (self.a, self.leg_a, x_a, -1.0),
            (self.b, self.leg_b, x_b, 1.0),
        ):
            E = leg.R.T
            own = E @ (f * sign)
            applied.push(i, Force(E @ (n * sign) + x.cross(own), own))


# ------------------------------------------------------------ point to point


def _line(scene: ForceScene, element: PointSpring) -> tuple[_Ends, Vec, Vec, Vec]:
    """Return the bodies of a spring, its ends there, and the way from a to b."""
    ends = _Ends.of(scene, element.frame_a, element.frame_b)
    x_a = point_of(scene.model.frame(element.frame_a), element.point_a)
    x_b = point_of(scene.model.frame(element.frame_b), element.point_b)
    d = ends.leg_b.point(x_b) - ends.leg_a.point(x_a)
    return ends, x_a, x_b, d


def point_spring(scene: ForceScene, element: PointSpring, applied: Applied) -> None:
    """Add −(k (l − l₀) + c l̇) along the line, on b and against it on a."""
    ends, x_a, x_b, d = _line(scene, element)
    k, c = (scene.number(element, n) for n in ("stiffness", "damping"))
    rest = scene.number(element, "rest_length")
    square = d.dot(d) + COINCIDENT
    per_length = k  # the tension over the length: k (1 − l₀ / l) + c l̇ / l
    if not rest.is_zero:
        per_length = k - k * rest / square.sqrt()
    if not c.is_zero:
        v_b = ends.leg_b.R @ ends.leg_b.speed(x_b)
        v_a = ends.leg_a.R @ ends.leg_a.speed(x_a)
        per_length = per_length + c * (d.dot(v_b - v_a) / square)
    if element.one_sided is not None:
        is_cable = element.one_sided == "tension"
        kept = extremum("max" if is_cable else "min", per_length, ZERO)
        is_long = square > rest * rest
        per_length = where(is_long, *((kept, ZERO) if is_cable else (ZERO, kept)))
    ends.push(applied, d * -per_length, ZERO3, x_a, x_b)


def point_spring_energy(scene: ForceScene, element: PointSpring) -> Expr:
    """Return ½ k (l − l₀)²."""
    *_, d = _line(scene, element)
    x = (d.dot(d) + COINCIDENT).sqrt() - scene.number(element, "rest_length")
    if element.one_sided is not None:
        x = extremum("max" if element.one_sided == "tension" else "min", x, ZERO)
    return scene.number(element, "stiffness") * x * x * 0.5


# ------------------------------------------------------------ frame to frame


def torsion_spring(scene: ForceScene, element: TorsionSpring, applied: Applied) -> None:
    """Add −k φ − c ω on b, and the opposite on a."""
    ends, axes, phi = _relative_rotation(scene, element)
    n = axes @ (phi * -scene.number(element, "stiffness"))
    c = scene.number(element, "damping")
    if not c.is_zero:
        n = n - _angular_velocity(ends) * c
    ends.push(applied, ZERO3, n, ZERO3, ZERO3)


def torsion_spring_energy(scene: ForceScene, element: TorsionSpring) -> Expr:
    """Return ½ k φ²."""
    _, _, phi = _relative_rotation(scene, element)
    return scene.number(element, "stiffness") * phi.dot(phi) * 0.5


def _relative_rotation(
    scene: ForceScene, element: TorsionSpring | Bushing
) -> tuple[_Ends, Mat, Vec]:
    """Return two bodies, the axes of frame a, and the rotation of b in them."""
    ends = _Ends.of(scene, element.frame_a, element.frame_b)
    axes = ends.leg_a.R @ axes_of(scene.model.frame(element.frame_a))
    R = axes.T @ (ends.leg_b.R @ axes_of(scene.model.frame(element.frame_b)))
    return ends, axes, rotation_vector(R)


def _angular_velocity(ends: _Ends) -> Vec:
    """Return the angular velocity of b relative to a."""
    return ends.leg_b.R @ ends.leg_b.v.w - ends.leg_a.R @ ends.leg_a.v.w


def bushing(scene: ForceScene, element: Bushing, applied: Applied) -> None:
    """Add the forces along and about the axes of frame a."""
    ends, axes, phi = _relative_rotation(scene, element)
    x_b = point_of(scene.model.frame(element.frame_b), ORIGIN)
    x_a = ends.leg_a.R.T @ (ends.leg_b.point(x_b) - ends.leg_a.p)
    x = _offset(scene, element, ends)
    f = -_scaled_vector(scene.vector(element, "stiffness"), x)
    if not scene.is_zero(element, "damping"):
        v = ends.leg_b.R @ ends.leg_b.speed(x_b) - ends.leg_a.R @ ends.leg_a.speed(x_a)
        f = f - _scaled_vector(scene.vector(element, "damping"), axes.T @ v)
    n = ZERO3
    if not scene.is_zero(element, "torsional_stiffness"):
        K = scene.vector(element, "torsional_stiffness")
        n = n - against_screw(-phi, _scaled_vector(K, phi))
    if not scene.is_zero(element, "torsional_damping"):
        C = scene.vector(element, "torsional_damping")
        n = n - _scaled_vector(C, axes.T @ _angular_velocity(ends))
    ends.push(applied, axes @ f, axes @ n, x_a, x_b)


def bushing_energy(scene: ForceScene, element: Bushing) -> Expr:
    """Return ½ xᵀ K x + ½ φᵀ Kᵣ φ."""
    ends, _, phi = _relative_rotation(scene, element)
    x = _offset(scene, element, ends)
    K = scene.vector(element, "stiffness")
    Kr = scene.vector(element, "torsional_stiffness")
    return (x.dot(_scaled_vector(K, x)) + phi.dot(_scaled_vector(Kr, phi))) * 0.5


def _offset(scene: ForceScene, element: Bushing, ends: _Ends) -> Vec:
    """Return the origin of frame b in frame a."""
    frame_a = scene.model.frame(element.frame_a)
    x_a = point_of(frame_a, ORIGIN)
    x_b = point_of(scene.model.frame(element.frame_b), ORIGIN)
    d = ends.leg_b.point(x_b) - ends.leg_a.point(x_a)
    return axes_of(frame_a).T @ (ends.leg_a.R.T @ d)


def _scaled_vector(a: Vec, b: Vec) -> Vec:
    return Vec((a[0] * b[0], a[1] * b[1], a[2] * b[2]))


# ------------------------------------------------------------ single bodies


def gravity_compensation(
    scene: ForceScene, element: GravityCompensation, applied: Applied
) -> None:
    """Add −fraction m g at the center of mass, unless actuators apply it."""
    if not element.by_actuators:
        carry_weight(scene, element, applied)


def carry_weight(
    scene: ForceScene, element: GravityCompensation, applied: Applied
) -> None:
    """Add −fraction m g at the center of mass."""
    m, h = _moments(scene, element)
    i = scene.model.frame(element.body).body
    g = scene.leg(i).R.T @ scene.gravity
    lift = g * -scene.number(element, "fraction")
    force = Force(h.cross(lift), lift * m)
    if not element.joints:
        applied.push(i, force)
        return
    alone = Applied()
    alone.push(i, force)
    tau = alone.along_joints(scene.tree, scene.q)
    for name in element.joints:
        for k in scene.joint_bodies(name):
            applied.turn(k, tau[k])


def gravity_compensation_energy(
    scene: ForceScene, element: GravityCompensation
) -> Expr:
    """Return fraction m g · x, x the center of mass.

    Actuators, and forces along some joints only, store no energy.
    """
    if element.by_actuators or element.joints:
        return ZERO
    m, h = _moments(scene, element)
    leg = scene.leg(scene.model.frame(element.body).body)
    moment = leg.p * m + leg.R @ h
    return scene.number(element, "fraction") * scene.gravity.dot(moment)


def _moments(scene: ForceScene, element: GravityCompensation) -> tuple[Expr, Vec]:
    """Return m and m c of a body, in the coordinates of its tree body."""
    frame = scene.model.frame(element.body)
    given = scene.inputs.get(f"inertia:{element.body}")
    if given is not None:
        m, h = given[0], vec(*given[1:4])
    else:
        assert scene.model.description is not None
        (body,) = (b for b in scene.model.description.bodies if b.name == element.body)
        if body.inertial is None:
            return ZERO, ZERO3
        m = ONE * body.inertial.mass
        h = vec(*(body.inertial.mass * x for x in body.inertial.com.tolist()))
    return m, axes_of(frame) @ h + vec(*frame.placement.origin) * m
