"""The time loop: run a kernel step by step, its results the next step's inputs.

    scan(kernel, views, batch, loop) -> 0, or 1 if there is no memory

A group of tiles runs through all steps before the next group begins, and its state
stays in its workspaces: only the slots of what is carried over are copied. Inputs that
change with time are packed before a step; recorded outputs are unpacked after it.
The steps of one state lie side by side in its arrays, far from those of the others, and
no processor guesses what comes next there: so what the next step reads and writes is
fetched while this one runs.
"""

from __future__ import annotations

import functools

from ramidyn.backend.llvm.build import load_functions
from ramidyn.backend.llvm.target import Processor, runnable
from ramidyn.backend.llvm.word_builder import Code, Module, Value, const
from ramidyn.backend.runtime.driver_code import (
    emit_run_steps,
    flush_denormals,
    run_groups,
)
from ramidyn.backend.runtime.memory_layout import (
    IS_TABLE,
    LINE,
    PLACE,
    VIEW_WORDS,
    WORD,
    Kernel,
    TimeLoop,
    View,
)
from ramidyn.backend.runtime.tile_groups import (
    Groups,
    Ports,
    emit_fetch,
    fetcher,
    tiles_of,
)
from ramidyn.backend.runtime.tiles import Tile, emit_movers

NEAREST = 3
"""the nearest cache, in LLVM's count"""


def scan_driver(dtype: str, lanes: int) -> int:
    """Return the address of ``scan`` for one element type and tile width."""
    return _scan_driver(dtype, lanes, runnable())


@functools.cache
def _scan_driver(dtype: str, lanes: int, _target: Processor) -> int:
    tile = Tile(dtype, lanes)
    return load_functions(
        lambda: str(emit(tile).llvm), ["scan"], f"scan {dtype} {lanes}"
    )[0]


def emit(tile: Tile) -> Module:
    """Write the time loop for one kind of tile."""
    module = Module(f"scan_{tile.dtype}_{tile.lanes}")
    emit_movers(module, tile)
    emit_run_steps(module, tile)
    emit_fetch(module, tile, NEAREST)
    emit_fetch_beside(module, tile)
    emit_pack_step(module, tile)
    emit_unpack_some(module, tile)
    emit_carry_over(module, tile)
    emit_scan_groups(module, tile)
    emit_scan_all(module, tile)
    code = module.function("scan", 4)
    with flush_denormals(code, runnable()):
        failed = code.call("scan_all", *code.arguments)
    code.leave(failed)
    return module


def emit_scan_all(module: Module, tile: Tile) -> None:
    """scan_all(kernel, views, batch, loop): choose how many tiles run together."""
    code = module.function("scan_all", 4, local=True)
    kernel, _, batch, _ = code.arguments
    most = code.min(code.load(kernel, Kernel.TILES), tiles_of(code, tile, batch))
    run_groups(code, "scan_groups", most, 1, runnable())
    code.leave(1)


def emit_scan_groups(module: Module, tile: Tile) -> None:
    """scan_groups(kernel, views, batch, loop, workspaces, most)."""
    groups = Groups(module, tile, "scan_groups", sets=1, arguments=6)
    code = groups.code
    kernel, loop = code.arguments[0], code.arguments[3]
    steps, wait, every, n_records, moves, n_moves = (
        code.load(loop, w) for w in TimeLoop
    )
    n_outputs = code.load(kernel, Kernel.N_OUTPUTS)
    due, row = code.cell(0), code.cell(0)
    with code.loop(groups.count) as group:
        code.store(wait, due)
        code.store(code.mul(wait, 0), row)

        def on_tiles(name: str, *further: Value | int, group: Value = group) -> None:
            with code.loop(groups.tiles(group)) as i:
                code.call(name, *groups.call, *groups.place(group, i), *further)

        with code.loop(steps) as step:
            on_tiles("pack_step", step)
            with groups.each_cut(group):
                pass
            with code.when(code.compare(step, "==", code.load(due))):
                on_tiles("unpack_some", 0, n_records, code.load(row))
                code.store(code.add(step, every), due)
                code.store(code.add(code.load(row), 1), row)
            is_last = code.compare(step, "==", code.add(steps, -1))
            with code.when(is_last, likely=False):
                on_tiles("unpack_some", n_records, n_outputs, 0)
            with code.loop(groups.tiles(group)) as i:
                code.call("carry_over", groups.place(group, i)[1], moves, n_moves)
    code.leave(0)


