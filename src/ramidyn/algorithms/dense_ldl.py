"""Factor, solve and invert small symmetric matrices of symbols; zeros cost nothing.

A = L D Lᵀ,  L with unit diagonal
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.expr import Expr, region
from ramidyn.symbolic.functions import maximum, where

Matrix = list[list[Expr]]
ROUNDING = 1e-13
"""of a row's own entry: a smaller pivot has no correct digit"""


def ldl(
    A: Sequence[Sequence[Expr]], least: float | Expr = 0.0
) -> tuple[Matrix, list[Expr]]:
    """Return L and D; only the lower triangle of A is read.

    Where A is singular, a pivot would be nothing but rounding. It is 0 there, and what
    is divided by it is not finite; or, if ``least`` is given, no pivot is smaller.
    """
    n = len(A)
    L = [[A[i][j] if j <= i else ZERO for j in range(n)] for i in range(n)]
    D: list[Expr] = []
    for k in range(n):
        region(f"task factor {k}")
        pivot = L[k][k]
        if isinstance(least, Expr) or least:
            pivot = maximum(pivot, least)
        elif k:
            pivot = where(pivot > ROUNDING * A[k][k], pivot, ZERO)
        D.append(pivot)
        column = [L[i][k] for i in range(n)]
        for i in range(k + 1, n):
            L[i][k] = column[i] / D[k]
            for j in range(k + 1, i + 1):
                L[i][j] = L[i][j] - L[i][k] * column[j]
        L[k][k] = ONE
    return L, D


def damped_ldl(A: Sequence[Sequence[Expr]], damping: Expr) -> tuple[Matrix, list[Expr]]:
    """Return L and D of A + δ, with no eigenvalue below the damping μ.

    δ = max(μ − 1 / tr A⁻¹, 0): the fraction is between a part in n of the smallest
    eigenvalue of A and all of it, so where every eigenvalue is above n μ, δ is 0.
    """
    smallest = ONE / inverse_trace(*ldl(A, 1e-3 * damping))
    more = maximum(damping - smallest, ZERO)
    n = range(len(A))
    shifted = [[A[i][j] + more if i == j else A[i][j] for j in n] for i in n]
    return ldl(shifted, 0.5 * damping)  # against rounding: no pivot is below μ


def inverse_trace(L: Matrix, D: Sequence[Expr]) -> Expr:
    """Return the trace of A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹."""
    n, total = len(D), ZERO
    for j in range(n):
        column = [ZERO] * n
        column[j] = ONE
        for i in range(j, n):
            for k in range(j, i):
                column[i] = column[i] - L[i][k] * column[k]
            total = total + column[i] * column[i] / D[i]
    return total


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
