"""The whole pipeline on one screen: simplify -> lower -> schedule -> emit -> load."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ramify.backend import cache
from ramify.backend.emit import Emitter
from ramify.backend.jit import Loaded, compile_objects, llvm_version
from ramify.backend.native import NativeKernel
from ramify.backend.schedule import Schedule, schedule
from ramify.backend.target import Target
from ramify.errors import CompileError
from ramify.simplify.passes import lower
from ramify.symbolic.program import Program
from ramify.version import source_digest

Progress = Callable[[int, int], None]
"""Called with (cuts done, cuts in all) while code is generated."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What is known of a program before it is traced: its digest and its sizes."""

    digest: str
    inputs: tuple[int, ...]
    """entries of each input"""
    outputs: tuple[int, ...]
    """entries of each output"""


@dataclass(frozen=True, slots=True)
class Machine:
    """What code is made for: a processor, a number of lanes, a type."""

    target: Target
    lanes: int
    dtype: str


def plan_of(program: Program) -> Schedule:
    """Return the cuts of a simplified program."""
    return schedule(lower(program))


def sources(
    plan: Schedule, machine: Machine, seal: str = ""
) -> list[Callable[[], str]]:
    """Return what writes the LLVM IR of each cut."""

    def write(k: int) -> str:
        target = machine.target
        emitter = Emitter(
            machine.lanes, machine.dtype, target.is_fused, target.lanes(machine.dtype)
        )
        return emitter.cut(plan.cuts[k], symbol(k, seal))

    return [partial(write, k) for k in range(len(plan.cuts))]


def symbol(k: int, seal: str = "") -> str:
    """Return the name of the function of cut k."""
    return f"cut{k}{seal}"


def build(
    interface: Interface,
    planned: Callable[[], Schedule],
    machine: Machine,
    progress: Progress,
) -> tuple[NativeKernel, bool]:
    """Return native code of a traced program, and whether it came from the cache.

    Args:
        interface: of the traced program; with it the cache is asked before any work.
        planned: gives the program's cuts.
        machine: what to make code for.
        progress: told about each cut that is done.
    """
    machine.target.check_runs_here()
    key = _key(interface, machine)
    stored = cache.load(key)
    if stored is not None:
        try:
            return _load(*_unpack(stored, interface, key), machine), True
        except (CompileError, ValueError, KeyError, TypeError):
            stored = None  # made by something else: compile it anew
    plan = planned()
    total = len(plan.cuts)
    done = 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        progress(done, total)

    seal = _seal(key, plan.slots, plan.outputs, total)
    objects = compile_objects(sources(plan, machine, seal), machine.target, step)
    cache.store(key, _pack(plan.slots, plan.outputs, objects))
    return _load(plan.slots, plan.outputs, objects, seal, machine), False


def _load(
    slots: int,
    outputs: Sequence[int],
    objects: list[bytes],
    seal: str,
    machine: Machine,
) -> NativeKernel:
    cuts = [(code, (symbol(k, seal),)) for k, code in enumerate(objects)]
    loaded = Loaded(cuts, machine.target)
    return NativeKernel(machine.lanes, loaded.addresses, slots, tuple(outputs), loaded)


def _key(interface: Interface, machine: Machine) -> str:
    target = machine.target
    parts = (
        repr(interface),
        source_digest(),
        llvm_version(),
        target.triple,
        target.cpu,
        target.features,
        str(machine.lanes),
        machine.dtype,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _seal(key: str, slots: int, outputs: Sequence[int], cuts: int) -> str:
    """Return what ends the names of an entry's functions.

    It ties the object code to the sizes of the workspace that it was made for: a name
    that does not fit is not found, and the code never runs.
    """
    parts = (key, slots, tuple(outputs), cuts)
    return "_" + hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


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
    if not all(type(n) is int and n >= 0 for n in (slots, *outputs, *sizes)):
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
        # Asked here, for LLVM would report a missing symbol on the user's screen.
        if symbol(k, seal).encode() not in objects[k]:
            raise ValueError("object code of another program")
    return slots, outputs, objects, seal
