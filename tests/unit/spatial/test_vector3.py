"""Vectors and matrices of three: the operators are those of NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn.spatial.vector3 import IDENTITY, ONE, Mat, Vec, mat, vec
from ramidyn.symbolic.expr import const
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace

TWO: dict[str, tuple[Callable[..., Any], str, str]] = {
    "add": (operator.add, "a", "b"),
    "subtract": (operator.sub, "a", "b"),
    "scale": (operator.mul, "a", "s"),
    "scale from the left": (operator.mul, "s", "a"),
    "divide": (operator.truediv, "a", "s"),
    "matrix times vector": (operator.matmul, "A", "b"),
    "matrix times matrix": (operator.matmul, "A", "B"),
    "add matrices": (operator.add, "A", "B"),
    "dot": (lambda x, y: x.dot(y), "a", "b"),
    "cross": (
        lambda x, y: x.cross(y) if isinstance(x, Vec) else np.cross(x, y),
        "a",
        "b",
    ),
    "negative": (lambda x, _: -x, "a", "b"),
    "transpose": (lambda x, _: x.T, "A", "B"),
}


@pytest.mark.parametrize("law", TWO)
def test_operators_are_those_of_numpy(law: str, rng: np.random.Generator) -> None:
    f, left, right = TWO[law]

    def traced(s: Any, a: Any, b: Any, A: Any, B: Any) -> Any:
        known = {"s": s, "a": Vec(a), "b": Vec(b), "A": mat(*A), "B": mat(*B)}
        return np.array(f(known[left], known[right]), dtype=object)

    shapes = {"s": (), "a": 3, "b": 3, "A": (3, 3), "B": (3, 3)}
    values = {name: rng.normal(size=size) for name, size in shapes.items()}
    (found,) = evaluate(trace(traced, shapes), values).values()
    expected = f(values[left], values[right])
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


PLAIN = (ONE, ONE, ONE)
V = vec(1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("f", "a", "b", "message"),
    [
        (operator.add, V, PLAIN, r"types for \+: Vec and tuple; expected two Vec"),
        (operator.add, PLAIN, V, r"types for \+: tuple and Vec; expected two Vec"),
        (operator.sub, V, PLAIN, r"types for -: Vec and tuple; expected two Vec"),
        (operator.add, IDENTITY, (V, V, V), r"types for \+: Mat and tuple; expected"),
        (operator.add, (V, V, V), IDENTITY, r"types for \+: tuple and Mat; expected"),
        (operator.add, IDENTITY, V, r"Mat and Vec; expected two Vec or two Mat"),
    ],
)
def test_a_plain_tuple_is_never_concatenated(
    f: Callable[[Any, Any], Any], a: Any, b: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        f(a, b)


def test_numbers_become_constants() -> None:
    assert isinstance(V, Vec)
    assert isinstance(IDENTITY, Mat)
    assert all(
        x is y
        for x, y in zip(
            vec(1.0, 0, const(2.0)), (ONE, const(0.0), const(2.0)), strict=True
        )
    )
