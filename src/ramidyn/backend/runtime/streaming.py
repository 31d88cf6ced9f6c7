"""Streaming stores for results that do not fit in any cache.

Such results wait for memory. So they are written past the caches, which would first
fetch what is about to be overwritten. Tiles with small workspaces are written part by
part between the cuts of the next group, in the order of their addresses: memory takes a
part while a cut computes. A large workspace would leave the cache before its turn.

This is for tiles whose squares have whole cache lines of each state, eight doubles or
sixteen floats, and for four doubles. With AVX-512 whole lines are written, wherever a
state begins: a line of it has parts of two squares. Else halves of lines are written,
of which the processor combines two, if all states begin with one. With narrower squares
more lines are begun side by side than it combines, and it does not pay.
"""

from __future__ import annotations

from ramidyn.backend.llvm.target import Processor
from ramidyn.backend.llvm.word_builder import I32, I64, Code, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import LINE, NEVER, PLACE, WORD, Kernel
from ramidyn.backend.runtime.tile_groups import Groups, Ports, emit_groups
from ramidyn.backend.runtime.tiles import (
    Tile,
    TileMove,
    begin_mover,
    shuffle,
    transpose,
)

HALF = LINE // 2


def has_lines(tile: Tile, target: Processor) -> bool:
    """Return whether whole lines are written, wherever a state begins."""
    return target.is_x86 and tile.slot == LINE == target.vector_bytes


def goes_far(code: Code, tile: Tile, by_lines: bool) -> Value:
    """Return whether the results that can be streamed are too many for a cache."""
    kernel, _, batch = code.arguments
    outputs = Ports(code, Kernel.N_OUTPUTS)
    with code.fold(outputs.count, 0) as turn:
        size, _, step, stride = outputs.read(turn.index)
        counts = code.b.select(
            can_stream(code, tile, by_lines, size, step, stride), stride, const(0)
        )
        turn.next = code.add(turn.value, counts)
    size = code.mul(turn.result, batch)
    return code.compare(size, ">=", code.load(kernel, Kernel.FAR))


def can_stream(
    code: Code, tile: Tile, by_lines: bool, size: Value, step: Value, stride: Value
) -> Value:
    """Return whether an array has no gaps and its states begin where they must.

    The states of a tile are written side by side. States that are a multiple of 2 kB
    apart conflict in the cache: that takes twice as long.
    """
    is_dense = code.b.and_(
        code.compare(step, "==", tile.itemsize),
        code.compare(stride, "==", code.mul(size, tile.itemsize)),
    )
    is_aligned = is_multiple(code, stride, tile.itemsize if by_lines else HALF)
    is_apart = code.compare(code.b.and_(stride, const(2047)), "!=", 0)
    return code.b.and_(is_dense, code.b.and_(is_aligned, is_apart))


def is_multiple(code: Code, x: Value, power: int) -> Value:
    """Return whether a number is a multiple of a power of two."""
    return code.compare(code.b.and_(x, const(power - 1)), "==", 0)


def emit_stream_groups(module: Module, tile: Tile, by_lines: bool) -> None:
    """Emit groups whose results go past the caches: at once, or with the next group."""
    if by_lines:
        emit_stream_span(module, tile)
        emit_stream_lines(module, tile)
    else:
        emit_stream_halves(module, tile)
    emit_stream_tile(module, tile, by_lines)
    emit_groups(module, tile, "stream_at_once", "stream_tile", 0, NEVER)
    emit_groups_with_the_next(module, tile)


def emit_groups_with_the_next(module: Module, tile: Tile) -> None:
    """Like groups, but a group is unpacked while the next one is computed."""
    groups = Groups(module, tile, "stream_with_next", sets=2, brings=True)
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


