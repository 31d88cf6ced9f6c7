"""American spelling, in names, messages, comments and pages alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.pages import REPOSITORY

FOLDERS = ("src", "docs", "examples", "tests", "benchmarks")
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (REPOSITORY / folder).rglob("*")
    if path.suffix in {".py", ".md"} and path != Path(__file__).resolve()
)
PAGES = [REPOSITORY / f"{n}.md" for n in ("README", "CONTRIBUTING", "CHANGELOG")]

BRITISH = re.compile(
    r"colour|centre|behaviour|neighbour|favour|honour|labell|modell|travell|cancell"
    r"|signall|metre|grey|licence|artefact|catalogue|whilst|judgement|fulfils"
    r"|analys(?:e|ed|es|ing)\b|[a-z]{3,}is(?:e|ed|es|er|ing|ation|ations)(?![a-z])",
    re.I,
)
AMERICAN = re.compile(
    r"(?:rais|promis|nois|ris|aris|wis|advis|precis|exercis|compromis|revis|supervis"
    r"|surpris|compris|cruis|devis|disguis|concis|premis|televis|excis|pois|praise)"
    r"(?:e|ed|es|er|ing)$"
    r"|cancellation$",
    re.I,
)
"""words that end the same way in both"""


@pytest.mark.parametrize("folder", [*FOLDERS, "pages"])
def test_words_are_spelled_the_american_way(folder: str) -> None:
    root = REPOSITORY / folder
    files = PAGES if folder == "pages" else [f for f in FILES if root in f.parents]
    assert files
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {match[0]}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in BRITISH.finditer(line)
        if not AMERICAN.search(match[0])
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("word", ["normalise", "colours", "factorisation", "centred"])
def test_the_list_knows_british_words(word: str) -> None:
    match = BRITISH.search(word)
    assert match is not None
    assert not AMERICAN.search(match[0])


def test_nothing_carries_the_former_name() -> None:
    """The changelog alone may say what the project was called before version 0.3."""
    former = re.compile("rami" + "fy", re.I)
    names = ("src", "docs", "examples", "tests", "benchmarks", ".ci")
    files = [p for n in names for p in (REPOSITORY / n).rglob("*") if p.is_file()]
    files += [p for p in REPOSITORY.iterdir() if p.is_file()]
    found = [
        str(path.relative_to(REPOSITORY))
        for path in files
        if path.name != "CHANGELOG.md" and "__pycache__" not in path.parts
        if former.search(str(path.relative_to(REPOSITORY)))
        or former.search(path.read_text("utf-8", errors="ignore"))
    ]
    assert len(files) > 500
    assert not found, "\n".join(found)
