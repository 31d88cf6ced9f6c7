"""Every item of the founding documents: where it is in Ramidyn, and whether it holds.

An item is an algorithm, a formula, a table, a figure, a claim or a remark. Its verdict
is computed when the table is made: by comparing two computations, or by the verdicts of
a section of the page (`Found`). None is written down.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ramidyn.description.description import Description
from ramidyn.papers.document import Section, Table, verdict
from ramidyn.robot import Robot

CLOSE = 1e-9
"""relative to the largest entry: two computations agree"""
SAME = ("the same", "holds", "cheaper")
LOWER = re.compile(r"^(\d+% |slightly )lower$")
OTHER = re.compile(r"^(\d+% |slightly )higher$|^differs$")


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """What the document says, what we find, and whether they agree."""

    printed: str
    ours: str
    verdict: str


Found = Mapping[str, Section]
"""the sections of the page, by title"""
Check = Callable[[Found], Finding]


Row = tuple[str, str, Check]
"""an item without its document: what it is, where it is, and how it is checked"""


@final
@dataclass(frozen=True, slots=True)
class Item:
    """One item: its document, what it is, where it is here, and how it is checked."""

    document: str
    name: str
    where: str
    """a module of the package, or a public name"""
    check: Check


def claim(printed: str, ours: str, is_met: bool) -> Finding:
    """Return a finding whose verdict is a comparison that was just made."""
    return Finding(printed, ours, verdict(is_met))


def equal(printed: object, ours: object) -> Finding:
    """Return a finding about two values that should be the same."""
    return claim(f"{printed}", f"{ours}", printed == ours)


def agree(what: str, a: Any, b: Any, tolerance: float = CLOSE) -> Finding:
    """Return a finding about two computations of the same numbers."""
    first, last = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    size = max(float(np.abs(last).max(initial=0.0)), 1e-300)
    error = float(np.abs(first - last).max(initial=0.0)) / size
    shown = f"equal to {tolerance:.0e}" if error <= tolerance else f"error {error:.0e}"
    return claim(what, shown, error <= tolerance)


def robot_of(description: Description) -> Any:
    """Return a robot of the catalog, untyped: its arrays meet NumPy's functions."""
    return Robot.from_description(description)


def section(
    title: str, table: int | None = None, row: str | tuple[str, ...] = ""
) -> Check:
    """Return a check by the verdicts in a section of the page, or in one table of it.

    ``row`` restricts it to rows that begin with this text.
    """

    def check(found: Found) -> Finding:
        one = part(found, title)
        tables = one.tables if table is None else (one.tables[table],)
        return _by_verdicts(one.title, [v for t in tables for v in _verdicts(t, row)])

    return check


def _verdicts(table: Table, row: str | tuple[str, ...]) -> list[str]:
    cells = [
        part.rpartition(": ")[2] if ": " in part else part
        for r in table.rows
        if r[0].startswith(row)
        for cell in r[1:]
        for part in cell.split("; ")
    ]
    return [c for c in cells if c in SAME or LOWER.match(c) or OTHER.match(c)]


def _by_verdicts(title: str, found: list[str]) -> Finding:
    same = sum(v in SAME for v in found)
    lower = sum(bool(LOWER.match(v)) for v in found)
    others = len(found) - same - lower
    text = f"{same} of {len(found)} agree"
    if lower:
        text += f", {lower} lower"
    verdict = "holds" if found and not others else f"differs in {others}"
    if lower and not others:
        verdict = "holds, or ours is lower"
    return Finding(f"see “{title}”", text, verdict)


def part(found: Found, title: str) -> Section:
    """Return a section of the page by the end of its title."""
    (one,) = (s for t, s in found.items() if t.endswith(title))
    return one


def rows_of(found: Found, title: str, table: int = 0) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table of a section."""
    return part(found, title).tables[table].rows


def number(cell: str) -> float:
    """Return the number in a cell: 1,234 or 56% or 0.78."""
    return float(cell.replace(",", "").removesuffix("%"))


def all_of(what: str, met: Sequence[bool], unit: str = "") -> Finding:
    """Return a finding that counts what is met."""
    return claim(what, f"{sum(met)} of {len(met)}{unit}", all(met))


def below(printed: str, value: float, limit: float, unit: str = "") -> Finding:
    """Return a finding about a number that is shown by its limit only."""
    is_met = bool(value < limit)
    shown = f"below {limit:g}{unit}" if is_met else f"{value:.1e}{unit}"
    return claim(printed, shown, is_met)


def seconds(run: Callable[[], object], times: int = 100) -> float:
    """Return how long a call takes, the first one apart."""
    run()
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def explained(title: str, table: int = 0) -> Check:
    """Return a check of a table whose last column says "the same", or why not."""

    def check(found: Found) -> Finding:
        one = part(found, title)
        rows = [row for row in one.tables[table].rows if "- /" not in row[1]]
        same = sum(row[-1] in SAME for row in rows)
        others = len(rows) - same
        verdict = "holds" if not others else f"differs in {others}, with notes"
        return Finding(f"see “{one.title}”", f"{same} of {len(rows)} rows", verdict)

    return check


def items_section(items: tuple[Item, ...], found: Found) -> Section:
    """Return the table of all items, a table for each document."""
    tables: list[Table] = []
    number = met = 0
    for document in dict.fromkeys(i.document for i in items):
        rows: list[tuple[str, ...]] = []
        for item in items:
            if item.document != document:
                continue
            number += 1
            f = item.check(found)
            met += f.verdict.startswith("holds")
            cells = (item.name, f"`{item.where}`", f.printed, f.ours, f.verdict)
            rows.append((f"{number}", *cells))
        head = ("#", document, "where", "printed", "ours", "verdict")
        tables.append(Table(head, tuple(rows)))
    return Section(
        "Every item of the five documents",
        f"{number} algorithms, formulas, tables, figures, claims and remarks: where "
        "each is, what is printed, and what we find. Verdicts are computed when this "
        "page is made: by two computations of the same thing, or from the section that "
        f"is named. {met} hold; what differs has its reasons in that section.",
        tuple(tables),
    )
