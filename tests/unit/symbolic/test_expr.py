"""Symbols: sharing, folding at construction, and errors that name the user's line."""

from __future__ import annotations

import gc
import inspect
import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import TraceError
from ramidyn.symbolic import expr, functions
from ramidyn.symbolic.expr import Condition, Expr, const, symbol

X, Y, Z = symbol("x"), symbol("y"), symbol("z")
C = X < Y


def shown(e: Expr) -> str:
    """Return a small expression as text: add(x, 2)."""
    if e.op == "const":
        return f"{e.value:g}"
    if e.op == "input":
        return e.value[0]
    return f"{e.op}({', '.join(map(shown, e.args))})"


# Sharing.


@pytest.mark.parametrize(
    "build",
    [
        lambda: X + Y,
        lambda: X - Y,
        lambda: X * Y,
        lambda: X / Y,
        lambda: -X,
        lambda: abs(X),
        lambda: X**1.5,
        lambda: functions.sin(X * Y),
        lambda: functions.atan2(X, Y),
        lambda: functions.minimum(X, Y),
        lambda: functions.where(X < Y, X, Y),
        lambda: const(0.3),
        lambda: symbol("x"),
    ],
)
def test_equal_operations_on_equal_arguments_are_one_node(
    build: Callable[[], Expr],
) -> None:
    assert build() is build()


@pytest.mark.parametrize("operation", [operator.add, operator.mul])
def test_commutative_operations_share_both_orders(
    operation: Callable[[Any, Any], Expr],
) -> None:
    assert operation(X, Y) is operation(Y, X)


@pytest.mark.parametrize("operation", [operator.truediv, functions.atan2])
def test_other_operations_do_not_share_both_orders(
    operation: Callable[[Any, Any], Expr],
) -> None:
    forth = operation(X, Y)
    assert operation(Y, X) is not forth


def test_a_difference_and_its_mirror_share_one_subtraction() -> None:
    forth = X - Z
    back = Z - X
    assert shown(forth) == "sub(x, z)"
    assert back.op == "neg"
    assert back.args[0] is forth


def test_a_difference_that_exists_is_found_before_its_mirror() -> None:
    with expr.fresh_table():
        x, y = symbol("x"), symbol("y")
        forth = x - y
        back = expr.node("sub", (y, x))
        assert (x - y) is forth
        assert (y - x) is back


def test_constants_are_one_node_for_each_number() -> None:
    assert const(2) is const(2.0)
    assert const(-0.0) is const(0.0)
    assert math.copysign(1.0, const(-0.0).value) == 1.0


def test_nodes_that_nobody_uses_are_freed() -> None:
    gc.collect()
    before = len(expr._table)
    for i in range(100):
        functions.sin(X + (1000.5 + i))
    gc.collect()
    assert len(expr._table) == before


# Folding.


