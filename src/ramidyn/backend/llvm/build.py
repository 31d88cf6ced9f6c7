"""From the cuts of a program to a NativeKernel in memory, through the disk cache.

The pieces of the call path go the same way (`load_functions`). What writes code is
imported only if the cache has none.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast, final

from ramidyn.backend.llvm import cache
from ramidyn.backend.llvm.jit import (
    LoadedCode,
    assembly,
    compile_objects,
    llvm_version,
    symbol,
)
from ramidyn.backend.llvm.result_writer import is_written, writer
from ramidyn.backend.llvm.target import Processor, Target, runnable
from ramidyn.backend.runtime import instructions
from ramidyn.backend.runtime.instructions import Instruction
from ramidyn.backend.runtime.memory_layout import HEAD
from ramidyn.concurrency import Lock, importing
from ramidyn.errors import CompileError
from ramidyn.version import source_digest

if TYPE_CHECKING:
    from ramidyn.backend.llvm.frames import Cut, Schedule, SweepLoop


@final
@dataclass(frozen=True, slots=True)
class NativeKernel:
    """A compiled program: ``void cut(T* workspace, T* workspace, void** libm)``.

    The workspace has ``slots`` slots of ``lanes`` elements, aligned to 64 bytes: first
    the inputs, which cuts leave as they are. Output k is in slot ``outputs[k]``.
    """

    lanes: int
    cuts: tuple[int, ...]
    """addresses"""
    slots: int
    outputs: tuple[int, ...]
    code: object
    """keeps the machine code in memory"""
    steps: tuple[Instruction, ...] = ()
    """what runs when; without any, the cuts run one after another"""
    writers: tuple[int, ...] = ()
    """the address of what writes each output, or 0: see `result_writer`"""
    carriers: tuple[int, int] = (0, 0)
    """addresses of the first and the last cut that carry data of other tiles, or 0"""


@final
@dataclass(frozen=True, slots=True)
class Interface:
    """What is known about a program before it is traced: its digest and its sizes."""

    digest: str
    inputs: tuple[int, ...]
    """slots of each input"""
    outputs: tuple[int, ...]
    """entries of each output"""

    def written(self, target: Target) -> list[int]:
        """Return the outputs that have code of their own that writes them."""
        sizes = enumerate(self.outputs)
        return [k for k, size in sizes if is_written(size, target.lanes)]


def build(
    interface: Interface,
    scheduled: Callable[[], Schedule],
    target: Target,
    progress: Callable[[int, int], None],
) -> tuple[NativeKernel, bool]:
    """Return the native code of a program, and whether it came from the cache.

    Args:
        interface: of the traced program; with it the cache is asked before any work.
        scheduled: gives the program's cuts.
        target: what to make code for.
        progress: told (cuts done, cuts in all).
    """
    target.processor.check_runs_here()
    key = key_of(interface, target)
    stored = cache.load(key)
    if stored is not None:
        try:
            found = _unpack(stored, interface, key, target)
            return _load(*found, interface, target), True
        except (CompileError, ValueError, KeyError, TypeError):
            stored = None  # made by something else: compile it anew
    with importing:  # before threads do
        for name in ("emit_loop", "schedule"):
            importlib.import_module(f"ramidyn.backend.llvm.{name}")
    schedule = scheduled()
    functions = len(schedule.functions) + len(schedule.ferries)
    total, done = functions + len(interface.written(target)), 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        progress(done, total)

    layout = WorkspaceLayout(
        schedule.slots, schedule.outputs, schedule.steps, total, schedule.carriers
    )
    seal = layout.seal(key)
    parts = [
        *sources(schedule, target, seal),
        *results(interface, schedule, target, seal),
    ]
    objects = compile_objects(parts, target.processor, step)
    cache.store(key, _pack(layout, objects))
    return _load(layout, objects, seal, interface, target), False


def key_of(interface: Interface, target: Target) -> str:
    """Return the cache key of a program's code."""
    parts = (repr(interface), source_digest(), llvm_version(), repr(target))
    return cache.key("kernel", *parts)


@final
@dataclass(frozen=True, slots=True)
class WorkspaceLayout:
    """The workspace of a program, what runs when, and the number of its functions."""

    slots: int
    outputs: tuple[int, ...]
    steps: tuple[Instruction, ...]
    functions: int
    carriers: tuple[int, int]

    @property
    def ferries(self) -> list[int]:
        """Which functions carry data of other tiles: the last of all cuts."""
        return sorted({*self.carriers} - {-1})

    def seal(self, key: str) -> str:
        """Return what ends the names of an entry's functions.

        It ties the object code to the workspace that it was made for: a name that does
        not fit is not found, and the code never runs.
        """
        text = repr((key, self))
        return "_" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _load(
    layout: WorkspaceLayout,
    objects: list[bytes],
    seal: str,
    interface: Interface,
    target: Target,
) -> NativeKernel:
    functions = [(code, (symbol(k, seal),)) for k, code in enumerate(objects)]
    code = LoadedCode(functions, target.processor)
    written = interface.written(target)
    end = len(objects) - len(written)
    writers = dict(zip(written, code.addresses[end:], strict=True))
    bring, take = (code.addresses[k] if k >= 0 else 0 for k in layout.carriers)
    return NativeKernel(
        target.lanes,
        code.addresses[: end - len(layout.ferries)],
        layout.slots,
        layout.outputs,
        code,
        layout.steps,
        tuple(writers.get(k, 0) for k in range(len(interface.outputs))),
        (bring, take),
    )


