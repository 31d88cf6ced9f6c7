"""The driver: pack a tile of states into the workspace, run the cuts, unpack; as LLVM IR.

    run(kernel, views, batch) -> 0, or 1 if there is no memory

A slot of the workspace is one element of every state of the tile. In a batch-first array
the elements of one state lie side by side, so packing transposes, four by four; in a
batch-last array a slot is there already. The last tile repeats the last state: its idle
lanes read and write what the last lane does, and no result depends on its place.
Slots are written and read as whole vectors, as the cuts do: a vector read of fresh
scalar writes would wait for all of them to reach the cache.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ramify.backend.assembler import I32, Code, Module, Value, const, ir, load, python_functions
from ramify.backend.words import PORT_WORDS, VIEW_WORDS, WORD, Kernel, Port, View

STACK_BYTES = 0 if sys.platform == "win32" else 64 * 1024
ALIGN = 64


@functools.cache
def driver(dtype: str, lanes: int) -> int:
    """Return the address of ``run`` for one element type and tile width."""
    symbols = python_functions("PyMem_RawMalloc", "PyMem_RawFree")
    return load("run", lambda: emit(Tile(dtype, lanes)), symbols)


@dataclass(frozen=True)
class Tile:
    """The element type and the number of states in a tile."""

    dtype: str
    lanes: int

    @property
    def itemsize(self) -> int:
        return 8 if self.dtype == "float64" else 4

    @property
    def slot(self) -> int:
        return self.lanes * self.itemsize

    @property
    def columns(self) -> int:
        """Elements of a state that are moved at once."""
        return {1: 32 // self.itemsize, 2: 2}.get(self.lanes, 4)

    def vector(self, width: int) -> Value:
        scalar = ir.DoubleType() if self.dtype == "float64" else ir.FloatType()
        return scalar if width == 1 else ir.VectorType(scalar, width)


def emit(tile: Tile) -> Module:
    """Write the driver for one kind of tile."""
    module = Module(f"driver_{tile.dtype}_{tile.lanes}")
    emit_mover(module, tile, "pack", (pack_rows, pack_slot, gather))
    emit_mover(module, tile, "unpack", (unpack_rows, unpack_slot, scatter))
    emit_tiles(module, tile)
    emit_run(module)
    return module


def emit_run(module: Module) -> None:
    """run(kernel, views, batch): find a workspace, on the stack if it is small."""
    code = module.function("run", 3)
    kernel, views, batch = code.arguments
    size = code.load(kernel, Kernel.BYTES)
    if STACK_BYTES:
        with code.when(code.compare(size, "<=", STACK_BYTES)):
            block = code.b.alloca(ir.IntType(8), size=code.add(size, ALIGN))
            workspace = align(code, code.b.ptrtoint(block, size.type))
            code.call("tiles", kernel, views, batch, workspace)
            code.leave(0)
    memory = code.call("PyMem_RawMalloc", code.add(size, ALIGN))
    code.leave_if(code.compare(memory, "==", 0), 1)
    code.call("tiles", kernel, views, batch, align(code, memory))
    code.call("PyMem_RawFree", memory)
    code.leave(0)


def align(code: Code, address: Value) -> Value:
    """Return the next address that begins a cache line."""
    return code.b.and_(code.add(address, ALIGN - 1), const(-ALIGN))


def emit_tiles(module: Module, tile: Tile) -> None:
    """tiles(kernel, views, batch, workspace): run tile after tile."""
    code = module.function("tiles", 4, local=True)
    kernel, views, batch, workspace = code.arguments
    cuts, n_cuts, libm = (code.load(kernel, w) for w in (Kernel.CUTS, Kernel.N_CUTS, Kernel.LIBM))
    with code.loop(batch, tile.lanes) as first:
        outputs = move_ports(code, tile, "pack", first, workspace)
        with code.loop(n_cuts) as i:
            cut = code.load(code.add(cuts, code.mul(i, WORD)))
            code.call_address(cut, workspace, workspace, libm)
        move_ports(code, tile, "unpack", first, outputs)
    code.leave(0)


def move_ports(code: Code, tile: Tile, mover: str, first: Value, slots: Value) -> Value:
    """Move all inputs or all outputs of a tile; return the slot behind them."""
    kernel, views, batch, _ = code.arguments
    n_inputs = code.load(kernel, Kernel.N_INPUTS)
    begin = const(0) if mover == "pack" else n_inputs
    count = n_inputs if mover == "pack" else code.load(kernel, Kernel.N_OUTPUTS)
    ports = code.add(code.load(kernel, Kernel.PORTS), code.mul(begin, PORT_WORDS * WORD))
    views = code.add(views, code.mul(begin, VIEW_WORDS * WORD))
    with code.fold(count, slots) as turn:
        i, slot = turn.index, turn.value
        view = code.add(views, code.mul(i, VIEW_WORDS * WORD))
        size = code.load(code.add(ports, code.mul(i, PORT_WORDS * WORD)), Port.SIZE)
        data, step, stride = (code.load(view, w) for w in (View.DATA, View.STEP, View.STRIDE))
        # A repeated state stays in its slots from the first tile on.
        moves = code.b.or_(code.compare(stride, "!=", 0), code.compare(first, "==", 0))
        with code.when(moves):
            code.call(mover, slot, size, data, step, stride, first, batch)
        turn.next = code.add(slot, code.mul(size, tile.slot))
    return turn.result


@dataclass(frozen=True)
class Move:
    """What the inside of a mover needs."""

    code: Code
    tile: Tile
    slots: Value
    size: Value
    step: Value
    rows: Sequence[Value]  # the address of every lane's state

    def slot(self, element: Value) -> Value:
        return self.code.add(self.slots, self.code.mul(element, self.tile.slot))

    def load_slot(self, element: Value) -> Value:
        kind = self.tile.vector(self.tile.lanes)
        return self.code.load_as(kind, self.slot(element), min(self.tile.slot, ALIGN))

    def store_slot(self, value: Value, element: Value) -> None:
        self.code.store_as(value, self.slot(element), min(self.tile.slot, ALIGN))


Inside = Callable[[Move, Value], None]


def emit_mover(
    module: Module, tile: Tile, name: str, inside: tuple[Inside, Inside, Inside]
) -> None:
    """name(slots, size, data, step, stride, first, batch): move one array of a tile."""
    code = module.function(name, 7, local=True)
    slots, size, data, step, stride, first, batch = code.arguments
    last = code.add(batch, -1)
    states = [code.min(code.add(first, lane), last) for lane in range(tile.lanes)]
    rows = [code.add(data, code.mul(state, stride)) for state in states]
    move = Move(code, tile, slots, size, step, rows)
    by_rows, by_slot, by_element = inside

    close = code.compare(step, "==", tile.itemsize)
    with code.when(code.b.and_(close, code.compare(size, ">=", tile.columns))):
        final = code.add(size, -tile.columns)
        with code.loop(size, tile.columns) as column:
            by_rows(move, code.min(column, final))
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


def pack_rows(move: Move, column: Value) -> None:
    """Move a few neighbouring elements of every state into their slots."""
    code, tile = move.code, move.tile
    offset = code.mul(column, tile.itemsize)
    kind = tile.vector(tile.columns)
    loads = [code.load_as(kind, code.add(row, offset), tile.itemsize) for row in move.rows]
    if tile.lanes == 1:
        code.store_as(loads[0], move.slot(column), tile.itemsize)
        return
    squares = [
        transpose(code, tile, loads[lane : lane + tile.columns])
        for lane in range(0, tile.lanes, tile.columns)
    ]
    for j in range(tile.columns):
        move.store_slot(join(code, [square[j] for square in squares]), code.add(column, j))


def unpack_rows(move: Move, column: Value) -> None:
    """Move a few neighbouring elements of every state out of their slots."""
    code, tile = move.code, move.tile
    offset = code.mul(column, tile.itemsize)
    slots = [move.load_slot(code.add(column, j)) for j in range(tile.columns)]
    if tile.lanes == 1:
        # Scalars, as the cuts wrote them.
        for j, value in enumerate(slots):
            code.store_as(value, code.add(code.add(move.rows[0], offset), j * tile.itemsize), 1)
        return
    for lane in range(0, tile.lanes, tile.columns):
        part = [shuffle(code, s, s, range(lane, lane + tile.columns)) for s in slots]
        for k, row in enumerate(transpose(code, tile, part)):
            code.store_as(row, code.add(move.rows[lane + k], offset), tile.itemsize)


def pack_slot(move: Move, element: Value) -> None:
    """Move one element of neighbouring states: a slot is there already."""
    code, tile = move.code, move.tile
    address = code.add(move.rows[0], code.mul(element, move.step))
    move.store_slot(code.load_as(tile.vector(tile.lanes), address, tile.itemsize), element)


def unpack_slot(move: Move, element: Value) -> None:
    """Move a slot to neighbouring states."""
    code = move.code
    address = code.add(move.rows[0], code.mul(element, move.step))
    code.store_as(move.load_slot(element), address, move.tile.itemsize)


def gather(move: Move, element: Value) -> None:
    """Move one element of every state, wherever the states are."""
    code, tile = move.code, move.tile
    offset = code.mul(element, move.step)
    scalars = [
        code.load_as(tile.vector(1), code.add(row, offset), tile.itemsize) for row in move.rows
    ]
    if tile.lanes == 1:
        move.store_slot(scalars[0], element)
        return
    slot = ir.Constant(tile.vector(tile.lanes), ir.Undefined)
    for lane, scalar in enumerate(scalars):
        slot = code.b.insert_element(slot, scalar, ir.Constant(I32, lane))
    move.store_slot(slot, element)


def scatter(move: Move, element: Value) -> None:
    """Move one element of every state to wherever the states are."""
    code, tile = move.code, move.tile
    slot = move.load_slot(element)
    offset = code.mul(element, move.step)
    for lane, row in enumerate(move.rows):
        scalar = slot if tile.lanes == 1 else code.b.extract_element(slot, ir.Constant(I32, lane))
        code.store_as(scalar, code.add(row, offset), tile.itemsize)


def transpose(code: Code, tile: Tile, rows: Sequence[Value]) -> list[Value]:
    """Transpose a square of two or four rows."""
    if len(rows) == 2:
        return [shuffle(code, *rows, mask) for mask in ((0, 2), (1, 3))]
    a, b, c, d = rows
    if tile.itemsize == 8:  # within the halves of a register first, then across them
        even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
        w, x = shuffle(code, a, b, even), shuffle(code, c, d, even)
        y, z = shuffle(code, a, b, odd), shuffle(code, c, d, odd)
        pairs = ((w, x, 0), (y, z, 0), (w, x, 2), (y, z, 2))
    else:
        low, high = (0, 4, 1, 5), (2, 6, 3, 7)
        w, x = shuffle(code, a, b, low), shuffle(code, c, d, low)
        y, z = shuffle(code, a, b, high), shuffle(code, c, d, high)
        pairs = ((w, x, 0), (w, x, 2), (y, z, 0), (y, z, 2))
    return [shuffle(code, p, q, (k, k + 1, k + 4, k + 5)) for p, q, k in pairs]


def join(code: Code, parts: list[Value]) -> Value:
    """Return the parts one behind the other in one vector."""
    while len(parts) > 1:
        width = 2 * parts[0].type.count
        parts = [
            shuffle(code, p, q, range(width))
            for p, q in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def shuffle(code: Code, left: Value, right: Value, mask: Sequence[int]) -> Value:
    """Return the elements of left and right that the mask names."""
    if left is right and list(mask) == list(range(left.type.count)):
        return left
    indices = [ir.Constant(I32, k) for k in mask]
    kind = ir.VectorType(I32, len(indices))
    return code.b.shuffle_vector(left, right, ir.Constant(kind, indices))
