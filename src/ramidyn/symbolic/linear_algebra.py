"""Small dense matrices of symbols or numbers: the linear algebra of `ramidyn.math`.

Numbers go to NumPy. Symbols are eliminated column by column (`dense`): written out up
to `MOST_PRODUCTS`, by loops above. A solve that is not short is a call that declares
its residual,

    A X − B = 0,    so    dX = A⁻¹ (dB − dA X)

and its derivatives are further solves, not those of the elimination.
"""

# ruff: noqa: N803, N806  the letters of matrices

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ramidyn.errors import ArgumentError, ShapeError, TraceError
from ramidyn.symbolic import dense, expr
from ramidyn.symbolic.calls import call_or_replay, results_of, traced_body
from ramidyn.symbolic.dense import Matrix
from ramidyn.symbolic.expr import ONE, ZERO, Expr, lift, users_line
from ramidyn.symbolic.program import Callee
from ramidyn.symbolic.trace import trace

MOST_PRODUCTS = 10_000
"""of straight-line code, which takes about 0.2 ms each to compile

It runs several times faster than a loop. Pivoting counts as five products: 2 n³ in all.
"""
MINORS = 6
"""rows up to which a determinant is expanded by minors"""

Step = Callable[[Matrix], tuple[list[Expr], Matrix]]
"""takes a row of U X = C off a matrix; see `dense`"""


def solve(
    A: Any, b: Any, *, positive_definite: bool = False, parents: Any = None
) -> Any:
    """Return x of A x = b.

    In a kernel, rows are exchanged as needed (partial pivoting), without branches; for
    a singular matrix x is not finite.

    Args:
        A: (n, n).
        b: (n,) or (n, m).
        positive_definite: whether A is symmetric and positive definite. It is factored
            without exchanges, and only its lower triangle is read.
        parents: the parent of each row in a tree, −1 for none, parents first: A is
            positive definite, and zero where neither row is an ancestor of the other,
            as mass matrices are. Factored without fill-in; no other entry is read.

    >>> import numpy as np, ramidyn
    >>> A, b = np.array([[0.0, 2.0], [4.0, 1.0]]), np.array([2.0, 5.0])
    >>> ramidyn.kernel(ramidyn.math.solve, {"A": (2, 2), "b": 2})(A, b)
    array([1., 1.])
    """
    left = _square("solve", A)
    right: Any = np.asarray(b)
    n = left.shape[-1]
    if parents is not None:
        left = np.where(_tree_pattern(parents, n), left, 0.0)
    if object not in (left.dtype, right.dtype):
        if parents is not None:
            left = left + np.swapaxes(np.tril(left, -1), -1, -2)
        return np.linalg.solve(left, right)  # type: ignore[no-any-return]
    if right.ndim not in (1, 2) or len(right) != n:
        raise ShapeError(
            f"{users_line()}: solve got A of shape {left.shape} and b of shape "
            f"{right.shape}; expected b of shape ({n},) or ({n}, m)"
        )
    B = _lifted(right.reshape(n, -1))
    if parents is not None or positive_definite:
        X = _solve_positive(_lifted(left), B)
    else:
        X = solved(_lifted(left), B)
    return _array(X, right.shape)


def inverse(A: Any) -> Any:
    """Return A⁻¹ of an (n, n) matrix; it is not finite where A is singular."""
    left = _square("inverse", A)
    if left.dtype != object:
        return np.linalg.inv(left)  # type: ignore[no-any-return]
    return solve(left, np.eye(len(left)))


def determinant(A: Any) -> Any:
    """Return the determinant of an (n, n) matrix.

    Its derivatives are exact for singular matrices too, up to six rows.
    """
    left = _square("determinant", A)
    if left.dtype != object:
        return np.linalg.det(left)
    rows, n = _lifted(left), len(left)
    if n <= MINORS:
        return dense.expand_determinant(rows)

    def step(rows: Matrix) -> tuple[list[Expr], Matrix]:
        return dense.eliminate(rows, lambda x: expr.where(x == ZERO, ONE, x))

    found = ONE
    for pivot, *_ in _swept(step, rows, 2 * n**3 > MOST_PRODUCTS, n):
        found = found * pivot
    return found


