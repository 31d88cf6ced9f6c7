"""An explanation as one HTML file: no scripts, no requests, light and dark."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from ramify.explain import svg
from ramify.explain.counts import Counts
from ramify.explain.data import Explanation, sentence
from ramify.explain.shape import envelope, topologies
from ramify.explain.style import STYLE
from ramify.symbolic.count import Ops
from ramify.version import version


def page(e: Explanation) -> str:
    """Return the report of a robot."""
    name = html.escape(e.robot.name)
    parts = (_head, _tree, _patterns, _algorithms, _choices, _passes, _growth)
    sections = [part(e) for part in parts]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="data:,">'
        f"<title>{name}: why it is this fast</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(sections)}<footer>Made by <code>ramify explain</code> "
        f"{html.escape(version())}. Every figure is a count: exact, and the same on "
        "every machine.</footer></main></body></html>\n"
    )


def _head(e: Explanation) -> str:
    s, robot = e.shape, e.robot
    share = s.nonzeros / max(s.n**2, 1)
    facts = (
        (f"{robot.nv}", "degrees of freedom"),
        (f"{len(robot.tree)}", "moving bodies"),
        (f"{share:.0%}", "of M can be nonzero"),
        (f"{s.chain.factor_cost / max(s.factor_cost, 1):.1f} ×", "cheaper to factor"),
    )
    cards = "".join(f"<li><b>{a}</b> {b}</li>" for a, b in facts)
    return (
        f"<header><h1>{html.escape(robot.name)}</h1><p>Why the code of this robot is "
        f"as fast as it is.</p><ul class=facts>{cards}</ul>{_words(e)}</header>"
    )


def _words(e: Explanation) -> str:
    s = e.shape
    lines: list[str] = []
    if s.factor_cost < s.chain.factor_cost:
        lines.append(
            f"Joints on different limbs do not couple: {s.n**2 - s.nonzeros:,} of the "
            f"{s.n**2:,} entries of the mass matrix are always zero. Factoring it "
            f"takes {s.factor_cost:,} operations; a single chain of {s.n} joints, "
            f"whose matrix is full, takes {s.chain.factor_cost:,}."
        )
    else:
        lines.append("This robot is a single chain: its mass matrix is full.")
    for c in e.choices:
        lines.append(f"{c.quantity} is computed by {sentence(c)}.")
    return "".join(f"<p>{html.escape(x)}</p>" for x in lines)


def _tree(e: Explanation) -> str:
    picture = svg.tree(e.robot, e.shape.limbs)
    return _section("The tree", picture, "Each limb has its colour, here and below.")


def _patterns(e: Explanation) -> str:
    s, limbs = e.shape, e.shape.limbs
    turned = [limbs[i] for i in s.permutation]
    lower: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = np.tril(s.pattern)
    figures = (
        (svg.pattern(s.pattern, limbs, "M"), f"M: {s.nonzeros:,} of {s.n**2:,}"),
        (svg.pattern(lower, limbs, "L"), "L of M = LᵀDL: no entry is added"),
        (svg.pattern(s.permuted, turned, "M permuted"), "M, leaves first"),
    )
    shown = "".join(
        f"<figure>{picture}<figcaption>{words}</figcaption></figure>"
        for picture, words in figures
    )
    table = _table(
        ("", "this robot", "one chain"),
        [
            ("D0", f"{s.d0:,}", f"{s.chain.d0:,}"),
            ("D1, entries below the diagonal", f"{s.d1:,}", f"{s.chain.d1:,}"),
            ("D2, products to factor", f"{s.d2:,}", f"{s.chain.d2:,}"),
            ("to factor, D1 + 2 D2", f"{s.factor_cost:,}", f"{s.chain.factor_cost:,}"),
            ("to solve, 4 D1 + n", f"{s.solve_cost:,}", f"{s.chain.solve_cost:,}"),
            ("envelope, as numbered", f"{envelope(s.pattern):,}", f"{s.chain.d1:,}"),
            ("envelope, leaves first", f"{envelope(s.permuted):,}", f"{s.chain.d1:,}"),
        ],
    )
    note = (
        "In depth-first order, reversed, the nonzeros of each row stand side by side: "
        "the envelope is then exactly the nonzeros, and ordinary Cholesky keeps them."
    )
    return _section("Sparsity", f"<div class=three>{shown}</div>{table}", note)


def _algorithms(e: Explanation) -> str:
    rows: list[tuple[str, Sequence[tuple[str, int]]]] = []
    for c in e.counts:
        rows.append((c.name, _parts(c.ops)))
        if c.chain is not None and len(e.robot.tree) > 1:
            rows.append(("    the same bodies in one chain", _parts(c.chain, "old")))
    legend = (
        "<p class=legend><i class=a></i>multiplications and divisions "
        "<i class=b></i>additions</p>"
    )
    return _section("What each algorithm costs", legend + svg.bars(rows, "Counts"))


def _choices(e: Explanation) -> str:
    shown: list[str] = []
    for c in e.choices:
        if len(c.costs) < 2:
            continue
        ordered = sorted(c.costs.items(), key=lambda item: item[1])
        rows: list[tuple[str, Sequence[tuple[str, int]]]] = [
            (
                k + (" (chosen)" if k == c.algorithm else ""),
                [("a" if k == c.algorithm else "aold", v)],
            )
            for k, v in ordered
        ]
        title = html.escape(c.quantity)
        shown.append(f"<figure><h3>{title}</h3>{svg.bars(rows, c.quantity)}</figure>")
    if not shown:
        return ""
    note = "In multiplications' worth: a division or a root counts 6, a sine 20."
    return _section("What was chosen", f"<div class=two>{''.join(shown)}</div>", note)


def _parts(ops: Ops, suffix: str = "") -> list[tuple[str, int]]:
    return [(f"a{suffix}", ops.mul + ops.div), (f"b{suffix}", ops.add)]


def _passes(e: Explanation) -> str:
    if not e.counts:
        return ""
    names = [stage.name for stage in e.counts[0].stages]
    rows: list[tuple[str, ...]] = []
    for k, name in enumerate(names):
        cells = [_change(c, k) for c in e.counts]
        rows.append((name, *cells))
    head = ("after", *(c.name.split(", ")[1] for c in e.counts))
    note = (
        "Multiplications, divisions and additions together. Constants, zeros and "
        "equal terms are folded while the program is traced, before the first row."
    )
    return _section("What each pass saves", _table(head, rows), note)


def _change(c: Counts, k: int) -> str:
    total = arithmetic(c.stages[k].ops)
    if k == 0:
        return f"{total:,}"
    change = total - arithmetic(c.stages[k - 1].ops)
    shown = f" <small>{change:+,}</small>".replace("-", "−") if change else ""
    return f"{total:,}{shown}"


def arithmetic(ops: Ops) -> int:
    """Return multiplications, divisions and additions together."""
    return ops.mul + ops.div + ops.add


def _growth(e: Explanation) -> str:
    s = e.shape
    lines = {k: [(float(n), float(y)) for n, y in v] for k, v in topologies().items()}
    marks = {e.robot.name: (float(max(s.n, 1)), float(max(s.factor_cost, 1)))}
    title = "Operations to factor M"
    picture = svg.curves(lines, marks, title, ("degrees of freedom", title))
    note = (
        "The families of Featherstone (2005): the more branches, the slower it grows."
    )
    return _section("How cost grows", picture, note)


def _section(title: str, content: str, note: str = "") -> str:
    words = f"<p class=note>{html.escape(note)}</p>" if note else ""
    return f"<section><h2>{title}</h2>{content}{words}</section>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<div class=wide><table><tr>{first}</tr>{body}</table></div>"
