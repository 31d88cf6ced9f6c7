"""The instructions of a program that calls others, as they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

from ramidyn.backend.llvm.frames import CalleeFrame, Cut, SweepLoop, move_steps
from ramidyn.backend.runtime.instructions import Instruction, Move, Op


@final
class Steps:
    """The instructions of a program, written one after another.

    Args:
        cuts: its own functions.
    """

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self.functions: list[Cut | SweepLoop] = [*cuts]
        self.steps: list[Instruction] = []
        self._number = {id(cut): k for k, cut in enumerate(cuts)}
        self._known: dict[str, int] = {}

    def run(self, cut: Cut) -> None:
        """Run one of the program's own functions."""
        number = self._number[id(cut)]
        last = self.steps[-1] if self.steps else Instruction(Op.NEXT)
        if (
            last.op == Op.RUN
            and not last.base
            and last.number + last.functions == number
        ):
            self.steps[-1] = last._replace(functions=last.functions + 1)
        else:
            self.steps.append(Instruction(Op.RUN, number))

    def move(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy slots."""
        self.steps += move_steps(Move(*pair) for pair in pairs)

    def call(
        self,
        frame: CalleeFrame,
        base: int,
        name: str,
        moves: Iterable[tuple[int, int]] = (),
        arguments: int | None = None,
    ) -> None:
        """Run a callee on the frame that begins at a slot; equal names, equal code.

        ``moves`` bring arguments there, unless ``arguments`` says where they begin. A
        loop with an open end gets what it shares when it begins: many tiles are done
        before.
        """
        if name not in self._known:
            self._known[name] = len(self.functions)
            self.functions += frame.functions
        functions = self._known[name]
        steps = [step.in_frame(functions, base) for step in frame.steps]
        if arguments is not None:
            steps = [step._replace(arguments=arguments) for step in steps]
        first, second = [*steps, *steps][:2]
        if (first.op, second.op) != (Op.REPEAT, Op.UNTIL):
            self.move(moves)
            self.steps += steps
            return
        own, pairs = {base + k for k in frame.results}, list(moves)
        self.move(pair for pair in pairs if pair[1] in own)
        shared = move_steps(Move(*pair) for pair in pairs if pair[1] not in own)
        if shared:
            begin = Instruction(Op.REPEAT, 1), second._replace(functions=0)
            if first.number == 1:
                steps = [*begin, *shared, *steps[1:]]
            else:
                steps = [*begin, *shared, *steps, Instruction(Op.NEXT)]
        self.steps += steps