def cholesky(A: Any) -> Any:
    """Return L, lower triangular, with A = L Lᵀ.

    Args:
        A: (n, n), symmetric and positive definite; only the lower triangle is read. If
            it is not positive definite, L is not finite.
    """
    left = _square("cholesky", A)
    if left.dtype != object:
        return np.linalg.cholesky(left)  # type: ignore[no-any-return]
    lower, n = [row[: i + 1] for i, row in enumerate(_lifted(left))], len(left)
    columns = _swept(dense.eliminate_symmetric, lower, n**3 > 3 * MOST_PRODUCTS, n)
    L = [[ZERO] * n for _ in range(n)]
    for j, (pivot, *rest) in enumerate(columns):
        L[j][j] = root = pivot.sqrt()
        for i in range(j + 1, n):
            L[i][j] = rest[i - j - 1] / root
    return _array(L, (n, n))


def least_squares(A: Any, b: Any) -> Any:
    """Return the x that minimizes |A x − b|.

    With more columns than rows, the shortest x of A x = b. In a kernel, A must have
    full rank; otherwise x is not finite.

    Args:
        A: (m, n).
        b: (m,) or (m, k).
    """
    left: Any = np.asarray(A)
    right: Any = np.asarray(b)
    if left.ndim != 2 or right.ndim not in (1, 2) or len(right) != len(left):
        raise ShapeError(
            f"{users_line()}: least_squares got A of shape {left.shape} and b of shape "
            f"{right.shape}; expected (m, n) and (m,) or (m, k)"
        )
    if object not in (left.dtype, right.dtype):
        return np.linalg.lstsq(left, right)[0]  # type: ignore[no-any-return]
    (m, n), rows = left.shape, _lifted(left)
    both = _lifted(np.concatenate([left, right.reshape(m, -1)], axis=1))
    is_loop = m * n * min(m, n) > MOST_PRODUCTS and not _is_constant(rows)
    if m >= n:
        columns = [list(column) for column in zip(*both, strict=True)]
        step = partial(dense.orthogonalize, size=m)
        X = _substituted(_swept(step, columns, is_loop, n), is_loop)
    else:
        X = _shortest(both, n, is_loop)
    return _array(X, (n, *right.shape[1:]))


# ------------------------------------------------------------ solutions


def solved(A: Matrix, B: Matrix) -> Matrix:
    """Return X of A X = B; independent blocks of A are solved by themselves."""
    X = [[ZERO] * len(row) for row in B]
    equal: dict[tuple[int, ...], list[tuple[list[int], list[int]]]] = {}
    for rows, columns in _blocks(A):
        key = tuple(id(A[i][j]) for i in rows for j in columns)
        equal.setdefault(key, []).append((rows, columns))
    width = len(B[0])
    for blocks in equal.values():
        rows, columns = blocks[0]
        block = [[A[i][j] for j in columns] for i in rows]
        right = [[x for of, _ in blocks for x in B[of[k]]] for k in range(len(rows))]
        found = _solve_general(block, right)
        for number, (_, own) in enumerate(blocks):
            for k, j in enumerate(own):
                X[j] = found[k][number * width : (number + 1) * width]
    return X


def _blocks(A: Matrix) -> list[tuple[list[int], list[int]]]:
    """Return rows and columns of the smallest blocks with nothing but zeros between."""
    found: list[tuple[list[int], set[int]]] = []
    for i, row in enumerate(A):
        rows, columns = [i], {j for j, x in enumerate(row) if not x.is_zero}
        joined = [block for block in found if not block[1].isdisjoint(columns)]
        found = [block for block in found if block[1].isdisjoint(columns)]
        for block in joined:
            rows, columns = [*block[0], *rows], columns | block[1]
        found.append((rows, columns))
    if any(len(rows) != len(columns) for rows, columns in found):
        raise _singular()
    return [(sorted(rows), sorted(columns)) for rows, columns in found]


