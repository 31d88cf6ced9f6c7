"""Dynamics with loops, solved loop by loop: sparse elimination of the augmented matrix.

    [ M   Jᵀ ] [ q̈ ]   [  Q ]
    [ J   −μ ] [−λ ] = [ −γ ]

Degrees of freedom are eliminated from tips to root, as in LTDL. The columns of a loop
end below the common ancestor of its two bodies (`constraints`), so its rows can be
eliminated as soon as those columns are, before anything that the loop hangs on. What
is left for the ancestors is the inertia of a closed loop: loops on different branches
never meet, where the joint formulation has a full matrix over all rows. The pivots of
a loop's rows are those of −J M⁻¹ Jᵀ with the common ancestor held: definite exactly if
the rows are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.ltdl import DofVector, TreeEntries
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.expr import Expr, const, region


@final
@dataclass(frozen=True, slots=True, eq=False)
class LoopElimination:
    """The augmented matrix, factored: n degrees of freedom, then rows, as nodes."""

    n: int
    order: tuple[int, ...]
    pivots: dict[int, Expr]
    columns: dict[int, dict[int, Expr]]
    """of each node: the factors of those that are eliminated later"""


def eliminate(
    M: TreeEntries, J: Sequence[DofVector], n: int, damping: Sequence[float] = ()
) -> LoopElimination:
    """Factor the augmented matrix loop by loop."""
    A: list[dict[int, Expr]] = [{} for _ in range(n + len(J))]
    for (i, j), e in M.items():
        A[i][j] = A[j][i] = e
    for r, row in enumerate(J):
        A[n + r][n + r] = const(-damping[r] if damping else 0.0)
        for k, e in row.items():
            A[n + r][k] = A[k][n + r] = e
    order = elimination_order(J, n)
    pivots: dict[int, Expr] = {}
    columns: dict[int, dict[int, Expr]] = {}
    for k in order:
        region(f"eliminate {k}")
        pivots[k] = A[k].pop(k)
        below = [i for i, e in A[k].items() if not e.is_zero]
        columns[k] = {i: A[k][i] / pivots[k] for i in below}
        for i in A[k]:
            del A[i][k]
        for a, i in enumerate(below):
            for j in below[: a + 1]:
                e = A[i].get(j, ZERO) - columns[k][j] * A[k][i]
                A[i][j] = A[j][i] = e
    return LoopElimination(n, order, pivots, columns)


def elimination_order(J: Sequence[DofVector], n: int) -> tuple[int, ...]:
    """Return degrees of freedom from tips to root, each row right after its columns."""
    after: dict[int, list[int]] = {}
    for r, row in enumerate(J):
        after.setdefault(min(row), []).append(n + r)
    order: list[int] = []
    for k in reversed(range(n)):
        order += [k, *after.get(k, ())]
    return tuple(order)


def loopwise(
    A: LoopElimination, Q: DofVector, gamma: Sequence[Expr]
) -> tuple[DofVector, list[Expr]]:
    """Return q̈ and λ."""
    n = A.n
    region("solve")
    x = [Q.get(k, ZERO) for k in range(n)] + [-g for g in gamma]
    for k in A.order:
        for i, c in A.columns[k].items():
            x[i] = x[i] - c * x[k]
    for k in reversed(A.order):
        x[k] = x[k] / A.pivots[k]
        for i, c in A.columns[k].items():
            x[k] = x[k] - c * x[i]
    return dict(enumerate(x[:n])), [-e for e in x[n:]]
