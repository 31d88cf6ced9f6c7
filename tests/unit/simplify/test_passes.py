"""Passes: the same values at no higher cost, and each rule where it should fire."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramidyn.simplify import passes, rules
from ramidyn.simplify.passes import LOWERING, SIMPLIFICATIONS, Pass, lower, simplify
from ramidyn.symbolic.calls import call_program
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.functions import cos, minimum, sin
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.printer import text
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from support.programs import Recipe, assert_same, random_recipe, recipes, values_for


def everything(program: Program) -> Program:
    return lower(simplify(program))


def on_a_copy(lowering: Pass) -> Pass:
    """Return a pass that works in place for programs that are needed afterwards."""

    @functools.wraps(lowering)
    def copied(program: Program) -> Program:
        return lowering(rules.copied(program))

    return copied


share_reciprocals, contract, chain_products = map(on_a_copy, LOWERING)
LOWERING_COPIES = (share_reciprocals, contract, chain_products)
PASSES = (*SIMPLIFICATIONS, *LOWERING_COPIES, simplify, everything)


@pytest.mark.parametrize("simplification", PASSES, ids=lambda p: p.__name__)
@settings(max_examples=50, deadline=None)
@given(recipe=recipes(), seed=st.integers(0, 1000))
def test_a_pass_keeps_values_and_never_raises_the_cost(
    simplification: Pass, recipe: Recipe, seed: int
) -> None:
    program = recipe.program()
    after = check(simplification(program))
    assert (after.inputs, after.outputs) == (program.inputs, program.outputs)
    assert count(after).cost <= count(program).cost
    values = values_for(recipe.inputs, np.random.default_rng(seed), batch=3)
    assert_same(evaluate(after, values), evaluate(program, values))


@pytest.mark.parametrize("share_of_functions", [0.0, 0.1, 0.5])
def test_long_programs_keep_their_values_through_all_passes(
    share_of_functions: float, rng: np.random.Generator
) -> None:
    recipe = random_recipe(rng, 3000, functions=share_of_functions)
    program = recipe.program()
    values = values_for(recipe.inputs, rng, batch=3)
    expected = evaluate(program, values)
    for simplification in (*SIMPLIFICATIONS, *LOWERING_COPIES):
        cost = count(program).cost
        program = check(simplification(program))
        assert count(program).cost <= cost
        assert_same(evaluate(program, values), expected)


def test_every_pass_is_in_one_of_the_lists() -> None:
    assert set(SIMPLIFICATIONS) | set(LOWERING) == {
        passes.drop_dead_code,
        passes.thaw_loops,
        passes.fold_trigonometry,
        passes.collect_terms,
        passes.place_signs,
        passes.share_reciprocals,
        passes.contract,
        passes.chain_products,
    }


# Each rule by an example; the parameters of the lambdas are the inputs.


def body(simplification: Pass, fn: Callable[..., Any]) -> str:
    """Return the operations of a function after one pass, each on a line."""
    inputs = dict.fromkeys(inspect.signature(fn).parameters, ())
    program = trace(fn, inputs, name="f")
    lines = text(check(simplification(program))).splitlines()[1:]
    return "; ".join(line.strip() for line in lines)


TRIGONOMETRY: list[tuple[Callable[..., Any], str]] = [
    (lambda x: sin(x) * sin(x) + cos(x) * cos(x), "result = 1"),
    (lambda x: cos(x) ** 2 + sin(x) ** 2, "result = 1"),
    (lambda x: sin(x + math.pi / 2), "t2 = cos(x); result = t2"),
    (lambda x: sin(math.pi / 2 + x), "t2 = cos(x); result = t2"),
    (lambda x: cos(x - math.pi / 2), "t2 = sin(x); result = t2"),
    (lambda x: cos(math.pi / 2 - x), "t2 = sin(x); result = t2"),
    (lambda x: sin(x + 2 * math.pi), "t2 = sin(x); result = t2"),
    (lambda x: sin(x + math.pi), "t2 = sin(x); t3 = -t2; result = t3"),
    (lambda x: cos(x + math.pi), "t2 = cos(x); t3 = -t2; result = t3"),
    (lambda x: sin(math.pi - x), "t2 = sin(x); result = t2"),
]
COLLECT: list[tuple[Callable[..., Any], str]] = [
    (lambda x: 2 * (3 * x), "t2 = 6 * x; result = t2"),
    (lambda x: (3 * x) / 2, "t2 = 1.5 * x; result = t2"),
    (lambda x: x / 4, "t2 = 0.25 * x; result = t2"),
    (lambda x: (x + 1) + 2, "t2 = x + 3; result = t2"),
    (lambda x: (x - 1) - 2, "t2 = x + -3; result = t2"),
    (lambda x: 5 - (x + 1), "t2 = 4 - x; result = t2"),
    (lambda x: 5 - (1 - x), "t2 = 4 + x; result = t2"),
    (lambda x: (1 - x) - 5, "t2 = -4 - x; result = t2"),
    (lambda x: (x + 1) - 1, "result = x"),
    (lambda x: 2 * x + 3 * x, "t2 = 5 * x; result = t2"),
    (lambda x: x - 3 * x, "t2 = -2 * x; result = t2"),
    (lambda x, y, a: a * x + a * y, "t3 = x + y; t4 = a * t3; result = t4"),
    (lambda x, y, a: x * a - a * y, "t3 = x - y; t4 = a * t3; result = t4"),
    (lambda x, y, a: a * x - y * a, "t3 = x - y; t4 = a * t3; result = t4"),
    (lambda x, y, a: x * a + y * a, "t3 = x + y; t4 = a * t3; result = t4"),
]
SIGNS: list[tuple[Callable[..., Any], str]] = [
    (lambda x, y: -(x - y), "t2 = y - x; result = t2"),
    (lambda x: -(2 * x), "t2 = -2 * x; result = t2"),
    (lambda x: -(2 + x), "t2 = -2 - x; result = t2"),
    (lambda x: -(x + 2), "t2 = -2 - x; result = t2"),
    (lambda x: -(2 / x), "t2 = -2 / x; result = t2"),
]
RECIPROCALS: list[tuple[Callable[..., Any], str]] = [
    (
        lambda x, y, d: [x / d, y / d],
        "t4 = 1 / d; t5 = x * t4; t6 = y * t4; result[0] = t5; result[1] = t6",
    ),
    (
        lambda y, d: [1 / d, y / d],
        "t3 = 1 / d; t4 = y * t3; result[0] = t3; result[1] = t4",
    ),
]
CONTRACT: list[tuple[Callable[..., Any], str]] = [
    (lambda x, y, a: a * x + y, "t3 = a * x + y; result = t3"),
    (lambda x, y, a: y + a * x, "t3 = a * x + y; result = t3"),
    (lambda x, y, a: a * x - y, "t3 = a * x - y; result = t3"),
    (lambda x, y, a: y - a * x, "t3 = y - a * x; result = t3"),
    (
        lambda x, y, z, a: [a * x + y, z - a * x],
        "t3 = a * x + y; t4 = z - a * x; result[0] = t3; result[1] = t4",
    ),
    (
        lambda x, y, a, b: [a * x + b * y, a * x - b * y],
        "t0 = b * y; t1 = a * x + t0; t2 = a * x - t0; result[0] = t1; result[1] = t2",
    ),
]
CHAIN: list[tuple[Callable[..., Any], str]] = [
    (
        lambda x, a, b, c, d: x + (a * b + c * d),
        "t0 = c * d + x; t1 = a * b + t0; result = t1",
    ),
    (
        lambda x, a, b, c, d: x - (a * b - c * d),
        "t0 = c * d + x; t1 = t0 - a * b; result = t1",
    ),
    (
        lambda x, a, b, c, d: (a * b + c * d) - x,
        "t0 = c * d - x; t1 = a * b + t0; result = t1",
    ),
    (  # no instruction gives -(c·d) - x
        lambda x, a, b, c, d: (a * b - c * d) - x,
        "t0 = c * d; t1 = a * b - t0; t2 = t1 - x; result = t2",
    ),
    (  # a sine comes too late to wait for
        lambda x, a, b, c, d: sin(x) + (a * b + c * d),
        "t0 = sin(x); t1 = c * d; t2 = a * b + t1; t3 = t0 + t2; result = t3",
    ),
]


def chained(program: Program) -> Program:
    return chain_products(contract(program))


def renumbered(operations: str) -> str:
    """Return the text with t1, t2, ... in order: constants and inputs take numbers."""
    names: dict[str, str] = {}
    words = operations.replace("; ", " ; ").split()
    for word in words:
        if word[0] == "t" and word[1:].isdigit():
            names.setdefault(word, f"t{len(names)}")
    for name in sorted(names, key=len, reverse=True):
        operations = operations.replace(name, f"<{names[name]}>")
    return operations.replace("<", "").replace(">", "")


@pytest.mark.parametrize(
    ("simplification", "fn", "expected"),
    [
        (p, fn, expected)
        for p, examples in (
            (passes.fold_trigonometry, TRIGONOMETRY),
            (passes.collect_terms, COLLECT),
            (passes.place_signs, SIGNS),
            (share_reciprocals, RECIPROCALS),
            (contract, CONTRACT),
            (chained, CHAIN),
        )
        for fn, expected in examples
    ],
)
def test_a_rule_fires(simplification: Pass, fn: Any, expected: str) -> None:
    assert renumbered(body(simplification, fn)) == renumbered(expected)


@pytest.mark.parametrize(
    ("simplification", "fn"),
    [
        (passes.fold_trigonometry, lambda x, y: sin(x) ** 2 + cos(y) ** 2),
        (passes.fold_trigonometry, lambda x: sin(x) ** 2 + sin(x) ** 2),
        (passes.fold_trigonometry, lambda x: sin(x + 1.57)),
        (passes.fold_trigonometry, lambda x: sin(x + 1e-15)),
        (passes.collect_terms, lambda x, y, a: [a * x + a * y, a * x, a * y]),
        (passes.collect_terms, lambda x, y, a, d: a * x + y * d),
        (passes.collect_terms, lambda x: x + x),
        (passes.place_signs, lambda x, y: [-(x - y), x - y]),
        (passes.place_signs, lambda x: [-(2 * x), 2 * x]),
        (share_reciprocals, lambda x, y, d: [x / d, x / y]),
        (contract, lambda x, y, a: [a * x + y, a * x]),
    ],
)
def test_a_rule_keeps_away(simplification: Pass, fn: Any) -> None:
    assert body(simplification, fn) == body(lambda program: program, fn)


@pytest.mark.parametrize(
    ("fn", "x"),
    [
        (lambda x: x / 1e-310, 1e-300),
        (lambda x: [x / 1e-310, (x * x) / 1e-310], 1e-200),
        (lambda x: 1e200 * (1e200 * x), 1e-300),
        (lambda x: 1e-200 * (1e-200 * x), 1e300),
        (lambda x: 1e308 * x + 1.5e308 * x, 1e-10),
        (lambda x: (x + 1.5e308) + 1.5e308, -1.7e308),
        (lambda x: x / 1.7e308, 1e308),
    ],
)
def test_constants_meet_only_within_the_range_of_numbers(fn: Any, x: float) -> None:
    program = trace(fn, {"x": ()})
    after = check(everything(program))
    expected = evaluate(program, {"x": x})["result"]
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(evaluate(after, {"x": x})["result"], expected, 1e-15)


def test_a_freed_sign_that_would_cost_more_is_not_taken() -> None:
    def f(x: Expr, y: Any) -> Any:
        half = -0.5 * (2 * x)
        return [minimum(half * y[0], 1), minimum(half * y[1], 1), half * y[2], 2 * x]

    program = trace(f, {"x": (), "y": 3})
    assert count(passes.collect_terms(program)).cost <= count(program).cost


def test_dead_code_goes() -> None:
    program = trace(lambda x: [sin(x), cos(x)], {"x": ()})
    half = Program(
        "half",
        program.inputs,
        program.outputs,
        (program.results[0],) * 2,
        program.order,
    )
    assert [e.op for e in passes.drop_dead_code(half).order] == ["input", "sin"]


def test_regions_survive_the_passes(rng: np.random.Generator) -> None:
    program = random_recipe(rng, 2000).program()
    after = everything(program)
    assert after.regions == program.regions
    regions = [e.region for e in after.order if e.args]
    assert regions == sorted(regions)
    assert len(set(regions)) > 3


def test_a_quarter_turn_costs_a_rotation_one_sign() -> None:
    def rotate(angle: Any, p: Any) -> list[Any]:
        s, c = sin(angle), cos(angle)
        return [c * p[0] - s * p[1], s * p[0] + c * p[1]]

    plain = trace(rotate, {"q": (), "p": 2})
    turned = trace(lambda q, p: rotate(q + math.pi / 2, p), {"q": (), "p": 2})
    assert count(simplify(plain)) == Ops(mul=4, add=2, sincos=1)
    assert count(simplify(turned)) == Ops(mul=4, add=2, neg=1, sincos=1)


def test_lowering_leaves_its_program_as_it_was(rng: np.random.Generator) -> None:
    program = simplify(random_recipe(rng, 3000).program())
    before = program.digest()
    assert lower(program).digest() != before
    assert program.digest() == before


def test_a_call_of_two_arguments_follows_them() -> None:
    inner = trace(lambda x, y: sin(x) * y, {"x": (), "y": ()}, "inner")

    def f(x: Expr, y: Expr) -> Expr:
        (found,) = call_program(inner, [x / 4, 2 * (3 * y)])
        return found

    program = trace(f, {"x": (), "y": ()})
    after = check(everything(program))
    values = {"x": np.array([0.3, 2.0]), "y": np.array([1.0, -0.7])}
    assert_same(evaluate(after, values), evaluate(program, values))
