"""M⁻¹ times many columns, as a loop: M = Lᵀ D L along a tree.

    y = D⁻¹ L⁻ᵀ b        nonzero where b is, and at the ancestors: a few rows
    x = L⁻¹ y            all rows

Columns with their nonzeros at the same rows are one group, and have a loop of their own
for y; x is one loop over all columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramify.model.tree import ROOT, ancestors
from ramify.quantities.mass_matrix import MassSolver
from ramify.spatial.vector3 import ONE, ZERO
from ramify.symbolic.column_loop import map_columns
from ramify.symbolic.expr import Expr
from ramify.symbolic.program import Step, Sweep

TOGETHER = 8
"""columns that are worked on together: four of a batch, sixteen of one state"""


def solved_columns(
    solver: MassSolver, columns: Sequence[Mapping[int, Expr]]
) -> list[list[Expr]]:
    """Return M⁻¹ times a matrix, by rows in the solver's order, through a loop.

    Args:
        solver: the factor.
        columns: the entries of each that are not zero, by row in the solver's order.
    """
    L, D, parents = solver.L, solver.D, solver.parents
    places, n = list(L), len(parents)
    filled = [c for c, b in enumerate(columns) if b]
    groups = grouped([set(columns[c]) for c in filled], parents)

    place = {entry: k for k, entry in enumerate(places)}
    above = [tuple(reversed(tuple(ancestors(parents, k)))) for k in range(n)]

    def first(group: Group) -> Sweep:
        """Return L⁻ᵀ b, from the leaves to the root."""
        rows = sorted(group.rows, reverse=True)
        terms = {
            i: tuple((place[k, i], k) for k in rows if i in above[k]) for i in rows
        }
        zeros = tuple(k for k in range(n) if k not in group.rows)
        steps = tuple(Step(i, None, t) for i, t in terms.items() if t)
        return Sweep(group.columns, zeros, steps)

    last = Sweep(
        tuple(range(len(filled))),
        (),
        tuple(
            Step(k, len(places) + k, tuple((place[k, i], i) for i in above[k]))
            for k in range(n)
        ),
    )
    given: list[dict[int, Expr]] = [{} for _ in filled]
    for group in groups:
        for c in group.columns:
            b = columns[filled[c]]
            given[c] = {k: b.get(k, ZERO) for k in sorted(group.rows)}
    found = map_columns(
        [*L.values(), *(ONE / D[k] for k in range(n))],
        given,
        [group.columns for group in groups],
        [*map(first, groups), last],
        n,
    )
    number = {c: k for k, c in enumerate(filled)}
    count = len(columns)
    return [
        [row[number[c]] if c in number else ZERO for c in range(count)] for row in found
    ]


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Columns, and the rows that hold what is not zero of D⁻¹ L⁻ᵀ b."""

    columns: tuple[int, ...]
    rows: frozenset[int]
    operations: int
    """for one column"""

    @property
    def cost(self) -> int:
        """What all columns take."""
        return self.operations * -(-len(self.columns) // TOGETHER)


def grouped(nonzeros: Sequence[set[int]], parents: Sequence[int]) -> list[Group]:
    """Return the columns in groups, by the rows where they are not zero.

    Neighbors are joined where a few columns would have to be filled up with others.
    """
    depths: list[int] = []
    above: list[frozenset[int]] = []
    for k, parent in enumerate(parents):
        depths.append(0 if parent == ROOT else depths[parent] + 1)
        above.append(frozenset((k,)) if parent == ROOT else above[parent] | {k})

    def group(columns: tuple[int, ...], rows: frozenset[int]) -> Group:
        return Group(columns, rows, sum(depths[k] + 1 for k in rows))

    alike: dict[frozenset[int], list[int]] = {}
    for c, rows in enumerate(nonzeros):
        closed = frozenset[int]().union(*(above[k] for k in rows))
        alike.setdefault(closed, []).append(c)
    groups = [group(tuple(columns), rows) for rows, columns in alike.items()]
    while len(groups) > 1:
        best, joined = 0, None
        for k, (a, b) in enumerate(itertools.pairwise(groups)):
            both = group(a.columns + b.columns, a.rows | b.rows)
            saved = a.cost + b.cost - both.cost
            if saved > best:
                best, joined = saved, (k, both)
        if joined is None:
            break
        groups[joined[0] : joined[0] + 2] = [joined[1]]
    return groups
