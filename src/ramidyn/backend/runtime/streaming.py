"""Streaming stores for results that do not fit in any cache.

Such results wait for memory. So they are written past the caches, which would first
fetch what is about to be overwritten. Tiles with small workspaces are written part by
part between the cuts of the next group, in the order of their addresses: memory takes a
part while a cut computes. A large workspace would leave the cache before its turn.

This is for tiles whose squares have whole cache lines of each state, eight doubles or
sixteen floats, and for four doubles. Where the lines of the states begin alike, whole
ones are written; else halves, of which the processor combines two. With narrower
squares more lines are begun side by side than it combines, and it does not pay.
"""

from __future__ import annotations

from ramidyn.backend.llvm.word_builder import Code, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import LINE, NEVER, PLACE, Kernel
from ramidyn.backend.runtime.tile_groups import Groups, Ports, emit_groups
from ramidyn.backend.runtime.tiles import (
    Tile,
    TileMove,
    begin_mover,
    shuffle,
    transpose,
)

HALF = LINE // 2


def goes_far(code: Code, tile: Tile) -> Value:
    """Return whether the results that can be streamed are too many for a cache."""
    kernel, _, batch = code.arguments
    outputs = Ports(code, Kernel.N_OUTPUTS)
    with code.fold(outputs.count, 0) as turn:
        size, _, step, stride = outputs.read(turn.index)
        counts = code.b.select(
            can_stream(code, tile, size, step, stride), stride, const(0)
        )
        turn.next = code.add(turn.value, counts)
    size = code.mul(turn.result, batch)
    return code.compare(size, ">=", code.load(kernel, Kernel.FAR))


def can_stream(
    code: Code, tile: Tile, size: Value, step: Value, stride: Value
) -> Value:
    """Return whether an array has no gaps and its states begin with halves of lines.

    The states of a tile are written side by side. States that are a multiple of 2 kB
    apart conflict in the cache: that takes twice as long.
    """
    is_dense = code.b.and_(
        code.compare(step, "==", tile.itemsize),
        code.compare(stride, "==", code.mul(size, tile.itemsize)),
    )
    is_aligned = is_multiple(code, stride, HALF)
    is_apart = code.compare(code.b.and_(stride, const(2047)), "!=", 0)
    return code.b.and_(is_dense, code.b.and_(is_aligned, is_apart))


def is_multiple(code: Code, x: Value, power: int) -> Value:
    """Return whether a number is a multiple of a power of two."""
    return code.compare(code.b.and_(x, const(power - 1)), "==", 0)


def emit_stream_groups(module: Module, tile: Tile) -> None:
    """Emit groups whose results go past the caches: at once, or with the next group."""
    for unit in (LINE, HALF) if tile.slot == LINE else (HALF,):
        emit_stream(module, tile, unit)
    emit_stream_tile(module, tile)
    emit_groups(module, tile, "stream_at_once", "stream_tile", 0, NEVER)
    emit_groups_with_the_next(module, tile)


def emit_groups_with_the_next(module: Module, tile: Tile) -> None:
    """Like groups, but a group is unpacked while the next one is computed."""
    groups = Groups(module, tile, "stream_with_next", sets=2)
    code, most = groups.code, groups.most
    kernel = code.arguments[0]
    elements, part = (code.load(kernel, w) for w in (Kernel.ELEMENTS, Kernel.PART))
    # The tile and the element of the group before that come next; the first has none.
    next_tile, next_element = code.cell(most), code.cell(0)

    def stream_part(group: Value) -> None:
        i, begin = code.load(next_tile), code.load(next_element)
        end = code.add(begin, part)
        code.call("stream_tile", *groups.call, *groups.place(group, i), begin, end)
        is_whole = code.compare(end, ">=", elements)
        code.store(code.b.select(is_whole, const(0), end), next_element)
        code.store(code.add(i, code.b.zext(is_whole, i.type)), next_tile)

    def stream_rest(group: Value) -> None:
        first, element = code.load(next_tile), code.load(next_element)
        left = code.b.sub(groups.tiles(group), first)
        with code.fold(left, element) as turn:
            place = groups.place(group, code.add(first, turn.index))
            code.call("stream_tile", *groups.call, *place, turn.value, NEVER)
            turn.next = const(0)
        code.store(const(0), next_tile)
        code.store(const(0), next_element)

    with code.loop(groups.count) as group:
        before = code.add(group, -1)
        groups.pack(group)
        with groups.each_cut(group):
            is_left = code.compare(code.load(next_tile), "<", most)
            with code.when(is_left):
                stream_part(before)
        stream_rest(before)
    stream_rest(code.add(groups.count, -1))
    code.b.fence("seq_cst")
    code.leave(0)


