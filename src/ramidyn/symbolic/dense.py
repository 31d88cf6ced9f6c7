"""Linear algebra over small matrices of symbols; zeros cost nothing.

    A = L D Lᵀ,  L with unit diagonal

L is kept as its rows left of the diagonal. `ldl`, `solve` and `inverse` also run on
numbers, and on anything else that has + − × ÷.

Sparse vectors and matrices are dicts of their entries; missing ones are zero.
"""

# ruff: noqa: N803, N806  the letters of matrices

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import sub
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ramidyn.symbolic.expr import ONE, ZERO, Expr, lift, region
from ramidyn.symbolic.functions import maximum, sqrt, where

Matrix = list[list[Expr]]
Factor = tuple[Matrix, list[Expr]]
"""L and D"""
Entries = dict[int, Expr]
"""of a sparse vector"""
Symmetric = dict[tuple[int, int], Expr]
"""entries (r, c) of a symmetric matrix, c ≤ r"""
ROUNDING = 1e-13
"""of a row's own entry: a smaller pivot has no correct digit"""


# ------------------------------------------------------------ factors


def ldl(
    A: Sequence[Sequence[Expr]],
    pivot: Callable[[Expr, Expr], Expr] = lambda found, _: found,
) -> Factor:
    """Return L and D, row by row; only the lower triangle of A is read.

    ``pivot`` turns what is found for an entry of D, and that entry of A, into a pivot.
    """
    L: Matrix = []
    D: list[Expr] = []
    for i, row in enumerate(A):
        region(f"dense factor {i}")
        left = list(row[:i])  # row i of L D
        for j in range(i):
            for k in range(j):
                left[j] = left[j] - left[k] * L[j][k]
        L.append([x / d for x, d in zip(left, D, strict=True)])
        found = row[i]
        for x, y in zip(left, L[i], strict=True):
            found = found - x * y
        D.append(pivot(found, row[i]))
    return L, D


def above_rounding(found: Expr, entry: Expr) -> Expr:
    """Return a pivot, or 0 where A is singular and it would be nothing but rounding.

    What is divided by it is not finite there.
    """
    if found is entry:
        return found
    return where(found > ROUNDING * entry, found, ZERO)


def at_least(least: float | Expr) -> Callable[[Expr, Expr], Expr]:
    """Return a rule for pivots: none is smaller."""
    return lambda found, _: maximum(found, least)


def damped_ldl(A: Sequence[Sequence[Expr]], damping: Expr) -> Factor:
    """Return L and D of A + δ, with no eigenvalue below the damping μ.

    δ = max(μ − 1 / tr A⁻¹, 0): the fraction is between a part in n of the smallest
    eigenvalue of A and all of it, so where every eigenvalue is above n μ, δ is 0.
    """
    smallest = ONE / _inverse_trace(*ldl(A, at_least(1e-3 * damping)))
    more = maximum(damping - smallest, ZERO)
    n = range(len(A))
    shifted = [[A[i][j] + more if i == j else A[i][j] for j in n] for i in n]
    return ldl(shifted, at_least(0.5 * damping))  # rounding aside, none is below μ


def _inverse_trace(L: Matrix, D: Sequence[Expr]) -> Expr:
    """Return the trace of A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹."""
    n, trace = len(D), ZERO
    for j in range(n):
        column = [ZERO] * n
        column[j] = ONE
        for i in range(j, n):
            for k in range(j, i):
                column[i] = column[i] - L[i][k] * column[k]
            trace = trace + column[i] * column[i] / D[i]
    return trace


def solve(L: Matrix, D: Sequence[Expr], b: Iterable[Expr]) -> list[Expr]:
    """Return x of L D Lᵀ x = b."""
    x, n = list(b), len(D)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - L[i][j] * x[j]
    for i in reversed(range(n)):
        x[i] = x[i] / D[i]
        for j in range(i + 1, n):
            x[i] = x[i] - L[j][i] * x[j]
    return x


def inverse(L: Matrix, D: Sequence[Expr]) -> Matrix:
    """Return A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹."""
    n = len(D)
    # Lᵀ A⁻¹ = D⁻¹ L⁻¹ is lower triangular with D⁻¹ on its diagonal: row by row from
    # the last, each from those after it.
    X: Matrix = [[ZERO] * n for _ in range(n)]
    for i in reversed(range(n)):
        region(f"dense inverse {i}")
        after = range(i + 1, n)
        for j in reversed(after):
            products = (L[k][i] * X[k][j] for k in after)
            X[i][j] = X[j][i] = reduce(sub, products, -next(products))
        X[i][i] = reduce(sub, (L[k][i] * X[k][i] for k in after), 1.0 / D[i])
    return X


