"""Vector sin and cos, and the functions of the C library lane by lane, as LLVM IR text.

sin and cos share one reduction and have no branch per quadrant::

    k = round(|x| · 2/π)        r = |x| − k·π/2        |r| ≤ π/4
    sin r = r + r·z·S(z)        cos r = 1 − z/2 + z²·C(z)        z = r²

k comes from adding a number so large that its last bit is worth one: the sum's low bits
are k's low bits, and those choose and sign the two results. π/2 is a sum of parts so
short that every k·part but the last is exact for |x| ≤ FAR, and the subtractions leave
one rounding in r (Cody & Waite 1980). S and C are minimax (Remez) in relative error.
Lanes with |x| > FAR go to the C library, and only those: a lane's result never depends
on its neighbors. NaN stays NaN; ±inf gives NaN. The angle may be a sum x + y, whose
terms go there one by one (`terms_of` in symbolic/program.py).

The functions take ``ptr %libm``, a table of C functions in the order of LIBM, so that
code on disk holds no address. Intrinsics are used undeclared.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from ramidyn.backend.llvm.vector_constants import VectorConstants
from ramidyn.backend.runtime.memory_layout import LIBM, LINE
from ramidyn.symbolic.program import FAR

BINARY: Final = frozenset({"atan2", "pow"})


@dataclass(frozen=True, slots=True)
class Format:
    """What sincos needs to know of a floating-point format."""

    name: str
    letter: str
    bits: int
    rounder: float  # last bit worth one, and low bits zero
    sin: tuple[float, ...]  # S, constant term first
    cos: tuple[float, ...]  # C, constant term first


# Relative errors of the polynomials: sin 2^-57.8, cos 2^-63.8; float 2^-27.8, 2^-32.8.
DOUBLE: Final = Format(
    name="double",
    letter="f64",
    bits=64,
    rounder=1.5 * 2.0**52,
    sin=(
        float.fromhex("-0x1.5555555555548p-3"),
        float.fromhex("0x1.111111110f730p-7"),
        float.fromhex("-0x1.a01a019be91cep-13"),
        float.fromhex("0x1.71de355511af9p-19"),
        float.fromhex("-0x1.ae5e4b57ef65bp-26"),
        float.fromhex("0x1.5d8b4164843fcp-33"),
    ),
    cos=(
        float.fromhex("0x1.555555555554bp-5"),
        float.fromhex("-0x1.6c16c16c15014p-10"),
        float.fromhex("0x1.a01a019c8ef62p-16"),
        float.fromhex("-0x1.27e4f7f1613f9p-22"),
        float.fromhex("0x1.1ee9dba5fb8a9p-29"),
        float.fromhex("-0x1.8fa66b1e1b8acp-37"),
    ),
)
FLOAT: Final = Format(
    name="float",
    letter="f32",
    bits=32,
    rounder=1.5 * 2.0**23,
    sin=(
        float.fromhex("-0x1.555544p-3"),
        float.fromhex("0x1.1106c6p-7"),
        float.fromhex("-0x1.991c36p-13"),
    ),
    cos=(
        float.fromhex("0x1.55554ap-5"),
        float.fromhex("-0x1.6c0c20p-10"),
        float.fromhex("0x1.99e42ap-16"),
    ),
)
FORMATS: Final = {
    "float64": DOUBLE,
    "float32": FLOAT,
    "double": DOUBLE,
    "float": FLOAT,
}

HALF_PI: Final = 0x1921FB54442D18469898CC51701B839A252049C1114CF98E  # π/2 · 2^188


def half_pi(*ends: int) -> tuple[float, ...]:
    """Return π/2 cut into parts that end at the bits 2^-end; exact sums of bits."""
    parts: list[float] = []
    taken = 0
    for end in ends:
        upto = HALF_PI >> (188 - end) << (188 - end)
        parts.append((upto - taken) * 2.0**-188)
        taken = upto
    return tuple(parts)


# k has 16 bits. Up to the part that ends at the format's last bit below 1, subtraction
# is exact; the part after it rounds r once; the last is too small to round it again,
# unless r is tiny, where sin r = r. With fused multiply-add a product may be long.
PARTS: Final = {
    ("double", False): half_pi(36, 53, 90, 143),
    ("double", True): half_pi(52, 105, 158),
    ("float", False): half_pi(36, 89),  # in double
    ("float", True): half_pi(23, 47, 71),
}


@dataclass(slots=True)
class Lines:
    """The lines of a function's body, with a new name for each value."""

    lanes: int
    function: str
    text: list[str] = field(default_factory=list[str])
    vectors: VectorConstants = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = VectorConstants(f"{self.function}.vectors")

    def let(self, code: str) -> str:
        """Append ``%t = code`` and return the name."""
        name = f"%t{len(self.text)}"
        self.text.append(f"  {name} = {code}")
        return name

    def whole(
        self,
        form: Format,
        given: Sequence[str],
        results: int = 1,
        attributes: str = "nounwind",
    ) -> str:
        """Return the function of some values, and of the table of C functions."""
        t, body = self.vector(form.name), "\n".join(self.text)
        return f"""\
{self.vectors.definition()}
define internal {structure(t, results)} @{self.function}(\
{arguments(t, given)}, ptr %libm) {attributes} {{
{body}
}}
"""

    def vector(self, scalar: str) -> str:
        """Return the type of all lanes."""
        return vector(scalar, self.lanes)

    def splat(self, scalar: str, value: float) -> str:
        """Return a constant with one value in all lanes."""
        one = f"{value}" if scalar[0] == "i" else bits(value)
        if self.lanes == 1:
            return one
        return f"<{', '.join([f'{scalar} {one}'] * self.lanes)}>"

    def number(self, form: Format, value: float) -> str:
        """Return a number in all lanes, as an operand in memory if that is better."""
        one, size = self.splat(form.name, value), self.lanes * form.bits // 8
        if self.lanes == 1 or size >= LINE:
            return one
        return self.let(self.vectors.read(self.vector(form.name), one, size))

    def fma(self, form: Format, a: str, b: str, c: str, op: str = "fmuladd") -> str:
        """Append a·b + c."""
        t = self.vector(form.name)
        return self.let(
            f"call {t} {intrinsic(op, self.lanes, form)}({t} {a}, {t} {b}, {t} {c})"
        )

    def polynomial(self, form: Format, z: str, coefficients: tuple[float, ...]) -> str:
        """Append a polynomial, constant term first, by Horner's rule.

        Each coefficient but the last is an operand, and angles do not wait for each
        other.
        """
        *rest, last = (self.number(form, c) for c in coefficients)
        return reduce(lambda p, c: self.fma(form, p, z, c), reversed(rest), last)

    def reduce(
        self, form: Format, x: str, parts: tuple[float, ...], op: str
    ) -> tuple[str, str]:
        """Append k and r of x ≥ 0; k as an integer, right in its last two bits."""
        t, i = self.vector(form.name), self.vector(f"i{form.bits}")
        rounder, minus = (self.number(form, sign * form.rounder) for sign in (1, -1))
        two_over_pi = self.number(form, nearest(form, 2.0 / math.pi))
        shifted = self.fma(form, x, two_over_pi, rounder)
        k = self.let(f"fadd {t} {shifted}, {minus}")
        r = x
        for part in parts:
            r = self.fma(form, k, self.number(form, -part), r, op)
        return self.let(f"bitcast {t} {shifted} to {i}"), r

    def reduce_in_double(self, x: str) -> tuple[str, str]:
        """Append k and r of a float x ≥ 0 for targets whose products round."""
        f, d = self.vector("float"), self.vector("double")
        wide = self.let(f"fpext {f} {x} to {d}")
        k, r = self.reduce(DOUBLE, wide, PARTS["float", False], "fmuladd")
        narrow = self.let(f"trunc {self.vector('i64')} {k} to {self.vector('i32')}")
        return narrow, self.let(f"fptrunc {d} {r} to {f}")

    def call(self, name: str, form: Format, arguments: list[str]) -> str:
        """Append a call of the C library for each lane."""
        slot = self.let(f"getelementptr ptr, ptr %libm, i64 {LIBM.index(name)}")
        function = self.let(f"load ptr, ptr {slot}")
        result = "poison"
        for lane in range(self.lanes):
            scalars = [self.widen(form, self.lane(form, a, lane)) for a in arguments]
            value = self.let(
                f"call double {function}({', '.join(f'double {s}' for s in scalars)})"
            )
            if form is FLOAT:
                value = self.let(f"fptrunc double {value} to float")
            if self.lanes == 1:
                return value
            t = self.vector(form.name)
            result = self.let(
                f"insertelement {t} {result}, {form.name} {value}, i32 {lane}"
            )
        return result

    def with_sign(self, form: Format, x: str, flips: str) -> str:
        """Append x, its sign changed where the first bit of ``flips`` is set."""
        t, i = self.vector(form.name), self.vector(f"i{form.bits}")
        first = self.splat(f"i{form.bits}", 1 << (form.bits - 1))
        sign = self.let(f"and {i} {flips}, {first}")
        y = self.let(f"xor {i} {self.let(f'bitcast {t} {x} to {i}')}, {sign}")
        return self.let(f"bitcast {i} {y} to {t}")

    def leave(self, form: Format, values: Sequence[str]) -> None:
        """Append the return of some values, or of one."""
        t, packed = self.vector(form.name), values[0]
        kind = structure(t, len(values))
        if len(values) > 1:
            packed = "poison"
            for k, value in enumerate(values):
                packed = self.let(f"insertvalue {kind} {packed}, {t} {value}, {k}")
        self.text.append(f"  ret {kind} {packed}")

    def lane(self, form: Format, x: str, lane: int) -> str:
        """Append one lane of x."""
        if self.lanes == 1:
            return x
        return self.let(f"extractelement {self.vector(form.name)} {x}, i32 {lane}")

    def widen(self, form: Format, x: str) -> str:
        """Append the scalar x as a double."""
        return self.let(f"fpext float {x} to double") if form is FLOAT else x


