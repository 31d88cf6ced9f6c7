"""Examples: at most 60 lines, numbered, each says what it prints, and runs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import REPOSITORY, write_robots

EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))
LONGEST = 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_numbered_and_says_what_it_prints(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.match(r"\d\d_[a-z0-9_]+\.py$", path.name)
    assert len(text.splitlines()) <= LONGEST
    assert "rint" in (ast.get_docstring(ast.parse(text)) or ""), "what does it print?"


def test_numbers_are_used_once() -> None:
    numbers = [p.name[:2] for p in EXAMPLES]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    write_robots(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
