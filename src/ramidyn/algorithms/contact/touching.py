"""Where shapes touch: gaps, normals and points, from a robot's configuration.

    gap   distance of two shapes along the normal, negative where they overlap
    n     normal in the world, from the ground or the second body to the first
    x     the point that touches, in coordinates of its body

The velocity of a contact is that of the first point less that of the second, along two
tangents and the normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.forces.applied import ForceScene, Leg, point_of
from ramidyn.algorithms.forces.contact_forces import slope
from ramidyn.description.contacts import ContactCandidate, SpherePair
from ramidyn.spatial.vector3 import ONE, ZERO, Vec, vec
from ramidyn.symbolic.expr import Expr, where
from ramidyn.tree.contact_checks import robot_candidates, robot_pairs
from ramidyn.tree.tree import ROOT

SMALLEST = 1e-30
"""square of a distance that counts as zero and is never divided by"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A point of a moving body in a contact."""

    body: int
    leg: Leg
    x: Vec


@final
@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """A contact that can close."""

    name: str
    gap: Expr
    axes: tuple[Vec, ...]
    """in the world: two tangents and the normal, or without friction the normal"""
    sides: tuple[Side, ...]
    """one point, or those of two bodies: the second has the opposite velocity"""
    friction: Expr
    restitution: Expr


def touches(scene: ForceScene) -> list[Touch]:
    """Return all contacts of a robot that can close, those with the ground first."""
    on_ground = [_on_ground(scene, c) for c in robot_candidates(scene.model)]
    return [*on_ground, *(_pair(scene, c) for c in robot_pairs(scene.model))]


def _on_ground(scene: ForceScene, candidate: ContactCandidate) -> Touch:
    of = candidate.contact
    frame = scene.model.frame(of.frame)
    leg = scene.leg(frame.body)
    x = point_of(frame, candidate.center)
    if of.height is None:
        n = vec(*of.normal)
        gap = n.dot(leg.p) + (leg.R.T @ n).dot(x) - scene.number(of, "offset")
    else:
        p = leg.point(x)
        z, n = slope(of, p[0], p[1])
        gap = (p[2] - z) * n[2]
    if candidate.has_radius:
        r = scene.number(of, "radius")
        gap, x = gap - r, x - (leg.R.T @ n) * r
    is_smooth = scene.is_zero(of, "friction")
    return Touch(
        candidate.name,
        gap,
        (n,) if is_smooth else (*tangents(n), n),
        (Side(frame.body, leg, x),),
        scene.number(of, "friction"),
        scene.number(of, "restitution"),
    )


def _pair(scene: ForceScene, of: SpherePair) -> Touch:
    frames = scene.model.frame(of.frame_a), scene.model.frame(of.frame_b)
    legs = [scene.leg(f.body) for f in frames]
    centers = [point_of(frames[0], of.center_a), point_of(frames[1], of.center_b)]
    radii = scene.number(of, "radius_a"), scene.number(of, "radius_b")
    places = [leg.point(x) for leg, x in zip(legs, centers, strict=True)]
    apart = places[0] - places[1]
    distance = (apart.dot(apart) + SMALLEST).sqrt()
    n = apart / distance
    points = [
        centers[0] - (legs[0].R.T @ n) * radii[0],
        centers[1] + (legs[1].R.T @ n) * radii[1],
    ]
    sides = [Side(f.body, g, x) for f, g, x in zip(frames, legs, points, strict=True)]
    if sides[0].body == ROOT:  # the world does not move: the other side comes first
        sides, n = sides[::-1], -n
    is_smooth = scene.is_zero(of, "friction")
    return Touch(
        of.name,
        distance - radii[0] - radii[1],
        (n,) if is_smooth else (*tangents(n), n),
        tuple(s for s in sides if s.body != ROOT),
        scene.number(of, "friction"),
        scene.number(of, "restitution"),
    )


def tangents(n: Vec) -> tuple[Vec, Vec]:
    """Return two unit vectors that make a right-handed basis with a unit normal.

    They turn with the normal without a jump, except where it passes the horizontal
    (Duff et al., "Building an orthonormal basis, revisited", 2017).
    """
    if n[2] is ONE:
        return vec(1.0, 0.0, 0.0), vec(0.0, 1.0, 0.0)
    s = where(n[2] < ZERO, -ONE, ONE)
    a = -(ONE / (s + n[2]))
    b = n[0] * n[1] * a
    first = Vec((ONE + s * n[0] * n[0] * a, s * b, -(s * n[0])))
    return first, Vec((b, s + n[1] * n[1] * a, -n[1]))