def general_solve(A: Any, b: Any) -> Any:
    """Return x of A x = b, for arrays; A need not be symmetric, b can be a matrix.

    Rows are eliminated from the last to the first: branches of a tree stay sparse.
    """
    A, b, n = A.copy(), b.copy(), len(b)
    for k in reversed(range(n)):
        inverse = 1.0 / A[k, k]
        for i in range(k):
            if not lift(A[i, k]).is_zero:
                factor = A[i, k] * inverse
                A[i, :k] = A[i, :k] - factor * A[k, :k]
                b[i] = b[i] - factor * b[k]
    x = b.copy()
    for k in range(n):
        x[k] = (b[k] - A[k, :k] @ x[:k]) / A[k, k] if k else b[k] / A[k, k]
    return x


# ------------------------------------------------------------ one column at a time
#
# Each of these takes the first column off a matrix [A, B] and returns a row of
#
#     U X = C,  U upper triangular:   u₀, u₁, …, c₀, c₁, …
#
# and what is left. They are written out for a small matrix, the body of a loop for a
# large one: rows and columns of zeros may follow those of A.


def eliminate(
    rows: Matrix, divisor: Callable[[Expr], Expr] = lambda pivot: pivot
) -> tuple[list[Expr], Matrix]:
    """Eliminate by the row with the largest first entry (partial pivoting).

    Rows are exchanged by `where`; the one that moves down changes its sign, so the
    determinant stays the same. ``divisor`` turns a pivot into what is divided by.
    """
    top, *rest = [list(row) for row in rows]
    for i, row in enumerate(rest):
        if not row[0].is_zero:
            is_larger = _is_larger(row[0], top[0])
            rest[i] = [where(is_larger, -x, y) for x, y in zip(top, row, strict=True)]
            top = [where(is_larger, y, x) for x, y in zip(top, row, strict=True)]
    if rest and not top[0].is_zero:
        d = divisor(top[0])
        rest = [
            [x - f * y for x, y in zip(row[1:], top[1:], strict=True)]
            for row, f in ((row, row[0] / d) for row in rest)
        ]
    else:
        rest = [row[1:] for row in rest]
    return top, rest


def _is_larger(a: Expr, b: Expr) -> Any:
    if b.is_zero:
        return True
    if a.op == b.op == "const":
        return abs(a.value) > abs(b.value)
    return abs(a) > abs(b)


def eliminate_symmetric(rows: Matrix) -> tuple[list[Expr], Matrix]:
    """Eliminate the first row of a positive matrix: row i has A[i, :i + 1] and B[i]."""
    first, right = [row[0] for row in rows], rows[0][1:]
    left: Matrix = []
    for i, row in enumerate(rows[1:], 1):
        f = row[0] / first[0]
        against = [*first[1 : i + 1], *right]
        left.append([x - f * y for x, y in zip(row[1:], against, strict=True)])
    return [*first, *right], left


def orthogonalize(rows: Matrix, size: int) -> tuple[list[Expr], Matrix]:
    """Make all other rows orthogonal to the first (modified Gram-Schmidt).

    ``size`` entries are multiplied, and those behind them treated alike.
    """
    first, *rest = rows
    q = first[:size]
    square = inner(q, q)
    factors = [inner(q, row[:size]) / square for row in rest]
    return [ONE, *factors], [
        [x - f * y for x, y in zip(row, first, strict=True)]
        for row, f in zip(rest, factors, strict=True)
    ]


def substitute(row: Sequence[Expr], X: Sequence[Sequence[Expr]]) -> list[Expr]:
    """Return the row of X above those that are known, from a row of U X = C."""
    pivot, *rest = row
    n = len(X)
    return [
        reduce(sub, (u * x[k] for u, x in zip(rest, X, strict=False)), c) / pivot
        for k, c in enumerate(rest[n:])
    ]


def move_to_planes(
    X: Sequence[Sequence[Expr]], q: Sequence[Expr], c: Sequence[Expr]
) -> Matrix:
    """Return the columns x of X, moved along q to where q · x = c."""
    square = inner(q, q)
    columns = [list(x) for x in zip(*X, strict=True)]
    factors = [(c - inner(q, x)) / square for c, x in zip(c, columns, strict=True)]
    return [
        [x + f * y for x, f in zip(row, factors, strict=True)]
        for row, y in zip(X, q, strict=True)
    ]


class NullSpace(NamedTuple):
    """Solutions of A x = b, for more columns than rows, which are independent."""

    N: Matrix
    """A N = 0"""
    least: Callable[[list[Expr]], list[Expr]]
    """b → an x with A x = b"""
    balance: Callable[[list[Expr]], list[Expr]]
    """e → the y with Aᵀ y = e, if there is one"""


