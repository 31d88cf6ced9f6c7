"""Fewer tiles for the last states of a loop: lanes that are not done move together.

    done_lanes(workspace, slot) -> one bit a lane, set where the slot is 1
    merge_tiles(kernel, workspaces, tiles, active, open, loop, log) -> active
    put_back(kernel, workspaces, loop, log, first)

A tile waits for its slowest state. So a state that is not done changes places with one
of another tile that is done, until the tile with the fewest is empty. Lanes are
independent: no result changes by a bit. What a loop keeps of states that are done is
exchanged, and put back when the loop ends; all else that a step reads is copied, as a
state that is done needs it no more. The log has how many exchanges there are, and one
word for each.
"""

from __future__ import annotations

from ramidyn.backend.llvm.word_builder import I64, Code, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import LINE, Kernel
from ramidyn.backend.runtime.tiles import Tile

MOST_EXCHANGES = 255
"""words of the log: more tiles stay apart"""
SIDE_BY_SIDE = 8
"""slots that are copied at once"""
FIELD = 8
"""bits of a word of the log for each of two tiles and their lanes"""


def emit_merging(module: Module, tile: Tile) -> None:
    """Emit the functions."""
    emit_done_lanes(module, tile)
    emit_exchange(module, tile)
    emit_merge_tiles(module, tile)
    emit_put_back(module, tile)


def emit_done_lanes(module: Module, tile: Tile) -> None:
    """done_lanes(workspace, slot): one bit a lane, set where the slot is 1."""
    code = module.function("done_lanes", 2, local=True)
    workspace, slot = code.arguments
    kind, align = tile.vector(tile.lanes), min(tile.slot, LINE)
    value = code.load_as(kind, code.add(workspace, slot), align)
    if tile.lanes == 1:
        is_done = code.b.fcmp_ordered("==", value, ir.Constant(kind, 1.0))
        code.leave(code.b.zext(is_done, I64))
        return
    ones = ir.Constant(kind, [1.0] * tile.lanes)
    is_done = code.b.fcmp_ordered("==", value, ones)
    bits = code.b.bitcast(is_done, ir.IntType(tile.lanes))
    code.leave(bits if tile.lanes == I64.width else code.b.zext(bits, I64))


def emit_exchange(module: Module, tile: Tile) -> None:
    """exchange(workspace, other, pairs, count, slot, carried, size).

    Exchange so many bytes that are carried, and copy what follows to the other, for
    each pair of lanes: all of them slot by slot, as they lie in one line of the cache.
    """
    code = module.function("exchange", 7, local=True)
    workspace, other, pairs, count, slot, carried, size = code.arguments
    mine, theirs = (code.add(place, slot) for place in (workspace, other))
    with code.loop(carried, tile.slot) as offset, code.loop(count) as k:
        pair = _lanes(code, (mine, theirs), offset, code.at(pairs, code.mul(k, 2)))
        values = [code.load_as(tile.vector(1), x, tile.itemsize) for x in pair]
        for value, place in zip(values, reversed(pair), strict=True):
            code.store_as(value, place, tile.itemsize)
    rest = code.b.sub(size, carried)
    few = code.b.srem(rest, const(SIDE_BY_SIDE * tile.slot))
    for begin, total, together in (
        (carried, few, 1),
        (code.add(carried, few), code.b.sub(rest, few), SIDE_BY_SIDE),
    ):
        places = code.add(mine, begin), code.add(theirs, begin)
        with code.loop(total, together * tile.slot) as offset, code.loop(count) as k:
            pair = _lanes(code, places, offset, code.at(pairs, code.mul(k, 2)))
            _copy_lane(code, tile, *pair, together)
    code.leave(0)


def _lanes(
    code: Code, places: tuple[Value, Value], offset: Value, pair: Value
) -> tuple[Value, Value]:
    """Return the addresses of a pair of lanes, given by their offsets in a slot."""
    first, second = (
        code.add(code.add(place, offset), code.load(pair, n))
        for n, place in enumerate(places)
    )
    return first, second


def _copy_lane(
    code: Code, tile: Tile, source: Value, target: Value, slots: int
) -> None:
    """Copy a lane of so many slots."""
    values = [
        code.load_as(tile.vector(1), code.add(source, k * tile.slot), tile.itemsize)
        for k in range(slots)
    ]
    for k, value in enumerate(values):
        code.store_as(value, code.add(target, k * tile.slot), tile.itemsize)


