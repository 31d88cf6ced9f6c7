"""Equations solved inside kernels, by Newton's method.

    x ← x − J⁻¹ r(x),    J = ∂r/∂x

The call declares r, so its derivatives are those of the solution: see
`call_derivatives`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ramidyn.errors import TraceError
from ramidyn.symbolic import expr
from ramidyn.symbolic.calls import results_of, traced_body
from ramidyn.symbolic.derivatives import forward
from ramidyn.symbolic.expr import ONE, ZERO, Condition, Expr, const, users_line
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.linear_algebra import solved
from ramidyn.symbolic.program import Callee, Program, Variable, live
from ramidyn.symbolic.repeat import Values, check_function, count_of, form_of
from ramidyn.symbolic.trace import trace

TOLERANCES = {"float64": 1e-10, "float32": 1e-4}
"""below the root of the rounding error: the step after such a small one is rounding"""


class Solution(NamedTuple):
    """What `solve` returns."""

    x: Any
    """the solution, in the form of the start"""
    is_done: Any
    """1 where it was found, 0 where the steps ran out or x is not finite"""
    steps: Any
    """the number of steps that a state took"""


def solve(
    residual: Callable[[Any], Any],
    start: Any,
    *,
    most: int = 20,
    tolerance: float | None = None,
) -> Solution:
    """Solve residual(x) = 0 by Newton's method, inside a kernel or on numbers.

    In a kernel, each state of a batch takes the steps that it needs. Derivatives are
    those of the solution (implicit function theorem), to any order; they do not depend
    on the start. They are exact where ``is_done`` is 1 and ∂r/∂x is regular.

    Args:
        residual: a function of x. It may use all other values of the kernel, and
            returns as many entries as x has: a number, an array, or a tuple or dict.
        start: where to begin: a number, an array, or a tuple or dict of these.
        most: the largest number of steps.
        tolerance: x is found when a step changes no entry by more than this, times
            1 + |entry|; by default 1e-10, or 1e-4 in float32.

    >>> import numpy as np, ramidyn
    >>> def kepler(mean, e):  # E − e sin E = M
    ...     return ramidyn.solve(lambda E: E - e * ramidyn.math.sin(E) - mean, mean).x
    >>> f = ramidyn.kernel(kepler, {"mean": (), "e": ()})
    >>> f(np.array([0.1, 1.0, 2.0]), 0.3).round(6)
    array([0.14265 , 1.288091, 2.236031])
    """
    check_function("residual", residual, "x")
    bound = count_of("most", most)
    if tolerance is None:
        tolerance = TOLERANCES[expr.current_dtype()]
    elif not _is_positive(tolerance):
        raise TraceError(
            f"{users_line()}: tolerance is {tolerance!r}; expected a positive number"
        )
    values = Values.of(start)

    def entries() -> list[Expr]:
        return _newton(residual, Values.of(start), bound, tolerance)

    if values.has_symbols or expr.is_tracing():
        found = entries()
    else:
        found = evaluate(trace(entries, {}, "solve"), {})["result"].tolist()
    is_done, steps, *x = found
    return Solution(values.rebuilt(x), is_done, steps)


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating):
        return False
    return bool(0.0 < value < np.inf)


def _newton(
    residual: Callable[[Any], Any], start: Values, most: int, tolerance: float
) -> list[Expr]:
    """Return whether it is found, steps, and x: a loop that declares its residual."""
    n = len(start.entries)
    if n == 0:
        raise TraceError(f"{users_line()}: start has no entries")

    def step(entries: list[Expr]) -> list[Expr]:
        done, taken, *x = entries
        r = _equations(residual(start.rebuilt(x)), n)
        change = [row[0] for row in solved(_jacobian(r, x), [[e] for e in r])]
        new = [a - b for a, b in zip(x, change, strict=True)]
        # < also fails for infinity; a root stays where it is, even with a singular J.
        steps = zip(change, new, strict=True)
        small = [abs(dx) < tolerance * (1.0 + abs(a)) for dx, a in steps]
        is_small, is_root = reduce(_both, small), reduce(_both, [e == ZERO for e in r])
        flag = expr.where(is_small | is_root, ONE, ZERO)
        moved = [expr.where(is_root, a, b) for a, b in zip(x, new, strict=True)]
        is_done = const(0.5) < done
        after = [flag, taken + 1.0, *moved]
        kept = [expr.where(is_done, a, b) for a, b in zip(entries, after, strict=True)]
        return [*kept, *r]

    size = 2 + n
    both, shared = traced_body(step, size, "Newton's method")
    callee = Callee(
        _with_results(both, both.results[:size]),
        most,
        size,
        until=True,
        residual=_with_results(both, both.results[size:]),
    )
    return results_of(callee, [ZERO, ZERO, *start.entries, *shared])


def _both(a: Condition, b: Condition) -> Condition:
    return a & b


def _equations(returned: Any, n: int) -> list[Expr]:
    """Return the entries of a residual, or raise TraceError."""
    entries = Values.of(returned).entries
    if len(entries) != n:
        raise TraceError(
            f"{users_line()}: residual returned {len(entries)} entries "
            f"({form_of(returned)}); expected as many as start has: {n}"
        )
    return entries


def _jacobian(r: list[Expr], x: list[Expr]) -> list[list[Expr]]:
    rows = forward(r, {e: {k: ONE} for k, e in enumerate(x)})
    for k in range(len(x)):
        if not any(k in row for row in rows):
            raise TraceError(
                f"{users_line()}: residual does not depend on entry {k} of x"
            )
    return [[row.get(k, ZERO) for k in range(len(x))] for row in rows]


def _with_results(program: Program, results: tuple[Expr, ...]) -> Program:
    return replace(
        program,
        outputs=(Variable("results", (len(results),)),),
        results=results,
        order=live(program.order, results),
    )
