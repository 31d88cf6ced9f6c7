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
code on disk holds no address. Intrinsics are used undeclared: see ``declarations``.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from ramidyn.backend.runtime.memory_layout import LIBM
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
    """The lines of a function body, with a new name for each value."""

    lanes: int
    text: list[str] = field(default_factory=list[str])

    def let(self, code: str) -> str:
        """Append ``%t = code`` and return the name."""
        name = f"%t{len(self.text)}"
        self.text.append(f"  {name} = {code}")
        return name

    def vector(self, scalar: str) -> str:
        """Return the type of all lanes."""
        return vector(scalar, self.lanes)

    def splat(self, scalar: str, value: float) -> str:
        """Return a constant with one value in all lanes."""
        one = f"{value}" if scalar[0] == "i" else bits(value)
        if self.lanes == 1:
            return one
        return f"<{', '.join([f'{scalar} {one}'] * self.lanes)}>"

    def fma(self, form: Format, a: str, b: str, c: str, op: str = "fmuladd") -> str:
        """Append a·b + c."""
        t = self.vector(form.name)
        return self.let(
            f"call {t} {intrinsic(op, self.lanes, form)}({t} {a}, {t} {b}, {t} {c})"
        )

    def polynomial(self, form: Format, z: str, coefficients: tuple[float, ...]) -> str:
        """Append a polynomial, constant term first, by Horner's rule.

        Each coefficient but the last is an operand in memory, and angles do not wait
        for each other.
        """
        *rest, last = (self.splat(form.name, c) for c in coefficients)
        return reduce(lambda p, c: self.fma(form, p, z, c), reversed(rest), last)

    def reduce(
        self, form: Format, x: str, parts: tuple[float, ...], op: str
    ) -> tuple[str, str]:
        """Append k and r of x ≥ 0; k as an integer, right in its last two bits."""
        t, i = self.vector(form.name), self.vector(f"i{form.bits}")
        rounder = self.splat(form.name, form.rounder)
        two_over_pi = self.splat(form.name, nearest(form, 2.0 / math.pi))
        shifted = self.fma(form, x, two_over_pi, rounder)
        k = self.let(f"fsub {t} {shifted}, {rounder}")
        r = x
        for part in parts:
            r = self.fma(form, k, self.splat(form.name, -part), r, op)
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

    def lane(self, form: Format, x: str, lane: int) -> str:
        """Append one lane of x."""
        if self.lanes == 1:
            return x
        return self.let(f"extractelement {self.vector(form.name)} {x}, i32 {lane}")

    def widen(self, form: Format, x: str) -> str:
        """Append the scalar x as a double."""
        return self.let(f"fpext float {x} to double") if form is FLOAT else x


def sincos(lanes: int, dtype: str, *, fused: bool = False, is_sum: bool = False) -> str:
    """Return ``{V, V} @ramidyn_sincos(V %x, ptr %libm)``: sin and cos within 2 ulp.

    That of a sum is ``@ramidyn_sincos_sum(V %x, V %y, ptr %libm)``.

    Args:
        lanes: 1 for scalars, where V is plain ``double`` or ``float``.
        dtype: "float64" or "float32".
        fused: The target has fused multiply-add, which makes the reduction shorter.
            Where it has not, LLVM calls ``fma`` of the C library: right, but slow.
        is_sum: the angle is a sum of two.
    """
    form = FORMATS[dtype]
    v = vector(form.name, lanes)
    # x86 has no conditional move for scalars of floating point: it would branch.
    width = lanes if lanes > 1 else 128 // form.bits
    b = Lines(width)
    t, i, m = b.vector(form.name), b.vector(f"i{form.bits}"), b.vector("i1")
    sign = b.splat(f"i{form.bits}", 1 << (form.bits - 1))
    rest = b.splat(f"i{form.bits}", (1 << (form.bits - 1)) - 1)

    x = b.let(f"fadd {v} %x, %y") if is_sum else "%x"
    if lanes == 1:
        x = b.let(f"insertelement {t} zeroinitializer, {v} {x}, i32 0")
    x_bits = b.let(f"bitcast {t} {x} to {i}")
    size = b.let(f"bitcast {i} {b.let(f'and {i} {x_bits}, {rest}')} to {t}")
    # The sign of x is taken off and put back: r + r·z·S would lose that of −0.
    if form is FLOAT and not fused:
        k, r = b.reduce_in_double(size)
    else:
        op = "fma" if fused else "fmuladd"
        k, r = b.reduce(form, size, PARTS[form.name, fused], op)

    z = b.let(f"fmul {t} {r}, {r}")
    rz = b.let(f"fmul {t} {r}, {z}")
    s = b.fma(form, rz, b.polynomial(form, z, form.sin), r)
    c = b.polynomial(form, z, (1.0, -0.5, *form.cos))

    odd = b.let(f"shl {i} {k}, {b.splat(f'i{form.bits}', form.bits - 1)}")
    half = b.let(f"shl {i} {k}, {b.splat(f'i{form.bits}', form.bits - 2)}")
    swap = b.let(f"icmp slt {i} {odd}, zeroinitializer")
    results: list[str] = []
    for first, second, flip in ((c, s, x_bits), (s, c, odd)):
        chosen = b.let(f"select {m} {swap}, {t} {first}, {t} {second}")
        flips = b.let(f"and {i} {b.let(f'xor {i} {half}, {flip}')}, {sign}")
        signed = b.let(f"xor {i} {b.let(f'bitcast {t} {chosen} to {i}')}, {flips}")
        result = b.let(f"bitcast {i} {signed} to {t}")
        results.append(
            result if lanes > 1 else b.let(f"extractelement {t} {result}, i32 0")
        )

    far = b.let(f"fcmp ogt {t} {size}, {b.splat(form.name, FAR)}")
    any_far = b.let(f"icmp ne i{width} {b.let(f'bitcast {m} {far} to i{width}')}, 0")
    body = "\n".join(b.text)
    s, c = results
    name = "ramidyn_sincos_sum" if is_sum else "ramidyn_sincos"
    terms = f"{v} %x, {v} %y" if is_sum else f"{v} %x"
    return f"""\
define internal {{{v}, {v}}} @{name}({terms}, ptr %libm) nounwind {{
{body}
  br i1 {any_far}, label %far, label %near
near:
  %near.s = insertvalue {{{v}, {v}}} poison, {v} {s}, 0
  %near.sc = insertvalue {{{v}, {v}}} %near.s, {v} {c}, 1
  ret {{{v}, {v}}} %near.sc
far:
  %far.sc = call {{{v}, {v}}} @{name}_far({terms}, {v} {s}, {v} {c}, ptr %libm)
  ret {{{v}, {v}}} %far.sc
}}

{sincos_far(name, terms, lanes, form)}"""


