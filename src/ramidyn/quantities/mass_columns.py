"""M⁻¹ times many columns, as a loop: M = Lᵀ D L along a tree.

    y = L⁻ᵀ b             nonzero where b is, and at the ancestors: a few rows
    x = L⁻¹ D⁻¹ y         there, and beyond as long as there is one way to go

All other rows are on branches that nothing pushes. They follow their trunk by the rules
W of `following`, where enough columns use these. Columns with their nonzeros at the
same rows are one group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import final

from ramidyn.algorithms.minv import Rules, following
from ramidyn.quantities.mass_matrix import MassSolver
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.column_loop import ColumnGroup, grouped, map_columns
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import FRESH, KEPT, Sweep, SweepStep
from ramidyn.tree.tree import ROOT, ancestors


def solved_columns(
    solver: MassSolver, columns: Sequence[Mapping[int, Expr]]
) -> list[list[Expr]]:
    """Return M⁻¹ times a matrix, by rows in the solver's order, through a loop.

    Args:
        solver: the factor.
        columns: the entries of each that are not zero, by row in the solver's order.
    """
    L, D, n = solver.L, solver.D, len(solver.parents)
    tree = _Tree(solver.parents)
    groups = grouped([tree.closed(b) for b in columns], tree.operations)
    use = Counter[tuple[int, int]]()
    for group in groups:
        for k, c in tree.trunks(group.rows).items():
            use[k, c] += len(group.columns)
    # A rule takes as many products to make for each joint between as its trunk is long.
    rules: dict[int, Rules] = {}
    for k, path in enumerate(tree.above):
        trunks = [c for c in path if use[k, c] > len(tree.above[c]) + 1]
        rules[k] = following(k, L, tree.above, trunks, rules)

    shared = [*L.values(), *(ONE / D[k] for k in range(n))]
    place = {entry: k for k, entry in enumerate(L)}
    in_rule: dict[tuple[int, int, int], int] = {}
    for k, found in rules.items():
        for c, rule in found.items():
            for i, w in rule.items():
                in_rule[k, c, i] = len(shared)
                shared.append(-w)

    def sweep(group: ColumnGroup) -> Sweep:
        rows, trunks = group.rows, tree.trunks(group.rows)
        steps: list[SweepStep] = []
        for i in sorted(rows, reverse=True):
            beyond = [k for k in tree.beyond[i] if k in rows]
            if beyond:
                steps.append(
                    SweepStep(i, KEPT, tuple((place[k, i], k) for k in beyond))
                )
        for k, path in enumerate(tree.above):
            start, c = (len(L) + k, None) if k in rows else (FRESH, trunks.get(k))
            if c in rules[k]:
                terms = [(in_rule[k, c, i], i) for i in (c, *tree.above[c])]
            else:
                terms = [(place[k, i], i) for i in path]
            steps.append(SweepStep(k, start, tuple(reversed(terms))))
        return Sweep(group.columns, tuple(steps))

    given: list[dict[int, Expr]] = [{} for _ in columns]
    for group in groups:
        for c in group.columns:
            given[c] = {k: columns[c].get(k, ZERO) for k in sorted(group.rows)}
    every = [group.columns for group in groups]
    return map_columns(shared, given, every, [sweep(group) for group in groups], n)


@final
class _Tree:
    """Ancestors, the parent first, and all joints beyond, the last first."""

    def __init__(self, parents: Sequence[int]) -> None:
        n = len(parents)
        self.parents = parents
        self.above = [tuple(ancestors(parents, k)) for k in range(n)]
        self.beyond: list[list[int]] = [[] for _ in range(n)]
        for k in reversed(range(n)):
            for i in self.above[k]:
                self.beyond[i].append(k)
        self.children = Counter(parents)

    def closed(self, rows: Collection[int]) -> frozenset[int]:
        """Return some joints with all of their ancestors."""
        return frozenset(rows).union(*(self.above[k] for k in rows))

    def trunks(self, rows: frozenset[int]) -> dict[int, int]:
        """Return where the trunk ends that other joints follow, if anything moves them.

        A joint that is the only one at the end of its trunk is part of that.
        """
        found: dict[int, int] = {}
        for k, parent in enumerate(self.parents):
            if k in rows or parent == ROOT:
                continue
            if parent in found:
                found[k] = found[parent]
            elif self.children[parent] > 1:
                found[k] = parent
        return found

    def operations(self, rows: frozenset[int]) -> int:
        """Return about how many products a column takes that is not zero in rows."""
        trunks = self.trunks(rows)
        return sum(
            1 + len(self.above[trunks.get(k, k)]) * (2 if k in rows else 1)
            for k in range(len(self.parents))
        )
