"""Examples: at most 60 lines, numbered, each says what it prints, and runs."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import REPOSITORY, write_robots
from support.references import needs_shared_robots, path_of

EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))
PICTURES = sorted((REPOSITORY / "examples" / "pictures").glob("*.py"))
LONGEST = 60
FILES = {"15_cassie": "cassie"}
"""examples that take a robot's file, which they would download"""
LONG = ("13_vehicle", "15_cassie")


def marks_of(stem: str) -> list[pytest.MarkDecorator]:
    found = [needs_shared_robots] if stem in FILES else []
    return [*found, pytest.mark.slow] if stem in LONG else found


CASES = [pytest.param(p, marks=marks_of(p.stem), id=p.stem) for p in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_numbered_and_says_what_it_prints(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.match(r"\d\d_[a-z0-9_]+\.py$", path.name)
    assert len(text.splitlines()) <= LONGEST
    assert "rint" in (ast.get_docstring(ast.parse(text)) or ""), "what does it print?"


def test_numbers_count_from_one_without_gaps() -> None:
    numbers = [int(p.name[:2]) for p in EXAMPLES]
    assert numbers == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("path", CASES)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    write_robots(tmp_path)
    files = [str(path_of(FILES[path.stem]))] if path.stem in FILES else []
    assert run(path, tmp_path, *files).strip()


@pytest.mark.slow
@pytest.mark.parametrize("path", PICTURES, ids=lambda p: p.stem)
def test_a_picture_of_an_example_is_drawn(path: Path, tmp_path: Path) -> None:
    if path.stem == "viewer" and not shutil.which("chromium"):
        pytest.skip("Chromium is absent")
    run(path, tmp_path, "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def run(path: Path, folder: Path, *arguments: str) -> str:
    """Run a script in a folder and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
