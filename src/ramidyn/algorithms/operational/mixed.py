"""Λ⁻¹ by Popov-Vereshchagin sweeps, over a tree reduced only where that pays.

`pv` never replaces the rows that meet in a body by six, `pvr` always does. Neither is
best: under a floating base, whose six columns close the sweep, twenty-four rows go
through one joint more cheaply than through a 6 × 6 matrix; before a long chain they do
not. Here each junction decides: the cost of both is estimated before tracing
(operations of general geometry, see `Costs`), and choices are changed one by one as
long as the sum falls. Where all ends hang on a trunk that is reduced, even the six rows
need not go down it: Ω of its tip comes from the root, as in `rjk`, which is cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.operational.pvr import over_junctions
from ramidyn.algorithms.operational.tasks import End
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.symbolic.dense import Symmetric
from ramidyn.tree.tree import ROOT, Tree

TRANSFORM = 28
"""a row through the two screws of a DH node"""
COLUMN = 11
"""row − Ud v, and v / D"""
PRODUCT = 11
"""a product of two rows of six; 66 a row and a 6 × 6 matrix"""
CONGRUENCE, BEYOND = 130, 80
"""Ω from one body to the next, and across each of its columns"""


def mixed(tree: Tree, q: JointVector, ends: Sequence[End]) -> Symmetric:
    """Return Λ⁻¹."""
    chosen = junctions(tree, ends)
    return over_junctions(tree, q, ends, lambda i, _: i in chosen, trunks(tree, ends))


def trunks(tree: Tree, ends: Sequence[End]) -> frozenset[int]:
    """Return, for each tree with ends, the last common ancestor of its ends."""
    tips: dict[int, int] = {}
    for end in ends:
        if end.body != ROOT:
            root = tree.support(end.body)[0]
            tips[root] = tree.common_ancestor(tips.get(root, end.body), end.body)
    return frozenset(tips.values())


def junctions(tree: Tree, ends: Sequence[End]) -> frozenset[int]:
    """Return the bodies at which continuing with six rows is cheaper."""
    candidates = meetings(tree, ends)
    best: frozenset[int] = frozenset()
    for start in (frozenset[int](), frozenset(candidates)):
        chosen, cost = start, Costs(tree, ends, start).total
        is_better = True
        while is_better:
            is_better = False
            for i in candidates:
                other = chosen ^ {i}
                if (found := Costs(tree, ends, other).total) < cost:
                    chosen, cost, is_better = other, found, True
        if start == frozenset() or cost < Costs(tree, ends, best).total:
            best = chosen
    return best


def meetings(tree: Tree, ends: Sequence[End]) -> list[int]:
    """Return the bodies where more than six rows meet, from several sides."""
    rows = dict.fromkeys(range(ROOT, len(tree)), 0)
    sides = dict.fromkeys(rows, 0)
    for end in ends:
        rows[end.body] += len(end.rows)
        sides[end.body] += 1
    for i, p in reversed(tree):
        if rows[i]:
            rows[p] += rows[i]
            sides[p] += 1
    return [i for i in range(len(tree)) if rows[i] > 6 and sides[i] > 1]


@final
@dataclass(slots=True, eq=False)
class CarriedRows:
    """How many rows continue together, and whose they are."""

    rows: int
    ends: list[int]
    """rows of the ends behind"""
    is_junction: bool


class Costs:
    """What `over_junctions` costs beyond the articulated inertias, about."""

    def __init__(self, tree: Tree, ends: Sequence[End], chosen: frozenset[int]) -> None:
        self.total: int = 0
        at: dict[int, list[CarriedRows]] = {i: [] for i in range(ROOT, len(tree))}
        for end in ends:
            n = len(end.rows)
            at[end.body].append(CarriedRows(n, [n], False))
        reached: dict[int, list[CarriedRows]] = {}
        standing = chosen & trunks(tree, ends)
        for i in {j for tip in standing for j in tree.support(tip)}:
            self.total += CONGRUENCE + BEYOND * tree.bodies[i].joint.nv
        for i, p in reversed(tree):
            if i in chosen:
                reached[i] = at[i]
                if i in standing:
                    at[i] = []
                    continue
                at[i] = [CarriedRows(6, [r for c in at[i] for r in c.ends], True)]
            r = sum(c.rows for c in at[i])
            for _ in range(tree.bodies[i].joint.nv):
                self.total += COLUMN * r + r * (r + 1)
            if p != ROOT:
                self.total += TRANSFORM * r
            at[p] += at[i]
        self._meet(at[ROOT], 0)
        for carriers in reached.values():
            self._meet(carriers, PRODUCT + 1)

    def _meet(self, carriers: Sequence[CarriedRows], each: int) -> None:
        for x, first in enumerate(carriers):
            n = first.rows
            self.total += each * (6 * n + n * (n + 1) // 2)
            for second in carriers[:x]:
                self.total += each * n * second.rows
                for k in first.ends if first.is_junction else ():
                    self.total += PRODUCT * k * second.rows
                for k in first.ends:
                    for l in second.ends if second.is_junction else ():
                        self.total += PRODUCT * k * l
