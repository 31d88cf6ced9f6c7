"""Volume, center and inertia of a triangle mesh, by MuJoCo's rules.

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

from ramidyn.description.constants import Symmetric, Three
from ramidyn.description.meshes.convex_hull import convex_hull
from ramidyn.description.meshes.mesh_files import TriangleMesh
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError

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
    apex = _weighted((a + b + c) / 3, areas, area)
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
    center = _weighted((a + b + c) / 4 + apex / 4, volumes, volume)
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


def _weighted(points: Array, weights: Array, total: float) -> Array:
    return np.array([_sum(points[:, k] * weights) / total for k in range(3)])
