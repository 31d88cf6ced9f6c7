"""Loops whose joints have one or two coordinates among them: clusters, without rows.

A coupling makes a joint follow others: y = p(x) has ÿ = p'(x) ẍ + p''(x) ẋ². Any
other loop with one or two coordinates more than rows (a four-bar linkage has three
joints in the tree, and two rows; a parallel ankle five joints a rod, and three rows)
leaves as many ways to move, q̇ = G ẏ and q̈ = G ÿ + g with

    J G = 0        J g = −γ,  g the least

as long as the rows are independent. G is a cross product, or orthonormal: no joint has
to be chosen as the independent one, and none gets stuck. The loops of a cluster are
taken one by one: each has the coordinates that those before it have left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.clusters import Factors, mimic_factors
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.algorithms.ltdl import DofVector
from ramidyn.spatial.vector3 import ONE, ZERO, Vec
from ramidyn.symbolic.dense import (
    Matrix,
    NullSpace,
    add_multiples,
    dot,
    expand_determinant,
    gram,
    inner,
    ldl,
    null_space,
    solve,
)
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import Tree

MOST_COORDINATES = 2
"""that a loop leaves: rows cost less than more of them (Cassie's heel springs: four)"""
MOST_ROWS = 3
"""that minors are taken of: reflections cost less for more"""


@final
@dataclass(frozen=True, slots=True)
class LoopCluster:
    """A cut that leaves its joints one or two coordinates."""

    cut: int
    rows: tuple[int, ...]
    """of the cut, among all rows; those that depend on others are left out"""
    coordinates: tuple[int, ...]
    """that are in them; of a coupling, the one that follows comes first"""


def loop_clusters(
    tree: Tree,
    cuts: Sequence[CutJoint],
    dropped: Collection[int] = (),
    spare: Collection[int] | None = None,
) -> list[LoopCluster]:
    """Return the cuts that are clusters, couplings first.

    A cut counts the coordinates that those before it have left.

    Args:
        tree: the tree.
        cuts: all of its loops.
        dropped: rows that are not needed.
        spare: rows that depend on others where loops are closed; if it is given, only
            couplings can be clusters.
    """
    at = {k: tuple(G) for k, G in mimic_factors(tree).items()}
    rows = _rows_by_cut(cuts, dropped)
    found: list[LoopCluster] = []
    free = {
        k
        for i, b in enumerate(tree.bodies)
        if b.joint.type.is_free
        for k in tree.dofs[i]
    }

    def coordinates(dofs: Sequence[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(z for k in dofs for z in at.get(k, (k,))))

    def add(
        c: int, own: tuple[int, ...], gone: tuple[int, ...], left: tuple[int, ...]
    ) -> None:
        """Add a cut; its coordinates ``gone`` follow those that are left."""
        found.append(LoopCluster(c, rows[c], own))
        at.update({z: (z,) for z in own if z not in at})
        for k, known in at.items():
            if not {*known}.isdisjoint(gone):
                others = (z for z in known if z not in gone)
                at[k] = tuple(dict.fromkeys((*others, *left)))

    open_cuts = [
        c
        for c, cut in enumerate(cuts)
        if rows[c] and not cut.as_rows and {*rows[c]}.isdisjoint(spare or ())
    ]
    for c in [c for c in open_cuts if cuts[c].coupled]:
        y, *x = [k for i in cuts[c].coupled for k in tree.dofs[i]]
        first = coordinates([y])
        if len(first) == 1 and first[0] not in coordinates(x):
            open_cuts.remove(c)
            own = coordinates([y, *x])
            add(c, own, first, own[1:])
    while spare is None:
        paths = {c: _path(tree, cuts[c]) for c in open_cuts}
        owned = {c: coordinates(k) for c, k in paths.items() if free.isdisjoint(k)}
        ways = {c: len(own) - len(rows[c]) for c, own in owned.items()}
        ready = [c for c, f in ways.items() if 1 <= f <= MOST_COORDINATES]
        if not ready:
            break
        c = min(ready, key=ways.__getitem__)
        open_cuts.remove(c)
        add(c, owned[c], owned[c], owned[c][: ways[c]])
    return found


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
@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A cluster that was added: what its coordinates were, and its rows."""

    columns: Sequence[int]
    rows: Sequence[DofVector]
    moved: Mapping[int, Factors]
    """the degrees of freedom that moved with the columns"""
    space: NullSpace
    """of the rows over the columns"""


@final
class ClusterMotion:
    """G and g of degrees of freedom that loops tie together.

    ``G`` is what ties them before: mimic joints.
    """

    def __init__(self, G: Mapping[int, Factors]) -> None:
        self.G: dict[int, Factors] = dict(G)
        self._steps: list[_Step] = []

    def add(self, columns: Sequence[int], rows: Sequence[DofVector]) -> None:
        """Let coordinates move as rows of a cut over degrees of freedom allow."""
        J = [[self.row(row).get(z, ZERO) for z in columns] for row in rows]
        left = columns[: len(columns) - len(J)]
        if len(J) == 1 and J[0][0].op == "const" and not J[0][0].is_zero:
            left, space = columns[1:], _follower(J[0])
        elif len(left) == 1 and len(J) <= MOST_ROWS:
            space = _minors(J)
        else:
            space = null_space(J)
        G = {
            z: {y: x for y, x in zip(left, row, strict=True) if not x.is_zero}
            for z, row in zip(columns, space.N, strict=True)
        }
        for z in columns:
            self.G.setdefault(z, {z: ONE})
        own = {*columns}
        moved = {k: g for k, g in self.G.items() if not own.isdisjoint(g)}
        self._steps.append(_Step(columns, rows, moved, space))
        for k, factors in moved.items():
            new: dict[int, Expr] = {}
            for z, g in factors.items():
                for y, x in G.get(z, {z: ONE}).items():
                    new[y] = new.get(y, ZERO) + g * x
            self.G[k] = {y: x for y, x in new.items() if not x.is_zero}

    def factors(self, k: int) -> Factors:
        """Return the coordinates that a degree of freedom moves with, and G."""
        return self.G.get(k, {k: ONE})

    def row(self, row: DofVector) -> DofVector:
        """Return a row over coordinates."""
        found: DofVector = {}
        for k, x in row.items():
            for z, g in self.factors(k).items():
                found[z] = found.get(z, ZERO) + x * g
        return found

    def bias(self, gamma: Iterable[Expr]) -> DofVector:
        """Return g, for γ of the rows in the order in which they were added."""
        found: DofVector = {}
        given = iter(gamma)
        for step in self._steps:
            lack = [-(next(given) + dot(row, found)) for row in step.rows]
            x = dict(zip(step.columns, step.space.least(lack), strict=True))
            for k, factors in step.moved.items():
                more = dot(factors, x)
                if not more.is_zero:
                    found[k] = found.get(k, ZERO) + more
        return found

    def multipliers(self, e: DofVector) -> list[Expr]:
        """Return λ of the rows with Jᵀ λ = e, in the order in which they were added.

        Of a step, G of those before it leaves rows and e over its columns.
        """
        e, found = dict(e), list[Expr]()
        for step in reversed(self._steps):
            here = dict.fromkeys(step.columns, ZERO)
            for k, factors in step.moved.items():
                for z, g in factors.items():
                    if z in here and k in e:
                        here[z] = here[z] + g * e[k]
            y = step.space.balance(list(here.values()))
            add_multiples(e, step.rows, [-x for x in y])
            found = [*y, *found]
        return found


def _follower(row: Sequence[Expr]) -> NullSpace:
    """Return how the first coordinate follows the others, whose factor is a number."""
    first, *others = row
    n = range(len(others))
    N = [[-(x / first) for x in others]]
    N += [[ONE if k == c else ZERO for c in n] for k in n]

    def least(b: list[Expr]) -> list[Expr]:
        return [b[0] / first, *(ZERO for _ in n)]

    def balance(e: list[Expr]) -> list[Expr]:
        return [e[0] / first]

    return NullSpace(N, least, balance)


def _minors(J: Sequence[Sequence[Expr]]) -> NullSpace:
    """Return the only way to move, if there is one column more than rows.

    N_k = (−1)ᵏ |J without column k|, which for three columns is a cross product.
    """
    if len(J) == 2:
        return _cross_product(*map(Vec, J))
    columns = range(len(J[0]))
    N: Matrix = []
    for k in columns:
        minor = expand_determinant([[row[c] for c in columns if c != k] for row in J])
        N.append([-minor if k % 2 else minor])
    rows = [dict(enumerate(row)) for row in J]
    factor = ldl(gram(rows, rows))

    def least(b: list[Expr]) -> list[Expr]:
        y = solve(*factor, b)
        return [inner(column, y) for column in zip(*J, strict=True)]

    def balance(e: list[Expr]) -> list[Expr]:
        return solve(*factor, [inner(row, e) for row in J])

    return NullSpace(N, least, balance)


def _cross_product(a: Vec, b: Vec) -> NullSpace:
    """Return the null space of two rows in three coordinates: along a × b."""
    n = a.cross(b)
    square = n.dot(n)

    def least(x: list[Expr]) -> list[Expr]:
        return list(n.cross(a * x[1] - b * x[0]) / square)

    def balance(e: list[Expr]) -> list[Expr]:
        f = Vec(e)
        return [n.dot(f.cross(b)) / square, n.dot(a.cross(f)) / square]

    return NullSpace([[x] for x in n], least, balance)
