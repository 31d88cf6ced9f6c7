"""Write the cuts of a schedule as LLVM IR, one lane per state.

    void cut(T *in, T *out, void **libm, void **ferry)

Inputs are read by ``in``, all else is read and written by ``out``. They are the same
workspace, or a callee's arguments and its frame; no slot is both read by ``in`` and
written in one cut, so both are noalias. An input whose slot is written later is read by
``out``. Few cuts have the last argument: see `ferries`. The text is written directly:
at a million operations, objects for every instruction would take longer than LLVM
itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ramidyn.backend.llvm import ferries
from ramidyn.backend.llvm.cut_order import order_in_cut
from ramidyn.backend.llvm.cut_values import LABEL, CutValues
from ramidyn.backend.llvm.frames import Cut
from ramidyn.backend.llvm.packs import Pack
from ramidyn.backend.llvm.target import BYTES
from ramidyn.backend.llvm.vector_constants import VectorConstants
from ramidyn.backend.llvm.vector_exp import exponential
from ramidyn.backend.llvm.vector_math import arguments, lanewise, sincos, structure
from ramidyn.backend.llvm.vector_random import random
from ramidyn.errors import CompileError
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import terms_of

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
ALIGNED = "alignstack(64)"
"""No spilled register lies across two cache lines: that takes up to a third longer."""
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
        self.vectors: VectorConstants = VectorConstants("vectors")

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
        order = order_in_cut(cut.order, self.lanes, self.stride)
        values = CutValues(self, cut, order, lines)
        moves = ferries.calls(cut, self.stride, BYTES[self.dtype])
        moved = 0
        lines += ferries.head(cut)
        sines: dict[Expr, tuple[str, str]] = {}
        calls: set[str] = set()
        most = 2 * self.angles
        operand, numbers = values.operand, values.numbers
        last = {p.operations[-1]: p for p in cut.packs}
        waiting = {e for p in cut.packs for e in p.operations[:-1]}
        for k, e in enumerate(order):
            values.begin(k)
            while moved < len(moves) and moved * len(order) <= k * len(moves):
                lines += [LABEL, *moves[moved]]
                moved += 1
            if e in waiting:
                continue
            if e in last:
                self._pack(last[e], values, calls)
            elif e.op in ("sin", "cos"):
                if e.args[0] not in sines:
                    angles = self._together(cut, order[k : k + most], values.names)
                    terms = [
                        self._terms(a, operand, f"%n{k}_{i}", lines)
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
                args = [operand(a) for a in e.args]
                result = f"%v{next(numbers)}"
                lines.extend(self._operation(e.op, args, result, calls))
                values.add(e, result)
            values.store_waiting()
        values.store_rest()
        for move in moves[moved:]:
            lines += move
        further = ", ptr %ferry" if moves else ""
        body = "\n  ".join(lines)
        return (
            f"{ferries.functions(self.dtype, self.lanes) if moves else ''}\n"
            f"{self.vectors.definition()}\n{self._functions(calls)}\n"
            f"define void @{symbol}"
            f"(ptr noalias %in, ptr noalias %out, ptr %libm{further}) "
            f'nounwind {ALIGNED} "prefer-vector-width"="512" {{\n'
            f'  {body}\n  ret void\n}}\n!0 = !{{!"order"}}\n'
        )

    def _pack(self, pack: Pack, values: CutValues, calls: set[str]) -> None:
        """Write equal operations of one state as one of vectors."""
        lanes = pack.operations
        wide = Emitter(len(lanes), self.dtype)
        arguments = zip(pack.columns, pack.flips, strict=True)
        args = [values.packed.operand(column, flips) for column, flips in arguments]
        result = f"%v{next(values.numbers)}"
        values.lines.extend(wide._operation(pack.op, args, result, calls))
        values.packed.add(lanes, result)

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

        given, function = [together(angles, f"{result}x")], "ramidyn_sincos"
        if any(y is not None for _, y in terms):
            # Minus zero added leaves every number as it is.
            others = [self.constant(-0.0) if y is None else y for _, y in terms]
            given.append(together(others, f"{result}y"))
            function = "ramidyn_sincos_sum"
        returned, passed = structure(v, len(given) + 2), arguments(v, given)
        lines.append(f"{result} = call {returned} @{function}({passed}, ptr %libm)")
        for k, kind in enumerate("sc", len(given)):
            lines.append(f"{result}{kind} = extractvalue {returned} {result}, {k}")
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


def _single(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise CompileError(f"the constant {value} is too large for float32") from None
