"""Split the polygons of an OBJ file into triangles, as MuJoCo's reader does.

A bent polygon encloses another volume with other diagonals, so the choice counts for
inertias: quads are cut along the shorter diagonal, and larger polygons by clipping
ears in one of the coordinate planes. All is computed in single precision: ties must
fall as they do there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Singles = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
Triangle = tuple[int, int, int]


def split_polygons(points: Singles, polygons: Sequence[Sequence[int]]) -> Indices:
    """Return (m, 3) triangles: those of the file, of its quads, of larger polygons.

    Where no ear can be found, the rest of a polygon is left out.

    Args:
        points: (n, 3) all vertices.
        polygons: for each, indices of vertices around it.
    """
    parts = [_rows([p for p in polygons if len(p) == 3], 3)]
    parts.append(_split_quads(points, _rows([p for p in polygons if len(p) == 4], 4)))
    ears = [ear for p in polygons if len(p) > 4 for ear in _ears(points, p)]
    return np.concatenate([*parts, _rows(ears, 3)])


def _rows(polygons: Sequence[Sequence[int]], size: int) -> Indices:
    return np.reshape(np.array(polygons, dtype=np.int64), (-1, size))


def _split_quads(points: Singles, quads: Indices) -> Indices:
    a, b, c, d = (quads[:, k] for k in range(4))
    first = _squares(points[c] - points[a]) < _squares(points[d] - points[b])
    halves = [
        np.stack([a, b, np.where(first, c, d)], axis=1),
        np.stack([np.where(first, a, b), c, d], axis=1),
    ]
    return np.reshape(np.stack(halves, axis=1), (-1, 3))


def _squares(v: Singles) -> npt.NDArray[Any]:
    return v[:, 0] * v[:, 0] + v[:, 1] * v[:, 1] + v[:, 2] * v[:, 2]


def _ears(points: Singles, corners: Sequence[int]) -> Iterator[Triangle]:
    plane = points[np.ix_(list(corners), _axes(points[list(corners)]))]
    rest = list(range(len(corners)))
    k, before, tries = 0, len(rest), len(rest)
    while len(rest) > 3 and tries > 0:  # an ear found by the last try is the last ear
        k = k - len(rest) if k >= len(rest) else k
        tries = tries - 1 if len(rest) == before else len(rest)
        before = len(rest)
        turned = [*rest[k:], *rest[:k]]
        if _is_ear(plane[turned]):
            a, b, c = (corners[i] for i in turned[:3])
            yield a, b, c
            rest.remove(turned[1])
        else:
            k += 1
    if len(rest) == 3:
        a, b, c = (corners[i] for i in rest)
        yield a, b, c


def _axes(polygon: Singles) -> list[int]:
    """Return the axes of the plane that the first true corner is most along."""
    after = np.roll(polygon, -1, axis=0)
    e, f = after - polygon, np.roll(polygon, -2, axis=0) - after
    normals = np.abs(
        np.stack(
            [
                e[:, 1] * f[:, 2] - e[:, 2] * f[:, 1],
                e[:, 2] * f[:, 0] - e[:, 0] * f[:, 2],
                e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0],
            ],
            axis=1,
        )
    )
    is_corner = (normals > np.finfo(np.float32).eps).any(axis=1)
    if not is_corner.any():
        return [1, 2]
    x, y, z = normals[is_corner.argmax()]
    if x > y and x > z:
        return [1, 2]
    return [0, 1] if z > x and z > y else [0, 2]


def _is_ear(plane: Singles) -> bool:
    """Return whether the first three of the corners that are left form an ear.

    MuJoCo's reader takes the sense of the polygon from the side on which the first
    edge passes the origin.
    """
    (x0, y0), (x1, y1), (x2, y2) = plane[:3]
    turn = (x1 - x0) * (y2 - y1) - (y1 - y0) * (x2 - x1)
    if turn * ((x0 * y1 - y0 * x1) * np.float32(0.5)) < 0:
        return False
    return not _inside(plane[:3], plane[3:]).any()


def _inside(triangle: Singles, points: Singles) -> npt.NDArray[Any]:
    """Return which points are inside: they see an odd number of edges to the right."""
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), dtype=bool)
    for (xi, yi), (xj, yj) in zip(triangle, np.roll(triangle, 1, axis=0), strict=True):
        if yi != yj:
            is_between = (yi > y) != (yj > y)
            inside ^= is_between & (x < (xj - xi) * (y - yi) / (yj - yi) + xi)
    return inside
