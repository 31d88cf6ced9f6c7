"""Building blocks of loops along sparse rows: numbers, registers, traversals."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ramidyn.backend.llvm.word_builder import DOUBLE, Code, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import WORD

ROW_WORDS = 4


class RowWord(IntEnum):
    """The words of one row in the table of rows, which is in depth-first order."""

    ADDRESS = 0  # of its first entry, counted in entries
    ABOVE = 1  # how many ancestors it has
    PARENT = 2  # its parent's place in this table
    INDEX = 3  # its place in the caller's vectors


@dataclass(frozen=True)
class Numbers:
    """How numbers lie in memory: ``lanes`` matrices side by side, a register's width.

    ``columns``: sweeps take vectors of right-hand sides instead of single ones.
    """

    lanes: int
    width: int
    columns: bool = False

    @property
    def vector(self) -> Value:
        """The type of a whole register."""
        return ir.VectorType(DOUBLE, self.width) if self.width > 1 else DOUBLE

    @property
    def entry(self) -> Value:
        """The type of a matrix's entry."""
        return DOUBLE if self.lanes == 1 else self.vector

    @property
    def size(self) -> int:
        """The bytes of an entry."""
        return WORD * self.lanes


class FoldSteps:
    """One turn of `folds`: set ``next``; ``results`` are there when it is over."""

    index: Value
    values: list[Value]
    next: list[Value]
    results: list[Value]


class NumberCode(Code):
    """The body of one function, with arithmetic on numbers."""

    def __init__(self, code: Code) -> None:
        self.module: Module = code.module
        self.function: Value = code.function
        self.arguments: Sequence[Value] = code.arguments
        self.b: Any = code.b

    def get(self, kind: Value, address: Value) -> Value:
        """Load numbers."""
        return self.load_as(kind, address, WORD)

    def put(self, value: Value, address: Value) -> None:
        """Store numbers."""
        self.store_as(value, address, WORD)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Return a·b + c."""
        kind = c.type
        suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
        name = f"llvm.fmuladd.{suffix}"
        known = self.module.llvm.globals
        function = known.get(name) or ir.Function(
            self.module.llvm, ir.FunctionType(kind, [kind] * 3), name
        )
        return self.b.call(function, [a, b, c])

    def splat(self, x: Value, kind: Value) -> Value:
        """Return x in all lanes of a type."""
        if x.type == kind:
            return x
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
        nothing = ir.Constant(kind, ir.Undefined)
        first = self.b.insert_element(nothing, x, const(0))
        return self.b.shuffle_vector(first, nothing, zeros)

    def number(self, value: float, kind: Value) -> Value:
        """Return a constant."""
        if isinstance(kind, ir.VectorType):
            return ir.Constant(kind, [value] * kind.count)
        return ir.Constant(kind, value)

    def sum(self, x: Value) -> Value:
        """Return the sum of a vector's lanes, in a tree."""
        while isinstance(x.type, ir.VectorType):
            n = x.type.count // 2
            kind = ir.VectorType(ir.IntType(32), n)
            low, high = (
                self.b.shuffle_vector(x, x, ir.Constant(kind, list(range(k, k + n))))
                for k in (0, n)
            )
            if n == 1:
                low, high = (self.b.extract_element(v, const(0)) for v in (low, high))
            x = self.b.fadd(low, high)
        return x

    def either(
        self,
        condition: Value,
        then: Callable[[], Value],
        otherwise: Callable[[], Value],
    ) -> Value:
        """Return what one of two pieces of code gives."""
        with self.b.if_else(condition) as (first, second):
            with first:
                a, end_a = then(), self.b.block
            with second:
                b, end_b = otherwise(), self.b.block
        result = self.b.phi(a.type)
        result.add_incoming(a, end_a)
        result.add_incoming(b, end_b)
        return result

    @contextmanager
    def folds(self, count: Value, step: int, *initial: Value) -> Generator[FoldSteps]:
        """Repeat the code emitted inside, passing values between iterations."""
        before = self.b.block
        turns = FoldSteps()
        with self.loop(count, step) as turns.index:
            turns.values = [self.b.phi(first.type) for first in initial]
            yield turns
            end = self.b.block
            for phi, first, then in zip(turns.values, initial, turns.next, strict=True):
                phi.add_incoming(first, before)
                phi.add_incoming(then, end)
        turns.results = [self.b.phi(first.type) for first in initial]
        for phi, first, then in zip(turns.results, initial, turns.next, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(then, end)

    def runs(self, count: Value, numbers: Numbers) -> list[tuple[Value, Value, int]]:
        """Return (first, count, step) of the loops that walk along a row's entries."""
        if numbers.lanes > 1 or numbers.width == 1:
            return [(const(0), count, 1)]
        whole = self.b.and_(count, const(-numbers.width))
        rest = self.b.sub(count, whole)
        return [(const(0), whole, numbers.width), (whole, rest, 1)]


def add_rows(
    c: NumberCode,
    to: Value,
    rows: Sequence[Value],
    factors: Sequence[Value],
    count: Value,
    numbers: Numbers,
) -> None:
    """Write to[j] += Σ factors[r] · rows[r][j] for j < count."""
    for first, length, step in c.runs(count, numbers):
        kind = numbers.vector if step > 1 else numbers.entry
        wide = [c.splat(f, kind) for f in factors]
        with c.loop(length, step) as j:
            offset = c.mul(c.add(first, j), numbers.size)
            target = c.add(to, offset)
            value = c.get(kind, target)
            for factor, row in zip(wide, rows, strict=True):
                value = c.fma(factor, c.get(kind, c.add(row, offset)), value)
            c.put(value, target)


def scale_row(
    c: NumberCode, row: Value, factor: Value, count: Value, nums: Numbers
) -> None:
    """Write row[j] *= factor for j < count."""
    for first, length, step in c.runs(count, nums):
        kind = nums.vector if step > 1 else nums.entry
        wide = c.splat(factor, kind)
        with c.loop(length, step) as j:
            at = c.add(row, c.mul(c.add(first, j), nums.size))
            c.put(c.b.fmul(c.get(kind, at), wide), at)


def word_of(c: NumberCode, table: Value, place: Value, word: RowWord) -> Value:
    """Return a word of a row in the table."""
    return c.load(c.add(table, c.mul(place, ROW_WORDS * WORD)), word)


def square_root(c: NumberCode, kind: Value) -> Value:
    """Return the root of LLVM for a type."""
    suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
    return c.module.intrinsic(f"llvm.sqrt.{suffix}", kind)


def loops(module: Module, name: str, arguments: int) -> NumberCode:
    """Begin a function."""
    return NumberCode(module.function(name, arguments))
