"""Sines and cosines as C that compilers vectorise: see `vectormath` for the method.

The C library's take 10 ns or more each, and are not vectorised: for a small robot that
is most of the time of a call.
"""

from __future__ import annotations

from ramify.backend.c99_names import number, wrapped
from ramify.backend.vectormath import FAR, FORMATS, PARTS, half_pi

FLOAT_FAR = 500.0
"""Beyond it, k has more than 9 bits, and its products with 15 bits of π/2 round."""
FLOAT_PARTS = half_pi(14, 29, 62)


def sin_cos(dtype: str) -> list[str]:
    """Return a static function of n angles x that fills s and c.

    There is no branch in the first loop. k counts quarter turns and is taken off in
    products that are exact; angles too large for that go to the C library.
    """
    form = FORMATS[dtype]
    is_double = dtype == "float64"
    t, f = ("double", "") if is_double else ("float", "f")
    parts, far = (PARTS[t, False], FAR) if is_double else (FLOAT_PARTS, FLOAT_FAR)

    def n(value: float) -> str:
        return number(value, dtype)

    reduced = "x[i]"
    for part in parts[:-1]:
        reduced = f"({reduced} - k * {n(part)})"
    odd = f"fabs{f}(m - {n(2.0)}) == {n(1.0)}"
    return [
        "/* s = sin x and c = cos x of n angles. Near 0 there is no branch, for the sake of",
        " * vectors; define RAMIFY_LIBM_SINES to use the C library's for all angles. */",
        f"static void sin_cos(int n, const {t} *RESTRICT x, {t} *RESTRICT s, "
        f"{t} *RESTRICT c)",
        "{",
        "    int i;",
        "",
        "#ifndef RAMIFY_LIBM_SINES",
        "    for (i = 0; i < n; ++i) {",
        "        /* x = k pi/2 + r, and m = k modulo 4 */",
        f"        const {t} k = floor{f}(x[i] * {n(0.6366197723675814)} + {n(0.5)});",
        f"        const {t} m = k - {n(4.0)} * floor{f}(k * {n(0.25)});",
        *wrapped(f"const {t} r = {reduced} - k * {n(parts[-1])};", 8),
        f"        const {t} z = r * r;",
        *_polynomial(t, "sin_r", [n(v) for v in form.sin], "r + r * z * ({})"),
        *_polynomial(
            t,
            "cos_r",
            [n(v) for v in form.cos],
            f"{n(1.0)} - {n(0.5)} * z + z * z * ({{}})",
        ),
        f"        const {t} a = {odd} ? cos_r : sin_r;",
        f"        const {t} b = {odd} ? sin_r : cos_r;",
        "",
        f"        s[i] = m > {n(1.5)} ? -a : a;",
        f"        c[i] = fabs{f}(m - {n(1.5)}) < {n(1.0)} ? -b : b;",
        "    }",
        "#endif",
        "    for (i = 0; i < n; ++i) {",
        "#ifndef RAMIFY_LIBM_SINES",
        f"        if (fabs{f}(x[i]) < {n(far)})",
        "            continue;",
        "#endif",
        f"        s[i] = sin{f}(x[i]);",
        f"        c[i] = cos{f}(x[i]);",
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
