"""Operations as papers count them: before simplification."""

from __future__ import annotations

from dataclasses import replace

from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import Program


def published_operations(program: Program) -> Ops:
    """Return the operations of a program as papers count them.

    That is as traced, with divisions by one number shared.
    """
    divided: dict[Expr, int] = {}
    for e in program.order:
        if e.op == "div" and e.args[1].op != "const":
            divided[e.args[1]] = divided.get(e.args[1], 0) + 1
    found = count(program)
    shared = sum(n - 1 for n in divided.values())
    return replace(found, mul=found.mul + shared, div=found.div - shared)
