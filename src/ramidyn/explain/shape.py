"""Consequences of the topology of a robot: nonzeros, envelopes, costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ramidyn.linalg.branches import divide_branches
from ramidyn.tree.tree import (
    D1,
    D2,
    ROOT,
    depth_first,
    depths,
    renumbering,
    sparsity_pattern,
)

Pattern = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TreeShape:
    """A tree of degrees of freedom, and what follows from it (Featherstone 2005, §4).

    Costs are operations of LTDL without square roots: D1 divisions, D2 products and
    D2 sums to factor, 2 D1 + n products and 2 D1 sums to solve.
    """

    parents: tuple[int, ...]

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return len(self.parents)

    @cached_property
    def d1(self) -> int:
        """Nonzeros below the diagonal of M."""
        return D1(self.parents)

    @cached_property
    def d2(self) -> int:
        """Products of the factorization."""
        return D2(self.parents)

    @property
    def nonzeros(self) -> int:
        """Entries of M that can be nonzero."""
        return self.n + 2 * self.d1

    @property
    def factor_cost(self) -> int:
        """Operations of the factorization."""
        return self.d1 + 2 * self.d2

    @property
    def solve_cost(self) -> int:
        """Operations of a solve, once factored."""
        return 4 * self.d1 + self.n

    @property
    def density(self) -> float:
        """α: the share of M that can be nonzero.

        A rule of thumb: factoring costs α², solving α of what a full matrix costs.
        """
        return self.nonzeros / self.n**2 if self.n else 1.0

    @cached_property
    def depth(self) -> int:
        """d_max: the most degrees of freedom in a row."""
        return max(depths(self.parents), default=0)

    @property
    def main_share(self) -> float:
        """β: the share of the longest chain.

        D1 and D2 of a chain with short side branches come near to β and β² of those
        of as many degrees of freedom in one chain.
        """
        return self.depth / self.n if self.n else 1.0

    @cached_property
    def critical_path(self) -> int:
        """Operations of the factorization in a row, if each branch has a thread.

        A row waits for its descendants alone (Negrut, Serban & Potra 1997, Lemma 4).
        Sums of what branches subtract from rows that they share are not counted.
        """
        below, longest = [0] * self.n, 0
        for k in reversed(range(self.n)):
            own, p = below[k] + self._row_costs[k], self.parents[k]
            if p == ROOT:
                longest = max(longest, own)
            else:
                below[p] = max(below[p], own)
        return longest

    def on_threads(self, threads: int) -> int:
        """Return the operations of the busiest of some threads, and of the trunk."""
        order = depth_first(self.parents)
        place = {old: new for new, old in enumerate(order)} | {ROOT: ROOT}
        above = [place[self.parents[i]] for i in order]
        costs = [self._row_costs[i] for i in order]
        return divide_branches(above, costs, threads)[0]

    @cached_property
    def _row_costs(self) -> list[int]:
        return [d * d - 1 for d in depths(self.parents)]

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """Upper bounds of D1 and D2: by n (Eqs. 10, 11), and by d_max (12, 13)."""
        n, d = self.n, self.depth
        return {
            "n": ((n * n - n) // 2, (n**3 - n) // 6),
            "depth": (n * (d - 1), n * d * (d - 1) // 2),
        }

    @cached_property
    def chain(self) -> TreeShape:
        """As many degrees of freedom in one chain: M is then full."""
        return TreeShape(tuple(range(-1, self.n - 1)))

    @cached_property
    def pattern(self) -> Pattern:
        """Where M can be nonzero."""
        return sparsity_pattern(self.parents)

    @cached_property
    def permutation(self) -> tuple[int, ...]:
        """Depth-first order, reversed: children before parents, limbs together."""
        return renumbering(self.parents)

    @cached_property
    def permuted(self) -> Pattern:
        """The pattern in that order."""
        return self.pattern[np.ix_(self.permutation, self.permutation)]

    @cached_property
    def limbs(self) -> tuple[int, ...]:
        """The limb of each degree of freedom: 0 for the trunk, then 1, 2, ...

        A limb goes from one branching to the next: an arm, then each finger. The
        trunk is the limb that hangs on the world; where several do, there is none.
        """
        children: list[list[int]] = [[] for _ in range(self.n + 1)]
        for i, p in enumerate(self.parents):
            children[p].append(i)
        out, last = [0] * self.n, 0
        for i in depth_first(self.parents):
            p = self.parents[i]
            if len(children[p]) == 1:
                out[i] = 0 if p == ROOT else out[p]
            else:
                last += 1
                out[i] = last
        return tuple(out) if last else (1,) * self.n


def envelope(pattern: Pattern) -> int:
    """Return the entries from the first nonzero of each row to its diagonal.

    What a skyline solver stores and works on, besides the diagonal.
    """
    first = pattern.argmax(axis=1)
    return int((np.arange(len(pattern)) - first).clip(min=0).sum())


def topologies() -> dict[str, list[tuple[int, int]]]:
    """Return (n, operations to factor) of the families of Featherstone's Fig. 5."""
    sizes = {
        "chain": [2**k for k in range(1, 11)],
        "short side branches": [2**k for k in range(1, 11)],
        "square grid": [m * m for m in (2, 3, 4, 6, 8, 11, 16, 23, 32)],
        "binary tree": [2**k - 1 for k in range(2, 11)],
    }
    return {
        name: [(n, TreeShape(tuple(family(name, n))).factor_cost) for n in ns]
        for name, ns in sizes.items()
    }


def family(name: str, n: int) -> Sequence[int]:
    """Return the parents of a tree of n nodes of one of the four families."""
    if name == "chain":
        return range(-1, n - 1)
    if name == "short side branches":
        return [(i - 2 if i else ROOT) if i % 2 == 0 else i - 1 for i in range(n)]
    if name == "binary tree":
        return [(i - 1) // 2 if i else ROOT for i in range(n)]
    m = round(n**0.5)
    return [ROOT if i == 0 else i - 1 if i % m else i - m for i in range(n)]
