"""Every item of the documents has an entry, and no verdict is written down."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import ramidyn
from ramidyn import linalg
from ramidyn.papers import ITEMS, PARTS, items, references
from ramidyn.papers.document import Section, Table
from ramidyn.papers.items import Finding, agree, claim, equal, items_section, section
from support.pages import REPOSITORY

SRC = Path(ramidyn.__file__).parent
COUNTS = {
    "Featherstone 2005": 56,
    "Wensing": 24,
    "Chang": 19,
    "Negrut": 32,
    "notes": 14,
}
PAGE = REPOSITORY / "docs" / "papers.md"


def test_every_item_has_an_entry() -> None:
    assert len(ITEMS) == 145
    for word, n in COUNTS.items():
        assert sum(word in item.document for item in ITEMS) == n
    named = {(item.document, item.name) for item in ITEMS}
    assert len(named) == 145


def test_every_item_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for number, item in enumerate(ITEMS, 1):
        assert f"| {number} | {item.name} | `{item.where}` | " in page, item.name


@pytest.mark.parametrize("where", sorted({item.where for item in ITEMS}))
def test_an_item_is_where_it_is_said_to_be(where: str) -> None:
    if where.endswith(".py"):
        assert (SRC / where).is_file()
    elif where.startswith("linalg."):
        assert hasattr(linalg, where.removeprefix("linalg."))
    else:
        assert hasattr(ramidyn, where.removeprefix("ramidyn."))


def calls(tree: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call)]


@pytest.mark.parametrize("path", sorted((SRC / "papers").glob("items*.py")))
def test_no_verdict_is_a_literal(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in calls(tree):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name == "claim":
            met = call.args[2]
            assert not isinstance(met, ast.Constant), ast.unparse(call)
            assert {type(n) for n in ast.walk(met)} & {
                ast.Compare, ast.Call, ast.Name, ast.UnaryOp,
            }  # fmt: skip
        if name == "equal":
            constants = [isinstance(a, ast.Constant) for a in call.args]
            assert not all(constants), ast.unparse(call)
        if name == "Finding":  # made in one module only, of something computed
            assert path.name == "items.py"
            assert not isinstance(call.args[2], ast.Constant), ast.unparse(call)


def test_findings_say_what_was_compared() -> None:
    assert claim("a", "b", 1 + 1 == 3).verdict == "differs"
    assert equal(3, 1 + 2) == Finding("3", "3", "holds")
    assert agree("x", [1.0, 2.0], [1.0, 2.0 + 1e-12]).verdict == "holds"
    assert agree("x", [1.0, 2.0], [1.0, 2.1]).ours == "error 5e-02"


def one_section(*last: str) -> dict[str, Section]:
    rows = tuple((f"row {k}", v) for k, v in enumerate(last))
    made = Section("Some paper, Table 1", tables=(Table(("", ""), rows),))
    return {made.title: made}


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        (("the same", "holds"), "holds"),
        (("the same", "9% lower"), "holds, or ours is lower"),
        (("the same", "differs", "1% higher"), "differs in 2"),
        ((), "differs in 0"),
    ],
)
def test_a_section_is_folded_into_a_verdict(cells: Any, verdict: str) -> None:
    assert section("Table 1")(one_section(*cells)).verdict == verdict


def test_an_explained_row_that_differs_is_counted() -> None:
    found = items.explained("Table 1")(one_section("the same", "one product more"))
    assert found.verdict == "differs in 1, with notes"


def test_the_table_counts_what_holds() -> None:
    check = section("Table 1")
    made = tuple(items.Item("D", f"i{k}", "compiler.py", check) for k in range(2))
    found = items_section(made, one_section("the same"))
    assert "2 hold" in found.words
    assert found.tables[0].rows[1][0] == "2"


# ------------------------------------------------------------ references


def test_the_references_page_is_generated() -> None:
    page = (REPOSITORY / "docs" / "references.md").read_text(encoding="utf-8")
    assert page == references.page()


@pytest.mark.parametrize("module", references.MODULES)
def test_a_module_cites_its_sources(module: str) -> None:
    tree = ast.parse((SRC / module).read_text(encoding="utf-8"))
    said = ast.get_docstring(tree) or ""
    for name in references.MODULES[module]:
        assert references.REFERENCES[name][0] in said


def test_every_module_that_cites_is_on_the_page() -> None:
    author_and_year = re.compile(r"[A-Z][a-z]+[^.;:]{0,40}[ (](19|20)\d\d\b")
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if not name.startswith("papers/") and author_and_year.search(said):
            assert name in references.MODULES, f"add {name} to papers/references.py"


def test_every_source_is_used() -> None:
    used = {s for sources in references.MODULES.values() for s in sources}
    assert used | set(references.RELATED) == set(references.REFERENCES)
    assert all((SRC / m).is_file() for m in references.OURS)


def test_parts_are_sections_of_their_papers() -> None:
    assert PARTS["featherstone"]["table 1"]().title.endswith("Table 1")
    assert "Fig. 4" in PARTS["chang_khatib"]["figure 4"]().title
    assert "Table 3" in PARTS["negrut"]["table 3"]().title
    assert "Figs. 1 and 4" in PARTS["featherstone"]["figure 1"]().title
