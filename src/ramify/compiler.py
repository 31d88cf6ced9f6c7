"""The whole pipeline on one screen: simplify -> lower -> schedule -> emit -> load."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
class Machine:
    """What code is made for: a processor, a number of lanes, a type."""

    target: Target
    lanes: int
    dtype: str


def plan_of(program: Program) -> Schedule:
    """Return the cuts of a simplified program."""
    return schedule(lower(program))


def sources(plan: Schedule, machine: Machine) -> list[Callable[[], str]]:
    """Return what writes the LLVM IR of each cut."""

    def write(k: int) -> str:
        target = machine.target
        emitter = Emitter(
            machine.lanes, machine.dtype, target.is_fused, target.lanes(machine.dtype)
        )
        return emitter.cut(plan.cuts[k], symbol(k))

    return [partial(write, k) for k in range(len(plan.cuts))]


def symbol(k: int) -> str:
    """Return the name of the function of cut k."""
    return f"cut{k}"


def build(
    digest: str, planned: Callable[[], Schedule], machine: Machine, progress: Progress
) -> tuple[NativeKernel, bool]:
    """Return native code of a traced program, and whether it came from the cache.

    Args:
        digest: of the traced program; with it the cache is asked before any work.
        planned: gives the program's cuts.
        machine: what to make code for.
        progress: told about each cut that is done.
    """
    machine.target.check_runs_here()
    key = _key(digest, machine)
    stored = cache.load(key)
    if stored is not None:
        try:
            return _load(*_unpack(stored), machine), True
        except (CompileError, ValueError, KeyError, TypeError):
            stored = None  # made by something else: compile it anew
    plan = planned()
    total = len(plan.cuts)
    done = 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        progress(done, total)

    objects = compile_objects(sources(plan, machine), machine.target, step)
    cache.store(key, _pack(plan.slots, plan.outputs, objects))
    return _load(plan.slots, plan.outputs, objects, machine), False


def _load(
    slots: int, outputs: Sequence[int], objects: list[bytes], machine: Machine
) -> NativeKernel:
    cuts = [(code, (symbol(k),)) for k, code in enumerate(objects)]
    loaded = Loaded(cuts, machine.target)
    return NativeKernel(machine.lanes, loaded.addresses, slots, tuple(outputs), loaded)


def _key(digest: str, machine: Machine) -> str:
    target = machine.target
    parts = (
        digest,
        source_digest(),
        llvm_version(),
        target.triple,
        target.cpu,
        target.features,
        str(machine.lanes),
        machine.dtype,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _pack(slots: int, outputs: Sequence[int], objects: list[bytes]) -> bytes:
    sizes = [len(o) for o in objects]
    head = json.dumps({"slots": slots, "outputs": outputs, "sizes": sizes}).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *objects])


def _unpack(data: bytes) -> tuple[int, list[int], list[bytes]]:
    start = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:start])
    objects: list[bytes] = []
    for size in head["sizes"]:
        objects.append(data[start : start + size])
        start += size
    return int(head["slots"]), list(head["outputs"]), objects
