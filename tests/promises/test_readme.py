"""The README: its code runs, its two commands are what they should be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.pages import REPOSITORY, blocks, program

README = REPOSITORY / "README.md"
DEMO = "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/ramidyn demo"
TESTS = (
    "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && "
    ".venv/bin/python -m pytest -q -n auto"
)


def test_its_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # empty: it needs no file
    code = program(README)
    assert 5 <= len([x for x in code.splitlines() if x.strip()]) <= 14
    exec(compile(code, str(README), "exec"), {"__name__": "__main__"})


def test_its_two_commands_stand_alone() -> None:
    lines = [x.strip() for x in README.read_text(encoding="utf-8").splitlines()]
    assert lines.count(DEMO) == 1
    assert lines.count(TESTS) == 1


def test_it_opens_with_a_moving_picture() -> None:
    found = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    (moving,) = (REPOSITORY / path for path in found)
    assert moving.stat().st_size < 1_000_000
    assert moving.read_bytes().count(b"\x21\xf9\x04") > 20  # a GIF's frames


def test_readme_and_the_first_page_of_the_docs_say_the_same() -> None:
    page = REPOSITORY / "docs" / "index.md"
    home = page.read_text(encoding="utf-8")
    text = README.read_text(encoding="utf-8").replace("](docs/", "](")
    assert blocks(README, "python") == blocks(
        REPOSITORY / "docs" / "index.md", "python"
    )
    for part in ("## How fast", "## What it does not do"):
        said = (
            text.partition(part)[2].partition("<!-- end -->")[0].partition("\n## ")[0]
        )
        assert said in home


HEADS = {
    "README.md": "| forward dynamics, µs per state |",
    "docs/index.md": "| forward dynamics, µs per state |",
    "docs/benchmarks.md": "| robot | DoF |",
}


@pytest.mark.parametrize("page", HEADS)
def test_its_table_says_where_it_comes_from(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    start = "<!-- speed: python benchmarks/dynamics.py --readme -->"
    assert text.count(start) == 1
    block = text.split(start)[1].split("<!-- end -->")[0]
    assert HEADS[page] in block
    assert re.search(r"20\d\d-\d\d-\d\d", block), "no date"