def null_space(A: Sequence[Sequence[Expr]]) -> NullSpace:
    """Return N with Nᵀ N = 1, by Householder's reflections: A Q = [L, 0]."""
    rows, m, n = [list(row) for row in A], len(A), len(A[0])
    reflections: list[tuple[int, list[Expr], Expr]] = []

    def reflect(x: list[Expr], k: int, v: list[Expr], factor: Expr) -> list[Expr]:
        along = factor * inner(v, x[k:])
        return [*x[:k], *(e - along * u for e, u in zip(x[k:], v, strict=True))]

    def rotated(x: list[Expr]) -> list[Expr]:
        for reflection in reversed(reflections):
            x = reflect(x, *reflection)
        return x

    for k, row in enumerate(rows):
        norm = sqrt(inner(row[k:], row[k:]))
        norm = where(row[k] < ZERO, -norm, norm)
        v = [row[k] + norm, *row[k + 1 :]]
        reflections.append((k, v, ONE / (norm * v[0])))
        row[k] = -norm
        for i in range(k + 1, m):
            rows[i] = reflect(rows[i], *reflections[-1])

    def least(b: list[Expr]) -> list[Expr]:
        z: list[Expr] = []
        for x, row in zip(b, rows, strict=True):
            z.append((x - inner(row[: len(z)], z)) / row[len(z)])
        return rotated([*z, *[ZERO] * (n - m)])

    def balance(e: list[Expr]) -> list[Expr]:
        for reflection in reflections:
            e = reflect(e, *reflection)
        y: list[Expr] = []
        for i in reversed(range(m)):
            below = [row[i] for row in rows[i + 1 :]]
            y.insert(0, (e[i] - inner(below, y)) / rows[i][i])
        return y

    units = [[ONE if k == c else ZERO for k in range(n)] for c in range(m, n)]
    N = zip(*map(rotated, units), strict=True)
    return NullSpace(list(map(list, N)), least, balance)


def expand_determinant(A: Sequence[Sequence[Expr]]) -> Expr:
    """Return the determinant without divisions, minors from the last rows up.

    n 2ⁿ⁻¹ products; like its derivatives it is exact for singular matrices too.
    """
    n = len(A)
    minors: dict[tuple[int, ...], Expr] = {(): ONE}
    for k in range(1, n + 1):
        minors = {
            chosen: total(
                (A[n - k][c] if i % 2 == 0 else -A[n - k][c])
                * minors[chosen[:i] + chosen[i + 1 :]]
                for i, c in enumerate(chosen)
            )
            for chosen in combinations(range(n), k)
        }
    return minors[tuple(range(n))]


# ------------------------------------------------------------ sums and products


def total(terms: Iterable[Expr]) -> Expr:
    """Return a sum, term by term."""
    each = iter(terms)
    found = next(each, ZERO)
    for x in each:
        found = found + x
    return found


def inner(a: Iterable[Expr], b: Iterable[Expr]) -> Expr:
    """Return a · b."""
    return total(x * y for x, y in zip(a, b, strict=True))


def product(A: Iterable[Sequence[Expr]], B: Iterable[Sequence[Expr]]) -> Matrix:
    """Return A B."""
    columns = list(zip(*B, strict=True))
    return [[inner(row, column) for column in columns] for row in A]


def without_components(null: npt.NDArray[np.float64], x: Sequence[Expr]) -> list[Expr]:
    """Return x − n nᵀ x for orthonormal columns n."""
    out = list(x)
    for n in np.transpose(null).tolist():
        along = ZERO
        for k, e in zip(n, x, strict=True):
            along = along + e * k
        out = [e - along * k for e, k in zip(out, n, strict=True)]
    return out


def dot(a: Mapping[int, Expr], b: Mapping[int, Expr]) -> Expr:
    """Return a · b over the entries that both have."""
    if len(b) < len(a):
        a, b = b, a
    return total(x * b[k] for k, x in a.items() if k in b)


def gram(T: Sequence[Entries], W: Sequence[Entries]) -> Matrix:
    """Return the lower triangle of Tᵀ W, for columns T and W."""
    region("gram")
    return [[dot(w, T[r]) for w in W[: r + 1]] for r in range(len(T))]


def add_multiples(
    to: Entries, columns: Sequence[Entries], factors: Sequence[Expr]
) -> None:
    """Add each column, times its factor, to a sparse vector."""
    for column, factor in zip(columns, factors, strict=True):
        for k, x in column.items():
            to[k] = to.get(k, ZERO) + x * factor


def add(A: Symmetric, r: int, c: int, x: Expr) -> None:
    """Add x to the entry (r, c), or (c, r), of a symmetric matrix."""
    if not x.is_zero:
        at = (r, c) if c <= r else (c, r)
        A[at] = A[at] + x if at in A else x


def add_outer(A: Symmetric, v: Mapping[int, Expr], s: Expr) -> None:
    """Add v s vᵀ to a symmetric matrix."""
    for r, x in v.items():
        y = x * s
        for c, z in v.items():
            if c <= r:
                add(A, r, c, y * z)
