"""Clusters: joints that move with shared coordinates, as one joint.

    q̇_k = Σ G_ky ẏ        q̈_k = Σ G_ky ÿ + g_k

for the degrees of freedom k of a tree that depend on the shared coordinates y. A mimic
joint or a gear has a constant G; a linkage has one that depends on q, and g. All other
joints have a coordinate of their own: clusters of one. See Jain 2012, and Chignoli et
al. 2023.

`Elimination` takes clusters out of the equations of motion. What their joints add to a
matrix along the tree is summed up before it is multiplied, block by block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar, final

from ramidyn.algorithms.ltdl import TreeEntries
from ramidyn.spatial.vector3 import ONE, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.tree import Tree

Value = TypeVar("Value", Expr, Vec, Motion, Force)
Factors = Mapping[int, Expr]
"""G_k: the shared coordinates that a degree of freedom moves with"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClusterRow:
    """A row of constraints on the degrees of freedom of a tree: Σ J_k q̈_k + γ = 0."""

    name: str
    J: Mapping[int, Expr]
    gamma: Expr
    top: int
    """the body where the two sides of its loop meet"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Degrees of freedom of a tree that move with shared coordinates, and rows.

    A shared coordinate is known by a degree of freedom that moves with it, and a row by
    a number that follows on these.
    """

    G: Mapping[int, Factors]
    """by degree of freedom; a plain joint is not here"""
    bias: Mapping[int, Expr]
    """g, by degree of freedom"""
    J: Mapping[int, Mapping[int, Expr]]
    """by degree of freedom: the rows that it is in"""
    gamma: Mapping[int, Expr]
    """by row"""
    last: Mapping[int, Sequence[int]]
    """body -> the coordinates and rows that are eliminated behind its joint"""
    meeting: Mapping[int, Sequence[int]]
    """body -> the coordinates and rows of several branches that meet in it"""
    names: Mapping[int, str]
    """of coordinates and rows"""

    @staticmethod
    def of(
        tree: Tree,
        G: Mapping[int, Factors],
        bias: Mapping[int, Expr] | None = None,
        rows: Sequence[ClusterRow] = (),
    ) -> Clusters:
        """Return the clusters of joints that move as G and g say, and rows."""
        body = {k: i for i, dofs in enumerate(tree.dofs) for k in dofs}
        moved: dict[int, list[int]] = {}
        for k, factors in sorted(G.items()):
            for y in factors:
                moved.setdefault(y, []).append(body[k])
        ends = {y: _end(tree, [(i, True) for i in at]) for y, at in moved.items()}
        names = {y: tree.bodies[at[0]].name for y, at in moved.items()}
        J: dict[int, dict[int, Expr]] = {}
        gamma: dict[int, Expr] = {}
        for r, row in enumerate(rows, len(body)):
            gamma[r], names[r] = row.gamma, row.name
            for k, x in row.J.items():
                J.setdefault(k, {})[r] = x
            shared = [ends[y] for k in row.J if k in G for y in G[k]]
            ends[r] = _end(tree, [(row.top, False), *shared])
        last: dict[int, list[int]] = {}
        meeting: dict[int, list[int]] = {}
        for y, (i, is_behind) in ends.items():
            (last if is_behind else meeting).setdefault(i, []).append(y)
        return Clusters(G, bias or {}, J, gamma, last, meeting, names)

    def coordinates(self, k: int) -> Factors:
        """Return the coordinates that a degree of freedom moves with, and G."""
        return self.G.get(k, {k: ONE})

    def weighted(
        self, y: int, dofs: tuple[int, ...], values: Mapping[int, Value]
    ) -> Value:
        """Return Σ G_ky x_k over some degrees of freedom that move with y."""
        if dofs == (y,) and self.coordinates(y)[y] is ONE:
            return values[y]  # the leader, or a plain joint
        first, *others = (values[k] * self.coordinates(k)[y] for k in dofs)
        for x in others:
            first = first + x
        return first


def _end(tree: Tree, places: Sequence[tuple[int, bool]]) -> tuple[int, bool]:
    """Return the first place on the way to the root that is behind all of some.

    A place is a body, and whether it is behind the body's own joint.
    """
    top = reduce(tree.common_ancestor, (i for i, _ in places))
    return top, (top, True) in places


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Pairs of degrees of freedom, all of one below all of the other.

    What they add to entry (y, z) of a matrix along the tree is a product of two sums.
    """

    y: int
    z: int
    below: tuple[int, ...]
    """degrees of freedom that move with y, beyond those of ``above``"""
    above: tuple[int, ...]


def blocks_of(tree: Tree, clusters: Clusters) -> dict[int, list[Block]]:
    """Return the blocks of each coordinate, by the last degree of freedom it moves.

    A plain joint has a block with each degree of freedom before it.
    """
    members: dict[int, list[int]] = {}
    for k in range(len(tree.dof_parents)):
        for y in clusters.coordinates(k):
            members.setdefault(y, []).append(k)
    before: dict[int, tuple[int, ...]] = {}
    for i, dofs in enumerate(tree.dofs):
        path = tuple(j for b in tree.ancestors(i) for j in tree.dofs[b])
        before.update(dict.fromkeys(dofs, path))
    found: dict[int, list[Block]] = {}
    for y, moved in members.items():
        beyond: dict[int, list[int]] = {}
        for k in moved:
            for j in before[k]:
                beyond.setdefault(j, []).append(k)
        above: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for j, below in beyond.items():
            for z in clusters.coordinates(j):
                above.setdefault((z, tuple(below)), []).append(j)
        found.setdefault(moved[-1], []).extend(
            Block(y, z, below, tuple(js)) for (z, below), js in above.items()
        )
    return found


def mimic_clusters(tree: Tree) -> Clusters:
    """Return the clusters of mimic joints and the joints that they follow."""
    return Clusters.of(tree, mimic_factors(tree))


def mimic_factors(tree: Tree) -> dict[int, Factors]:
    """Return G of mimic joints and the joints that they follow.

    A coordinate is known by the degree of freedom of its leader.
    """
    G: dict[int, Factors] = {}
    for i, body in enumerate(tree.bodies):
        leader = body.joint.leader
        if leader is not None:
            y, factor = tree.dofs[leader][0], const(body.joint.multiplier)
            G[y] = {y: const(1.0)}
            G[tree.dofs[i][0]] = {} if factor.is_zero else {y: factor}
    return G


def add_entry(entries: TreeEntries, y: int, z: int, x: Expr) -> None:
    """Add to an entry of a matrix, which may not be there yet."""
    entries[y, z] = entries[y, z] + x if (y, z) in entries else x
