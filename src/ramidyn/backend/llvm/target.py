"""The processor that code is generated for: its name, its features, its vector width.

That is the processor at hand, unless RAMIDYN_TARGET names another: a level of x86-64,
for tests and to look at code. RAMIDYN_LANES sets the lanes of batches likewise.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from ramidyn.backend.runtime.memory_layout import LANES
from ramidyn.errors import CompileError

# llvmlite carries no types; behind Any it stays out of the signatures below.
llvm: Any = importlib.import_module("llvmlite.binding")

BYTES = {"float64": 8, "float32": 4}

HOST = "host"
LEVELS = {
    "x86-64": "cmov cx8 fxsr mmx sse sse2",
    "x86-64-v2": "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""What each level adds to those before it."""
WHOLE = ",-prefer-256-bit"
"""Registers of 512 bits are used whole, by the driver too."""


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor as LLVM knows it."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int

    @property
    def is_fused(self) -> bool:
        """Whether a multiply-add is one instruction."""
        is_arm = self.triple.startswith(("aarch64", "arm64"))  # the latter is Apple's
        return is_arm or "+fma" in self.features.split(",")

    @property
    def is_x86(self) -> bool:
        """Whether it is an x86-64."""
        return self.triple.startswith("x86_64")

    @property
    def system(self) -> str:
        """The operating system: one of SYSTEMS."""
        if "windows" in self.triple:
            return "windows"
        return "macos" if "apple" in self.triple else "linux"

    @property
    def is_loaded_windows(self) -> bool:
        """Whether code is for this Windows process: see `_process_triple`."""
        return self.is_x86 and self.triple.endswith("-elf")

    @property
    def missing(self) -> list[str]:
        """Features of the target that this processor lacks."""
        features = [f[1:] for f in self.features.split(",") if f.startswith("+")]
        return [f for f in features if not host_features().get(f)]

    def lanes(self, dtype: str) -> int:
        """Return how many states one vector register holds."""
        return self.vector_bytes // BYTES[dtype]

    def check_runs_here(self) -> None:
        """Raise an error if this processor cannot run the target's code."""
        if self.missing:
            possible = [
                n for n in names() if n == HOST or not processor_named(n).missing
            ]
            raise CompileError(
                f"RAMIDYN_TARGET is {self.cpu!r}, but this processor lacks "
                f"{', '.join(self.missing)}. The code can be inspected "
                "(Function.assembly) but not run. Possible here: "
                f"{', '.join(possible)}"
            )


@functools.cache
def host_features() -> dict[str, bool]:
    """Return this processor's features, by LLVM's names."""
    return dict(llvm.get_host_cpu_features())


@functools.cache
def host() -> Processor:
    """Return the processor that this process runs on."""
    has = [f for f, is_there in host_features().items() if is_there]
    features: str = llvm.get_host_cpu_features().flatten()
    width = _vector_bytes(has)
    features += WHOLE if width == 64 else ""
    return Processor(_process_triple(), llvm.get_host_cpu_name(), features, width)


def _process_triple() -> str:
    """Return the triple of code that is loaded here.

    On Windows it is in ELF objects: LLVM's loader of Windows's own, COFF, takes a small
    negative offset for a large one, and stops the process.
    """
    triple: str = llvm.get_process_triple()
    return f"{triple}-elf" if "windows" in triple else triple


def chosen_processor() -> Processor:
    """Return the target that RAMIDYN_TARGET names, or this processor."""
    return processor_named(os.environ.get("RAMIDYN_TARGET") or HOST)


def runnable() -> Processor:
    """Return the chosen target, or this processor where it cannot run that one's code.

    The call path from Python to a kernel must run even if the kernel cannot.
    """
    return host() if chosen_processor().missing else chosen_processor()


def default_lanes(dtype: str) -> int:
    """Return the states of a vector in batches: RAMIDYN_LANES, or the target's."""
    text = os.environ.get("RAMIDYN_LANES")
    if not text:
        return chosen_processor().lanes(dtype)
    if text not in map(str, LANES):
        possible = ", ".join(map(str, LANES))
        raise CompileError(f"RAMIDYN_LANES is {text!r}; possible: {possible}")
    return int(text)


def names() -> list[str]:
    """Return the valid values of RAMIDYN_TARGET on this kind of processor."""
    return [HOST, *(LEVELS if host().is_x86 else ())]


@functools.cache
def processor_named(name: str) -> Processor:
    """Return a target by its name."""
    if name not in names():
        possible = ", ".join(names())
        raise CompileError(f"RAMIDYN_TARGET is {name!r}; possible: {possible}")
    return host() if name == HOST else _level(name, host().triple)


def _level(name: str, triple: str) -> Processor:
    levels = list(LEVELS)[: list(LEVELS).index(name) + 1]
    has = [f for level in levels for f in LEVELS[level].split()]
    width = _vector_bytes(has)
    features = ",".join(f"+{f}" for f in has) + (WHOLE if width == 64 else "")
    return Processor(triple, name, features, width)


SYSTEMS = {
    "linux": "unknown-linux-gnu",
    "macos": "apple-macosx11.0",
    "windows": "pc-windows-gnu",  # the C interface of all compilers there
}
"""The systems that a library can be written for, and the ends of their triples."""


def library_names() -> list[str]:
    """Return the targets that a library can be written for, here or for elsewhere."""
    processors = [*LEVELS, "aarch64"]
    others = [f"{p}-{s}" for s in SYSTEMS if s != "linux" for p in processors]
    return [HOST, *processors, *others]


def library_target(name: str) -> Processor:
    """Return the processor that a library is written for, by its name.

    "host" is the one that calls from Python are compiled for: both give the same bits.
    """
    if name == HOST:
        machine = "x86_64" if runnable().is_x86 else "aarch64"
        return replace(runnable(), triple=f"{machine}-{SYSTEMS[runnable().system]}")
    processor, _, system = name.rpartition("-")
    if system not in SYSTEMS:
        processor, system = name, "linux"
    if processor == "aarch64":
        cpu = "apple-m1" if system == "macos" else "generic"
        return Processor(f"aarch64-{SYSTEMS[system]}", cpu, "+neon", 16)
    return _level(processor, f"x86_64-{SYSTEMS[system]}")


def _vector_bytes(features: Container[str]) -> int:
    """Return the size of a vector register."""
    if "avx512f" in features:
        return 64
    return 32 if "avx2" in features else 16


@dataclass(frozen=True, slots=True)
class Target:
    """The target of generated code: a processor, a number of lanes, a type."""

    processor: Processor
    lanes: int
    dtype: str


def target(dtype: str, lanes: int | None = None) -> Target:
    """Return the target for some lanes; as many as a register holds by default."""
    return Target(chosen_processor(), lanes or default_lanes(dtype), dtype)
