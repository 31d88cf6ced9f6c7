"""The functions that a program becomes, and the frames of what it calls.

A frame is the workspace of a callee, inside its caller's.

A callee has a layout of its own, and runs wherever its frame begins. A loop has behind
it what belongs to each step: arguments that are read, and results that are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from ramidyn.backend.llvm.packs import Pack
from ramidyn.backend.runtime.instructions import Instruction, Move, Op, parallel_moves
from ramidyn.symbolic.column_loop import SIDE_BY_SIDE
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import Callee, ColumnLoop, Sweep

if TYPE_CHECKING:
    from ramidyn.symbolic.program import Program


@dataclass(slots=True)
class Cut:
    """A run of operations that becomes one function."""

    name: str
    order: list[Expr]
    """operations, arguments first; constants and inputs are not listed"""
    packs: list[Pack] = field(default_factory=list[Pack])
    """of neighbors in the order: only for one state"""
    loads: dict[Expr, int] = field(default_factory=dict[Expr, int])
    """values made before this cut: node -> slot"""
    stores: list[tuple[Expr, int]] = field(default_factory=list[tuple[Expr, int]])
    """what later cuts or the caller need: (node, slot)"""
    come: tuple[int, ...] = ()
    """the sizes of inputs that it brings for the next tile: see `ferries`"""
    leave: tuple[tuple[int, ...], ...] = ()
    """the slots of outputs that it takes out for the tile before"""


@dataclass(frozen=True, slots=True)
class SweepLoop:
    """Sweeps over columns of a matrix: one function."""

    sweeps: tuple[Sweep, ...]
    wide: tuple[Sweep, ...]
    """for one state"""
    shared: int
    """the first slot of what all columns need"""
    matrix: int
    """the first slot of the matrix"""
    rows: int
    spare: int
    """a column of the matrix that nobody reads, with others at its side"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The functions of a program, what is where in the workspace, and what runs when.

    Without ``steps``, functions run once and in their order.
    """

    functions: tuple[Cut | SweepLoop, ...]
    slots: int
    outputs: tuple[int, ...]
    """the slot of every result, flat and in order"""
    steps: tuple[Instruction, ...] = ()
    ferries: tuple[Cut, ...] = ()
    """the first and the last cut again, where they carry data of other tiles"""

    @property
    def carriers(self) -> tuple[int, int]:
        """Which function brings inputs and which takes outputs, ferries last; or −1."""
        first = len(self.functions)
        bring = [k for k, cut in enumerate(self.ferries, first) if cut.come]
        take = [k for k, cut in enumerate(self.ferries, first) if cut.leave]
        return (*bring, -1)[0], (*take, -1)[0]

    @property
    def cuts(self) -> list[Cut]:
        """The functions that are cuts."""
        return [f for f in self.functions if isinstance(f, Cut)]

    @property
    def traffic(self) -> int:
        """The number of values that cuts read from and write to the workspace."""
        return sum(len(cut.loads) + len(cut.stores) for cut in self.cuts)


SPARSE = 4
"""Results stay in a frame unless they are a smaller part of it than one in so many."""


@final
@dataclass(frozen=True, slots=True)
class CalleeFrame:
    """What a call needs: functions, slots, and what runs on them."""

    functions: tuple[Cut | SweepLoop, ...]
    steps: tuple[Instruction, ...]
    slots: int
    arguments: Sequence[int | None]
    """the slot of each argument; None: it is not read"""
    results: Sequence[int]
    """the slot of each result"""
    keeps_arguments: bool = False
    """whether the arguments are still there after the call"""

    @property
    def is_free(self) -> bool:
        """Whether arguments of the next call leave the results of this one alone."""
        return self.keeps_arguments and set(self.arguments).isdisjoint(self.results)

    @property
    def is_straight(self) -> bool:
        """Whether it only runs functions, and calls nothing."""
        return all(step.op == Op.RUN and not step.base for step in self.steps)

    def keeps(self, results: int) -> bool:
        """Return whether so many results stay here for good."""
        return results * SPARSE > self.slots


def aligned_slots(slots: int) -> int:
    """Return a number of slots at which a frame may begin, or end.

    In one state a vector of columns lies in one line of the cache.
    """
    return -(-slots // SIDE_BY_SIDE) * SIDE_BY_SIDE


Scheduler = Callable[["Program", int], Schedule]
"""gives the schedule of a program whose first results, so many, are its next inputs"""


def frame_of(callee: Callee, schedule: Scheduler) -> CalleeFrame:
    """Return the frame of a callee; ``schedule`` gives that of its body."""
    if isinstance(callee.body, ColumnLoop):
        return _columns(callee.body)
    of = schedule(callee.body, callee.carried)
    steps = of.steps or (Instruction(Op.RUN, functions=len(of.functions)),)
    inputs = range(callee.body.size)
    is_loop = callee.times != 1 or callee.carried or callee.sliced or callee.until
    if not is_loop:
        slots, read = aligned_slots(of.slots), callee.body.read_entries()
        arguments = [k if k in read else None for k in inputs]
        return CalleeFrame(of.functions, steps, slots, arguments, of.outputs, True)
    carried, stacked = callee.carried, callee.stacked
    pairs = [(of.outputs[k], k) for k in range(carried)]
    carry, spare = parallel_moves(pairs, of.slots)
    reads = of.slots + spare
    writes = reads + callee.times * callee.sliced
    slots = writes + callee.times * stacked
    own = len(inputs) - callee.sliced
    read = [Move(reads + k, own + k, callee.sliced) for k in range(callee.sliced)]
    write = [
        Move(of.outputs[carried + k], writes + k, 0, stacked) for k in range(stacked)
    ]
    loop = [
        Instruction(Op.REPEAT, callee.times),
        *([_until(callee, len(inputs))] if callee.until else ()),
        *move_steps(read),
        *steps,
        *move_steps(write),
        *move_steps(Move(*pair) for pair in carry),
        Instruction(Op.NEXT),
    ]
    arguments = [*inputs[:own], *range(reads, writes)]
    results = [*range(carried), *range(writes, slots)]
    return CalleeFrame(
        of.functions, tuple(loop), aligned_slots(slots), arguments, results
    )


def _until(callee: Callee, inputs: int) -> Instruction:
    """Return the end of a loop; what has places by steps cannot change lanes."""
    if callee.sliced or callee.stacked:
        return Instruction(Op.UNTIL)
    return Instruction(Op.UNTIL, 0, _kept(callee.program), functions=inputs)


def _kept(body: Program) -> int:
    """Return how many slots, the first ones, hold values of states that are done.

    Such a value stays as it is, or depends on the first entry, which says so.
    """
    varied: set[Expr] = set()
    for e in body.order:
        is_first = e.op == "input" and e.value == (body.inputs[0].name, 0)
        if is_first or not varied.isdisjoint(e.args):
            varied.add(e)
    kept = [e in varied or e.op == "input" for e in body.results]
    return max((k + 1 for k, is_kept in enumerate(kept) if is_kept), default=0)


def _columns(loop: ColumnLoop) -> CalleeFrame:
    """Return the frame of sweeps: the factors, the matrix, and a spare column."""
    matrix = aligned_slots(loop.shared)
    size = loop.rows * loop.columns
    function = SweepLoop(loop.sweeps, loop.wide, 0, matrix, loop.rows, loop.columns)
    return CalleeFrame(
        (function,),
        (Instruction(Op.RUN, 0),),
        matrix + size + loop.rows * SIDE_BY_SIDE,
        [*range(loop.shared), *(matrix + k for k in loop.places)],
        range(matrix, matrix + size),
    )


def move_steps(moves: Iterable[Move]) -> list[Instruction]:
    """Return the instruction that moves slots, if there is anything to move."""
    found = tuple(moves)
    return [Instruction(Op.MOVE, moves=found)] if found else []
