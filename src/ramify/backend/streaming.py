"""Streaming: how results leave that are too many for any cache.

Such results wait for memory. So they are written past the caches, which would first
fetch what is about to be overwritten; and part by part between the cuts of the next
group, in the order of their addresses: memory takes a part while a cut computes.
"""

from __future__ import annotations

from ramify.backend.assembler import Code, Module, Value, const
from ramify.backend.groups import Groups, Ports
from ramify.backend.tiles import Tile, begin_mover, scatter, unpack_rows
from ramify.backend.words import LINE, NEVER, PLACE, Kernel


def goes_far(code: Code, tile: Tile) -> Value:
    """Return whether the results that can be streamed are too many for a cache."""
    kernel, _, batch = code.arguments
    outputs = Ports(code, Kernel.N_OUTPUTS)
    with code.fold(outputs.count, 0) as turn:
        size, _, step, stride = outputs[turn.index]
        counts = code.b.select(can_stream(code, tile, step, stride), size, const(0))
        turn.next = code.add(turn.value, counts)
    size = code.mul(code.mul(turn.result, tile.itemsize), batch)
    return code.compare(size, ">=", code.load(kernel, Kernel.FAR))


def can_stream(code: Code, tile: Tile, step: Value, stride: Value) -> Value:
    """Return whether an array's states are aligned alike and have no gaps."""
    rest = code.b.and_(stride, const(tile.unit - 1))
    return code.b.and_(
        code.compare(step, "==", tile.itemsize), code.compare(rest, "==", 0)
    )


def emit_stream_groups(module: Module, tile: Tile) -> None:
    """Like groups, but a group is unpacked while the next one is computed."""
    emit_stream(module, tile)
    emit_stream_tile(module, tile)
    groups = Groups(module, tile, "stream_groups", sets=2)
    code, most = groups.code, groups.most
    kernel = code.arguments[0]
    elements, part = (code.load(kernel, w) for w in (Kernel.ELEMENTS, Kernel.PART))
    # The tile and the element of the group before that come next.
    next_tile, next_element = code.cell(0), code.cell(0)

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

    code.store(most, next_tile)  # there is no group before the first
    with code.loop(groups.count) as group:
        before = code.add(group, -1)
        groups.pack(group)
        with (
            groups.each_cut(group),
            code.when(code.compare(code.load(next_tile), "<", most)),
        ):
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
        size, data, step, stride = outputs[turn.index]
        is_streamed = can_stream(code, tile, step, stride)
        row = code.add(data, code.mul(state, stride))

        def bound(element: Value) -> Value:
            """Return a bound as an element of this output; parts end with a line."""
            k = code.max(code.b.sub(element, turn.value), 0)
            address = code.add(row, code.mul(k, tile.itemsize))
            gap = code.b.and_(code.b.neg(address), const(LINE - 1))
            gap = code.b.sdiv(gap, const(tile.itemsize))
            is_inside = code.b.and_(is_streamed, code.compare(k, ">", 0))
            return code.min(code.b.select(is_inside, code.add(k, gap), k), size)

        first, last = bound(begin), bound(end)
        place = code.add(places, code.mul(code.add(turn.value, first), PLACE))
        start = code.add(data, code.mul(first, step))
        some = workspace, place, code.b.sub(last, first), start, step, stride
        with code.when(code.compare(first, "<", last)):
            with code.when(is_streamed):
                code.call("stream", *some, state, batch)
            with code.when(code.b.not_(is_streamed)):
                code.call("unpack", *some, state, batch)
        turn.next = code.add(turn.value, size)
    code.leave(0)


def emit_stream(module: Module, tile: Tile) -> None:
    """Emit the mover of elements side by side, past the caches.

    What is written so must begin at a multiple of its own size.
    """
    move = begin_mover(module, tile, "stream", is_streamed=True)
    code, size = move.code, move.code.arguments[2]
    gap = code.b.and_(code.b.neg(move.rows[0]), const(tile.unit - 1))
    head = code.min(code.b.sdiv(gap, const(tile.itemsize)), size)
    squares = code.b.sdiv(code.b.sub(size, head), const(tile.columns))
    body = code.mul(squares, tile.columns)
    tail = code.add(head, body)
    with code.loop(head) as element:
        scatter(move, element)
    with code.loop(body, tile.columns) as column:
        unpack_rows(move, code.add(head, column))
    with code.loop(code.b.sub(size, tail)) as element:
        scatter(move, code.add(tail, element))
    code.leave(0)
