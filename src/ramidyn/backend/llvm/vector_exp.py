"""Vector exp as LLVM IR text, without a branch.

    k = round(x / ln 2)        r = x − k·ln 2        |r| ≤ ln 2 / 2
    exp x = 2ᵏ exp r        exp r = 1 + (r + r²·(1/2! + r/3! + ...))

ln 2 is a sum of two parts, the first so short that k times it is exact. The series ends
where a further term is below the last digit. k is added to the bits of the exponent. A
result that is not a normal number is 0 or infinite: denormals are zero in a kernel.
"""

from __future__ import annotations

import math
from typing import Final

from ramidyn.backend.llvm.vector_math import (
    DOUBLE,
    FLOAT,
    FORMATS,
    Format,
    Lines,
    nearest,
)

TERMS: Final = {DOUBLE.name: 12, FLOAT.name: 6}
"""of the series after 1 + r"""
LN2: Final = {
    DOUBLE.name: (
        float.fromhex("0x1.62e42fee00000p-1"),
        float.fromhex("0x1.a39ef35793c76p-33"),
    ),
    FLOAT.name: (float.fromhex("0x1.63p-1"), float.fromhex("-0x1.bd0106p-13")),
}
FRACTION: Final = {DOUBLE.name: 52, FLOAT.name: 23}
RANGE: Final = {
    DOUBLE.name: (
        float.fromhex("-0x1.6232bdd7abcd2p9"),
        float.fromhex("0x1.62e42fefa39efp9"),
    ),
    FLOAT.name: (float.fromhex("-0x1.5d589ep6"), float.fromhex("0x1.62e42ep6")),
}
"""where the result is a normal number: from the least x to the greatest"""


def exponential(lanes: int, dtype: str) -> str:
    """Return ``V @ramidyn_exp(V %x, ptr %libm)``: exp within 1 ulp."""
    form = FORMATS[dtype]
    b = Lines(lanes, "ramidyn_exp")
    t, i, m = b.vector(form.name), b.vector(f"i{form.bits}"), b.vector("i1")
    k, r = _reduce_argument(b, form)
    series = [1.0 / math.factorial(n) for n in range(2, 2 + TERMS[form.name])]
    rr = b.let(f"fmul {t} {r}, {r}")
    p = b.polynomial(form, r, tuple(nearest(form, c) for c in series))
    y = b.let(f"fadd {t} {b.fma(form, rr, p, r)}, {b.splat(form.name, 1.0)}")

    shift = b.splat(f"i{form.bits}", FRACTION[form.name])
    power = b.let(f"shl {i} {k}, {shift}")
    raised = b.let(f"add {i} {b.let(f'bitcast {t} {y} to {i}')}, {power}")
    y = b.let(f"bitcast {i} {raised} to {t}")
    least, most = RANGE[form.name]
    for test, value in (
        (f"fcmp olt {t} %x, {b.splat(form.name, least)}", b.splat(form.name, 0.0)),
        (f"fcmp ogt {t} %x, {b.splat(form.name, most)}", b.splat(form.name, math.inf)),
        (f"fcmp uno {t} %x, %x", "%x"),
    ):
        y = b.let(f"select {m} {b.let(test)}, {t} {value}, {t} {y}")
    b.leave(form, [y])
    return b.whole(form, ["%x"])


def _reduce_argument(b: Lines, form: Format) -> tuple[str, str]:
    """Append k, an integer right in its low bits, and r."""
    t, i = b.vector(form.name), b.vector(f"i{form.bits}")
    rounder, minus = (b.number(form, sign * form.rounder) for sign in (1, -1))
    log2_e = b.number(form, nearest(form, 1.0 / math.log(2.0)))
    shifted = b.fma(form, "%x", log2_e, rounder)
    k, r = b.let(f"fadd {t} {shifted}, {minus}"), "%x"
    for part in LN2[form.name]:
        r = b.fma(form, k, b.number(form, -part), r)
    return b.let(f"bitcast {t} {shifted} to {i}"), r
