"""J̄ = M⁻¹ Jᵀ Λ by force and acceleration propagators, without M.

Wensing, Featherstone & Orin (2012) propose it as future work. Column c of J̄ is how the
joints accelerate under the forces Λ e_c on the ends. Inwards go the rows of the ends,
as in `pv`; outwards go the accelerations of all bodies, as in `efpa`:

    K_p = K L X      x = D⁻¹ (K S)ᵀ Λ      q̈ = x − Uᵀ D⁻¹ X a_p      a = X a_p + S q̈

    K[i]  rows of the ends beyond i        a[i]  accelerations of body i, one per column

O(n) for each column, where a solve with M = Lᵀ D L takes O(n d).
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.algorithms.operational.propagators import (
    Propagator,
    column_order,
    propagators,
)
from ramidyn.algorithms.operational.tasks import End
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import inner
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree


def consistent_inverse(
    tree: Tree, q: JointVector, ends: Sequence[End], Lam: Sequence[Sequence[Expr]]
) -> list[list[Expr]]:
    """Return J̄ over the tree's degrees of freedom; Λ is the inertia, whole."""
    A = propagators(tree, q)
    K: dict[int, dict[int, Force]] = {i: {} for i in range(ROOT, len(tree))}
    for end in ends:
        if end.body != ROOT:
            K[end.body].update(zip(end.span, end.rows, strict=True))
    v: dict[tuple[int, int], dict[int, Expr]] = {}

    # Tips to root: what the ends feel of each joint.
    for i, p in inward(tree, "force propagators"):
        for n, column in reversed(list(enumerate(A.columns[i]))):
            v[i, n] = {r: row.dot(column.s) for r, row in K[i].items()}
            K[i] = {r: row - column.Ud * v[i, n][r] for r, row in K[i].items()}
        K[p].update((r, A.X[i].back(row)) for r, row in K[i].items())

    # Root to tips: accelerations under the columns of Λ.
    columns = range(len(Lam))
    Jbar = [[ZERO] * len(Lam) for _ in tree.dof_parents]
    a = {ROOT: [Motion.zero() for _ in columns]}
    for i, p in outward(tree, "accelerations"):
        a[i] = [A.X[i] @ m for m in a[p]]
        places = [tree.dofs[i][k] for k in column_order(tree.bodies[i])]
        for n, column in enumerate(A.columns[i]):
            pushed = {r: x * column.Dinv for r, x in v[i, n].items()}
            for c in columns:
                x = inner(pushed.values(), [Lam[r][c] for r in pushed])
                Jbar[places[n]][c], a[i][c] = _joint_acceleration(column, a[i][c], x)
    return Jbar


def _joint_acceleration(column: Propagator, a: Motion, x: Expr) -> tuple[Expr, Motion]:
    """Return q̈ = x − Uᵀ D⁻¹ a of one degree of freedom, and a + S q̈."""
    if column.e is None:
        qdd = x - column.Ud.dot(a)
        return qdd, a + column.s * qdd
    after = column.outwards(a, x)  # entry e of it is what a has there, and q̈
    return after.parts()[column.e] - a.parts()[column.e], after
