"""Check that a Program is valid; used on the results of passes, and in tests."""

from __future__ import annotations

import math

from ramidyn.symbolic.expr import ARITY, CONDITIONS, Call, Condition, Expr
from ramidyn.symbolic.program import FRESH, KEPT, Callee, ColumnLoop, Program

LOGIC = frozenset({"and", "or", "not"})


def check(program: Program) -> Program:
    """Return the program; raise AssertionError if it is invalid."""
    sizes = {v.name: v.size for v in program.inputs}
    assert len(sizes) == len(program.inputs), "two inputs have the same name"
    outputs = {v.name for v in program.outputs}
    assert len(outputs) == len(program.outputs), "two outputs have the same name"
    total = sum(v.size for v in program.outputs)
    assert total == len(program.results), "results do not fill the outputs"
    seen: set[Expr] = set()
    for e in program.order:
        _check_node(e, sizes, len(program.regions), seen)
        seen.add(e)
    for e in program.results:
        assert e in seen, f"the result {e!r} is not in the order"
        assert not isinstance(e, Condition), f"the result {e!r} is a condition"
        assert not isinstance(e, Call), f"the result {e!r} is a call"
    return program


def _check_callee(callee: Callee) -> None:
    """Check what a call runs."""
    if isinstance(callee.body, ColumnLoop):
        _check_columns(callee.body)
        return
    check(callee.body)
    assert min(callee.times, callee.carried, callee.sliced) >= 0, "a negative number"
    assert min(callee.shared, callee.stacked) >= 0, "the body has too few variables"
    if callee.until:
        assert callee.carried > 0, "nothing says when a loop is done"
        assert callee.stacked == 0, "a loop with an open end stacks results"
    if callee.residual is not None:
        check(callee.residual)
        size = callee.results + callee.shared
        assert callee.residual.size == size, "the residual has other variables"
        assert len(callee.residual.results) <= callee.results, "too many equations"


def _check_columns(loop: ColumnLoop) -> None:
    """Check a loop over columns."""
    size = loop.rows * loop.columns
    assert len(set(loop.places)) == len(loop.places), "two entries have one place"
    assert all(0 <= x < size for x in loop.places), "an entry is outside the matrix"
    rows = range(loop.rows)
    for sweep in (*loop.sweeps, *loop.wide):
        assert all(0 <= k < loop.columns for k in sweep.columns), "no such column"
        used = [r for s in sweep.steps for r in (s.row, *(i for _, i in s.terms))]
        assert all(r in rows for r in used), "no such row"
        factors = [k for s in sweep.steps for k, _ in s.terms]
        factors += [s.scale for s in sweep.steps if s.scale not in (KEPT, FRESH)]
        assert all(0 <= k < loop.shared for k in factors), "no such factor"


def _check_node(e: Expr, sizes: dict[str, int], regions: int, seen: set[Expr]) -> None:
    assert e.op in ARITY, f"{e.op!r} is not an operation"
    arity = e.value.arguments if isinstance(e, Call) else ARITY[e.op]
    assert len(e.args) == arity, f"{e!r} has {len(e.args)} arguments"
    assert e not in seen, f"{e!r} appears twice in the order"
    assert 0 <= e.region < regions, f"{e!r} has no region"
    assert isinstance(e, Condition) == (e.op in CONDITIONS), f"{e!r} has a wrong kind"
    for k, a in enumerate(e.args):
        assert a in seen, f"{e!r} comes before its argument {a!r}"
        wants_condition = e.op in LOGIC or (e.op == "where" and k == 0)
        assert isinstance(a, Condition) == wants_condition, f"{e!r}: argument {k}"
        assert isinstance(a, Call) == (e.op == "result"), f"{e!r}: argument {k}"
    if e.op == "const":
        assert math.isfinite(e.value), f"the constant {e.value} is not finite"
    if e.op == "input":
        name, index = e.value
        assert 0 <= index < sizes.get(name, 0), f"{name}[{index}] is not an input"
    if e.op == "call":
        _check_callee(e.value)
    if e.op == "result":
        assert 0 <= e.value < e.args[0].value.results, f"{e!r} is not a result"
    if e.op == "pow":
        assert e.args[1].op == "const", f"{e!r} has an exponent that is not constant"
