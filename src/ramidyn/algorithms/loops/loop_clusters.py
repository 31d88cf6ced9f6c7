"""Loops whose joints have one coordinate among them: clusters instead of rows.

A coupling makes a joint follow others: y = p(x) has ÿ = p'(x) ẍ + p''(x) ẋ². Any
other loop with one coordinate more than rows (a four-bar linkage has three joints in
the tree, and two rows) leaves one way to move, q̇ = G ẏ and q̈ = G ÿ + g with

    G_k = (−1)ᵏ |J without column k|         J G = 0
    g   = −Jᵀ (J Jᵀ)⁻¹ γ                     J g = −γ

as long as the rows are independent: no joint has to be chosen as the independent one,
and none gets stuck. Then λ follows from what the joints lack, e = M q̈ + h − τ = Jᵀ λ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.clusters import Factors, mimic_factors
from ramidyn.algorithms.loops.constraints import ConstraintRow
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.spatial.vector3 import ONE, ZERO, Vec
from ramidyn.symbolic.dense import dot, expand_determinant, gram, ldl, solve
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import Tree

MOST_ROWS = 3
"""of a cluster: minors of more cost more than rows"""


@final
@dataclass(frozen=True, slots=True)
class LoopCluster:
    """A cut that leaves its joints one coordinate."""

    cut: int
    rows: tuple[int, ...]
    """of the cut, among all rows; those that depend on others are left out"""
    coordinates: tuple[int, ...]
    """that are in them; of a coupling, the one that follows comes first"""


def loop_clusters(
    tree: Tree, cuts: Sequence[CutJoint], dropped: Collection[int] = ()
) -> list[LoopCluster]:
    """Return the cuts that are clusters, couplings first.

    A cut counts the coordinates that those before it have left.

    Args:
        tree: the tree.
        cuts: all of its loops.
        dropped: rows that are not needed.
    """
    at = {k: tuple(G) for k, G in mimic_factors(tree).items()}
    rows = _rows_by_cut(cuts, dropped)
    found: list[LoopCluster] = []

    def coordinates(dofs: Sequence[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(z for k in dofs for z in at.get(k, (k,))))

    def add(
        c: int, own: tuple[int, ...], gone: tuple[int, ...], to: int | None
    ) -> None:
        """Add a cut; its coordinates ``gone`` follow ``to``, or the others."""
        found.append(LoopCluster(c, rows[c], own))
        left = (to,) if to is not None else tuple(z for z in own if z not in gone)
        at.update({z: (z,) for z in own if z not in at})
        for k, known in at.items():
            if not {*known}.isdisjoint(gone):
                others = (z for z in known if z not in gone)
                at[k] = tuple(dict.fromkeys((*others, *left)))

    open_cuts = [c for c in range(len(cuts)) if rows[c]]
    for c in [c for c in open_cuts if cuts[c].coupled]:
        y, *x = [k for i in cuts[c].coupled for k in tree.dofs[i]]
        first = coordinates([y])
        if len(first) == 1 and first[0] not in coordinates(x):
            open_cuts.remove(c)
            add(c, coordinates([y, *x]), first, None)
    while True:
        sizes = {c: coordinates(_path(tree, cuts[c])) for c in open_cuts}
        ready = [
            c
            for c, own in sizes.items()
            if len(rows[c]) <= MOST_ROWS and len(own) == len(rows[c]) + 1
        ]
        if not ready:
            return found
        c, own = ready[0], sizes[ready[0]]
        open_cuts.remove(c)
        add(c, own, own, own[0])


def _rows_by_cut(
    cuts: Sequence[CutJoint], dropped: Collection[int]
) -> list[tuple[int, ...]]:
    """Return the rows of each cut that are needed."""
    found: list[tuple[int, ...]] = []
    first = 0
    for cut in cuts:
        last = first + len(cut.rows)
        found.append(tuple(r for r in range(first, last) if r not in dropped))
        first = last
    return found


def _path(tree: Tree, cut: CutJoint) -> list[int]:
    """Return the degrees of freedom that a cut depends on."""
    ends = {*tree.support(cut.a)} ^ {*tree.support(cut.b)}
    return [k for i in sorted(ends or {*cut.coupled}) for k in tree.dofs[i]]


@final
class ClusterMotion:
    """G and g of the degrees of freedom that loops and mimic joints tie together."""

    def __init__(self, tree: Tree) -> None:
        self.G: dict[int, Factors] = dict(mimic_factors(tree))
        self.bias: dict[int, Expr] = {}

    def add(self, cluster: LoopCluster, rows: Sequence[ConstraintRow]) -> None:
        """Let the joints of a cluster move as its rows allow."""
        expanded = [self.row(rows[r]) for r in cluster.rows]
        gamma = [bias for _, bias in expanded]
        columns = cluster.coordinates
        J = [[row.get(z, ZERO) for z in columns] for row, _ in expanded]
        if len(J) == 1 and J[0][0].op == "const" and not J[0][0].is_zero:
            y, *x = columns
            slopes = {z: -(J[0][c] / J[0][0]) for c, z in enumerate(x, 1)}
            self.G.update({z: {z: ONE} for z in x if z not in self.G})
            self._substitute({y: (slopes, -(gamma[0] / J[0][0]))})
        else:
            self._substitute(self._one_way(columns, J, gamma))

    def row(self, row: ConstraintRow) -> tuple[dict[int, Expr], Expr]:
        """Return a row over coordinates, and its γ."""
        found: dict[int, Expr] = {}
        gamma = row.bias
        for k, x in row.J.items():
            gamma = gamma + x * self.bias.get(k, ZERO)
            for z, g in self.G.get(k, {k: ONE}).items():
                found[z] = found.get(z, ZERO) + x * g
        return found, gamma

    def _one_way(
        self, columns: Sequence[int], J: list[list[Expr]], gamma: Sequence[Expr]
    ) -> dict[int, tuple[Factors, Expr]]:
        """Return the motion of coordinates with one row less than there are."""
        y, n = columns[0], range(len(columns))
        if len(columns) == 3:  # the same by cross products
            r1, r2 = map(Vec, J)
            G = r1.cross(r2)
            g = G.cross(r2 * gamma[0] - r1 * gamma[1]) / G.dot(G)
            return {z: ({y: G[k]}, g[k]) for k, z in enumerate(columns)}
        rows = [dict(enumerate(row)) for row in J]
        lack = solve(*ldl(gram(rows, rows)), [-x for x in gamma])
        moves: dict[int, tuple[Factors, Expr]] = {}
        for k, z in enumerate(columns):
            minor = expand_determinant([[row[c] for c in n if c != k] for row in J])
            column = {r: row[k] for r, row in enumerate(J)}
            bias = dot(column, dict(enumerate(lack)))
            moves[z] = {y: -minor if k % 2 else minor}, bias
        return moves

    def _substitute(self, moves: Mapping[int, tuple[Factors, Expr]]) -> None:
        """Replace coordinates by others, given their factors and biases."""
        for z in moves:
            self.G.setdefault(z, {z: ONE})
        for k, factors in list(self.G.items()):
            new: dict[int, Expr] = {}
            for z, g in factors.items():
                to, bias = moves.get(z, ({z: ONE}, ZERO))
                for y, x in to.items():
                    new[y] = new.get(y, ZERO) + g * x
                if not bias.is_zero:
                    self.bias[k] = self.bias.get(k, ZERO) + g * bias
            self.G[k] = {y: x for y, x in new.items() if not x.is_zero}
