"""States in zarr and parquet that are damaged or incomplete: one line says what."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn.errors import Error, ShapeError
from ramidyn.out_of_core.sources import open_source

INPUTS = (("q", (2,)), ("qd", (1,)))
RAMIDYN = [sys.executable, "-c", "from ramidyn.cli import main; main()"]
URDF = (
    '<robot name="arm"><link name="a"/><link name="b"><inertial><mass value="2"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    "</robot>"
)


# ------------------------------------------------------------ parquet


def parquet(folder: Path, q: Any, qd: Any = None) -> Path:
    arrow = pytest.importorskip("pyarrow")
    writer = pytest.importorskip("pyarrow.parquet")
    path = folder / "s.parquet"
    rest = [[0.0]] * len(q) if qd is None else qd
    table = arrow.table({"q": q, "qd": rest})
    writer.write_table(table, path, row_group_size=2)
    return path


BAD_ROWS: dict[str, tuple[Any, Any, str]] = {
    "unequal": ([[1.0, 2], [3, 4], [5], [6, 7, 8]], None, "'q' has 1 numbers in row 2"),
    "longer": ([[1.0, 2], [3, 4, 5], [6], [7, 8]], None, "'q' has 3 numbers in row 1"),
    "null row": ([[1.0, 2], [3, 4], None, [5, 6]], None, "'q' is null in row 2"),
    "null and long": ([[1.0, 2, 3, 4], None], None, "'q' has 4 numbers in row 0"),
    "null number": ([[1.0, 2], [3, None]], None, "'q' has a null in row 1"),
    "null plain": ([[1.0, 2]] * 3, [1.0, 2.0, None], "'qd' is null in row 2"),
    "nested": ([[[1.0], [2.0]]], None, "column 'q' has dtype object"),
    "words": ([["a", "b"]], None, "column 'q' has dtype object"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_every_row_of_a_column_is_checked(case: str, tmp_path: Path) -> None:
    q, qd, message = BAD_ROWS[case]
    source = open_source(parquet(tmp_path, q, qd), INPUTS)
    with pytest.raises(ShapeError, match=message):
        source.read(0, source.rows)


def test_fixed_lists_with_a_null_are_refused(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    fixed = arrow.list_(arrow.float64(), 2)
    path = parquet(tmp_path, arrow.array([[1, 2], None, [3, 4]], fixed))
    source = open_source(path, INPUTS)
    with pytest.raises(ShapeError, match=r"'q' is null in row 1; expected 2 numbers"):
        source.read(0, 3)


@pytest.mark.parametrize("kind", ["list_", "large_list", "fixed"])
def test_whole_rows_are_read_across_row_groups(kind: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    number = arrow.float64()
    kinds = {
        "list_": arrow.list_(number),
        "large_list": arrow.large_list(number),
        "fixed": arrow.list_(number, 2),
    }
    rows = np.arange(10.0).reshape(5, 2)
    path = parquet(tmp_path, arrow.array(rows.tolist(), kinds[kind]), [1, 2, 3, 4, 5])
    q, qd = open_source(path, INPUTS).read(1, 4)
    np.testing.assert_array_equal(q, rows[1:4])
    np.testing.assert_array_equal(qd[:, 0], [2, 3, 4])


# ------------------------------------------------------------ zarr


def group(path: Path, version: int) -> None:
    zarr = pytest.importorskip("zarr")
    made = zarr.create_group(str(path), zarr_format=version)
    for name in ("q", "qd", "qdd"):
        made.create_array(name, data=np.sqrt(np.arange(9.0))[:, None], chunks=(3, 1))


def spoil_codec(path: Path) -> None:
    for file in (*path.glob("*/zarr.json"), *path.glob("*/.zarray")):
        about = json.loads(file.read_text())
        if "codecs" in about:
            about["codecs"].append({"name": "nothing", "configuration": {}})
        else:
            about["compressor"] = {"id": "nothing"}
        file.write_text(json.dumps(about))


def spoil_data(path: Path) -> None:
    for file in path.glob("*/**/*"):
        if file.is_file() and not file.name.startswith((".z", "zarr.json")):
            file.write_bytes(file.read_bytes()[:5])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_codec, "s.zarr: cannot be read: "),
        (spoil_data, "s.zarr: states 0 to 8 cannot be read: "),
    ],
)
def test_a_zarr_that_cannot_be_read_is_told_in_one_line(
    version: int, spoil: Any, message: str, tmp_path: Path
) -> None:
    (tmp_path / "arm.urdf").write_text(URDF)
    group(tmp_path / "s.zarr", version)
    spoil(tmp_path / "s.zarr")
    done = subprocess.run(
        [*RAMIDYN, "map", "arm.urdf", "s.zarr", "-o", "o.npy"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_arrays_that_are_not_needed_may_be_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "s.zarr"
    group(path, 3)
    spoil_codec(path)
    for name in ("q", "qd"):
        file = path / name / "zarr.json"
        about = json.loads(file.read_text())
        about["codecs"].pop()
        file.write_text(json.dumps(about))
    assert open_source(path, (("q", (1,)), ("qd", (1,)))).rows == 9
    with pytest.raises(Error, match=r"no array 'tau'; it has q, qd, qdd. Needed: tau"):
        open_source(path, (("tau", (1,)),))
