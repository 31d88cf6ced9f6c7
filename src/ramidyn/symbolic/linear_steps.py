"""Steps of a loop over columns, from a linear function that was traced once.

A function of a column's entries x, such as a solve with a matrix that is factored, is
traced on symbols. What depends on x is sums of products with factors that all columns
share. Each sum is one step of a `Sweep`, in the row of an operand that is used for the
last time, or in another one; the first rows are the entries of the column.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import final

from ramidyn.symbolic import expr
from ramidyn.symbolic.column_loop import map_columns, nested_groups
from ramidyn.symbolic.derivatives import between
from ramidyn.symbolic.expr import Expr, const, div, mul, neg, sub
from ramidyn.symbolic.program import FRESH, KEPT, Sweep, SweepStep

Terms = list[tuple[Expr, int]]
"""factors and rows"""
ENTRY = "entry'"
"""The name of a column's entries while a function is traced; no user's input has it."""
UNROLLED = 12
"""degrees of freedom up to which solves for all columns are straight-line code"""
LINEAR = frozenset({"add", "sub", "mul", "div", "neg", "where"})


@final
class LinearSteps:
    """The steps of a linear function.

    Args:
        inputs: the symbols of a column's entries.
        results: what was traced on them.
    """

    def __init__(self, inputs: Sequence[Expr], results: Sequence[Expr]) -> None:
        self.steps: list[SweepStep] = []
        self.rows: int = len(inputs)
        self._factors: dict[Expr, int] = {}
        self._one = const(1.0)
        self._terms: dict[Expr, Terms] = {}
        self._left = Counter[int]()
        self._free: list[int] = []
        order = _dependent(inputs, results)
        uses = Counter(a for e in order for a in e.args)
        uses.update(results)  # these are used to the end
        for row, e in enumerate(inputs):
            self._terms[e] = [(self._one, row)]
            self._left[row] = uses[e]
        wanted = set(results)
        for e in order:
            self._terms[e] = self._sum(e)
            if uses[e] > 1 or e in wanted:
                self._keep(e, uses[e])
        self.results: list[int | None] = [self._result(e) for e in results]
        """their rows; None for zero"""

    @property
    def shared(self) -> list[Expr]:
        """The factors that all columns share."""
        return list(self._factors)

    def _factor(self, e: Expr) -> int:
        """Return the place of a factor."""
        return self._factors.setdefault(e, len(self._factors))

    def _sum(self, e: Expr) -> Terms:
        """Return what is added up in a node."""
        if e.op == "where":
            return self._choice(*e.args)
        first, *rest = e.args
        if e.op in ("add", "sub"):
            (second,) = rest
            sign = neg if e.op == "sub" else _same
            assert first in self._terms, f"{e!r} has a constant"
            assert second in self._terms, f"{e!r} has a constant"
            return self._terms[first] + [
                (sign(f), row) for f, row in self._terms[second]
            ]
        if e.op == "neg":
            return [(neg(f), row) for f, row in self._terms[first]]
        if e.op == "mul" and first not in self._terms:
            (first,), rest = rest, [first]
        (factor,) = rest
        assert factor not in self._terms, f"{e!r} is not linear"
        if len(self._terms[first]) > 1:
            self._keep(first, 1)
        by = factor if e.op == "mul" else div(self._one, factor)
        return [(mul(f, by), row) for f, row in self._terms[first]]

    def _choice(self, condition: Expr, a: Expr, b: Expr) -> Terms:
        """Return the terms of both sides, with factors that are zero on the other."""
        zero = const(0.0)
        assert condition not in self._terms, "a condition depends on the column"
        for x in (a, b):
            assert x in self._terms or x is zero, f"{x!r} is a constant"
        return [
            *((expr.where(condition, f, zero), r) for f, r in self._terms.get(a, [])),
            *((expr.where(condition, zero, f), r) for f, r in self._terms.get(b, [])),
        ]

    def applied(self, shared: Sequence[Expr], column: Sequence[Expr]) -> list[Expr]:
        """Return what the function makes of a column, with other shared factors."""
        zero = const(0.0)
        x = [*column, *[zero] * (self.rows - len(column))]
        for row, scale, terms in self.steps:
            value = zero if scale == FRESH else x[row]
            value = value * shared[scale] if scale >= 0 else value
            for k, i in terms:
                value = value - shared[k] * x[i]
            x[row] = value
        return [zero if row is None else x[row] for row in self.results]

    def _keep(self, e: Expr, uses: int) -> None:
        """Write a sum to a row of its own, if it has none."""
        terms = self._terms[e]
        (factor, row), *further = terms
        if not further and factor is self._one:
            self._left[row] += uses - 1
            return
        often = Counter(row for _, row in terms)
        for k, (factor, row) in enumerate(terms):
            if self._left[row] == often[row] == 1:
                rest = terms[:k] + terms[k + 1 :]
                self._drop(rest)
                scale = KEPT if factor is self._one else self._factor(factor)
                self._step(e, row, scale, rest, uses)
                return
        self._drop(terms)
        if self._free:
            row = self._free.pop()
        else:
            row, self.rows = self.rows, self.rows + 1
        self._step(e, row, FRESH, terms, uses)

    def _result(self, e: Expr) -> int | None:
        """Return the row of a result."""
        if e in self._terms:
            ((_, row),) = self._terms[e]
            return row
        assert e is const(0.0), f"{e!r} is not linear"
        return None

    def _drop(self, terms: Terms) -> None:
        """Let rows be used again that nothing else needs."""
        for _, row in terms:
            self._left[row] -= 1
            if self._left[row] == 0:
                self._free.append(row)

    def _step(self, e: Expr, row: int, scale: int, terms: Terms, uses: int) -> None:
        self._add(row, scale, terms)
        self._terms[e] = [(self._one, row)]
        self._left[row] = uses

    def _add(self, row: int, scale: int, terms: Terms) -> None:
        merged: dict[int, Expr] = {}
        for factor, i in terms:
            merged[i] = sub(merged[i], factor) if i in merged else neg(factor)
        found = tuple((self._factor(f), i) for i, f in merged.items())
        self.steps.append(SweepStep(row, scale, found))


def _same(e: Expr) -> Expr:
    return e


def _dependent(inputs: Sequence[Expr], results: Sequence[Expr]) -> list[Expr]:
    """Return the operations between, arguments first."""
    varied = set(inputs)
    found: list[Expr] = []
    for e in between(results, varied):
        if not varied.isdisjoint(e.args):
            assert e.op in LINEAR, f"{e!r} is not linear"
            varied.add(e)
            found.append(e)
    return found


def pruned(
    steps: Sequence[SweepStep], given: frozenset[int], results: Iterable[int]
) -> tuple[SweepStep, ...]:
    """Return the steps for columns with entries in some rows only; others are zero."""
    filled = set(given)
    found: list[SweepStep] = []
    for row, scale, terms in steps:
        kept = tuple(term for term in terms if term[1] in filled)
        start = scale if row in filled else FRESH
        if kept or start != FRESH:
            filled.add(row)
            found.append(SweepStep(row, start, kept))
        else:
            filled.discard(row)
    zeros = dict.fromkeys(row for row in results if row not in filled)
    return (*found, *(SweepStep(row, FRESH, ()) for row in zeros))


def terms_left(masks: Sequence[tuple[int, bool, int]], given: frozenset[int]) -> int:
    """Return how many terms `pruned` leaves: counted by sets of rows as bits.

    ``masks`` has for each step its row, whether it begins with that, and its terms.
    """
    filled, total = sum(1 << row for row in given), 0
    for row, is_kept, terms in masks:
        kept = terms & filled
        total += kept.bit_count()
        if kept or (is_kept and row & filled):
            filled |= row
        else:
            filled &= ~row
    return total


def linear_steps(
    function: Callable[[Sequence[Expr]], Sequence[Expr]], size: int
) -> LinearSteps:
    """Return the steps of a linear function of so many entries."""
    name = ENTRY
    while expr.is_symbol(name):  # inside another one
        name += "'"
    symbols = [expr.symbol(name, k) for k in range(size)]
    return LinearSteps(symbols, function(symbols))


def map_linear(
    function: Callable[[Sequence[Expr]], Sequence[Expr]],
    columns: Sequence[Sequence[Expr]],
) -> list[list[Expr]]:
    """Return a linear function of many columns, by rows of its results, as a loop."""
    linear = linear_steps(function, len(columns[0]))
    return map_steps(linear, linear.shared, columns)


def map_steps(
    linear: LinearSteps, shared: Sequence[Expr], columns: Sequence[Sequence[Expr]]
) -> list[list[Expr]]:
    """Return the results of many columns, by rows, as a loop.

    ``shared`` are the factors, in place of those that the steps were made with.
    """
    zero = const(0.0)
    results = [row for row in linear.results if row is not None]

    @functools.cache
    def steps(rows: frozenset[int]) -> tuple[SweepStep, ...]:
        return pruned(linear.steps, rows, results)

    def operations(rows: frozenset[int]) -> int:
        return terms_left(masks, rows)

    masks = [
        (1 << row, scale != FRESH, sum(1 << i for _, i in terms))
        for row, scale, terms in linear.steps
    ]
    nonzeros = {
        c: frozenset(k for k, x in enumerate(b) if x is not zero)
        for c, b in enumerate(columns)
    }
    groups, wide = nested_groups(nonzeros, operations)
    sweeps, single = (
        [Sweep(group.columns, steps(group.rows)) for group in found]
        for found in (groups, wide)
    )
    given: list[dict[int, Expr]] = [{} for _ in columns]
    for group in wide:
        for c in group.columns:
            given[c] = {k: columns[c][k] for k in sorted(group.rows)}
    every = [group.columns for group in wide]
    matrix = map_columns(shared, given, every, sweeps, linear.rows, single)
    nothing = [zero] * len(columns)
    return [nothing if row is None else matrix[row] for row in linear.results]
