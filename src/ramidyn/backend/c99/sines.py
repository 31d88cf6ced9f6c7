"""Sines and cosines as C that compilers vectorize: see `vector_math` for the method.

The C library's take 10 ns or more each, and are not vectorized: for a small robot that
is most of the time of a call.
"""

from __future__ import annotations

import math

from ramidyn.backend.c99.names import number, wrap_statement
from ramidyn.backend.llvm.vector_math import FAR, FORMATS, PARTS, half_pi

FLOAT_FAR = 500.0
"""Beyond it, k has more than 9 bits, and its products with 15 bits of π/2 round."""
FLOAT_PARTS = half_pi(14, 29, 62)


def sin_cos(dtype: str) -> list[str]:
    """Return a static function in C of n angles x that fills s and c.

    k counts quarter turns and is taken off in products that are exact; angles too
    large for that go to the C library. Neither floor nor a choice is vectorized by gcc
    without -fno-trapping-math; conversions, and a choice in a loop of its own, are.
    """
    form = FORMATS[dtype]
    is_double = dtype == "float64"
    t, f = ("double", "") if is_double else ("float", "f")
    parts, far = (PARTS[t, False], FAR) if is_double else (FLOAT_PARTS, FLOAT_FAR)
    shift = 2 ** math.ceil(math.log2(far))

    def n(value: float) -> str:
        return number(value, dtype)

    reduced = "y"
    for part in parts[:-1]:
        reduced = f"({reduced} - k * {n(part)})"
    turns = f"y * {n(2.0 / math.pi)} + {n(shift + 0.5)}"
    return [
        "/* s = sin x and c = cos x of n angles, without branches, for vectors;",
        " * define RAMIDYN_LIBM_SINES to use the C library's instead. */",
        f"static void sin_cos(int n, const {t} *RESTRICT x, {t} *RESTRICT s, "
        f"{t} *RESTRICT c)",
        "{",
        "    int i;",
        "",
        "#ifndef RAMIDYN_LIBM_SINES",
        "    for (i = 0; i < n; ++i)",
        f"        c[i] = fabs{f}(x[i]) < {n(far)} ? x[i] : {n(0.0)};",
        "    for (i = 0; i < n; ++i) {",
        "        /* y = turns pi/2 + r, rounded to the nearest number of turns */",
        f"        const {t} y = c[i];",
        f"        const int turns = (int)({turns}) - {shift};",
        f"        const {t} k = ({t})turns;",
        *wrap_statement(f"const {t} r = {reduced} - k * {n(parts[-1])};", 8),
        f"        const {t} z = r * r;",
        *_polynomial(t, "sin_r", [n(v) for v in form.sin], "r + r * z * ({})"),
        *_polynomial(
            t,
            "cos_r",
            [n(v) for v in form.cos],
            f"{n(1.0)} - {n(0.5)} * z + z * z * ({{}})",
        ),
        f"        const {t} odd = ({t})(turns & 1);",
        f"        const {t} even = {n(1.0)} - odd;",
        f"        const {t} sign = ({t})(1 - (turns & 2));",
        "",
        "        s[i] = sign * (even * sin_r + odd * cos_r);",
        "        c[i] = sign * (even * cos_r - odd * sin_r);",
        "    }",
        "#endif",
        "    for (i = 0; i < n; ++i) {",
        "#ifndef RAMIDYN_LIBM_SINES",
        f"        if (fabs{f}(x[i]) < {n(far)})",
        "            continue;",
        "#endif",
        f"        s[i] = sin{f}(x[i]);",
        f"        c[i] = cos{f}(x[i]);",
        "    }",
        "}",
        "",
    ]


def far_sum(dtype: str) -> list[str]:
    """Return a static function in C that gives large sums of angles their digits."""
    t, f, far = ("double", "", FAR) if dtype == "float64" else ("float", "f", FLOAT_FAR)
    return [
        "/* s and c of n angles sign x + y, from their terms, where the sum is so far",
        " * from zero that it has lost digits of x. */",
        f"static void far_sum(int n, const {t} *x, {t} sign, {t} y, {t} *s, {t} *c)",
        "{",
        "    int i;",
        "",
        "    for (i = 0; i < n; ++i) {",
        f"        if (fabs{f}(sign * x[i] + y) >= {number(far, dtype)}) {{",
        f"            const {t} sin_x = sign * sin{f}(x[i]);",
        f"            const {t} cos_x = cos{f}(x[i]);",
        "",
        f"            s[i] = sin_x * cos{f}(y) + cos_x * sin{f}(y);",
        f"            c[i] = cos_x * cos{f}(y) - sin_x * sin{f}(y);",
        "        }",
        "    }",
        "}",
        "",
    ]


def _polynomial(t: str, name: str, coefficients: list[str], form: str) -> list[str]:
    """Return a polynomial in z by Horner's rule, one coefficient to a line."""
    text = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        text = f"{c} + z * ({text})" if " " in text else f"{c} + z * {text}"
    head, tail = form.split("{}")
    lines = [f"        const {t} {name} = {head}"]
    for k, piece in enumerate(text.split(" + z * ")):
        lines.append(f"                {'+ z * ' if k else ''}{piece}")
    lines[-1] += f"{tail};"
    return lines
