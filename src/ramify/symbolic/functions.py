"""Functions of symbols and numbers, for users' own kernels.

Each works on a symbol, on a number, and element by element on NumPy arrays of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ramify.errors import TraceError
from ramify.symbolic import expr
from ramify.symbolic.expr import Condition, Expr, lift


def _elementwise(f: Callable[..., Expr], *operands: Any) -> Any:
    """Apply f to scalars, or to arrays element by element as NumPy broadcasts."""
    if not any(isinstance(x, (np.ndarray, list, tuple)) for x in operands):
        return f(*operands)
    arrays: Any = np.broadcast_arrays(*(np.asarray(x, dtype=object) for x in operands))
    result: Any = np.empty(arrays[0].shape, dtype=object)
    for i, entries in enumerate(zip(*(a.flat for a in arrays), strict=True)):
        result.flat[i] = f(*entries)
    return result


def _function(op: str) -> Callable[[Any], Any]:
    def f(x: Any) -> Expr:
        return expr.unary(op, lift(x))

    return partial(_elementwise, f)


def _atan2(y: Any, x: Any) -> Expr:
    return expr.atan2(lift(y), lift(x))


def _extremum(op: str, a: Any, b: Any) -> Expr:
    return expr.extremum(op, lift(a), lift(b))


_sqrt, _sin, _cos, _tan = map(_function, ("sqrt", "sin", "cos", "tan"))
_asin, _acos, _exp, _log = map(_function, ("asin", "acos", "exp", "log"))


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
    return _elementwise(_atan2, y, x)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of a and b."""
    return _elementwise(partial(_extremum, "min"), a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of a and b."""
    return _elementwise(partial(_extremum, "max"), a, b)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return a where the condition holds, else b; both are computed."""

    def choose(c: Any, x: Any, y: Any) -> Expr:
        if isinstance(c, (bool, np.bool_)):
            return lift(x) if c else lift(y)
        if not isinstance(c, Condition):
            raise TraceError(
                f"{expr.users_line()}: where needs a comparison such as x < 0 first, "
                f"not {c!r}"
            )
        return expr.where(c, lift(x), lift(y))

    return _elementwise(choose, condition, a, b)
