"""The inertia of mesh geoms is MuJoCo's, for every rule, shape, scale and fit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.cli import main
from ramidyn.description.mesh_files import (
    MUJOCOS_CORNERS,
    TriangleMesh,
    find_mesh,
    read_mesh,
)
from ramidyn.description.mesh_geometry import RULES
from ramidyn.errors import ModelError
from ramidyn.loading import load
from support.meshes import angle_iron, box, pebble, write_obj, write_stl
from support.mujoco_agreement import assert_inertias_agree

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")

PLACED = 'pos=".1 .2 .3" euler="10 20 30"'
MODEL = """<mujoco><compiler meshdir="meshes" {compiler}/>
<default><mesh inertia="{rule}"/></default>
<asset><mesh file="{file}" {asset}/></asset><worldbody>
<body pos="1 2 3"><joint axis="1 2 3"/><joint type="slide"/>
<geom type="{type}" mesh="{stem}" {placed} {geom}/><geom size=".1" pos="1 0 0"/>
</body></worldbody></mujoco>"""
ASSETS = {
    "plain": "",
    "scaled": 'scale="2 .5 1"',
    "mirrored": 'scale="-1 1 1"',
    "moved": 'refpos=".1 .2 .3" refquat="1 2 3 4" scale="1 2 3"',
}
GEOMS = ("", 'mass="2"', 'density="300"')


def shapes() -> dict[str, TriangleMesh]:
    """Return meshes that are convex, concave, open and thin."""
    iron = angle_iron()
    return {
        "pebble.stl": pebble(np.random.default_rng(3)),
        "iron.obj": iron,
        "open.stl": TriangleMesh(iron.vertices, iron.faces[:-2]),
        "thin.obj": box(0.5, 0.3, 1e-4),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    (path / "meshes").mkdir()
    for name, mesh in shapes().items():
        write = write_stl if name.endswith(".stl") else write_obj
        write(path / "meshes" / name, mesh)
    return path


def model_file(folder: Path, file: str, **given: str) -> Path:
    settings = {"compiler": "", "asset": "", "geom": "", "type": "mesh"} | given
    stem = Path(file).stem
    path = folder / f"{abs(hash((file, *sorted(given.items()))))}.xml"
    text = MODEL.format(file=file, stem=stem, placed=PLACED, **settings)
    path.write_text(text)
    return path


def assert_same(path: Path) -> None:
    """Check that both load it with the same inertia, or both refuse it."""
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        with pytest.raises(ModelError, match="takes its inertia from mesh geom"):
            load(path)
        return
    assert_inertias_agree(load(path, conventions="mujoco").description, theirs)


@pytest.mark.parametrize("asset", ASSETS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("file", shapes())
def test_a_mesh_weighs_what_mujoco_says(
    file: str, rule: str, asset: str, folder: Path
) -> None:
    for geom in GEOMS:
        given = {"rule": rule, "asset": ASSETS[asset], "geom": geom}
        assert_same(model_file(folder, file, **given))


def star(rng: np.random.Generator, corners: int) -> str:
    """Return an OBJ file: a bent, concave polygon, and sides from it to a tip."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    radii = rng.uniform(0.3, 1.0, corners)
    x = np.c_[radii * np.cos(angles), radii * np.sin(angles)]
    x = np.c_[x, 0.2 * rng.normal(size=corners)]
    x = np.r_[x, [[0.0, 0.0, -3.0]]]
    x = np.roll(x, int(rng.integers(3)), axis=1) + rng.normal(size=3)
    text = "".join("v {!r} {!r} {!r}\n".format(*p) for p in x.tolist())
    text += "f " + " ".join(str(k + 1) for k in range(corners)) + "\n"
    sides = (((k + 1) % corners, k) for k in range(corners))
    return text + "".join(f"f {a + 1} {b + 1} {corners + 1}\n" for a, b in sides)