def emit_merge_tiles(module: Module, tile: Tile) -> None:
    """merge_tiles(kernel, workspaces, tiles, active, open, loop, log): active tiles.

    ``open`` has the lanes of each tile that are not done, ``loop`` the words of the
    loop's `Op.UNTIL`.
    """
    code = module.function("merge_tiles", 7, local=True)
    kernel, workspaces, tiles, given, is_open, loop, log = code.arguments
    size = code.load(kernel, Kernel.BYTES)
    slot, carried, all_bytes = (code.load(loop, k) for k in (1, 3, 4))
    active, fewest, least, total = (code.cell(0) for _ in range(4))
    target, pairs = code.cell(0), code.cell(0, 2 * tile.lanes)
    code.store(given, active)
    with code.repeat():
        for cell in (fewest, total):
            code.store(const(0), cell)
        code.store(const(tile.lanes + 1), least)
        with code.loop(tiles) as i, code.when(is_set(code, code.load(active), i)):
            count = _count(code, code.load(code.at(is_open, i)))
            # All but one tile must have room for the lanes of all.
            more = code.add(code.load(total), code.add(count, -tile.lanes))
            code.store(more, total)
            with code.when(code.compare(count, "<", code.load(least))):
                code.store(count, least)
                code.store(i, fewest)
        source, moved = code.load(fewest), code.load(least)
        used = code.add(code.load(log), moved)
        has_no_room = code.compare(code.load(total), ">", -tile.lanes)
        is_full = code.compare(used, ">", MOST_EXCHANGES)
        for condition in (has_no_room, is_full):
            code.leave_if(condition, code.load(active))
        code.store(code.b.xor(code.load(active), _bit(code, source)), active)
        mine = code.at(is_open, source)
        with code.loop(moved), code.when(code.compare(code.load(mine), "!=", 0)):
            with code.loop(tiles) as j, code.when(is_set(code, code.load(active), j)):
                its = code.load(code.at(is_open, j))
                with code.when(code.compare(_count(code, its), "<", tile.lanes)):
                    code.store(j, target)
            other = code.load(target)
            theirs = code.at(is_open, other)
            room = code.b.sub(const(tile.lanes), _count(code, code.load(theirs)))
            count = code.min(room, _count(code, code.load(mine)))
            with code.loop(count) as k:
                lane = _lowest(code, code.load(mine))
                free = _lowest(code, code.b.not_(code.load(theirs)))
                pair = code.at(pairs, code.mul(k, 2))
                for n, (place, of) in enumerate(((mine, lane), (theirs, free))):
                    code.store(code.b.xor(code.load(place), _bit(code, of)), place)
                    code.store(code.mul(of, tile.itemsize), pair, n)
                word = const(0)
                for field in (source, lane, other, free):
                    word = code.b.or_(code.b.shl(word, const(FIELD)), field)
                used = code.add(code.load(log), 1)
                code.store(used, log)
                code.store(word, code.at(log, used))
            mine_at, theirs_at = (
                code.add(workspaces, code.mul(k, size)) for k in (source, other)
            )
            lanes = pairs, count
            code.call("exchange", mine_at, theirs_at, *lanes, slot, carried, all_bytes)


def emit_put_back(module: Module, tile: Tile) -> None:
    """put_back(kernel, workspaces, loop, log, first): undo exchanges, the last first.

    Those before ``first`` belong to loops around this one.
    """
    code = module.function("put_back", 5, local=True)
    kernel, workspaces, loop, log, first = code.arguments
    size = code.load(kernel, Kernel.BYTES)
    slot, carried = (code.load(loop, k) for k in (1, 3))
    pair = code.cell(0, 2)
    with code.repeat():
        count = code.load(log)
        code.leave_if(code.compare(count, "<=", first), 0)
        word = code.load(code.at(log, count))
        code.store(code.add(count, -1), log)
        fields = [
            code.b.and_(code.b.lshr(word, const(shift)), const(2**FIELD - 1))
            for shift in (3 * FIELD, 2 * FIELD, FIELD, 0)
        ]
        source, lane, other, free = fields
        mine, theirs = (
            code.add(workspaces, code.mul(k, size)) for k in (source, other)
        )
        for n, of in enumerate((lane, free)):
            code.store(code.mul(of, tile.itemsize), pair, n)
        code.call("exchange", mine, theirs, pair, const(1), slot, carried, carried)


def is_set(code: Code, bits: Value, i: Value) -> Value:
    """Return whether a bit is set."""
    bit = code.b.and_(code.b.lshr(bits, i), const(1))
    return code.compare(bit, "!=", 0)


def _bit(code: Code, i: Value) -> Value:
    return code.b.shl(const(1), i)


def _count(code: Code, bits: Value) -> Value:
    return code.b.call(code.module.intrinsic("llvm.ctpop.i64", I64), [bits])


def _lowest(code: Code, bits: Value) -> Value:
    """Return the place of the lowest bit that is set."""
    below = code.b.and_(code.b.not_(bits), code.add(bits, -1))
    return _count(code, below)
