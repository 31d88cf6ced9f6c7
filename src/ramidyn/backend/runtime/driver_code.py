"""The driver: pack tiles of states into workspaces, run the cuts, unpack.

    run(kernel, views, batch) -> 0, or 1 if there is no memory

The code of a large robot does not fit into the processor's nearest cache, and running
it is no faster than fetching it: so each cut runs on a few tiles before the next one
does. All tiles of such a group are packed before any is unpacked: an output may be an
input, element by element. Results that are too many for a cache are streamed.

Denormal numbers are treated as zero meanwhile: they would take a hundred times as long.
The thread's own setting is restored.
"""

from __future__ import annotations

from ramidyn.backend.llvm.target import Processor
from ramidyn.backend.llvm.word_builder import Code, Module, Value, const, ir
from ramidyn.backend.runtime import denormals
from ramidyn.backend.runtime.instruction_code import emit_run_steps
from ramidyn.backend.runtime.memory_layout import LINE, NEAR, STACK_BYTES, Kernel
from ramidyn.backend.runtime.streaming import emit_stream_groups, goes_far
from ramidyn.backend.runtime.tile_groups import (
    emit_groups,
    emit_pack_tile,
    emit_unpack_tile,
    tiles_of,
)
from ramidyn.backend.runtime.tiles import Tile, emit_movers


def emit(tile: Tile, target: Processor) -> Module:
    """Write the driver for one kind of tile and one processor."""
    module = Module(f"driver_{tile.dtype}_{tile.lanes}")
    emit_movers(module, tile)
    emit_pack_tile(module, tile)
    emit_unpack_tile(module)
    emit_run_steps(module, tile)
    emit_groups(module, tile, "groups", "unpack_tile")
    if tile.is_streamed:
        emit_stream_groups(module, tile)
    emit_run_all(module, tile)
    emit_run(module, target)
    return module


def emit_run(module: Module, target: Processor) -> None:
    """run(kernel, views, batch): run_all, with denormal numbers taken as zero."""
    code = module.function("run", 3)
    with denormals.flushed(code, target):
        failed = code.call("run_all", *code.arguments)
    code.leave(failed)


def emit_run_all(module: Module, tile: Tile) -> None:
    """run_all(kernel, views, batch): choose how many tiles run together, and how."""
    code = module.function("run_all", 3, local=True)
    kernel, _, batch = code.arguments
    most = code.min(code.load(kernel, Kernel.TILES), tiles_of(code, tile, batch))
    if tile.is_streamed:
        pairs = code.b.sdiv(const(NEAR // 2), code.load(kernel, Kernel.BYTES))
        with code.when(goes_far(code, tile), likely=False):
            with code.when(code.compare(pairs, ">", 0)):
                run_groups(code, "stream_with_next", code.min(most, pairs), sets=2)
            run_groups(code, "stream_at_once", most, sets=1)
    run_groups(code, "groups", most, sets=1)
    code.leave(1)


def run_groups(code: Code, name: str, most: Value, sets: int) -> None:
    """Run and leave, if there is memory for so many sets of workspaces.

    Small ones are on the stack, and a large one of a single tile is kept: new memory
    costs a page fault every 4 kB. Another thread that finds it taken gets its own.
    """
    kernel = code.arguments[0]
    count = code.mul(most, sets)
    size = code.add(code.mul(count, code.load(kernel, Kernel.BYTES)), LINE)
    if STACK_BYTES:
        with code.when(code.compare(size, "<=", STACK_BYTES)):
            block = code.b.alloca(ir.IntType(8), size=size)
            workspaces = code.b.ptrtoint(block, size.type)
            code.call(name, *code.arguments, code.align(workspaces, LINE), most)
            code.leave(0)
    # The block of a shared library, which keeps none, cannot be written to.
    is_kept = code.compare(code.load(kernel, Kernel.KEPT), "!=", 0)
    with code.when(code.b.and_(code.compare(count, "==", 1), is_kept)):
        kept = code.exchange(0, kernel, Kernel.KEPT)
        with code.when(code.compare(kept, "!=", 0), likely=True):
            code.call(name, *code.arguments, code.align(kept, LINE), most)
            code.exchange(kept, kernel, Kernel.KEPT)
            code.leave(0)
    memory = code.call_address(code.load(kernel, Kernel.MALLOC), size)
    with code.when(code.compare(memory, "!=", 0), likely=True):
        code.call(name, *code.arguments, code.align(memory, LINE), most)
        code.call_address(code.load(kernel, Kernel.FREE), memory)
        code.leave(0)
