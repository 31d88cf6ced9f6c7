"""Dense linear algebra: on numbers it is NumPy's, on symbols zeros cost nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.symbolic.count import count
from ramidyn.symbolic.dense import (
    above_rounding,
    add_multiples,
    add_outer,
    at_least,
    damped_ldl,
    dot,
    general_solve,
    gram,
    inner,
    inverse,
    ldl,
    null_space,
    product,
    solve,
    total,
)
from ramidyn.symbolic.expr import ONE, ZERO, const, lift, symbol
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace

TOLERANCE = 1e-12
"""of factors of well-conditioned matrices in double precision"""


def positive(rng: np.random.Generator, n: int) -> Any:
    B = rng.normal(size=(n, n))
    return B @ B.T + n * np.eye(n)


def numbers(rows: Any) -> Any:
    return np.array([[float(x) for x in row] for row in rows])


def test_a_factor_solves_and_inverts() -> None:
    rng = np.random.default_rng(0)
    A, b = positive(rng, 6), rng.normal(size=6)
    factor: Any = ldl(A)
    np.testing.assert_allclose(solve(*factor, b), np.linalg.solve(A, b), atol=TOLERANCE)
    np.testing.assert_allclose(inverse(*factor), np.linalg.inv(A), atol=TOLERANCE)
    L = np.eye(6)
    for i, row in enumerate(factor[0]):
        L[i, :i] = row
    np.testing.assert_allclose(L @ np.diag(factor[1]) @ L.T, A, atol=TOLERANCE)


@pytest.mark.parametrize(("m", "n"), [(1, 3), (2, 4), (3, 5), (5, 6)])
@pytest.mark.parametrize("is_stretched", [False, True])
def test_a_null_space_solves_too_few_equations(
    m: int, n: int, is_stretched: bool
) -> None:
    rng = np.random.default_rng(m)
    A, x, y = rng.normal(size=(m, n)), rng.normal(size=n), rng.normal(size=m)
    if is_stretched:
        A[0, :-1] = 0.0  # no entry to divide by but the last one

    def traced(A: Any, b: Any, e: Any) -> Any:
        space = null_space([list(row) for row in A])
        N = [x for row in space.N for x in row]
        return [*N, *space.least(list(b)), *space.balance(list(e))]

    program = trace(traced, {"A": (m, n), "b": m, "e": n})
    found = evaluate(program, {"A": A, "b": A @ x, "e": A.T @ y})["result"]
    N, least, balance = np.split(found, [n * (n - m), n * (n - m) + n])
    N = N.reshape(n, n - m)
    np.testing.assert_allclose(A @ N, 0.0, atol=TOLERANCE)
    np.testing.assert_allclose(N.T @ N, np.eye(n - m), atol=TOLERANCE)
    np.testing.assert_allclose(least, np.linalg.pinv(A) @ A @ x, atol=TOLERANCE)
    np.testing.assert_allclose(balance, y, atol=TOLERANCE)


def test_a_general_matrix_is_solved_without_pivoting() -> None:
    rng = np.random.default_rng(2)
    A, b = positive(rng, 5) + rng.normal(size=(5, 5)), rng.normal(size=5)
    A[3, 4] = 0.0
    np.testing.assert_allclose(general_solve(A, b), np.linalg.solve(A, b), atol=1e-11)


def test_zeros_of_a_matrix_of_symbols_cost_nothing() -> None:
    def diagonal(x: Any) -> Any:
        A = [[x[i] if i == j else ZERO for j in range(4)] for i in range(4)]
        return np.array(inverse(*ldl(A, above_rounding)), dtype=object)

    program = trace(diagonal, {"x": 4})
    assert count(program).total == 4  # one division each
    found = evaluate(program, {"x": np.array([1.0, 2.0, 4.0, 8.0])})["result"]
    np.testing.assert_allclose(found, np.diag([1.0, 0.5, 0.25, 0.125]))


@pytest.mark.parametrize(
    ("a", "expected"), [(1.0, 0.0), (1.0 + 1e-14, 0.0), (1.0 + 1e-12, 1e-12)]
)
def test_a_pivot_that_is_only_rounding_is_zero(a: float, expected: float) -> None:
    def pivots(A: Any) -> Any:
        return np.array(ldl(A.reshape(2, 2), above_rounding)[1], dtype=object)

    program = trace(pivots, {"A": 4})
    D = evaluate(program, {"A": np.array([1.0, 1.0, 1.0, a])})["result"]
    np.testing.assert_allclose(D, [1.0, expected], rtol=1e-3, atol=0.0)


def test_no_pivot_is_below_the_least() -> None:
    A = [[const(1.0), ZERO], [const(1.0), const(1.0)]]
    assert [float(d) for d in ldl(A, at_least(0.25))[1]] == [1.0, 0.25]


@pytest.mark.parametrize("smallest", [0.0, 1e-6, 0.05, 5.0])
def test_damping_bounds_the_smallest_eigenvalue(smallest: float) -> None:
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    A = Q @ np.diag([smallest, 6.0, 7.0]) @ Q.T
    symbols = [[lift(float(x)) for x in row] for row in A]
    damped = np.linalg.inv(numbers(inverse(*damped_ldl(symbols, const(0.1)))))
    shift = (damped - A)[0, 0]
    np.testing.assert_allclose(damped, A + shift * np.eye(3), atol=1e-9)
    # The estimate of the smallest eigenvalue has pivots of at least 1e-3 of it.
    assert np.linalg.eigvalsh(damped)[0] > 0.1 * (1 - 2e-3)
    assert (abs(shift) < TOLERANCE) == (smallest > 3 * 0.1)


def test_sums_and_products_skip_what_is_missing() -> None:
    x, y = symbol("x"), symbol("y")
    assert total(()) is ZERO
    assert total([x]) is x
    assert inner([x, y], [ONE, ZERO]) is x
    assert dot({0: x, 3: y}, {3: x}) is x * y
    assert dot({0: x}, {1: y}) is ZERO
    assert product([[x, y]], [[ONE], [x]]) == [[x + y * x]]
    assert gram([{0: x}, {0: y, 1: x}], [{0: ONE}, {1: y}]) == [[x], [y, x * y]]
    v = {1: x}
    add_multiples(v, [{0: y, 1: ONE}], [y])
    assert v[0] is y * y
    assert v[1] is x + y
    A: dict[tuple[int, int], Any] = {}
    add_outer(A, {2: x, 0: ZERO}, ONE)
    assert {(2, 2): x * x} == A
