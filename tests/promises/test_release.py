"""What a release says about itself: one name, one version, links that work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ramidyn
from ramidyn.errors import DISTRIBUTION, install_command

ROOT = Path(__file__).resolve().parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def entry(key: str) -> str:
    """Return a string of pyproject.toml."""
    found = re.search(rf'^{key} = "([^"]*)"', PROJECT, re.MULTILINE)
    assert found, f"pyproject.toml has no {key}"
    return found.group(1)


def test_one_constant_has_the_name_that_is_installed() -> None:
    assert entry("name") == DISTRIBUTION
    assert install_command("view") == 'pip install "ramidyn[view]"'
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(rf"pip install .?{DISTRIBUTION}\b", text), path


def test_install_commands_name_extras_that_exist() -> None:
    extras = PROJECT.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    known = set(re.findall(r"^([\w-]+) = ", extras, re.MULTILINE))
    asked = {
        name: path
        for folder in ("src", "docs", ".")
        for path in sorted(
            (ROOT / folder).glob("*.md" if folder != "src" else "**/*.py")
        )
        for name in re.findall(
            rf"(?:{DISTRIBUTION}\[|install_command\(')([a-z]+)",
            path.read_text(encoding="utf-8"),
        )
    }
    assert len(asked) > 5
    assert {n: p for n, p in asked.items() if n not in known} == {}


def test_one_version_is_everywhere() -> None:
    version = entry("version")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    if ramidyn.__version__ != "0":  # a source tree that is not installed
        assert re.fullmatch(r"\d+\.\d+\.\d+", ramidyn.__version__)


def test_links_of_the_readme_are_absolute_where_it_is_published() -> None:
    source = entry("Source")
    found = re.search(r"pattern = '([^']*)', replacement = '([^']*)'", PROJECT)
    assert found
    pattern, replacement = found.groups()
    assert replacement == rf"]({source}/\1)"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = re.sub(pattern, replacement, readme)
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert len(links) > 10
    assert [x for x in links if not x.startswith(("https://", "#"))] == []


@pytest.mark.parametrize("name", ["LICENSE", "SECURITY.md", "CITATION.cff"])
def test_files_that_a_release_needs_are_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 400


def test_each_version_has_highlights_and_what_to_migrate() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [v.split()[0] for v in versions] == ["0.3.0", "0.2.0", "0.1.0"]
    assert versions[0].split()[0] == entry("version")
    for k, section in enumerate(versions):
        assert section.split("\n\n")[1].startswith("**Highlights.**")
        tables = re.findall(r"^\|---", section, re.MULTILINE)
        assert len(tables) == (0 if section.startswith("0.1.0") else 1), k
        assert "### Added" in section
