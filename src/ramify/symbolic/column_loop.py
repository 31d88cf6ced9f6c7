"""One function for all columns of a matrix: a part of a program that is a loop.

Solving M X = B for a hundred columns as straight-line code would be a hundred copies of
one solve. `map_columns` traces it once. The program then has two more outputs, hidden
from callers: ``shared``, what all columns need, and ``columns``, the matrix (by rows,
padded with zeros to a multiple of 8 columns). The result of the loop replaces it, and
appears in the program as entries of an input called COLUMNS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ramify.symbolic import expr
from ramify.symbolic.expr import BUILD, Expr, const
from ramify.symbolic.program import COLUMNS, ColumnLoop, Program, live
from ramify.symbolic.trace import trace

SIDE_BY_SIDE = 8
"""columns that one vector may hold, when there is only one state"""


def map_columns(
    fn: Callable[[Any, Any], Any],
    shared: Sequence[Expr],
    columns: Sequence[Sequence[Expr]],
) -> list[list[Expr]]:
    """Return the matrix whose columns are fn(shared, column), by rows.

    One loop fits into a program; a column has as many entries after as before.
    """
    n, count = len(columns), len(columns[0])
    body = trace(fn, {"shared": len(shared), "column": n}, "column")
    assert len(body.results) == n, "a column must keep its length"
    assert all(e.args for e in body.results), "every entry must be computed"
    stride = -(-count // SIDE_BY_SIDE) * SIDE_BY_SIDE
    padding = [const(0.0)] * (stride - count)
    flat = [e for row in columns for e in (*row, *padding)]
    expr.set_loop((ColumnLoop(body, count, stride), tuple(shared), tuple(flat)))
    return [
        [expr.symbol(COLUMNS, r * stride + k) for k in range(count)] for r in range(n)
    ]


def unrolled(program: Program) -> Program:
    """Return the program with its loop written out, column after column."""
    loop = program.loop
    if loop is None:
        return program
    visible, shared, columns = program.parts()
    with expr.fresh_table() as table:
        table.regions = list(program.regions)
        for e in program.order:
            if not _is_column(e):
                expr.intern(e)
        made: dict[int, Expr] = {}
        for k in range(loop.count):
            expr.region(f"column {k}")
            value: dict[Expr, Expr] = {}
            for e in loop.body.order:
                if e.op == "const":
                    value[e] = const(e.value)
                elif e.op == "input":
                    name, i = e.value
                    is_shared = name == "shared"
                    value[e] = shared[i] if is_shared else columns[i * loop.stride + k]
                else:
                    value[e] = BUILD[e.op](*(value[a] for a in e.args))
            for r, e in enumerate(loop.body.results):
                made[r * loop.stride + k] = value[e]
        results = tuple(made[e.value[1]] if _is_column(e) else e for e in visible)
        order = live(tuple(table.table.values()), results)
        regions = tuple(table.regions)
    return replace(
        program,
        outputs=program.visible,
        results=results,
        order=order,
        regions=regions,
        loop=None,
    )


def evaluated(
    loop: ColumnLoop, shared: Any, columns: Any, evaluate: Callable[..., dict[str, Any]]
) -> Any:
    """Return the matrix after the loop; (..., entries) before and after."""
    n = len(loop.body.results)
    matrix = columns.reshape(*columns.shape[:-1], n, loop.stride).copy()
    for k in range(loop.count):
        inputs = {"shared": shared, "column": matrix[..., k]}
        (matrix[..., k],) = evaluate(loop.body, inputs, matrix.dtype).values()
    return matrix.reshape(columns.shape)


def _is_column(e: Expr) -> bool:
    return e.op == "input" and e.value[0] == COLUMNS
