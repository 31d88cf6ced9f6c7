"""No command destroys its input: outputs that are, hold or lie in one are refused."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ramidyn.cli import main

URDF = (
    '<robot name="arm"><link name="a"/><link name="b"><inertial><mass value="2"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    "</robot>"
)
MJCF = (
    '<mujoco><include file="{}"/><asset><mesh name="m" file="m.obj"/></asset>'
    '<worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
)
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def save_npy(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.ones((9, 3)))


def save_zarr(path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(str(path))
    for name in ("q", "qd", "qdd"):
        group.create_array(name, data=np.ones((9, 1)))


def save_parquet(path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path.mkdir(parents=True)
    table = arrow.table({name: [[1.0]] * 9 for name in ("q", "qd", "qdd")})
    parquet.write_table(table, path / "part.parquet")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(URDF)
    Path("m.obj").write_text(TETRAHEDRON)
    Path("other.xml").write_text("<mujoco/>")
    Path("arm.xml").write_text(MJCF.format("other.xml"))
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in folder.rglob("*")
        if p.is_file()
    }


def refuse(here: Path, command: str, message: str, capsys: object) -> None:
    """Assert that a command is refused, with a message, and changes nothing."""
    before = contents(here)
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    assert ended.value.code == 2
    said = " ".join(capsys.readouterr().err.split())  # type: ignore[attr-defined]
    assert message in said
    assert contents(here) == before


def link(name: str) -> Callable[[Path], None]:
    """Return a function that links a name to a path."""
    return lambda path: Path(name).symlink_to(path, target_is_directory=path.is_dir())


MAPPED = {
    "itself": (save_npy, "s.npy", "s.npy", None, "is"),
    "itself zarr": (save_zarr, "s.zarr", "s.zarr", None, "is"),
    "folder above": (save_npy, "o.zarr/s.npy", "o.zarr", None, "holds"),
    "progress above": (save_npy, "o.npy.progress/s.npy", "o.npy", None, "holds"),
    "link": (save_npy, "s.npy", "l.npy", link("l.npy"), "is"),
    "link zarr": (save_zarr, "s.zarr", "l.zarr", link("l.zarr"), "is"),
    "hard link": (save_npy, "s.npy", "h.npy", lambda p: Path("h.npy").hardlink_to(p),
                  "is"),
    "link above": (save_npy, "d/s.npy", "o.zarr", lambda p: link("o.zarr")(p.parent),
                   "holds"),
    "inside": (save_parquet, "s.parquet", "s.parquet/part.parquet", None, "is inside"),
    "folder of links": (
        save_parquet, "s.parquet", "o.parquet",
        lambda p: (
            shutil.copytree(p, "o.parquet"),
            (p / "part.parquet").unlink(),
            (p / "part.parquet").symlink_to(Path("o.parquet/part.parquet").resolve()),
        ),
        "holds",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MAPPED)
@pytest.mark.parametrize("option", ["--overwrite", "--resume", ""])
def test_map_never_destroys_its_states(
    case: str, option: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save, states, output, prepare, relation = MAPPED[case]
    save(Path(states))
    if prepare is not None:
        prepare(Path(states).resolve())
    command = f"map arm.urdf {states} -o {output} {option}"
    refuse(here, command, f"the output {relation} the input {states}", capsys)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("map o.zarr/arm.urdf s.npy -o o.zarr --overwrite", "holds the input o.zarr/"),
        ("sample o.zarr/arm.urdf -n 9 -o o.zarr --overwrite", "holds the input o.zar"),
        ("explain arm.urdf --html arm.urdf", "the output is the input arm.urdf"),
        ("view arm.urdf --save arm.urdf", "the output is the input arm.urdf"),
        ("write-inertials arm.xml -o arm.xml", "the output is the input arm.xml"),
        ("write-inertials arm.xml -o l.xml", "the output is the input arm.xml"),
        ("write-inertials arm.xml -o other.xml", "the output is the input"),
        ("write-inertials arm.xml -o m.obj", "the output is the input"),
        ("view arm.urdf --save m.obj", "exists and is not an HTML page"),
        ("explain arm.urdf --html m.obj", "exists and is not an HTML page"),
        ("write-inertials arm.xml -o s.npy", "exists and is not an XML file"),
        ("papers negrut --html m.obj", "exists and is not an HTML page"),
        ("papers negrut --markdown m.obj", "exists and is not a Markdown page"),
        ("export-c arm.urdf -o .", "not from an earlier export of this name"),
        ("export-c arm.urdf -o arm.urdf", "Directory 'arm.urdf' is a file"),
        ("export-library arm.urdf -o . --name e", "'e.h' exists and is not from an"),
    ],
)
def test_a_command_never_destroys_the_robot(
    command: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_npy(Path("s.npy"))
    Path("o.zarr").mkdir()
    shutil.copy("arm.urdf", "o.zarr")
    Path("l.xml").symlink_to("arm.xml")
    Path("e.h").symlink_to("arm.urdf")
    refuse(here, command, message, capsys)


def test_a_library_replaces_only_files_of_an_export(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("e.h").write_text("/* Generated by Ramidyn 0: an earlier export */\n")
    Path("eConfig.cmake").write_text("# somebody else's\n")
    message = "'eConfig.cmake' exists and is not from an earlier export"
    refuse(here, "export-library arm.urdf -o . --name e", message, capsys)


def test_inertias_are_written_beside_the_model(here: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["write-inertials", "arm.xml", "-o", "whole.xml"])
    assert not ended.value.code
    assert "<inertial" in (here / "whole.xml").read_text()
