"""A robot without shapes: bars between joints, plates where many of them meet.

The points of a body are its joint, the joints of its children and its ends of loops.
Up to three are connected by bars, more are the corners of a plate: a chassis, a torso,
a palm. The last body of a limb is a bar through its center of mass, or its inertia
ellipsoid if the center of mass is at the joint (a wheel) or the body is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ramidyn.description.description import BodyDescription, Description
from ramidyn.description.forces.contacts import Tire
from ramidyn.description.mesh_files import TriangleMesh
from ramidyn.description.mesh_geometry import convex_hull
from ramidyn.description.pose import Array, Pose
from ramidyn.view.triangles import (
    ball,
    bar,
    inertia_ellipsoid,
    joined,
    moved_mesh,
    scaled,
)

_BARS: Final = 3
"""points of a body up to which bars connect them"""
_AROUND: Final = 12
"""corners of a circle: there are many bars"""
_LARGEST: Final = 8.0
"""radius of an ellipsoid, in radii of a bar: inertias in files can be made up"""
_TIRE: Final = 0.6
"""width of a tire, as a share of its radius"""


def body_points(description: Description) -> dict[str, list[Array]]:
    """Return the points of every body in its frame, its own joint first."""
    points = {body.name: [_anchor(body)] for body in description.bodies}
    for body in description.bodies:
        if body.parent is not None:
            points[body.parent].append(body.placement.apply(_anchor(body)))
    for loop in description.loops:
        for body, placement in (
            (loop.body_a, loop.placement_a),
            (loop.body_b, loop.placement_b),
        ):
            if body is not None and loop.type != "coupling":
                points[body].append(placement.p)
    return points


def stick_body(
    body: BodyDescription, points: Sequence[Array], radius: float
) -> list[TriangleMesh]:
    """Return bars, a plate or an ellipsoid for a body with these points."""
    start, *ends = _distinct(points, radius / 2)
    own = body.inertial
    if not ends and own is not None and own.mass > 0:
        if not body.joints or float(np.linalg.norm(own.com - start)) < radius:
            return [inertia_ellipsoid(own, _LARGEST * radius)]
        ends = [start + 2 * (own.com - start)]
    if len(ends) < _BARS:
        return [_rod(start, end, radius) for end in ends]
    corners = np.concatenate([_octahedron(p, radius) for p in (start, *ends)])
    return [TriangleMesh(corners, convex_hull(corners, body.name))]


def tires(description: Description) -> list[tuple[str, TriangleMesh]]:
    """Return the disks of tires, each with its body."""
    at = {frame.name: (frame.body, frame.placement) for frame in description.frames}
    found: list[tuple[str, TriangleMesh]] = []
    for force in description.forces:
        if isinstance(force, Tire):
            body, placement = at.get(force.frame, (force.frame, Pose.identity()))
            axis = np.array(force.axis) / float(np.linalg.norm(force.axis))
            half = 0.5 * _TIRE * force.radius * axis
            center = np.array(force.center)
            mesh = bar(center - half, center + half, force.radius)
            found.append((body or "world", moved_mesh(mesh, placement)))
    return found


def _anchor(body: BodyDescription) -> Array:
    """Return where a body's first joint is, in the body's frame."""
    return body.joints[0].position if body.joints else np.zeros(3)


def _distinct(points: Sequence[Array], apart: float) -> list[Array]:
    kept: list[Array] = []
    for p in points:
        if all(float(np.linalg.norm(p - other)) > apart for other in kept):
            kept.append(p)
    return kept


def _rod(start: Array, end: Array, radius: float) -> TriangleMesh:
    """Return a bar with a ball at each end."""
    parts = [bar(start, end, radius, _AROUND)]
    for p in (start, end):
        sphere = scaled(ball(_AROUND), (1.25 * radius,) * 3)
        parts.append(moved_mesh(sphere, Pose(np.eye(3), p)))
    return joined(parts)


def _octahedron(center: Array, radius: float) -> Array:
    return center + radius * np.concatenate([np.eye(3), -np.eye(3)])
