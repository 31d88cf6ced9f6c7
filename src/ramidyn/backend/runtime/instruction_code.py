"""What the driver does for a kernel with instructions: a small interpreter.

    run_steps(kernel, workspaces, tiles)

Each instruction is done for all active tiles before the next one. A tile is active
while its bit is set: `Op.UNTIL` clears it when all its states are done, and the end of
the loop sets again those that were set when the loop began.
"""

from __future__ import annotations

from ramidyn.backend.llvm.word_builder import Code, Module, Value, const, ir
from ramidyn.backend.runtime.instructions import DEEPEST, STEP_WORDS, Op
from ramidyn.backend.runtime.memory_layout import LINE, PLACE, WORD, Kernel
from ramidyn.backend.runtime.tiles import Tile

MOVE_BYTES = 4 * PLACE
LOOP_WORDS = 2
"""of each loop that is running: the number of its step, and the tiles at its start"""


def emit_run_steps(module: Module, tile: Tile) -> None:
    """Emit run_steps(kernel, workspaces, tiles)."""
    emit_move_slots(module, tile)
    emit_all_done(module, tile)
    Interpreter(module).emit()


class Interpreter:
    """The loop over instructions, and what each does."""

    def __init__(self, module: Module) -> None:
        self.code: Code = module.function("run_steps", 3, local=True)
        code = self.code
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

    def emit(self) -> None:
        """Write the function."""
        code = self.code
        with code.repeated():
            at = code.load(self.place)
            code.leave_if(code.compare(at, ">=", self.count), 0)
            row = code.add(self.steps, code.mul(at, STEP_WORDS * WORD))
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
        code = self.code
        bit = code.b.and_(code.b.lshr(code.load(self.active), i), const(1))
        return code.compare(bit, "!=", 0)

    def _run(self, function: Value, base: Value, count: Value) -> None:
        code = self.code
        first = code.at(self.cuts, function)
        with code.loop(count) as k:
            cut = code.load(code.at(first, k))
            with code.loop(self.tiles) as i, code.when(self._is_active(i)):
                workspace = code.add(self.workspaces, code.mul(i, self.size))
                frame = code.add(workspace, base)
                code.call_address(cut, frame, frame, self.libm)

    def _move(self, first: Value, count: Value, _: Value) -> None:
        code = self.code
        table = code.add(self.moves, code.mul(first, PLACE))
        step = code.load(self._loop())
        self._each_tile("move_slots", table, count, step)

    def _loop(self) -> Value:
        """Return the address of what is known of the innermost loop."""
        code = self.code
        depth = code.load(self.depth)
        return code.add(self.loops, code.mul(depth, LOOP_WORDS * WORD))

    def _repeat(self, times: Value, end: Value, _: Value) -> None:
        code = self.code
        is_empty = code.compare(times, "<=", 0)
        with code.when(is_empty, likely=False):
            code.store(end, self.place)
        with code.when(code.b.not_(is_empty)):
            code.store(code.add(code.load(self.depth), 1), self.depth)
            loop = self._loop()
            code.store(const(0), loop)
            code.store(code.load(self.active), loop, 1)

    def _until(self, slot: Value, end: Value, _: Value) -> None:
        code = self.code
        with code.loop(self.tiles) as i, code.when(self._is_active(i)):
            workspace = code.add(self.workspaces, code.mul(i, self.size))
            done = code.call("all_done", workspace, slot)
            bit = code.b.shl(done, i)
            code.store(code.b.xor(code.load(self.active), bit), self.active)
        with code.when(code.compare(code.load(self.active), "==", 0)):
            self._leave_loop()
            code.store(end, self.place)

    def _next(self, first: Value, _: Value, __: Value) -> None:
        code = self.code
        loop = self._loop()
        step = code.add(code.load(loop), 1)
        row = code.add(self.steps, code.mul(code.add(first, -1), STEP_WORDS * WORD))
        is_last = code.compare(step, ">=", code.load(row, 1))
        with code.when(is_last):
            self._leave_loop()
        with code.when(code.b.not_(is_last)):
            code.store(step, loop)
            code.store(first, self.place)

    def _leave_loop(self) -> None:
        """Go on with the tiles that were active when the loop began."""
        code = self.code
        code.store(code.load(self._loop(), 1), self.active)
        code.store(code.add(code.load(self.depth), -1), self.depth)


def emit_move_slots(module: Module, tile: Tile) -> None:
    """move_slots(workspace, table, count, step): copy slots, one after the other."""
    code = module.function("move_slots", 4, local=True)
    workspace, table, count, step = code.arguments
    kind, align = tile.vector(tile.lanes), min(tile.slot, LINE)
    with code.loop(count) as k:
        row = code.add(table, code.mul(k, MOVE_BYTES))
        source, target, further, beyond = (
            code.load_int(code.add(row, n * PLACE)) for n in range(4)
        )
        source = code.add(source, code.mul(step, further))
        target = code.add(target, code.mul(step, beyond))
        value = code.load_as(kind, code.add(workspace, source), align)
        code.store_as(value, code.add(workspace, target), align)
    code.leave(0)


def emit_all_done(module: Module, tile: Tile) -> None:
    """all_done(workspace, slot): 1 if the slot is 1 in all lanes, else 0."""
    code = module.function("all_done", 2, local=True)
    workspace, slot = code.arguments
    kind, align = tile.vector(tile.lanes), min(tile.slot, LINE)
    value = code.load_as(kind, code.add(workspace, slot), align)
    done = const(1)
    for lane in range(tile.lanes):
        one = value
        if tile.lanes > 1:
            one = code.b.extract_element(value, ir.Constant(ir.IntType(32), lane))
        is_done = code.b.fcmp_ordered("==", one, ir.Constant(one.type, 1.0))
        done = code.b.and_(done, code.b.zext(is_done, done.type))
    code.leave(done)
