"""The derivatives of every operation, forward and in reverse.

Where an operation has no derivative, it has that of one side:

    |x| at 0               that of x
    min, max where equal   that of the first argument
    where                  that of the branch taken; conditions are constant

Finite values are assumed in both branches of a ``where``: what is infinite or NaN in
the branch that is not taken reaches the derivatives of vjp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ramidyn.symbolic import expr
from ramidyn.symbolic.expr import Expr, add, const, div, mul, neg, power, sub, where

Changes: TypeAlias = tuple[Expr, ...]
TangentRule: TypeAlias = Callable[[Expr, Changes], Expr]
"""(node, changes of its arguments) -> its change"""
CotangentRule: TypeAlias = Callable[[Expr, Expr], tuple[Expr, ...]]
"""(node, weight of it) -> weights of its arguments"""


def tangent_rule(e: Expr) -> TangentRule:
    """Return how a node changes with its arguments."""
    found = TANGENTS.get(e.op)
    if found is not None:
        return found
    partial = PARTIALS[e.op](e)
    return lambda _, d: mul(partial, d[0])


def cotangent_rule(e: Expr) -> CotangentRule:
    """Return what a weight of a node is for its arguments."""
    found = COTANGENTS.get(e.op)
    if found is not None:
        return found
    partial, rest = PARTIALS[e.op](e), (const(0.0),) * (len(e.args) - 1)
    return lambda _, bar: (mul(partial, bar), *rest)


def _square(x: Expr) -> Expr:
    return mul(x, x)


def _over(c: float, x: Expr) -> Expr:
    return div(const(c), x)


def _inverse_sine(a: Expr, sign: float) -> Expr:
    return _over(sign, expr.unary("sqrt", sub(const(1.0), _square(a))))


PARTIALS: dict[str, Callable[[Expr], Expr]] = {
    "sqrt": lambda e: _over(0.5, e),
    "sin": lambda e: expr.unary("cos", e.args[0]),
    "cos": lambda e: neg(expr.unary("sin", e.args[0])),
    "tan": lambda e: add(const(1.0), _square(e)),
    "asin": lambda e: _inverse_sine(e.args[0], 1.0),
    "acos": lambda e: _inverse_sine(e.args[0], -1.0),
    "exp": lambda e: e,
    "log": lambda e: _over(1.0, e.args[0]),
    "pow": lambda e: mul(e.args[1], power(e.args[0], const(e.args[1].value - 1.0))),
}
"""The derivatives of functions of one argument (an exponent is a constant)."""


def _is_first(e: Expr) -> Expr:
    """Return the condition that min or max is its first argument."""
    a, b = e.args
    return expr.compare("le", *((a, b) if e.op == "min" else (b, a)))


def _angle(e: Expr) -> tuple[Expr, Expr]:
    """Return the derivatives of atan2(y, x)."""
    y, x = e.args
    k = div(const(1.0), add(_square(x), _square(y)))
    return mul(x, k), neg(mul(y, k))


def _product_tangent(e: Expr, d: Changes) -> Expr:
    return add(mul(d[0], e.args[1]), mul(e.args[0], d[1]))


def _quotient_tangent(e: Expr, d: Changes) -> Expr:
    return mul(sub(d[0], mul(e, d[1])), _over(1.0, e.args[1]))


def _extremum_tangent(e: Expr, d: Changes) -> Expr:
    return where(_is_first(e), d[0], d[1])


def _fused_tangent(e: Expr, d: Changes) -> Expr:
    ab = _product_tangent(e, d)
    if e.op == "fnma":
        return sub(d[2], ab)
    return add(ab, d[2]) if e.op == "fma" else sub(ab, d[2])


def _atan2_tangent(e: Expr, d: Changes) -> Expr:
    py, px = _angle(e)
    return add(mul(py, d[0]), mul(px, d[1]))


TANGENTS: dict[str, TangentRule] = {
    "add": lambda _, d: add(d[0], d[1]),
    "sub": lambda _, d: sub(d[0], d[1]),
    "mul": _product_tangent,
    "div": _quotient_tangent,
    "neg": lambda _, d: neg(d[0]),
    "abs": lambda e, d: where(_is_negative(e), neg(d[0]), d[0]),
    "atan2": _atan2_tangent,
    "min": _extremum_tangent,
    "max": _extremum_tangent,
    "where": lambda e, d: where(e.args[0], d[1], d[2]),
    "random": lambda _e, _d: const(0.0),
    **dict.fromkeys(("fma", "fms", "fnma"), _fused_tangent),
}
"""Operations that are not in PARTIALS."""


def _is_negative(e: Expr) -> Expr:
    return expr.compare("lt", e.args[0], const(0.0))


def _product_bars(e: Expr, bar: Expr) -> tuple[Expr, ...]:
    return mul(bar, e.args[1]), mul(bar, e.args[0])


def _quotient_bars(e: Expr, bar: Expr) -> tuple[Expr, ...]:
    of_a = mul(bar, _over(1.0, e.args[1]))
    return of_a, neg(mul(e, of_a))


def _chosen_bars(condition: Expr, bar: Expr) -> tuple[Expr, Expr]:
    zero = const(0.0)
    return where(condition, bar, zero), where(condition, zero, bar)


def _fused_bars(e: Expr, bar: Expr) -> tuple[Expr, ...]:
    of_ab = neg(bar) if e.op == "fnma" else bar
    of_c = neg(bar) if e.op == "fms" else bar
    return mul(of_ab, e.args[1]), mul(of_ab, e.args[0]), of_c


def _atan2_bars(e: Expr, bar: Expr) -> tuple[Expr, ...]:
    py, px = _angle(e)
    return mul(bar, py), mul(bar, px)


COTANGENTS: dict[str, CotangentRule] = {
    "add": lambda _, bar: (bar, bar),
    "sub": lambda _, bar: (bar, neg(bar)),
    "mul": _product_bars,
    "div": _quotient_bars,
    "neg": lambda _, bar: (neg(bar),),
    "abs": lambda e, bar: (where(_is_negative(e), neg(bar), bar),),
    "atan2": _atan2_bars,
    "min": lambda e, bar: _chosen_bars(_is_first(e), bar),
    "max": lambda e, bar: _chosen_bars(_is_first(e), bar),
    "where": lambda e, bar: (const(0.0), *_chosen_bars(e.args[0], bar)),
    "random": lambda e, _: (const(0.0),) * len(e.args),
    **dict.fromkeys(("fma", "fms", "fnma"), _fused_bars),
}
"""Operations that are not in PARTIALS."""
