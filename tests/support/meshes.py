"""Small meshes for tests, and files of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ramidyn.description.mesh_files import TriangleMesh
from ramidyn.description.mesh_geometry import convex_hull

_BOX = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]


def box(x: float, y: float, z: float) -> TriangleMesh:
    """Return a box of those half sizes around the origin."""
    points = np.array(_BOX) * [x, y, z]
    return TriangleMesh(points, convex_hull(points, "box"))


def pebble(rng: np.random.Generator, count: int = 30) -> TriangleMesh:
    """Return the hull of random points, away from the origin."""
    points = rng.normal(size=(count, 3)) * [0.1, 0.2, 0.3] + [0.1, -0.2, 0.3]
    points = points.astype(np.float32).astype(float)
    return TriangleMesh(points, convex_hull(points, "pebble"))


def angle_iron(height: float = 0.2) -> TriangleMesh:
    """Return an L-shaped bar: closed, not convex."""
    base = np.array([[0, 0], [3, 0], [3, 1], [1, 1], [1, 3], [0, 3]]) * 0.1
    low, high = (np.c_[base, np.full(6, z)] for z in (0.0, height))
    cap = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
    i = np.arange(6)
    j = (i + 1) % 6
    walls = [np.c_[i, j, j + 6], np.c_[i, j + 6, i + 6]]
    faces = np.concatenate([cap[:, ::-1], cap + 6, *walls])
    return TriangleMesh(np.concatenate([low, high]), faces)


def write_stl(path: Path, mesh: TriangleMesh) -> None:
    """Write a binary STL file."""
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("_", "<u2")])
    rows = np.zeros(len(mesh.faces), record)
    rows["corners"] = mesh.vertices[mesh.faces].reshape(-1, 9)
    path.write_bytes(bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes())


def write_obj(path: Path, mesh: TriangleMesh) -> None:
    """Write an OBJ file."""
    lines = ["v {!r} {!r} {!r}".format(*v) for v in mesh.vertices.tolist()]
    lines += ["f {} {} {}".format(*f) for f in (mesh.faces + 1).tolist()]
    path.write_text("\n".join(lines))


def write_msh(path: Path, mesh: TriangleMesh) -> None:
    """Write a file in MuJoCo's own format."""
    counts = np.array([len(mesh.vertices), 0, 0, len(mesh.faces)], "<i4")
    parts = (counts, mesh.vertices.astype("<f4"), mesh.faces.astype("<i4"))
    path.write_bytes(b"".join(p.tobytes() for p in parts))
