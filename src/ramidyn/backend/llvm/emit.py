"""Write the cuts of a schedule as LLVM IR, one lane per state.

    void cut(T *in, T *out, void **libm)

``in`` and ``out`` are the same workspace. A slot that is written is reached by ``out``
alone, even if it is read before: so both are noalias. The text is written directly: at
a million operations, objects for every instruction would take longer than LLVM itself.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator, Sequence

from ramidyn.backend.llvm.frames import Cut
from ramidyn.backend.llvm.target import BYTES
from ramidyn.backend.llvm.vector_exp import exponential
from ramidyn.backend.llvm.vector_math import lanewise, sincos
from ramidyn.backend.llvm.vector_random import random
from ramidyn.backend.runtime.memory_layout import is_table
from ramidyn.errors import CompileError
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import terms_of

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
ALIGNED = "alignstack(64)"
"""No spilled register lies across two cache lines: that takes up to a third longer."""
LEEWAY = 32
"""Operations among which LLVM may choose the order; beyond, it keeps ours.

Its own order puts up to three times as many values on the stack. A label is a bound
that it does not cross, and leaves nothing in the code.
"""
FAR = 2
"""Blocks of so many operations after which a value that has a slot is read there again.

LLVM would keep it on the stack: written once more, and read as often.
"""
LABEL = "call void @llvm.codeview.annotation(metadata !0)"
LIBM = frozenset({"tan", "asin", "acos", "atan2", "log", "pow"})


class Emitter:
    """The text of one cut, for one lane width and type.

    Args:
        lanes: states in a vector.
        dtype: "float64" or "float32".
        is_fused: the target has fused multiply-add.
        angles: of one state that are put in a vector to take their sines together.
    """

    def __init__(
        self, lanes: int, dtype: str, is_fused: bool = False, angles: int = 1
    ) -> None:
        self.lanes = lanes
        self.is_fused = is_fused
        self.angles: int = angles if lanes == 1 else 1
        self.scalar = "double" if dtype == "float64" else "float"
        self.is_double: bool = dtype == "float64"
        self.type: str = self.scalar if lanes == 1 else f"<{lanes} x {self.scalar}>"
        self.bits: str = "i1" if lanes == 1 else f"<{lanes} x i1>"
        suffix = "f64" if dtype == "float64" else "f32"
        self.suffix: str = suffix if lanes == 1 else f"v{lanes}{suffix}"
        self.stride: int = lanes * BYTES[dtype]
        self.dtype = dtype
        self.constants: dict[float | str, str] = {}

    def constant(self, value: float) -> str:
        """Return a number as an IR constant, in every lane."""
        key = value or str(value)  # 0 and −0 are equal, and not the same
        text = self.constants.get(key)
        if text is None:
            number = value if self.is_double else _single(value)
            bits = struct.unpack("<Q", struct.pack("<d", number))[0]
            text = f"0x{bits:016X}"
            if self.lanes > 1:
                text = f"splat ({self.scalar} {text})"
            self.constants[key] = text
        return text

    def cut(self, cut: Cut, symbol: str) -> str:
        """Return the module of one cut, its function called ``symbol``."""
        lines: list[str] = []
        order = sines_first(cut.order) if self.lanes > 1 else cut.order
        values = _Values(self, cut, order, lines)
        sines: dict[Expr, tuple[str, str]] = {}
        calls: set[str] = set()
        most = 2 * self.angles
        for k, e in enumerate(order):
            values.now = k
            if k % LEEWAY == LEEWAY - 1:
                lines.append(LABEL)
            if e.op in ("sin", "cos"):
                if e.args[0] not in sines:
                    angles = self._together(cut, order[k : k + most], values.names)
                    terms = [
                        self._terms(a, values.operand, f"%n{k}_{i}", lines)
                        for i, a in enumerate(angles)
                    ]
                    if all(y is None for _, y in terms):
                        calls.add("sincos")
                    else:
                        calls.add("sincos_sum")
                    pairs = self._sincos(terms, f"%sc{k}", lines)
                    sines.update(zip(angles, pairs, strict=True))
                values.add(e, sines[e.args[0]][e.op == "cos"])
            else:
                args = [values.operand(a) for a in e.args]
                result = f"%v{next(values.numbers)}"
                lines.extend(self._operation(e.op, args, result, calls))
                values.add(e, result)
            values.store_waiting()
        values.store_rest()
        body = "\n  ".join(lines)
        return (
            f"{self._functions(calls)}\n"
            f"define void @{symbol}(ptr noalias %in, ptr noalias %out, ptr %libm) "
            f'nounwind {ALIGNED} "prefer-vector-width"="512" {{\n'
            f'  {body}\n  ret void\n}}\n!0 = !{{!"order"}}\n'
        )

    def _operation(
        self, op: str, args: list[str], result: str, calls: set[str]
    ) -> list[str]:
        v, n = self.type, self.suffix
        if op in ARITHMETIC:
            return [f"{result} = {ARITHMETIC[op]} {v} {args[0]}, {args[1]}"]
        if op in ("fma", "fms", "fnma"):
            a, b, c = args
            lines: list[str] = []
            if op == "fms":
                lines.append(f"{result}n = fneg {v} {c}")
                c = f"{result}n"
            elif op == "fnma":
                lines.append(f"{result}n = fneg {v} {a}")
                a = f"{result}n"
            call = f"@llvm.fmuladd.{n}({v} {a}, {v} {b}, {v} {c})"
            return [*lines, f"{result} = call {v} {call}"]
        if op == "neg":
            return [f"{result} = fneg {v} {args[0]}"]
        if op == "sqrt":
            return [f"{result} = call {v} @llvm.sqrt.{n}({v} {args[0]})"]
        if op == "abs":
            return [f"{result} = call {v} @llvm.fabs.{n}({v} {args[0]})"]
        if op in COMPARE:
            return [f"{result} = fcmp {COMPARE[op]} {v} {args[0]}, {args[1]}"]
        if op in ("and", "or"):
            return [f"{result} = {op} {self.bits} {args[0]}, {args[1]}"]
        if op == "not":
            ones = ", ".join(["i1 true"] * self.lanes)
            ones = "true" if self.lanes == 1 else f"<{ones}>"
            return [f"{result} = xor {self.bits} {args[0]}, {ones}"]
        if op == "where":
            c, a, b = args
            return [f"{result} = select {self.bits} {c}, {v} {a}, {v} {b}"]
        if op in ("min", "max"):
            return self._extremum(op, args, result)
        calls.add(op)
        passed = ", ".join(f"{v} {a}" for a in args)
        return [f"{result} = call {v} @ramidyn_{op}({passed}, ptr %libm)"]

    def _extremum(self, op: str, args: list[str], result: str) -> list[str]:
        """Return min or max as NumPy means it: NaN if either is NaN.

        The first two lines are one instruction on x86: it takes its second operand, a,
        if one is NaN.
        """
        v, bits, (a, b) = self.type, self.bits, args
        order = "olt" if op == "min" else "ogt"
        return [
            f"{result}c = fcmp {order} {v} {b}, {a}",
            f"{result}m = select {bits} {result}c, {v} {b}, {v} {a}",
            f"{result}u = fcmp uno {v} {b}, {b}",
            f"{result} = select {bits} {result}u, {v} {b}, {v} {result}m",
        ]

    def _together(
        self, cut: Cut, order: list[Expr], made: dict[Expr, str]
    ) -> list[Expr]:
        """Return the angles of the sines that an order begins with: one vector full."""
        angles = dict.fromkeys(order[0].args)
        for e in order:
            if e.op not in ("sin", "cos") or len(angles) == self.angles:
                break
            (x,) = e.args
            if not (x in made or x in cut.loads):
                break
            angles[x] = None
        return list(angles)

    def _terms(
        self, angle: Expr, operand: Callable[[Expr], str], name: str, lines: list[str]
    ) -> tuple[str, str | None]:
        """Return x and y of an angle x + y, or the angle and None."""
        terms = terms_of(angle)
        if terms is None:
            return operand(angle), None
        x, y = terms
        if angle.op == "add":
            return operand(x), operand(y)
        if y.op == "const":
            return operand(x), self.constant(-y.value)
        lines.append(f"{name} = fneg {self.type} {operand(y)}")
        return operand(x), name

    def _sincos(
        self, terms: list[tuple[str, str | None]], result: str, lines: list[str]
    ) -> list[tuple[str, str]]:
        """Write the call for some angles; return the names of sine and cosine."""
        angles = [x for x, _ in terms]
        width = max(self.lanes, self.angles)
        v = self.scalar if width == 1 else f"<{width} x {self.scalar}>"

        def together(values: list[str], name: str) -> str:
            if self.angles == 1:
                return values[0]
            x = "poison"
            for lane in range(width):  # the last one fills the vector
                value = values[min(lane, len(values) - 1)]
                one = f"insertelement {v} {x}, {self.scalar} {value}, i32 {lane}"
                x = f"{name}{lane}"
                lines.append(f"{x} = {one}")
            return x

        given = f"{v} {together(angles, f'{result}x')}"
        function = "ramidyn_sincos"
        if any(y is not None for _, y in terms):
            # Minus zero added leaves every number as it is.
            others = [self.constant(-0.0) if y is None else y for _, y in terms]
            given += f", {v} {together(others, f'{result}y')}"
            function = "ramidyn_sincos_sum"
        lines.append(f"{result} = call {{{v}, {v}}} @{function}({given}, ptr %libm)")
        for k, kind in enumerate("sc"):
            lines.append(f"{result}{kind} = extractvalue {{{v}, {v}}} {result}, {k}")
        if self.angles == 1:
            return [(f"{result}s", f"{result}c")]
        for lane in range(len(angles)):
            for kind in "sc":
                lines.append(
                    f"{result}{kind}{lane} = extractelement {v} {result}{kind}, "
                    f"i32 {lane}"
                )
        return [(f"{result}s{lane}", f"{result}c{lane}") for lane in range(len(angles))]

    def _functions(self, calls: set[str]) -> str:
        texts: list[str] = []
        width = max(self.lanes, self.angles)
        for name in sorted(calls & {"sincos", "sincos_sum"}):
            is_sum = name == "sincos_sum"
            texts.append(sincos(width, self.dtype, fused=self.is_fused, is_sum=is_sum))
        if "exp" in calls:
            texts.append(exponential(self.lanes, self.dtype))
        if "random" in calls:
            texts.append(random(self.lanes, self.dtype))
        texts += [lanewise(c, self.lanes, self.dtype) for c in sorted(calls & LIBM)]
        return "\n".join(texts)


class _Values:
    """The values of one cut: their names, and where they are in the workspace.

    Args:
        emitter: knows types and constants.
        cut: says what is read and written.
        order: of its operations.
        lines: the text of the cut so far.
    """

    def __init__(
        self, emitter: Emitter, cut: Cut, order: Sequence[Expr], lines: list[str]
    ) -> None:
        self.emitter, self.lines = emitter, lines
        self.names: dict[Expr, str] = {}
        self.numbers: Iterator[int] = itertools.count()
        self.now: int = 0
        """the number of the current operation"""
        self._near: dict[Expr, int] = {}
        """the block in which each value was made, read or used last"""
        self._stores: dict[Expr, list[int]] = {}
        for e, slot in cut.stores:
            self._stores.setdefault(e, []).append(slot)
        written = {slot for _, slot in cut.stores}
        self._places = {
            e: ("%out" if slot in written else "%in", slot)
            for e, slot in cut.loads.items()
        }
        last = _last_uses(order)
        self._free: dict[int, int] = {
            slot: last.get(e, -1) for e, slot in cut.loads.items() if slot in written
        }
        """the operation after which a slot that is read may be written"""
        self._waiting: dict[int, list[tuple[Expr, int]]] = {}
        """what is to be stored after an operation, and where"""
        self._addresses: dict[int, str] = {}
        """of tables that have been read, by their offsets"""

    @property
    def block(self) -> int:
        """The number of the current block of operations."""
        return (self.now + 1) // LEEWAY

    def add(self, e: Expr, name: str) -> None:
        """Take note of a value that has been made, and store it."""
        self.names[e], self._near[e] = name, self.block
        self._store(e)

    def operand(self, a: Expr) -> str:
        """Return the name of a value, which is read if it is not near."""
        if a.op == "const":
            return self.emitter.constant(a.value)
        is_far = a in self._places and self.block - self._near.get(a, self.block) >= FAR
        if is_far or a not in self.names:
            k = next(self.numbers)
            self.names[a] = f"%v{k}"
            self._load(a, k)
            if a.op == "result":  # passed on
                self._store(a)
        self._near[a] = self.block
        return self.names[a]

    def store_rest(self) -> None:
        """Store what no operation of the cut makes."""
        for e in list(self._stores):
            self._store(e)

    def store_waiting(self) -> None:
        """Store what may be written after the current operation."""
        for e, slot in self._waiting.pop(self.now, ()):
            self._write(e, slot)

    def _store(self, e: Expr) -> None:
        for slot in self._stores.pop(e, ()):
            free = self._free.get(slot, -1)
            if free > self.now:
                self._waiting.setdefault(free, []).append((e, slot))
            else:
                self._write(e, slot)

    def _write(self, e: Expr, slot: int) -> None:
        value, stride = self.operand(e), self.emitter.stride
        at = f"getelementptr i8, ptr %out, i64 {slot * stride}"
        self.lines += [
            f"%s{slot} = {at}",
            f"store {self.emitter.type} {value}, ptr %s{slot}, align {stride}",
        ]
        self._places.setdefault(e, ("%out", slot))

    def _load(self, a: Expr, k: int) -> None:
        """Read a value into %v; of a table, into every lane."""
        of, addresses, (pointer, slot) = self.emitter, self._addresses, self._places[a]
        offset = slot * of.stride
        if a.op != "input" or not is_table(a.value[0]):
            self.lines += [
                f"%p{k} = getelementptr i8, ptr {pointer}, i64 {offset}",
                f"%v{k} = load {of.type}, ptr %p{k}, align {of.stride}",
            ]
            return
        scalar, lines = of.scalar, self.lines
        if offset not in addresses:
            addresses[offset] = f"%a{k}"
            lines.append(f"%t{k} = getelementptr i8, ptr %in, i64 {offset}")
            lines.append(f"%a{k} = load ptr, ptr %t{k}, align 4")
        at = f"getelementptr {scalar}, ptr {addresses[offset]}"
        number = f"%v{k}" if of.lanes == 1 else f"%x{k}"
        lines += [
            f"%p{k} = {at}, i64 {a.value[1]}",
            f"{number} = load {scalar}, ptr %p{k}, align {BYTES[of.dtype]}",
        ]
        if of.lanes > 1:
            v, zero = of.type, f"<{of.lanes} x i32> zeroinitializer"
            one = f"insertelement {v} poison, {scalar} {number}, i32 0"
            lines += [
                f"%o{k} = {one}",
                f"%v{k} = shufflevector {v} %o{k}, {v} poison, {zero}",
            ]


def _last_uses(order: Sequence[Expr]) -> dict[Expr, int]:
    """Return the last operation that uses each value."""
    found: dict[Expr, int] = {}
    for k, e in enumerate(order):
        found.update(dict.fromkeys(e.args, k))
        if e.op in ("sin", "cos"):
            found.update(dict.fromkeys(terms_of(e.args[0]) or (), k))
    return found


SIMPLE = 4
"""Operations that an angle takes, at most, to come first."""


def sines_first(order: list[Expr]) -> list[Expr]:
    """Return an order that begins with the sines of simple angles.

    Before a call, all values that are needed after it go to the stack. One state, whose
    sines are taken several at once, gains nothing.
    """
    here, first = set(order), dict[Expr, None]()
    for e in order:
        if e.op in ("sin", "cos") and e not in first:
            needed, waiting = [e], [*e.args]
            while waiting and len(needed) <= SIMPLE:
                a = waiting.pop()
                if a in here and a not in first:
                    needed.append(a)
                    waiting += a.args
            if not waiting:
                first.update(dict.fromkeys(reversed(needed)))
    return [*first, *(e for e in order if e not in first)]


def _single(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise CompileError(f"the constant {value} is too large for float32") from None
