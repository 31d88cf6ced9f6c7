"""Linear functions of columns: traced once, run as the steps of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ramidyn.symbolic.checker import check
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.linear_steps import map_linear, pruned, terms_left
from ramidyn.symbolic.program import FRESH, Program, SweepStep
from ramidyn.symbolic.trace import trace

Column = Sequence[Any]


def triangle(L: Any) -> Callable[[Column], list[Any]]:
    """Return what solves with a lower triangle, then with its transpose."""

    def solve(b: Column) -> list[Any]:
        x = list(b)
        for k in range(len(x)):
            for i in range(k):
                x[k] = x[k] - L[k, i] * x[i]
            x[k] = x[k] / L[k, k]
        for k in reversed(range(len(x))):
            for i in range(k + 1, len(x)):
                x[k] = x[k] - L[i, k] * x[i]
            x[k] = x[k] / L[k, k]
        return x

    return solve


def mixed(L: Any) -> Callable[[Column], list[Any]]:
    """Return sums of sums, used twice, negated, passed on, and zero."""

    def function(b: Column) -> list[Any]:
        total = b[0] + b[1] - b[2]
        scaled = (total + b[3]) * L[0, 0] / L[1, 1]
        again = -scaled + total + b[0] * L[2, 0] - b[0]
        return [scaled, again, b[1], 0 * total, -again, scaled, L[2, 1] * (b[3] - b[0])]

    return function


def program(
    make: Callable[[Any], Callable[[Column], list[Any]]], filled: np.ndarray
) -> Program:
    """Return the loop over columns that are not zero where ``filled`` says."""
    rows, columns = filled.shape

    def mapped(L: Any, B: Any) -> Any:
        zero = 0.0 * B[0, 0]
        given = [
            [B[r, c] if filled[r, c] else zero for r in range(rows)]
            for c in range(columns)
        ]
        return np.array(map_linear(make(L), given))

    return check(trace(mapped, {"L": (rows, rows), "B": filled.shape}))


@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("make", [triangle, mixed])
def test_columns_are_what_the_function_gives(
    make: Callable[[Any], Callable[[Column], list[Any]]],
    density: float,
    rng: np.random.Generator,
) -> None:
    rows, columns = 5, 19
    filled = rng.random((rows, columns)) < density
    filled[:, 3] = False
    L = rng.normal(size=(rows, rows)) + 4.0 * np.eye(rows)
    B = rng.normal(size=filled.shape)
    (found,) = evaluate(program(make, filled), {"L": L, "B": B}).values()
    expected = np.transpose([make(L)(b) for b in np.transpose(B * filled)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_what_is_zero_is_not_computed() -> None:
    """Of the last unit vector a lower triangle makes one product."""
    n = 5
    last, every = np.zeros((n, 1), bool), np.ones((n, 1), bool)
    last[-1] = True

    def terms(filled: np.ndarray) -> int:
        (call,) = program(triangle, filled).calls
        (sweep,) = call.value.body.sweeps
        return sum(len(step.terms) for step in sweep.steps)

    assert terms(last) < terms(every) - (n - 1) * n // 2 + n


def test_sums_stay_in_the_row_of_an_operand_used_up() -> None:
    """So a triangle is solved in place."""
    (call,) = program(triangle, np.ones((5, 8), bool)).calls
    loop = call.value.body
    (sweep,) = loop.sweeps
    assert loop.rows == 5
    assert all(step.scale != FRESH for step in sweep.steps)


def test_what_is_not_linear_is_found() -> None:
    with pytest.raises(AssertionError, match="not linear"):
        program(lambda _: lambda b: [b[0] * b[1]], np.ones((2, 2), bool))
    with pytest.raises(AssertionError, match="not linear"):
        program(lambda L: lambda b: [b[0], L[0, 0]], np.ones((2, 2), bool))


def test_terms_are_counted_as_they_are_pruned(rng: np.random.Generator) -> None:
    def random_step() -> SweepStep:
        rows = rng.permutation(9)[: rng.integers(0, 5)].tolist()
        row, scale = rng.integers(9), rng.integers(FRESH, 3)
        return SweepStep(int(row), int(scale), tuple((0, i) for i in rows if i != row))

    steps = [random_step() for _ in range(60)]
    masks = [
        (1 << row, scale != FRESH, sum(1 << i for _, i in terms))
        for row, scale, terms in steps
    ]
    for _ in range(20):
        given = frozenset(rng.permutation(9)[: rng.integers(0, 6)].tolist())
        left = sum(len(step.terms) for step in pruned(steps, given, ()))
        assert terms_left(masks, given) == left
