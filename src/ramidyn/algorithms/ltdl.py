"""Sparse factorizations of a symmetric matrix along a tree (Featherstone 2005).

    M = Lᵀ D L (L with unit diagonal)      or      M = Lᵀ L

with no fill-in: M and L hold (i, j) only where j is i or an ancestor of i. A matrix
that is not of a tree factors along its elimination tree (Liu 1990).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ramidyn.symbolic.expr import Expr, const, label, region
from ramidyn.tree.tree import D1, D2, ROOT, ancestors

TreeEntries = dict[tuple[int, int], Expr]
"""Entries (i, j) by degrees of freedom of the tree, j = i or an ancestor of i."""
Diagonal = dict[int, Expr]
DofVector = dict[int, Expr]

MOST_OPERATIONS = 1_000_000
"""of a factor that becomes straight-line code: some 200 us each to compile, so minutes.

A factor has Σ d² of them along a tree with depths d: a chain of 144 joints exceeds it.
"""


def operations(parents: Sequence[int]) -> int:
    """Return the number of divisions, products and differences in `ltdl`."""
    return D1(parents) + 2 * D2(parents)


def ltdl(M: TreeEntries, parents: Sequence[int]) -> tuple[TreeEntries, Diagonal]:
    """Factor M = Lᵀ D L."""
    L = dict(M)
    D: Diagonal = {}
    for k in reversed(range(len(parents))):
        region(f"factor {k}")
        D[k] = L.pop((k, k))
        label(f"D_{k}", D[k])
        for i in ancestors(parents, k):
            l_ki = L[k, i] / D[k]
            label(f"L_{k}_{i}", l_ki)
            for j in (i, *ancestors(parents, i)):
                L[i, j] = L[i, j] - l_ki * L[k, j]
            L[k, i] = l_ki
    return L, D


def ltl(M: TreeEntries, parents: Sequence[int]) -> TreeEntries:
    """Factor M = Lᵀ L."""
    L = dict(M)
    for k in reversed(range(len(parents))):
        region(f"factor {k}")
        L[k, k] = L[k, k].sqrt()
        for i in ancestors(parents, k):
            L[k, i] = L[k, i] / L[k, k]
        for i in ancestors(parents, k):
            for j in (i, *ancestors(parents, i)):
                L[i, j] = L[i, j] - L[k, i] * L[k, j]
    return L


def solve(
    L: TreeEntries, D: Diagonal, b: DofVector, parents: Sequence[int]
) -> DofVector:
    """Solve Lᵀ D L x = b in two sweeps of the tree."""
    region("solve")
    y = solve_LT(L, b, parents)
    return solve_L(L, {k: y[k] / D[k] for k in range(len(parents))}, parents)


# Products with L and its inverse. L has ones on its diagonal where it holds none.


def mul_L(L: TreeEntries, x: DofVector, parents: Sequence[int]) -> DofVector:
    """Return L x."""
    y: DofVector = {}
    for k in range(len(parents)):
        y[k] = L[k, k] * x[k] if (k, k) in L else x[k]
        for i in ancestors(parents, k):
            y[k] = y[k] + L[k, i] * x[i]
    return y


def mul_LT(L: TreeEntries, x: DofVector, parents: Sequence[int]) -> DofVector:
    """Return Lᵀ x."""
    y: DofVector = {}
    for k in range(len(parents)):
        y[k] = L[k, k] * x[k] if (k, k) in L else x[k]
        for i in ancestors(parents, k):
            y[i] = y[i] + L[k, i] * x[k]
    return y


def solve_L(L: TreeEntries, x: DofVector, parents: Sequence[int]) -> DofVector:
    """Return L⁻¹ x."""
    y = dict(x)
    for k in range(len(parents)):
        # The root first: its entry has been known the longest; the parent's is new.
        for i in reversed(tuple(ancestors(parents, k))):
            y[k] = y[k] - L[k, i] * y[i]
        if (k, k) in L:
            y[k] = y[k] / L[k, k]
    return y


def solve_LT(L: TreeEntries, x: DofVector, parents: Sequence[int]) -> DofVector:
    """Return L⁻ᵀ x."""
    y = dict(x)
    for k in reversed(range(len(parents))):
        if (k, k) in L:
            y[k] = y[k] / L[k, k]
        for i in ancestors(parents, k):
            y[i] = y[i] - L[k, i] * y[k]
    return y


def elimination_parents(pattern: Iterable[tuple[int, int]], n: int) -> tuple[int, ...]:
    """Return a tree over which a matrix factors: ancestors cover its nonzeros.

    For a matrix that is not of a tree (mimic joints tie branches together): its
    elimination tree, last row first. Of a tree's matrix it is the tree itself.
    """
    below: list[list[int]] = [[] for _ in range(n)]
    for i, j in pattern:
        if i != j:
            below[min(i, j)].append(max(i, j))
    parents, highest = [ROOT] * n, [ROOT] * n
    for i in reversed(range(n)):  # Liu's method: every path is walked once
        for k in below[i]:
            while highest[k] not in (ROOT, i):
                highest[k], k = i, highest[k]  # noqa: PLW2901
            if highest[k] == ROOT:
                highest[k] = parents[k] = i
    return tuple(parents)


def filled_matrix(M: TreeEntries, parents: Sequence[int]) -> TreeEntries:
    """Return M with zeros where the tree has entries and M has none."""
    full = dict(M)
    for k in range(len(parents)):
        for i in ancestors(parents, k):
            full.setdefault((k, i), const(0.0))
    return full
