"""The convex hull of points, by quickhull (Barber, Dobkin, Huhdanpaa 1996).

Every face keeps the points above it. The farthest of them becomes a corner: the faces
that it sees go, and a fan of new ones from it to the rim of the hole takes their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ramidyn.description.meshes.mesh_files import Faces
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
