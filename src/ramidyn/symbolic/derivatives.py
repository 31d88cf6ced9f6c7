"""Derivatives of programs: forward (jvp) and reverse (vjp), Program to Program.

    y = f(x)        jvp: ẏ = (∂f/∂x) ẋ        vjp: x̄ = (∂f/∂x)ᵀ ȳ

Nodes are differentiated one by one in their order, so the work is linear in the
operations, and shared nodes stay shared. Zero derivatives are never created, so a
Jacobian is as sparse as its program. Derivatives use the same operations, so a
derivative can be differentiated again.

The rules of operations are in `derivative_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast

from ramidyn.errors import ArgumentError
from ramidyn.symbolic import expr
from ramidyn.symbolic.call_derivatives import tangents_of_call, weights_of_call
from ramidyn.symbolic.derivative_rules import cotangent_rule, tangent_rule
from ramidyn.symbolic.expr import Expr, add, const, mul, neg
from ramidyn.symbolic.program import Program, Variable, free_name, live
from ramidyn.symbolic.seeds import unsigned

Row: TypeAlias = dict[int, Expr]
"""Entries that are not zero, by direction (forward) or by output (reverse)."""
Seeds: TypeAlias = Mapping[Expr, Mapping[int, Expr]]
"""How chosen nodes change in each direction, regardless of their arguments."""

_NOTHING: Row = {}


class SolutionNodes(NamedTuple):
    """Nodes whose gradients are known as a whole, such as the solution of equations.

    Where their cotangents are known, ``adjoint`` takes their place: cotangents of the
    nodes in, cotangents of the arguments out.
    """

    nodes: tuple[Expr, ...]
    arguments: tuple[Expr, ...]
    adjoint: Callable[[list[Expr]], list[Expr]]


# ------------------------------------------------------------ nodes of one trace


def forward(results: Sequence[Expr], seeds: Seeds) -> list[Row]:
    """Return how each result changes in each direction."""
    zero = const(0.0)
    tangents: dict[Expr, Mapping[int, Expr]] = dict(seeds)
    called: dict[Expr, list[Row]] = {}
    with expr.resumed_regions() as resume:
        for e in between(results, seeds):
            if e.op in expr.CONDITIONS:
                continue
            if e.op == "result":
                if e.args[0] in called:
                    tangents[e] = called[e.args[0]][e.value]
                continue
            rows = [tangents.get(a, _NOTHING) for a in e.args]
            if not any(rows):
                continue
            resume(e.region)
            if e.op == "call":
                called[e] = tangents_of_call(e, rows, forward)
                continue
            rule = tangent_rule(e)
            row: Row = {}
            for k in _union(rows):
                t = rule(e, tuple([r.get(k, zero) for r in rows]))
                if t is not zero:
                    row[k] = t
            tangents[e] = row
    return [dict(tangents.get(e, _NOTHING)) for e in results]


def reverse(
    results: Sequence[Expr],
    cotangents: Sequence[Mapping[int, Expr]],
    seeds: Seeds,
    solutions: Sequence[SolutionNodes] = (),
) -> list[Row]:
    """Return how outputs change in each direction; outputs are sums of results.

    Args:
        results: nodes.
        cotangents: for each result its weight in the outputs, by output.
        seeds: the directions.
        solutions: nodes that have gradients of their own.
    """
    zero = const(0.0)
    order = between([*results, *(a for s in solutions for a in s.arguments)], seeds)
    active = set(seeds)
    for e in order:
        if e.op not in expr.CONDITIONS and not active.isdisjoint(e.args):
            active.add(e)
    bars: dict[Expr, Row] = {}
    called: dict[Expr, dict[int, Row]] = {}

    def take(e: Expr, output: int, x: Expr) -> None:
        if x is not zero:
            row = bars.setdefault(e, {})
            row[output] = add(row[output], x) if output in row else x

    def solve(solution: SolutionNodes) -> None:
        rows = [bars.pop(unsigned(e), _NOTHING) for e in solution.nodes]
        for output in _union(rows):
            own = [
                neg(row[output])
                if e.op == "neg" and output in row
                else row.get(output, zero)
                for e, row in zip(solution.nodes, rows, strict=True)
            ]
            found = solution.adjoint(own)
            for a, x in zip(solution.arguments, found, strict=True):
                if unsigned(a) in active:
                    take(unsigned(a), output, neg(x) if a.op == "neg" else x)

    places = {e: k for k, e in enumerate(order)}
    last: dict[Expr, list[SolutionNodes]] = {}
    for solution in solutions:  # all that uses a solution comes after its last node
        own = [e for e in map(unsigned, solution.nodes) if e in places]
        if own:
            last.setdefault(max(own, key=places.__getitem__), []).append(solution)
    for e, weights in zip(results, cotangents, strict=True):
        for output, w in weights.items():
            if e in active:
                take(e, output, w)
    with expr.adjoint_regions() as enter:
        for e in reversed(order):
            for solution in last.get(e, ()):
                enter(e.region)
                solve(solution)
            if e in seeds or e not in bars:
                continue
            if e.op == "result":
                called.setdefault(e.args[0], {})[e.value] = bars.pop(e)
                bars[e.args[0]] = {}
                continue
            enter(e.region)
            wanted = [a if a in active else None for a in e.args]
            if e.op == "call":
                del bars[e]
                for a, row in zip(
                    wanted, weights_of_call(e, called[e], reverse), strict=True
                ):
                    if a is not None:
                        for output, x in row.items():
                            take(a, output, x)
                continue
            rule = cotangent_rule(e)
            for output, bar in bars.pop(e).items():
                for a, x in zip(wanted, rule(e, bar), strict=True):
                    if a is not None:
                        take(a, output, x)
        outputs = 1 + max((k for w in cotangents for k in w), default=-1)
        found: list[Row] = [{} for _ in range(outputs)]
        for e, directions in seeds.items():
            for output, bar in bars.get(e, _NOTHING).items():
                row = found[output]
                for k, t in directions.items():
                    x = mul(bar, t)
                    row[k] = add(row[k], x) if k in row else x
    return found


def between(results: Sequence[Expr], seeds: Collection[Expr]) -> list[Expr]:
    """Return what results need and may depend on a seed, arguments first."""
    needed, older = set(results), set(seeds)
    order: list[Expr] = []
    for e in reversed(expr.nodes()):
        if e in seeds:
            older.discard(e)
            if not older:  # what was made before all seeds depends on none of them
                break
        elif e.args and e in needed:
            order.append(e)
            needed.update(e.args)
    order.reverse()
    return order


def _union(rows: Iterable[Mapping[int, Expr]]) -> Iterable[int]:
    """Return the directions of some rows, in a deterministic order."""
    found: dict[int, None] = {}
    for row in rows:
        found.update(dict.fromkeys(row))
    return found


# ------------------------------------------------------------ programs


def jvp(program: Program, wrt: Sequence[str]) -> Program:
    """Return the program with the change of its outputs for a change of inputs.

    It has additional inputs ``<name>_tangent`` for each name in ``wrt``, and additional
    outputs ``<name>_tangent`` for each output.
    """
    chosen = _inputs(program, wrt)
    inputs = renamed(chosen, "tangent", program.inputs)

    def traced() -> list[Expr]:
        pairs = zip(symbols(chosen), symbols(inputs), strict=True)
        seeds = {e: {0: t} for e, t in pairs}
        zero = const(0.0)
        return [row.get(0, zero) for row in forward(program.results, seeds)]

    outputs = renamed(program.outputs, "tangent", program.outputs)
    return _extended(program, f"jvp of {program.name}", inputs, outputs, traced)


def vjp(program: Program, wrt: Sequence[str]) -> Program:
    """Return the program with the derivatives of a weighted sum of its outputs.

    It has additional inputs ``<name>_cotangent`` for each output, the weights, and
    additional outputs ``<name>_cotangent`` for each name in ``wrt``.
    """
    chosen = _inputs(program, wrt)
    inputs = renamed(program.outputs, "cotangent", program.inputs)

    def traced() -> list[Expr]:
        one, zero = const(1.0), const(0.0)
        seeds = {e: {k: one} for k, e in enumerate(symbols(chosen))}
        weights = [{0: w} for w in symbols(inputs)]
        (row,) = reverse(program.results, weights, seeds) or ({},)
        return [row.get(k, zero) for k in range(len(seeds))]

    outputs = renamed(chosen, "cotangent", program.outputs)
    return _extended(program, f"vjp of {program.name}", inputs, outputs, traced)


def symbols(variables: Iterable[Variable]) -> list[Expr]:
    """Return the entries of some inputs, flat and in order."""
    return [expr.symbol(v.name, i) for v in variables for i in range(v.size)]


def renamed(
    variables: Iterable[Variable], word: str, others: Iterable[Variable]
) -> list[Variable]:
    """Return variables called ``<name>_<word>``, numbered where that is taken."""
    taken = [v.name for v in others]
    found: list[Variable] = []
    for v in variables:
        name = free_name(f"{v.name}_{word}", taken)
        taken.append(name)
        found.append(Variable(name, v.shape))
    return found


def _inputs(program: Program, wrt: Sequence[str]) -> list[Variable]:
    """Return the inputs that are named, or raise ArgumentError."""
    known = {v.name: v for v in program.inputs}
    return [known[name] for name in checked_wrt(wrt, known)]


def checked_wrt(wrt: object, inputs: Iterable[str]) -> tuple[str, ...]:
    """Return the names of inputs to differentiate by, or raise ArgumentError."""
    known, names = tuple(inputs), names_of(wrt)
    if not names:
        raise ArgumentError(
            f"wrt is {wrt!r}; expected the names of inputs: {', '.join(known)}"
        )
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"wrt names {name!r}, which is not an input; inputs: {', '.join(known)}"
            )
    if len(set(names)) < len(names):
        raise ArgumentError(f"wrt names an input twice: {', '.join(names)}")
    return names


def names_of(wrt: object) -> tuple[Any, ...]:
    """Return what ``wrt`` names as a tuple; the names are not checked yet."""
    if isinstance(wrt, set | frozenset):
        raise ArgumentError(
            f"wrt is {wrt!r}; a set has no order, and results are in the order of wrt: "
            "pass a tuple or a list of names"
        )
    if isinstance(wrt, str) or not isinstance(wrt, Iterable):
        return (wrt,)
    names = tuple(cast("Iterable[Any]", wrt))
    return tuple(str(n) if isinstance(n, str) else n for n in names)


def _extended(
    program: Program,
    name: str,
    inputs: list[Variable],
    outputs: list[Variable],
    traced: Callable[[], list[Expr]],
) -> Program:
    """Return a program with additional inputs and outputs, built on its own nodes."""
    with expr.fresh_table() as table:
        table.regions = list(program.regions)
        for e in program.order:
            expr.intern(e)
        results = (*program.results, *traced())
        order = live(tuple(table.table.values()), results)
        regions = tuple(table.regions)
    return replace(
        program,
        name=name,
        inputs=(*program.inputs, *inputs),
        outputs=(*program.outputs, *outputs),
        results=results,
        order=order,
        regions=regions,
    )
