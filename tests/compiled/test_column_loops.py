"""Loops over the columns of a matrix: native code, interpreter, and written out."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ramify
from ramify.symbolic.checker import check
from ramify.symbolic.column_loop import map_columns, unrolled
from ramify.symbolic.count import count
from ramify.symbolic.derivatives import vjp
from ramify.symbolic.interpreter import evaluate
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace

ROWS = 3


def column(shared: Any, x: Any) -> list[Any]:
    """Every entry needs another's old value: the loop works in place."""
    return [x[2] * shared[0], x[0] - x[1] * shared[1], x[1] + x[2] / shared[2]]


def mapped(s: Any, X: Any) -> dict[str, Any]:
    rows = map_columns(column, [*s, s[0] * s[1]], [list(row) for row in X])
    return {"sum": s[0] + X[0, 0], "Y": np.array(rows), "first": rows[0][0]}


def inputs(rng: np.random.Generator, columns: int, *batch: int) -> dict[str, Any]:
    return {
        "s": rng.uniform(1.0, 2.0, (*batch, 2)),
        "X": rng.normal(size=(*batch, ROWS, columns)),
    }


def expected(s: Any, X: Any) -> Any:
    return np.stack([np.stack(column([*s, s[0] * s[1]], x)) for x in X.T], axis=1)


def program(columns: int) -> Program:
    return check(trace(mapped, {"s": 2, "X": (ROWS, columns)}))


@pytest.mark.parametrize("columns", [1, 5, 8, 19])
def test_a_loop_computes_what_its_columns_do(
    columns: int, rng: np.random.Generator
) -> None:
    values = inputs(rng, columns)
    want = expected(**values)
    rolled = program(columns)
    assert rolled.loop is not None
    found = evaluate(rolled, values)
    assert list(found) == ["sum", "Y", "first"]
    np.testing.assert_allclose(found["Y"], want, rtol=1e-15)
    written_out = check(unrolled(rolled))
    assert written_out.loop is None
    np.testing.assert_array_equal(evaluate(written_out, values)["Y"], found["Y"])
    again = pickle.loads(pickle.dumps(rolled))
    np.testing.assert_array_equal(evaluate(again, values)["Y"], found["Y"])
    assert again.digest() == rolled.digest() != program(columns + 1).digest()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("columns", [5, 8, 19])
def test_native_loops_compute_what_the_interpreter_does(
    columns: int, dtype: str, rng: np.random.Generator
) -> None:
    f = ramify.kernel(mapped, {"s": 2, "X": (ROWS, columns)}, dtype=dtype)
    batch = inputs(rng, columns, 7)
    want = evaluate(program(columns), batch)
    together = f(**{n: x.astype(dtype) for n, x in batch.items()})
    tolerance = 1e-14 if dtype == "float64" else 1e-5
    for name, x in together._asdict().items():
        np.testing.assert_allclose(x, want[name], rtol=tolerance, atol=tolerance)
    for _ in range(2):  # the second call finds what the first one left
        one = f(**{n: x[3].astype(dtype) for n, x in batch.items()})
        for name, x in one._asdict().items():
            np.testing.assert_allclose(x, want[name][3], rtol=tolerance, atol=tolerance)


def test_operations_of_all_columns_count() -> None:
    rolled = program(5)
    assert count(rolled) == count(unrolled(rolled))


def test_a_loop_is_differentiated_written_out(rng: np.random.Generator) -> None:
    values = inputs(rng, 2)
    weights = {"sum": 0.0, "Y": np.array([[1.0, 0], [0, 0], [0, 0]]), "first": 0.0}
    further = {f"{n}_cotangent": x for n, x in weights.items()}
    found = evaluate(check(vjp(program(2), ["s"])), {**values, **further})
    np.testing.assert_allclose(
        found["s_cotangent"], [values["X"][2, 0], 0.0], rtol=1e-15
    )
