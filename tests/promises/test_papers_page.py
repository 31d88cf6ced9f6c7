"""All counts of ``ramidyn papers`` are those of docs/papers.md."""

from __future__ import annotations

import pytest

from ramidyn.cli.papers_ import HEAD
from ramidyn.papers import PAPERS, sections
from ramidyn.papers.document import Section, markdown
from ramidyn.papers.notes import robots_in, saved_by_regrouping
from support.pages import REPOSITORY
from support.paths import SHARED_ROBOTS

PAGE = REPOSITORY / "docs" / "papers.md"


def check(found: list[Section]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for section in found:
        text = markdown([section], "", "images")
        assert text.strip() in page, section.title


def test_the_page_begins_with_how_it_is_made() -> None:
    assert PAGE.read_text(encoding="utf-8").startswith(HEAD + "\n\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_the_page_has_the_counts_of_today(name: str) -> None:
    check(PAPERS[name]())


@pytest.mark.slow
def test_the_page_has_the_verdicts_of_today() -> None:
    check(sections()[-1:])


@pytest.mark.slow
@pytest.mark.skipif(not SHARED_ROBOTS.exists(), reason="no folder of shared robots")
def test_the_page_has_the_savings_of_shared_robots() -> None:
    robots = robots_in(SHARED_ROBOTS)
    check([saved_by_regrouping(robots, f", {len(robots)} robots of files")])
