"""Derivatives of programs against complex steps of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.simplify.passes import lower, simplify
from ramidyn.symbolic import expr, functions
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.derivatives import between, forward, jvp, reverse, vjp
from ramidyn.symbolic.expr import ARITY, BUILD, CONDITIONS
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program, Variable, reachable
from ramidyn.symbolic.trace import trace
from support import complex_step
from support.programs import Recipe, random_recipe, recipes, values_for

TOLERANCE = 1e-12
"""of complex steps: nothing but the rounding of the same operations"""

SMOOTH: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, _: x + y,
    "sub": lambda x, y, _: x - y,
    "mul": lambda x, y, _: x * y,
    "div": lambda x, y, _: x / y,
    "neg": lambda x, *_: -x,
    "abs": lambda x, y, _: abs(x - 2.0) + abs(y),
    **{
        op: lambda x, *_, op=op: expr.unary(op, x)
        for op in ("sqrt", "sin", "cos", "tan", "asin", "acos", "exp", "log")
    },
    "atan2": lambda x, y, _: functions.atan2(x, y) + functions.atan2(-x, -y),
    "pow": lambda x, y, _: x**0.3 + y**2.5 + y**-1.7,
    "min": lambda x, y, z: functions.minimum(x, y) + functions.minimum(z, y),
    "max": lambda x, y, z: functions.maximum(x, y) + functions.maximum(z, y),
    "where": lambda x, y, z: functions.where((x < y) & (z >= y), x * y, z * y),
    "random": lambda x, y, z: x * expr.random(x, y, z, x, y, z),
    "fma": expr.fma,
    "fms": expr.fms,
    "fnma": expr.fnma,
}
VALUES = {"x": np.array(0.3), "y": np.array(0.7), "z": np.array(1.9)}


def of_three(op: str) -> Program:
    return trace(SMOOTH[op], {"x": (), "y": (), "z": ()})


def assert_close(found: Array, expected: Array) -> None:
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * scale)


def assert_derivatives(program: Program, values: dict[str, Array]) -> None:
    """Check jvp and vjp in random directions, and that they are programs."""
    rng = np.random.default_rng(3)
    wrt = [v.name for v in program.inputs]
    moves = {v.name: rng.normal(size=v.shape) for v in program.inputs}
    weights = {v.name: rng.normal(size=v.shape) for v in program.outputs}
    expected = complex_step.directional(program, values, moves)
    tangents = added(jvp(program, wrt), program, values, list(moves.values()))
    total = 0.0
    for found, (name, x) in zip(tangents, expected.items(), strict=True):
        assert_close(found, x)
        total += float(np.sum(weights[name] * x))
    back = added(vjp(program, wrt), program, values, list(weights.values()))
    pairs = zip(back, moves.values(), strict=True)
    along = sum(float(np.sum(found * x)) for found, x in pairs)
    size = sum(float(np.sum(np.abs(weights[n] * x))) for n, x in expected.items())
    assert abs(along - total) <= TOLERANCE * max(1.0, size)


def added(
    derivative: Program, of: Program, values: dict[str, Array], further: list[Array]
) -> list[Array]:
    """Return the outputs that a derivative adds, for the inputs that it adds."""
    names = [v.name for v in check(derivative).inputs][len(of.inputs) :]
    inputs = {**values, **dict(zip(names, further, strict=True))}
    return list(evaluate(derivative, inputs).values())[len(of.outputs) :]


def test_every_operation_is_differentiated_here() -> None:
    logic = CONDITIONS | {"const", "input", "call", "result"}
    assert set(SMOOTH) == set(ARITY) - logic == set(BUILD) - CONDITIONS


@pytest.mark.parametrize("op", SMOOTH)
def test_the_derivative_of_an_operation_is_that_of_a_complex_step(op: str) -> None:
    assert_derivatives(of_three(op), VALUES)


@pytest.mark.parametrize("op", SMOOTH)
def test_a_second_derivative_is_the_derivative_of_a_derivative(op: str) -> None:
    program = of_three(op)
    weights = {"result_cotangent": np.array(1.3)}
    moves = {f"{n}_tangent": x + 0.2 for n, x in VALUES.items()}
    assert_derivatives(vjp(program, ["x", "y", "z"]), {**VALUES, **weights})
    assert_derivatives(jvp(program, ["x", "y", "z"]), {**VALUES, **moves})


@settings(max_examples=60, deadline=None)
@given(recipes(), st.integers(0, 1000))
def test_derivatives_of_any_program_are_those_of_complex_steps(
    recipe: Recipe, seed: int
) -> None:
    values = values_for(recipe.inputs, np.random.default_rng(seed))
    assert_derivatives(recipe.program(), values)


def test_derivatives_of_what_passes_make_are_those_of_complex_steps(
    rng: np.random.Generator,
) -> None:
    recipe = random_recipe(rng, 300, functions=0.4)
    program = lower(simplify(recipe.program()))
    assert_derivatives(program, values_for(recipe.inputs, rng))


def test_a_derivative_of_one_side_is_taken_where_there_is_no_other() -> None:
    def f(x: expr.Expr, y: expr.Expr, z: expr.Expr) -> dict[str, expr.Expr]:
        return {
            "abs": abs(x),
            "min": functions.minimum(x, y),
            "max": functions.maximum(x, y),
            "where": functions.where(x < z, 2.0 * x, 3.0 * x),
            "square": x**2,
            "cube": x**3,
        }

    program = vjp(trace(f, {"x": (), "y": (), "z": ()}), ["x", "y"])
    inputs = {v.name: np.array(0.0) for v in program.inputs}
    slopes: dict[str, tuple[float, float]] = {}
    for name in ("abs", "min", "max", "where", "square", "cube"):
        found = evaluate(program, {**inputs, f"{name}_cotangent": np.array(1.0)})
        slopes[name] = float(found["x_cotangent"]), float(found["y_cotangent"])
    assert slopes == {
        "abs": (1.0, 0.0),
        "min": (1.0, 0.0),
        "max": (1.0, 0.0),
        "where": (3.0, 0.0),
        "square": (0.0, 0.0),
        "cube": (0.0, 0.0),
    }


def test_forward_a_branch_that_is_not_taken_spoils_nothing() -> None:
    def f(x: expr.Expr) -> expr.Expr:
        return functions.where(x < 1.0, x * x, functions.sqrt(x - 1.0))

    program = jvp(trace(f, {"x": ()}), ["x"])
    found = evaluate(program, {"x": 0.5, "x_tangent": 1.0})
    assert found["result_tangent"] == 1.0


def test_a_derivative_that_is_zero_takes_no_operation() -> None:
    program = trace(lambda x, y: [x[0] * y, x[1] * x[1], y], {"x": 2, "y": ()})
    with expr.fresh_table():
        for e in program.order:
            expr.intern(e)
        one = expr.const(1.0)
        seeds = {expr.symbol("x", k): {k: one} for k in range(2)}
        rows = forward(program.results, seeds)
        by_rows = reverse(program.results, [{k: one} for k in range(3)], seeds)
        y = expr.symbol("y")
        assert [set(r) for r in rows] == [{0}, {1}, set()]
        assert [set(r) for r in by_rows] == [{0}, {1}, set()]
        assert rows[0][0] is y
        assert by_rows[0][0] is y


def test_seeds_inside_a_program_stop_there() -> None:
    """A direction may say how nodes change that are made of inputs."""
    with expr.fresh_table():
        x = expr.symbol("x")
        s = functions.sin(x)
        w = expr.symbol("w")
        results = [s * s + x]
        one, seeds = expr.const(1.0), {s: {0: w}}
        (row,) = forward(results, seeds)
        (back,) = reverse(results, [{0: one}], seeds)
        program = trace_of([row[0], back[0]])
    found = evaluate(program, {"x": 0.4, "w": 3.0})["result"]
    assert_close(found, np.full(2, 2 * np.sin(0.4) * 3.0))


def test_what_is_older_than_all_seeds_is_not_looked_at() -> None:
    """So that each of many derivatives in one trace costs what it differentiates."""
    with expr.fresh_table():
        y = expr.symbol("y")
        for _ in range(10):
            y = functions.sin(y)
        x = expr.symbol("x")
        product = x * y
        assert between([product + y], {x: {}}) == [product, product + y]


def trace_of(results: list[expr.Expr]) -> Program:
    inputs = (Variable("x", ()), Variable("w", ()))
    outputs = (Variable("result", (len(results),)),)
    return Program("p", inputs, outputs, tuple(results), reachable(results))


def test_a_long_chain_is_differentiated_without_recursion() -> None:
    def chain(x: expr.Expr) -> expr.Expr:
        y = x
        for _ in range(20_000):
            y = y * x + 0.5
        return y

    program = trace(chain, {"x": ()})
    found = evaluate(vjp(program, ["x"]), {"x": 0.5, "result_cotangent": 1.0})
    assert_close(found["x_cotangent"], np.array(2.0))  # of y = y x + 0.5: y / (1 − x)
    assert len(jvp(program, ["x"]).order) <= 4 * len(program.order)
    assert len(vjp(program, ["x"]).order) <= 5 * len(program.order)


def test_wrt_must_name_inputs() -> None:
    program = of_three("mul")
    with pytest.raises(
        ArgumentError, match="wrt names 'w', which is not an input; inputs: x, y, z"
    ):
        jvp(program, ["w"])
    with pytest.raises(ArgumentError, match="wrt names an input twice: x, x"):
        vjp(program, ["x", "x"])
    with pytest.raises(
        ArgumentError, match=r"wrt is \[\]; expected the names of inputs: x, y, z"
    ):
        vjp(program, [])