@pytest.mark.parametrize(
    ("folded", "text"),
    [
        (lambda: X + 0, "x"),
        (lambda: 0 + X, "x"),
        (lambda: X + 0.0 * Y, "x"),
        (lambda: const(2) + 3, "5"),
        (lambda: X + (-Y), "sub(x, y)"),
        (lambda: (-X) + Y, "sub(y, x)"),
        (lambda: X - 0, "x"),
        (lambda: X - X, "0"),
        (lambda: 0 - X, "neg(x)"),
        (lambda: const(2) - 3, "-1"),
        (lambda: X - (-Y), "add(x, y)"),
        (lambda: (-X) - Y, "neg(add(x, y))"),
        (lambda: X * 0, "0"),
        (lambda: 0 * X, "0"),
        (lambda: X * 1, "x"),
        (lambda: X * -1, "neg(x)"),
        (lambda: const(2) * 3, "6"),
        (lambda: X * 2, "mul(2, x)"),
        (lambda: 2 * X, "mul(2, x)"),
        (lambda: 2 * (-X), "mul(-2, x)"),
        (lambda: (-X) * Y, "neg(mul(x, y))"),
        (lambda: X * (-Y), "neg(mul(x, y))"),
        (lambda: (-X) * (-Y), "mul(x, y)"),
        (lambda: X / 1, "x"),
        (lambda: X / -1, "neg(x)"),
        (lambda: 0 / X, "0"),
        (lambda: X / X, "1"),
        (lambda: const(3) / 2, "1.5"),
        (lambda: (-X) / Y, "neg(div(x, y))"),
        (lambda: X / (-Y), "neg(div(x, y))"),
        (lambda: (-X) / (-Y), "div(x, y)"),
        (lambda: -expr.neg(X), "x"),
        (lambda: -const(2), "-2"),
        (lambda: +X, "x"),
        (lambda: abs(-X), "abs(x)"),
        (lambda: abs(abs(X)), "abs(x)"),
        (lambda: abs(const(-2)), "2"),
        (lambda: abs(functions.sqrt(X)), "sqrt(x)"),
        (lambda: abs(functions.exp(X)), "exp(x)"),
        (lambda: functions.sin(-X), "neg(sin(x))"),
        (lambda: functions.tan(-X), "neg(tan(x))"),
        (lambda: functions.asin(-X), "neg(asin(x))"),
        (lambda: functions.cos(-X), "cos(x)"),
        (lambda: functions.acos(-X), "acos(neg(x))"),
        (lambda: functions.exp(-X), "exp(neg(x))"),
        (lambda: functions.sqrt(const(9)), "3"),
        (lambda: functions.sin(const(0)), "0"),
        (lambda: functions.cos(const(0)), "1"),
        (lambda: functions.exp(const(0)), "1"),
        (lambda: functions.log(const(1)), "0"),
        (lambda: functions.atan2(const(0), 1.0), "0"),
        (lambda: functions.minimum(const(2), 3), "2"),
        (lambda: functions.maximum(const(2), 3), "3"),
        (lambda: functions.minimum(X, X), "x"),
        (lambda: functions.where(C, X, X), "x"),
        (lambda: functions.where(True, X, Y), "x"),
        (lambda: functions.where(np.bool_(False), X, Y), "y"),
        (lambda: X > Y, "lt(y, x)"),
        (lambda: X >= Y, "le(y, x)"),
        (lambda: X != Y, "not(eq(x, y))"),
        (lambda: 1 < X, "lt(1, x)"),  # noqa: SIM300  the reflected operator
    ],
)
def test_what_can_be_decided_is_decided_while_building(
    folded: Callable[[], Expr], text: str
) -> None:
    with expr.fresh_table():
        assert shown(folded()) == text


@pytest.mark.parametrize("op", sorted(expr._FOLD))
def test_a_function_of_a_constant_is_its_value(op: str) -> None:
    assert expr.unary(op, const(0.3)).value == expr._FOLD[op](0.3)


@pytest.mark.parametrize(
    ("exponent", "text"),
    [
        (0, "1"),
        (1, "x"),
        (2, "mul(x, x)"),
        (3, "mul(x, mul(x, x))"),
        (4, "mul(mul(x, x), mul(x, x))"),
        (-1, "div(1, x)"),
        (-2, "div(1, mul(x, x))"),
        (0.5, "sqrt(x)"),
        (-0.5, "div(1, sqrt(x))"),
        (1.5, "pow(x, 1.5)"),
        (100, "pow(x, 100)"),
        (np.int64(2), "mul(x, x)"),
    ],
)
def test_a_power_is_products_and_roots_where_it_can_be(
    exponent: float, text: str
) -> None:
    assert shown(X**exponent) == text


def test_a_power_of_a_constant_is_a_constant() -> None:
    assert (const(2.0) ** 1.5).value == 2.0**1.5
    assert (const(-1.0) ** 65).value == -1.0


# Numbers and arrays of NumPy.


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)])
def test_every_kind_of_number_works_from_both_sides(number: Any) -> None:
    assert number * X is X * 2.0
    assert X * number is X * 2.0
    assert shown(number - X) == "sub(2, x)"
    assert shown(X - number) == "sub(x, 2)"
    assert shown(number / X) == "div(2, x)"
    assert shown(number < X) == "lt(2, x)"
    assert isinstance(number < X, Condition)


def test_an_array_of_symbols_is_an_object_array() -> None:
    A = np.array([[X, Y], [Z, 1.0]])
    assert A.dtype == object
    assert A.shape == (2, 2)
    assert A[0, 1] is Y


def test_matrix_products_are_sums_of_products() -> None:
    A = np.array([[2.0, 0.0], [1.0, -1.0]])
    x = np.array([X, Y])
    assert list(map(shown, A @ x)) == ["mul(2, x)", "sub(x, y)"]
    assert shown(x @ x) == "add(mul(x, x), mul(y, y))"
    assert shown(np.dot(x, x)) == "add(mul(x, x), mul(y, y))"


