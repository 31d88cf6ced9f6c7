"""The driver: pack tiles of states into workspaces, run the cuts, unpack.

    run(kernel, views, batch) -> 0, or 1 if there is no memory

The code of a large robot does not fit into the processor's nearest cache, and running
it is no faster than fetching it: so each cut runs on a few tiles before the next one
does. The inputs of a state are read before its results are written: an output may be an
input, element by element. Results that are too many for a cache are streamed.

Denormal numbers are treated as zero meanwhile: they would take a hundred times as long.
A bit of the processor says so, for each thread. What was there before is put back:
Python and NumPy never see it.

    run_steps(kernel, workspaces, tiles)

interprets the instructions of a kernel that has some, each for all active tiles before
the next one. A tile is active while its bit is set: `Op.UNTIL` clears it when all its
states are done or have moved to other tiles, and the end of the loop sets again those
that were set when the loop began.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ramidyn.backend.llvm.target import Processor
from ramidyn.backend.llvm.word_builder import I32, I64, Code, Module, Value, const, ir
from ramidyn.backend.runtime.instructions import DEEPEST, MOVE_PLACES, STEP_WORDS, Op
from ramidyn.backend.runtime.lane_merging import (
    MOST_EXCHANGES,
    emit_merging,
    is_set,
)
from ramidyn.backend.runtime.memory_layout import (
    AHEAD,
    LINE,
    PLACE,
    STACK_BYTES,
    WORD,
    Kernel,
)
from ramidyn.backend.runtime.streaming import emit_stream_groups, goes_far, has_lines
from ramidyn.backend.runtime.tile_groups import (
    emit_fetch,
    emit_fetch_inputs,
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
    emit_unpack_tile(module, tile)
    emit_run_steps(module, tile)
    emit_fetch(module, tile, nearness=2)
    emit_fetch_inputs(module)
    emit_groups(module, tile, "groups", "unpack_tile")
    if tile.is_streamed:
        emit_stream_groups(module, tile, has_lines(tile, target))
    emit_run_all(module, tile, target)
    emit_run(module, target)
    return module


def emit_run(module: Module, target: Processor) -> None:
    """run(kernel, views, batch): run_all, with denormal numbers taken as zero."""
    code = module.function("run", 3)
    with flush_denormals(code, target):
        failed = code.call("run_all", *code.arguments)
    code.leave(failed)


def emit_run_all(module: Module, tile: Tile, target: Processor) -> None:
    """run_all(kernel, views, batch): choose how many tiles run together, and how."""
    code = module.function("run_all", 3, local=True)
    kernel, _, batch = code.arguments
    most = code.min(code.load(kernel, Kernel.TILES), tiles_of(code, tile, batch))
    if tile.is_streamed:
        pairs = code.b.sdiv(const(AHEAD), code.load(kernel, Kernel.BYTES))
        with code.when(goes_far(code, tile, has_lines(tile, target)), likely=False):
            with code.when(code.compare(pairs, ">", 0)):
                few = code.min(most, pairs)
                run_groups(code, "stream_with_next", few, 2, target)
            run_groups(code, "stream_at_once", most, 1, target)
    run_groups(code, "groups", most, 1, target)
    code.leave(1)


def run_groups(
    code: Code, name: str, most: Value, sets: int, target: Processor
) -> None:
    """Run and leave, if there is memory for so many sets of workspaces.

    Cuts that carry something for other tiles have a workspace to spare.

    Small ones are on the stack, and large ones of a single tile, or of a group that no
    second cache holds, are kept: new memory costs a page fault every 4 kB. Another
    thread that finds them taken gets its own. A stack of Windows is to be touched page
    by page before use, so it has none. Planners keep memory for all tiles.
    """
    kernel = code.arguments[0]
    bring, take = (code.load(kernel, w) for w in (Kernel.BRING, Kernel.TAKE))
    carries = code.compare(code.b.or_(bring, take), "!=", 0)
    count = code.add(code.mul(most, sets), code.b.zext(carries, I64))
    size = code.add(code.mul(count, code.load(kernel, Kernel.BYTES)), LINE)
    if target.system != "windows":
        with code.when(code.compare(size, "<=", STACK_BYTES)):
            block = code.b.alloca(ir.IntType(8), size=size)
            workspaces = code.b.ptrtoint(block, size.type)
            code.call(name, *code.arguments, code.align(workspaces, LINE), most)
            code.leave(0)
    # The block of a shared library, which keeps none, cannot be written to.
    with code.when(code.compare(size, "<=", code.load(kernel, Kernel.KEPT_BYTES))):
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


# ------------------------------------------------------------ denormal numbers

MXCSR_ZERO = 0x8040  # x86: results that are denormal become zero, and arguments
FPCR_ZERO = 1 << 24  # AArch64: both in one bit


@contextmanager
def flush_denormals(code: Code, target: Processor) -> Generator[None]:
    """Take denormal numbers as zero in what is written inside."""
    arch = target.triple.partition("-")[0]
    if arch == "x86_64":
        with _flush_x86(code):
            yield
    elif arch in ("aarch64", "arm64"):
        with _flush_arm(code):
            yield
    else:
        yield


@contextmanager
def _flush_x86(code: Code) -> Generator[None]:
    pointer = ir.IntType(8).as_pointer()
    read, write = (
        code.module.external(f"llvm.x86.sse.{name}", ir.VoidType(), [pointer])
        for name in ("stmxcsr", "ldmxcsr")
    )
    kept, ours = code.cell(0), code.cell(0)
    code.b.call(read, [code.b.inttoptr(kept, pointer)])
    before = code.load_as(I32, kept, 4)
    code.store_as(code.b.or_(before, ir.Constant(I32, MXCSR_ZERO)), ours, 4)
    code.b.call(write, [code.b.inttoptr(ours, pointer)])
    yield
    code.b.call(write, [code.b.inttoptr(kept, pointer)])


@contextmanager
def _flush_arm(code: Code) -> Generator[None]:
    read: Value = code.module.external("llvm.aarch64.get.fpcr", I64, [])
    write: Value = code.module.external("llvm.aarch64.set.fpcr", ir.VoidType(), [I64])
    before = code.b.call(read, [])
    code.b.call(write, [code.b.or_(before, const(FPCR_ZERO))])
    yield
    code.b.call(write, [before])


# ------------------------------------------------------------ instructions

MOVE_BYTES = MOVE_PLACES * PLACE
LOOP_WORDS = 3
"""of each loop that is running: the number of its step, the tiles at its start, and how
many exchanges of lanes were in the log"""
MOST_TILES = 64
"""one bit each"""


def emit_run_steps(module: Module, tile: Tile) -> None:
    """Emit run_steps(kernel, workspaces, tiles)."""
    emit_move_slots(module, tile)
    emit_merging(module, tile)
    Interpreter(module, tile.lanes).emit()


class Interpreter:
    """The loop over instructions, and what each does."""

    def __init__(self, module: Module, lanes: int) -> None:
        self.code: Code = module.function("run_steps", 3, local=True)
        code = self.code
        self.all_lanes: Value = const(2**lanes - 1 if lanes < I64.width else -1)
        self.kernel, self.workspaces, self.tiles = code.arguments
        self.steps, self.count, self.cuts, self.libm, self.size, self.moves = (
            code.load(self.kernel, w)
            for w in (
                Kernel.STEPS,
                Kernel.N_STEPS,
                Kernel.CUTS,
                Kernel.LIBM,
                Kernel.BYTES,
                Kernel.MOVES,
            )
        )
        ones = code.add(code.b.shl(const(1), self.tiles), -1)
        self.place: Value = code.cell(0)
        self.active: Value = code.cell(ones)
        self.depth: Value = code.cell(0)
        self.loops: Value = code.cell(0, LOOP_WORDS * (DEEPEST + 1))
        self.open: Value = code.cell(0, MOST_TILES)
        self.log: Value = code.cell(0, 1 + MOST_EXCHANGES)

    def emit(self) -> None:
        """Write the function."""
        code = self.code
        with code.repeat():
            at = code.load(self.place)
            code.leave_if(code.compare(at, ">=", self.count), 0)
            row = self._instruction(at)
            op, *numbers = (code.load(row, k) for k in range(STEP_WORDS))
            code.store(code.add(at, 1), self.place)
            for which, action in (
                (Op.RUN, self._run),
                (Op.MOVE, self._move),
                (Op.REPEAT, self._repeat),
                (Op.UNTIL, self._until),
                (Op.NEXT, self._next),
            ):
                with code.when(code.compare(op, "==", int(which))):
                    action(*numbers)

    def _each_tile(self, do: str, *arguments: Value) -> None:
        """Call a function with the workspace of each active tile."""
        code = self.code
        with code.loop(self.tiles) as i, code.when(self._is_active(i)):
            workspace = code.add(self.workspaces, code.mul(i, self.size))
            code.call(do, workspace, *arguments)

    def _is_active(self, i: Value) -> Value:
        return is_set(self.code, self.code.load(self.active), i)

    def _run(self, function: Value, base: Value, count: Value, given: Value) -> None:
        code = self.code
        first = code.at(self.cuts, function)
        with code.loop(count) as k:
            cut = code.load(code.at(first, k))
            with code.loop(self.tiles) as i, code.when(self._is_active(i)):
                workspace = code.add(self.workspaces, code.mul(i, self.size))
                arguments, frame = (code.add(workspace, x) for x in (given, base))
                code.call_address(cut, arguments, frame, self.libm)

    def _move(self, first: Value, count: Value, *_: Value) -> None:
        code = self.code
        table = code.add(self.moves, code.mul(first, PLACE))
        step = code.load(self._loop())
        self._each_tile("move_slots", table, count, step)

    def _loop(self) -> Value:
        """Return the address of what is known of the innermost loop."""
        code = self.code
        depth = code.load(self.depth)
        return code.add(self.loops, code.mul(depth, LOOP_WORDS * WORD))

    def _repeat(self, times: Value, end: Value, *_: Value) -> None:
        code = self.code
        is_empty = code.compare(times, "<=", 0)
        with code.when(is_empty, likely=False):
            code.store(end, self.place)
        with code.when(code.b.not_(is_empty)):
            code.store(code.add(code.load(self.depth), 1), self.depth)
            loop = self._loop()
            code.store(const(0), loop)
            code.store(code.load(self.active), loop, 1)
            code.store(code.load(self.log), loop, 2)

    def _until(self, slot: Value, end: Value, kept: Value, size: Value) -> None:
        code = self.code
        with code.loop(self.tiles) as i, code.when(self._is_active(i)):
            workspace = code.add(self.workspaces, code.mul(i, self.size))
            done = code.call("done_lanes", workspace, slot)
            left = code.b.xor(done, self.all_lanes)
            code.store(left, code.at(self.open, i))
            is_done = code.b.zext(code.compare(left, "==", 0), I64)
            bit = code.b.shl(is_done, i)
            code.store(code.b.xor(code.load(self.active), bit), self.active)
        with code.when(code.compare(code.min(kept, size), ">", 0)):
            here = self._instruction(code.add(code.load(self.place), -1))
            given = self.kernel, self.workspaces, self.tiles, code.load(self.active)
            active = code.call("merge_tiles", *given, self.open, here, self.log)
            code.store(active, self.active)
        with code.when(code.compare(code.load(self.active), "==", 0)):
            self._leave_loop(code.load(self.place))
            code.store(end, self.place)

    def _next(self, first: Value, *_: Value) -> None:
        code = self.code
        step = code.add(code.load(self._loop()), 1)
        times = code.load(self._instruction(code.add(first, -1)), 1)
        is_last = code.compare(step, ">=", times)
        with code.when(is_last):
            self._leave_loop(code.add(first, 1))
        with code.when(code.b.not_(is_last)):
            code.store(step, self._loop())
            code.store(first, self.place)

    def _instruction(self, k: Value) -> Value:
        """Return the address of an instruction."""
        return self.code.add(self.steps, self.code.mul(k, STEP_WORDS * WORD))

    def _leave_loop(self, second: Value) -> None:
        """Go on with the tiles that were active when the loop began, lanes put back.

        ``second`` counts the instructions up to the first of the loop's body, which is
        UNTIL if lanes were exchanged.
        """
        code = self.code
        loop = self._loop()
        until = self._instruction(code.add(second, -1))
        places = self.kernel, self.workspaces, until, self.log
        code.call("put_back", *places, code.load(loop, 2))
        code.store(code.load(loop, 1), self.active)
        code.store(code.add(code.load(self.depth), -1), self.depth)


def emit_move_slots(module: Module, tile: Tile) -> None:
    """move_slots(workspace, table, count, step): copy runs of slots, one by one."""
    code = module.function("move_slots", 4, local=True)
    workspace, table, count, step = code.arguments
    with code.loop(count) as k:
        row = code.add(table, code.mul(k, MOVE_BYTES))
        source, target, further, beyond, size = (
            code.load_int(code.add(row, n * PLACE)) for n in range(MOVE_PLACES)
        )
        source = code.add(workspace, code.add(source, code.mul(step, further)))
        target = code.add(workspace, code.add(target, code.mul(step, beyond)))
        few = code.b.srem(size, const(SIDE_BY_SIDE * tile.slot))
        many = code.b.sub(size, few)
        with code.loop(many, SIDE_BY_SIDE * tile.slot) as offset:
            copy(code, tile, code.add(source, offset), code.add(target, offset))
        source, target = code.add(source, many), code.add(target, many)
        with code.loop(few, tile.slot) as offset:
            copy(code, tile, code.add(source, offset), code.add(target, offset), 1)
    code.leave(0)


SIDE_BY_SIDE = 4
"""slots that are copied at once: none of a run is both read and written"""


def copy(
    code: Code, tile: Tile, source: Value, target: Value, count: int = SIDE_BY_SIDE
) -> None:
    """Copy neighboring slots."""
    kind, align = tile.vector(tile.lanes), min(tile.slot, LINE)
    values = [
        code.load_as(kind, code.add(source, k * tile.slot), align) for k in range(count)
    ]
    for k, value in enumerate(values):
        code.store_as(value, code.add(target, k * tile.slot), align)
