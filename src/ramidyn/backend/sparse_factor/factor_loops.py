"""Native loops over the rows of a matrix that is sparse along a tree.

Row k holds the entries of k's ancestors, the nearest to the root first, and then its
diagonal. So row i is a prefix of the same columns for every ancestor i of k, and the
inner loop of the factorization runs along two contiguous rows with no index look-up
(Featherstone 2005).

    factor   M = Lᵀ D L or Lᵀ L in place: tips to root, in blocks of a chain's rows
    pack     dense to rows, looking for asymmetry on the way;  count: its nonzeros
    start    all three;  sweeps, in `sweeps`: products with L and its inverse

A number may stand for one matrix or for a tile of as many as a vector holds, lane by
lane. All of it is compiled once for a processor, in 0.3 s, and then loads from the
cache in 5 ms.
"""

# ruff: noqa: N806  (H is the paper's letter)
from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from ramidyn.backend.llvm.build import load_functions
from ramidyn.backend.llvm.target import chosen_processor, default_lanes
from ramidyn.backend.llvm.word_builder import I64, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import (
    WORD,
    ArrayField,
    objects_are_as_expected,
)
from ramidyn.backend.sparse_factor.sparse_rows import (
    DOUBLE,
    NumberCode,
    Numbers,
    RowWord,
    add_rows,
    loops,
    scale_row,
    square_root,
    word_of,
)
from ramidyn.backend.sparse_factor.sweeps import SWEEPS, solve, sweep

BLOCKS = (8, 4, 1)
"""How many rows of a chain are eliminated at once: each pass over the rows above
costs as much memory traffic for eight as for one."""


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


