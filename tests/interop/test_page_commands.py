"""The commands of every page run, in the order of the page."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.pages import MJCF, REPOSITORY, commands

ARM = """<robot name="arm">
<link name="base"><inertial><mass value="3"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="arm"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/></joint></robot>"""
RAMIDYN = [sys.executable, "-c", "from ramidyn.cli import main; main()"]
PAGES = {
    page: commands(page)
    for page in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
}
NEEDS = {"zarr": "zarr", "--workers": "distributed", "ramidyn view": "viser"}
SMALLER = {
    "-n 1e8": "-n 1e4",
    "--workers 4": "--workers 2",
    "ramidyn demo": "ramidyn demo --quick",
    "ramidyn bench": "ramidyn bench --quick --batch 8",
    "--ik panda_hand": "--ik arm",
    "g1.urdf": "robot.urdf",
    "--ik right_hand --hold left_foot --hold right_foot": "--ik arm --hold base",
}
"""what a page says, and what is run for it"""


def cases() -> list[Any]:
    found: list[Any] = []
    for page, lines in PAGES.items():
        is_slow = any("demo" in line or "check" in line for line in lines)
        marks = [pytest.mark.slow] if is_slow else []
        if lines and page.stem != "papers":  # another test compares what that writes
            found.append(pytest.param(page, marks=marks, id=page.stem))
    return found


@pytest.mark.parametrize("page", cases())
def test_commands_of_a_page_run_in_its_order(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for name in ("robot.urdf", "panda.urdf"):
        (tmp_path / name).write_text(ARM)
    (tmp_path / "robot.xml").write_text(MJCF)
    for line in PAGES[page]:
        for word, package in NEEDS.items():
            if word in line:
                pytest.importorskip(package)
        command = line
        for given, smaller in SMALLER.items():
            command = command.replace(given, smaller)
        if "--scheduler" in command:
            address = request.getfixturevalue("client").scheduler.address
            command = command.replace("tcp://host:8786", address)
        given = [*RAMIDYN, *shlex.split(command)[1:]]
        if "view" in given and "--save" not in given:
            view(given, tmp_path)
            continue
        done = subprocess.run(
            given, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def view(command: list[str], folder: Path) -> None:
    """Run a viewer until it says where it is, and interrupt it."""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.send_signal(signal.SIGINT)
    assert "http://127.0.0.1:" in said
    assert process.returncode == 130
