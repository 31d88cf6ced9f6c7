"""Native loops over the rows of a matrix that is sparse along a tree.

Row k holds the entries of k's ancestors, the nearest to the root first, and then its
diagonal. So row i is a prefix of the same columns for every ancestor i of k, and the
inner loop of the factorisation runs along two contiguous rows with no index look-up
(Featherstone 2005). The rows stand in depth-first order: what a sweep knows of the
ancestors of its row, one entry per level, is contiguous too.

    factor   M = Lᵀ D L or Lᵀ L in place: tips to root, in blocks of a chain's rows
    sweep    x ← L x, Lᵀ x, L⁻¹ x, L⁻ᵀ x
    pack     dense to rows, looking for asymmetry on the way;  count: its nonzeros

A number may stand for one matrix or for a tile of as many as a vector holds, lane by
lane. All of it is compiled once for a processor, in some 0.1 s, and then cached.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ramify.backend import rowcode
from ramify.backend.assembler import I64, Module, Value, const, ir, load
from ramify.backend.rowcode import (
    DOUBLE,
    Loops,
    Numbers,
    Row,
    add_rows,
    loops,
    scale_row,
    square_root,
    word_of,
)
from ramify.backend.target import host
from ramify.backend.words import WORD

BLOCKS = (8, 4, 1)
"""How many rows of a chain are eliminated at once: each pass over the rows above
costs as much memory traffic for eight as for one."""


class Diagonal(IntEnum):
    """What the diagonal's entries mean for a sweep."""

    UNIT = 0  # nothing: L has ones there
    OF_L = 1
    DIVIDE = 2  # D: what L⁻ᵀ x gives is divided by it


def factor(module: Module, name: str, numbers: Numbers) -> None:
    """Write ``factor(values, step, table, tiles, blocks, n_blocks, roots)``.

    ``blocks`` are pairs (first place, rows), tips first; ``roots`` asks for Lᵀ L. It
    returns 0, or 1 + tile · 2³² + the place of a pivot that is not positive.
    """
    c = loops(module, name, 7)
    values, step, table, tiles, blocks, n_blocks, roots = c.arguments
    inverses = c.cell(0, max(BLOCKS) * numbers.lanes)
    with c.loop(tiles) as tile:
        base = c.add(values, c.mul(tile, step))
        with c.loop(n_blocks) as number:
            block = c.add(blocks, c.mul(number, 2 * WORD))
            first, rows = c.load(block), c.load(block, 1)
            for size in BLOCKS:
                with c.when(c.compare(rows, "==", size)):
                    failed = c.b.shl(tile, const(32))
                    eliminate(
                        c, base, table, first, size, inverses, roots, failed, numbers
                    )
    c.leave(0)


def eliminate(  # noqa: PLR0913  a step of `factor`, with all that it knows
    c: Loops,
    base: Value,
    table: Value,
    first: Value,
    size: int,
    inverses: Value,
    roots: Value,
    failed: Value,
    numbers: Numbers,
) -> None:
    """Write the elimination of ``size`` rows of a chain, ``first`` on top."""
    kind = numbers.entry

    def row_at(place: Value) -> Value:
        return c.add(base, c.mul(word_of(c, table, place, Row.ADDRESS), numbers.size))

    def entry(row: Value, j: Value) -> Value:
        return c.add(row, c.mul(j, numbers.size))

    above = word_of(c, table, first, Row.ABOVE)
    places = [c.add(first, r) for r in range(size)]
    block = [row_at(p) for p in places]

    # Within the block, its last row first.
    with c.loop(const(size)) as turn:
        r = c.b.sub(const(size - 1), turn)
        k = c.add(first, r)
        row = row_at(k)
        pivot = c.get(kind, entry(row, c.add(above, r)))
        c.leave_if(is_bad(c, pivot), c.add(c.b.or_(failed, k), 1))
        inverse = c.b.fdiv(c.number(1.0, kind), pivot)
        c.put(inverse, entry(inverses, r))
        with c.loop(r) as i:
            column = c.add(above, i)
            l_ki = c.b.fmul(c.get(kind, entry(row, column)), inverse)
            target, length = row_at(c.add(first, i)), c.add(column, 1)
            add_rows(c, target, [row], [c.b.fneg(l_ki)], length, numbers)

    # The rows above it, upwards by parents.
    with c.fold(above, word_of(c, table, first, Row.PARENT)) as up:
        i = up.value
        column = word_of(c, table, i, Row.ABOVE)
        factors = [
            c.b.fneg(
                c.b.fmul(
                    c.get(kind, entry(row, column)),
                    c.get(kind, c.add(inverses, r * numbers.size)),
                )
            )
            for r, row in enumerate(block)
        ]
        add_rows(c, row_at(i), block, factors, c.add(column, 1), numbers)
        up.next = word_of(c, table, i, Row.PARENT)

    with c.loop(const(size)) as r:
        row, length = row_at(c.add(first, r)), c.add(above, r)
        at = entry(row, length)

        def take_root(at: Value = at) -> Value:
            root = c.b.call(square_root(c, kind), [c.get(kind, at)])
            c.put(root, at)
            return c.b.fdiv(c.number(1.0, kind), root)

        def keep(r: Value = r) -> Value:
            return c.get(kind, entry(inverses, r))

        scale = c.either(c.compare(roots, "!=", 0), take_root, keep)
        scale_row(c, row, scale, length, numbers)


