"""Native sweeps over the rows of L: L x, Lᵀ x, L⁻¹ x, L⁻ᵀ x.

Rows are in depth-first order. Down the tree a sweep keeps x of the ancestors, up the
tree what is to be added to them, one entry for each level: beside a row, contiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from ramidyn.backend.llvm.word_builder import Module, Value, const
from ramidyn.backend.runtime.memory_layout import WORD
from ramidyn.backend.sparse_factor.sparse_rows import (
    DOUBLE,
    NumberCode,
    Numbers,
    RowWord,
    add_rows,
    loops,
    word_of,
)

SWEEPS = ("mul_L", "mul_LT", "solve_L", "solve_LT")


class Diagonal(IntEnum):
    """What the diagonal's entries mean for a sweep."""

    UNIT = 0  # nothing: L has ones there
    OF_L = 1
    DIVIDE = 2  # D: what L⁻ᵀ x gives is divided by it


def sweep(module: Module, name: str, kind: str, numbers: Numbers) -> None:
    """Write a sweep: ``(values, step, table, n, tiles, x, x_step, m, work, diagonal)``.

    x has m vectors for each row (numbers, where neither lanes nor columns make
    vectors), in the caller's order of rows. ``work`` has m for each level, all zero.
    """
    c = loops(module, name, 10)
    values, step, table, n, tiles, x, x_step, m, work, diagonal = c.arguments
    wide = numbers.lanes > 1 or numbers.columns
    element = numbers.vector if wide else DOUBLE
    bytes_ = WORD * (numbers.width if wide else 1)
    inverts, transposed = kind.startswith("solve"), kind.endswith("LT")
    with c.loop(tiles) as tile, c.loop(n) as turn:
        place = c.b.sub(c.b.sub(n, const(1)), turn) if transposed else turn
        above = word_of(c, table, place, RowWord.ABOVE)
        base = c.add(values, c.mul(tile, step))
        row = c.add(
            base, c.mul(word_of(c, table, place, RowWord.ADDRESS), numbers.size)
        )
        index = word_of(c, table, place, RowWord.INDEX)
        own = c.add(c.add(x, c.mul(tile, x_step)), c.mul(c.mul(index, m), bytes_))
        level = c.mul(m, bytes_)
        pivot_at = c.add(row, c.mul(above, numbers.size))
        with c.loop(m) as column:
            offset = c.mul(column, bytes_)
            at, path = c.add(own, offset), c.add(work, offset)
            here = c.add(path, c.mul(above, level))
            given = c.get(element, at)
            scaled = Scaling(c, diagonal, pivot_at, numbers.entry, element)
            line = Line(c, row, path, level, above, numbers, element)
            result = given if inverts else scaled.multiply(given)
            if not transposed:
                result = line.added_to(result, inverts)
            else:
                collect = c.b.fsub if inverts else c.b.fadd
                result = collect(result, c.get(element, here))
                c.put(c.number(0.0, element), here)
            if inverts:
                result = scaled.divide(result, Diagonal.OF_L)
            handed_on = result if inverts else given
            if transposed:
                line.add(handed_on)
            else:
                c.put(handed_on, here)
            if kind == "solve_LT":
                result = scaled.divide(result, Diagonal.DIVIDE)
            c.put(result, at)
    c.leave(0)


@dataclass(frozen=True)
class Scaling:
    """The part of the diagonal in a sweep."""

    c: NumberCode
    diagonal: Value
    at: Value
    entry: Value
    element: Value

    def divide(self, x: Value, when: Diagonal) -> Value:
        """Return x over the pivot where the sweep asks for it, else x."""
        return self._with(x, when, self.c.b.fdiv)

    def multiply(self, x: Value) -> Value:
        """Return x times L's diagonal."""
        return self._with(x, Diagonal.OF_L, self.c.b.fmul)

    def _with(self, x: Value, when: Diagonal, operation: Callable[..., Value]) -> Value:
        c = self.c

        def scaled() -> Value:
            return operation(x, c.splat(c.get(self.entry, self.at), self.element))

        return c.either(c.compare(self.diagonal, "==", when), scaled, lambda: x)


@dataclass(frozen=True)
class Line:
    """A row beside what a sweep keeps for the row's ancestors."""

    c: NumberCode
    row: Value
    path: Value
    level: Value
    above: Value
    numbers: Numbers
    element: Value

    def at(self, j: Value) -> tuple[Value, Value]:
        """Return the addresses of an entry and of what is kept for its column."""
        c = self.c
        return c.add(self.row, c.mul(j, self.numbers.size)), c.add(
            self.path, c.mul(j, self.level)
        )

    def entry(self, at: Value) -> Value:
        """Return an entry in all lanes of an element."""
        c = self.c
        return c.splat(c.get(self.numbers.entry, at), self.element)

    def added_to(self, start: Value, subtracts: bool) -> Value:
        """Return ``start`` and the products of a row and what is kept, or less them."""
        c = self.c

        def next_sum(a: Value, x: Value, total: Value) -> Value:
            return c.fma(c.b.fneg(a) if subtracts else a, x, total)

        if self.element == DOUBLE:
            total = start
            for first, length, step in c.runs(self.above, self.numbers):
                kind = self.numbers.vector if step > 1 else DOUBLE
                begin = c.number(0.0, kind) if step > 1 else total
                with c.folds(length, step, begin) as turn:
                    a, x = (c.get(kind, at) for at in self.at(c.add(first, turn.index)))
                    turn.next = [next_sum(a, x, turn.values[0])]
                sums = turn.results[0]
                total = c.b.fadd(total, c.sum(sums)) if step > 1 else sums
            return total
        with c.folds(self.above, 1, start) as turn:
            entry, kept = self.at(turn.index)
            x = c.get(self.element, kept)
            turn.next = [next_sum(self.entry(entry), x, turn.values[0])]
        return turn.results[0]

    def add(self, x: Value) -> None:
        """Add x times the row to what is kept."""
        c = self.c
        if self.element == DOUBLE:
            add_rows(c, self.path, [self.row], [x], self.above, self.numbers)
            return
        with c.loop(self.above) as j:
            entry, kept = self.at(j)
            value = c.fma(self.entry(entry), x, c.get(self.element, kept))
            c.put(value, kept)


def solve(module: Module, form: str) -> None:
    """Write ``solve_<form>``: L⁻ᵀ, then L⁻¹; two words for the diagonals."""
    c = loops(module, f"solve_{form}", 11)
    *shared, first, second = c.arguments
    c.call(f"solve_LT_{form}", *shared, first)
    c.leave(c.call(f"solve_L_{form}", *shared, second))
