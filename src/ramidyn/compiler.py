"""The whole pipeline on one screen: from quantities of a robot to a Function.

    quantities --trace, choose, simplify--> Program --lower, schedule--> Schedule
               --emit, load--> NativeKernel

What is remembered on disk needs no stage at all: stages are imported when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, final

import numpy.typing as npt

from ramidyn.compilation import Compilation, Request, remembered
from ramidyn.concurrency import made_once
from ramidyn.function import CallOptions, Function
from ramidyn.progress import Progress, announced
from ramidyn.tracing.quantity import Quantity

if TYPE_CHECKING:
    from ramidyn.backend.llvm.build import Interface, NativeKernel
    from ramidyn.backend.llvm.schedule import Schedule
    from ramidyn.backend.llvm.target import Target
    from ramidyn.robot import Robot
    from ramidyn.symbolic.count import Ops
    from ramidyn.symbolic.program import Program
    from ramidyn.tracing.chooser import Candidate


def compile(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    *,
    dtype: npt.DTypeLike = "float64",
    lanes: int | None = None,
    threads: int = 1,
    layout: str = "batch_first",
    parameters: Sequence[str] = (),
) -> Function:
    """Compile one quantity of a robot, or several into one kernel.

    Several quantities share common computations and are returned as a named tuple.
    Inputs are those they need of q, qd, qdd and tau, in this order, then others.

    Args:
        quantities: such as ``ramidyn.mass_matrix`` or ``ramidyn.jacobian("hand")``.
        robot: the robot to compile them for.
        dtype: "float64" or "float32".
        lanes: states per vector, for batches; chosen for the processor by default.
        threads: number of threads that share a large batch.
        layout: where the batch axis is: "batch_first" or "batch_last".
        parameters: constants that become inputs: "gravity",
            "inertia:<body>", "placement:<body>", and numbers of force elements, such
            as "stiffness:<force>".
    """
    options = CallOptions.checked(dtype, lanes, threads, layout)
    return Function(compilation_of(Request(quantities, robot, parameters), options))


def compilation_of(request: Request, options: CallOptions) -> Compilation:
    """Return the compilation of some quantities: remembered on disk, or traced now."""
    return remembered(request, options, Stages)


@final
class Stages:
    """The stages of one program, each done once, when its result is first needed."""

    def __init__(
        self, choose: Callable[[str], Candidate], dtype: str, first: Candidate | None
    ) -> None:
        self._choose, self._dtype = choose, dtype
        self._chosen: dict[str, Candidate] = {} if first is None else {dtype: first}
        self._schedules: dict[bool, Schedule] = {}

    def chosen(self, dtype: str) -> Candidate:
        """Trace the program for a dtype: all its candidates, of which one is chosen."""
        return made_once(self._chosen, dtype, lambda: self._choose(dtype))

    @property
    def program(self) -> Program:
        """Simplify, unless that was done to choose it."""
        return self.chosen(self._dtype).simplified

    @cached_property
    def lowered(self) -> Program:
        """Lower to what suits the machine."""
        from ramidyn.simplify.passes import lower  # noqa: PLC0415  not from the cache

        return lower(self.program)

    def schedule(self, lanes: int) -> Schedule:
        """Schedule in cuts and places of values: for one state, or for batches."""
        from ramidyn.backend.llvm.schedule import schedule_of_batch, schedule_of_one  # noqa: PLC0415  not from the cache

        is_one = lanes == 1
        if is_one not in self._schedules:
            with announced(f"scheduling {self.program.name}"):
                make = schedule_of_one if is_one else schedule_of_batch
                self._schedules[is_one] = make(self.lowered)
        return self._schedules[is_one]

    def native(
        self, interface: Interface, target: Target, progress: Progress
    ) -> tuple[NativeKernel, bool]:
        """Emit LLVM IR and load its code, or load what is on disk; return which."""
        from ramidyn.backend.llvm.build import build  # noqa: PLC0415  loads LLVM

        scheduled = partial(self.schedule, target.lanes)
        return build(interface, scheduled, target, progress)


def program_of(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
) -> Program:
    """Return the traced program of some quantities, their algorithms chosen."""
    return Request(quantities, robot, parameters).choose(dtype).candidate.program


def count(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    *,
    parameters: Sequence[str] = (),
) -> Ops:
    """Return the operation count of the compiled function, without compiling it."""
    from ramidyn.symbolic.count import count  # noqa: PLC0415  not from the cache

    return count(Request(quantities, robot, parameters).choose().candidate.simplified)
