"""The Jacobian of a program as another program: the entries that are not zero.

Every output is differentiated by every entry of every input, as they are: raw
coordinates, not a tangent space. Matrices count column by column, and each block of
the Jacobian is in compressed columns: the form of CasADi, MATLAB and SciPy's CSC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import final

from ramidyn.errors import ArgumentError
from ramidyn.symbolic import expr
from ramidyn.symbolic.calls import open_end, unrolled
from ramidyn.symbolic.count import how_often
from ramidyn.symbolic.derivatives import Row, Seeds, forward, reverse, symbols
from ramidyn.symbolic.expr import Expr, const
from ramidyn.symbolic.program import Program, Variable, live


@final
@dataclass(frozen=True, slots=True)
class JacobianPattern:
    """Where a matrix has entries, in compressed columns."""

    rows: int
    columns: int
    starts: tuple[int, ...]
    """where each column begins among the entries, and where the last one ends"""
    places: tuple[int, ...]
    """the row of each entry"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseJacobian:
    """A program of the entries, and the pattern of each of its outputs."""

    program: Program
    patterns: tuple[JacobianPattern, ...]


def sparse_jacobian(program: Program) -> SparseJacobian:
    """Return the derivatives of all outputs by all inputs: d<output>_d<input>.

    Loops are written out, step after step.

    Raises:
        ArgumentError: there is a loop with an open end.
    """
    if endless := open_end(program):
        raise ArgumentError(
            f"{program.name!r} has a loop with an open end, {how_often(endless)}: it "
            "has no sparse Jacobian, which CasADi needs; use ramidyn.repeat with a "
            "fixed number of steps instead of ramidyn.repeat_until"
        )
    program = unrolled(program)
    results: list[Expr] = []
    outputs: list[Variable] = []
    patterns: list[JacobianPattern] = []
    with expr.fresh_table() as table:
        table.regions = list(program.regions)
        for e in program.order:
            expr.intern(e)
        one, places = const(1.0), symbols(program.inputs)
        rows = _rows(program.results, {e: {k: one} for k, e in enumerate(places)})
        first = 0
        for y in program.outputs:
            start = 0
            for x in program.inputs:
                block = {
                    (_by_columns(x, k - start), _by_columns(y, r)): e
                    for r in range(y.size)
                    for k, e in rows[first + r].items()
                    if start <= k < start + x.size
                }
                order = sorted(block)
                patterns.append(_pattern(order, y.size, x.size))
                outputs.append(Variable(f"d{y.name}_d{x.name}", (len(order),)))
                results += [block[place] for place in order]
                start += x.size
            first += y.size
        order = live(tuple(table.table.values()), results)
        regions = tuple(table.regions)
    made = replace(
        program,
        name=f"Jacobian of {program.name}",
        outputs=tuple(outputs),
        results=tuple(results),
        order=order,
        regions=regions,
    )
    return SparseJacobian(made, tuple(patterns))


def _rows(results: Sequence[Expr], seeds: Seeds) -> list[Row]:
    """Return the rows, forward or in reverse: whichever has fewer sweeps."""
    if len(seeds) <= len(results):
        return forward(results, seeds)
    return reverse(results, [{k: const(1.0)} for k in range(len(results))], seeds)


def _pattern(
    order: Sequence[tuple[int, int]], rows: int, columns: int
) -> JacobianPattern:
    """Return the pattern of entries at (column, row), sorted."""
    sizes = Counter(column for column, _ in order)
    starts = accumulate((sizes[k] for k in range(columns)), initial=0)
    return JacobianPattern(rows, columns, tuple(starts), tuple(row for _, row in order))


def _by_columns(v: Variable, index: int) -> int:
    """Return the place of an entry when a matrix is read column by column."""
    if len(v.shape) < 2:
        return index
    rows, columns = v.shape
    i, j = divmod(index, columns)
    return j * rows + i
