"""Functions of kernels: the same for numbers, symbols and arrays of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.errors import ShapeError, TraceError
from ramidyn.symbolic import functions
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace
from support.close import assert_close

ONE = ("sqrt", "sin", "cos", "tan", "asin", "acos", "exp", "log", "tanh", "absolute")
NUMPY = {"asin": np.arcsin, "acos": np.arccos, "atan2": np.arctan2}
X, Y = np.array([0.2, 0.7, 0.4]), np.array([0.9, 0.3, 0.4])


def numpys(name: str) -> Any:
    return NUMPY.get(name) or getattr(np, name)


def traced(f: Any, *values: Any) -> Any:
    """Return f of symbols, evaluated at values."""
    names = [f"x{k}" for k in range(len(values))]
    program = trace(f, {n: np.shape(v) for n, v in zip(names, values, strict=True)})
    return evaluate(program, dict(zip(names, values, strict=True)))["result"]


@pytest.mark.parametrize("name", [*ONE, "sign"])
def test_a_function_is_numpys_on_numbers_and_on_symbols(name: str) -> None:
    f, expected = getattr(functions, name), numpys(name)
    for x in (0.3, X, X.reshape(3, 1)):
        assert isinstance(f(x), np.ndarray if np.ndim(x) else float)
        assert_close(f(x), expected(x))
        assert_close(traced(f, x), expected(x))
    assert_close(f(X.tolist()), expected(X))
    assert_close(traced(lambda x: f([x, 0.5]), 0.3), expected(np.array([0.3, 0.5])))


@pytest.mark.parametrize("name", ["atan2", "minimum", "maximum", "dot", "cross"])
def test_two_arguments_may_be_numbers_and_symbols(name: str) -> None:
    f, expected = getattr(functions, name), numpys(name)(X, Y)
    assert_close(f(X, Y), expected)
    assert_close(traced(f, X, Y), expected)
    assert_close(traced(lambda x: f(x, Y), X), expected)
    assert_close(traced(lambda y: f(X.tolist(), y), Y), expected)


def test_vectors_have_lengths_and_limits() -> None:
    rows = np.stack([X, Y])
    assert_close(functions.norm(rows), np.linalg.norm(rows, axis=1))
    assert_close(traced(functions.norm, rows), np.linalg.norm(rows, axis=1))
    assert_close(traced(functions.norm, X), np.linalg.norm(X))
    assert_close(functions.clip(X, 0.3, Y), np.clip(X, 0.3, Y))
    assert_close(traced(functions.clip, X, 0.3, Y), np.clip(X, 0.3, Y))
    assert_close(traced(functions.cross, rows, Y), np.cross(rows, Y))
    with pytest.raises(ShapeError, match=r"cross got shapes \(2,\) and \(3,\); expect"):
        functions.cross(X[:2], Y)


def test_where_chooses_by_numbers_and_by_symbols() -> None:
    assert functions.where([True, False], X[:2], 5.0).tolist() == [0.2, 5.0]
    assert_close(traced(lambda x: functions.where(x < 0.5, x, -x), 0.7), -0.7)
    chosen = traced(lambda x: functions.where(np.array([True, False]), x, 2 * x), X[:2])
    assert_close(chosen, np.array([0.2, 1.4]))
    with pytest.raises(
        TraceError, match="the first argument of where must be a comparison"
    ):
        traced(lambda x: functions.where(x, 1.0, 2.0), 0.3)


def test_signs_are_those_of_numbers() -> None:
    x = np.array([-2.0, 0.0, 3.0])
    assert traced(functions.sign, x).tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize(("dtype", "ulps"), [("float64", 3.5), ("float32", 3.5)])
def test_tanh_is_right_to_a_few_last_digits(dtype: str, ulps: float) -> None:
    small = 10.0 ** -np.arange(0, 20, 0.5)
    x = np.concatenate([np.linspace(-20, 20, 801), np.linspace(-0.3, 0.3, 401), small])
    x = x.astype(dtype)
    program = trace(functions.tanh, {"x": x.shape})
    found = evaluate(program, {"x": x}, dtype)["result"]
    expected = np.tanh(x.astype(float))
    spacing = np.spacing(np.abs(expected).astype(dtype)).astype(float)
    assert (np.abs(found - expected) <= ulps * spacing).all()


def test_an_infinite_limit_is_none() -> None:
    for low, high in ((-np.inf, 0.4), (0.3, np.inf), (-np.inf, np.inf)):
        assert_close(traced(functions.clip, X, low, high), np.clip(X, low, high))