def sincos_far(name: str, terms: str, lanes: int, form: Format) -> str:
    """Return the function that replaces sin and cos in the lanes with |x| > FAR."""
    b = Lines(lanes)
    v, m = b.vector(form.name), b.vector("i1")
    is_sum = "%y" in terms
    whole = b.let(f"fadd {v} %x, %y") if is_sum else "%x"
    above = b.let(f"fcmp ogt {v} {whole}, {b.splat(form.name, FAR)}")
    below = b.let(f"fcmp olt {v} {whole}, {b.splat(form.name, -FAR)}")
    far = b.let(f"or {m} {above}, {below}")
    sin, cos = (b.call(f, form, ["%x"]) for f in ("sin", "cos"))
    if is_sum:
        sin_y, cos_y = (b.call(f, form, ["%y"]) for f in ("sin", "cos"))
        minus = b.let(f"fneg {v} {sin_y}")
        sin, cos = (
            b.fma(form, sin, cos_y, b.let(f"fmul {v} {cos}, {sin_y}")),
            b.fma(form, cos, cos_y, b.let(f"fmul {v} {sin}, {minus}")),
        )
    s = b.let(f"select {m} {far}, {v} {sin}, {v} %s")
    c = b.let(f"select {m} {far}, {v} {cos}, {v} %c")
    sc = b.let(f"insertvalue {{{v}, {v}}} poison, {v} {s}, 0")
    sc = b.let(f"insertvalue {{{v}, {v}}} {sc}, {v} {c}, 1")
    body = "\n".join(b.text)
    arguments = f"{terms}, {v} %s, {v} %c, ptr %libm"
    return f"""\
define internal {{{v}, {v}}} @{name}_far({arguments}) cold noinline nounwind {{
{body}
  ret {{{v}, {v}}} {sc}
}}
"""


def lanewise(name: str, lanes: int, dtype: str) -> str:
    """Return ``V @ramidyn_<name>(V %x, ptr %libm)``: the C function in each lane.

    atan2 and pow take ``(V %x, V %y, ptr %libm)``; float goes through double.
    """
    form = FORMATS[dtype]
    b = Lines(lanes)
    v = b.vector(form.name)
    arguments = ["%x", "%y"] if name in BINARY else ["%x"]
    result = b.call(name, form, arguments)
    body = "\n".join(b.text)
    signature = ", ".join(f"{v} {a}" for a in arguments)
    return f"""\
define internal {v} @ramidyn_{name}({signature}, ptr %libm) nounwind {{
{body}
  ret {v} {result}
}}
"""


def declarations(lanes: int, dtype: str) -> tuple[str, ...]:
    """Return the declarations that the text of ``sincos`` needs before LLVM 18.

    Later parsers know intrinsics by name, and two declarations of one are an error.
    """
    form = FORMATS[dtype]
    width = lanes if lanes > 1 else 128 // form.bits
    lines: list[str] = []
    for f in {form, DOUBLE}:
        t = vector(f.name, width)
        for op in ("fma", "fmuladd"):
            lines.append(f"declare {t} {intrinsic(op, width, f)}({t}, {t}, {t})")
    return tuple(sorted(lines))


def vector(scalar: str, lanes: int) -> str:
    """Return the vector type, or the scalar's own for one lane."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def intrinsic(op: str, lanes: int, form: Format) -> str:
    """Return the name of an LLVM intrinsic for this type."""
    return f"@llvm.{op}.{f'v{lanes}' if lanes > 1 else ''}{form.letter}"


def bits(value: float) -> str:
    """Return an exact IR constant; LLVM writes float constants as doubles too."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def nearest(form: Format, value: float) -> float:
    """Round to the format."""
    return value if form is DOUBLE else struct.unpack("<f", struct.pack("<f", value))[0]
