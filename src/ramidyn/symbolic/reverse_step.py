"""One step of a time loop in reverse: from cotangents after it to those before it.

    x' = f(x, u, p)        x̄ = (∂f/∂x)ᵀ x̄'    ū = (∂f/∂u)ᵀ x̄'    p̄ ← p̄ + (∂f/∂p)ᵀ x̄'

where x is carried from step to step, u has a value for each step, and p is the same for
all of them. The step is computed once more from x, u and p. Only what varies with the
inputs that are asked for, and changes the outputs that are asked for, is carried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ramidyn.symbolic import expr
from ramidyn.symbolic.derivatives import Row, SolutionNodes, reverse, symbols
from ramidyn.symbolic.expr import add, const
from ramidyn.symbolic.program import Program, Variable, live


class ReverseStep(NamedTuple):
    """The program of a step in reverse, and what its inputs and outputs are.

    Inputs are the step's own, as far as they are needed, then for each name of the
    lists ``cotangent of <name>``, ``weight of <name>`` and ``sum of <name>``.
    """

    program: Program
    values: tuple[str, ...]
    """inputs of the step that it needs"""
    carried: tuple[str, ...]
    """inputs of the step whose cotangents are carried from step to step, backwards"""
    weighted: tuple[str, ...]
    """outputs of the step whose own weights are inputs"""
    stacked: tuple[str, ...]
    """inputs of the step that have a cotangent for each step"""
    summed: tuple[str, ...]
    """inputs of the step whose cotangents are summed over all steps"""


def reverse_step(
    program: Program,
    carry: Mapping[str, str],
    per_step: Collection[str],
    wrt: Sequence[str],
    of: Sequence[str],
    ends: Sequence[str],
    solutions: Sequence[SolutionNodes] = (),
) -> ReverseStep:
    """Return a step in reverse.

    Args:
        program: of the step.
        carry: for inputs that are carried, the output that is the next value.
        per_step: inputs with a value for each step.
        wrt: inputs whose cotangents are wanted.
        of: outputs that have weights in each step.
        ends: outputs that are carried, and have weights after the last step.
        solutions: nodes of the program that have gradients of their own.
    """
    inputs = {v.name: v for v in program.inputs}
    outputs = {v.name: v for v in program.outputs}
    carried = active_inputs(program, carry, wrt, (*of, *ends))
    stacked = [n for n in wrt if n in per_step]
    summed = [n for n in wrt if n not in per_step and n not in carry]

    def named(
        word: str, names: Iterable[str], known: Mapping[str, Variable]
    ) -> list[Variable]:
        return [Variable(f"{word} of {n}", known[n].shape) for n in names]

    bars = named("cotangent", carried, inputs)
    weights = named("weight", of, outputs)
    sums = named("sum", summed, inputs)
    wanted = [inputs[n] for n in (*carried, *stacked, *summed)]
    with expr.fresh_table() as table:
        table.regions = list(program.regions)
        for e in program.order:
            expr.intern(e)
        zero, one = const(0.0), const(1.0)
        total = {n: [zero] * v.size for n, v in outputs.items()}
        for name, variable in (
            *zip(of, weights, strict=True),
            *zip((carry[n] for n in carried), bars, strict=True),
        ):
            own = zip(total[name], symbols([variable]), strict=True)
            total[name] = [add(x, w) for x, w in own]
        rows: list[Row] = [
            {} if w is zero else {0: w} for n in outputs for w in total[n]
        ]
        seeds = {e: {k: one} for k, e in enumerate(symbols(wanted))}
        (row,) = reverse(program.results, rows, seeds, solutions) or ({},)
        found = [row.get(k, zero) for k in range(len(seeds))]
        first = len(found) - sum(v.size for v in sums)
        found[first:] = map(add, symbols(sums), found[first:])
        order = live(expr.nodes(), found)
        regions = tuple(table.regions)
    needed = {e.value[0] for e in order if e.op == "input"}
    values = [v for v in program.inputs if v.name in needed]
    made = replace(
        program,
        name=f"vjp of {program.name}",
        inputs=(*values, *bars, *weights, *sums),
        outputs=(*bars, *named("cotangent", stacked, inputs), *sums),
        results=tuple(found),
        order=order,
        regions=regions,
    )
    return ReverseStep(
        made,
        tuple(v.name for v in values),
        tuple(carried),
        tuple(of),
        tuple(stacked),
        tuple(summed),
    )


def active_inputs(
    program: Program,
    carry: Mapping[str, str],
    wrt: Sequence[str],
    of: Sequence[str],
) -> list[str]:
    """Return carried inputs that vary with ``wrt`` and on which ``of`` depends."""
    needs = dependencies(program)
    varied, useful = set(wrt), set[str]()
    while True:
        more = {n for n, out in carry.items() if needs[out] & varied} - varied
        if not more:
            break
        varied |= more
    while True:
        known = [*of, *(carry[n] for n in useful)]
        read = {n for out in known for n in needs[out] if n in carry}
        more = (read | {n for n, out in carry.items() if out in of}) - useful
        if not more:
            break
        useful |= more
    return [n for n in carry if n in varied and (n in useful or n in wrt)]


def dependencies(program: Program) -> dict[str, set[str]]:
    """Return the inputs that each output depends on; conditions do not count."""
    names = [v.name for v in program.inputs]
    bits = {name: 1 << k for k, name in enumerate(names)}
    known: dict[expr.Expr, int] = {}
    for e in program.order:
        if e.op == "input":
            known[e] = bits[e.value[0]]
        elif e.op in expr.CONDITIONS:
            known[e] = 0
        else:
            mask = 0
            for a in e.args:
                mask |= known[a]
            known[e] = mask
    found: dict[str, set[str]] = {}
    results = iter(program.results)
    for v in program.outputs:
        mask = 0
        for _ in range(v.size):
            mask |= known[next(results)]
        found[v.name] = {n for n in names if mask & bits[n]}
    return found
