"""Jacobians, products with them and Hessians of named arrays of symbols.

Outputs y are arrays by name; ``widths`` has the shape of each input x that they are
differentiated by, by name, and ``along`` the directions of all of them, one after
another, as seeds of `derivatives`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ramidyn.errors import ArgumentError
from ramidyn.symbolic.dense import total
from ramidyn.symbolic.derivatives import Row, Seeds, forward, reverse
from ramidyn.symbolic.expr import Expr, const, lift
from ramidyn.symbolic.program import free_name

Arrays = dict[str, Any]
"""Arrays of symbols by name."""
Shapes = dict[str, tuple[int, ...]]


def jacobians(values: Arrays, widths: Shapes, along: Seeds, algorithm: str) -> Arrays:
    """Return dy/dx of every output by every input, named d<y>_d<x>."""
    flat = entries(values)
    if algorithm == "reverse":
        rows = reverse(flat, [{k: const(1.0)} for k in range(len(flat))], along)
    else:
        rows = forward(flat, along)
    out: Arrays = {}
    first = 0
    for y, value in values.items():
        size, start = np.size(value), 0
        for x, shape in widths.items():
            width = prod(shape)
            block = matrix(rows[first : first + size], start, width)
            out[f"d{y}_d{identifier(x)}"] = block.reshape((*shape_of(value), *shape))
            start += width
        first += size
    return out


def matrix(rows: Sequence[Mapping[int, Expr]], start: int, columns: int) -> Any:
    """Return some columns of sparse rows, dense."""
    line = range(start, start + columns)
    dense = [[row.get(k, const(0.0)) for k in line] for row in rows]
    return array_of(dense, (len(rows), columns))


def with_tangents(values: Arrays, along: Seeds, moves: Sequence[Expr]) -> Arrays:
    """Return values and their changes for a change of the inputs."""
    one: dict[Expr, Row] = {}
    for e, row in along.items():
        one[e] = {0: total(rate * moves[k] for k, rate in row.items())}
    changes = iter(forward(entries(values), one))
    out = dict(values)
    for name, value in values.items():
        found = [next(changes).get(0, const(0.0)) for _ in range(np.size(value))]
        out[free_name(f"{name}_tangent", out)] = array_of(found, shape_of(value))
    return out


def with_cotangents(
    values: Arrays, widths: Shapes, along: Seeds, weights: Sequence[Expr]
) -> Arrays:
    """Return values and the derivatives of their weighted sum."""
    (row,) = reverse(entries(values), [{0: w} for w in weights], along) or ({},)
    out, start = dict(values), 0
    for x, shape in widths.items():
        width = prod(shape)
        found = matrix([row], start, width).reshape(shape)
        out[free_name(f"{identifier(x)}_cotangent", out)] = found
        start += width
    return out


def hessians(values: Arrays, widths: Shapes, along: Seeds) -> Arrays:
    """Return the derivatives of gradients: d2<y>_d<x>_d<z>, z at or after x in wrt."""
    out: Arrays = {}
    for y, value in values.items():
        if np.size(value) != 1:
            raise ArgumentError(
                f"hessian needs scalar outputs; {y!r} has shape {shape_of(value)}; "
                "apply ramidyn.derivative twice instead"
            )
        (gradient,) = reverse(entries({y: value}), [{0: const(1.0)}], along) or ({},)
        width = sum(map(prod, widths.values()))
        rows = forward([gradient.get(k, const(0.0)) for k in range(width)], along)
        first = 0
        for i, (x, rows_of) in enumerate(widths.items()):
            start = first
            for z, columns_of in list(widths.items())[i:]:
                height, n = prod(rows_of), prod(columns_of)
                block = matrix(rows[first : first + height], start, n)
                name = f"d2{y}_d{identifier(x)}_d{identifier(z)}"
                out[name] = block.reshape((*rows_of, *columns_of))
                start += n
            first += prod(rows_of)
    return out


def entries(values: Arrays) -> list[Expr]:
    """Return the entries of all arrays."""
    return [e for value in values.values() for e in flat(value)]


def flat(value: Any) -> list[Expr]:
    """Return the entries of an array, numbers as constants."""
    return [lift(e) for e in np.asarray(value, dtype=object).ravel()]


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array of symbols, () of a symbol."""
    return np.asarray(value, dtype=object).shape


def identifier(name: str) -> str:
    """Return a name as part of another: 'inertia:hand' is inertia_hand."""
    return re.sub(r"\W", "_", name)


def array_of(rows: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of symbols."""
    found: Any = np.array(rows, dtype=object)
    return found.reshape(shape)
