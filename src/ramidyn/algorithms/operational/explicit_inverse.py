"""Λ⁻¹ through the explicit inverse of M: the O(n³) method of before 2000.

    Λ⁻¹ = J M⁻¹ Jᵀ,   M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹,   M = L D Lᵀ

It sees no tree and no zeros: the baseline that Chang & Khatib (2000) compare with. It
runs on whatever has + − × ÷: numbers, symbols, or `papers.unknown`, which counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Rows = Sequence[Sequence[Any]]


def explicit_inverse(M: Rows, J: Rows) -> list[list[Any]]:
    """Return the lower triangle of J M⁻¹ Jᵀ, row by row."""
    inverse = symmetric_inverse(M)
    half = [[_dot(row, column) for column in inverse] for row in J]
    return [[_dot(half[r], J[c]) for c in range(r + 1)] for r in range(len(J))]


def symmetric_inverse(A: Rows) -> list[list[Any]]:
    """Return A⁻¹ of a positive definite matrix; only its lower triangle is read."""
    n = len(A)
    L = [list(row) for row in A]
    for k in range(n):
        column = [L[i][k] for i in range(n)]
        for i in range(k + 1, n):
            L[i][k] = column[i] / column[k]
            for j in range(k + 1, i + 1):
                L[i][j] = L[i][j] - L[i][k] * column[j]
    # Lᵀ X = D⁻¹ L⁻¹ is lower triangular with D⁻¹ on its diagonal: last row first.
    X = [list(row) for row in A]
    for i in reversed(range(n)):
        for j in reversed(range(i + 1, n)):
            below = [X[k][j] for k in range(i + 1, n)]
            X[i][j] = X[j][i] = -_dot([L[k][i] for k in range(i + 1, n)], below)
        X[i][i] = 1.0 / L[i][i]
        for k in range(i + 1, n):
            X[i][i] = X[i][i] - L[k][i] * X[k][i]
    return X


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
