"""A Program as text that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ramidyn.symbolic.count import count, how_often, operations_by_call
from ramidyn.symbolic.expr import Expr

if TYPE_CHECKING:
    from ramidyn.symbolic.program import Program, Variable

INFIX = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "fma": "{} * {} + {}",
    "fms": "{} * {} - {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "and": "{} & {}",
    "or": "{} | {}",
    "not": "~{}",
}


def entry(variable: Variable, index: int) -> str:
    """Return how entry ``index`` (flat) of a variable is written: A[1,2]."""
    if not variable.shape:
        return variable.name
    indices: list[str] = []
    for extent in reversed(variable.shape):
        index, i = divmod(index, extent)
        indices.append(str(i))
    return f"{variable.name}[{','.join(reversed(indices))}]"


def text(program: Program, most: int | None = None) -> str:
    """Return one line per operation, with regions as headings.

    Args:
        program: what to print.
        most: stop after so many lines and say how many are left.
    """
    inputs = {v.name: v for v in program.inputs}
    names: dict[Expr, str] = {}
    signature = ", ".join(f"{v.name}{list(v.shape)}" for v in program.inputs)
    lines = [f"{program.name}({signature})    # {count(program)}"]
    if program.calls:
        lines.append(f"  # operations by call: {operations_by_call(program)}")
    region = 0
    for e in program.order:
        if e.op == "const":
            names[e] = f"{e.value:.17g}"
        elif e.op == "input":
            names[e] = entry(inputs[e.value[0]], e.value[1])
        else:
            if e.region != region:
                region = e.region
                lines.append(f"  # {program.regions[region]}")
            names[e] = f"t{len(names)}"
            lines.append(f"  {names[e]} = {_operation(e, names)}")
    results = iter(program.results)
    for v in program.outputs:
        lines += [f"  {entry(v, i)} = {names[next(results)]}" for i in range(v.size)]
    if most is not None and len(lines) > most:
        left = len(lines) - most
        lines[most:] = [f"  ... {left:,} more lines: ramidyn.symbolic.printer.text"]
    return "\n".join(lines)


def _operation(e: Expr, names: dict[Expr, str]) -> str:
    args = [names[a] for a in e.args]
    if e.op == "call":
        return f"{how_often(e.value)}({', '.join(args)})"
    if e.op == "result":
        return f"{args[0]}[{e.value}]"
    if e.op == "fnma":
        return f"{args[2]} - {args[0]} * {args[1]}"
    if e.op in INFIX:
        return INFIX[e.op].format(*args)
    return f"{e.op}({', '.join(args)})"