def is_bad(c: Loops, pivot: Value) -> Value:
    """Return whether a pivot of some lane is not positive and finite."""
    kind = pivot.type
    low = c.b.fcmp_unordered("<=", pivot, c.number(0.0, kind))
    high = c.b.fcmp_unordered("==", pivot, c.number(float("inf"), kind))
    bad = c.b.or_(low, high)
    if isinstance(kind, ir.VectorType):
        bits = ir.IntType(kind.count)
        return c.b.icmp_unsigned("!=", c.b.bitcast(bad, bits), ir.Constant(bits, 0))
    return bad


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
        above = word_of(c, table, place, Row.ABOVE)
        base = c.add(values, c.mul(tile, step))
        row = c.add(base, c.mul(word_of(c, table, place, Row.ADDRESS), numbers.size))
        index = word_of(c, table, place, Row.INDEX)
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
            if transposed:
                rest = c.get(element, here)
                c.put(c.number(0.0, element), here)
            else:
                rest = line.dot()
            if inverts:
                result = scaled.divided(c.b.fsub(given, rest), Diagonal.OF_L)
            else:
                result = c.b.fadd(scaled.multiplied(given), rest)
            handed_on = result if inverts else given
            if transposed:
                line.add(handed_on)
            else:
                c.put(handed_on, here)
            if kind == "solve_LT":
                result = scaled.divided(result, Diagonal.DIVIDE)
            c.put(result, at)
    c.leave(0)


@dataclass(frozen=True)
class Scaling:
    """The part of the diagonal in a sweep."""

    c: Loops
    diagonal: Value
    at: Value
    entry: Value
    element: Value

    def divided(self, x: Value, when: Diagonal) -> Value:
        """Return x over the pivot where the sweep asks for it, else x."""
        return self._with(x, when, self.c.b.fdiv)

    def multiplied(self, x: Value) -> Value:
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

    c: Loops
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

    def dot(self) -> Value:
        """Return the sum of products."""
        c, total = self.c, self.c.number(0.0, self.element)
        if self.element == DOUBLE:
            total = c.number(0.0, DOUBLE)
            for first, length, step in c.runs(self.above, self.numbers):
                kind = self.numbers.vector if step > 1 else DOUBLE
                with c.fold_numbers(length, step, c.number(0.0, kind)) as turn:
                    a, x = (c.get(kind, at) for at in self.at(c.add(first, turn.index)))
                    turn.next = c.fma(a, x, turn.value)
                total = c.b.fadd(total, c.sum(turn.result))
            return total
        with c.fold_numbers(self.above, 1, total) as turn:
            entry, kept = self.at(turn.index)
            turn.next = c.fma(self.entry(entry), c.get(self.element, kept), turn.value)
        return turn.result

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