def emit_stream_tile(module: Module, tile: Tile) -> None:
    """stream_tile(kernel, views, batch, state, workspace, begin, end).

    Move the outputs' elements from ``begin`` to ``end``, counted through all outputs.
    """
    code = module.function("stream_tile", 7, local=True)
    kernel, _, batch, state, workspace, begin, end = code.arguments
    places = code.load(kernel, Kernel.PLACES)
    outputs = Ports(code, Kernel.N_OUTPUTS)
    with code.fold(outputs.count, 0) as turn:
        size, data, step, stride = outputs.read(turn.index)
        is_streamed = can_stream(code, tile, size, step, stride)
        row = code.add(data, code.mul(state, stride))

        def bound(element: Value) -> Value:
            """Return a bound as an element of this output; parts end with a line."""
            k = code.max(code.b.sub(element, turn.value), 0)
            gap = gap_to(code, tile, code.add(row, code.mul(k, tile.itemsize)), LINE)
            is_inside = code.b.and_(is_streamed, code.compare(k, ">", 0))
            return code.min(code.b.select(is_inside, code.add(k, gap), k), size)

        first, last = bound(begin), bound(end)
        place = code.add(places, code.mul(code.add(turn.value, first), PLACE))
        start = code.add(data, code.mul(first, step))
        some = workspace, place, code.b.sub(last, first), start, step, stride
        with code.when(code.compare(first, "<", last)):
            with code.when(is_streamed):
                stream_in_units(code, tile, stride, *some, state, batch)
            with code.when(code.b.not_(is_streamed)):
                code.call("unpack", *some, state, batch)
        turn.next = code.add(turn.value, size)
    code.leave(0)


def stream_in_units(code: Code, tile: Tile, stride: Value, *call: Value) -> None:
    """Call the mover that writes whole lines where states begin with them."""
    if tile.slot == LINE:
        is_line = is_multiple(code, stride, LINE)
        with code.when(is_line):
            code.call(f"stream{LINE}", *call)
        with code.when(code.b.not_(is_line)):
            code.call(f"stream{HALF}", *call)
    else:
        code.call(f"stream{HALF}", *call)


def gap_to(code: Code, tile: Tile, address: Value, size: int) -> Value:
    """Return how many elements there are up to the next multiple of a power of two."""
    gap = code.b.and_(code.b.neg(address), const(size - 1))
    return code.b.sdiv(gap, const(tile.itemsize))


def emit_stream(module: Module, tile: Tile, unit: int) -> None:
    """Emit the mover of elements side by side, past the caches.

    What is written so must begin at a multiple of its own size.
    """
    move = begin_mover(module, tile, f"stream{unit}")
    code, size = move.code, move.code.arguments[2]
    head = code.min(gap_to(code, tile, move.rows[0], tile.slot), size)
    body = code.b.and_(code.b.sub(size, head), const(-tile.lanes))
    tail = code.add(head, body)
    with code.loop(head) as element:
        stream_element(move, element)
    with code.loop(body, tile.lanes) as column:
        stream_square(move, code.add(head, column), unit // tile.itemsize)
    with code.loop(code.b.sub(size, tail)) as element:
        stream_element(move, code.add(tail, element))
    code.leave(0)


def stream_square(move: TileMove, column: Value, together: int) -> None:
    """Move as many neighboring elements of every state as there are states.

    So many of them are written together.
    """
    code, tile = move.code, move.tile
    slots = [move.load_slot(code.add(column, j)) for j in range(tile.lanes)]
    for row, elements in zip(move.rows, transpose(code, slots), strict=True):
        for k in range(0, tile.lanes, together):
            some = shuffle(code, elements, elements, range(k, k + together))
            offset = code.mul(code.add(column, k), tile.itemsize)
            size = together * tile.itemsize
            code.stream_as(some, code.add(row, offset), size)


def stream_element(move: TileMove, element: Value) -> None:
    """Move one element of every state, as an integer: all x86 can stream these."""
    code, size = move.code, move.tile.itemsize
    source, offset = move.source(element), code.mul(element, size)
    for lane, row in enumerate(move.rows):
        bits = code.load_as(ir.IntType(8 * size), code.add(source, lane * size), size)
        code.stream_as(bits, code.add(row, offset), size)
