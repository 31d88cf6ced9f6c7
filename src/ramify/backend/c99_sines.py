"""Sines and cosines of some lanes as C that compilers vectorise: see `vectormath`."""

from __future__ import annotations

from ramify.backend.c99_names import number
from ramify.backend.vectormath import FAR, FORMATS, PARTS


def sin_cos(dtype: str, restrict: str, lanes: str) -> list[str]:
    """Return ``static void sin_cos(x, s, c)``, all arrays of as many as there are lanes.

    There is no branch in the first loop. k counts quarter turns and is reduced by
    products that are exact for |x| up to FAR; angles beyond go to the C library.
    """
    form = FORMATS[dtype]
    is_double = dtype == "float64"
    t = "double" if is_double else "float"
    f = "" if is_double else "f"

    def n(value: float) -> str:
        return number(value, dtype)

    parts = [number(p, "float64") for p in PARTS[t, False]]
    reduced = "x[i]" if is_double else "(double)x[i]"
    start = reduced
    for part in parts:
        reduced = f"({reduced} - k * {part})"
    reduced = reduced[1:-1]
    narrow = reduced if is_double else f"(float)({reduced})"
    quarter = "k - 4.0 * floor(k * 0.25)"
    quarter = quarter if is_double else f"(float)({quarter})"
    return [
        "/* s = sin x and c = cos x, without branches for the angles that robots have. */",
        f"static void sin_cos(const {t} *{restrict} x, {t} *{restrict} s, "
        f"{t} *{restrict} c)",
        "{",
        "    int i;",
        "",
        f"    for (i = 0; i < {lanes}; ++i) {{",
        f"        const double k = floor({start} * 0.6366197723675814 + 0.5);",
        f"        const {t} m = {quarter};",
        f"        const {t} r =",
        f"                {narrow};",
        f"        const {t} z = r * r;",
        *_polynomial(t, "sin_r", [n(v) for v in form.sin], "r + r * z * ({})"),
        *_polynomial(
            t,
            "cos_r",
            [n(v) for v in form.cos],
            f"{n(1.0)} - {n(0.5)} * z + z * z * ({{}})",
        ),
        f"        const {t} a = fabs{f}(m - {n(2.0)}) == {n(1.0)} ? cos_r : sin_r;",
        f"        const {t} b = fabs{f}(m - {n(2.0)}) == {n(1.0)} ? sin_r : cos_r;",
        "",
        f"        s[i] = m > {n(1.5)} ? -a : a;",
        f"        c[i] = fabs{f}(m - {n(1.5)}) < {n(1.0)} ? -b : b;",
        "    }",
        f"    for (i = 0; i < {lanes}; ++i) {{",
        f"        if (!(fabs{f}(x[i]) < {n(FAR)})) {{",
        f"            s[i] = sin{f}(x[i]);",
        f"            c[i] = cos{f}(x[i]);",
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
    for piece in text.split(" + z * "):
        if len(lines) == 1:
            lines.append(f"                {piece}")
        else:
            lines.append(f"                + z * {piece}")
    lines[-1] += f"{tail};"
    return lines