def pack(module: Module) -> None:
    """Write ``pack(H, views, values, lanes, step, table, n, batch, checks)``.

    ``views`` has H's strides in bytes: from matrix to matrix, row to row, column to
    column. It returns how many nonzeros there are along the tree, both triangles, or
    −1 if an entry is not finite or not exactly that of the other triangle.
    """
    c = loops(module, "pack", 9)
    H, views, values, lanes, step, table, n, batch, checks = c.arguments
    result, odd = c.cell(0), c.cell(0)
    to_matrix, to_row, to_column = (c.load(views, k) for k in range(3))
    with c.loop(batch) as number, c.loop(n) as place:
        matrix = c.add(H, c.mul(number, to_matrix))
        tile, lane = c.b.udiv(number, lanes), c.b.urem(number, lanes)
        to = c.add(c.add(values, c.mul(tile, step)), c.mul(lane, WORD))
        above = word_of(c, table, place, Row.ABOVE)
        first = word_of(c, table, place, Row.ADDRESS)
        i = word_of(c, table, place, Row.INDEX)
        with c.fold(c.add(above, 1), place) as up:
            j = word_of(c, table, up.value, Row.INDEX)
            here = c.add(matrix, c.add(c.mul(i, to_row), c.mul(j, to_column)))
            mirror = c.add(matrix, c.add(c.mul(j, to_row), c.mul(i, to_column)))
            mirror = c.b.select(c.compare(checks, "!=", 0), mirror, here)
            value, other = c.get(DOUBLE, here), c.get(DOUBLE, mirror)
            entry = c.add(first, c.b.sub(above, up.index))
            c.put(value, c.add(to, c.mul(c.mul(entry, lanes), WORD)))
            difference = c.b.fsub(value, other)  # NaN unless both are finite
            is_odd = c.b.fcmp_unordered("!=", difference, c.number(0.0, DOUBLE))
            c.store(c.b.or_(c.load(odd), c.b.zext(is_odd, I64)), odd)
            counts = c.b.fcmp_unordered("!=", value, c.number(0.0, DOUBLE))
            both = c.b.select(c.compare(i, "==", j), const(1), const(2))
            c.store(c.add(c.load(result), c.b.select(counts, both, const(0))), result)
            up.next = word_of(c, table, up.value, Row.PARENT)
    c.leave(c.b.select(c.compare(c.load(odd), "!=", 0), const(-1), c.load(result)))


def count(module: Module, width: int) -> None:
    """Write ``count(H, views, n, batch)``: how many entries are not zero."""
    c = loops(module, "count", 4)
    H, views, n, batch = c.arguments
    to_matrix, to_row, to_column = (c.load(views, k) for k in range(3))
    total = c.cell(0)
    numbers = Numbers(1, width)
    with c.loop(batch) as number, c.loop(n) as i:
        row = c.add(c.add(H, c.mul(number, to_matrix)), c.mul(i, to_row))
        # Vectors where columns lie side by side; there are none along a stride.
        plain = c.compare(to_column, "==", WORD)
        whole = c.b.select(plain, c.b.and_(n, const(-width)), const(0))
        for first, length, step in (
            (const(0), whole, width),
            (whole, c.b.sub(n, whole), 1),
        ):
            kind = numbers.vector if step > 1 else DOUBLE
            bits = ir.IntType(step)
            with c.fold(c.b.sdiv(length, const(step)), 0) as turn:
                j = c.add(first, c.mul(turn.index, step))
                x = c.get(kind, c.add(row, c.mul(j, to_column)))
                nonzero = c.b.fcmp_unordered("!=", x, c.number(0.0, kind))
                mask = c.b.bitcast(nonzero, bits) if step > 1 else nonzero
                wide = c.b.zext(mask, I64)
                ones = c.b.call(c.module.intrinsic("llvm.ctpop.i64", I64), [wide])
                turn.next = c.add(turn.value, ones)
            c.store(c.add(c.load(total), turn.result), total)
    c.leave(c.load(total))


SWEEPS = ("mul_L", "mul_LT", "solve_L", "solve_LT")


def forms(width: int) -> dict[str, Numbers]:
    """Return the forms of numbers that there is code for, by name."""
    return {
        "row": Numbers(1, width),
        "columns": Numbers(1, width, columns=True),
        "tile": Numbers(width, width),
    }


def emit(width: int) -> Module:
    """Return the module with all loops."""
    module = Module("treeloops")
    for form, numbers in forms(width).items():
        if form != "columns":
            factor(module, f"factor_{form}", numbers)
        for kind in SWEEPS:
            sweep(module, f"{kind}_{form}", kind, numbers)
    pack(module)
    count(module, width)
    return module


@functools.cache
def vector_width() -> int:
    """Return how many numbers a vector holds, and matrices a tile."""
    return host().lanes("float64")


@functools.cache
def functions() -> dict[str, Callable[..., int]]:
    """Return the loops by name; they take integers and addresses, without the GIL."""
    width = vector_width()
    counts = {"factor_row": 7, "factor_tile": 7, "pack": 9, "count": 4}
    counts |= {f"{kind}_{form}": 10 for kind in SWEEPS for form in forms(width)}
    addresses = load(
        lambda: emit(width),
        list(counts),
        [__name__, rowcode.__name__],
        f"width {width}",
    )
    word: Any = ctypes.c_int64
    return {
        name: ctypes.CFUNCTYPE(word, *[word] * arguments)(address)
        for (name, arguments), address in zip(counts.items(), addresses, strict=True)
    }
