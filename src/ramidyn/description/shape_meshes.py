"""The mesh of a shape: its triangles as its file has them, and its corners."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ramidyn.description.description import MeshShape, Shape
from ramidyn.description.mesh_files import (
    READABLE,
    TriangleMesh,
    checked_mesh,
    find_mesh,
    read_mesh,
)
from ramidyn.description.mesh_geometry import convex_hull
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError, install_command

DIRECTIONS: Final = [d for d in itertools.product((-1, 0, 1), repeat=3) if any(d)]
"""in which a mesh has its corners: toward the faces, edges and corners of a cube"""


def mesh_triangles(mesh: MeshShape, directories: Sequence[Path] = ()) -> TriangleMesh:
    """Return the triangles of a mesh in the coordinates of its file.

    Raises:
        ModelError: it is not found or cannot be read.
    """
    if mesh.vertices is None:
        return read_any_mesh(find_mesh(mesh, directories))
    faces = mesh.faces
    if faces is None:
        faces = convex_hull(mesh.vertices, "mesh")
    return checked_mesh(mesh.vertices, faces, "mesh")


def read_any_mesh(path: Path) -> TriangleMesh:
    """Return the triangles of a mesh file, by trimesh where it is not STL or OBJ.

    Raises:
        ModelError: the file is not a mesh, or needs trimesh, which is not installed.
    """
    if path.suffix.lower() in READABLE:
        return read_mesh(path)
    try:
        trimesh: Any = importlib.import_module("trimesh")
    except ImportError:
        raise ModelError(
            f"{path.name}: {path.suffix} meshes need trimesh: {install_command('view')}"
        ) from None
    try:
        loaded: Any = trimesh.load(path, force="mesh", process=False)
        vertices = np.asarray(loaded.vertices, dtype=float)
        faces = np.asarray(loaded.faces, dtype=np.int64)
    except Exception as e:  # a reader of foreign files raises what it likes
        raise ModelError(f"{path.name}: cannot be read ({e})") from None
    return checked_mesh(vertices, faces, path.name)


def mesh_corners(shape: Shape) -> list[tuple[float, float, float]]:
    """Return the vertices of a mesh that are farthest in `DIRECTIONS`.

    In the frame of its body; of a box, its eight corners.
    """
    mesh = shape.mesh
    assert mesh is not None
    own, found = mesh.reference, mesh_triangles(mesh).vertices
    x: Array = ((found - own.p) @ own.R) * np.array(mesh.scale)
    farthest = np.argmax(x @ np.transpose(np.array(DIRECTIONS, dtype=float)), axis=0)
    T = shape.placement
    corners = x[np.unique(farthest)] @ np.transpose(T.R) + T.p
    return [(float(a), float(b), float(c)) for a, b, c in corners]
