"""What the joint formulation costs, step by step, for a tree and its loops.

All nonzeros of M and J are taken as unknown numbers: the counts are those of the paper's
tables, and depend on the topology alone. What a compiled robot costs is less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ramify.algorithms.crba import TreeMatrix
from ramify.algorithms.loops import joint_formulation as steps
from ramify.algorithms.loops.loopwise import eliminate, loopwise
from ramify.algorithms.ltdl import ltdl
from ramify.model.tree import ancestors
from ramify.symbolic.count import Ops, count
from ramify.symbolic.expr import Expr
from ramify.symbolic.trace import trace

STEPS = ("1", "2", "3.1", "3.2", "3.3", "3.4", "3.5", "4")


def joint_formulation_counts(
    parents: Sequence[int], columns: Sequence[Sequence[int]]
) -> dict[str, Ops]:
    """Return the operations of each step, and "Total".

    Args:
        parents: of each degree of freedom.
        columns: of each row of J: the degrees of freedom where it is not zero.
    """

    def upto(last: str) -> Callable[..., Any]:
        def traced(M: Any, J: Any, Q: Any, gamma: Any) -> Any:
            return _run(last, parents, columns, (M, J, Q, gamma))

        return traced

    totals = [_count(upto(s), parents, columns) for s in STEPS]
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


def loopwise_counts(parents: Sequence[int], columns: Sequence[Sequence[int]]) -> Ops:
    """Return the operations of the same solution, loop by loop."""

    def traced(M: Any, J: Any, Q: Any, gamma: Any) -> list[Expr]:
        A = eliminate(_tree_matrix(M, parents), _rows(J, columns), len(parents))
        qdd, multipliers = loopwise(A, dict(enumerate(Q)), list(gamma))
        return [*qdd.values(), *multipliers]

    return _count(traced, parents, columns)


def _run(
    last: str,
    parents: Sequence[int],
    columns: Sequence[Sequence[int]],
    given: tuple[Any, Any, Any, Any],
) -> list[Expr]:
    """Return all that is known after a step."""
    k = STEPS.index(last)
    L, D = ltdl(_tree_matrix(given[0], parents), parents)
    known = [*L.values(), *D.values()]
    if k >= 1:
        z = steps.lower_transposed_solve(L, dict(enumerate(given[2])), parents)
        known += z.values()
    if k >= 2:
        T = [
            steps.lower_transposed_solve(L, row, parents)
            for row in _rows(given[1], columns)
        ]
        W = [{i: t / D[i] for i, t in column.items()} for column in T]
        known += [e for column in W for e in column.values()]
    if k >= 3:
        r = [-g - steps.dot(w, z) for g, w in zip(given[3], W, strict=True)]
        known += r
    if k >= 4:
        G = steps.gram(T, W)
        known += [e for row in G for e in row]
    if k >= 5:
        C, E = steps.cholesky(G)
        multipliers = steps.cholesky_solve(C, E, r)
        known += multipliers
    if k >= 6:
        for column, x in zip(T, multipliers, strict=True):
            for i, t in column.items():
                z[i] = z[i] + t * x
        known += z.values()
    if k >= 7:
        A = steps.Factors(parents, L, D, [], [], [], [])
        known += steps.accelerations(A, z, []).values()
    return known


def _count(
    traced: Callable[..., Any], parents: Sequence[int], columns: Sequence[Sequence[int]]
) -> Ops:
    n, m = len(parents), len(columns)
    entries = sum(1 + len(tuple(ancestors(parents, k))) for k in range(n))
    sizes = {"M": entries, "J": sum(map(len, columns)), "Q": n, "gamma": m}
    return count(trace(traced, sizes))


def _tree_matrix(given: Any, parents: Sequence[int]) -> TreeMatrix:
    pairs = [(k, i) for k in range(len(parents)) for i in (k, *ancestors(parents, k))]
    return dict(zip(pairs, given, strict=True))


def _rows(given: Any, columns: Sequence[Sequence[int]]) -> list[dict[int, Expr]]:
    entries = iter(given)
    return [{k: next(entries) for k in row} for row in columns]
