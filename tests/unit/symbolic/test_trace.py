"""Tracing: what a function is called with, and what it may return."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

import numpy as np
import pytest

from ramidyn.errors import TraceError
from ramidyn.symbolic import functions
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.expr import Expr, const, region, symbol
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace


class Point(NamedTuple):
    a: Any
    b: Any


def test_inputs_are_scalars_vectors_and_matrices() -> None:
    seen: dict[str, Any] = {}

    def f(s: Expr, v: Any, A: Any) -> Expr:
        seen.update(s=s, v=v, A=A)
        return s

    trace(f, {"s": (), "v": 3, "A": (2, np.int64(4))})
    assert isinstance(seen["s"], Expr)
    assert seen["v"].shape == (3,)
    assert seen["A"].shape == (2, 4)
    assert seen["A"][1, 2].value == ("A", 6)


@pytest.mark.parametrize(
    ("returned", "shapes"),
    [
        (lambda x: x[0], {"result": ()}),
        (lambda x: x, {"result": (2,)}),
        (lambda x: [x[0], 1.0], {"result": (2,)}),
        (lambda x: (x, x[0]), {"result_0": (2,), "result_1": ()}),
        (lambda x: Point(x[0], [x]), {"a": (), "b": (1, 2)}),
        (lambda x: [[x[0], 0], [1, x[1]]], {"result": (2, 2)}),
        (lambda x: np.outer(x, x), {"result": (2, 2)}),
        (lambda _: 3.0, {"result": ()}),
        (lambda _: np.ones((2, 3)), {"result": (2, 3)}),
        (lambda x: {"a": x[0], "b": [x]}, {"a": (), "b": (1, 2)}),
        (lambda _: [], {"result": (0,)}),
    ],
)
def test_outputs_have_the_shapes_that_were_returned(
    returned: Any, shapes: dict[str, tuple[int, ...]]
) -> None:
    program = check(trace(returned, {"x": 2}))
    assert {v.name: v.shape for v in program.outputs} == shapes
    values = evaluate(program, {"x": [2.0, 3.0]})
    assert {name: a.shape for name, a in values.items()} == shapes


def test_a_condition_as_output_is_one_or_zero() -> None:
    program = check(trace(lambda x: [x < 1.0, ~(x < 1.0)], {"x": ()}))
    result = evaluate(program, {"x": [0.0, 2.0]})["result"]
    np.testing.assert_array_equal(result, [[1.0, 0.0], [0.0, 1.0]])


def test_the_order_holds_only_what_outputs_need() -> None:
    def f(x: Expr) -> Expr:
        functions.sin(x)
        return x + 1.0

    assert [e.op for e in trace(f, {"x": ()}).order] == ["const", "input", "add"]


def test_the_name_is_the_functions_or_the_given_one() -> None:
    def energy(x: Expr) -> Expr:
        return x

    assert trace(energy, {"x": ()}).name == "energy"
    assert trace(energy, {"x": ()}, name="other").name == "other"


def test_regions_are_counted_from_the_start() -> None:
    def f(x: Expr) -> Expr:
        y = x * 2.0
        region("second")
        y = y + x
        region("third")
        return y * y

    program = check(trace(f, {"x": ()}))
    assert program.regions == ("start", "second", "third")
    operations = [(e.op, e.region) for e in program.order if e.args]
    assert operations == [("mul", 0), ("add", 1), ("mul", 2)]


def test_constants_made_outside_may_be_used() -> None:
    gravity, zero = const(9.81), const(0.0)
    program = check(trace(lambda x: [x * gravity, zero, gravity], {"x": ()}))
    result = evaluate(program, {"x": 2.0})["result"]
    np.testing.assert_array_equal(result, [19.62, 0.0, 9.81])


def test_traces_within_traces_leave_each_other_alone() -> None:
    def outer(x: Expr) -> Expr:
        y = x * 2.0
        inner = trace(lambda z: z * 3.0, {"z": ()})
        check(inner)
        return y + x

    program = check(trace(outer, {"x": ()}))
    assert evaluate(program, {"x": 1.0})["result"] == 3.0


def test_a_failed_trace_leaves_nothing_behind() -> None:
    def fails(_: Expr) -> Expr:
        region("lost")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        trace(fails, {"x": ()})
    assert gc.isenabled()
    assert trace(lambda x: x * 2.0, {"x": ()}).regions == ("start",)


OUTSIDE = symbol("outside") * 2.0


@pytest.mark.parametrize(
    ("fn", "inputs", "message"),
    [
        (lambda _: None, {"x": 1}, "output 'result' is None; did the function return"),
        (lambda x: {"a": x, "b": None}, {"x": 1}, "output 'b' is None"),
        (lambda _: {}, {"x": 1}, "returned no outputs"),
        (lambda _: "x", {"x": 1}, "'x' is a str; expected a real number or a symbol"),
        (lambda x: [x[0], None], {"x": 1}, "None is a NoneType; expected a real num"),
        (lambda x: [x[0], int], {"x": 1}, "is a type; expected a real number"),
        (lambda x: x + 10**400, {"x": 1}, "an int is too large to use"),
        (lambda x: [[1, 2], [x[0]]], {"x": 1}, "is a list; expected a real number"),
        (lambda x: x + OUTSIDE, {"x": 1}, r"uses Expr\(outside\[0\]\), a symbol of an"),
        (lambda x: x, {"x": -1}, "input 'x' has shape -1; expected an integer or a"),
        (lambda x: x, {"x": (2, -1)}, r"input 'x' has shape \(2, -1\); expected an"),
        (lambda x: x, {"x": 2.5}, "input 'x' has shape 2.5; expected an integer"),
        (lambda x: x, {"x": "ab"}, "input 'x' has shape 'ab'; expected an integer"),
        (lambda x: x, {"x": None}, "input 'x' has shape None; expected an integer"),
    ],
)
def test_what_cannot_be_traced_says_why(fn: Any, inputs: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        trace(fn, inputs)
