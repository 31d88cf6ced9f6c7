"""Find and read the triangles of a mesh file: STL, OBJ and MuJoCo's MSH.

Vertices are read in single precision, as MuJoCo does, so that both compute from the
same numbers. Normals, textures and materials are skipped.

Polygons of an OBJ file are split into triangles as MuJoCo's reader does. A bent polygon
encloses another volume with other diagonals, so the choice counts for inertias: quads
are cut along the shorter diagonal, and larger polygons by clipping ears in one of the
coordinate planes. All is computed in single precision: ties must fall as they do there.

``package://name/rest`` is looked up in the directories that the user gives, in those of
ROS_PACKAGE_PATH, then in the directories around the model. Nothing outside of these and
of the model's own tree is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from ramidyn.description.description import MeshShape
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError

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


Faces = npt.NDArray[np.int64]

LARGEST_MESH_FILE: Final = 256 * 2**20
"""[bytes]"""
MOST_FACES: Final = 1_000_000
MOST_CORNERS: Final = 4_096
"""of one face: to split it takes time quadratic in them"""
MUJOCOS_CORNERS: Final = 100
"""faces of an OBJ file with more are left out by MuJoCo"""
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
    left_out: int = 0
    """faces of the file with more corners than asked for"""

    def corners(self) -> tuple[Array, Array, Array]:
        """Return the three corners of every face, (m, 3) each."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return a, b, c


def read_mesh(path: Path, corners: int | None = None) -> TriangleMesh:
    """Return the triangles in a file, by the ending of its name.

    Args:
        path: the file.
        corners: faces with more corners are left out; all are taken by default.

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
    if kind == ".obj":
        return _obj(data, path.name, corners)
    vertices, faces = {".stl": _stl, ".msh": _msh}[kind](data, path.name)
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
        return _distinct_corners(np.reshape(corners, (-1, 3)))
    if data.lstrip()[:5] != b"solid":
        raise ModelError(
            f"{label}: not an STL file: its size is {len(data)} bytes; expected "
            f"{84 + 50 * count} for {count} faces"
        )
    lines = (line.split() for line in data.splitlines())
    words = [w[1:4] for w in lines if w and w[0] == b"vertex"]
    if not words or len(words) % 3:
        raise ModelError(f"{label}: {len(words)} vertices; expected 3 for every face")
    return _distinct_corners(_single(words, label))


def _distinct_corners(corners: npt.NDArray[np.float32]) -> tuple[Array, Faces]:
    """Return the distinct corners, and the faces as indices of them."""
    vertices, places = np.unique(corners, axis=0, return_inverse=True)
    return vertices.astype(np.float64), np.reshape(places, (-1, 3)).astype(np.int64)


def _obj(data: bytes, label: str, corners: int | None) -> TriangleMesh:
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
    taken = polygons
    if corners is not None:
        taken = [p for p in polygons if len(p) <= corners]
    elif most > MOST_CORNERS:
        raise ModelError(
            f"{label}: a face with {most:,} corners; expected at most {MOST_CORNERS:,}"
        )
    used = {i for polygon in polygons for i in polygon}
    if used and not 0 <= min(used) <= max(used) < len(points):
        raise ModelError(_missing_vertex(label))
    faces = split_polygons(points, taken)
    mesh = checked_mesh(points.astype(np.float64), faces, label)
    return replace(mesh, left_out=len(polygons) - len(taken))


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


_PACKAGES: Final = ("package://", "model://")
_LEVELS: Final = 6
"""how many directories around the model may hold the package"""


def find_mesh(mesh: MeshShape, directories: Sequence[Path] = ()) -> Path:
    """Return the path of a mesh.

    Raises:
        ModelError: no such file, or one outside of the directories above.
    """
    given = mesh.file
    is_outside = False
    for base, name in _candidates(mesh, [*directories, *_ros_directories()]):
        try:
            path = (base / name).resolve()
            exists = path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise ModelError(f"mesh {given!r} is not a valid path") from None
        if not path.is_relative_to(base.resolve()):
            is_outside = True
        elif exists:
            return path
    if is_outside:
        raise ModelError(
            f"mesh {given!r} leads outside the model's directories; add its directory "
            "to mesh_directories"
        )
    raise ModelError(f"mesh {given!r} not found; add its directory to mesh_directories")


def _candidates(
    mesh: MeshShape, directories: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Yield directories that the file may not leave, and its path in each."""
    given = mesh.file
    for scheme in _PACKAGES:
        if given.startswith(scheme):
            package, _, rest = given[len(scheme) :].partition("/")
            around: list[Path] = []
            if mesh.folder is not None:
                here = mesh.folder.resolve()
                around = [here, *here.parents][:_LEVELS]
            for base in (*directories, *around):
                if base.name == package:
                    yield base, rest
                yield base / package, rest
            return
    if given.startswith("file://"):
        given = unquote(given.removeprefix("file://"))
    if Path(given).is_absolute():
        for base in (*directories, *([mesh.limit] if mesh.limit else ())):
            yield base, given
        return
    if mesh.folder is not None:
        here = mesh.folder.resolve()
        base = mesh.limit or here
        yield base, os.path.relpath(here / given, base)
    for base in directories:
        yield base, given


def _ros_directories() -> list[Path]:
    paths = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    return [Path(p) for p in paths if p]
