"""The cuts of a program as LLVM IR, and as the machine code of a processor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ramidyn.backend.llvm.emit import Emitter
from ramidyn.backend.llvm.emit_loop import loop_module
from ramidyn.backend.llvm.jit import assembly, symbol
from ramidyn.backend.llvm.parts import Cut, Schedule
from ramidyn.backend.llvm.target import Target
from ramidyn.symbolic.column_loop import SIDE_BY_SIDE


def sources(
    schedule: Schedule, target: Target, seal: str = ""
) -> list[Callable[[], str]]:
    """Return what writes the LLVM IR of each cut."""

    def write(k: int) -> str:
        processor = target.processor
        width = processor.lanes(target.dtype)
        part = schedule.functions[k]
        if isinstance(part, Cut):
            emitter = Emitter(target.lanes, target.dtype, processor.is_fused, width)
            return emitter.cut(part, symbol(k, seal))
        is_single = target.lanes == 1
        lanes = min(width, SIDE_BY_SIDE) if is_single else target.lanes
        emitter = Emitter(lanes, target.dtype, processor.is_fused)
        return loop_module(emitter, part, symbol(k, seal), is_single)

    return [partial(write, k) for k in range(len(schedule.functions))]


def ir_text(schedule: Schedule, target: Target) -> str:
    """Return the LLVM IR of all cuts."""
    return "\n".join(write() for write in sources(schedule, target))


def assembly_text(schedule: Schedule, target: Target) -> str:
    """Return the machine code of all cuts as text."""
    texts = [write() for write in sources(schedule, target)]
    return "\n".join(assembly(text, target.processor) for text in texts)
