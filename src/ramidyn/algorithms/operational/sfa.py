"""Λ⁻¹ by sparse factorization (Featherstone 2010, "Exploiting sparsity ...").

    M = Lᵀ D L        Y = J L⁻¹        Λ⁻¹ = Y D⁻¹ Yᵀ

L, and so every row of Y, is zero beyond the ancestors of its degree of freedom: two
rows meet only in the joints that support both.

    M, L   along the tree, by degrees of freedom      D  diagonal
    J[r]   row r: only the joints that support its task
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ramidyn.algorithms.ltdl import TreeEntries, ltdl
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import Symmetric, add
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import ancestors

JacobianRow = Mapping[int, Expr]
"""The entries of a row of J that are not zero, by degree of freedom."""


def sfa(M: TreeEntries, parents: Sequence[int], J: Sequence[JacobianRow]) -> Symmetric:
    """Return Λ⁻¹; M holds (i, j) for j = i and every ancestor j of i."""
    L, D = ltdl(M, parents)
    Y: list[dict[int, Expr]] = []
    for r, row in enumerate(J):
        region(f"task row {r}")
        y = {k: x for k, x in row.items() if not x.is_zero}
        for i in range(len(parents) - 1, -1, -1):
            if i in y:
                for j in ancestors(parents, i):
                    y[j] = y.get(j, ZERO) - L[i, j] * y[i]
        Y.append(y)
    Lam: Symmetric = {}
    Dinv = {k: ONE / d for k, d in D.items()}
    for r, y in enumerate(Y):
        region(f"task inertia {r}")
        scaled = {k: x * Dinv[k] for k, x in y.items()}
        for c in range(r + 1):
            for k in sorted(scaled.keys() & Y[c].keys()):
                add(Lam, r, c, scaled[k] * Y[c][k])
    return Lam