def test_identity_matrices_vanish() -> None:
    x = np.array([X, Y, Z])
    assert [e is f for e, f in zip(np.eye(3) @ x, x, strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("ufunc", "op"),
    [
        (np.sin, "sin"),
        (np.cos, "cos"),
        (np.tan, "tan"),
        (np.arcsin, "asin"),
        (np.arccos, "acos"),
        (np.exp, "exp"),
        (np.log, "log"),
        (np.sqrt, "sqrt"),
        (np.abs, "abs"),
    ],
)
def test_numpys_functions_work_on_symbols_and_arrays(ufunc: Any, op: str) -> None:
    assert shown(ufunc(X)) == f"{op}(x)"
    assert list(map(shown, ufunc(np.array([X, Y])))) == [f"{op}(x)", f"{op}(y)"]


def test_numpys_functions_of_two_arguments_work() -> None:
    x, y = np.array([X, Y]), np.array([Y, Z])
    assert list(map(shown, np.arctan2(x, y))) == ["atan2(x, y)", "atan2(y, z)"]
    assert list(map(shown, x**2)) == ["mul(x, x)", "mul(y, y)"]
    compared = np.less(x, 1.0, dtype=object)
    assert list(map(shown, compared)) == ["lt(x, 1)", "lt(y, 1)"]
    assert list(map(shown, compared & ~compared)) == [
        "and(lt(x, 1), not(lt(x, 1)))",
        "and(lt(y, 1), not(lt(y, 1)))",
    ]


def test_our_functions_broadcast_as_numpy_does() -> None:
    result = functions.minimum(np.array([[X], [Y]]), [0.0, Z])
    assert result.shape == (2, 2)
    assert shown(result[1, 0]) == "min(y, 0)"
    assert shown(result[0, 1]) == "min(x, z)"
    chosen = functions.where(C, np.array([X, Y]), 0)
    assert list(map(shown, chosen)) == [
        "where(lt(x, y), x, 0)",
        "where(lt(x, y), y, 0)",
    ]


# Errors, with the line at fault.

NO_TRUTH = (
    r"a symbol has no truth value .*"
    r"ramidyn\.math\.where\(condition, a, b\).*repeat_until for loops.*numpy\.less"
)
NO_NUMBER = r"a symbol is not a number yet.*ramidyn\.math\.sin, sqrt"
NOT_THERE = r"symbols do not support this operation; supported: \+ - \* / \*\* abs"
NOT_ITERABLE = "a symbol is a scalar; it cannot be iterated"
NO_COMPARISON = r"a comparison is not a number; use ramidyn\.math\.where"


def use_if() -> Any:
    return 1 if X else 2


def use_while() -> Any:
    while X < Y:
        pass


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (use_if, NO_TRUTH),
        (use_while, NO_TRUTH),
        (lambda: X and Y, NO_TRUTH),
        (lambda: not X, NO_TRUTH),
        (lambda: X in [Y], NO_TRUTH),
        (lambda: max(X, Y), NO_TRUTH),
        (lambda: np.maximum(X, 1.0), NO_TRUTH),
        (lambda: np.array([X, Y]) < 1.0, NO_TRUTH),
        (lambda: float(X), NO_NUMBER),
        (lambda: int(X), NO_NUMBER),
        (lambda: int(const(2.0)), NO_NUMBER),
        (lambda: complex(X), NO_NUMBER),
        (lambda: round(X), NO_NUMBER),
        (lambda: math.sin(X), NO_NUMBER),
        (lambda: math.floor(X), NO_NUMBER),
        (lambda: [1, 2][X], NO_NUMBER),
        (lambda: range(X), NO_NUMBER),
        (lambda: np.array([X, Y, Z]).astype(float), NO_NUMBER),
        (lambda: np.array([X, Y], dtype=float), NO_NUMBER),
        (lambda: np.zeros(3).__setitem__(0, X), NO_NUMBER),
        (lambda: list(X), NOT_ITERABLE),
        (lambda: 1 in X, NOT_ITERABLE),
        (lambda: X % 2, NOT_THERE),
        (lambda: X // 2, NOT_THERE),
        (lambda: 2 // X, NOT_THERE),
        (lambda: divmod(X, 2), NOT_THERE),
        (lambda: 2.0**X, NOT_THERE),
        (lambda: X @ Y, NOT_THERE),
        (lambda: X & Y, NOT_THERE),
        (lambda: ~X, NOT_THERE),
        (lambda: X**Y, r"exponent of \*\* must be a constant; use ramidyn\.math\.exp"),
        (lambda: C + 1, NO_COMPARISON),
        (lambda: 2 * C, NO_COMPARISON),
        (lambda: X - C, NO_COMPARISON),
        (lambda: -C, NO_COMPARISON),
        (lambda: abs(C), NO_COMPARISON),
        (lambda: C**2, NO_COMPARISON),
        (lambda: C < X, NO_COMPARISON),
        (lambda: C == X, NO_COMPARISON),
        (lambda: X < C, NO_COMPARISON),
        (lambda: functions.sin(C), NO_COMPARISON),
        (lambda: np.sin(C), NO_COMPARISON),
        (lambda: np.arctan2(C, X), NO_COMPARISON),
        (lambda: functions.minimum(X, C), NO_COMPARISON),
        (lambda: functions.where(C, C, X), NO_COMPARISON),
        (lambda: C & X, r"& \| ~ need conditions, not Expr\(x\[0\]\)"),
        (lambda: C | True, r"& \| ~ need conditions, not True"),
        (
            lambda: functions.where(X, X, Y),
            r"where must be a comparison .* not Expr\(x",
        ),
        (lambda: X + float("nan"), "the constant nan is not finite"),
        (lambda: X * float("inf"), "the constant inf is not finite"),
        (lambda: const(1e300) * 1e300, "the constant inf is not finite"),
        (lambda: X / 0, "division by zero"),
        (lambda: X / (Y - Y), "division by zero"),
        (lambda: const(0.0) ** -1, "division by zero"),
        (lambda: functions.sqrt(const(-1)), r"sqrt\(-1.0\): "),
        (lambda: functions.log(const(0)), r"log\(0.0\): "),
        (lambda: functions.asin(const(2)), r"asin\(2.0\): "),
        (lambda: functions.exp(const(1000)), r"exp\(1000.0\): "),
        (lambda: const(-2.0) ** 0.25, r"\(-2.0\) \*\* 0.25: "),
        (lambda: const(10.0) ** 400.5, r"\(10.0\) \*\* 400.5: "),
        (lambda: X + functions.minimum("x", Y), "'x' is a str; expected a real nu"),
        (lambda: X < "y", "'y' is a str; expected a real number or a symbol"),
        (lambda: X == None, "None is a NoneType; expected a real number"),  # noqa: E711
    ],
)
def test_what_a_symbol_cannot_do_names_the_users_line(
    mistake: Callable[[], Any], message: str
) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        mistake()
    first = mistake.__code__.co_firstlineno
    last = first + len(inspect.getsource(mistake).splitlines())
    file, line = re.match(r"(.*):(\d+): ", str(caught.value)).groups()
    assert file == __file__
    assert first <= int(line) <= last


@pytest.mark.parametrize("other", [None, 1j, object()])
def test_arithmetic_with_what_is_no_number_is_a_type_error(other: Any) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        X + other
    with pytest.raises(TypeError, match="unsupported operand"):
        other * X


def test_a_symbol_has_no_entries() -> None:
    with pytest.raises(TypeError, match="not subscriptable"):
        X[0]
    with pytest.raises(TypeError, match="has no len"):
        len(X)


def test_a_line_of_a_folder_named_like_ours_is_the_users() -> None:
    name = expr._PACKAGE.rstrip("/\\") + "_of_a_user.py"
    code = compile("\n\nresult = float(x)\n", name, "exec")
    with pytest.raises(TraceError, match=re.escape(f"{name}:3: ")):
        exec(code, {"x": X})


def test_a_constant_is_a_number_again() -> None:
    assert float(const(2.5)) == 2.5
    assert math.sin(X * 0) == 0.0


def test_the_public_functions_are_these_functions() -> None:
    assert ramidyn.math.sin is functions.sin
    assert ramidyn.math.where is functions.where


def test_a_symbol_shows_what_it_is() -> None:
    assert repr(X) == "Expr(x[0])"
    assert repr(const(2)) == "Expr(2.0)"
    assert repr(X + Y) == "Expr(add of 2)"


def test_only_the_constant_zero_is_zero() -> None:
    x = symbol("x")
    assert [e.is_zero for e in (const(0.0), const(-0.0), x - x, 0.0 * x)] == [True] * 4
    assert [e.is_zero for e in (const(1e-300), x, -x, x * x)] == [False] * 4
