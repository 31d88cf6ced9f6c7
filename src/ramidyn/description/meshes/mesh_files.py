"""Read the triangles of a mesh file: STL (binary or text), OBJ and MuJoCo's MSH.

Vertices are read in single precision, as MuJoCo does, so that both compute from the
same numbers. Normals, textures and materials are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ramidyn.description.meshes.polygons import split_polygons
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError

Faces = npt.NDArray[np.int64]

LARGEST_MESH_FILE: Final = 256 * 2**20
"""[bytes]"""
MOST_FACES: Final = 1_000_000
MOST_CORNERS: Final = 4_096
"""of one face: to split it takes time quadratic in them"""
READABLE: Final = (".stl", ".obj", ".msh")
_FARTHEST: Final = 2.0**30
"""No vertex is farther from the origin: squares and products stay finite."""


@dataclass(frozen=True, slots=True, eq=False)
class TriangleMesh:
    """Vertices, and the faces between them, counterclockwise seen from outside."""

    vertices: Array
    """(n, 3) [m]"""
    faces: Faces
    """(m, 3) indices of vertices"""

    def corners(self) -> tuple[Array, Array, Array]:
        """Return the three corners of every face, (m, 3) each."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return a, b, c


def read_mesh(path: Path) -> TriangleMesh:
    """Return the triangles in a file, by the ending of its name.

    Raises:
        ModelError: the file cannot be read, or is not a mesh.
    """
    kind = path.suffix.lower()
    if kind not in READABLE:
        raise ModelError(
            f"{path.name}: cannot read {kind or 'this'} meshes; expected "
            f"{', '.join(READABLE)}"
        )
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_MESH_FILE + 1)
    except OSError as e:
        raise ModelError(f"{path.name}: cannot be read ({e.strerror or e})") from None
    if len(data) > LARGEST_MESH_FILE:
        raise ModelError(f"{path.name}: larger than {LARGEST_MESH_FILE // 2**20} MB")
    read = {".stl": _stl, ".obj": _obj, ".msh": _msh}[kind]
    vertices, faces = read(data, path.name)
    return checked_mesh(vertices, faces, path.name)


def checked_mesh(vertices: Array, faces: Faces, label: str) -> TriangleMesh:
    """Return a mesh whose numbers can be computed with.

    Raises:
        ModelError: too few vertices, one that is not finite, or a face without one.
    """
    if len(vertices) < 4:
        raise ModelError(f"{label}: {len(vertices)} vertices; expected at least 4")
    _check_vertices(vertices, label)
    _check_count(len(faces), label)
    if len(faces) and not 0 <= faces.min() <= faces.max() < len(vertices):
        raise ModelError(_missing_vertex(label))
    return TriangleMesh(vertices, faces)


def _check_vertices(vertices: npt.NDArray[Any], label: str) -> None:
    if not np.all(np.abs(vertices) < _FARTHEST):
        raise ModelError(f"{label}: a vertex is not finite or too far away")


def _missing_vertex(label: str) -> str:
    return f"{label}: a face refers to a vertex that does not exist"


def _check_count(faces: int, label: str) -> None:
    if faces > MOST_FACES:
        raise ModelError(f"{label}: {faces:,} faces; expected at most {MOST_FACES:,}")


def _stl(data: bytes, label: str) -> tuple[Array, Faces]:
    count = int.from_bytes(data[80:84], "little")
    if len(data) == 84 + 50 * count and count:
        _check_count(count, label)
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("_", "<u2")])
        corners = np.frombuffer(data, record, count, 84)["corners"]
        return _joined(np.reshape(corners, (-1, 3)))
    if data.lstrip()[:5] != b"solid":
        raise ModelError(
            f"{label}: not an STL file: its size is {len(data)} bytes; expected "
            f"{84 + 50 * count} for {count} faces"
        )
    lines = (line.split() for line in data.splitlines())
    words = [w[1:4] for w in lines if w and w[0] == b"vertex"]
    if not words or len(words) % 3:
        raise ModelError(f"{label}: {len(words)} vertices; expected 3 for every face")
    return _joined(_single(words, label))


def _joined(corners: npt.NDArray[np.float32]) -> tuple[Array, Faces]:
    """Return the distinct corners, and the faces as indices of them."""
    vertices, places = np.unique(corners, axis=0, return_inverse=True)
    return vertices.astype(np.float64), np.reshape(places, (-1, 3)).astype(np.int64)


def _obj(data: bytes, label: str) -> tuple[Array, Faces]:
    """Read the first shape of an OBJ file, as MuJoCo does."""
    vertices: list[list[bytes]] = []
    polygons: list[list[int]] = []
    is_first = True
    for line in data.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            vertices.append(words[1:4])
        elif words[0] in (b"o", b"g") and polygons:
            is_first = False
        elif words[0] == b"f" and is_first:
            polygons.append([_index(word, len(vertices), label) for word in words[1:]])
    if not vertices:
        raise ModelError(f"{label}: no vertices; expected lines 'v x y z'")
    points = _single(vertices, label)
    _check_vertices(points, label)
    most = max(map(len, polygons), default=0)
    if most > MOST_CORNERS:
        raise ModelError(
            f"{label}: a face with {most:,} corners; expected at most {MOST_CORNERS:,}"
        )
    used = {i for corners in polygons for i in corners}
    if used and not 0 <= min(used) <= max(used) < len(points):
        raise ModelError(_missing_vertex(label))
    return points.astype(np.float64), split_polygons(points, polygons)


def _msh(data: bytes, label: str) -> tuple[Array, Faces]:
    """Read four counts, then vertices, normals, texture coordinates and faces."""
    counts = [int.from_bytes(data[k : k + 4], "little") for k in (0, 4, 8, 12)]
    vertices, normals, textures, faces = counts
    start = 16 + 4 * (3 * vertices + 3 * normals + 2 * textures)
    expected = start + 12 * faces
    if len(data) != expected:
        raise ModelError(
            f"{label}: not an MSH file: its size is {len(data)} bytes; expected "
            f"{expected} for {vertices} vertices and {faces} faces"
        )
    points = np.frombuffer(data, "<f4", 3 * vertices, 16).astype(np.float64)
    indices = np.frombuffer(data, "<i4", 3 * faces, start).astype(np.int64)
    return np.reshape(points, (-1, 3)), np.reshape(indices, (-1, 3))


def _index(word: bytes, count: int, label: str) -> int:
    """Return the vertex of one corner of an OBJ face; negative ones count back."""
    try:
        n = int(word.split(b"/")[0])
    except ValueError:
        n = 0
    if n == 0:
        raise ModelError(
            f"{label}: a face refers to vertex {word.decode('latin-1')!r}; expected a "
            "whole number"
        )
    return n - 1 if n > 0 else count + n


def _single(words: list[list[bytes]], label: str) -> npt.NDArray[np.float32]:
    try:
        numbers = np.array(words, dtype=np.float64).astype(np.float32)
        return np.reshape(numbers, (-1, 3))
    except ValueError:
        raise ModelError(
            f"{label}: a vertex that is not three numbers; expected 'x y z'"
        ) from None
