"""Sweeps over the columns of a matrix as C: one function for each, with a loop."""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.backend.c99.calls import Called
from ramidyn.backend.c99.emit import Style
from ramidyn.backend.c99.names import number, wrap_statement
from ramidyn.symbolic.program import FRESH, ColumnLoop, SweepStep

LONGEST_LOOP = 100
"""Products in a loop over columns: compilers compare each access with all others."""


def sweep_lines(called: Called, style: Style) -> list[str]:
    """Return the functions of sweeps over the columns of a matrix."""
    columns = called.body
    assert isinstance(columns, ColumnLoop)
    batch, struct = style.suffix, f"struct {style.struct} *RESTRICT w"
    functions: list[str] = []
    for steps, symbol in called.sweeps.items():
        functions += [
            "/* Columns first ... end - 1 of the matrix x, which is row by row. */",
            f"APART void {symbol}{batch}({struct}, int first, int end)",
            "{",
            "    int i, k;" if style.lanes else "    int k;",
            "",
            *_loops_over_columns(columns, steps, style),
            "}",
            "",
        ]
    calls = [
        f"    {called.sweeps[sweep.steps]}{batch}(w, {first}, {end});"
        for sweep in columns.sweeps
        for first, end in _runs(sweep.columns)
    ]
    about = f"/* {columns.columns} columns of a matrix of {columns.rows} rows. */"
    head = f"APART void {called.symbol}{batch}({struct})"
    return [*functions, about, head, "{", *calls, "}", ""]


def _loops_over_columns(
    columns: ColumnLoop, steps: Sequence[SweepStep], style: Style
) -> list[str]:
    indent = 8 if style.lanes is None else 12

    def x(row: int) -> str:
        return style.entry("x", f"{columns.columns} * {row} + k")

    def factor(k: int) -> str:
        return style.entry("shared", str(k))

    pieces: list[list[str]] = [[]]
    size = 0
    for row, scale, terms in steps:
        text = "" if scale == FRESH else x(row)
        text += f" * {factor(scale)}" if scale >= 0 else ""
        text += "".join(f" - {factor(f)} * {x(i)}" for f, i in terms)
        text = f"-{text[3:]}" if text.startswith(" - ") else text
        if size > LONGEST_LOOP:
            pieces.append([])
            size = 0
        size += 1 + len(terms)
        pieces[-1] += wrap_statement(
            f"{x(row)} = {text or number(0.0, style.dtype)};", indent
        )
    lines: list[str] = []
    for piece in filter(None, pieces):
        lines.append("    for (k = first; k < end; ++k) {")
        if style.lanes is not None:
            lines.append(f"        for (i = 0; i < {style.lanes}; ++i) {{")
        lines += [*piece, *["        }"] * (style.lanes is not None), "    }"]
    return lines


def _runs(columns: Sequence[int]) -> list[tuple[int, int]]:
    """Return numbers in order as ranges."""
    runs: list[tuple[int, int]] = []
    for k in columns:
        if runs and runs[-1][1] == k:
            runs[-1] = runs[-1][0], k + 1
        else:
            runs.append((k, k + 1))
    return runs
