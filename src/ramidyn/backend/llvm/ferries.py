"""What a batch's cuts carry for other tiles: inputs of the next, results of the last.

Packing and unpacking wait for caches, and a cut's operations for each other. So the
first cut of a program brings the inputs of the next tile while it computes, four
columns at a time and each behind some operations; the last cut takes out the results
of the tile before. Both know how long rows are, so no loop and no address is left to
compute. The driver gives them a block of addresses:

    slots of the next tile, and its rows in each input
    slots of the tile before, and its rows in each output

Where no tile is next or before, these are addresses of spare memory. These two cuts
are there twice: a tile alone, or arrays whose rows are not dense, have none to carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ramidyn.backend.llvm.jit import ALWAYS_INLINE
from ramidyn.backend.llvm.word_builder import Module, const
from ramidyn.backend.runtime.memory_layout import (
    FERRY_WORDS,
    LINE,
    MAX_PORTS,
    WORD,
    is_table,
)
from ramidyn.backend.runtime.tiles import COLUMNS, Tile, TileMove, pack_rows, put_rows

if TYPE_CHECKING:
    from ramidyn.backend.llvm.frames import Cut, Schedule
    from ramidyn.symbolic.program import Program

WORK = 12
"""The operations that moving some columns counts as where a program is cut."""
APART, MOST = 16, 48
"""Moves are at least so many operations apart, and no more than so many in a cut."""


def moves(sizes: Sequence[int]) -> int:
    """Return how often columns of some arrays are moved."""
    return sum(-(-size // COLUMNS) for size in sizes)


def carried(program: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes of inputs that come, and of outputs that leave, in cuts.

    All or none, and none of a program with calls, whose cuts run more than once.
    """
    operations = sum(1 for e in program.order if e.args)
    has_tables = any(is_table(v.name) for v in program.inputs)

    def fit(sizes: tuple[int, ...]) -> tuple[int, ...]:
        is_few = moves(sizes) <= min(MOST, operations // APART)
        can = is_few and 0 < len(sizes) <= MAX_PORTS and min(sizes) >= COLUMNS
        return sizes if can and not (program.calls or has_tables) else ()

    inputs, outputs = program.inputs, program.outputs
    return fit(tuple(v.size for v in inputs)), fit(tuple(v.size for v in outputs))


def work(sizes: Sequence[int]) -> int:
    """Return how many operations it counts as to move some arrays."""
    return WORK * moves(sizes)


def with_ferries(schedule: Schedule, program: Program) -> Schedule:
    """Return the schedule of a program with cuts that carry something."""
    come, sizes = carried(program)
    if max(sizes, default=0) > schedule.slots:  # as large as the spare memory
        sizes = ()
    slots = iter(schedule.outputs)
    leave = tuple(tuple(islice(slots, n)) for n in sizes)
    first, last = schedule.cuts[0], schedule.cuts[-1]
    if first is last:
        found = [replace(first, come=come, leave=leave)]
    else:
        found = [replace(first, come=come), replace(last, leave=leave)]
    return replace(schedule, ferries=tuple(c for c in found if c.come or c.leave))


def head(cut: Cut) -> list[str]:
    """Return IR that reads the addresses: %w0, %w1, ..."""
    words = [
        first + k
        for first, arrays in ((0, cut.come), (FERRY_WORDS, cut.leave))
        for k in range(1 + len(arrays) if arrays else 0)
    ]
    return [
        line
        for k in words
        for line in (
            f"%wp{k} = getelementptr i8, ptr %ferry, i64 {k * WORD}",
            f"%w{k} = load i64, ptr %wp{k}, align {WORD}",
        )
    ]


def calls(cut: Cut, stride: int, itemsize: int) -> list[list[str]]:
    """Return the IR of each move: calls of functions that LLVM inlines."""
    found: list[list[str]] = []

    def move(name: str, words: Sequence[tuple[int, int]]) -> None:
        n, lines = len(found), list[str]()
        for k, (word, offset) in enumerate(words):
            lines.append(f"%f{n}_{k} = add i64 %w{word}, {offset}")
        given = ", ".join(f"i64 %f{n}_{k}" for k in range(len(words)))
        found.append([*lines, f"%f{n} = call i64 @{name}({given})"])

    before = 0
    for word, size in enumerate(cut.come, 1):
        for column in columns(size):
            row, slot = (word, column * itemsize), (0, (before + column) * stride)
            move(name_of("bring", size), [row, slot])
        before += size
    for word, slots in enumerate(cut.leave, FERRY_WORDS + 1):
        for column in columns(len(slots)):
            some = slots[column : column + COLUMNS]
            places = [(FERRY_WORDS, k * stride) for k in some]
            row = word, column * itemsize
            move(name_of("take", len(slots)), [row, *places])
    return found


def columns(size: int) -> Iterator[int]:
    """Yield the first of each of the columns that are moved together, to the last."""
    yield from range(0, size - COLUMNS + 1, COLUMNS)
    if size % COLUMNS:
        yield size - COLUMNS


def name_of(what: str, size: int) -> str:
    """Return the name of the function that moves columns of rows of a size."""
    return f"ramidyn_{what}{size}"


def functions(cut: Cut, dtype: str, lanes: int) -> str:
    """Return the functions that a cut calls, as IR."""
    tile, module = Tile(dtype, lanes), Module("ferries")
    for size in dict.fromkeys(cut.come):
        emit_bring(module, tile, size)
    for size in dict.fromkeys(map(len, cut.leave)):
        emit_take(module, tile, size)
    return str(module.llvm)


def emit_bring(module: Module, tile: Tile, size: int) -> None:
    """Emit bring(row, slot): move columns of a tile's rows of a size into slots."""
    move = _begin(module, tile, name_of("bring", size), 2, size)
    pack_rows(move, const(0), COLUMNS)
    move.code.leave(0)


def emit_take(module: Module, tile: Tile, size: int) -> None:
    """Emit take(row, slot, slot, ...): move slots to columns of a tile's rows."""
    move = _begin(module, tile, name_of("take", size), 1 + COLUMNS, size)
    code, kind = move.code, tile.vector(tile.lanes)
    slots = [code.load_as(kind, at, min(tile.slot, LINE)) for at in code.arguments[1:]]
    put_rows(move, slots, const(0))
    code.leave(0)


def _begin(
    module: Module, tile: Tile, name: str, arguments: int, size: int
) -> TileMove:
    code = module.function(name, arguments, local=True)
    code.function.attributes.add(ALWAYS_INLINE)
    row, slot, *_ = code.arguments
    length = size * tile.itemsize
    rows = [code.add(row, lane * length) for lane in range(tile.lanes)]
    return TileMove(code, tile, slot, slot, const(tile.itemsize), rows)