def sincos(lanes: int, dtype: str, *, fused: bool = False, is_sum: bool = False) -> str:
    """Return ``{V, V, V} @ramidyn_sincos(V %x, ptr %libm)``: x, sin and cos of it.

    They are right within 2 ulp. Those of a sum are
    ``{V, V, V, V} @ramidyn_sincos_sum(V %x, V %y, ptr %libm)``, x and y first. The
    angle is returned because it is in a register that would be the sine's: each result
    would take one more instruction.

    Args:
        lanes: at least two.
        dtype: "float64" or "float32".
        fused: The target has fused multiply-add, which makes the reduction shorter.
            Where it has not, LLVM calls ``fma`` of the C library: right, but slow.
        is_sum: the angle is a sum of two.
    """
    form = FORMATS[dtype]
    b = Lines(lanes, "ramidyn_sincos_sum" if is_sum else "ramidyn_sincos")
    t, i, m = b.vector(form.name), b.vector(f"i{form.bits}"), b.vector("i1")

    x = b.let(f"fadd {t} %x, %y") if is_sum else "%x"
    # The sign of x is taken off and put back: r + r·z·S would lose that of −0.
    size = b.let(f"call {t} {intrinsic('fabs', lanes, form)}({t} {x})")
    far = b.let(f"fcmp ogt {t} {size}, {b.number(form, FAR)}")
    any_far = b.let(f"icmp ne i{lanes} {b.let(f'bitcast {m} {far} to i{lanes}')}, 0")
    if form is FLOAT and not fused:
        k, r = b.reduce_in_double(size)
    else:
        op = "fma" if fused else "fmuladd"
        k, r = b.reduce(form, size, PARTS[form.name, fused], op)

    z = b.let(f"fmul {t} {r}, {r}")
    rz = b.let(f"fmul {t} {r}, {z}")
    s = b.fma(form, rz, b.polynomial(form, z, form.sin), r)
    c = b.polynomial(form, z, (1.0, -0.5, *form.cos))

    last = b.let(f"and {i} {k}, {b.splat(f'i{form.bits}', 1)}")
    odd = b.let(f"icmp ne {i} {last}, zeroinitializer")
    half = b.let(f"shl {i} {k}, {b.splat(f'i{form.bits}', form.bits - 2)}")
    x_bits = b.let(f"bitcast {t} {x} to {i}")
    sin = b.let(f"select {m} {odd}, {t} {c}, {t} {s}")
    cos = b.let(f"select {m} {odd}, {t} {b.let(f'fneg {t} {s}')}, {t} {c}")
    s = b.with_sign(form, sin, b.let(f"xor {i} {half}, {x_bits}"))
    c = b.with_sign(form, cos, half)

    terms = ["%x", "%y"][: 1 + is_sum]
    found = [*terms, s, c]
    kind = structure(t, len(found))
    b.text.append(f"  br i1 {any_far}, label %far, label %near\nnear:")
    b.leave(form, found)
    b.text.append("far:")
    call = f"call {kind} @{b.function}_far({arguments(t, found)}, ptr %libm)"
    b.text.append(f"  ret {kind} {b.let(call)}")
    function = b.whole(form, terms, len(found))
    return f"{function}\n{sincos_far(b.function, terms, lanes, form)}"


