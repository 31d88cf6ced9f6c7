"""Operation counts: every operation in one column, and what the columns cost."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.symbolic import expr, functions
from ramidyn.symbolic.count import (
    DIVISION_COST,
    FUNCTION_COST,
    LATENCY,
    PRODUCT_LATENCY,
    Ops,
    count,
    longest_wait,
)
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.trace import trace
from support.programs import random_program


@pytest.mark.parametrize(
    ("fn", "ops"),
    [
        (lambda x, _y: x, Ops()),
        (lambda x, y: x * y + x - 2 * y, Ops(mul=2, add=2)),
        (lambda x, y: -(x * y), Ops(mul=1, neg=1)),
        (lambda x, y: x / y, Ops(div=1)),
        (lambda x, _y: functions.sqrt(x), Ops(sqrt=1)),
        (lambda x, _y: x**3, Ops(mul=2)),
        (lambda x, _y: functions.sin(x) + functions.cos(x), Ops(sincos=1, add=1)),
        (lambda x, y: functions.sin(x) + functions.cos(y), Ops(sincos=2, add=1)),
        (lambda x, _y: functions.tan(x), Ops(function=1)),
        (lambda x, _y: functions.asin(x), Ops(function=1)),
        (lambda x, _y: functions.acos(x), Ops(function=1)),
        (functions.atan2, Ops(function=1)),
        (lambda x, _y: functions.exp(x), Ops(function=1)),
        (lambda x, _y: functions.log(x), Ops(function=1)),
        (lambda x, _y: x**1.5, Ops(function=1)),
        (lambda x, _y: abs(x), Ops(select=1)),
        (functions.minimum, Ops(select=1)),
        (functions.maximum, Ops(select=1)),
        (
            lambda x, y: functions.where((x < y) & ~(x <= y) | (x == y), x, y),
            Ops(compare=6, select=1),
        ),
        (lambda x, y: expr.fma(x, y, x), Ops(mul=1, add=1, fma=1)),
        (lambda x, y: expr.fms(x, y, x), Ops(mul=1, add=1, fma=1)),
        (lambda x, y: expr.fnma(x, y, x), Ops(mul=1, add=1, fma=1)),
    ],
)
def test_each_operation_is_counted_in_its_column(fn: object, ops: Ops) -> None:
    assert count(trace(fn, {"x": (), "y": ()})) == ops


def test_the_total_is_the_number_of_operations(rng: np.random.Generator) -> None:
    program = random_program(rng, 2000, functions=0.5)
    ops = count(program)
    sines = [e for e in program.order if e.op in ("sin", "cos")]
    angles = {e.args[0] for e in sines}
    operations = sum(1 for e in program.order if e.args)
    assert ops.total == operations - len(sines) + len(angles)


def test_a_fused_pair_counts_as_two_and_costs_as_one() -> None:
    def fused(x: Expr) -> Expr:
        return expr.fma(x, x, x)

    ops = count(trace(fused, {"x": ()}))
    assert ops.total == 2
    assert ops.cost == 1


def test_slow_operations_cost_more() -> None:
    ops = Ops(mul=3, div=1, sqrt=1, sincos=1, function=1, neg=2)
    assert ops.total == 9
    assert ops.cost == 5 + 2 * DIVISION_COST + 2 * FUNCTION_COST


def test_counts_read_as_a_list() -> None:
    assert str(Ops(mul=1200, add=3)) == "1,200 mul, 3 add"
    assert str(Ops()) == "no operations"


def test_only_the_longest_chain_waits() -> None:
    def chains(x: Expr, y: Expr) -> list[Expr]:
        return [functions.sin(x) * y + x, x * x * x * x, x / y]

    program = trace(chains, {"x": (), "y": ()})
    wanted = LATENCY["sin"] + PRODUCT_LATENCY + LATENCY["add"]
    assert longest_wait(program) == wanted
    assert longest_wait(trace(lambda x: x, {"x": ()})) == 0
