"""Operations counted as they run: of Python functions, and of native loops.

A function that traces programs runs on an `Unknown` number as it runs on symbols, and
takes no memory: a factorization of five million operations is counted in seconds.

`ramidyn.linalg` runs loops that know no tree in particular, so there is no program to
count. Here the same loops are compiled once more, for one number at a time, with a
counter beside each arithmetic instruction.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, final

import numpy as np

from ramidyn.backend.llvm.jit import LoadedCode, compile_objects
from ramidyn.backend.llvm.target import chosen_processor
from ramidyn.backend.runtime.memory_layout import WORD
from ramidyn.backend.sparse_factor.factor_loops import address, arguments_of, emit
from ramidyn.backend.sparse_factor.sweeps import SWEEPS, Diagonal
from ramidyn.compiler import program_of
from ramidyn.linalg.pattern import Pattern, pattern_from
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import Ops
from ramidyn.symbolic.program import Program
from ramidyn.tracing.quantity import Quantity


@final
class Unknown:
    """Stands for every number of one computation."""

    __slots__ = ("add", "div", "mul", "roots")

    def __init__(self) -> None:
        self.mul = self.add = self.div = self.roots = 0

    def __add__(self, _: object) -> Unknown:
        self.add += 1
        return self

    __sub__ = __add__

    def __mul__(self, _: object) -> Unknown:
        self.mul += 1
        return self

    def __truediv__(self, _: object) -> Unknown:
        self.div += 1
        return self

    __rtruediv__ = __truediv__

    def __neg__(self) -> Unknown:
        return self  # a sign is not an operation

    def sqrt(self) -> Unknown:
        """Return the root."""
        self.roots += 1
        return self


def count_of(run: Callable[[Any], object]) -> Ops:
    """Return the operations of a function that is given one unknown number."""
    x = Unknown()
    run(x)
    return Ops(mul=x.mul, add=x.add, div=x.div, sqrt=x.roots)


def compiled_program(quantity: Quantity, robot: Robot) -> Program:
    """Return the program of a quantity that is compiled."""
    return simplify(program_of(quantity, robot))


UNCOUNTED = ("const", "input", "cos")
"""the sine of an angle is counted, and its cosine comes with it"""


def by_region(program: Program) -> Counter[str]:
    """Return the operations of a program by region."""
    counted = (e.region for e in program.order if e.op not in UNCOUNTED)
    return Counter(program.regions[region] for region in counted)


# ------------------------------------------------------------ native loops over a tree


KINDS = ("mul", "add", "div", "sqrt")
INSTRUCTIONS = {
    " = fmul ": ("mul",),
    " = fadd ": ("add",),
    " = fsub ": ("add",),
    " = fdiv ": ("div",),
    '@"llvm.fmuladd.': ("mul", "add"),
    '@"llvm.sqrt.': ("sqrt",),
}


def with_counters(ir: str) -> str:
    """Return LLVM IR in which arithmetic instructions on doubles count themselves."""
    lines: list[str] = []
    number = 0
    for line in ir.splitlines():
        lines.append(line)
        is_instruction = " = " in line and not line.startswith("declare")
        for text, kinds in INSTRUCTIONS.items():
            if not (is_instruction and text in line and re.search(r"\bdouble\b", line)):
                continue
            for kind in kinds:
                at = f"@counter_{kind}"
                lines += [
                    f"  %counted.{number} = load i64, ptr {at}",
                    f"  %next.{number} = add i64 %counted.{number}, 1",
                    f"  store i64 %next.{number}, ptr {at}",
                ]
                number += 1
    for kind in KINDS:
        lines.append(f"@counter_{kind} = internal global i64 0")
        lines.append(f"define i64 @take_{kind}() {{")
        lines.append(f"  %n = load i64, ptr @counter_{kind}")
        lines.append(f"  store i64 0, ptr @counter_{kind}")
        lines += ["  ret i64 %n", "}"]
    return "\n".join(lines)


@cache
def _functions() -> dict[str, int]:
    """Return the addresses of the counting loops, and of what takes the counts."""
    processor = chosen_processor()
    processor.check_runs_here()
    names = [*(f"{n}_entry" for n in arguments_of(1)), *(f"take_{k}" for k in KINDS)]
    (code,) = compile_objects([lambda: with_counters(str(emit(1).llvm))], processor)
    loaded = LoadedCode([(code, names)], processor)
    _kept.append(loaded)
    return dict(zip(names, loaded.addresses, strict=True))


_kept: list[LoadedCode] = []


def _run(name: str, *words: int) -> Ops:
    """Run a loop, and return what it executed."""
    found = _functions()
    take = {k: ctypes.CFUNCTYPE(ctypes.c_int64)(found[f"take_{k}"]) for k in KINDS}
    for one in take.values():
        one()
    packed = (ctypes.c_int64 * len(words))(*words)
    enter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(found[f"{name}_entry"])
    enter(ctypes.addressof(packed))
    return Ops(**{k: one() for k, one in take.items()})


def _identity(pattern: Pattern) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    entries = np.zeros(pattern.nnz)
    entries[pattern.table[:, 0] + pattern.table[:, 1]] = 1.0
    return entries


def factor_count(parents: Sequence[int], roots: bool) -> Ops:
    """Return the operations of `ramidyn.ltdl`, or of `ramidyn.ltl` with ``roots``."""
    pattern = pattern_from(tuple(parents))
    entries = _identity(pattern)
    return _run(
        "factor_row",
        address(entries),
        pattern.nnz * WORD,
        pattern.table_address,
        1,
        pattern.blocks_address,
        len(pattern.blocks),
        roots,
    )


def sweep_count(parents: Sequence[int], sweep: str, *diagonals: Diagonal) -> Ops:
    """Return the operations of a sweep over one vector, or of "solve"."""
    if sweep not in (*SWEEPS, "solve"):
        raise ValueError(sweep)
    pattern = pattern_from(tuple(parents))
    entries, x = _identity(pattern), np.ones(pattern.n)
    kept = np.zeros(pattern.depth)
    return _run(
        f"{sweep}_row",
        address(entries),
        pattern.nnz * WORD,
        pattern.table_address,
        pattern.n,
        1,
        address(x),
        pattern.n * WORD,
        1,
        address(kept),
        *diagonals,
    )
