"""Triangles of the shapes that are drawn: primitives, and meshes from their files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np

from ramidyn.description.constants import eigen, norm
from ramidyn.description.description import Color, Inertial, Shape
from ramidyn.description.mesh_files import TriangleMesh
from ramidyn.description.pose import Array, Pose
from ramidyn.description.shape_meshes import mesh_triangles

_AROUND: Final = 24
"""corners of a circle"""
_HALVINGS: Final = 8
_ENDLESS: Final = 4.0
"""how much of an endless plane is drawn [m]"""


def triangles_of(shape: Shape, directories: Sequence[Path] = ()) -> TriangleMesh:
    """Return the triangles of a shape in its body's frame.

    Raises:
        ModelError: its mesh is not found or cannot be read.
    """
    mesh = _own_triangles(shape, directories)
    return moved_mesh(mesh, shape.placement)


def _own_triangles(shape: Shape, directories: Sequence[Path]) -> TriangleMesh:
    match shape.kind, shape.size:
        case "box", (x, y, z):
            return box(x, y, z)
        case "sphere", (r,):
            return scaled(ball(), (r, r, r))
        case "ellipsoid", (x, y, z):
            return scaled(ball(), (x, y, z))
        case "cylinder", (r, length):
            return lathe(
                [(0, -length / 2), (r, -length / 2), (r, length / 2), (0, length / 2)]
            )
        case "capsule", (r, length):
            return capsule(r, length)
        case "plane", (x, y):
            return box(x or _ENDLESS, y or _ENDLESS, 0.0)
        case _:
            assert shape.mesh is not None
            found = mesh_triangles(shape.mesh, directories)
            own = moved_mesh(found, shape.mesh.reference.inverse())
            return scaled(own, shape.mesh.scale)


def moved_mesh(mesh: TriangleMesh, T: Pose) -> TriangleMesh:
    """Return a mesh in the frame that its own has the pose ``T`` in."""
    return TriangleMesh(mesh.vertices @ np.transpose(T.R) + T.p, mesh.faces)


def scaled(mesh: TriangleMesh, scale: Sequence[float]) -> TriangleMesh:
    """Return a mesh scaled along its axes; mirrored, its outside stays outside."""
    faces = mesh.faces
    if scale[0] * scale[1] * scale[2] < 0:
        faces = faces[:, [0, 2, 1]]
    return TriangleMesh(mesh.vertices * np.array(scale), faces)


def thinned(mesh: TriangleMesh, cell: float) -> TriangleMesh:
    """Return a coarser mesh: vertices in one cell of a grid become one."""
    keys = np.floor(mesh.vertices / cell).astype(np.int64)
    _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    faces = np.reshape(places, -1)[mesh.faces]
    a, b, c = (faces[:, k] for k in range(3))
    return TriangleMesh(mesh.vertices[first], faces[(a != b) & (b != c) & (c != a)])


def split_long(mesh: TriangleMesh, longest: float) -> TriangleMesh:
    """Return a mesh whose edges are at most ``longest``: longer ones are halved."""
    corners = mesh.vertices[mesh.faces]
    for _ in range(_HALVINGS):
        edges = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        is_long = edges.max(axis=1) > longest
        if not is_long.any():
            break
        # a is where the longest edge begins, b where it ends, c the opposite corner.
        turn = (edges[is_long].argmax(axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(
            np.take_along_axis(corners[is_long], turn[:, :, None], axis=1), 1, 0
        )
        halves = [np.stack([a, (a + b) / 2, c], 1), np.stack([(a + b) / 2, b, c], 1)]
        corners = np.concatenate([corners[~is_long], *halves])
    faces = np.reshape(np.arange(3 * len(corners)), (-1, 3))
    return TriangleMesh(np.reshape(corners, (-1, 3)), faces)


# ------------------------------------------------------------ primitives


def box(x: float, y: float, z: float) -> TriangleMesh:
    """Return a box with those edges around the origin."""
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    sides = (
        (0, 1, 3, 2),
        (4, 6, 7, 5),
        (0, 4, 5, 1),
        (2, 3, 7, 6),
        (0, 2, 6, 4),
        (1, 5, 7, 3),
    )
    faces = [f for a, b, c, d in sides for f in ((a, b, c), (a, c, d))]
    return TriangleMesh(signs * np.array([x, y, z]) / 2, np.array(faces))


def lathe(
    profile: Sequence[tuple[float, float]], around: int = _AROUND
) -> TriangleMesh:
    """Return a profile (radius, height), from below to above, turned about z."""
    angles = 2 * np.pi * np.arange(around) / around
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(around)], axis=1)
    rings = [r * circle + np.array([0.0, 0.0, h]) for r, h in profile]
    faces: list[tuple[int, int, int]] = []
    for k in range(len(profile) - 1):
        for i in range(around):
            a, b = k * around + i, k * around + (i + 1) % around
            faces += [(a, b, b + around), (a, b + around, a + around)]
    return TriangleMesh(np.concatenate(rings), np.array(faces))


def ball(around: int = _AROUND) -> TriangleMesh:
    """Return the unit sphere."""
    half = around // 2
    angles = np.pi * (np.arange(half + 1) / half - 0.5)
    return lathe([(float(np.cos(a)), float(np.sin(a))) for a in angles], around)


def capsule(radius: float, length: float) -> TriangleMesh:
    """Return a cylinder along z with half a sphere on each end."""
    quarter = _AROUND // 4
    angles = 0.5 * np.pi * np.arange(quarter + 1) / quarter
    cap = [(radius * float(np.cos(a)), radius * float(np.sin(a))) for a in angles]
    above = [(r, length / 2 + h) for r, h in cap]
    below = [(r, -length / 2 - h) for r, h in reversed(cap)]
    return lathe([*below, *above])


def ring(radius: float, tube: float) -> TriangleMesh:
    """Return a ring around the z axis, its tube of that radius."""
    angles = 2 * np.pi * np.arange(9) / 8
    circle = zip(np.cos(angles).tolist(), np.sin(angles).tolist(), strict=True)
    return lathe([(radius + tube * c, tube * s) for c, s in circle])


def along(axis: Array, at: Array) -> Pose:
    """Return a pose at a point with its z axis along another."""
    length = norm([float(x) for x in axis])
    z = np.array(axis) / length if length else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.abs(z).argmin())])
    x /= np.linalg.norm(x)
    return Pose(np.stack([x, np.cross(z, x), z], axis=1), np.array(at))


def bar(start: Array, end: Array, radius: float, around: int = _AROUND) -> TriangleMesh:
    """Return a cylinder between two points."""
    length = norm([float(b - a) for a, b in zip(start, end, strict=True)])
    profile = [(0.0, 0.0), (radius, 0.0), (radius, length), (0.0, length)]
    return moved_mesh(lathe(profile, around), along(end - start, start))


def inertia_ellipsoid(own: Inertial, largest: float = math.inf) -> TriangleMesh:
    """Return the ellipsoid of uniform density with this mass and inertia.

    If one of its radii is above ``largest``, it is scaled down.
    """
    moments, axes = eigen(own.inertia)
    a, b, c = moments
    squares = [2.5 * s / own.mass for s in (b + c - a, a + c - b, a + b - c)]
    radii = [math.sqrt(max(s, 0.0)) for s in squares]
    scale = min(1.0, largest / max(*radii, 1e-300))
    radii = [scale * r for r in radii]
    if np.linalg.det(axes) < 0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    return moved_mesh(scaled(ball(), radii), Pose(axes, own.com))


def joined(parts: Sequence[TriangleMesh]) -> TriangleMesh:
    """Return several meshes as one."""
    starts = np.cumsum([0, *(len(p.vertices) for p in parts[:-1])])
    faces = [p.faces + start for p, start in zip(parts, starts, strict=True)]
    return TriangleMesh(
        np.concatenate([p.vertices for p in parts]), np.concatenate(faces)
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Triangles of one color, in the frame of a body."""

    body: str
    """a body of the robot, or "world" """
    layer: str
    mesh: TriangleMesh
    color: Color
    name: str = ""
    is_ground: bool = False
    """a plane, usually larger than the robot"""
