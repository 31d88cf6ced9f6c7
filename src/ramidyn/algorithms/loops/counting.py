"""Operation counts of the joint formulation, step by step.

All nonzeros of M and J are treated as unknown numbers: the counts are those of the
paper's tables, and depend on the topology alone. What a compiled robot costs is less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ramidyn.algorithms.loops import joint_formulation as steps
from ramidyn.algorithms.loops.loopwise import eliminate, loopwise
from ramidyn.algorithms.ltdl import TreeEntries, ltdl
from ramidyn.symbolic import dense
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.trace import trace
from ramidyn.tree.tree import ancestors

STEPS = ("1", "2", "3.1", "3.2", "3.3", "3.4", "3.5", "4")


def joint_formulation_counts(
    parents: Sequence[int], columns: Sequence[Sequence[int]]
) -> dict[str, Ops]:
    """Return the operations of each step, and "Total".

    Args:
        parents: of each degree of freedom.
        columns: of each row of J: the degrees of freedom where it is not zero.
    """
    totals = [
        count(trace(steps_up_to(k, parents, columns), input_sizes(parents, columns)))
        for k in range(len(STEPS))
    ]
    found: dict[str, Ops] = {}
    before = Ops()
    for name, total in zip(STEPS, totals, strict=True):
        found[name] = Ops(
            total.mul - before.mul,
            total.add - before.add,
            total.div - before.div,
            total.sqrt - before.sqrt,
        )
        before = total
    return {**found, "Total": before}


def steps_up_to(
    last: int, parents: Sequence[int], columns: Sequence[Sequence[int]]
) -> Callable[..., list[Expr]]:
    """Return a function of M, J, Q and γ that takes the first steps, to trace.

    M and J are vectors of their nonzeros (`input_sizes`), row by row; a row of M has
    its diagonal first, and then its ancestors, the nearest first.
    """

    def traced(M: Any, J: Any, Q: Any, gamma: Any) -> list[Expr]:
        known = _results(parents, columns, M, J, Q, gamma)
        return [e for step in known[: last + 1] for e in step]

    return traced


def input_sizes(
    parents: Sequence[int], columns: Sequence[Sequence[int]]
) -> dict[str, int]:
    """Return how many numbers M, J, Q and γ have."""
    n = len(parents)
    entries = sum(1 + len(tuple(ancestors(parents, k))) for k in range(n))
    return {"M": entries, "J": sum(map(len, columns)), "Q": n, "gamma": len(columns)}


def loopwise_counts(parents: Sequence[int], columns: Sequence[Sequence[int]]) -> Ops:
    """Return the operations of the same solution, loop by loop."""

    def traced(M: Any, J: Any, Q: Any, gamma: Any) -> list[Expr]:
        A = eliminate(_tree_matrix(M, parents), _rows(J, columns), len(parents))
        qdd, multipliers = loopwise(A, _vector(Q), list(gamma))
        return [*qdd.values(), *multipliers]

    return count(trace(traced, input_sizes(parents, columns)))


def _results(
    parents: Sequence[int],
    columns: Sequence[Sequence[int]],
    M: Any,
    J: Any,
    Q: Any,
    gamma: Any,
) -> list[list[Expr]]:
    """Return the results of each step."""
    L, D = ltdl(_tree_matrix(M, parents), parents)
    z = steps.lower_transposed_solve(L, _vector(Q), parents)
    rows = _rows(J, columns)
    T = [steps.lower_transposed_solve(L, row, parents) for row in rows]
    W = [{i: t / D[i] for i, t in column.items()} for column in T]
    r = [-g - dense.dot(w, z) for g, w in zip(gamma, W, strict=True)]
    G = dense.gram(T, W)
    multipliers = dense.solve(*dense.ldl(G), r)
    y = dict(z)
    dense.add_multiples(y, T, multipliers)
    A = steps.Factors(parents, L, D, [], [], [], [])
    qdd = steps.accelerations(A, y, [])
    return [
        [*L.values(), *D.values()],
        [*z.values()],
        [e for column in W for e in column.values()],
        r,
        [e for row in G for e in row],
        multipliers,
        [*y.values()],
        [*qdd.values()],
    ]


def _vector(given: Any) -> dict[int, Expr]:
    return {k: given[k] for k in range(len(given))}


def _tree_matrix(given: Any, parents: Sequence[int]) -> TreeEntries:
    pairs = [(k, i) for k in range(len(parents)) for i in (k, *ancestors(parents, k))]
    return dict(zip(pairs, given, strict=True))


def _rows(given: Any, columns: Sequence[Sequence[int]]) -> list[dict[int, Expr]]:
    entries = iter(given)
    return [{k: next(entries) for k in row} for row in columns]
