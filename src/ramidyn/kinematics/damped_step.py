"""One step of Levenberg and Marquardt, with equations that hold exactly.

    minimize ½ |e − J v|² + ½ vᵀ Δ v     subject to     G v = −c

Rows of J along one branch of a tree make A = Jᵀ J + Δ as sparse as the mass matrix, and
LTDL factors it without fill-in. Other rows B (of a center of mass, of two frames) are
part of A, or stay apart like those of G, whichever takes fewer operations:

    A v = g + Kᵀ y,     (K A⁻¹ Kᵀ + S) y = r − K A⁻¹ g
    K = (B, G),  r = (e_B, −c),  S = (1, ε)

ε keeps dependent equations apart: G v misses −c by ε times a multiplier. The method
goes back to Levenberg 1944, and to Sugihara 2011 for inverse kinematics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ramidyn.algorithms.ltdl import (
    TreeEntries,
    elimination_parents,
    filled_matrix,
    ltdl,
    operations,
    solve_L,
    solve_LT,
)
from ramidyn.kinematics.goal_rows import Rows
from ramidyn.symbolic.dense import (
    Entries,
    add_outer,
    at_least,
    dot,
    ldl,
    solve,
    total,
)
from ramidyn.symbolic.expr import ONE, ZERO, Expr
from ramidyn.tree.tree import D1

APART = 1e-9
"""ε, over the multipliers"""


class Step(NamedTuple):
    """A step, and what it was made of."""

    v: Entries
    """by entries of q̇"""
    multipliers: list[Expr]
    """y of G: its rows times this are added to the gradient"""


def gradient(soft: Sequence[Rows]) -> Entries:
    """Return Jᵀ e, by entries of q̇: the direction in which ½ |e|² falls."""
    g: Entries = {}
    for rows in soft:
        for e, row in zip(rows.e, rows.J, strict=True):
            for k, x in row.items():
                g[k] = g.get(k, ZERO) + x * e
    return g


def damped_step(
    order: Sequence[int],
    soft: Sequence[Rows],
    hard: Sequence[Rows],
    diagonal: Mapping[int, Expr],
) -> Step:
    """Return the step.

    Args:
        order: the entries of q̇ that may move, parents first.
        soft: rows of e and J.
        hard: rows of −c and G.
        diagonal: Δ by entries of q̇, positive.
    """
    place = {k: i for i, k in enumerate(order)}
    n = len(order)
    along = [_placed(rows, place) for rows in soft if rows.is_along_tree]
    across = [_placed(rows, place) for rows in soft if not rows.is_along_tree]
    equations = [_placed(rows, place) for rows in hard]
    if _fills_cheaply(along, across, n):
        along, across = [*along, *across], []
    A: TreeEntries = {(i, i): diagonal[k] for i, k in enumerate(order)}
    for rows in along:
        for row in rows.J:
            add_outer(A, row, ONE)
    parents = elimination_parents(A, n)
    L, D = ltdl(filled_matrix(A, parents), parents)
    g = gradient(along)
    w = solve_LT(L, {i: g.get(i, ZERO) for i in range(n)}, parents)
    apart = [*across, *equations]
    K = [row for rows in apart for row in rows.J]
    r = [x for rows in apart for x in rows.e]
    soft_count = sum(len(rows.e) for rows in across)
    W = [solve_LT(L, {i: row.get(i, ZERO) for i in range(n)}, parents) for row in K]
    y: list[Expr] = []
    if K:
        scaled = [{i: x / D[i] for i, x in row.items() if not x.is_zero} for row in W]
        S = [[dot(scaled[a], W[b]) for b in range(a + 1)] for a in range(len(K))]
        for a in range(len(K)):
            S[a][a] = S[a][a] + (1.0 if a < soft_count else APART)
        right = [x - dot(row, w) for x, row in zip(r, scaled, strict=True)]
        y = solve(*ldl(S, at_least(0.5 * APART)), right)
    for i in range(n):
        w[i] = total([w[i], *(x * row[i] for x, row in zip(y, W, strict=True))]) / D[i]
    x = solve_L(L, w, parents)
    return Step({k: x[i] for i, k in enumerate(order)}, y[soft_count:])


def pushed_velocity(
    soft: Sequence[Rows], hard: Sequence[Rows], multipliers: Sequence[Expr]
) -> Entries:
    """Return where the goals push q̇, and the equations: z = Jᵀ e + Gᵀ y."""
    z = gradient(soft)
    rows = [row for rows in hard for row in rows.J]
    for y, row in zip(multipliers, rows, strict=True):
        for k, x in row.items():
            z[k] = z.get(k, ZERO) + x * y
    return z


def _placed(rows: Rows, place: Mapping[int, int]) -> Rows:
    """Return rows by the places of those entries that may move."""
    J = [{place[k]: x for k, x in row.items() if k in place} for row in rows.J]
    return Rows(rows.e, J, rows.is_along_tree)


def _fills_cheaply(along: Sequence[Rows], across: Sequence[Rows], n: int) -> bool:
    """Return whether rows across branches cost less as a part of A."""
    if not across:
        return True

    def tree_of(parts: Sequence[Rows]) -> tuple[int, ...]:
        found = {(i, i) for i in range(n)}
        for rows in parts:
            for row in rows.J:
                found |= {(i, j) for i in row for j in row if j < i}
        return elimination_parents(found, n)

    sparse, filled = tree_of(along), tree_of([*along, *across])
    sizes = [len(row) for rows in across for row in rows.J]
    m = len(sizes)
    products = sum(k * (k + 1) for k in sizes)
    alone = m * (2 * D1(sparse) + n) + m * (m + 1) * n + m**3 // 3
    return products + operations(filled) <= alone + operations(sparse)
