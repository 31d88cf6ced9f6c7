"""What CRBA costs by the formula of Featherstone (2005), section 5.

    D0 (ra + rx) + D1 vx                                            (14)

Here ra adds two rigid-body inertias, rx takes one from a body to its parent, and vx
does the same with a force. Nodes are bodies, so a 6-DoF joint is one node. A node that
has Denavit-Hartenberg parameters takes two axial screws to its parent. Of several
children only one can have them; the others take three screws. At a floating base three
of the parameters are zero.
"""

# ruff: noqa: N802  (D0 and D1 are the paper's letters)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from ramidyn.symbolic.count import Ops
from ramidyn.tree.tree import D0, D1, ROOT, Tree

FLOATING_DOFS = 6


def floating_bases(tree: Tree) -> frozenset[int]:
    """Return the bodies that 6-DoF joints connect to the world."""
    return frozenset(
        i
        for i, parent in enumerate(tree.parents)
        if parent == ROOT and len(tree.dofs[i]) == FLOATING_DOFS
    )


@final
@dataclass(frozen=True)
class CrbaCost:
    """The cost analysis of CRBA for one tree of bodies.

    >>> tree1 = CrbaCost((-1, 0, 0, 1, 1, 2, 2))
    >>> tree1.non_dh
    3
    """

    parents: tuple[int, ...]
    """of the bodies, -1 for the world"""
    floating: frozenset[int] = frozenset()
    """the bodies that are floating bases"""

    @staticmethod
    def of(tree: Tree) -> CrbaCost:
        """Return the analysis of a robot's tree."""
        return CrbaCost(tuple(tree.parents), floating_bases(tree))

    @cached_property
    def chain(self) -> CrbaCost:
        """As many bodies in one chain, on a floating base if there is one here."""
        base = frozenset({0}) if self.floating else frozenset[int]()
        return CrbaCost(tuple(range(-1, len(self.parents) - 1)), base)

    @cached_property
    def subtree_sizes(self) -> tuple[int, ...]:
        """|ν(i)|: how many bodies each body carries, itself included."""
        sizes = [1] * len(self.parents)
        for i in reversed(range(len(self.parents))):
            if self.parents[i] != ROOT:
                sizes[self.parents[i]] += sizes[i]
        return tuple(sizes)

    @cached_property
    def dh_nodes(self) -> frozenset[int]:
        """One child of each body: the one with the largest subtree.

        That choice maximizes D1a, and so it costs least. Of equal subtrees the first
        is taken. The world's children are in it too.
        """
        best: dict[int, int] = {}
        for i, parent in enumerate(self.parents):
            if (
                parent not in best
                or self.subtree_sizes[i] > self.subtree_sizes[best[parent]]
            ):
                best[parent] = i
        return frozenset(best.values())

    @property
    def non_dh(self) -> int:
        """Nodes without DH parameters: Σ max(0, c(i) − 1) over all nodes (17)."""
        return len(self.parents) - len(self.dh_nodes)

    @property
    def D0(self) -> int:
        """How many inertias CRBA takes to a parent: Σ min(1, dᵢ − 1) (15)."""
        return D0(self.parents)

    @property
    def D1(self) -> int:
        """How many forces CRBA takes to a parent: Σ (dᵢ − 1) (8)."""
        return D1(self.parents)

    @cached_property
    def _sets(self) -> dict[str, list[int]]:
        """πa, πb and πc (19): who moves an inertia by what transform."""
        inner = [i for i, parent in enumerate(self.parents) if parent != ROOT]
        a = [i for i in inner if i in self.dh_nodes]
        b = [i for i in inner if i not in self.dh_nodes]
        return {"a": a, "b": b, "c": [i for i in a if self.parents[i] in self.floating]}

    def _forces(self, name: str) -> int:
        return sum(self.subtree_sizes[i] for i in self._sets[name])

    @property
    def D0a(self) -> int:
        """Inertias moved at DH nodes."""
        return len(self._sets["a"])

    @property
    def D0b(self) -> int:
        """Inertias moved at other nodes."""
        return len(self._sets["b"])

    @property
    def D0c(self) -> int:
        """DH nodes that are children of a floating base."""
        return len(self._sets["c"])

    @property
    def D1a(self) -> int:
        """Forces moved at DH nodes."""
        return self._forces("a")

    @property
    def D1b(self) -> int:
        """Forces moved at other nodes."""
        return self._forces("b")

    @property
    def D1c(self) -> int:
        """Forces moved at DH nodes that are children of a floating base."""
        return self._forces("c")

    @property
    def saving(self) -> Ops:
        """What DH nodes at a floating base save: D0c (18m + 21a) + D1c (12m + 8a)."""
        c0, c1 = self.D0c, self.D1c
        return Ops(mul=18 * c0 + 12 * c1, add=21 * c0 + 8 * c1)

    @property
    def fixed_base_cost(self) -> Ops:
        """The operations of CRBA, without the saving at a floating base.

            D0a (32m + 43a) + D1a (20m + 12a) + D0b (47m + 58a) + D1b (24m + 18a)  (20)

        ra is 10a; rx is 32m + 33a at a DH node and 47m + 48a elsewhere; vx is
        20m + 12a and 24m + 18a.
        """
        a0, a1, b0, b1 = self.D0a, self.D1a, self.D0b, self.D1b
        return Ops(
            mul=32 * a0 + 20 * a1 + 47 * b0 + 24 * b1,
            add=43 * a0 + 12 * a1 + 58 * b0 + 18 * b1,
        )

    @property
    def cost(self) -> Ops:
        """The operations of CRBA: (20) without what a floating base saves (21)."""
        whole, saved = self.fixed_base_cost, self.saving
        return Ops(mul=whole.mul - saved.mul, add=whole.add - saved.add)

    def table(self) -> Sequence[tuple[str, int]]:
        """Return the numbers of the analysis by their names."""
        names = ("D0", "D0a", "D0b", "D0c", "D1", "D1a", "D1b", "D1c")
        return [*((n, getattr(self, n)) for n in names), ("non-DH nodes", self.non_dh)]
