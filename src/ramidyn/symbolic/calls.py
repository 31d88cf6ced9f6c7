"""Calls of programs inside programs: once, so many times, or until all are done.

A program that is called is compiled once, however often it runs. `call_program` calls
one; `traced_function` makes one of what a Python function does to symbols. Loops for
users are in `repeat`.

`unrolled` writes calls out, for those who know only straight lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ramidyn.symbolic import expr
from ramidyn.symbolic.column_loop import unrolled_columns
from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import Condition, Expr, const
from ramidyn.symbolic.program import (
    Callee,
    ColumnLoop,
    Program,
    Variable,
    live,
)

SHORT = 2000
"""Cost below which doing it in place is faster, four times too: a cut or two.

A call costs the caller some 20 ns for a tile of states. Runge and Kutta's steps that
call their dynamics take 1.08 times as long as straight lines at a cost of 1,900, and
1.02 to 1.08 times at 3,700 and more, where they compile in about half the time.
"""


def call_program(program: Program, arguments: Sequence[Expr]) -> list[Expr]:
    """Return the results of a program of these arguments, flat, as one call.

    Arguments that it does not read are not computed.
    """
    read, zero = program.read_entries(), const(0.0)
    given = [a if k in read else zero for k, a in enumerate(arguments)]
    return results_of(Callee(program), given)


def call_or_replay(callee: Callee, arguments: Sequence[Expr]) -> list[Expr]:
    """Call what runs once; do it in place if it is short.

    What a short one shares with its surroundings is worth more than the call.
    """
    if count(callee.program).cost < SHORT:
        return replayed(callee.program, arguments)
    return results_of(callee, arguments)


def results_of(callee: Callee, arguments: Sequence[Expr]) -> list[Expr]:
    """Return all results of a call."""
    assert len(arguments) == callee.arguments, f"{callee.name} has other arguments"
    made = expr.call(callee, tuple(arguments))
    return [expr.result(made, k) for k in range(callee.results)]


def traced_body(
    step: Callable[[list[Expr]], Sequence[Expr]], size: int, name: str
) -> tuple[Program, list[Expr]]:
    """Return the program of a step that is traced here, and what else it uses.

    Those are the further arguments of its calls. What does not depend on the step's own
    arguments is computed here, once.

    Args:
        step: of so many entries; it may use all symbols of the current trace.
        size: how many.
        name: what readers call it.
    """
    free = 1
    while expr.is_symbol(f"entry'{free}"):
        free += 1
    symbols = [expr.symbol(f"entry'{free}", k) for k in range(size)]
    results = list(step(symbols))
    varied = set(symbols)
    order: list[Expr] = []
    for e in live(expr.nodes(), results):
        if not varied.isdisjoint(e.args):
            varied.add(e)
            order.append(e)
    used = dict.fromkeys([*(a for e in order for a in e.args), *results])
    fixed = [a for a in used if a not in varied and a.op != "const"]
    # Inputs in their order: neighbors are moved together.
    fixed.sort(key=lambda a: a.value[1] if a.op == "input" else -1)
    zero, one = const(0.0), const(1.0)
    # Arguments are numbers: a condition is passed as 0 or 1.
    shared = [
        expr.where(a, one, zero) if isinstance(a, Condition) else a for a in fixed
    ]
    names = list(expr.regions())
    with expr.fresh_table() as table:
        table.regions = names
        new = {e: expr.symbol("own", k) for k, e in enumerate(symbols)}
        for k, e in enumerate(fixed):
            number = expr.symbol("shared", k)
            new[e] = const(0.5) < number if isinstance(e, Condition) else number
        new.update((e, const(e.value)) for e in used if e.op == "const")
        for e in order:
            table.region = e.region
            new[e] = expr.rebuilt(e, tuple([new[a] for a in e.args]))
        flat = tuple(new[e] for e in results)
        made = Program(
            name,
            (Variable("own", (size,)), Variable("shared", (len(shared),))),
            (Variable("results", (len(flat),)),),
            flat,
            live(expr.nodes(), flat),
            tuple(expr.regions()),
        )
    return made, shared


def traced_function(
    function: Callable[[list[Expr]], Sequence[Expr]], size: int, name: str
) -> Callable[[Sequence[Expr]], list[Expr]]:
    """Return a function of symbols whose body is traced once, and then called."""
    body, shared = traced_body(function, size, name)
    return lambda entries: call_program(body, [*entries, *shared])


def open_end(program: Program) -> Callee | None:
    """Return a loop with an open end in a program, or in what it calls."""
    for callee in (e.value for e in program.calls):
        if callee.until:
            return callee
        if isinstance(callee.body, Program) and (found := open_end(callee.body)):
            return found
    return None


def unrolled(program: Program) -> Program:
    """Return the program with all calls written out, step after step."""
    if not program.calls:
        return program
    with expr.fresh_table() as table:
        table.regions = list(program.regions)
        variables = program.inputs
        entries = [expr.symbol(v.name, k) for v in variables for k in range(v.size)]
        results = tuple(replayed(program, entries, writes_calls=True))
        order = live(tuple(table.table.values()), results)
        regions = tuple(table.regions)
        kept = set(order)
        labels = {e: name for e, name in table.labels.items() if e in kept}
    return replace(
        program, results=results, order=order, regions=regions, labels=labels
    )


def replayed(
    program: Program, entries: Sequence[Expr], *, writes_calls: bool = False
) -> list[Expr]:
    """Do the operations of a program in the current trace; return its results.

    They are built again, as if their function had been called: what the trace already
    has is shared, and numbers among the inputs fold.

    Args:
        program: what to do.
        entries: of all its inputs, flat.
        writes_calls: whether calls are written out.
    """
    offsets = program.input_offsets()
    value: dict[Expr, Expr] = {}
    written: dict[Expr, list[Expr]] = {}
    current = -1
    for e in program.order:
        if e.op == "const":
            value[e] = const(e.value)
        elif e.op == "input":
            value[e] = entries[offsets[e.value[0]] + e.value[1]]
        elif e.op == "call" and writes_calls:
            written[e] = _written_call(e.value, [value[a] for a in e.args])
            current = -1
        elif e.op == "result" and writes_calls:
            value[e] = written[e.args[0]][e.value]
        else:
            if e.region != current:
                expr.region(program.regions[e.region])
                current = e.region
            value[e] = expr.rebuilt(e, tuple([value[a] for a in e.args]))
    for e, name in program.labels.items():
        expr.label(name, value[e])
    return [value[e] for e in program.results]


def _written_call(callee: Callee, arguments: list[Expr]) -> list[Expr]:
    """Return the results of a call, its steps one after another."""
    if isinstance(callee.body, ColumnLoop):
        return unrolled_columns(callee.body, arguments)
    carried = arguments[: callee.carried]
    end = callee.carried + callee.shared
    shared, sliced = arguments[callee.carried : end], arguments[end:]
    stacked: list[Expr] = []
    for step in range(callee.times):
        own = sliced[step * callee.sliced : (step + 1) * callee.sliced]
        entries = [*carried, *shared, *own]
        results = replayed(callee.body, entries, writes_calls=True)
        carried = results[: callee.carried]
        stacked += results[callee.carried :]
    return [*carried, *stacked]