def eliminate(
    c: NumberCode,
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
        return c.add(
            base, c.mul(word_of(c, table, place, RowWord.ADDRESS), numbers.size)
        )

    def entry(row: Value, j: Value) -> Value:
        return c.add(row, c.mul(j, numbers.size))

    above = word_of(c, table, first, RowWord.ABOVE)
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
        if size > 1:
            with c.loop(r) as i:
                column = c.add(above, i)
                l_ki = c.b.fmul(c.get(kind, entry(row, column)), inverse)
                target, length = row_at(c.add(first, i)), c.add(column, 1)
                add_rows(c, target, [row], [c.b.fneg(l_ki)], length, numbers)

    # The rows above it, upwards by parents.
    with c.fold(above, word_of(c, table, first, RowWord.PARENT)) as up:
        i = up.value
        column = word_of(c, table, i, RowWord.ABOVE)
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
        up.next = word_of(c, table, i, RowWord.PARENT)

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


def is_bad(c: NumberCode, pivot: Value) -> Value:
    """Return whether a pivot of some lane is not positive and finite."""
    kind = pivot.type
    low = c.b.fcmp_unordered("<=", pivot, c.number(0.0, kind))
    high = c.b.fcmp_unordered("==", pivot, c.number(float("inf"), kind))
    bad = c.b.or_(low, high)
    if isinstance(kind, ir.VectorType):
        bits = ir.IntType(kind.count)
        return c.b.icmp_unsigned("!=", c.b.bitcast(bad, bits), ir.Constant(bits, 0))
    return bad


def pack(module: Module) -> None:
    """Write ``pack(H, matrices, rows, columns, values, lanes, step, table, n, batch)``.

    The second to fourth are H's strides in bytes. It returns how many nonzeros there
    are along the tree in both triangles, or a negative number if an entry is not
    finite or not exactly that of the other triangle. Lanes that the last tile has too
    many repeat the last matrix.
    """
    c = loops(module, "pack", 10)
    H, to_matrix, to_row, to_column, values, lanes, step, table, n, batch = c.arguments
    found, zero = c.cell(0), c.number(0.0, DOUBLE)
    last = c.b.sub(batch, const(1))
    whole = c.mul(tiles_of(c, batch, lanes), lanes)
    with c.loop(whole) as number, c.loop(n) as place:
        matrix = c.add(H, c.mul(c.min(number, last), to_matrix))
        tile, lane = c.b.udiv(number, lanes), c.b.urem(number, lanes)
        to = c.add(c.add(values, c.mul(tile, step)), c.mul(lane, WORD))
        above = word_of(c, table, place, RowWord.ABOVE)
        first = word_of(c, table, place, RowWord.ADDRESS)
        i = word_of(c, table, place, RowWord.INDEX)
        row = c.add(matrix, c.mul(i, to_row))
        column = c.add(matrix, c.mul(i, to_column))
        with c.folds(c.add(above, 1), 1, place, const(0), const(0)) as up:
            at, odd, nonzeros = up.values
            j = word_of(c, table, at, RowWord.INDEX)
            value = c.get(DOUBLE, c.add(row, c.mul(j, to_column)))
            other = c.get(DOUBLE, c.add(column, c.mul(j, to_row)))
            entry = c.add(first, c.b.sub(above, up.index))
            c.put(value, c.add(to, c.mul(c.mul(entry, lanes), WORD)))
            difference = c.b.fsub(value, other)  # NaN unless both are finite
            differs = c.b.fcmp_unordered("!=", difference, zero)
            counts = c.b.zext(c.b.fcmp_unordered("!=", value, zero), I64)
            up.next = [
                word_of(c, table, at, RowWord.PARENT),
                c.b.or_(odd, c.b.zext(differs, I64)),
                c.add(nonzeros, counts),
            ]
        _, odd, nonzeros = up.results
        own = c.get(DOUBLE, c.add(row, c.mul(i, to_column)))
        once = c.b.zext(c.b.fcmp_unordered("!=", own, zero), I64)
        both = c.b.sub(c.mul(nonzeros, 2), once)
        seen = c.b.select(c.compare(number, "<", batch), both, const(0))
        sign = c.b.select(c.compare(odd, "!=", 0), const(-(2**62)), const(0))
        c.store(c.b.or_(c.add(c.load(found), seen), sign), found)
    c.leave(c.load(found))


def tiles_of(c: NumberCode, batch: Value, lanes: Value) -> Value:
    """Return how many tiles a batch fills, the last perhaps in part."""
    return c.b.udiv(c.add(batch, c.b.sub(lanes, const(1))), lanes)


def count(module: Module, width: int) -> None:
    """Write ``count(H, matrices, rows, columns, n, batch)``: entries not zero."""
    c = loops(module, "count", 6)
    H, to_matrix, to_row, to_column, n, batch = c.arguments
    total = c.cell(0)
    numbers = Numbers(1, width)
    with c.loop(batch) as number, c.loop(n) as i:
        row = c.add(c.add(H, c.mul(number, to_matrix)), c.mul(i, to_row))
        # Vectors where columns lie side by side; there are none along a stride.
        plain = c.compare(to_column, "==", WORD)
        whole = c.b.select(plain, c.b.and_(n, const(-width)), const(0))
        runs = (const(0), whole, width), (whole, c.b.sub(n, whole), 1)
        for first, length, step in runs:
            kind = numbers.vector if step > 1 else DOUBLE
            with c.folds(length, step, const(0)) as turn:
                j = c.add(first, turn.index)
                x = c.get(kind, c.add(row, c.mul(j, to_column)))
                nonzero = c.b.fcmp_unordered("!=", x, c.number(0.0, kind))
                mask = c.b.bitcast(nonzero, ir.IntType(step)) if step > 1 else nonzero
                wide = c.b.zext(mask, I64)
                ones = c.b.call(c.module.intrinsic("llvm.ctpop.i64", I64), [wide])
                turn.next = [c.add(turn.values[0], ones)]
            c.store(c.add(c.load(total), turn.results[0]), total)
    c.leave(c.load(total))


def start(module: Module, form: str) -> None:
    """Write ``start_<form>``: pack, count and factor, for matrices without fault.

    It takes pack's words; whether to check; whether to count, too; factor's last
    three. It returns −1 if H is not plainly right, else what factor does.
    """
    c = loops(module, f"start_{form}", 15)
    *packs, checks, counts, blocks, n_blocks, roots = c.arguments
    H, to_matrix, to_row, to_column, values, _, step, table, n, batch = packs
    lanes = packs[5]
    found = c.call("pack", *packs)
    with c.when(c.compare(checks, "!=", 0)):
        c.leave_if(c.compare(found, "<", 0), -1)
        with c.when(c.compare(counts, "!=", 0)):
            total = c.call("count", H, to_matrix, to_row, to_column, n, batch)
            c.leave_if(c.compare(found, "!=", total), -1)
    tiles = tiles_of(c, batch, lanes)
    words = values, step, table, tiles, blocks, n_blocks, roots
    c.leave(c.call(f"factor_{form}", *words))


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
        solve(module, form)
    pack(module)
    count(module, width)
    for form in ("row", "tile"):
        start(module, form)
    for name, arguments in arguments_of(width).items():
        entry(module, name, arguments)
    return module


@functools.cache
def vector_width() -> int:
    """Return how many numbers a vector holds, and matrices a tile: two at least."""
    return max(2, default_lanes("float64"))


def arguments_of(width: int) -> dict[str, int]:
    """Return how many words each of the loops takes, by name."""
    counts = {"factor_row": 7, "factor_tile": 7, "start_row": 15, "start_tile": 15}
    for form in forms(width):
        counts |= {f"{kind}_{form}": 10 for kind in SWEEPS} | {f"solve_{form}": 11}
    return counts


def entry(module: Module, name: str, arguments: int) -> None:
    """Write ``<name>_entry``, which takes the address of all words of a call."""
    c = loops(module, f"{name}_entry", 1)
    (words,) = c.arguments
    c.leave(c.call(name, *(c.load(words, k) for k in range(arguments))))


@functools.cache
def functions() -> dict[str, Callable[..., int]]:
    """Return the loops by name; they take integers and addresses, without the GIL."""
    chosen_processor().check_runs_here()
    width = vector_width()
    counts = arguments_of(width)
    addresses = load_functions(
        lambda: str(emit(width).llvm),
        [f"{name}_entry" for name in counts],
        f"factor loops {width}",
    )
    return {
        name: _from_words(address, arguments)
        for (name, arguments), address in zip(counts.items(), addresses, strict=True)
    }


def _from_words(address: int, arguments: int) -> Callable[..., int]:
    """Return a function of integers; ctypes takes longer for each than `struct`."""
    enter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(address)
    pack_words = struct.Struct(f"={arguments}q").pack

    def call(*values: int) -> int:
        return enter(pack_words(*values))

    return call


_fields_are_known = functools.cache(objects_are_as_expected)
_word_at = ctypes.c_int64.from_address
_DATA = int(ArrayField.DATA)


def address(array: npt.NDArray[Any]) -> int:
    """Return where an array's numbers are, in a seventh of NumPy's own time."""
    if _fields_are_known():
        return _word_at(id(array) + _DATA).value
    return array.__array_interface__["data"][0]
