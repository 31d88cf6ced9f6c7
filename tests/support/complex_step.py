"""Exact derivatives of programs by complex steps, for operations that are not analytic
too: comparisons look at real parts, |x| is x or −x, min and max are what they choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.symbolic.interpreter import MEANING, evaluate
from ramidyn.symbolic.program import Program

STEP = 1e-30
"""below any rounding of the values, far above the smallest double"""


def _minimum(a: Any, b: Any) -> Any:
    return np.where(np.real(a) <= np.real(b), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return np.where(np.real(b) <= np.real(a), a, b)


def _absolute(x: Any) -> Any:
    return np.where(np.real(x) < 0.0, -x, x)


def _atan2(y: Any, x: Any) -> Any:
    # Analytic, and by another formula than the rule: halves of the angle's tangent.
    angle = 2.0 * np.arctan(y / (np.sqrt(x * x + y * y) + x))
    return np.where(np.real(x) > 0.0, angle, _by_cotangent(y, x))


def _by_cotangent(y: Any, x: Any) -> Any:
    return 2.0 * np.arctan((np.sqrt(x * x + y * y) - x) / y)


EXTENDED = {
    "abs": _absolute,
    "min": _minimum,
    "max": _maximum,
    "atan2": _atan2,
    "lt": lambda a, b: np.real(a) < np.real(b),
    "le": lambda a, b: np.real(a) <= np.real(b),
    "eq": lambda a, b: np.real(a) == np.real(b),
}


@contextmanager
def extended() -> Iterator[None]:
    """Let the interpreter take complex numbers through every operation."""
    before = dict(MEANING)
    MEANING.update(EXTENDED)
    try:
        yield
    finally:
        MEANING.update(before)


def directional(
    program: Program,
    inputs: Mapping[str, Array],
    directions: Mapping[str, Array],
    dtype: Any = complex,
) -> dict[str, Array]:
    """Return how the outputs change for a change of the inputs.

    Directions may have a batch axis in front: then so have the results. With the dtype
    np.clongdouble rounding is that of long double.
    """
    moved = {
        name: np.asarray(x, dtype) + 1j * STEP * np.asarray(directions.get(name, 0.0))
        for name, x in inputs.items()
    }
    with extended():
        found = evaluate(program, moved, dtype)
    return {name: x.imag / STEP for name, x in found.items()}
