"""What small neural networks are made of, over numbers and symbols."""

# ruff: noqa: N803  the letters of matrices

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ramidyn.errors import ShapeError
from ramidyn.symbolic import expr
from ramidyn.symbolic.calls import results_of, traced_body
from ramidyn.symbolic.expr import Expr, lift
from ramidyn.symbolic.functions import absolute, exp, log, maximum, minimum, sqrt
from ramidyn.symbolic.program import Callee

ABREAST: Final = 8
"""rows whose sums grow together: a processor adds to eight while one addition lasts"""
WRITTEN_OUT: Final = 2**14
"""entries of a matrix up to which a product is written out; larger ones are loops"""


def matmul(A: Any, x: Any) -> Any:
    """Return A x, of a matrix (m, n) and a vector (n,), or a matrix (n, k).

    Large matrices of symbols become loops.
    """
    a: Any = np.asarray(A)
    b: Any = np.asarray(x)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"matmul got shapes {a.shape} and {b.shape}; expected (m, n) and (n,), or "
            "(m, n) and (n, k)"
        )
    if object not in (a.dtype, b.dtype):
        return a @ b
    if b.ndim == 2:
        return np.stack([matmul(a, column) for column in b.T], axis=-1)
    rows = [[lift(e) for e in row] for row in a.tolist()]
    entries = [lift(e) for e in b.tolist()]
    found: list[Expr] = []
    if a.size > WRITTEN_OUT and any(e.op != "const" for row in rows for e in row):
        found = _looped(rows, entries)
    for k in range(len(found), len(rows), ABREAST):
        found += _sums(rows[k : k + ABREAST], entries)
    return np.array(found, dtype=object)


def _sums(rows: list[list[Expr]], x: list[Expr]) -> list[Expr]:
    """Return the products of some rows with x, in step."""
    sums = [expr.const(0.0)] * len(rows)
    for j, e in enumerate(x):
        sums = [s + row[j] * e for s, row in zip(sums, rows, strict=True)]
    return sums


def _looped(rows: list[list[Expr]], x: list[Expr]) -> list[Expr]:
    """Return the products of most rows with x, as a loop over eight at a time."""
    n, times = len(x), len(rows) // ABREAST

    def step(entries: list[Expr]) -> list[Expr]:
        own, block = entries[:n], entries[n:]
        some = [block[k * n : (k + 1) * n] for k in range(ABREAST)]
        return [*own, *_sums(some, own)]

    traced, shared = traced_body(step, n + ABREAST * n, "layer")
    assert not shared, "a step depends on x and its rows"
    flat = [e for row in rows[: times * ABREAST] for e in row]
    callee = Callee(traced, times, n, ABREAST * n)
    return results_of(callee, [*x, *flat])[n:]


def relu(x: Any) -> Any:
    """Return x where it is positive, else 0."""
    return maximum(x, 0.0)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return x where it is positive, else alpha (eˣ − 1)."""
    return maximum(x, 0.0) + alpha * (exp(minimum(x, 0.0)) - 1.0)


def softplus(x: Any) -> Any:
    """Return log(1 + eˣ), without overflow."""
    return maximum(x, 0.0) + log(1.0 + exp(-absolute(x)))


def layer_norm(
    x: Any, weight: Any = 1.0, bias: Any = 0.0, epsilon: float = 1e-5
) -> Any:
    """Return (x − mean) / √(variance + epsilon) · weight + bias, of a vector."""
    array = np.asarray(x)
    if array.ndim != 1:
        raise ShapeError(f"layer_norm got shape {array.shape}; expected a vector (n,)")
    centered = array - array.sum() / len(array)
    variance = (centered * centered).sum() / len(array)
    return centered / sqrt(variance + epsilon) * weight + bias