def emit_pack_step(module: Module, tile: Tile) -> None:
    """pack_step(kernel, views, batch, state, workspace, step): what a step reads anew.

    The first step reads all inputs, others those that change with time.
    """
    code = module.function("pack_step", 6, local=True)
    _, _, batch, state, workspace, step = code.arguments
    inputs = Ports(code, Kernel.N_INPUTS)
    is_first = code.b.zext(code.compare(step, "==", 0), step.type)
    with code.fold(inputs.count, workspace) as turn:
        size, data, *strides = inputs.read(turn.index)
        pace = pace_of(code, inputs, turn.index)
        with code.when(code.compare(code.b.or_(pace, is_first), "!=", 0)):
            start = code.add(data, code.mul(step, pace))
            place = inputs.place(turn.index)
            is_table = code.compare(place, "==", IS_TABLE)
            with code.when(is_table, likely=False):
                code.store_as(start, turn.value, 4)
            with code.when(code.b.not_(is_table), likely=True):
                call = workspace, turn.value, size, start, *strides, state, batch
                code.call("pack", *call)
            fetch_next(code, tile, "read", (size, start, *strides), pace)
        turn.next = code.add(turn.value, code.mul(size, tile.slot))
    code.leave(0)


def emit_unpack_some(module: Module, tile: Tile) -> None:
    """unpack_some(kernel, views, batch, state, workspace, first, end, row).

    Write the outputs from ``first`` to ``end`` to a row of their arrays.
    """
    code = module.function("unpack_some", 8, local=True)
    kernel, _, batch, state, workspace, first, end, row = code.arguments
    outputs = Ports(code, Kernel.N_OUTPUTS)
    with code.fold(end, code.load(kernel, Kernel.PLACES)) as turn:
        size, data, *strides = outputs.read(turn.index)
        with code.when(code.compare(turn.index, ">=", first)):
            pace = pace_of(code, outputs, turn.index)
            start = code.add(data, code.mul(row, pace))
            call = workspace, turn.value, size, start, *strides, state, batch
            code.call("unpack", *call)
            fetch_next(code, tile, "write", (size, start, *strides), pace)
        turn.next = code.add(turn.value, code.mul(size, PLACE))
    code.leave(0)


def fetch_next(
    code: Code, tile: Tile, what: str, row: tuple[Value, ...], pace: Value
) -> None:
    """Fetch what the next step reads or writes of an array, if it has a time axis.

    Args:
        code: of a function whose first arguments are kernel, views, batch and state.
        tile: the kind of tiles.
        what: "read" or "write".
        row: size, data, step and stride of this step's row.
        pace: bytes from step to step.
    """
    size, start, step, stride = row
    batch, state = code.arguments[2:4]
    following = code.add(start, pace)
    is_beside = code.b.and_(
        code.compare(step, "==", tile.itemsize),
        code.compare(pace, "==", code.mul(size, tile.itemsize)),
    )
    with code.when(is_beside):
        code.call(f"fetch_{what}_beside", following, pace, stride, state)
    is_apart = code.b.and_(code.b.not_(is_beside), code.compare(pace, "!=", 0))
    with code.when(is_apart):
        code.call(f"fetch_{what}", following, size, step, stride, state, batch)


def emit_fetch_beside(module: Module, tile: Tile) -> None:
    """fetch_*_beside(data, length, stride, first): rows right behind those in use.

    The first line of such a row is near already if the row in use ends there; else the
    row begins with it. So one line is fetched for each 64 bytes, begun ones included:
    that of the last byte, and those before it in steps of a line.
    """
    for name, is_write in (("fetch_read_beside", False), ("fetch_write_beside", True)):
        code = module.function(name, 4, local=True)
        data, length, stride, first = code.arguments
        fetch = fetcher(code, is_write, NEAREST)
        last = code.b.and_(code.add(length, -1), const(LINE - 1))
        start = code.add(code.add(data, code.mul(first, stride)), last)
        with code.loop(length, LINE) as offset:
            at = code.add(start, offset)
            for _ in range(tile.lanes):
                fetch(at)
                at = code.add(at, stride)
        code.leave(0)


def emit_carry_over(module: Module, tile: Tile) -> None:
    """carry_over(workspace, moves, count): copy slots, one after the other."""
    code = module.function("carry_over", 3, local=True)
    workspace, moves, count = code.arguments
    kind, align = tile.vector(tile.lanes), min(tile.slot, LINE)
    with code.loop(count) as k:
        pair = code.add(moves, code.mul(k, 2 * PLACE))
        source, target = (code.load_int(code.add(pair, n)) for n in (0, PLACE))
        value = code.load_as(kind, code.add(workspace, source), align)
        code.store_as(value, code.add(workspace, target), align)
    code.leave(0)


def pace_of(code: Code, ports: Ports, index: Value) -> Value:
    """Return the bytes from step to step of one array."""
    view = code.add(ports.views, code.mul(index, VIEW_WORDS * WORD))
    return code.load(view, View.PACE)
