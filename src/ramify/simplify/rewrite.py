"""How a pass walks a Program: arguments first, once, into a fresh table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ramify.symbolic.count import count
from ramify.symbolic.expr import BUILD, Expr, const, fresh_table, symbol
from ramify.symbolic.program import Program, live
from ramify.symbolic.trace import no_garbage_collection

Rule = Callable[[Expr, tuple[Expr, ...], dict[Expr, int]], Expr | None]
"""(old node, its new arguments, uses of old nodes) -> its replacement, or None."""


def rewrite(program: Program, *rules: Rule) -> Program:
    """Return the program rebuilt, each node by the first rule that answers.

    A rule can free a sign that products then carry outwards, one for each; where
    that costs more than the rules save, the program stays as it is.
    """
    uses = program.uses()
    new: dict[Expr, Expr] = {}
    with no_garbage_collection(), fresh_table() as table:
        table.regions = list(program.regions)
        for e in program.order:
            table.region = e.region
            if not e.args:
                new[e] = const(e.value) if e.op == "const" else symbol(*e.value)
                continue
            args = tuple([new[a] for a in e.args])
            for rule in rules:
                replacement = rule(e, args, uses)
                if replacement is not None:
                    break
            else:
                replacement = BUILD[e.op](*args)
            new[e] = replacement
        results = tuple(new[e] for e in program.results)
        nodes = tuple(table.table.values())
    rebuilt = replace(program, results=results, order=live(nodes, results))
    return rebuilt if count(rebuilt).cost <= count(program).cost else program