def _solve_general(A: Matrix, B: Matrix) -> Matrix:
    """Return X of A X = B, with partial pivoting."""
    n = len(A)
    is_loop = 2 * n**3 > MOST_PRODUCTS and not _is_constant(A)

    def function(A: Matrix, B: Matrix) -> Matrix:
        rows = [[*a, *b] for a, b in zip(A, B, strict=True)]
        tops = _swept(dense.eliminate, rows, is_loop, n)
        if any(top[0].is_zero for top in tops):
            raise _singular()
        return _substituted(tops, is_loop)

    return _solved_by(function, A, B)


def _solve_positive(A: Matrix, B: Matrix) -> Matrix:
    """Return X of A X = B by A = Lᵀ D L, last row first: no fill-in along a tree."""
    n = len(A)
    full = [[A[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    widths = [sum(not x.is_zero for x in row[:i]) for i, row in enumerate(A)]
    is_loop = sum(k * k for k in widths) > MOST_PRODUCTS and not _is_constant(A)

    def function(A: Matrix, B: Matrix) -> Matrix:
        if is_loop:
            rows = [[*A[i][: i + 1], *b] for i, b in enumerate(B)]
            tops = _swept(dense.eliminate_symmetric, rows, is_loop, n)
            return _substituted(tops, is_loop)
        L, D = dense.ldl([row[::-1] for row in A[::-1]])
        columns = [dense.solve(L, D, b[::-1]) for b in zip(*B, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)][::-1]

    return _solved_by(function, full, B)


def _solved_by(
    function: Callable[[Matrix, Matrix], Matrix], A: Matrix, B: Matrix
) -> Matrix:
    """Return X of A X = B, computed by the function in a program of its own."""
    if _is_constant(A):
        return function(A, B)
    given = dict.fromkeys(x for row in (*A, *B) for x in row if x.op != "const")
    place = {e: k for k, e in enumerate(given)}

    def filled(matrix: Matrix, values: Any) -> Matrix:
        return [[values[place[e]] if e in place else e for e in row] for row in matrix]

    def solution(values: Any) -> Any:
        return np.array(function(filled(A, values), filled(B, values)), dtype=object)

    def equations(x: Any, values: Any) -> Any:
        return [
            [dense.inner(row, x[:, k]) - b for k, b in enumerate(right)]
            for row, right in zip(filled(A, values), filled(B, values), strict=True)
        ]

    n, m, dtype = len(B), len(B[0]), expr.current_dtype()
    program = trace(solution, {"values": len(given)}, "solve", dtype)
    residual = trace(equations, {"x": (n, m), "values": len(given)}, "A x - b", dtype)
    return _split(
        call_or_replay(Callee(program, residual=residual), list(given)), [m] * n
    )


# ------------------------------------------------------------ written out, or loops


def _swept(step: Step, rows: Matrix, is_loop: bool, times: int) -> Matrix:
    """Return the rows that a step takes off a matrix, one by one.

    All are of full length: rows and columns that are gone are followed by zeros.
    """
    sizes, last = [len(row) for row in rows], times - 1

    def body(rows: Matrix, _: list[Expr]) -> tuple[Matrix, list[Expr]]:
        top, rest = step(rows)
        rest.insert(last, [ZERO] * sizes[last])
        whole = [
            row if len(row) == size else [*row[:last], ZERO, *row[last:]]
            for row, size in zip(rest, sizes, strict=True)
        ]
        return whole, top

    return _steps(body, rows, [[]] * times, is_loop)[1]


def _substituted(rows: Matrix, is_loop: bool) -> Matrix:
    """Return X of U X = C."""

    def body(X: Matrix, row: list[Expr]) -> tuple[Matrix, list[Expr]]:
        return [dense.substitute(row, X[:-1]), *X[:-1]], []

    n = len(rows)
    start = [[ZERO] * (len(rows[0]) - n)] * n
    return _steps(body, start, rows[::-1], is_loop)[0]


def _shortest(rows: Matrix, n: int, is_loop: bool) -> Matrix:
    """Return the shortest X of A X = B, for rows [A, B] with n columns of A."""

    def step(rows: Matrix) -> tuple[list[Expr], Matrix]:
        return rows[0], dense.orthogonalize(rows, n)[1]

    def body(X: Matrix, row: list[Expr]) -> tuple[Matrix, list[Expr]]:
        return dense.move_to_planes(X, row[:n], row[n:]), []

    start = [[ZERO] * (len(rows[0]) - n)] * n
    orthogonal = _swept(step, rows, is_loop, len(rows))
    return _steps(body, start, orthogonal[::-1], is_loop)[0]


def _steps(
    body: Callable[[Matrix, list[Expr]], tuple[Matrix, list[Expr]]],
    carry: Matrix,
    slices: Matrix,
    is_loop: bool,
) -> tuple[Matrix, Matrix]:
    """Return what is carried through steps, one for each slice, and their results."""
    times = len(slices)
    if not is_loop:
        found: Matrix = []
        for own in slices:
            carry, top = body(carry, own)
            found.append(top)
        return carry, found
    sizes = [len(row) for row in carry]
    size, width = sum(sizes), len(slices[0])

    def step(entries: list[Expr]) -> list[Expr]:
        after, top = body(_split(entries[:size], sizes), entries[size:])
        return [*_flat(after), *top]

    traced, shared = traced_body(step, size + width, "elimination")
    assert not shared, "a step depends on what is carried and its slice"
    callee = Callee(traced, times, size, width)
    results = results_of(callee, [*_flat(carry), *_flat(slices)])
    stacked = _split(results[size:], [callee.stacked] * times)
    return _split(results[:size], sizes), stacked


def _flat(rows: Matrix) -> list[Expr]:
    return [x for row in rows for x in row]


def _split(entries: Sequence[Expr], sizes: Sequence[int]) -> Matrix:
    rest = iter(entries)
    return [[next(rest) for _ in range(n)] for n in sizes]


# ------------------------------------------------------------ arguments


def _square(name: str, A: Any) -> Any:
    array = np.asarray(A)
    is_matrix = array.ndim == 2 or (array.ndim > 2 and array.dtype != object)
    if not is_matrix or array.shape[-1] != array.shape[-2] or not array.size:
        raise ShapeError(
            f"{users_line()}: {name} got A of shape {array.shape}; expected (n, n)"
        )
    return array


def _tree_pattern(parents: Any, n: int) -> Any:
    """Return where the lower triangle along a tree has entries."""
    given = list(parents)
    if len(given) != n or any(not -1 <= p < i for i, p in enumerate(given)):
        raise ArgumentError(
            f"{users_line()}: parents is {given}; expected the parent of each of {n} "
            "rows: -1, or the number of a row before it"
        )
    pattern: Any = np.eye(n, dtype=bool)
    for i, p in enumerate(given):
        if p >= 0:
            pattern[i] |= pattern[p]
    return pattern


def _singular() -> TraceError:
    return TraceError(
        f"{users_line()}: the matrix is singular for all values of its symbols, "
        "because of the zeros and numbers in it"
    )


def _lifted(array: Any) -> Matrix:
    return [[lift(x) for x in row] for row in array.tolist()]


def _is_constant(rows: Matrix) -> bool:
    return all(x.op == "const" for row in rows for x in row)


def _array(rows: Matrix, shape: tuple[int, ...]) -> Any:
    array: Any = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array.reshape(shape)
