"""What runs when in a kernel that calls others: a short list of instructions.

    RUN     some functions, one after another, on the frame that begins at a slot, with
            arguments that begin there, or at another one
    MOVE    values from slots to slots, one after another
    REPEAT  what follows up to NEXT, so many times
    UNTIL   leave the loop with the states whose slot is 1, when all of a tile are
    NEXT    the end of a loop

The driver runs each instruction on all tiles of a group before the next one. Without
loops and calls a kernel has no instructions: its functions run one after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from operator import index
from typing import Any, NamedTuple

STEP_WORDS, MOVE_PLACES = 5, 5
DEEPEST = 16
"""loops inside loops, at most"""


class Op(IntEnum):
    """What an instruction does."""

    RUN = 0
    MOVE = 1
    REPEAT = 2
    UNTIL = 3
    NEXT = 4


class Move(NamedTuple):
    """From slot to slot; both go on by some slots with each step of the loop."""

    source: int
    target: int
    source_step: int = 0
    target_step: int = 0


class Instruction(NamedTuple):
    """One instruction.

    ``number`` is that of a function (RUN), of steps (REPEAT) or of a slot (UNTIL).
    """

    op: Op
    number: int = 0
    base: int = 0
    """the first slot of the frame of RUN; of UNTIL, how many slots keep values"""
    moves: tuple[Move, ...] = ()
    functions: int = 1
    """how many functions RUN runs; of UNTIL, slots that a step reads, kept ones first,
    or 0 where states stay in their lanes"""
    arguments: int = 0
    """the slot of the first argument of RUN: where its frame begins, or elsewhere"""

    def in_frame(self, functions: int, base: int) -> Instruction:
        """Return it for a frame that begins at ``base``, functions counted from."""
        if self.op == Op.RUN:
            arguments, own = self.arguments + base, self.base + base
            number = self.number + functions
            return self._replace(number=number, base=own, arguments=arguments)
        if self.op == Op.UNTIL:
            return self._replace(number=self.number + base)
        moves = tuple(
            m._replace(source=m.source + base, target=m.target + base)
            for m in self.moves
        )
        return self._replace(moves=moves)


class Encoded(NamedTuple):
    """Instructions as the driver reads them."""

    words: list[int]
    """of each: what it does, and up to four numbers"""
    moves: list[int]
    """of neighbors that go to neighbors: offsets of the first source and target, what
    both grow by in a step, and the bytes of all"""


def encode(steps: Sequence[Instruction], slot: int) -> Encoded:
    """Return instructions for slots of so many bytes."""
    words: list[int] = []
    moves: list[int] = []
    begun: list[int] = []
    for k, step in enumerate(steps):
        row = [int(step.op), step.number, 0, 0, 0]
        if step.op == Op.RUN:
            row[2:] = step.base * slot, step.functions, step.arguments * slot
        elif step.op == Op.MOVE:
            runs = [x * slot for run in _runs(step.moves) for x in run]
            row[1:3] = len(moves), len(runs) // MOVE_PLACES
            moves += runs
        elif step.op == Op.REPEAT:
            begun.append(k)
        elif step.op == Op.UNTIL:
            row[1] = step.number * slot
            row[3:5] = step.base * slot, step.functions * slot
        else:
            first = begun.pop()
            row[1] = first + 1
            words[STEP_WORDS * first + 2] = k + 1
        words += row
    _set_exits(words)
    return Encoded(words, moves)


def _runs(moves: Sequence[Move]) -> list[tuple[int, ...]]:
    """Return moves of neighbors to neighbors as one, with their number."""
    runs: list[tuple[int, ...]] = []
    first, count = 0, 0
    for k, move in enumerate(moves):
        begin = moves[first]
        here = begin._replace(source=begin.source + count, target=begin.target + count)
        if move != here:
            runs.append((*begin, count))
            first, count = k, 0
        count += 1
    return [*runs, (*moves[first], count)]


def _set_exits(words: list[int]) -> None:
    """Tell every UNTIL where its loop ends."""
    open_ends: list[int] = []
    for k in range(0, len(words), STEP_WORDS):
        if words[k] == Op.REPEAT:
            open_ends.append(words[k + 2])
        elif words[k] == Op.UNTIL:
            words[k + 2] = open_ends[-1]
        elif words[k] == Op.NEXT:
            open_ends.pop()


def has_open_ends(steps: Sequence[Instruction]) -> bool:
    """Return whether a loop ends when all of its states are done."""
    return any(step.op == Op.UNTIL for step in steps)


def parallel_moves(
    pairs: Iterable[tuple[int, int]], free: int
) -> tuple[list[tuple[int, int]], int]:
    """Return copies from slot to slot, one after the other, that do all pairs at once.

    What is overwritten before it would be read goes through slots from ``free`` on; the
    second result is how many those are.
    """
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    overwritten = {target for _, target in pairs}
    direct = [pair for pair in pairs if pair[0] not in overwritten]
    others = [pair for pair in pairs if pair[0] in overwritten]
    kept = [(source, free + k) for k, (source, _) in enumerate(others)]
    restored = [(free + k, target) for k, (_, target) in enumerate(others)]
    return [*kept, *direct, *restored], len(others)


def from_plain(steps: Iterable[Any]) -> tuple[Instruction, ...]:
    """Return instructions that were stored as lists of numbers."""
    found: list[Instruction] = []
    for op, number, base, moves, count, given in steps:
        moved = tuple(Move(*map(index, move)) for move in moves)
        numbers = (index(number), index(base))
        others = (index(count), index(given))
        found.append(Instruction(Op(op), *numbers, moved, *others))
    return tuple(found)


def check(steps: Sequence[Instruction], functions: int, slots: int) -> None:
    """Raise ValueError if instructions do not fit their functions and workspace."""
    times: list[int] = []
    for step in steps:
        if step.op == Op.RUN:
            last = step.number + step.functions
            is_valid = 0 <= step.number < last <= functions
            for place in (step.base, step.arguments):
                is_valid = is_valid and 0 <= place < slots
        elif step.op == Op.MOVE:
            most = times[-1] if times else 1
            is_valid = all(_is_inside(move, most, slots) for move in step.moves)
        elif step.op == Op.REPEAT:
            times.append(step.number)
            is_valid = step.number >= 0 and len(times) <= DEEPEST
        elif step.op == Op.UNTIL:
            size = step.functions or max(step.base, 1)
            is_inside = 0 <= step.number < step.number + size <= slots
            is_valid = bool(times) and is_inside and 0 <= step.base <= size
        else:
            is_valid = bool(times)
            del times[-1:]
        if not is_valid:
            raise ValueError("an instruction does not fit its program")
    if times:
        raise ValueError("a loop has no end")


def _is_inside(move: Move, times: int, slots: int) -> bool:
    last = max(times - 1, 0)
    ends = (
        move.source,
        move.target,
        move.source + last * move.source_step,
        move.target + last * move.target_step,
    )
    return all(0 <= x < slots for x in ends)
