"""The interpreter against the same Python function run on plain numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramidyn.symbolic import expr, functions
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.interpreter import MEANING, evaluate
from ramidyn.symbolic.trace import trace
from support.programs import (
    Recipe,
    assert_same,
    random_recipe,
    recipes,
    values_for,
)


@settings(max_examples=150, deadline=None)
@given(recipes(), st.integers(0, 1000))
def test_a_trace_computes_what_the_function_does(recipe: Recipe, seed: int) -> None:
    values = values_for(recipe.inputs, np.random.default_rng(seed))
    assert_same(evaluate(recipe.program(), values), recipe.numbers(values))


def test_a_long_trace_computes_what_the_function_does(
    rng: np.random.Generator,
) -> None:
    recipe = random_recipe(rng, 3000, functions=0.4)
    values = values_for(recipe.inputs, rng)
    assert_same(evaluate(recipe.program(), values), recipe.numbers(values))


def test_a_batch_is_its_states_one_by_one(rng: np.random.Generator) -> None:
    recipe = random_recipe(rng, 300, functions=0.4)
    program = recipe.program()
    values = values_for(recipe.inputs, rng, batch=5)
    together = evaluate(program, values)
    for i in range(5):
        one = evaluate(program, {name: a[i] for name, a in values.items()})
        assert_same({name: a[i] for name, a in together.items()}, one)


def test_batched_and_single_inputs_mix() -> None:
    program = trace(lambda s, x: x * s, {"s": (), "x": 2})
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(
        evaluate(program, {"s": 2.0, "x": x})["result"], 2.0 * x
    )
    s = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(
        evaluate(program, {"s": s, "x": x[1]})["result"], s[:, None] * x[1]
    )


def test_an_empty_batch_gives_empty_outputs() -> None:
    program = trace(lambda x: [x[0], x[1], 1.0], {"x": 2})
    assert evaluate(program, {"x": np.empty((0, 2))})["result"].shape == (0, 3)


def test_float32_is_computed_in_float32() -> None:
    program = trace(lambda x: x + 1e-9, {"x": ()})
    result = evaluate(program, {"x": 1.0}, dtype="float32")["result"]
    assert result.dtype == np.float32
    assert result == 1.0


def test_a_complex_step_gives_the_derivative() -> None:
    def f(x: Expr) -> Expr:
        return functions.sin(x) * functions.exp(x) / functions.sqrt(1 + x * x)

    program = trace(f, {"x": ()})
    x, h = 0.7, 1e-30
    step = evaluate(program, {"x": x + 1j * h}, dtype=complex)["result"].imag / h
    root = math.sqrt(1 + x * x)
    derivative = math.exp(x) / root
    derivative *= math.cos(x) + math.sin(x) - x * math.sin(x) / root**2
    assert step == pytest.approx(derivative, rel=1e-14)


def test_fused_operations_mean_products_and_sums() -> None:
    def f(a: Expr, b: Expr, c: Expr) -> Any:
        return [expr.fma(a, b, c), expr.fms(a, b, c), expr.fnma(a, b, c)]

    program = trace(f, {"a": (), "b": (), "c": ()})
    result = evaluate(program, {"a": 2.0, "b": 3.0, "c": 1.0})["result"]
    np.testing.assert_array_equal(result, [7.0, 5.0, -5.0])


def test_every_operation_has_a_meaning() -> None:
    assert set(MEANING) == set(expr.ARITY) - {"const", "input", "call", "result"}
    assert set(expr.BUILD) == set(MEANING)
