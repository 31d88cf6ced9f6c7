"""Λ⁻¹ by the recursion of Rodriguez, Jain & Kreutz-Delgado, in its optimized form.

    Ωᵢᵢ = Lᵢ X Ω_pp Xᵀ Lᵢᵀ + Sᵢ Dᵢ⁻¹ Sᵢᵀ        Ωᵢⱼ = Lᵢ X Ω_pj   from Ω_gg outwards

    Λ⁻¹_kl = C_k Ω_b(k),b(l) C_lᵀ

    W[i]   Ωᵢᵢ, symmetric, along the supports of all ends
    C_k    the rows of end k, on body b(k)
    g      nearest common ancestor of the bodies of k and l
    Ways   C_k Ω_b(k),g on its way from g to the body of l, a row at a time

Optimized as in Featherstone 2010, appendix B: only what some pair needs is propagated,
once; and here the rows of an end are taken as soon as they can be, so that what goes on
to the other end has as many columns as the task has rows.

Rodriguez, Jain & Kreutz-Delgado, "Spatial operator algebra for multibody system
dynamics", J. Astronautical Sciences 40, 1992. `chang_khatib` is the same recursion with
the rows taken last.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.algorithms.operational.propagators import (
    InverseInertia,
    Propagators,
    propagators,
)
from ramidyn.algorithms.operational.tasks import End
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import Symmetric, add
from ramidyn.symbolic.expr import region
from ramidyn.tree.tree import ROOT, Tree


def rjk(tree: Tree, q: JointVector, ends: Sequence[End]) -> Symmetric:
    """Return Λ⁻¹."""
    A = propagators(tree, q)
    W = inverse_inertias(tree, A, [end.body for end in ends])
    ways = Ways(tree, A)
    Lam: Symmetric = {}
    for k, end in enumerate(ends):
        region(f"task inertia {k}")
        for c, row in zip(end.span, end.rows, strict=True):
            a = W[end.body] @ row
            for r in end.span:
                if r >= c:
                    add(Lam, r, c, end.rows[r - end.first].dot(a))
    for k, first in enumerate(ends):
        for second in ends[:k]:
            if ROOT in (first.body, second.body):
                continue
            g = tree.common_ancestor(first.body, second.body)
            region(f"task inertia {k}")
            far, near = sorted((first, second), key=lambda e: tree.depths[e.body])[::-1]
            key = (far.first, g)
            for c, a in zip(far.span, ways.responses(W[g], g, far), strict=True):
                m = ways.outwards((*key, c), a, g, near.body)
                for r, row in zip(near.span, near.rows, strict=True):
                    add(Lam, r, c, row.dot(m))
    return Lam


def inverse_inertias(
    tree: Tree, A: Propagators, bodies: Sequence[int]
) -> dict[int, InverseInertia]:
    """Return Ωᵢᵢ for some bodies and all that support them."""
    wanted = {i for b in bodies for i in tree.support(b)}
    W = {ROOT: InverseInertia.zero()}
    for i, p in tree:
        if i in wanted:
            region(f"mobility {tree.bodies[i].name}")
            W[i] = W[p].across(A.X[i])
            for column in A.columns[i]:
                W[i] = W[i].beyond(column)
    return W


class Ways:
    """Accelerations propagated outward, each step of each path computed once."""

    def __init__(self, tree: Tree, A: Propagators) -> None:
        self.tree = tree
        self.A = A
        self.known: dict[tuple[tuple[int, ...], int], Motion] = {}

    def outwards(self, key: tuple[int, ...], a: Motion, g: int, to: int) -> Motion:
        """Return acceleration ``a`` of body g as it arrives at body ``to``."""
        path = [i for i in self.tree.support(to) if i > g]
        for i in path:
            if (key, i) not in self.known:
                self.known[key, i] = self.A.outwards(i, a)
            a = self.known[key, i]
        return a

    def responses(self, W: InverseInertia, g: int, end: End) -> list[Motion]:
        """Return the accelerations of body g per force at an end: rows of C Ω_bg."""
        if end.body == g:
            return [W @ row for row in end.rows]
        columns = [
            self.outwards((g, c), a, g, end.body) for c, a in enumerate(W.columns())
        ]
        return [_row(row, columns) for row in end.rows]


def _row(row: Force, columns: Sequence[Motion]) -> Motion:
    x = [row.dot(a) for a in columns]
    return Motion(Vec(x[:3]), Vec(x[3:]))
