"""From the cuts of a program to a NativeKernel in memory, through the disk cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

from ramidyn.backend.llvm import cache
from ramidyn.backend.llvm.jit import (
    LoadedCode,
    compile_objects,
    llvm_version,
    symbol,
)
from ramidyn.backend.llvm.target import Target
from ramidyn.errors import CompileError
from ramidyn.version import source_digest

if TYPE_CHECKING:
    from ramidyn.backend.llvm.schedule import Schedule


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


@final
@dataclass(frozen=True, slots=True)
class Interface:
    """What is known about a program before it is traced: its digest and its sizes."""

    digest: str
    inputs: tuple[int, ...]
    """entries of each input"""
    outputs: tuple[int, ...]
    """entries of each output"""


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
            return _load(*_unpack(stored, interface, key), target), True
        except (CompileError, ValueError, KeyError, TypeError):
            stored = None  # made by something else: compile it anew
    from ramidyn.backend.llvm.sources import sources  # noqa: PLC0415  not in the cache

    schedule = scheduled()
    total, done = len(schedule.functions), 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        progress(done, total)

    slots, outputs = schedule.slots, schedule.outputs
    seal = _seal(key, slots, outputs, total)
    objects = compile_objects(sources(schedule, target, seal), target.processor, step)
    cache.store(key, _pack(slots, outputs, objects))
    return _load(slots, outputs, objects, seal, target), False


def key_of(interface: Interface, target: Target) -> str:
    """Return the cache key of a program's code."""
    parts = (repr(interface), source_digest(), llvm_version(), repr(target))
    return cache.key("kernel", *parts)


def _seal(key: str, slots: int, outputs: Sequence[int], cuts: int) -> str:
    """Return what ends the names of an entry's functions.

    It ties the object code to the sizes of the workspace that it was made for: a name
    that does not fit is not found, and the code never runs.
    """
    parts = (key, slots, tuple(outputs), cuts)
    return "_" + hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _load(
    slots: int,
    outputs: Sequence[int],
    objects: list[bytes],
    seal: str,
    target: Target,
) -> NativeKernel:
    cuts = [(code, (symbol(k, seal),)) for k, code in enumerate(objects)]
    code = LoadedCode(cuts, target.processor)
    return NativeKernel(target.lanes, code.addresses, slots, tuple(outputs), code)


def _pack(slots: int, outputs: Sequence[int], objects: list[bytes]) -> bytes:
    sizes = [len(o) for o in objects]
    head = json.dumps({"slots": slots, "outputs": outputs, "sizes": sizes}).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *objects])


def _unpack(
    data: bytes, interface: Interface, key: str
) -> tuple[int, list[int], list[bytes], str]:
    """Return what `_load` needs; an error says that the entry does not fit."""
    start = 8 + int.from_bytes(data[:8], "little")
    head = cast("dict[str, Any]", json.loads(data[8:start]))
    slots, (outputs, sizes) = head["slots"], (head["outputs"], head["sizes"])
    numbers = (slots, *outputs, *sizes)
    if set(map(type, numbers)) != {int} or min(numbers) < 0:
        raise TypeError("sizes are not numbers")
    if (
        len(outputs) != sum(interface.outputs)
        or sum(interface.inputs) > slots
        or max(outputs, default=-1) >= slots
        or start + sum(sizes) != len(data)
    ):
        raise ValueError("sizes do not fit the program")
    seal = _seal(key, slots, outputs, len(sizes))
    objects: list[bytes] = []
    for k, size in enumerate(sizes):
        objects.append(data[start : start + size])
        start += size
        # Checked here because LLVM would print a missing symbol on the user's screen.
        if symbol(k, seal).encode() not in objects[k]:
            raise ValueError("object code belongs to another program")
    return slots, outputs, objects, seal
