"""What commands print fits 80 columns, and nothing is cropped to make it fit."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from ramidyn import progress
from ramidyn.cli import main, screen
from support.paths import SHARED_ROBOTS

WIDTH = 80
Run = Callable[..., str]

ARM = """<robot name="arm_of_a_long_name">
<link name="base"><inertial><mass value="3"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="arm"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Run:
    """Run a command line 80 columns wide; give all that it prints."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(ARM)

    def call(*arguments: str) -> str:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        out, err = capsys.readouterr()
        assert not exit_.value.code, err
        return out + err

    return call


def assert_fits(text: str) -> None:
    for line in text.splitlines():
        assert len(line) <= WIDTH, line
    assert "…" not in text


@pytest.mark.parametrize(
    "name",
    [
        "panda/panda.urdf",
        "minitaur/minitaur.urdf",
        "pr2/pr2.urdf",
        "cassie/cassie.xml",
        "g1_with_hands/g1_with_hands.xml",
        "shadow_hand/right_hand.xml",
    ],
)
def test_info_of_a_real_robot_fits_and_keeps_every_name(name: str, run: Run) -> None:
    path = SHARED_ROBOTS / name
    if not path.exists():
        pytest.skip("no shared robots")
    text = run("info", str(path))
    assert_fits(text)
    found = json.loads(run("info", "--json", str(path)))
    names = [x["name"] for x in (*found["joints"], *found["bodies"], *found["loops"])]
    words = set(text.replace(",", " ").split())
    assert set(names) | set(found["frames"]) <= words


@pytest.mark.parametrize(
    "command",
    [
        "explain arm.urdf --root floating --frames arm",
        pytest.param("explain humanoid30 --frames left_hand", marks=pytest.mark.slow),
        "compile arm.urdf -f forward_dynamics -f pose:arm",
        "compile arm.urdf --fused -f forward_dynamics -f mass_matrix -f jacobian:arm",
        "check arm.urdf --root floating --states 2",
        "bench arm.urdf --quick --batch 8",
        pytest.param("demo --quick", marks=pytest.mark.slow),
        pytest.param("papers featherstone wensing", marks=pytest.mark.slow),
        "papers negrut notes",
        "cache",
        "export-c arm.urdf -o out",
    ],
    ids=lambda c: "_".join(c.split()[:2]),
)
def test_a_command_fits(command: str, run: Run) -> None:
    assert_fits(run(*command.split()))


COLUMNS = ("quantity", *(f"column number {k}" for k in range(9)))
ROWS = [(f"row {r}", *(f"{r}{k},123,456" for k in range(9))) for r in range(3)]


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_table_keeps_every_column_and_figure(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    Console(file=out, width=width).print(screen.table("A title", COLUMNS, ROWS))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    assert all(cell in words for row in ROWS for cell in row[1:])
    assert {f"{k}" for k in range(9)} <= set(words)


def test_long_text_in_a_table_wraps_between_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    said = "the paper computes diagonal blocks in full, and so this is a long sentence"
    out = io.StringIO()
    rows = [("step one", "975 / 660", said), ("step two", "1", "the same")]
    Console(file=out, width=WIDTH).print(screen.table("", ("", "A", "why"), rows))
    assert_fits(out.getvalue())
    assert set(said.split()) <= set(out.getvalue().split())


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_compile_progress_keeps_quiet_under_a_progress_bar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    line = progress.ProgressLine("compiling forward_dynamics of arm", "parts")
    line.start -= 10.0
    line(1, 7)
    assert "compiling forward_dynamics of arm, 1 of 7 parts" in sys.stderr.getvalue()
    with progress.compile_progress_hidden():
        line(2, 7)
    assert "2 of 7" not in sys.stderr.getvalue()
    line(3, 7)
    assert "3 of 7" in sys.stderr.getvalue()


def test_the_bar_of_a_command_hides_compile_progress() -> None:
    with screen.progress(2):
        assert progress.ProgressLine.is_hidden
    assert not progress.ProgressLine.is_hidden


def test_a_stream_of_few_characters_takes_all_that_is_printed() -> None:
    """As a pipe of Windows is: the tree of a robot has lines that cp1252 lacks."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from ramidyn.cli import main; main()",
            "info",
            "chain30",
        ],
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"m/s\xb2" in done.stdout
