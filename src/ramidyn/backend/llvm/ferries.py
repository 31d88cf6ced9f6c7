"""What a batch's cuts carry for other tiles: inputs of the next, results of the last.

Packing and unpacking wait for caches, and a cut's operations for each other. So the
first cut of a program brings the inputs of the next tile while it computes, four
columns at a time and each behind some operations; the last cut takes out the results
of the tile before. The driver tells them in a block where (`Ferry`): for each input
the workspace of the next tile and its rows, for each output those of the tile before.
Where there is none, these are addresses of memory that nobody needs. In a program of
one cut, the results of a tile are written while the next but one is read. The two cuts
are there twice: a tile alone, or arrays whose elements are apart, carry nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ramidyn.backend.llvm.jit import ALWAYS_INLINE
from ramidyn.backend.llvm.word_builder import Module, const
from ramidyn.backend.runtime.memory_layout import (
    LINE,
    MAX_PORTS,
    WORD,
    Ferry,
    is_table,
)
from ramidyn.backend.runtime.tiles import COLUMNS, Tile, TileMove, pack_rows, put_rows

if TYPE_CHECKING:
    from ramidyn.backend.llvm.frames import Cut, Schedule
    from ramidyn.symbolic.program import Program

APART, MOST = 16, 48
"""Operations for each move of inputs, at least, and their number at most; of outputs,
too."""


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


def with_ferries(schedule: Schedule, program: Program) -> Schedule:
    """Return the schedule of a program with cuts that carry something."""
    come, sizes = carried(program)
    if max(sizes, default=0) > schedule.slots:  # as large as the spare memory
        sizes = ()
    if not (come or sizes):
        return schedule
    slots = iter(schedule.outputs)
    leave = tuple(tuple(islice(slots, n)) for n in sizes)
    first, last = schedule.cuts[0], schedule.cuts[-1]
    if first is last:
        found = [replace(first, come=come, leave=leave)]
    else:
        found = [replace(first, come=come), replace(last, leave=leave)]
    return replace(schedule, ferries=tuple(c for c in found if c.come or c.leave))


def head(cut: Cut) -> list[str]:
    """Return IR that reads the block: %w0, %w1, ..."""
    words = [
        len(Ferry) * first + k
        for first, arrays in ((0, cut.come), (MAX_PORTS, cut.leave))
        for k in range(len(Ferry) * len(arrays))
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

    def move(name: str, array: int, column: int, slots: Sequence[int]) -> None:
        n, first = len(found), len(Ferry) * array
        offsets = [
            (first + Ferry.ROWS, column * itemsize),
            *((first + Ferry.SLOTS, slot * stride) for slot in slots),
        ]
        lines = [
            f"%f{n}_{k} = add i64 %w{word}, {offset}"
            for k, (word, offset) in enumerate(offsets)
        ]
        row, *places = (f"i64 %f{n}_{k}" for k in range(len(offsets)))
        given = ", ".join((row, f"i64 %w{first + Ferry.STRIDE}", *places))
        found.append([*lines, f"%f{n} = call i64 @{name}({given})"])

    before = 0
    for array, size in enumerate(cut.come):
        for column in columns(size):
            move(BRING, array, column, [before + column])
        before += size
    for array, slots in enumerate(cut.leave, MAX_PORTS):
        for column in columns(len(slots)):
            move(TAKE, array, column, slots[column : column + COLUMNS])
    return found


def columns(size: int) -> Iterator[int]:
    """Yield the first of each of the columns that are moved together, to the last."""
    yield from range(0, size - COLUMNS + 1, COLUMNS)
    if size % COLUMNS:
        yield size - COLUMNS


BRING, TAKE = "ramidyn_bring", "ramidyn_take"


def functions(dtype: str, lanes: int) -> str:
    """Return the functions that move some columns of a tile's rows, as IR.

    bring(row, stride, slot), to slots side by side; take(row, stride, slot, slot, ...)
    """
    tile, module = Tile(dtype, lanes), Module("ferries")
    move = _begin(module, tile, BRING, 1)
    pack_rows(move, const(0), COLUMNS)
    move.code.leave(0)
    move = _begin(module, tile, TAKE, COLUMNS)
    code, kind = move.code, tile.vector(lanes)
    places = code.arguments[2:]
    slots = [code.load_as(kind, at, min(tile.slot, LINE)) for at in places]
    put_rows(move, slots, const(0))
    code.leave(0)
    return str(module.llvm)


def _begin(module: Module, tile: Tile, name: str, slots: int) -> TileMove:
    code = module.function(name, 2 + slots, local=True)
    code.function.attributes.add(ALWAYS_INLINE)
    row, stride, slot, *_ = code.arguments
    rows = [code.add(row, code.mul(stride, lane)) for lane in range(tile.lanes)]
    return TileMove(code, tile, slot, slot, const(tile.itemsize), rows)