def emit_stream_tile(module: Module, tile: Tile, by_lines: bool) -> None:
    """stream_tile(kernel, views, batch, state, workspace, begin, end).

    Move the outputs' elements from ``begin`` to ``end``, counted through all outputs.
    """
    code = module.function("stream_tile", 7, local=True)
    kernel, _, batch, state, workspace, begin, end = code.arguments
    places = code.load(kernel, Kernel.PLACES)
    outputs = Ports(code, Kernel.N_OUTPUTS)
    with code.fold(outputs.count, 0) as turn:
        size, data, step, stride = outputs.read(turn.index)
        is_streamed = can_stream(code, tile, by_lines, size, step, stride)
        row = code.add(data, code.mul(state, stride))

        def bound(element: Value) -> Value:
            """Return a bound as an element of this output; parts end with a line."""
            k = code.max(code.b.sub(element, turn.value), 0)
            if by_lines:
                is_end = code.compare(k, ">=", size)
                return code.b.select(is_end, size, code.b.and_(k, const(-tile.lanes)))
            gap = gap_to(code, tile, code.add(row, code.mul(k, tile.itemsize)), LINE)
            is_inside = code.b.and_(is_streamed, code.compare(k, ">", 0))
            return code.min(code.b.select(is_inside, code.add(k, gap), k), size)

        first, last = bound(begin), bound(end)
        place = code.add(places, code.mul(turn.value, PLACE))
        whole = workspace, place, size, data, step, stride
        some = (
            workspace,
            code.add(place, code.mul(first, PLACE)),
            code.b.sub(last, first),
            code.add(data, code.mul(first, step)),
            *(step, stride),
        )
        with code.when(code.compare(first, "<", last)):
            with code.when(is_streamed):
                if by_lines:
                    code.call("stream_lines", *whole, state, batch, first, last)
                else:
                    code.call("stream_halves", *some, state, batch)
            with code.when(code.b.not_(is_streamed)):
                code.call("unpack", *some, state, batch)
        turn.next = code.add(turn.value, size)
    code.leave(0)


def gap_to(code: Code, tile: Tile, address: Value, size: int) -> Value:
    """Return how many elements there are up to the next multiple of a power of two."""
    gap = code.b.and_(code.b.neg(address), const(size - 1))
    return code.b.sdiv(gap, const(tile.itemsize))


# ------------------------------------------------------------ halves of lines


def emit_stream_halves(module: Module, tile: Tile) -> None:
    """Emit the mover of elements side by side, past the caches.

    What is written so must begin at a multiple of its own size.
    """
    move = begin_mover(module, tile, "stream_halves")
    code, size = move.code, move.code.arguments[2]
    head = code.min(gap_to(code, tile, move.rows[0], tile.slot), size)
    body = code.b.and_(code.b.sub(size, head), const(-tile.lanes))
    tail = code.add(head, body)
    with code.loop(head) as element:
        stream_element(move, element)
    with code.loop(body, tile.lanes) as column:
        stream_square(move, code.add(head, column))
    with code.loop(code.b.sub(size, tail)) as element:
        stream_element(move, code.add(tail, element))
    code.leave(0)


def stream_square(move: TileMove, column: Value) -> None:
    """Move as many neighboring elements of every state as there are states."""
    code, tile = move.code, move.tile
    together = HALF // tile.itemsize
    for row, elements in zip(move.rows, square_at(move, column), strict=True):
        for k in range(0, tile.lanes, together):
            some = shuffle(code, elements, elements, range(k, k + together))
            offset = code.mul(code.add(column, k), tile.itemsize)
            code.stream_as(some, code.add(row, offset), HALF)


def square_at(move: TileMove, column: Value) -> list[Value]:
    """Return as many neighboring elements of every state as there are states."""
    code, tile = move.code, move.tile
    slots = [move.load_slot(code.add(column, j)) for j in range(tile.lanes)]
    return transpose(code, slots)


def stream_element(move: TileMove, element: Value) -> None:
    """Move one element of every state."""
    code, size = move.code, move.tile.itemsize
    source, offset = move.source(element), code.mul(element, size)
    for lane, row in enumerate(move.rows):
        stream_one(code, size, code.add(source, lane * size), code.add(row, offset))


def stream_one(code: Code, size: int, source: Value, target: Value) -> None:
    """Move one element, as an integer: all x86 can stream these."""
    bits = code.load_as(ir.IntType(8 * size), source, size)
    code.stream_as(bits, target, size)


# ------------------------------------------------------------ whole lines


