"""Quantities of states on disk: .npy and .npz, in this process; and what is refused."""

from __future__ import annotations

import errno
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.cli import main
from ramidyn.errors import Error
from ramidyn.out_of_core import sinks
from ramidyn.out_of_core.chunks import Journal, checksum
from ramidyn.out_of_core.sources import package

ROWS, CHUNK = 5000, 700
URDF = (
    '<robot name="arm"><link name="a"/><link name="b"><inertial><mass value="2"/>'
    '<origin xyz="0 0 0.3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial></link><joint name="j" type="revolute"><parent link="a"/>'
    '<child link="b"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="2" velocity="3" effort="4"/></joint></robot>'
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(URDF)
    return tmp_path


@pytest.fixture
def states(here: Path, rng: np.random.Generator) -> np.ndarray:
    table = rng.normal(size=(ROWS, 3))
    np.save(here / "states.npy", table)
    return table


def ran(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def mapped(*arguments: str, states: str = "states.npy") -> int:
    return ran("map", "arm.urdf", states, "--chunk", str(CHUNK), *arguments)


def expected(states: np.ndarray) -> np.ndarray:
    q, qd, qdd = (states[:, k : k + 1] for k in range(3))
    return ramidyn.load("arm.urdf").inverse_dynamics(q, qd, qdd)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    out = capsys.readouterr()
    return " ".join((out.out + out.err).split())


# ------------------------------------------------------------ results


def test_results_equal_one_call_to_the_bit(states: np.ndarray) -> None:
    assert mapped("-o", "tau.npy") == 0
    np.testing.assert_array_equal(np.load("tau.npy"), expected(states))


def test_named_arrays_are_read_from_npz(states: np.ndarray) -> None:
    q, qd, qdd = (states[:, k : k + 1] for k in range(3))
    np.savez("states.npz", q=q, qd=qd, qdd=qdd, other=q)
    assert mapped("-o", "tau.npy", states="states.npz") == 0
    np.testing.assert_array_equal(np.load("tau.npy"), expected(states))


def test_several_quantities_lie_side_by_side(states: np.ndarray) -> None:
    names = ("-f", "inverse_dynamics", "-f", "kinetic_energy")
    assert mapped(*names, "-o", "both.npy") == 0
    found = np.load("both.npy")
    assert found.shape == (ROWS, 2)
    np.testing.assert_array_equal(found[:, :1], expected(states))


# ------------------------------------------------------------ resuming


def test_a_stopped_run_is_finished_without_repeating_chunks(
    states: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write, written = sinks._Npy.write, []

    def full(self: Any, chunk: int, arrays: Any) -> None:
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(chunk)
        write(self, chunk, arrays)

    monkeypatch.setattr(sinks._Npy, "write", full)
    assert mapped("-o", "tau.npy") == 2
    message = "tau.npy: the disk is full (No space left on device). Finished chunks"
    assert message in said(capsys)
    np.testing.assert_array_equal(  # what is finished is valid
        np.load("tau.npy")[: 3 * CHUNK], expected(states)[: 3 * CHUNK]
    )
    again: list[int] = []
    monkeypatch.setattr(
        sinks._Npy, "write", lambda *a: (again.append(a[1]), write(*a))[1]
    )
    assert ran("map", "arm.urdf", "states.npy", "-o", "tau.npy", "--resume") == 0
    assert again == [3, 4, 5, 6, 7]
    assert "3 chunks were there already" in said(capsys)
    np.testing.assert_array_equal(np.load("tau.npy"), expected(states))


def test_a_corrupt_chunk_is_named_and_computed_again(
    states: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mapped("-o", "tau.npy") == 0
    table = np.load("tau.npy", mmap_mode="r+")
    table[2 * CHUNK + 5] += 1e-9
    table.flush()
    del table
    assert mapped("-o", "tau.npy", "--resume") == 0
    text = said(capsys)
    assert "1 chunks have changed since they were written, and are computed" in text
    assert "again: 2" in text
    np.testing.assert_array_equal(np.load("tau.npy"), expected(states))


@pytest.mark.parametrize("size", [3 * CHUNK * 8, 10])
def test_a_truncated_output_is_computed_again(
    states: np.ndarray, size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mapped("-o", "tau.npy") == 0
    with Path("tau.npy").open("r+b") as file:
        file.truncate(size)
    assert mapped("-o", "tau.npy", "--resume") == 0
    assert "8 chunks have changed since they were written" in said(capsys)
    np.testing.assert_array_equal(np.load("tau.npy"), expected(states))


@pytest.mark.usefixtures("states")
def test_an_output_that_exists_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert mapped("-o", "tau.npy") == 0
    assert mapped("-o", "tau.npy") == 2
    assert "tau.npy: exists; use --resume to finish it, or --overwrite" in said(capsys)
    assert mapped("-o", "tau.npy", "--overwrite") == 0


@pytest.mark.usefixtures("states")
def test_an_output_of_somebody_else_is_not_resumed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save("tau.npy", np.zeros(3))
    assert mapped("-o", "tau.npy", "--resume") == 2
    assert "this output was not begun by ramidyn; use --overwrite" in said(capsys)


@pytest.mark.usefixtures("states")
def test_another_plan_is_not_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert mapped("-o", "tau.npy") == 0
    resumed = ("map", "arm.urdf", "states.npy", "-o", "tau.npy", "--resume")
    assert ran(*resumed, "--chunk", "600") == 2
    assert "it was begun otherwise: chunk was 700, is 600; use" in said(capsys)


def stop_after(chunks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be full after some chunks."""
    write, written = sinks._Npy.write, []

    def full(self: Any, chunk: int, arrays: Any) -> None:
        if len(written) == chunks:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(chunk)
        write(self, chunk, arrays)

    monkeypatch.setattr(sinks._Npy, "write", full)


@pytest.mark.parametrize("row", [0, 2 * CHUNK + 3, None])
def test_states_that_changed_are_not_resumed(
    row: int | None,
    states: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        assert mapped("-o", "tau.npy") == 2
    said(capsys)
    before = Path("tau.npy").read_bytes()
    changed = states.copy()
    changed[slice(None) if row is None else row] += 1e-9
    np.save("states.npy", changed)
    assert mapped("-o", "tau.npy", "--resume") == 2
    chunk = (row or 0) // CHUNK
    rows = f"states {chunk * CHUNK:,} to {(chunk + 1) * CHUNK - 1:,} of "
    text = said(capsys)
    assert f"tau.npy: --resume, but {rows}" in text
    assert "have changed since their results were written, which would mix" in text
    assert Path("tau.npy").read_bytes() == before
    assert mapped("-o", "tau.npy", "--overwrite") == 0
    np.testing.assert_array_equal(np.load("tau.npy"), expected(changed))


def test_a_copied_folder_is_resumed(
    states: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        assert mapped("-o", "tau.npy") == 2
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path, copy)  # other paths, and other times of files
    monkeypatch.chdir(copy)
    np.save("states.npy", states.astype(">f8"))  # the same numbers
    again: list[int] = []
    write = sinks._Npy.write
    monkeypatch.setattr(
        sinks._Npy, "write", lambda *a: (again.append(a[1]), write(*a))[1]
    )
    assert mapped("-o", "tau.npy", "--resume") == 0
    assert again == [3, 4, 5, 6, 7]
    np.testing.assert_array_equal(np.load("tau.npy"), expected(states))


@pytest.mark.usefixtures("here")
def test_random_states_within_other_limits_are_not_resumed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sampled = ("sample", "arm.urdf", "-n", "9000", "-o", "a.npy", "--chunk", "4096")
    assert ran(*sampled) == 0
    Journal(Path("a.npy")).forget(1)
    Path("arm.urdf").write_text(URDF.replace('velocity="3"', 'velocity="5"'))
    assert ran(*sampled, "--resume") == 2
    assert "it was begun otherwise: robot was 'arm " in said(capsys)


@pytest.mark.parametrize("option", ["", "--resume"])
def test_an_output_that_was_removed_is_computed_anew(
    option: str, states: np.ndarray
) -> None:
    assert mapped("-o", "tau.npy") == 0
    Path("tau.npy").unlink()  # and tau.npy.progress stays
    assert mapped("-o", "tau.npy", *option.split()) == 0
    np.testing.assert_array_equal(np.load("tau.npy"), expected(states))


@pytest.mark.usefixtures("states")
def test_progress_is_not_noted_among_other_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("tau.npy.progress").mkdir()
    Path("tau.npy.progress/diary.txt").write_text("mine")
    assert mapped("-o", "tau.npy", "--overwrite") == 2
    assert "tau.npy.progress: this folder, where the progress would be" in said(capsys)
    assert Path("tau.npy.progress/diary.txt").read_text() == "mine"


# ------------------------------------------------------------ random states


@pytest.mark.usefixtures("here")
def test_random_states_do_not_depend_on_chunks_and_are_within_limits() -> None:
    for name, chunk in (("a.npy", "4096"), ("b.npy", "8192"), ("c.npy", "777")):
        sampled = ("sample", "arm.urdf", "-n", "9e3", "--chunk", chunk, "-o", name)
        assert ran(*sampled, "-f", "forward_dynamics", "--seed", "3") == 0
    a, b = np.load("a.npy"), np.load("b.npy")
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, np.load("c.npy"))
    q, qd, tau, qdd = (a[:, k : k + 1] for k in range(4))
    assert (q.min(), q.max()) == (
        pytest.approx(-1, abs=0.01),
        pytest.approx(2, abs=0.01),
    )
    assert (abs(qd).max(), abs(tau).max()) == (
        pytest.approx(3, abs=0.01),
        pytest.approx(4, abs=0.01),
    )
    robot = ramidyn.load("arm.urdf")
    np.testing.assert_array_equal(qdd, robot.forward_dynamics(q, qd, tau))
    assert len(np.unique(q)) == len(q)  # blocks have seeds of their own


# ------------------------------------------------------------ what is refused

BAD_STATES = {
    "wide.npy": (
        lambda p: np.save(p, np.zeros((4, 5))),
        r"shape \(4, 5\); expected \(rows, 3\): q \(1\), qd \(1\), qdd \(1\) side by",
    ),
    "words.npy": (
        lambda p: np.save(p, np.full((4, 3), "x")),
        r"the table has dtype <U1; expected float64 or another real number",
    ),
    "broken.npy": (
        lambda p: Path(p).write_bytes(b"\x93NUMPY\x01\x00truncated"),
        r"broken.npy: cannot be read: ",
    ),
    "broken.npz": (
        lambda p: Path(p).write_bytes(b"PK\x03\x04 and nothing else"),
        r"broken.npz: cannot be read: File is not a zip file",
    ),
    "damaged.npz": (
        lambda p: (
            np.savez(p, q=np.zeros((4, 1)), qd=np.zeros((4, 1)), qdd=np.zeros((4, 1))),
            Path(p).write_bytes(Path(p).read_bytes().replace(bytes(32), b"\1" * 32)),
        ),
        r"damaged.npz: cannot be read: Bad CRC-32 for file 'q.npy'",
    ),
    "lacks.npz": (
        lambda p: np.savez(p, q=np.zeros((4, 1))),
        r"no array 'qd'; it has q. Needed: q \(1\), qd \(1\), qdd \(1\)",
    ),
    "wide.npz": (
        lambda p: np.savez(p, q=np.zeros((4, 2)), qd=np.zeros((4, 1)), qdd=np.zeros(4)),
        r"array 'q' has shape \(4, 2\); expected \(rows, 1\)",
    ),
    "uneven.npz": (
        lambda p: np.savez(
            p, q=np.zeros((4, 1)), qd=np.zeros((5, 1)), qdd=np.zeros((4, 1))
        ),
        r"arrays of different lengths: \{'q': 4, 'qd': 5, 'qdd': 4\}",
    ),
    "none.npy": (lambda p: np.save(p, np.zeros((0, 3))), "there are no states in it"),
    "states.csv": (lambda _: None, r"expected one of .zarr, .npy, .npz, .parquet"),
    "missing.npy": (lambda _: None, "missing.npy: no such file"),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", BAD_STATES)
def test_bad_states_are_named_with_what_is_expected(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write, message = BAD_STATES[name]
    write(name)
    assert mapped("-o", "tau.npy", states=name) == 2
    assert re.search(message, said(capsys))
    assert not Path("tau.npy").exists()


BAD_OPTIONS = {
    "map arm.urdf states.npy -o t.csv": "t.csv: expected one of .zarr, .npy, .parquet",
    "sample arm.urdf -n 0 -o t.npy": "-n is 0; expected a whole number of states",
    "sample arm.urdf -n nan -o t.npy": "-n is nan; expected a whole number of states",
    "sample arm.urdf -n inf -o t.npy": "-n is inf; expected a whole number of states",
    "sample arm.urdf -n 1e15 -o t.npy": "rows need 32,000,000.0 GB; free on the disk",
    "sample arm.urdf -n 9 -o t.npy --workers 9999": "9999 is not in the range 0<=x<=10",
    "sample arm.urdf -n 9 -o t.npy --seed -1": "--seed is -1; expected 0 or more",
    "sample arm.urdf -n 9 -o t.npy -f regresor": "no quantity 'regresor'.",
    "sample arm.urdf -n 9 -o t.npy -f difference_derivatives": "cannot be drawn; poss",
}


@pytest.mark.usefixtures("states")
@pytest.mark.parametrize("command", BAD_OPTIONS)
def test_bad_options_are_told(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(*command.split()) == 2
    assert BAD_OPTIONS[command] in said(capsys)
    assert not Path("t.npy").exists()


@pytest.mark.usefixtures("states")
def test_what_does_not_fit_on_the_disk_replaces_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("t.npy").write_text("precious")
    assert ran("sample", "arm.urdf", "-n", "1e15", "-o", "t.npy", "--overwrite") == 2
    assert "free on the disk" in said(capsys)
    assert Path("t.npy").read_text() == "precious"


def test_a_journal_forgets_and_remembers(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "tau.npy")
    journal.start({"rows": 3})
    assert journal.plan() == {"rows": 3}
    assert journal.finished(0) is None
    journal.finish(0, [np.zeros(3)], [np.ones(3)])
    assert journal.finished(0) == (checksum([np.zeros(3)]), checksum([np.ones(3)]))
    assert journal.is_of(0, [np.ones(3)])
    assert not journal.is_of(0, [np.zeros(3)])
    journal.forget(0)
    assert journal.finished(0) is None


def test_loops_cannot_be_sampled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "loop.urdf"
    held = '<loop name="l" type="coupling" joint="j" coefficients="0"/></robot>'
    path.write_text(URDF.replace("</robot>", held))
    assert ran("sample", str(path), "-n", "9", "-o", str(tmp_path / "a.npy")) == 2
    assert "has closed loops; random states would not close them" in said(capsys)


@pytest.mark.parametrize(
    ("version", "remedy"),
    [
        ((3, 10, 13), "needs zarr 3, and so Python 3.11 or later"),
        ((3, 11, 0), 'needs the package zarr: pip install "ramidyn[bulk]"'),
    ],
)
def test_without_zarr_the_message_names_the_remedy(
    version: tuple[int, ...], remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zarr", None)
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(Error, match=re.escape(f"states.zarr {remedy}")):
        package("zarr", "states.zarr")
