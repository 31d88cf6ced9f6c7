"""Small symmetric matrices of symbols: factor, solve, invert; zeros cost nothing.

A = L D Lᵀ,  L with unit diagonal
"""

from __future__ import annotations

from collections.abc import Sequence

from ramify.spatial.vector3 import ONE, ZERO
from ramify.symbolic.expr import Expr, region
from ramify.symbolic.functions import maximum

Matrix = list[list[Expr]]


def ldl(A: Sequence[Sequence[Expr]], least: float = 0.0) -> tuple[Matrix, list[Expr]]:
    """Return L and D, whose entries are no smaller than ``least`` if that is not 0.

    Only the lower triangle of A is read.
    """
    n = len(A)
    L = [[A[i][j] if j <= i else ZERO for j in range(n)] for i in range(n)]
    D: list[Expr] = []
    for k in range(n):
        region(f"task factor {k}")
        D.append(maximum(L[k][k], least) if least else L[k][k])
        column = [L[i][k] for i in range(n)]
        for i in range(k + 1, n):
            L[i][k] = column[i] / D[k]
            for j in range(k + 1, i + 1):
                L[i][j] = L[i][j] - L[i][k] * column[j]
        L[k][k] = ONE
    return L, D


def solve_column(L: Matrix, D: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
    """Return x of L D Lᵀ x = b."""
    x, n = list(b), len(D)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - L[i][j] * x[j]
    x = [e / d for e, d in zip(x, D, strict=True)]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - L[j][i] * x[j]
    return x


def symmetric_inverse(A: Sequence[Sequence[Expr]]) -> Matrix:
    """Return A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹."""
    L, D = ldl(A)
    n = len(D)
    # Lᵀ A⁻¹ = D⁻¹ L⁻¹ is lower triangular with D⁻¹ on its diagonal: row by row from
    # the last, each from those after it.
    X: Matrix = [[ZERO] * n for _ in range(n)]
    for i in reversed(range(n)):
        region(f"task inverse {i}")
        for j in reversed(range(i, n)):
            total = ONE / D[i] if i == j else ZERO
            for k in range(i + 1, n):
                total = total - L[k][i] * X[k][j]
            X[i][j] = X[j][i] = total
    return X