@pytest.mark.parametrize("corners", [4, 5, 6, 9, 17, 100, 101, 300])
def test_polygons_are_split_as_mujoco_does(corners: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(corners)
    for k in range(40 if corners < 50 else 3):
        (tmp_path / f"{k}.obj").write_text(star(rng, corners))
        (tmp_path / "model.xml").write_text(STAR.format(file=f"{k}.obj", rule="shell"))
        theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml")).mesh_face
        ours = read_mesh(tmp_path / f"{k}.obj", MUJOCOS_CORNERS).faces
        assert sorted(ours.tolist()) == sorted(theirs.tolist())


def test_large_polygons_are_left_out_aloud(tmp_path: Path) -> None:
    (tmp_path / "m.obj").write_text(star(np.random.default_rng(0), 101))
    path = tmp_path / "m.xml"
    path.write_text(STAR.format(file="m.obj", rule="exact"))
    message = (
        r"m\.xml:1: mesh 'm': its inertia leaves out 1 face with more than 100 "
        "corners, as MuJoCo does; split large faces in 'm.obj' into triangles"
    )
    with pytest.warns(ramidyn.ModelWarning, match=message):
        robot = load(path, conventions="mujoco", contacts=False)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    assert_inertias_agree(robot.description, theirs)
    assert len(read_mesh(tmp_path / "m.obj").faces) > 101  # drawn


def test_bent_quads_weigh_what_mujoco_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for k in range(10):  # MuJoCo keeps files by name: each needs its own
        path = tmp_path / f"{k}.xml"
        path.write_text(STAR.format(file=f"{k}.obj", rule="exact"))
        (tmp_path / f"{k}.obj").write_text(star(rng, 4))
        assert_same(path)


STAR = """<mujoco><asset><mesh name="m" file="{file}" inertia="{rule}"/></asset>
  <worldbody><body><freejoint/><geom type="mesh" mesh="m"/><geom size="1"/></body>
  </worldbody></mujoco>"""


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
@pytest.mark.parametrize("file", ["pebble.stl", "iron.obj"])
def test_a_fitted_primitive_weighs_what_mujoco_says(
    file: str, kind: str, folder: Path
) -> None:
    fits = ("", 'fitaabb="true"')
    for compiler, geom in itertools.product(fits, ("", 'fitscale="1.5" mass="3"')):
        given = {"type": kind, "compiler": compiler, "geom": geom}
        assert_same(model_file(folder, file, rule="convex", **given))


def test_vertices_in_the_model_make_a_hull(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(
        """<mujoco><asset><mesh name="t" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/></asset>
        <worldbody><body><joint/><geom type="mesh" mesh="t"/></body></worldbody>
        </mujoco>"""
    )
    assert sum(load(path).masses.values()) == pytest.approx(1000)
    assert_same(path)


INCLUDED = {
    "beside the included file": ("", "iron.obj", "parts/deep/iron.obj"),
    "not in meshdir": ('meshdir="other"', "iron.obj", "parts/deep/iron.obj"),
    "above the included file": ("", "../iron.obj", "parts/iron.obj"),
    "in meshdir first": ('meshdir="parts"', "wrong.obj", "parts/wrong.obj"),
    "in meshdir only": (
        'meshdir="parts" strippath="true"',
        "deep/wrong.obj",
        "parts/wrong.obj",
    ),
}
"""for each place: words of the compiler, the file that is named, where the mesh is"""


@pytest.mark.parametrize("name", INCLUDED)
def test_meshes_of_included_files_are_found_where_mujoco_finds_them(
    name: str, tmp_path: Path
) -> None:
    compiler, file, place = INCLUDED[name]
    (tmp_path / "parts/deep").mkdir(parents=True)
    write_obj(tmp_path / "parts/deep/wrong.obj", box(1, 1, 1))
    write_obj(tmp_path / place, angle_iron())
    files = {
        "main.xml": f"""<mujoco><compiler {compiler}/><include file="parts/a.xml"/>
          <worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody>
          </mujoco>""",
        "parts/a.xml": '<mujoco><include file="deep/b.xml"/></mujoco>',
        "parts/deep/b.xml": f"""<mujoco><asset><mesh name="m" file="{file}"
          inertia="exact"/></asset></mujoco>""",
    }
    for inner, text in files.items():
        (tmp_path / inner).write_text(text)
    robot = load(tmp_path / "main.xml", conventions="mujoco")
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "main.xml"))
    assert_inertias_agree(robot.description, theirs)
    (shape,) = robot.shapes
    assert shape.mesh is not None
    assert find_mesh(shape.mesh) == (tmp_path / place).resolve()


def test_a_missing_or_foreign_file_is_named(folder: Path) -> None:
    path = model_file(folder, "absent.stl", rule="convex")
    message = (
        r":4: worldbody body: takes its inertia from mesh geom 'absent' \(line 5\), "
        r"but .*:3: asset mesh: file='meshes/absent.stl': no such file next to the "
        r"model; add an "
        r"<inertial> to the body \(`ramidyn write-inertials` does it where the meshes"
    )
    with pytest.raises(ModelError, match=message):
        load(path)
    path = model_file(folder, "../../../../x.stl", rule="convex")
    with pytest.raises(ModelError, match="leads outside"):
        load(path)
    with pytest.raises(ModelError, match="because the model was given as text"):
        load(model_file(folder, "iron.obj", rule="convex").read_text())


def test_written_inertials_replace_the_meshes(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, written = model_file(folder, "iron.obj", rule="exact"), tmp_path / "w.xml"
    with pytest.raises(SystemExit):
        main(["write-inertials", str(given), "-o", str(written)])
    assert "wrote the inertia of 1 body" in " ".join(capsys.readouterr().out.split())
    ours, theirs = (
        load(p, conventions="mujoco").description.bodies[0].inertial
        for p in (written, given)
    )
    assert ours is not None
    assert theirs is not None
    assert ours.mass == theirs.mass
    np.testing.assert_array_equal(ours.inertia, theirs.inertia)
