"""Block Cholesky of the mass matrix along a tree (Negrut, Serban & Potra 1997, §4.1).

    M = Lᵀ L,    a block of rows and columns for each joint

The paper numbers bodies so that descendants come first, and factors M = L Lᵀ; here
parents come first, and the same elimination runs from the tips to the root. A block is
dense, of the size of its joint. Products with a block's own transpose are computed in
full, as a matrix product does, though their results are symmetric: with joints of one
degree of freedom this is `ltl`, and with larger ones it takes more operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramidyn.algorithms.ltdl import TreeEntries
from ramidyn.tree.tree import ancestors

Block = list[list[Any]]
Blocks = dict[tuple[int, int], Block]


def blocks_of(
    M: TreeEntries, dofs: Sequence[Sequence[int]], parents: Sequence[int]
) -> Blocks:
    """Return the blocks of a matrix along a tree of bodies, lower triangle."""

    def entry(i: int, j: int) -> Any:
        return M[max(i, j), min(i, j)]

    return {
        (k, i): [[entry(a, b) for b in dofs[i]] for a in dofs[k]]
        for k in range(len(parents))
        for i in (k, *ancestors(parents, k))
    }


def block_cholesky(M: Blocks, parents: Sequence[int]) -> Blocks:
    """Return the blocks of L, those on the diagonal lower triangular."""
    L = {at: [list(row) for row in block] for at, block in M.items()}
    for k in reversed(range(len(parents))):
        L[k, k] = own = _last_first(L[k, k])
        for i in ancestors(parents, k):
            L[k, i] = _divided_block(own, L[k, i])
        for i in ancestors(parents, k):
            for j in (i, *ancestors(parents, i)):
                L[i, j] = _less_product(L[i, j], L[k, i], L[k, j])
    return L


def _last_first(A: Block) -> Block:
    """Return the lower triangle of A = Lᵀ L."""
    n = len(A)
    L = [list(row[: i + 1]) for i, row in enumerate(A)]
    for k in reversed(range(n)):
        L[k][k] = L[k][k].sqrt()
        for i in range(k):
            L[k][i] = L[k][i] / L[k][k]
        for i in range(k):
            for j in range(i + 1):
                L[i][j] = L[i][j] - L[k][i] * L[k][j]
    return L


def _divided_block(own: Block, B: Block) -> Block:
    """Return X of ownᵀ X = B."""
    X = [list(row) for row in B]
    for k in reversed(range(len(own))):
        X[k] = [x / own[k][k] for x in X[k]]
        for i in range(k):
            X[i] = [x - own[k][i] * y for x, y in zip(X[i], X[k], strict=True)]
    return X


def _less_product(A: Block, X: Block, Y: Block) -> Block:
    """Return A − Xᵀ Y, every entry of it."""
    out = [list(row) for row in A]
    for i, row in enumerate(out):
        for j in range(len(row)):
            for x, y in zip(X, Y, strict=True):
                row[j] = row[j] - x[i] * y[j]
    return out
