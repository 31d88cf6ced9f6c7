"""Markdown pages whose code runs, and the robots that they load."""

from __future__ import annotations

import re
from pathlib import Path

from ramidyn.catalog import paper_robots as robots
from ramidyn.cli.peers.urdf import urdf
from ramidyn.robot import Robot

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.M | re.S)
FILE = re.compile(r'^```\w+ title="([\w.]+)"\n(.*?)^```', re.M | re.S)

MJCF = """<mujoco model="arm"><compiler angle="radian"/>
<option><flag contact="disable"/></option>
<worldbody><body name="base" pos="0 0 1"><freejoint name="root"/>
<inertial pos="0 0 0.1" mass="4" diaginertia="0.1 0.2 0.3"/>
<body name="upper_arm" pos="0 0.2 0.3"><joint name="shoulder" type="ball"/>
<inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.01 0.002"/>
<body name="forearm" pos="0 0 -0.3"><joint name="elbow" axis="0 1 0" armature="0.01"/>
<inertial pos="0 0 -0.1" mass="0.7" diaginertia="0.008 0.008 0.001"/>
</body></body></body></worldbody></mujoco>"""


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of a language in a page."""
    text = page.read_text(encoding="utf-8")
    return [code for name, code in BLOCK.findall(text) if name == language]


def commands(page: Path) -> list[str]:
    """Return the ramidyn commands of a page in their order, without comments."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    indented = re.compile(r"^    (ramidyn .*)$", re.M)
    found = [(m.start(), m[1]) for m in indented.finditer(text)]
    for block in BLOCK.finditer(text):
        if block[1] == "console":
            lines = re.compile(r"^(ramidyn .*)$", re.M).finditer(block[2])
            found += [(block.start(2) + m.start(), m[1]) for m in lines]
    return [line.partition(" #")[0].strip() for _, line in sorted(found)]


def program(page: Path) -> str:
    """Return all Python blocks of a page as one program, at their own lines."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for match in BLOCK.finditer(text):
        if match[1] == "python":
            start = text[: match.start(2)].count("\n")
            code = match[2].splitlines()
            lines[start : start + len(code)] = code
    return "\n".join(lines)


def write_files(page: Path, folder: Path) -> None:
    """Put the files that a page tells its reader to save into a folder."""
    for name, text in FILE.findall(page.read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")


def write_robots(folder: Path) -> None:
    """Put the robots that pages and examples load into a folder."""
    made = robots.humanoid30("plain")
    description = made.description if isinstance(made, Robot) else made
    (folder / "robot.urdf").write_text(urdf(description), encoding="utf-8")
    (folder / "robot.xml").write_text(MJCF, encoding="utf-8")
