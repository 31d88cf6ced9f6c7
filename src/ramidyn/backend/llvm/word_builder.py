"""LLVM IR for code whose every value is a 64-bit word.

The call path is plain systems code: offsets, loops, calls. ``Code`` writes it without
pointer types; addresses are words and arithmetic on them is integer arithmetic.
Nothing here needs LLVM's middle end: what is written is what runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from ramidyn.backend.runtime.memory_layout import WORD

# llvmlite carries no types; behind Any it stays out of the signatures below.
ir: Any = importlib.import_module("llvmlite.ir")

Value = Any  # an SSA value of LLVM
I64 = ir.IntType(64)
I32 = ir.IntType(32)
DOUBLE, FLOAT = ir.DoubleType(), ir.FloatType()


def const(value: int) -> Value:
    """Return a word."""
    return ir.Constant(I64, int(value))


class Module:
    """A module of functions from words to a word."""

    def __init__(self, name: str) -> None:
        self.llvm: Any = ir.Module(name)
        self._functions: dict[str, Any] = {}

    def function(self, name: str, arguments: int, *, local: bool = False) -> Code:
        """Begin a function; a local one is not seen from outside."""
        function = self._declare(name, arguments)
        function.linkage = "internal" if local else "external"
        function.attributes.add("nounwind")
        return Code(self, function)

    def callee(self, name: str) -> Value:
        """Return a function that was begun before."""
        return self._functions[name]

    def intrinsic(self, name: str, kind: Value) -> Value:
        """Return an intrinsic of LLVM that takes and gives one value of a type."""
        return self.external(name, kind, [kind])

    def external(self, name: str, result: Value, arguments: Sequence[Value]) -> Value:
        """Return a function that is defined elsewhere, such as an intrinsic of LLVM."""
        if name not in self._functions:
            kind = ir.FunctionType(result, arguments)
            self._functions[name] = ir.Function(self.llvm, kind, name)
        return self._functions[name]

    def _declare(self, name: str, arguments: int) -> Value:
        kind = ir.FunctionType(I64, [I64] * arguments)
        self._functions[name] = ir.Function(self.llvm, kind, name)
        return self._functions[name]


class FoldStep:
    """One iteration of a fold: set ``next``; ``result`` is valid at the end."""

    index: Value
    value: Value
    next: Value
    result: Value


class Code:
    """The body of one function, written from top to bottom."""

    def __init__(self, module: Module, function: Value) -> None:
        self.module = module
        self.function = function
        self.arguments: Sequence[Value] = function.args
        self.b: Any = ir.IRBuilder(function.append_basic_block("entry"))

    def load(self, address: Value, index: int = 0) -> Value:
        """Return the word at an address."""
        return self.load_as(I64, self.add(address, index * WORD), WORD)

    def store(self, value: Value, address: Value, index: int = 0) -> None:
        """Write the word at an address."""
        self.store_as(value, self.add(address, index * WORD), WORD)

    def exchange(self, value: Value | int, address: Value, index: int) -> Value:
        """Write a word at an address and return what was there, for all threads."""
        word = const(value) if isinstance(value, int) else value
        place = self.b.inttoptr(self.add(address, index * WORD), I64.as_pointer())
        return self.b.atomic_rmw("xchg", place, word, "seq_cst")

    def at(self, block: Value, index: Value) -> Value:
        """Return the address of a word in a block."""
        return self.add(block, self.mul(index, WORD))

    def load_at(self, address: Value, offset: int) -> Value:
        """Return the word at an address plus an offset in bytes."""
        return self.load_as(I64, self.add(address, offset), WORD)

    def load_int(self, address: Value) -> Value:
        """Return the C int at an address, as a word."""
        return self.b.sext(self.load_as(I32, address, 4), I64)

    def load_as(self, kind: Value, address: Value, align: int) -> Value:
        """Return what is at an address."""
        return self.b.load(self.b.inttoptr(address, kind.as_pointer()), align=align)

    def store_as(self, value: Value, address: Value, align: int) -> Value:
        """Write a value of any type; return the instruction."""
        target = self.b.inttoptr(address, value.type.as_pointer())
        return self.b.store(value, target, align=align)

    def stream_as(self, value: Value, address: Value, align: int) -> None:
        """Write a value past the caches; a fence must follow."""
        store = self.store_as(value, address, align)
        once = self.module.llvm.add_metadata([ir.Constant(I32, 1)])
        store.set_metadata("nontemporal", once)

    def add(self, left: Value, right: Value | int) -> Value:
        """Return left + right."""
        if isinstance(right, int):
            return self.b.add(left, const(right)) if right else left
        return self.b.add(left, right)

    def mul(self, left: Value, right: Value | int) -> Value:
        """Return left · right."""
        return self.b.mul(left, const(right) if isinstance(right, int) else right)

    def align(self, address: Value, size: int) -> Value:
        """Return the next address that is a multiple of a power of two."""
        return self.b.and_(self.add(address, size - 1), const(-size))

    def compare(self, left: Value, relation: str, right: Value | int) -> Value:
        """Return whether a relation of signed words holds."""
        other = const(right) if isinstance(right, int) else right
        return self.b.icmp_signed(relation, left, other)

    def min(self, left: Value, right: Value | int) -> Value:
        """Return the smaller word."""
        other = const(right) if isinstance(right, int) else right
        return self.b.select(self.compare(left, "<", other), left, other)

    def max(self, left: Value, right: Value | int) -> Value:
        """Return the larger word."""
        other = const(right) if isinstance(right, int) else right
        return self.b.select(self.compare(left, ">", other), left, other)

    def call(self, name: str, *arguments: Value | int) -> Value:
        """Call a function by its name."""
        values = [const(a) if isinstance(a, int) else a for a in arguments]
        return self.b.call(self.module.callee(name), values)

    def call_address(
        self, address: Value, *arguments: Value, gives: Value = I64
    ) -> Value:
        """Call the function at an address."""
        kind = ir.FunctionType(gives, [I64] * len(arguments))
        return self.b.call(self.b.inttoptr(address, kind.as_pointer()), arguments)

    def cell(self, initial: Value | int, count: int = 1) -> Value:
        """Return the address of words on the stack, the first one initialized."""
        with self.b.goto_entry_block():
            block = self.b.alloca(I64, size=count)
        block.align = 64
        address = self.b.ptrtoint(block, I64)
        self.store(const(initial) if isinstance(initial, int) else initial, address)
        return address

    @contextmanager
    def loop(self, count: Value, step: Value | int = 1) -> Generator[Value]:
        """Repeat the code emitted inside for 0, step, 2·step ... below count."""
        before = self.b.block
        body = self.function.append_basic_block("loop")
        after = self.function.append_basic_block("after")
        self.b.cbranch(self.compare(count, ">", 0), body, after)
        self.b.position_at_end(body)
        index = self.b.phi(I64)
        index.add_incoming(const(0), before)
        yield index
        following = self.add(index, step)
        index.add_incoming(following, self.b.block)
        self.b.cbranch(self.compare(following, "<", count), body, after)
        self.b.position_at_end(after)

    @contextmanager
    def repeat(self) -> Generator[None]:
        """Repeat the code emitted inside until it leaves the function."""
        body = self.function.append_basic_block("repeated")
        self.b.branch(body)
        self.b.position_at_end(body)
        yield
        self.b.branch(body)

    @contextmanager
    def fold(self, count: Value, initial: Value | int) -> Generator[FoldStep]:
        """Repeat the code emitted inside, passing a word between iterations."""
        first = const(initial) if isinstance(initial, int) else initial
        before = self.b.block
        turn = FoldStep()
        with self.loop(count) as turn.index:
            turn.value = self.b.phi(I64)
            turn.value.add_incoming(first, before)
            yield turn
            turn.value.add_incoming(turn.next, self.b.block)
            end = self.b.block
        turn.result = self.b.phi(I64)
        turn.result.add_incoming(first, before)
        turn.result.add_incoming(turn.next, end)

    @contextmanager
    def when(self, condition: Value, likely: bool | None = None) -> Generator[None]:
        """Run the code emitted inside if the condition holds."""
        with self.b.if_then(condition, likely=likely):
            yield

    def choose(
        self, condition: Value, then: Callable[[], Value], otherwise: Value
    ) -> Value:
        """Return what ``then`` writes if the condition holds, else ``otherwise``."""
        before = self.b.block
        with self.b.if_then(condition):
            value = then()
            end = self.b.block
        result = self.b.phi(I64)
        result.add_incoming(otherwise, before)
        result.add_incoming(value, end)
        return result

    def leave_if(self, condition: Value, result: Value | int) -> None:
        """Return from the function if the condition holds, which is rare."""
        with self.b.if_then(condition, likely=False):
            self.leave(result)

    def leave(self, result: Value | int) -> None:
        """Return from the function."""
        self.b.ret(const(result) if isinstance(result, int) else result)
