"""Tiles: a few states side by side, each element in one slot of a workspace.

In a batch-first array the elements of one state lie side by side, so packing
transposes, square by square; in a batch-last array a slot is there already. The last
tile repeats the last state: its idle lanes read and write what the last lane does, and
no result depends on its place. Slots are written and read as whole vectors, as the cuts
do: a vector read of fresh scalar writes would wait for all of them to reach the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ramidyn.backend.llvm.word_builder import I32, Code, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import LINE, PLACE

COLUMNS = 4
"""Elements of a state that are moved at once, at least, with more than one lane."""


@dataclass(frozen=True)
class Tile:
    """The element type and the number of states in a tile."""

    dtype: str
    lanes: int

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return 8 if self.dtype == "float64" else 4

    @property
    def slot(self) -> int:
        """Bytes of a slot."""
        return self.lanes * self.itemsize

    @property
    def square(self) -> int:
        """States and elements that are transposed in 128 bits."""
        return self.columns if self.lanes == 1 else min(self.lanes, 16 // self.itemsize)

    @property
    def columns(self) -> int:
        """Elements of a state that are moved at once, at least."""
        return 32 // self.itemsize if self.lanes == 1 else COLUMNS

    @property
    def is_register(self) -> bool:
        """Whether a slot is a register of 256 or 512 bits: squares are slots wide."""
        return self.slot in (32, 64)

    @property
    def is_streamed(self) -> bool:
        """Whether large results are streamed: see `streaming`."""
        return self.slot == LINE or (self.slot == 32 and self.lanes == 4)

    def vector(self, width: int) -> Value:
        """Return the type of some elements side by side."""
        scalar = ir.DoubleType() if self.dtype == "float64" else ir.FloatType()
        return scalar if width == 1 else ir.VectorType(scalar, width)


@dataclass(frozen=True)
class TileMove:
    """What the inside of a mover needs."""

    code: Code
    tile: Tile
    workspace: Value
    place: Value  # of the first element: its slot if it is an input, else its PLACES
    step: Value
    rows: Sequence[Value]  # the address of every lane's state

    def slot(self, element: Value) -> Value:
        """Return the address of an input's slot."""
        return self.code.add(self.place, self.code.mul(element, self.tile.slot))

    def source(self, element: Value) -> Value:
        """Return the address of an output's slot."""
        code = self.code
        offset = code.load_int(code.add(self.place, code.mul(element, PLACE)))
        return code.add(self.workspace, offset)

    def load_slot(self, element: Value) -> Value:
        """Return one output of every state."""
        kind, align = self.tile.vector(self.tile.lanes), min(self.tile.slot, LINE)
        return self.code.load_as(kind, self.source(element), align)

    def store_slot(self, value: Value, element: Value) -> None:
        """Write one input of every state."""
        self.code.store_as(value, self.slot(element), min(self.tile.slot, LINE))


Inside = Callable[[TileMove, Value], None]
Rows = Callable[[TileMove, Value, int], None]


def emit_movers(module: Module, tile: Tile) -> None:
    """Emit what moves some elements of one array of a tile.

    name(workspace, place, size, data, step, stride, first, batch)
    """
    emit_mover(module, tile, "pack", (pack_rows, pack_slot, gather))
    emit_mover(module, tile, "unpack", (unpack_rows, unpack_slot, scatter))


def begin_mover(module: Module, tile: Tile, name: str, further: int = 0) -> TileMove:
    """Begin a mover: find the states of the tile. It may have further arguments."""
    code = module.function(name, 8 + further, local=True)
    workspace, place, _, data, step, stride, first, batch, *_ = code.arguments
    last = code.add(batch, -1)
    states = [code.min(code.add(first, lane), last) for lane in range(tile.lanes)]
    rows = [code.add(data, code.mul(state, stride)) for state in states]
    return TileMove(code, tile, workspace, place, step, rows)


def emit_mover(
    module: Module, tile: Tile, name: str, inside: tuple[Rows, Inside, Inside]
) -> None:
    """Emit a mover for arrays of any layout."""
    move = begin_mover(module, tile, name)
    code = move.code
    _, _, size, _, step, stride, first, batch = code.arguments
    by_rows, by_slot, by_element = inside

    close = code.compare(step, "==", tile.itemsize)
    with code.when(code.b.and_(close, code.compare(size, ">=", tile.columns))):
        whole = const(0)
        if tile.is_register and tile.lanes > tile.columns:
            whole = code.b.and_(size, const(-tile.lanes))
            with code.loop(whole, tile.lanes) as column:
                by_rows(move, column, tile.lanes)
        final = code.add(size, -tile.columns)
        with code.loop(code.b.sub(size, whole), tile.columns) as column:
            by_rows(move, code.min(code.add(whole, column), final), tile.columns)
        code.leave(0)
    if tile.lanes > 1:
        full = code.compare(code.add(first, tile.lanes), "<=", batch)
        beside = code.compare(stride, "==", tile.itemsize)
        with code.when(code.b.and_(full, beside)):
            with code.loop(size) as element:
                by_slot(move, element)
            code.leave(0)
    with code.loop(size) as element:
        by_element(move, element)
    code.leave(0)


