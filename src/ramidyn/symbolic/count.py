"""Operation counts: exact, free of noise, and the primary measure of cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ramidyn.symbolic.expr import Expr
    from ramidyn.symbolic.program import Callee, ColumnLoop, Program

FIELD = {
    **dict.fromkeys(("add", "sub"), "add"),
    **dict.fromkeys(("min", "max", "abs", "where"), "select"),
    **dict.fromkeys(("lt", "le", "eq", "and", "or", "not"), "compare"),
    **dict.fromkeys(("tan", "asin", "acos", "atan2", "exp", "log", "pow"), "function"),
    "random": "function",
}
FUSED = ("fma", "fms", "fnma")

DIVISION_COST = 6
"""What a division or a root costs in multiplications, on current vector units
(4 to 8 cycles a vector on Zen 3 and Ice Lake, where a product takes half a cycle)."""
FUNCTION_COST = 20
"""What a sine and cosine together, or another function, cost in multiplications."""

LATENCY = {"add": 3, "sub": 3, "div": 13, "sqrt": 20, "sin": 50, "cos": 50}
"""Cycles until a result can be used; those not listed take PRODUCT_LATENCY."""
PRODUCT_LATENCY = 4


@dataclass(frozen=True, slots=True)
class Ops:
    """How many operations a program has, by kind.

    A fused multiply-add counts as one ``mul`` and one ``add``; ``fma`` says how many
    pairs are fused. The sine and cosine of one angle are one ``sincos``.
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    neg: int = 0
    sincos: int = 0
    function: int = 0
    """tan, asin, acos, atan2, exp, log, pow, and random numbers"""
    compare: int = 0
    select: int = 0
    """min, max, abs, where"""
    fma: int = 0

    @property
    def total(self) -> int:
        """All operations (a fused pair counts twice)."""
        return sum(getattr(self, f.name) for f in fields(self)) - self.fma

    @property
    def cost(self) -> int:
        """All operations in units of one multiplication, as the machine pays them.

        A fused pair is one.
        """
        slow = self.div + self.sqrt
        functions = self.sincos + self.function
        rest = self.total - slow - functions - self.fma
        return rest + DIVISION_COST * slow + FUNCTION_COST * functions

    def __add__(self, other: Ops) -> Ops:
        return Ops(*(getattr(self, n) + getattr(other, n) for n in self._names))

    def __rmul__(self, times: int) -> Ops:
        return Ops(*(times * getattr(self, n) for n in self._names))

    @property
    def _names(self) -> list[str]:
        return [f.name for f in fields(self)]

    def __str__(self) -> str:
        parts = [
            f"{getattr(self, f.name):,} {f.name}"
            for f in fields(self)
            if getattr(self, f.name)
        ]
        return ", ".join(parts) or "no operations"


def count(program: Program) -> Ops:
    """Return the number of operations of each kind, those of all calls included.

    A loop with an open end counts with the most steps that it may take.
    """
    total = _own(program)
    for callee, calls in Counter(e.value for e in program.calls).items():
        total = total + calls * _called(callee)
    return total


def longest_wait(program: Program) -> int:
    """Return the cycles of the longest chain of operations, each waiting for the last.

    The program has no calls.
    """
    ready: dict[Expr, int] = {}
    for e in program.order:
        if e.args:
            begin = max([ready.get(a, 0) for a in e.args])
            ready[e] = begin + LATENCY.get(e.op, PRODUCT_LATENCY)
    return max(ready.values(), default=0)


def how_often(callee: Callee, what: str | None = None) -> str:
    """Return how often a call runs its body, or what else, in words."""
    text = callee.name if what is None else what
    if callee.until:
        return f"up to {callee.times} x {text}"
    return text if callee.times == 1 else f"{callee.times} x {text}"


def operations_by_call(program: Program) -> str:
    """Return how many operations run how often: "120 + 3 x 12 + up to 50 x 7"."""
    own = _own(program).total
    parts = [str(own)] if own else []
    callees = {e.value.digest: e.value for e in program.calls}
    for digest, calls in Counter(e.value.digest for e in program.calls).items():
        callee = callees[digest]
        if callee.columns is not None:
            inner = str(_in_columns(callee.columns).total)
        else:
            inner = operations_by_call(callee.program)
        is_once = calls == callee.times == 1 and not callee.until
        is_sum = " + " in inner and not is_once
        text = how_often(callee, f"({inner})" if is_sum else inner)
        parts.append(text if calls == 1 else f"{calls} x {text}")
    return " + ".join(parts) or "0"


def _called(callee: Callee) -> Ops:
    """Return the operations of a call."""
    if callee.columns is not None:
        return _in_columns(callee.columns)
    return callee.times * count(callee.program)


def _own(program: Program) -> Ops:
    """Return the operations of a program without its calls."""
    if not program.counted:
        program.counted.append(_counted(program))
    return program.counted[0]


def _counted(program: Program) -> Ops:
    n: Counter[str] = Counter()
    operations = [e.op for e in program.order]
    for op, times in Counter(operations).items():
        for kind in ("mul", "add", "fma") if op in FUSED else (FIELD.get(op, op),):
            n[kind] += times
    angles: set[int] = set()
    if n["sin"] or n["cos"]:
        found = zip(operations, program.order, strict=True)
        angles = {id(e.args[0]) for op, e in found if op in ("sin", "cos")}
    for op in ("const", "input", "sin", "cos", "call", "result"):
        del n[op]
    return Ops(sincos=len(angles), **n)


def _in_columns(loop: ColumnLoop) -> Ops:
    """Return the operations of all columns; products are always fused."""
    scaled = terms = 0
    for sweep in loop.sweeps:
        for step in sweep.steps:
            scaled += len(sweep.columns) * (step.scale >= 0)
            terms += len(sweep.columns) * len(step.terms)
    return Ops(mul=scaled + terms, add=terms, fma=terms)
