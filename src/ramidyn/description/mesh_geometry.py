"""Convex hull, volume, center and inertia of a triangle mesh, by MuJoCo's rules.

The hull is found by quickhull (Barber, Dobkin, Huhdanpaa 1996). Every face keeps the
points above it. The farthest of them becomes a corner: the faces that it sees go, and a
fan of new ones from it to the rim of the hole takes their place.

A solid is the sum of pyramids from an apex to the faces; their volumes have signs, so
that what lies outside cancels. MuJoCo first places the apex at the centroid of the
surface to find the center, then at the center to find volume and inertia. What
``inertia=`` of the mesh says:

    exact   signed pyramids: right for closed meshes
    legacy  every pyramid counts as positive: too heavy where the mesh is concave
    convex  the convex hull
    shell   mass spread over the surface, extent is the area
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ramidyn.description.constants import Symmetric, Three
from ramidyn.description.mesh_files import Faces, TriangleMesh
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError

_THICKNESS: Final = 1e-10
"""of a plane, as a share of the extent: points within it count as on the plane"""

Indices = npt.NDArray[np.int64]


@dataclass(slots=True, eq=False)
class _Face:
    corners: tuple[int, int, int]
    normal: Array
    offset: float
    above: Indices
    """points above it, the farthest of which is next"""


def convex_hull(points: Array, label: str) -> Faces:
    """Return the faces of the convex hull, (m, 3), counterclockwise from outside.

    Raises:
        ModelError: all points lie in one plane.
    """
    return _Hull(points, label).faces()


class _Hull:
    def __init__(self, points: Array, label: str) -> None:
        self.points = points
        extent = float(np.ptp(points, axis=0).max())
        self.thickness = _THICKNESS * extent
        self.at_edge: dict[tuple[int, int], _Face] = {}
        a, b, c, d = self._tetrahedron(label)
        rest = np.arange(len(points))
        first: list[_Face] = []
        for corners in ((a, b, c), (a, c, d), (a, d, b), (b, d, c)):
            first.append(self._add(corners))
        self.waiting = first
        self._share(rest, first)

    def faces(self) -> Faces:
        """Return the faces when no point is above any."""
        while self.waiting:
            face = self.waiting.pop()
            if len(face.above) and self.at_edge.get(face.corners[:2]) is face:
                self._extend(face)
        found = {id(f): f.corners for f in self.at_edge.values()}
        return np.array(list(found.values()), dtype=np.int64)

    def _tetrahedron(self, label: str) -> tuple[int, int, int, int]:
        """Return four points far apart, the last behind the face of the others."""
        x = self.points
        k = int(np.ptp(x, axis=0).argmax())
        a, b = int(x[:, k].argmin()), int(x[:, k].argmax())
        along = x[b] - x[a]
        away = np.cross(x - x[a], along)
        c = int(_squares(away).argmax())
        normal = np.cross(along, x[c] - x[a])
        length = float(np.sqrt(_squares(normal)))
        height = _products(x - x[a], normal) / (length or 1.0)
        d = int(np.abs(height).argmax())
        if abs(height[d]) <= self.thickness:
            raise ModelError(f"{label}: all vertices are in one plane")
        return (a, c, b, d) if height[d] > 0 else (a, b, c, d)

    def _add(self, corners: tuple[int, int, int]) -> _Face:
        a, b, c = corners
        x = self.points
        normal = np.cross(x[b] - x[a], x[c] - x[a])
        normal = normal / float(np.sqrt(_squares(normal)) or 1.0)
        offset = float(_products(normal, x[a]))
        face = _Face(corners, normal, offset, np.empty(0, dtype=np.int64))
        self.at_edge[a, b] = self.at_edge[b, c] = self.at_edge[c, a] = face
        return face

    def _heights(self, face: _Face, at: Indices) -> Array:
        return _products(self.points[at], face.normal) - face.offset

    def _share(self, at: Indices, faces: list[_Face]) -> None:
        """Give every point to one face that it is above."""
        for face in faces:
            is_above = self._heights(face, at) > self.thickness
            face.above, at = at[is_above], at[~is_above]

    def _extend(self, face: _Face) -> None:
        p = int(face.above[self._heights(face, face.above).argmax()])
        at = np.array([p])
        seen, rim, todo = {id(face): face}, list[tuple[int, int]](), [face]
        while todo:
            a, b, c = todo.pop().corners
            for i, j in ((a, b), (b, c), (c, a)):
                beyond = self.at_edge[j, i]
                if id(beyond) in seen:
                    continue
                if self._heights(beyond, at)[0] > self.thickness:
                    seen[id(beyond)] = beyond
                    todo.append(beyond)
                else:
                    rim.append((i, j))
        for old in seen.values():
            a, b, c = old.corners
            for edge in ((a, b), (b, c), (c, a)):
                del self.at_edge[edge]
        made = [self._add((i, j, p)) for i, j in rim]
        above = np.concatenate([old.above for old in seen.values()])
        self._share(above[above != p], made)
        self.waiting += made


def _products(a: Array, b: Array) -> Array:
    """Return dot products along the last axis, in a fixed order, without BLAS."""
    c = a * b
    return c[..., 0] + c[..., 1] + c[..., 2]


def _squares(a: Array) -> Array:
    return _products(a, a)


RULES: Final = ("convex", "exact", "legacy", "shell")
_TINY: Final = 1e-15
"""MuJoCo's own bound below which an area or volume is too small"""


