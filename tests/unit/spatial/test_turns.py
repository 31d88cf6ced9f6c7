"""Matrices turned about an axis: the plain product, at a pinned cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.spatial.transform import Turn
from ramidyn.spatial.vector3 import Mat, mat
from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import const
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace

AXES = (0, 1, 2)
CLOSE = 1e-14
"""of the largest entry: a few roundings"""


def rotation(axis: int, angle: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return E, which maps coordinates before a turn to those after it."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    E = np.eye(3)
    E[i, i] = E[j, j] = np.cos(angle)
    E[i, j] = np.sin(angle)
    E[j, i] = -np.sin(angle)
    return E


def turned_back(turn: Turn, A: Any, kind: str) -> Any:
    """Return the turned matrix; of a symmetric one, only one triangle is read."""
    if kind == "symmetric":
        A = [[A[max(r, c)][min(r, c)] for c in range(3)] for r in range(3)]
        found: Mat = turn.symmetric_back(mat(*A))
    else:
        found = turn.general_back(mat(*A))
    return np.array(found, dtype=object)


def program(axis: int, kind: str) -> Program:
    """Return a matrix turned by an angle that is given as its cosine and sine."""
    return trace(
        lambda c, s, A: turned_back(Turn(axis, c, s), A, kind),
        {"c": (), "s": (), "A": (3, 3)},
    )


@pytest.mark.parametrize("kind", ["symmetric", "general"])
@pytest.mark.parametrize("axis", AXES)
def test_turned_matrices_are_plain_products(
    axis: int, kind: str, rng: np.random.Generator
) -> None:
    for angle in (*rng.uniform(-np.pi, np.pi, size=10), 0.0, np.pi / 2, np.pi):
        A, E = rng.normal(size=(3, 3)), rotation(axis, angle)
        if kind == "symmetric":
            A = A + A.T
        expected = E.T @ A @ E
        c, s = np.cos(angle), np.sin(angle)
        given = {"c": np.array(c), "s": np.array(s), "A": A}
        (by_symbols,) = evaluate(program(axis, kind), given).values()
        known = Turn(axis, const(c), const(s))
        by_numbers = trace(lambda A, t=known: turned_back(t, A, kind), {"A": (3, 3)})
        (found,) = evaluate(by_numbers, {"A": A}).values()
        for turned in (by_symbols, found):
            np.testing.assert_allclose(
                turned, expected, rtol=0.0, atol=CLOSE * np.abs(A).max()
            )


@pytest.mark.parametrize(
    ("kind", "mul", "add"), [("symmetric", 8, 8), ("general", 12, 11)]
)
@pytest.mark.parametrize("axis", AXES)
def test_a_turned_matrix_takes_few_operations(
    axis: int, kind: str, mul: int, add: int
) -> None:
    ops = count(program(axis, kind))
    assert (ops.mul, ops.add, ops.total) == (mul, add, mul + add)