def _pack(layout: WorkspaceLayout, objects: list[bytes]) -> bytes:
    head = {
        "slots": layout.slots,
        "outputs": layout.outputs,
        "steps": layout.steps,
        "carriers": layout.carriers,
        "sizes": [len(o) for o in objects],
    }
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *objects])


def _unpack(
    data: bytes, interface: Interface, key: str, target: Target
) -> tuple[WorkspaceLayout, list[bytes], str]:
    """Return what `_load` needs; an error says that the entry does not fit."""
    start = 8 + int.from_bytes(data[:8], "little")
    head = cast("dict[str, Any]", json.loads(data[8:start]))
    slots, (outputs, sizes) = head["slots"], (head["outputs"], head["sizes"])
    bring, take = head["carriers"]
    numbers = (slots, *outputs, *sizes, bring + 1, take + 1)
    if set(map(type, numbers)) != {int} or min(numbers) < 0:
        raise TypeError("sizes are not numbers")
    if (
        len(outputs) != sum(interface.outputs)
        or sum(interface.inputs) > slots
        or max(outputs, default=-1) >= slots
        or start + sum(sizes) != len(data)
    ):
        raise ValueError("sizes do not fit the program")
    steps = instructions.from_plain(head["steps"])
    instructions.check(steps, len(sizes) - len(interface.written(target)), slots)
    layout = WorkspaceLayout(slots, tuple(outputs), steps, len(sizes), (bring, take))
    end = len(sizes) - len(interface.written(target))
    if layout.ferries != list(range(end - len(layout.ferries), end)):
        raise ValueError("carriers are not the last cuts")
    seal = layout.seal(key)
    objects: list[bytes] = []
    for k, size in enumerate(sizes):
        objects.append(data[start : start + size])
        start += size
        # Checked here because LLVM would print a missing symbol on the user's screen.
        if symbol(k, seal).encode() not in objects[k]:
            raise ValueError("object code belongs to another program")
    return layout, objects, seal


# ------------------------------------------------------------ the code of a schedule


def sources(
    schedule: Schedule, target: Target, seal: str = ""
) -> list[Callable[[], str]]:
    """Return what writes the LLVM IR of each cut, ferries behind others."""
    return [
        partial(_function_ir, part, target, symbol(k, seal))
        for k, part in enumerate((*schedule.functions, *schedule.ferries))
    ]


def results(
    interface: Interface, schedule: Schedule, target: Target, seal: str
) -> list[Callable[[], str]]:
    """Return what writes the LLVM IR of the code that writes results."""
    ends = list(accumulate(interface.outputs))
    first = len(schedule.functions) + len(schedule.ferries)
    return [
        partial(
            writer,
            schedule.outputs[ends[k] - interface.outputs[k] : ends[k]],
            target.dtype,
            symbol(first + n, seal),
        )
        for n, k in enumerate(interface.written(target))
    ]


def _function_ir(part: Cut | SweepLoop, target: Target, name: str) -> str:
    from ramidyn.backend.llvm import emit, emit_loop, frames  # noqa: PLC0415  not in the cache

    if isinstance(part, frames.SweepLoop):
        return emit_loop.loop_module(part, target, name)
    processor = target.processor
    width = processor.lanes(target.dtype)
    emitter = emit.Emitter(target.lanes, target.dtype, processor.is_fused, width)
    return emitter.cut(part, name)


def ir_text(schedule: Schedule, target: Target) -> str:
    """Return the LLVM IR of all cuts."""
    return "\n".join(write() for write in _plain(schedule, target))


def _plain(schedule: Schedule, target: Target) -> list[Callable[[], str]]:
    """Return what writes the cuts that carry nothing for other tiles."""
    return sources(schedule, target)[: len(schedule.functions)]


def assembly_text(schedule: Schedule, target: Target) -> str:
    """Return the machine code of all cuts as text."""
    texts = [write() for write in _plain(schedule, target)]
    return "\n".join(assembly(text, target.processor) for text in texts)


# ------------------------------------------------------------ pieces of the call path

_loaded: list[LoadedCode] = []  # code that is called until the process ends
_lock = Lock()


def load_functions(
    write: Callable[[], str], functions: Sequence[str], what: str
) -> tuple[int, ...]:
    """Return the addresses of functions, from the disk cache or compiled now.

    Args:
        write: returns the LLVM IR.
        functions: names of functions in it.
        what: says which piece it is, and all that it depends on besides our sources and
            the processor.
    """
    with _lock:
        target = runnable()
        key = functions_key(what, target)
        code, loaded = cache.load(key), None
        if code is not None:
            with suppress(CompileError):  # invalid: compile it anew
                loaded = LoadedCode([(code, functions)], target)
        if loaded is None:
            (code,) = compile_objects([write], target)
            cache.store(key, code)
            loaded = LoadedCode([(code, functions)], target)
        _loaded.append(loaded)
        return loaded.addresses


def functions_key(what: str, target: Processor) -> str:
    """Return the cache key of a piece."""
    parts = (what, source_digest(), llvm_version(), repr(target), repr(HEAD))
    return cache.key("emitted", *parts)