def pack_rows(move: TileMove, column: Value, count: int) -> None:
    """Move some neighboring elements of every state into their slots."""
    code, tile = move.code, move.tile
    n = square_of(tile, count)
    for first in range(0, count, n):
        address = code.mul(code.add(column, first), tile.itemsize)
        kind = tile.vector(n)
        loads = [
            code.load_as(kind, code.add(row, address), tile.itemsize)
            for row in move.rows
        ]
        if tile.lanes == 1:
            code.store_as(loads[0], move.slot(code.add(column, first)), tile.itemsize)
            continue
        if tile.lanes == 2 * n == 4 * units_of(kind):  # one instruction less each
            starts = (*range(n // 2), *range(n, n + n // 2))
            pairs = [join(code, loads[k : k + n // 2 + 1 : n // 2]) for k in starts]
            slots = transpose(code, pairs, part_units)
        else:
            slots = transpose(code, [join(code, loads[k::n]) for k in range(n)])
        for j, slot in enumerate(slots):
            move.store_slot(whole(code, tile, slot), code.add(column, first + j))


def unpack_rows(move: TileMove, column: Value, count: int) -> None:
    """Move some neighboring elements of every state out of their slots."""
    code, tile = move.code, move.tile
    if tile.lanes == 1:
        row = ir.Constant(tile.vector(count), ir.Undefined)
        for j in range(count):
            value = move.load_slot(code.add(column, j))
            row = code.b.insert_element(row, value, ir.Constant(I32, j))
        address = code.add(move.rows[0], code.mul(column, tile.itemsize))
        code.store_as(row, address, tile.itemsize)
        return
    slots = [move.load_slot(code.add(column, j)) for j in range(count)]
    put_rows(move, slots, code.mul(column, tile.itemsize))


def put_rows(move: TileMove, slots: Sequence[Value], offset: Value) -> None:
    """Write what neighboring slots hold to the rows of a tile, at an offset."""
    code, tile = move.code, move.tile
    n = square_of(tile, len(slots))
    for first in range(0, len(slots), n):
        address = code.add(offset, first * tile.itemsize)
        for k, squares in enumerate(transpose(code, slots[first : first + n])):
            for lane in range(0, tile.lanes, n):
                part = shuffle(code, squares, squares, range(lane, lane + n))
                code.store_as(
                    part, code.add(move.rows[lane + k], address), tile.itemsize
                )


def square_of(tile: Tile, count: int) -> int:
    """Return the side of the squares that some columns are transposed in."""
    return count if tile.is_register and 2 * count >= tile.lanes else tile.square


def pack_slot(move: TileMove, element: Value) -> None:
    """Move one element of neighboring states: a slot is there already."""
    code, tile = move.code, move.tile
    address = code.add(move.rows[0], code.mul(element, move.step))
    move.store_slot(
        code.load_as(tile.vector(tile.lanes), address, tile.itemsize), element
    )


def unpack_slot(move: TileMove, element: Value) -> None:
    """Move a slot to neighboring states."""
    code = move.code
    address = code.add(move.rows[0], code.mul(element, move.step))
    code.store_as(move.load_slot(element), address, move.tile.itemsize)


def gather(move: TileMove, element: Value) -> None:
    """Move one element of every state, wherever the states are."""
    code, tile = move.code, move.tile
    offset = code.mul(element, move.step)
    scalars = [
        code.load_as(tile.vector(1), code.add(row, offset), tile.itemsize)
        for row in move.rows
    ]
    if tile.lanes == 1:
        move.store_slot(scalars[0], element)
        return
    slot = ir.Constant(tile.vector(tile.lanes), ir.Undefined)
    for lane, scalar in enumerate(scalars):
        slot = code.b.insert_element(slot, scalar, ir.Constant(I32, lane))
    move.store_slot(whole(code, tile, slot), element)


def scatter(move: TileMove, element: Value) -> None:
    """Move one element of every state to wherever the states are."""
    code, tile = move.code, move.tile
    slot = move.load_slot(element)
    offset = code.mul(element, move.step)
    for lane, row in enumerate(move.rows):
        scalar = (
            slot
            if tile.lanes == 1
            else code.b.extract_element(slot, ir.Constant(I32, lane))
        )
        code.store_as(scalar, code.add(row, offset), tile.itemsize)


Part = Callable[[Code, Sequence[Value], int], list[Value]]


def transpose(
    code: Code, rows: Sequence[Value], part: Part | None = None
) -> list[Value]:
    """Transpose the squares that lie side by side in some rows.

    First within 128 bits, which no element leaves: two doubles or four floats. If a
    square is wider, its 128-bit units then change places: after the first step, unit j
    of vector k of each group of rows belongs to column k of the j-th unit. Squares of
    two units may lie side by side, wider ones are as wide as the rows.
    """
    inner = min(len(rows), units_of(rows[0].type))
    groups = [
        transpose_units(code, rows[k : k + inner]) for k in range(0, len(rows), inner)
    ]
    part = part or (exchange_units if len(groups) == 2 else part_units)
    columns = [part(code, [g[k] for g in groups], inner) for k in range(inner)]
    return [column for unit in zip(*columns, strict=True) for column in unit]


def units_of(kind: Value) -> int:
    """Return how many elements of a vector are 128 bits."""
    return 2 if isinstance(kind.element, ir.DoubleType) else 4


def transpose_units(code: Code, rows: Sequence[Value]) -> list[Value]:
    """Transpose squares of two or four within 128 bits."""
    lanes = rows[0].type.count

    def pick(left: Value, right: Value, *columns: int) -> Value:
        """Take columns of each square, counted through left and right."""
        n = len(columns)
        mask = [
            base + (c if c < n else c - n + lanes)
            for base in range(0, lanes, n)
            for c in columns
        ]
        return shuffle(code, left, right, mask)

    if len(rows) == 2:
        return [pick(*rows, 0, 2), pick(*rows, 1, 3)]
    a, b, c, d = rows
    pairs = [(pick(a, b, *x), pick(c, d, *x)) for x in ((0, 4, 1, 5), (2, 6, 3, 7))]
    return [pick(*pair, *x) for pair in pairs for x in ((0, 1, 4, 5), (2, 3, 6, 7))]


def exchange_units(code: Code, vectors: Sequence[Value], unit: int) -> list[Value]:
    """Return two vectors with the even and with the odd units of both, in turns."""
    (left, right), lanes = vectors, vectors[0].type.count

    def every_other(first: int) -> Value:
        starts = [x + k for k in range(first, lanes, 2 * unit) for x in (0, lanes)]
        mask = [k for start in starts for k in range(start, start + unit)]
        return shuffle(code, left, right, mask)

    return [every_other(0), every_other(unit)]


def part_units(code: Code, vectors: Sequence[Value], unit: int) -> list[Value]:
    """Return vector j with the j-th unit of each of as many vectors as have units.

    Each step takes the even or the odd units of two vectors, one instruction on x86.
    """
    if len(vectors) == 1:
        return list(vectors)
    ends = 2 * vectors[0].type.count

    def every_other(first: int) -> list[Value]:
        starts = range(first, ends, 2 * unit)
        mask = [k for start in starts for k in range(start, start + unit)]
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        return part_units(code, [shuffle(code, p, q, mask) for p, q in pairs], unit)

    both = zip(every_other(0), every_other(unit), strict=True)
    return [vector for pair in both for vector in pair]


def join(code: Code, parts: list[Value]) -> Value:
    """Return the parts one behind the other in one vector."""
    while len(parts) > 1:
        width = 2 * parts[0].type.count
        parts = [
            shuffle(code, p, q, range(width))
            for p, q in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def whole(code: Code, tile: Tile, vector: Value) -> Value:
    """Keep LLVM from storing a vector in pieces, which a cut's read would wait for."""
    width, bits = tile.lanes, 8 * tile.itemsize
    fence = code.module.intrinsic(f"llvm.arithmetic.fence.v{width}f{bits}", vector.type)
    return code.b.call(fence, [vector])


def shuffle(code: Code, left: Value, right: Value, mask: Sequence[int]) -> Value:
    """Return the elements of left and right that the mask names."""
    if left is right and list(mask) == list(range(left.type.count)):
        return left
    indices = [ir.Constant(I32, k) for k in mask]
    kind = ir.VectorType(I32, len(indices))
    return code.b.shuffle_vector(left, right, ir.Constant(kind, indices))