def sincos_far(name: str, terms: list[str], lanes: int, form: Format) -> str:
    """Return the function that replaces sin and cos in the lanes with |x| > FAR."""
    b = Lines(lanes, f"{name}_far")
    v, m = b.vector(form.name), b.vector("i1")
    whole = b.let(f"fadd {v} %x, %y") if "%y" in terms else "%x"
    above = b.let(f"fcmp ogt {v} {whole}, {b.splat(form.name, FAR)}")
    below = b.let(f"fcmp olt {v} {whole}, {b.splat(form.name, -FAR)}")
    far = b.let(f"or {m} {above}, {below}")
    sin, cos = (b.call(f, form, ["%x"]) for f in ("sin", "cos"))
    if "%y" in terms:
        sin_y, cos_y = (b.call(f, form, ["%y"]) for f in ("sin", "cos"))
        minus = b.let(f"fneg {v} {sin_y}")
        sin, cos = (
            b.fma(form, sin, cos_y, b.let(f"fmul {v} {cos}, {sin_y}")),
            b.fma(form, cos, cos_y, b.let(f"fmul {v} {sin}, {minus}")),
        )
    s = b.let(f"select {m} {far}, {v} {sin}, {v} %s")
    c = b.let(f"select {m} {far}, {v} {cos}, {v} %c")
    b.leave(form, [*terms, s, c])
    given = [*terms, "%s", "%c"]
    return b.whole(form, given, len(given), "cold noinline nounwind")


