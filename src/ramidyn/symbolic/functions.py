"""Functions of numbers, symbols and arrays of either, for users' own kernels.

Numbers go to NumPy. Symbols, and arrays with symbols among numbers, give symbols, so
the same code runs in Python and in a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ramidyn.errors import ShapeError, TraceError
from ramidyn.symbolic import expr
from ramidyn.symbolic.expr import Condition, Expr, lift


def _elementwise(numeric: Callable[..., Any], f: Callable[..., Expr], *x: Any) -> Any:
    """Apply NumPy's function to numbers, else f to each as NumPy broadcasts."""
    if not any(map(_is_array, x)):
        return f(*x) if any(isinstance(e, Expr) for e in x) else numeric(*x)
    arrays: Any = [np.asarray(e) for e in x]
    if not any(a.dtype == object for a in arrays):
        return numeric(*arrays)
    arrays = np.broadcast_arrays(*arrays)
    result: Any = np.empty(arrays[0].shape, dtype=object)
    for i, entries in enumerate(zip(*(a.flat for a in arrays), strict=True)):
        result.flat[i] = f(*entries)
    return result


def _is_array(x: object) -> bool:
    return isinstance(x, (np.ndarray, list, tuple))


def _function(op: str, numeric: Callable[..., Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Expr:
        return expr.unary(op, lift(x))

    return partial(_elementwise, numeric, f)


def _atan2(y: Any, x: Any) -> Expr:
    return expr.atan2(lift(y), lift(x))


def _extremum(op: str, a: Any, b: Any) -> Expr:
    # A limit that is infinite is none; a constant of the program is finite.
    for x, other in ((a, b), (b, a)):
        none = -math.inf if op == "max" else math.inf
        if not isinstance(x, Expr) and x == none:
            return lift(other)
    return expr.extremum(op, lift(a), lift(b))


_sqrt, _sin = _function("sqrt", np.sqrt), _function("sin", np.sin)
_cos, _tan = _function("cos", np.cos), _function("tan", np.tan)
_asin, _acos = _function("asin", np.arcsin), _function("acos", np.arccos)
_exp, _log = _function("exp", np.exp), _function("log", np.log)


def sqrt(x: Any) -> Any:
    """Return √x."""
    return _sqrt(x)


def sin(x: Any) -> Any:
    """Return the sine of x [rad]."""
    return _sin(x)


def cos(x: Any) -> Any:
    """Return the cosine of x [rad]."""
    return _cos(x)


def tan(x: Any) -> Any:
    """Return the tangent of x [rad]."""
    return _tan(x)


def asin(x: Any) -> Any:
    """Return the angle in [−π/2, π/2] whose sine is x."""
    return _asin(x)


def acos(x: Any) -> Any:
    """Return the angle in [0, π] whose cosine is x."""
    return _acos(x)


def exp(x: Any) -> Any:
    """Return eˣ."""
    return _exp(x)


def log(x: Any) -> Any:
    """Return the natural logarithm of x."""
    return _log(x)


def atan2(y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y), in (−π, π]."""
    return _elementwise(np.arctan2, _atan2, y, x)


def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent of x."""
    return _elementwise(np.tanh, _tanh, x)


def _tanh(x: Any) -> Expr:
    """Return (1 − e) / (1 + e) with e = exp(−2 |x|), or near 0 a continued fraction.

    x / (1 + x²/(3 + x²/(5 + x²/(7 + x²/(9 + x²/11))))) is exact to the last digit for
    |x| ≤ 1/4, where 1 − e would lose digits.
    """
    x = lift(x)
    z, e = x * x, expr.unary("exp", abs(x) * -2.0)
    is_small = z < 0.0625
    sign = expr.where(x < 0.0, expr.const(-1.0), expr.const(1.0))
    above = x * ((z * 21.0 + 1260.0) * z + 10395.0)
    below = ((z + 210.0) * z + 4725.0) * z + 10395.0
    above = expr.where(is_small, above, sign * (1.0 - e))
    return above / expr.where(is_small, below, 1.0 + e)


def absolute(x: Any) -> Any:
    """Return |x|."""

    def f(e: Any) -> Expr:
        return abs(lift(e))

    return _elementwise(np.abs, f, x)


def sign(x: Any) -> Any:
    """Return −1, 0 or 1: the sign of x."""

    def f(e: Any) -> Expr:
        x, zero, one = lift(e), expr.const(0.0), expr.const(1.0)
        return expr.where(x < 0.0, -one, expr.where(x > 0.0, one, zero))

    return _elementwise(np.sign, f, x)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of a and b; NaN if either is NaN."""
    return _elementwise(np.minimum, partial(_extremum, "min"), a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of a and b; NaN if either is NaN."""
    return _elementwise(np.maximum, partial(_extremum, "max"), a, b)


def clip(x: Any, low: Any, high: Any) -> Any:
    """Return x limited to the range from ``low`` to ``high``."""
    return minimum(maximum(x, low), high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return a where the condition holds, else b; both are computed."""

    def choose(c: Any, x: Any, y: Any) -> Expr:
        if isinstance(c, (bool, np.bool_)):
            return lift(x) if c else lift(y)
        if not isinstance(c, Condition):
            raise TraceError(
                f"{expr.users_line()}: the first argument of where must be a "
                f"comparison such as x < 0, not {c!r}"
            )
        return expr.where(c, lift(x), lift(y))

    return _elementwise(np.where, choose, condition, a, b)


# ------------------------------------------------------------ vectors


def dot(a: Any, b: Any) -> Any:
    """Return a · b of two vectors."""
    return np.asarray(a) @ np.asarray(b)


def cross(a: Any, b: Any) -> Any:
    """Return a × b of 3-vectors, along the last axis."""
    x, y = np.asarray(a), np.asarray(b)
    if x.shape[-1:] != (3,) or y.shape[-1:] != (3,):
        raise ShapeError(
            f"cross got shapes {x.shape} and {y.shape}; expected 3-vectors, (..., 3)"
        )
    (i, j, k), (p, q, r) = np.moveaxis(x, -1, 0), np.moveaxis(y, -1, 0)
    return np.stack([j * r - k * q, k * p - i * r, i * q - j * p], axis=-1)


def norm(x: Any) -> Any:
    """Return the length √(x · x) of a vector, along the last axis."""
    array = np.asarray(x)
    return sqrt((array * array).sum(axis=-1))
