"""Derivatives of calls that solve equations: those of the solution.

A call that declares its residual r(x, p) is differentiated at the solution x, by the
implicit function theorem:

    ẋ = −J⁻¹ (∂r/∂p) ṗ        p̄ = −(∂r/∂p)ᵀ J⁻ᵀ x̄        J = ∂r/∂x

These are operations on the results of the call, and can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ramidyn.symbolic import expr
from ramidyn.symbolic.calls import call_or_replay, replayed
from ramidyn.symbolic.expr import Expr, const
from ramidyn.symbolic.linear_algebra import solved
from ramidyn.symbolic.program import Callee, Program, Variable, live

Row: TypeAlias = dict[int, Expr]
Rows: TypeAlias = Sequence[Mapping[int, Expr]]
Forward: TypeAlias = Callable[
    [Sequence[Expr], Mapping[Expr, Mapping[int, Expr]]], list[Row]
]
Reverse: TypeAlias = Callable[
    [Sequence[Expr], Rows, Mapping[Expr, Mapping[int, Expr]]], list[Row]
]
Place: TypeAlias = tuple[int, int]
"""(entry, direction) of a tangent, or (entry, output) of a weight"""


def tangents_of_solution(
    e: Expr, rows: Rows, residual: Program, forward: Forward
) -> list[Row]:
    """Return how the solution of an equation changes."""
    callee: Callee = e.value
    own = slice(callee.carried, callee.carried + callee.shared)
    places = places_of(rows[own])
    found: list[Row] = [{} for _ in range(callee.results)]
    if not places:
        return found
    n, one, zero = len(residual.results), const(1.0), const(0.0)
    directions = sorted({d for _, d in places})
    with expr.fresh_table() as table:
        table.regions = list(residual.regions)
        inputs, x, p = _unknowns_and_parameters(callee, n)
        inputs.append(Variable("tangents", (len(places),)))
        seeds: dict[Expr, Row] = {a: {} for a in p}
        seeds.update((a, {-1 - k: one}) for k, a in enumerate(x))  # −1, …: entries of x
        for k, (a, d) in enumerate(places):
            seeds[p[a]][d] = expr.symbol("tangents", k)
        changes = forward(_residual(residual, inputs), seeds)
        jacobian = [[row.get(-1 - k, zero) for k in range(n)] for row in changes]
        right = [[expr.neg(row.get(d, zero)) for d in directions] for row in changes]
        flat = tuple(t for row in solved(jacobian, right) for t in row)
        made = program_here(f"jvp of {callee.name}", inputs, flat)
    values = [expr.result(e, k) for k in range(callee.results)]
    values += [*e.args[own], *entries_at(rows[own], places)]
    tangents = iter(call_or_replay(Callee(made), values))
    for k in range(callee.results - n, callee.results):
        found[k] = {d: t for d in directions if (t := next(tangents)) is not zero}
    return found


def weights_of_solution(
    e: Expr,
    weights: Mapping[int, Mapping[int, Expr]],
    residual: Program,
    reverse: Reverse,
) -> list[Row]:
    """Return the weights of what an equation depends on, for those of its solution."""
    callee: Callee = e.value
    n, one, zero = len(residual.results), const(1.0), const(0.0)
    first = callee.results - n
    bars = [weights.get(k, {}) for k in range(first, callee.results)]
    places = places_of(bars)
    found: list[Row] = [{} for _ in e.args]
    if not places:
        return found
    outputs = sorted({o for _, o in places})
    with expr.fresh_table() as table:
        table.regions = list(residual.regions)
        inputs, x, p = _unknowns_and_parameters(callee, n)
        inputs.append(Variable("weights", (len(places),)))
        right = [[zero] * len(outputs) for _ in x]
        for k, (a, o) in enumerate(places):
            right[a][outputs.index(o)] = expr.symbol("weights", k)
        results = _residual(residual, inputs)
        unit = [{k: one} for k in range(n)]
        rows = reverse(results, unit, {a: {k: one} for k, a in enumerate(x)})
        transposed = [[row.get(k, zero) for row in rows] for k in range(n)]
        multipliers = [
            {o: expr.neg(w) for o, w in zip(outputs, row, strict=True)}
            for row in solved(transposed, right)
        ]
        rows = reverse(results, multipliers, {a: {k: one} for k, a in enumerate(p)})
        kept = [(k, o) for o in outputs for k in sorted(rows[o])]
        flat = tuple(rows[o][k] for k, o in kept)
        made = program_here(f"vjp of {callee.name}", inputs, flat)
    values = [expr.result(e, k) for k in range(callee.results)]
    values += e.args[callee.carried : callee.carried + callee.shared]
    values += entries_at(bars, places)
    for (k, o), w in zip(kept, call_or_replay(Callee(made), values), strict=True):
        found[callee.carried + k][o] = w
    return found


def _unknowns_and_parameters(
    callee: Callee, n: int
) -> tuple[list[Variable], list[Expr], list[Expr]]:
    """Return the inputs of a residual, the last n results, and shared arguments."""
    inputs = [Variable("found", (callee.results,)), Variable("p", (callee.shared,))]
    x = [expr.symbol("found", k) for k in range(callee.results - n, callee.results)]
    return inputs, x, [expr.symbol("p", k) for k in range(callee.shared)]


def _residual(residual: Program, inputs: Sequence[Variable]) -> list[Expr]:
    """Return the residual of the first inputs in the current trace."""
    entries = [expr.symbol(v.name, k) for v in inputs[:2] for k in range(v.size)]
    return replayed(residual, entries)


def places_of(rows: Rows) -> list[Place]:
    """Return the entries that are there."""
    return [(k, d) for k, row in enumerate(rows) for d in sorted(row)]


def entries_at(rows: Rows, places: Sequence[Place]) -> list[Expr]:
    """Return the entries at some places, zeros included."""
    zero = const(0.0)
    return [rows[k].get(d, zero) for k, d in places]


def program_here(
    name: str, inputs: Sequence[Variable], results: tuple[Expr, ...]
) -> Program:
    """Return the program of what was done in the current table."""
    return Program(
        name,
        tuple(inputs),
        (Variable("results", (len(results),)),),
        results,
        live(expr.nodes(), results),
        tuple(expr.regions()),
    )