def lanewise(name: str, lanes: int, dtype: str) -> str:
    """Return ``V @ramidyn_<name>(V %x, ptr %libm)``: the C function in each lane.

    atan2 and pow take ``(V %x, V %y, ptr %libm)``; float goes through double.
    """
    form, given = FORMATS[dtype], ["%x", "%y"][: 1 + (name in BINARY)]
    b = Lines(lanes, f"ramidyn_{name}")
    b.leave(form, [b.call(name, form, given)])
    return b.whole(form, given)


def vector(scalar: str, lanes: int) -> str:
    """Return the vector type, or the scalar's own for one lane."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def structure(kind: str, count: int) -> str:
    """Return the type of some values that are returned together, or of one."""
    return kind if count == 1 else f"{{{', '.join([kind] * count)}}}"


def arguments(kind: str, names: Sequence[str]) -> str:
    """Return some values as they are passed."""
    return ", ".join(f"{kind} {name}" for name in names)


def intrinsic(op: str, lanes: int, form: Format) -> str:
    """Return the name of an LLVM intrinsic for this type."""
    return f"@llvm.{op}.{f'v{lanes}' if lanes > 1 else ''}{form.letter}"


def bits(value: float) -> str:
    """Return an exact IR constant; LLVM writes float constants as doubles too."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def nearest(form: Format, value: float) -> float:
    """Round to the format."""
    return value if form is DOUBLE else struct.unpack("<f", struct.pack("<f", value))[0]
