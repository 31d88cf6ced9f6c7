"""Names come from files: whatever is in them, what is printed is safe to print."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import tasks
from ramidyn.cli import main
from ramidyn.control import OperationalSpace
from ramidyn.errors import printable
from ramidyn.explain.counts import explain_operational
from ramidyn.function import ProgressLine
from ramidyn.robot import Robot
from ramidyn.tree.parameters import regroup_masses

HOSTILE = "\u202e\x9b31m\x7f\u2028\u200f\x85x"
"""reversed text, a color, a deletion, line breaks: all allowed in XML"""
INERTIAL = (
    '<inertial><origin xyz="0.1 0 0.2"/><mass value="1"/><inertia ixx="1" iyy="1" '
    'izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
URDF = (
    f'<robot name="r{HOSTILE}"><link name="a{HOSTILE}"/>'
    f'<link name="b{HOSTILE}&#10;c">{INERTIAL}</link><link name="d">{INERTIAL}</link>'
    f'<joint name="j{HOSTILE}" type="continuous"><parent link="a{HOSTILE}"/>'
    f'<child link="b{HOSTILE}&#10;c"/><axis xyz="0 1 0"/><dynamics damping="1"/>'
    f'</joint><joint name="k{HOSTILE}" type="continuous">'
    f'<parent link="b{HOSTILE}&#10;c"/><child link="d"/><axis xyz="1 0 0"/></joint>'
    f'<loop name="l{HOSTILE}" type="coupling" joint="k{HOSTILE}" coefficients="0"/>'
    "</robot>"
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ramidyn.load(URDF)


@pytest.fixture(scope="module")
def tree() -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start, end = URDF.index("<loop"), URDF.index("</robot>")
        return ramidyn.load(URDF[:start] + URDF[end:], passive=True)


def assert_safe(text: str) -> None:
    assert text
    assert [c for c in text if not c.isprintable() and c != "\n"] == []


def test_printable_escapes_controls_and_nothing_else() -> None:
    plain = "q̇ in rad/s², Λ⁻¹ └─ 関節\nnext line"
    assert printable(plain) == plain
    assert printable("a\u202eb\x1b[31m\t\udcff") == r"a\u202eb\x1b[31m\t\udcff"


def test_the_names_themselves_are_those_of_the_file(robot: Robot) -> None:
    assert robot.name == f"r{HOSTILE}"
    assert robot.joint(f"j{HOSTILE}").name == f"j{HOSTILE}"


SHOWN: dict[str, Callable[[Robot], object]] = {
    "str(robot)": str,
    "repr(robot)": repr,
    "joint": lambda r: repr(r.joint(f"j{HOSTILE}")),
    "function": lambda r: repr(ramidyn.compile(ramidyn.mass_matrix, r).prepare()),
    "method": lambda r: repr(r.mass_matrix),
    "run": lambda r: repr(r.rollout(np.zeros(r.nq), steps=2, dt=1e-3)),
    "base parameters": lambda r: str(r.base_parameters()),
    "regrouping": lambda r: str(regroup_masses(r.tree, is_moving=True)[1]),
    "operational": lambda r: str(explain_operational(r, f"b{HOSTILE}\nc")),
    "task": lambda _: str(tasks.Task(f"b{HOSTILE}\nc")),
    "controller": lambda r: repr(OperationalSpace(r, tasks.Task("d"), damping=0.1)),
    "quantity": lambda _: str(ramidyn.jacobian(f"b{HOSTILE}")),
    "forces": lambda r: repr(r.forces),
}


@pytest.mark.parametrize("what", SHOWN)
def test_objects_are_safe_to_print(what: str, tree: Robot) -> None:
    assert_safe(str(SHOWN[what](tree)))


def test_a_mechanism_is_safe_to_print(robot: Robot) -> None:
    for text in (str(robot), str(robot.mobility())):
        assert_safe(text)


def test_a_drawing_has_a_line_for_each_body(tree: Robot) -> None:
    assert sum("kg" in line and "─" in line for line in str(tree).splitlines()) == 2


def test_warnings_are_safe_to_print() -> None:
    with pytest.warns(ramidyn.ModelWarning, match=r"j.u202e") as caught:
        robot = ramidyn.load(URDF)
    for text in (*robot.warnings, *(str(w.message) for w in caught)):
        assert_safe(text)


FAULTS: dict[str, Callable[[Robot], Any]] = {
    "unknown frame": lambda r: r.jacobian(np.zeros(r.nq), "x"),
    "shape": lambda r: r.mass_matrix(np.zeros(9)),
    "unknown joint": lambda r: r.joint(f"x{HOSTILE}"),
    "path": lambda _: ramidyn.load(f"nowhere{HOSTILE}.urdf"),
    "file": lambda _: ramidyn.load(URDF.replace('link="d"', 'link="e"')),
    "twice": lambda _: ramidyn.load(URDF.replace('name="d"', f'name="a{HOSTILE}"')),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_errors_are_safe_to_print(fault: str, tree: Robot) -> None:
    with pytest.raises(ramidyn.Error) as caught:
        FAULTS[fault](tree)
    assert_safe(str(caught.value))


@pytest.mark.parametrize(
    "command",
    [
        "info FILE",
        "info FILE --json",
        "info nowhere\u202e.urdf",
        "compile FILE -f mass_matrix",
        "compile FILE -f pose:no\u202eframe",
        "explain FILE",
        "check FILE --states 2",
        "export-c FILE -o OUT",
        "sample FILE -n 9 -o s.npy",
        "nothing\u202e",
    ],
)
def test_commands_print_safely(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"file{HOSTILE}.urdf").write_text(URDF, encoding="utf-8")
    given = command.replace("FILE", f"file{HOSTILE}.urdf").replace("OUT", "\u202eout")
    with pytest.raises(SystemExit):
        main(given.split(" "))
    out, err = capsys.readouterr()
    assert_safe(out + err)


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_progress_is_safe_to_print(
    tree: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.delenv("RAMIDYN_PROGRESS", raising=False)
    line = ProgressLine(f"compiling mass_matrix of {tree.name}", "parts")
    line.start -= 2.0
    line(1, 2)
    line.percent(1, 2)
    shown = terminal.getvalue()
    assert shown.count("compiling mass_matrix of r") == 2
    assert_safe(shown.replace("\r", ""))
