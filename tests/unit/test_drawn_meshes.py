"""Meshes of a robot's file when it is drawn: bad ones are named, and never needed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ramidyn.description.mesh_files import MOST_FACES, TriangleMesh
from ramidyn.errors import ModelWarning
from ramidyn.loading import load
from ramidyn.robot import Robot
from ramidyn.view.scene import Scene
from support.meshes import box, write_stl


def model(mesh: str) -> str:
    inertial = """<inertial><origin xyz="0 0 0.5"/><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
    return f"""<robot name="r"><link name="a"><visual><geometry><box size="1 1 1"/>
    </geometry></visual></link><link name="b">{inertial}<visual><geometry>
    <mesh filename="{mesh}"/></geometry></visual></link><joint name="j"
    type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint>
    </robot>"""


def stl(faces: int, folder: Path) -> Path:
    """Return a file that says it has so many faces, and is as long as that."""
    path = folder / "huge.stl"
    path.write_bytes(bytes(80) + np.uint32(faces).tobytes())
    os.truncate(path, 84 + 50 * faces)
    return path


def scene(robot: Robot) -> Scene:
    return robot._scene(())


BAD = {
    "broken": ("m.stl", b"solid nothing", r"m\.stl: 0 vertices; expected 3 for every"),
    "cut off": ("m.stl", bytes(99), r"m\.stl: not an STL file: its size is 99 bytes"),
    "empty": ("m.obj", b"", r"m\.obj: no vertices; expected lines"),
    "not finite": (
        "m.obj",
        b"v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4",
        r"m\.obj: a vertex is not finite",
    ),
    "no such corner": (
        "m.obj",
        b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 9",
        r"m\.obj: a face refers to a vertex that does not exist",
    ),
    "unknown": ("m.xyz", b"1 2 3", r"m\.xyz: .*"),
    "hostile name": (
        "&lt;script&gt;alert(1)&lt;script&gt;.stl",
        None,
        r"mesh '<script>alert\(1\)<script>\.stl' not found",
    ),
    "outside": ("../../m.stl", None, "leads outside the model's directories"),
    "elsewhere": ("/etc/passwd", None, "leads outside the model's directories"),
    "missing": ("package://p/m.stl", None, "not found; add its directory to mesh_dir"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_mesh_is_named_and_replaced(name: str, tmp_path: Path) -> None:
    mesh, data, message = BAD[name]
    folder = tmp_path / "package" / "urdf"
    folder.mkdir(parents=True)
    write_stl(tmp_path / "m.stl", box(1, 1, 1))
    if data is not None:
        (folder / mesh).write_bytes(data)
    (folder / "r.urdf").write_text(model(mesh))
    robot = load(folder / "r.urdf")
    with pytest.warns(ModelWarning, match="not drawn: .*" + message) as seen:
        found = scene(robot)
    assert len(seen) == 1
    assert {part.body for part in found.layer("visual")} == {"a"}
    assert {part.body for part in found.layer("bars")} == {"b"}
    assert np.isfinite(robot.forward_dynamics([0.1], [0.2], [0.3])).all()


def test_a_mesh_with_too_many_faces_is_named_and_replaced(tmp_path: Path) -> None:
    path = stl(MOST_FACES + 1, tmp_path)
    (tmp_path / "r.urdf").write_text(model(path.name))
    message = r"huge\.stl: 1,000,001 faces; expected at most 1,000,000"
    with pytest.warns(ModelWarning, match=message):
        found = scene(load(tmp_path / "r.urdf"))
    assert {part.body for part in found.layer("bars")} == {"b"}


def test_one_name_for_a_mesh_that_many_bodies_miss(tmp_path: Path) -> None:
    text = model("m.stl").replace('<box size="1 1 1"/>', '<mesh filename="m.stl"/>')
    (tmp_path / "r.urdf").write_text(text)
    with pytest.warns(ModelWarning) as seen:
        scene(load(tmp_path / "r.urdf"))
    (only,) = seen
    assert str(only.message).count("m.stl") == 1


@pytest.mark.slow
def test_a_million_faces_are_shown_coarser(tmp_path: Path) -> None:
    pytest.importorskip("viser", reason="viser is absent")
    n = 707
    u, v = (x.ravel() for x in np.meshgrid(*2 * [np.linspace(0, np.pi, n + 1)]))
    points = np.stack(
        [np.sin(v) * np.cos(2 * u), np.sin(v) * np.sin(2 * u), np.cos(v)], axis=1
    )
    i, j = (x.ravel() for x in np.meshgrid(*2 * [np.arange(n)]))
    at = i * (n + 1) + j
    faces = np.concatenate(
        [
            np.stack([at, at + 1, at + n + 1], 1),
            np.stack([at + 1, at + n + 2, at + n + 1], 1),
        ]
    )
    assert MOST_FACES * 0.99 < len(faces) <= MOST_FACES
    write_stl(tmp_path / "m.stl", TriangleMesh(points, faces))
    (tmp_path / "r.urdf").write_text(model("m.stl"))
    with load(tmp_path / "r.urdf").show(port=9380) as viewer:
        (mesh,) = [h for h, _ in viewer._copies[0]._colored["b"]]
        assert 1000 < len(mesh.faces) < 400_000
        assert np.abs(np.ptp(mesh.vertices, axis=0) - 2).max() < 0.02
