"""Linear algebra and equations in kernels: NumPy, native code, interpreter agree."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import math
from ramidyn.errors import ArgumentError, ShapeError, TraceError
from ramidyn.symbolic import linear_algebra
from ramidyn.symbolic.calls import unrolled
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.count import count
from ramidyn.symbolic.derivatives import jvp, vjp
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace

SIZES = [1, 2, 3, 5, 9]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(params=["written out", "loops"])
def _both_forms(request: Any, monkeypatch: Any) -> None:
    if request.param == "loops":
        monkeypatch.setattr(linear_algebra, "MOST_PRODUCTS", 30)


def everything(A: Any, b: Any) -> Any:
    S = A @ A.T + np.eye(len(A))
    return {
        "x": math.solve(A, b),
        "X": math.solve(A, A.T @ A + S),
        "inverse": math.inverse(A),
        "determinant": math.determinant(A),
        "cholesky": math.cholesky(S),
        "positive": math.solve(S, b, positive_definite=True),
        "tall": math.least_squares(np.concatenate([A, S]), np.concatenate([b, b * b])),
        "wide": math.least_squares(np.concatenate([A, S], axis=1), b),
    }


@pytest.mark.usefixtures("_both_forms")
@pytest.mark.parametrize("n", SIZES)
def test_kernels_agree_with_numpy(n: int, rng: np.random.Generator) -> None:
    f = ramidyn.kernel(everything, {"A": (n, n), "b": n})
    A, b = rng.normal(size=(11, n, n)), rng.normal(size=(11, n))
    found = f(A, b)
    program = check(trace(everything, {"A": (n, n), "b": n}))
    interpreted = evaluate(program, {"A": A, "b": b})
    for k in range(11):
        alone = f(A[k], b[k])
        for name, want in everything(A[k], b[k]).items():
            np.testing.assert_allclose(getattr(found, name)[k], want, **CLOSE)
            np.testing.assert_allclose(interpreted[name][k], want, **CLOSE)
            np.testing.assert_allclose(getattr(alone, name), want, **CLOSE)


@pytest.mark.usefixtures("_both_forms")
@pytest.mark.parametrize("n", [2, 3, 6])
def test_zeros_on_the_diagonal_need_an_exchange(n: int) -> None:
    A = np.roll(np.eye(n), 1, axis=0) * np.arange(1.0, n + 1.0)
    f = ramidyn.kernel(
        lambda A, b: {"x": math.solve(A, b), "d": math.determinant(A)},
        {"A": (n, n), "b": n},
    )
    b = np.arange(n) + 2.0
    np.testing.assert_allclose(f(A, b).x, np.linalg.solve(A, b), rtol=1e-14)
    np.testing.assert_allclose(f(A, b).d, np.linalg.det(A), rtol=1e-14)


@pytest.mark.usefixtures("_both_forms")
def test_badly_conditioned_matrices_leave_a_small_residual() -> None:
    n = 8
    k = np.arange(n)
    hilbert = 1.0 / (1.0 + k[:, None] + k)
    b = hilbert @ np.ones(n)
    f = ramidyn.kernel(math.solve, {"A": (n, n), "b": n})
    g = ramidyn.kernel(math.least_squares, {"A": (n, 5), "b": n})
    np.testing.assert_allclose(hilbert @ f(hilbert, b), b, rtol=1e-14)
    tall = hilbert[:, :5]
    want = np.linalg.lstsq(tall, b)[0]
    np.testing.assert_allclose(g(tall, b), want, rtol=1e-9)
    tiny = np.array([[1e-20, 1.0], [1.0, 1.0]])
    two = ramidyn.kernel(math.solve, {"A": (2, 2), "b": 2})
    np.testing.assert_allclose(two(tiny, np.array([1.0, 2.0])), [1.0, 1.0], rtol=1e-15)


@pytest.mark.usefixtures("_both_forms")
def test_one_singular_matrix_does_not_change_the_others(
    rng: np.random.Generator,
) -> None:
    n = 7
    f = ramidyn.kernel(everything, {"A": (n, n), "b": n})
    A, b = rng.normal(size=(5, n, n)), rng.normal(size=(5, n))
    want = f(A, b)
    bad = A.copy()
    bad[2] = 0.0
    bad[3, 1, 1] = np.nan
    found = f(bad, b)
    good = [0, 1, 4]
    for name in found._fields:
        np.testing.assert_array_equal(
            getattr(found, name)[good], getattr(want, name)[good]
        )
    assert not np.isfinite(found.x[2]).any()
    assert not np.isfinite(found.inverse[2]).any()
    assert np.isnan(found.x[3]).any()
    assert found.determinant[2] == 0.0


@pytest.mark.usefixtures("_both_forms")
@pytest.mark.parametrize("n", [2, 4, 9])
def test_derivatives_are_exact(n: int, rng: np.random.Generator) -> None:
    shapes = {"A": (n, n), "b": n}
    program = trace(everything, shapes)
    A, b = rng.normal(size=(n, n)) + 3.0 * np.eye(n), rng.normal(size=n)
    dA, db = rng.normal(size=(n, n)), rng.normal(size=n)
    names = ["A", "b"]
    forward = evaluate(
        check(jvp(program, names)), {"A": A, "b": b, "A_tangent": dA, "b_tangent": db}
    )
    h = 1e-6
    plus = everything(A + h * dA, b + h * db)
    minus = everything(A - h * dA, b - h * db)
    weights = {name: rng.normal(size=np.shape(x)) for name, x in plus.items()}
    total = 0.0
    for name, w in weights.items():
        want = (plus[name] - minus[name]) / (2 * h)
        np.testing.assert_allclose(
            forward[f"{name}_tangent"], want, rtol=1e-6, atol=1e-6 * abs(want).max()
        )
        total += float((w * forward[f"{name}_tangent"]).sum())
    given = {f"{name}_cotangent": w for name, w in weights.items()}
    back = evaluate(check(vjp(program, names)), {"A": A, "b": b, **given})
    found = (back["A_cotangent"] * dA).sum() + (back["b_cotangent"] * db).sum()
    np.testing.assert_allclose(found, total, rtol=1e-10)


@pytest.mark.parametrize("n", [3, 11])
def test_derivatives_of_a_solve_are_those_of_its_elimination(
    n: int, rng: np.random.Generator
) -> None:
    def fn(A: Any, b: Any) -> Any:
        return math.solve(A, b)

    program = trace(fn, {"A": (n, n), "b": n})
    assert bool(program.calls) == (n == 11)
    given = {
        "A": rng.normal(size=(n, n)),
        "b": rng.normal(size=n),
        "A_tangent": rng.normal(size=(n, n)),
        "b_tangent": rng.normal(size=n),
        "result_cotangent": rng.normal(size=n),
    }

    def second(p: Any) -> Any:
        return jvp(vjp(p, ["A", "b"]), ["A", "b"])

    found, want = (evaluate(second(p), given) for p in (program, unrolled(program)))
    for name, x in want.items():
        np.testing.assert_allclose(found[name], x, rtol=1e-8, atol=1e-8)


def test_the_derivative_of_a_large_solve_is_another_solve() -> None:
    n = 12
    program = trace(math.solve, {"A": (n, n), "b": n})
    change = jvp(program, ["A", "b"])
    assert count(change).total < 3 * count(program).total


def test_determinants_of_singular_matrices_have_derivatives() -> None:
    f = ramidyn.kernel(ramidyn.derivative(math.determinant, "A"), {"A": (3, 3)})
    A = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    cofactors = [[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(f(A), cofactors, atol=1e-14)


def test_a_tree_has_no_fill_in(rng: np.random.Generator) -> None:
    from ramidyn.algorithms.ltdl import operations  # noqa: PLC0415  only here

    parents = [-1, 0, 1, 1, 3, 0, 5, -1, 7]
    n = len(parents)
    program = trace(
        lambda A, b: math.solve(A, b, parents=parents), {"A": (n, n), "b": n}
    )
    pattern = linear_algebra._tree_pattern(parents, n)
    off = int(pattern.sum()) - n
    ops = count(unrolled(program))
    factor = operations(parents)
    assert ops.mul + ops.add + ops.div == factor + 4 * off + n
    L = np.where(pattern, rng.normal(size=(n, n)), 0.0) + 3.0 * np.eye(n)
    A, b = L.T @ L, rng.normal(size=n)
    want = np.linalg.solve(A, b)
    np.testing.assert_allclose(evaluate(program, {"A": A, "b": b})["result"], want)
    np.testing.assert_allclose(math.solve(A, b, parents=parents), want)
    other = np.where(pattern, A, 7.0)  # entries that are not read
    np.testing.assert_allclose(math.solve(other, b, parents=parents), want)


def test_numbers_and_zeros_fold() -> None:
    A = np.array([[0.0, 2.0, 1.0], [4.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    program = trace(lambda b: math.solve(A, b), {"b": 3})
    assert {e.op for e in program.order} == {"input", "const", "sub", "mul", "div"}
    assert count(program).total == 9

    def blocks(a: Any) -> Any:
        zero = 0.0 * a[0]
        return math.solve([[a[0], zero], [zero, a[1]]], [a[2], a[3]])

    found = count(trace(blocks, {"a": 4}))
    assert found.total == found.div == 2


# ------------------------------------------------------------ equations


def circle_and_line(p: Any) -> Any:
    def residual(x: Any) -> Any:
        return [x[0] * x[0] + x[1] - p[0], x[0] - p[1] * x[1] * x[1]]

    return ramidyn.solve(residual, np.array([1.0, 1.0]))


def midpoint(y: Any, h: float = 0.3) -> Any:
    """One implicit midpoint step of a pendulum."""

    def residual(z: Any) -> Any:
        q, v = 0.5 * (y[0] + z[0]), 0.5 * (y[1] + z[1])
        return np.array([z[0] - y[0] - h * v, z[1] - y[1] + h * math.sin(q)])

    return ramidyn.solve(residual, y)


@pytest.mark.parametrize("fn", [circle_and_line, midpoint])
def test_solutions_have_exact_derivatives(fn: Any, rng: np.random.Generator) -> None:
    def x_of(p: Any) -> Any:
        return fn(p).x

    program = check(trace(x_of, {"p": 2}))
    p, move, w = np.array([3.0, 0.5]), rng.normal(size=2), rng.normal(size=2)
    given = {"p": p, "p_tangent": move, "result_cotangent": w}
    for change in (
        lambda q: q,
        lambda q: jvp(q, ["p"]),
        lambda q: vjp(q, ["p"]),
        lambda q: jvp(vjp(q, ["p"]), ["p"]),
    ):
        derived = check(pickle.loads(pickle.dumps(change(program))))
        want = evaluate(change(unrolled(program)), given)
        for name, x in evaluate(derived, given).items():
            np.testing.assert_allclose(x, want[name], rtol=1e-10, atol=1e-12)
    f = ramidyn.kernel(ramidyn.derivative(x_of, "p"), {"p": 2})
    h = 1e-6
    for k, e in enumerate(np.eye(2)):
        difference = (x_of(p + h * e) - x_of(p - h * e)) / (2 * h)
        np.testing.assert_allclose(f(p)[:, k], difference, rtol=1e-7, atol=1e-8)


def test_a_square_root_and_its_derivatives() -> None:
    def root(p: Any) -> Any:
        return ramidyn.solve(lambda x: x * x - p, 1.0 + 0.1 * p).x

    p = np.array([4.0, 9.0, np.nan, 2.0, 0.25])
    first = ramidyn.kernel(ramidyn.derivative(root, "p"), {"p": ()})(p)
    second = ramidyn.kernel(ramidyn.hessian(root, "p"), {"p": ()})(p)
    np.testing.assert_allclose(first, 0.5 / np.sqrt(p), rtol=1e-14)
    np.testing.assert_allclose(second, -0.25 * p**-1.5, rtol=1e-13)


def test_no_state_counts_as_solved_that_is_not() -> None:
    f = ramidyn.kernel(
        lambda p: ramidyn.solve(lambda x: x * x - p, 1.0, most=9), {"p": ()}
    )
    p = np.array([4.0, np.nan, -1.0, np.inf, 1.0, 1e-3, 0.0, 9.0, 16.0])
    found = f(p)
    np.testing.assert_array_equal(found.is_done[:5], [1, 0, 0, 0, 1])
    np.testing.assert_array_equal(found.steps[1:5], [9, 9, 9, 1])
    for k, one in enumerate(p):  # no state sees its neighbors
        alone = f(one)
        for name in found._fields:
            np.testing.assert_array_equal(getattr(alone, name), getattr(found, name)[k])


def test_a_root_is_found_where_the_jacobian_is_singular() -> None:
    f = ramidyn.kernel(lambda x: ramidyn.solve(lambda y: y * y, x), {"x": ()})
    assert tuple(map(float, f(0.0))) == (0.0, 1.0, 1.0)
    assert f(1.0).is_done == 0.0  # the steps halve and run out


def test_solve_runs_on_numbers_and_in_float32() -> None:
    def both(p: Any) -> Any:
        def residual(x: Any) -> Any:
            return {"a": x["a"] + x["b"] * 0.1 - p, "b": x["b"] ** 3 - x["a"]}

        return ramidyn.solve(residual, {"a": p, "b": p})

    found = both(2.0)
    assert found.is_done == 1.0
    assert isinstance(found.x["a"], float)
    assert abs(found.x["b"] ** 3 - found.x["a"]) < 1e-14
    f = ramidyn.kernel(lambda p: both(p).x["b"], {"p": ()})
    assert f(2.0) == pytest.approx(found.x["b"], rel=1e-15)
    g = ramidyn.kernel(lambda p: both(p)[1:], {"p": ()}, dtype="float32")
    is_done, steps = g(np.float32(2.0))
    assert is_done == 1.0
    assert steps < 10
    x = ramidyn.solve(lambda x: x - np.array([1.0, 2.0]), np.zeros(2)).x
    np.testing.assert_array_equal(x, [1.0, 2.0])
    assert x.dtype == np.float64


def test_large_systems_are_solved(rng: np.random.Generator) -> None:
    n = 20
    M = rng.normal(size=(n, n)) * 0.05 + np.eye(n)

    def fn(p: Any) -> Any:
        return ramidyn.solve(lambda x: M @ x + 0.1 * x * x * x - p, p).x

    f = ramidyn.kernel(fn, {"p": n})
    p = rng.normal(size=n)
    x = f(p)
    np.testing.assert_allclose(M @ x + 0.1 * x**3, p, atol=1e-13)


def test_loops_use_conditions_from_outside() -> None:
    def fn(a: Any, x: Any) -> Any:
        y = ramidyn.repeat(lambda y: math.where(a > 0.0, 0.5 * y, -y), x, 3)
        return y, ramidyn.repeat(
            lambda y: math.where((a > 0.0) & (y > 1.0), 0.5 * y, -y), x, 3
        )

    f = ramidyn.kernel(fn, {"a": (), "x": ()})
    for a in (1.0, -1.0, np.nan):
        np.testing.assert_array_equal(f(a, 8.0), [1.0, 1.0] if a > 0 else [-8.0, -8.0])


# ------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("fn", "kind", "message"),
    [
        (
            lambda x: math.solve(x[:, :2], x[0]),
            ShapeError,
            r"test_linear_algebra\.py:\d+: solve got A of shape \(3, 2\); expected",
        ),
        (
            lambda x: math.solve(x, x[0, :2]),
            ShapeError,
            r"A of shape \(3, 3\) and b of shape \(2,\); expected b of shape \(3,\) or",
        ),
        (lambda x: math.inverse(x[0]), ShapeError, r"inverse got A of shape \(3,\)"),
        (
            lambda x: math.determinant(np.stack([x, x])),
            ShapeError,
            r"determinant got A of shape \(2, 3, 3\); expected \(n, n\)",
        ),
        (lambda x: math.cholesky(x[:0]), ShapeError, r"cholesky got A of shape \(0,"),
        (
            lambda x: math.least_squares(x, x[0, :2]),
            ShapeError,
            r"least_squares got A of shape \(3, 3\) and b of shape \(2,\); expected",
        ),
        (
            lambda x: math.solve(x, x[0], parents=[-1, 2, 0]),
            ArgumentError,
            r"parents is \[-1, 2, 0\]; expected the parent of each of 3 rows: -1, or",
        ),
        (
            lambda x: math.solve(x * np.array([1.0, 0.0, 1.0]), x[0]),
            TraceError,
            r"the matrix is singular for all values of its symbols",
        ),
        (
            lambda x: math.solve(np.ones((3, 3)), x[0]),
            TraceError,
            r"the matrix is singular for all values of its symbols",
        ),
        (
            lambda x: ramidyn.solve(lambda y: y[:2], x[0]),
            TraceError,
            r"test_linear_algebra\.py:\d+: residual returned 2 entries "
            r"\(shape \(2,\)\); expected as many as start has: 3",
        ),
        (
            lambda x: ramidyn.solve(x, x),
            TraceError,
            r"residual is of type ndarray; expected a function of x",
        ),
        (
            lambda x: ramidyn.solve(lambda y: np.array([y[0], y[0]]), x[0, :2]),
            TraceError,
            r"residual does not depend on entry 1 of x",
        ),
        (
            lambda x: ramidyn.solve(lambda y: y, x, tolerance=0.0),
            TraceError,
            r"tolerance is 0\.0; expected a positive number",
        ),
        (
            lambda x: ramidyn.solve(lambda y: y, x, most=1.5),
            TraceError,
            r"most is 1\.5; expected an integer, 0 or more",
        ),
        (lambda x: ramidyn.solve(lambda y: y, x[:0]), TraceError, "start has no entr"),
    ],
)
def test_wrong_arguments_are_named(fn: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        ramidyn.kernel(fn, {"x": (3, 3)})


@pytest.mark.parametrize(
    ("fn", "hint"),
    [
        (lambda A: np.linalg.solve(A, A[0]), "solve.*; use ramidyn.math.solve$"),
        (lambda A: np.linalg.inv(-A), "inv .*; use ramidyn.math.inverse$"),
        (lambda A: np.linalg.det(-A), "det .*; use ramidyn.math.determinant$"),
        (lambda A: np.linalg.cholesky(-A), "cholesky.*; use ramidyn.math.cholesky$"),
        (lambda A: np.linalg.lstsq(A, A[0]), "lstsq.*use ramidyn.math.least_squares$"),
        (lambda A: np.linalg.svd(-A), "svd .*; ramidyn.math has solve, inverse, det"),
    ],
)
def test_numpy_linalg_says_what_to_use(fn: Any, hint: str) -> None:
    line = r"test_linear_algebra\.py:\d+: "
    with pytest.raises(TraceError, match=line + "numpy.linalg." + hint):
        ramidyn.kernel(fn, {"A": (2, 2)})


def test_other_errors_of_a_function_are_its_own() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        ramidyn.kernel(lambda A: A + "x", {"A": (2, 2)})
