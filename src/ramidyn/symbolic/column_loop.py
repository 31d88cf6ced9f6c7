"""Sweeps over all columns of a matrix: a loop that a program calls.

Solving M X = B for a hundred columns as straight-line code would be a hundred copies of
one solve. `map_columns` writes it once, as a call of a `ColumnLoop`. Its arguments are
the factors that all columns need and the entries of the matrix that are given; its
results are the entries of the matrix.

Columns that are treated alike are side by side, as many as fill vectors:

    entry (r, k)  at  (k // 8 · rows + r) · 8 + k % 8

so that one state has vectors of columns, and a column of a batch is close together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ramidyn.symbolic import expr
from ramidyn.symbolic.expr import Expr, const
from ramidyn.symbolic.program import FRESH, Callee, ColumnLoop, Sweep

SIDE_BY_SIDE = 8
"""columns that one vector may hold, when there is only one state"""
TOGETHER, WIDE = 4, 16
"""columns that are worked on together: of a batch, of one state"""


def place(rows: int, row: int, column: int) -> int:
    """Return where an entry is in the matrix."""
    block, k = divmod(column, SIDE_BY_SIDE)
    return (block * rows + row) * SIDE_BY_SIDE + k


def map_columns(
    shared: Sequence[Expr],
    columns: Sequence[Mapping[int, Expr]],
    groups: Sequence[Sequence[int]],
    sweeps: Sequence[Sweep],
    rows: int,
    wide: Sequence[Sweep] | None = None,
) -> list[list[Expr]]:
    """Return a matrix after some sweeps over its columns, by rows.

    Args:
        shared: the factors of all sweeps.
        columns: the entries that are given, by row. Sweeps set all others before they
            use them, by steps from zero on.
        groups: of columns that all sweeps treat alike; a column in none is zero.
        sweeps: what is done, one after another.
        rows: the number of rows.
        wide: the same for one state, each for whole groups.
    """
    number: dict[int, int] = {}
    size = 0
    for group in groups:
        number.update((c, size + i) for i, c in enumerate(group))
        size += -(-len(group) // SIDE_BY_SIDE) * SIDE_BY_SIDE
    given = {
        place(rows, r, number[c]): e
        for c, entries in enumerate(columns)
        for r, e in entries.items()
    }
    few, many = (
        tuple(
            s._replace(columns=tuple(sorted(number[c] for c in s.columns)))
            for s in found
            if s.columns
        )
        for found in (sweeps, sweeps if wide is None else wide)
    )
    loop = ColumnLoop(few, rows, size, len(shared), tuple(given), many)
    made = expr.call(Callee(loop), (*shared, *given.values()))

    def entry(r: int, c: int) -> Expr:
        if c not in number:
            return const(0.0)
        return expr.result(made, place(rows, r, number[c]))

    return [[entry(r, c) for c in range(len(columns))] for r in range(rows)]


@final
@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns, and the rows that are given of them."""

    columns: tuple[int, ...]
    rows: frozenset[int]
    cost: int
    """of all columns"""


def grouped(
    nonzeros: Mapping[int, frozenset[int]],
    operations: Callable[[frozenset[int]], int],
    together: int,
) -> list[ColumnGroup]:
    """Return columns that are not zero in groups, by the rows where they are not.

    Neighbors are joined where a few columns would have to be filled up with others, as
    so many are worked on together; ``operations`` says what a column with some rows
    takes.
    """
    alike: dict[frozenset[int], list[int]] = {}
    for c, rows in nonzeros.items():
        if rows:
            alike.setdefault(rows, []).append(c)
    kinds = sorted(alike.items(), key=lambda x: sorted(x[0]))
    cheapest = [0]
    last: list[tuple[int, ColumnGroup]] = []
    for end in range(1, 1 + len(kinds)):
        columns, rows = (), frozenset[int]()
        ways: dict[int, ColumnGroup] = {}
        for start in reversed(range(end)):
            columns = (*kinds[start][1], *columns)
            rows |= kinds[start][0]
            cost = -(-len(columns) // together) * together * operations(rows)
            ways[start] = ColumnGroup(columns, rows, cost)
            if len(columns) >= WIDE:
                break
        found = min(ways, key=lambda start: cheapest[start] + ways[start].cost)
        cheapest.append(cheapest[found] + ways[found].cost)
        last.append((found, ways[found]))
    groups: list[ColumnGroup] = []
    end = len(kinds)
    while end:
        end, group = last[end - 1]
        groups.append(group)
    return groups[::-1]


def nested_groups(
    nonzeros: Mapping[int, frozenset[int]], operations: Callable[[frozenset[int]], int]
) -> tuple[list[ColumnGroup], list[ColumnGroup]]:
    """Return the groups of a batch, and those of one state, which are made of them."""
    wide = grouped(nonzeros, operations, WIDE)
    inner = ({c: nonzeros[c] for c in group.columns} for group in wide)
    return [g for x in inner for g in grouped(x, operations, TOGETHER)], wide


def unrolled_columns(loop: ColumnLoop, arguments: Sequence[Expr]) -> list[Expr]:
    """Return the entries of the matrix, written out column after column."""
    shared, given = arguments[: loop.shared], arguments[loop.shared :]
    matrix = [const(0.0)] * (loop.rows * loop.columns)
    for at, x in zip(loop.places, given, strict=True):
        matrix[at] = x
    for sweep in loop.sweeps:
        for k in sweep.columns:
            expr.region(f"column {k}")
            at = [place(loop.rows, r, k) for r in range(loop.rows)]
            for row, scale, terms in sweep.steps:
                x = const(0.0) if scale == FRESH else matrix[at[row]]
                x = x * shared[scale] if scale >= 0 else x
                for f, i in terms:
                    x = x - shared[f] * matrix[at[i]]
                matrix[at[row]] = x
    return matrix


def evaluated(loop: ColumnLoop, shared: Any, given: Any) -> Any:
    """Return the matrix after the loop; (..., entries) before and after."""
    size = loop.rows * loop.columns
    matrix = np.full((*given.shape[:-1], size), np.nan, given.dtype)
    matrix[..., list(loop.places)] = given
    for sweep in loop.sweeps:
        at = [[place(loop.rows, r, k) for k in sweep.columns] for r in range(loop.rows)]
        for row, scale, terms in sweep.steps:
            x = np.zeros(()) if scale == FRESH else matrix[..., at[row]]
            x = x * shared[..., scale, None] if scale >= 0 else x
            for f, i in terms:
                x = x - shared[..., f, None] * matrix[..., at[i]]
            matrix[..., at[row]] = x
    return matrix
