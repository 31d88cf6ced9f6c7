"""How a pass walks a Program: arguments first, once, into a fresh table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import Expr, fresh_table, intern, put_label, rebuilt
from ramidyn.symbolic.program import Program, live

Rule = Callable[[Expr, tuple[Expr, ...], dict[Expr, int]], Expr | None]
"""(old node, its new arguments, uses of old nodes) -> its replacement, or None."""


def rewrite(program: Program, rules: Mapping[str, Sequence[Rule]]) -> Program:
    """Return the program with each node replaced by the first rule that answers.

    Rules are listed by the operation that they look at. Nodes that nothing changes
    are kept as they are. A rule can free a sign that products then carry outwards,
    one for each; where that costs more than the rules save, the program stays.
    """
    uses = program.uses()
    new: dict[Expr, Expr] = {}
    with fresh_table() as table:
        table.regions = list(program.regions)
        for e in program.order:
            table.region = e.region
            args, is_changed = e.args, not new.keys().isdisjoint(e.args)
            if is_changed:
                args = tuple([new.get(a, a) for a in args])
            replacement = None
            for rule in rules.get(e.op, ()):
                replacement = rule(e, args, uses)
                if replacement is not None:
                    break
            if replacement is None:
                replacement = rebuilt(e, args) if is_changed else intern(e)
            if replacement is not e:
                new[e] = replacement
        results = tuple(new.get(e, e) for e in program.results)
        nodes = tuple(table.table.values())
    if not new:
        return program
    order = live(nodes, results)
    labels = _moved(program.labels, new)
    changed = replace(program, results=results, order=order, labels=labels)
    return changed if count(changed).cost <= count(program).cost else program


def _moved(labels: dict[Expr, str], new: dict[Expr, Expr]) -> dict[Expr, str]:
    """Return the labels on what their nodes became, signs aside."""
    moved: dict[Expr, str] = {}
    for e, name in labels.items():
        put_label(moved, new.get(e, e), name)
    return moved