@dataclass(frozen=True, slots=True, eq=False)
class MeshInertia:
    """What a mesh of density one weighs, in the mesh's frame."""

    extent: float
    """volume [m³], or area of a shell [m²]"""
    center: Three
    """center of mass [m]"""
    inertia: Symmetric
    """about the center"""


def mesh_inertia(mesh: TriangleMesh, rule: str, label: str) -> MeshInertia:
    """Return the inertia of a mesh by one of the `RULES`.

    Raises:
        ModelError: the mesh has no volume (or area), or its faces disagree about
            which side is outside where the rule needs to know.
    """
    if rule == "exact":
        _check_orientation(mesh, label)
    a, b, c = mesh.corners()
    areas = _areas(a, b, c)
    area = _sum(areas)
    if area < _TINY:
        raise ModelError(f"{label}: the surface of the mesh is too small")
    apex = _weighted_mean((a + b + c) / 3, areas, area)
    if rule == "convex":
        hull = TriangleMesh(mesh.vertices, convex_hull(mesh.vertices, label))
        a, b, c = hull.corners()
    if rule == "shell":
        return _about(apex, (a, b, c), areas, 12)
    volumes = _volumes(a - apex, b - apex, c - apex, rule)
    volume = _sum(volumes)
    if volume < _TINY:
        what = "negative: its faces are turned inside out" if volume < 0 else "zero"
        raise ModelError(
            f"{label}: the volume of the mesh is {what}; try inertia='shell' or "
            "'convex' of the <mesh>"
        )
    center = _weighted_mean((a + b + c) / 4 + apex / 4, volumes, volume)
    volumes = _volumes(a - center, b - center, c - center, rule)
    return _about(center, (a, b, c), volumes, 20)


def _about(
    center: Array, corners: tuple[Array, Array, Array], parts: Array, share: int
) -> MeshInertia:
    """Return the inertia of pyramids with their apex in the center (or of faces)."""
    d, e, f = (x - center for x in corners)
    P: dict[tuple[int, int], float] = {}
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        same = d[:, i] * d[:, j] + e[:, i] * e[:, j] + f[:, i] * f[:, j]
        all_ = (d[:, i] + e[:, i] + f[:, i]) * (d[:, j] + e[:, j] + f[:, j])
        P[i, j] = _sum(parts * (same + all_)) / share
    xx, yy, zz = P[0, 0], P[1, 1], P[2, 2]
    x, y, z = center.tolist()
    moments = (yy + zz, -P[0, 1], -P[0, 2], xx + zz, -P[1, 2], xx + yy)
    return MeshInertia(_sum(parts), (x, y, z), moments)


def _check_orientation(mesh: TriangleMesh, label: str) -> None:
    f = mesh.faces[_areas(*mesh.corners()) > math.sqrt(_TINY)]
    edges = np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]])
    pairs: list[list[int]] = edges.tolist()
    count = Counter((i, j) for i, j in pairs)
    twice = [edge for edge, n in count.items() if n > 1]
    if twice:
        raise ModelError(
            f"{label}: faces at the edge between vertices {twice[0][0]} and "
            f"{twice[0][1]} disagree about which side is outside; expected "
            "consistent faces for inertia='exact'"
        )


def _areas(a: Array, b: Array, c: Array) -> Array:
    n = np.cross(b - a, c - a)
    return np.sqrt(n[:, 0] ** 2 + n[:, 1] ** 2 + n[:, 2] ** 2) / 2


def _volumes(a: Array, b: Array, c: Array, rule: str) -> Array:
    n = np.cross(b - a, c - a)
    signed = (a[:, 0] * n[:, 0] + a[:, 1] * n[:, 1] + a[:, 2] * n[:, 2]) / 6
    return np.abs(signed) if rule == "legacy" else signed


def _sum(parts: Array) -> float:
    """Return a sum that does not depend on the order, nor on the processor."""
    return math.fsum(parts.tolist())


def _weighted_mean(points: Array, weights: Array, total: float) -> Array:
    return np.array([_sum(points[:, k] * weights) / total for k in range(3)])