def emit_stream_lines(module: Module, tile: Tile) -> None:
    """stream_lines(..., begin, end): the lines of all states that end in some squares.

    ``begin`` is the first element of a square. The first and the last elements of a
    state, which are parts of lines, are moved one by one with its first and last
    square.
    """
    move = begin_mover(module, tile, "stream_lines", further=2)
    code, lanes = move.code, tile.lanes
    size, begin, end = code.arguments[2], *code.arguments[-2:]
    heads = [gap_to(code, tile, row, LINE) for row in move.rows]
    picks = [_pick(code, tile, head) for head in heads]
    before = code.cell(0, lanes * LINE // WORD)
    kept = [code.add(before, lane * LINE) for lane in range(lanes)]
    whole = code.b.and_(size, const(-lanes))
    first = code.max(begin, lanes)
    count = code.b.sub(code.min(end, whole), first)

    def keep(square: list[Value]) -> None:
        for place, elements in zip(kept, square, strict=True):
            code.store_as(elements, place, LINE)

    with code.when(code.compare(count, ">", 0)):
        keep(square_at(move, code.add(first, -lanes)))
    with code.loop(count, lanes) as turn:
        column = code.add(first, turn)
        square = square_at(move, column)
        left = [
            code.load_as(x.type, k, LINE) for x, k in zip(square, kept, strict=True)
        ]
        for k, elements in enumerate(square):
            line = _two_parts(code, tile, left[k], picks[k], elements)
            at = code.add(code.add(column, heads[k]), -lanes)
            code.stream_as(line, _address(move, k, at), LINE)
        keep(square)
    done = code.max(code.add(whole, -lanes), 0)
    for k, head in enumerate(heads):
        with code.when(code.compare(begin, "==", 0)):
            _stream_span(move, k, const(0), code.min(head, size))
        with code.when(code.compare(end, ">=", size)):
            _stream_span(move, k, code.min(code.add(head, done), size), size)
    code.leave(0)


def _address(move: TileMove, lane: int, element: Value) -> Value:
    """Return where an element of a state belongs."""
    return move.code.add(move.rows[lane], move.code.mul(element, move.tile.itemsize))


def _pick(code: Code, tile: Tile, head: Value) -> Value:
    """Return which elements of two squares side by side are a line: from head on."""
    kind = I64 if tile.itemsize == WORD else I32
    vector = ir.VectorType(kind, tile.lanes)
    number = head if kind is I64 else code.b.trunc(head, kind)
    one = code.b.insert_element(
        ir.Constant(vector, ir.Undefined), number, ir.Constant(I32, 0)
    )
    same = code.b.shuffle_vector(
        one, one, ir.Constant(ir.VectorType(I32, tile.lanes), [0] * tile.lanes)
    )
    return code.b.add(same, ir.Constant(vector, list(range(tile.lanes))))


def _two_parts(
    code: Code, tile: Tile, left: Value, picks: Value, right: Value
) -> Value:
    """Return the elements of left and right that are picked: one instruction."""
    kind = "pd" if tile.itemsize == WORD else "ps"
    name = f"llvm.x86.avx512.vpermi2var.{kind}.512"
    types = [left.type, picks.type, right.type]
    return code.b.call(
        code.module.external(name, left.type, types), [left, picks, right]
    )


def _stream_span(move: TileMove, lane: int, begin: Value, end: Value) -> None:
    code, tile = move.code, move.tile
    source = code.add(move.workspace, lane * tile.itemsize)
    code.call("stream_span", source, move.place, move.rows[lane], begin, end)


def emit_stream_span(module: Module, tile: Tile) -> None:
    """stream_span(workspace, place, row, begin, end): some elements of one state."""
    code = module.function("stream_span", 5, local=True)
    workspace, place, row, begin, end = code.arguments
    with code.loop(code.b.sub(end, begin)) as turn:
        element = code.add(begin, turn)
        offset = code.load_int(code.add(place, code.mul(element, PLACE)))
        target = code.add(row, code.mul(element, tile.itemsize))
        stream_one(code, tile.itemsize, code.add(workspace, offset), target)
    code.leave(0)
