"""Meshes: reading their files, their hulls, their inertia in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ramidyn.description.mesh_files import TriangleMesh, read_mesh
from ramidyn.description.mesh_geometry import RULES, convex_hull, mesh_inertia
from ramidyn.errors import ModelError
from support.meshes import (
    angle_iron,
    box,
    pebble,
    write_msh,
    write_obj,
    write_stl,
)

SOLID = ("convex", "exact", "legacy")


@pytest.mark.parametrize("rule", SOLID)
def test_a_box_has_the_inertia_of_the_textbook(rule: str) -> None:
    x, y, z = 0.1, 0.2, 0.3
    found = mesh_inertia(box(x, y, z), rule, "box")
    volume = 8 * x * y * z
    assert found.extent == pytest.approx(volume, rel=1e-14)
    assert found.center == pytest.approx((0, 0, 0), abs=1e-15)
    moments = np.array([y * y + z * z, x * x + z * z, x * x + y * y]) * volume / 3
    assert np.array(found.inertia)[[0, 3, 5]] == pytest.approx(moments, rel=1e-13)
    assert np.array(found.inertia)[[1, 2, 4]] == pytest.approx(0, abs=1e-16)


def test_a_shell_has_the_area_and_inertia_of_six_plates() -> None:
    s = 0.25  # half the edge of a cube: I = 10/9 m a² with a half edges
    found = mesh_inertia(box(s, s, s), "shell", "cube")
    assert found.extent == pytest.approx(24 * s * s, rel=1e-14)
    expected = 10 / 9 * found.extent * s * s
    assert np.array(found.inertia)[[0, 3, 5]] == pytest.approx([expected] * 3)


def test_an_angle_iron_is_the_sum_of_its_two_bars() -> None:
    found = mesh_inertia(angle_iron(0.2), "exact", "L")
    first, second = 0.3 * 0.1 * 0.2, 0.1 * 0.2 * 0.2
    volume = first + second
    assert found.extent == pytest.approx(volume, rel=1e-12)
    x = (first * 0.15 + second * 0.05) / volume
    y = (first * 0.05 + second * 0.2) / volume
    assert found.center == pytest.approx((x, y, 0.1), rel=1e-12)
    about_z = (
        first * ((0.3**2 + 0.1**2) / 12 + (0.15 - x) ** 2 + (0.05 - y) ** 2)
        + second * ((0.1**2 + 0.2**2) / 12 + (0.05 - x) ** 2 + (0.2 - y) ** 2)
    )  # fmt: skip
    assert found.inertia[5] == pytest.approx(about_z, rel=1e-12)


def _edges(face: list[int]) -> list[tuple[int, int]]:
    a, b, c = face
    return [(a, b), (b, c), (c, a)]


def test_a_hull_holds_all_points_and_closes(rng: np.random.Generator) -> None:
    points = rng.normal(size=(400, 3))
    faces = convex_hull(points, "cloud")
    a, b, c = TriangleMesh(points, faces).corners()
    normals = np.cross(b - a, c - a)
    heights = np.einsum("fk,fnk->fn", normals, points[None] - a[:, None])
    assert heights.max() < 1e-9
    edges = [e for f in faces.tolist() for e in _edges(f)]
    assert len(set(edges)) == len(edges)
    assert {(j, i) for i, j in edges} == set(edges)


def test_points_inside_and_on_faces_do_not_change_a_hull(
    rng: np.random.Generator,
) -> None:
    corners = box(1, 2, 3).vertices
    inside = rng.uniform(-1, 1, size=(50, 3)) * [1, 2, 3]
    on_faces = inside.copy()
    on_faces[:, 2] = 3
    points = np.concatenate([inside, on_faces, corners])
    hull = TriangleMesh(points, convex_hull(points, "box"))
    assert mesh_inertia(hull, "exact", "box").extent == pytest.approx(48, rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("write", [write_stl, write_obj, write_msh])
def test_every_format_holds_the_same_mesh(
    rule: str, write: object, rng: np.random.Generator, tmp_path: Path
) -> None:
    mesh = pebble(rng)
    assert callable(write)
    path = tmp_path / f"m.{write.__name__[-3:]}"
    write(path, mesh)
    ours = mesh_inertia(read_mesh(path), rule, "m")
    given = mesh_inertia(mesh, rule, "m")
    assert ours.extent == pytest.approx(given.extent, rel=1e-12)
    assert ours.inertia == pytest.approx(given.inertia, rel=1e-9)


def test_text_stl_and_obj_polygons_are_read(tmp_path: Path) -> None:
    corners = (
        "0 0 0 1 0 0 0 1 0  0 0 0 0 1 0 0 0 1  0 0 0 0 0 1 1 0 0  1 0 0 0 0 1 0 1 0"
    )
    x = np.array(corners.split(), dtype=float).reshape(-1, 3, 3)
    text = "solid t\n"
    for face in x:
        vertices = "".join(f"vertex {a} {b} {c}\n" for a, b, c in face)
        text += f"facet normal 0 0 0\nouter loop\n{vertices}endloop\nendfacet\n"
    (tmp_path / "t.stl").write_text(text + "endsolid t\n")
    mesh = read_mesh(tmp_path / "t.stl")
    assert mesh_inertia(mesh, "convex", "t").extent == pytest.approx(1 / 6)

    quads = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
    quads += "f 4 3 2 1\nf 5 6 7 8\nf 1/1 2/2 6/3 5/4\nf 2//1 3//1 7//1 6//1\n"
    quads += "f -6 -5 -1 -2\nf 4 1 5 8\no second\nf 1 2 3\n"
    (tmp_path / "c.obj").write_text(quads)
    cube = read_mesh(tmp_path / "c.obj")
    assert len(cube.faces) == 12
    assert mesh_inertia(cube, "exact", "c").extent == pytest.approx(1)


BROKEN = {
    "m.dae": (
        b"<COLLADA/>",
        r"m\.dae: cannot read \.dae meshes; expected \.stl, \.obj",
    ),
    "empty.stl": (b"", r"not an STL file: its size is 0 bytes; expected 84 for 0"),
    "cut.stl": (bytes(80) + b"\x02\0\0\0" + bytes(60), "expected 184 for 2 faces"),
    "text.stl": (b"solid\nvertex 0 0 0\n", "1 vertices; expected 3 for every face"),
    "word.stl": (b"solid\n" + b"vertex a b c\n" * 3, "a vertex that is not three num"),
    "few.stl": (b"solid\n" + b"vertex 0 0 0\n" * 3, "1 vertices; expected at least 4"),
    "empty.obj": (b"# nothing\n", "no vertices; expected lines 'v x y z'"),
    "face.obj": (b"v 0 0 0\n" * 4 + b"f 1 2 x\n", "vertex 'x'; expected a whole num"),
    "lost.obj": (b"v 0 0 0\n" * 4 + b"f 1 2 9\n", "a vertex that does not exist"),
    "lost_corner.obj": (b"v 0 0 0\n" * 4 + b"f 1 2 3 9\n", "a vertex that does not ex"),
    "before.obj": (b"v 0 0 0\n" * 4 + b"f 1 2 -9\n", "a vertex that does not exist"),
    "many.obj": (
        b"v 0 0 0\n" * 4 + b"f" + b" 1" * 5000,
        "a face with 5,000 corners; expected at most 4,096",
    ),
    "nan.obj": (b"v nan 0 0\n" * 4, "a vertex is not finite or too far away"),
    "cut.msh": (bytes(15), "not an MSH file: its size is 15 bytes; expected 16"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused(name: str, tmp_path: Path) -> None:
    data, message = BROKEN[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match=message):
        read_mesh(tmp_path / name)


def test_a_mesh_without_volume_is_refused() -> None:
    flat = angle_iron(0.0)
    with pytest.raises(ModelError, match="L: the volume of the mesh is zero; try in"):
        mesh_inertia(flat, "exact", "L")
    with pytest.raises(ModelError, match="L: all vertices are in one plane"):
        mesh_inertia(flat, "convex", "L")
    inside_out = TriangleMesh(flat.vertices, flat.faces[:, ::-1])
    inside_out = TriangleMesh(angle_iron().vertices, inside_out.faces)
    with pytest.raises(ModelError, match="is negative: its faces are turned inside"):
        mesh_inertia(inside_out, "exact", "L")
    mixed = angle_iron()
    mixed.faces[0] = mixed.faces[0][::-1]
    with pytest.raises(ModelError, match="disagree about which side is outside"):
        mesh_inertia(mixed, "exact", "L")
    point = TriangleMesh(np.zeros((4, 3)), np.array([[0, 1, 2]]))
    with pytest.raises(ModelError, match="the surface of the mesh is too small"):
        mesh_inertia(point, "shell", "L")
