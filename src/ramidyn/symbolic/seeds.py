"""Seeds of derivatives that are nodes of a trace, and so may have signs.

Products and sums take the sign off a negated node. So what is made of −y is made of y,
and a seed of −y is one of y.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ramidyn.symbolic.expr import Expr, const, neg
from ramidyn.symbolic.implicit_derivatives import Row


def unsigned(e: Expr) -> Expr:
    """Return a node without its sign."""
    return e.args[0] if e.op == "neg" else e


def held_seeds(nodes: Iterable[Expr]) -> dict[Expr, Row]:
    """Return seeds of nodes that do not change, whatever they are made of."""
    return {unsigned(e): {} for e in nodes}


def known_seeds(
    nodes: Iterable[Expr], rows: Iterable[Mapping[int, Expr]]
) -> dict[Expr, Row]:
    """Return seeds of nodes whose changes are known."""
    return {
        unsigned(e): {k: neg(x) for k, x in row.items()} if e.op == "neg" else {**row}
        for e, row in zip(nodes, rows, strict=True)
    }


def unit_seeds(nodes: Sequence[Expr]) -> dict[Expr, Row]:
    """Return seeds of which each is a direction: that of the last equal node."""
    return known_seeds(nodes, ({k: const(1.0)} for k in range(len(nodes))))
