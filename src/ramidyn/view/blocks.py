"""Blocks of HTML that reports and notebooks share: trees, bars, tables; times.

Every text is escaped here. Colors are classes that the page defines.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

DEEPEST = 24
"""Deepest indentation of lists; deeper levels are not indented further."""


@dataclass(frozen=True, slots=True)
class TreeItem:
    """One line of a tree."""

    depth: int
    name: str
    detail: str
    color: str = "limb0"


def breakable(name: str) -> str:
    """Return a name as HTML that may break after ``_``, ``-``, ``/`` and ``.``."""
    return re.sub(r"([_\-/.]+)", r"\1<wbr>", html.escape(name))


def tree(items: Sequence[TreeItem]) -> str:
    """Return a tree as nested lists; items come parents first, limb by limb."""
    parts = ["<div class=tree>"]
    level = -1
    for item in items:
        depth = min(item.depth, DEEPEST, level + 1)
        if depth > level:
            parts.append("<ul>")
        else:
            parts.append("</li>" + "</ul></li>" * (level - depth))
        level = depth
        parts.append(
            f'<li><div><i class="{item.color}"></i><span>{breakable(item.name)}</span>'
            f"<small>{html.escape(item.detail)}</small></div>"
        )
    parts.append("</li></ul>" * (level + 1) + "</div>")
    return "".join(parts)


Bar = tuple[str, Sequence[tuple[str, int]]]
"""a label, and (color, length) of each part"""


def bars(rows: Sequence[Bar]) -> str:
    """Return horizontal bars with their labels and totals."""
    longest = max((sum(x for _, x in parts) for _, parts in rows), default=1) or 1
    drawn: list[str] = []
    for label, parts in rows:
        total = sum(x for _, x in parts)
        pieces = "".join(
            f'<i class="{color}" style="width:{100 * x / longest:.2f}%"></i>'
            for color, x in parts
        )
        drawn.append(
            f"<div class=bar><span>{html.escape(label)}</span><b>{total:,}</b>"
            f"<div>{pieces}</div></div>"
        )
    return "".join(drawn)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; cells are HTML, heads are text."""
    first = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<div class=wide><table><tr>{first}</tr>{body}</table></div>"


# ------------------------------------------------------------ figures with units


def seconds(x: float) -> str:
    """Return a time with a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if x * scale >= 0.9995:
            return f"{x * scale:.3g} {unit}"
    return f"{x * 1e9:.0f} ns"
