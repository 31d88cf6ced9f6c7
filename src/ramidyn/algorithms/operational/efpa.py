"""Λ⁻¹ by the extended-force-propagator algorithm (Wensing, Featherstone & Orin 2012).

Table I of the paper:

    χ_k,p(k) = C_k                              inwards   χ_k,p = χ_k,i Lᵢ X
    A_0k = 0                                    outwards  A_ik = Lᵢ X A_pk + Kᵢ χᵀ_k,i
    Λ⁻¹_k₁k₂ = χ_k₁,i A_i,k₂   at i = ancest(k₁, k₂)      Λ⁻¹_kk = C_k A_p(k),k

    chi[k, i]  propagates a force at end k to body i (its rows are those of the task)
    a[k, i]    Λ⁻¹_ik: the acceleration of body i per force at end k
    y[k, i]    D⁻¹ (χ_k,i S)ᵀ, so that Kᵢ χᵀ = S y        ES, GCA  as in the paper
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ramidyn.algorithms.operational.propagators import propagators
from ramidyn.algorithms.operational.tasks import End
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import Symmetric, add
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree


def efpa(tree: Tree, q: JointVector, ends: Sequence[End]) -> Symmetric:
    """Return Λ⁻¹."""
    A = propagators(tree, q)
    ES = supports(tree, [end.body for end in ends])
    chi = {(k, end.body): list(end.rows) for k, end in enumerate(ends)}
    y: dict[tuple[int, int], list[list[Expr]]] = {}

    # Tips to root: force propagators.
    for i, p in inward(tree, "force propagators"):
        for k in ES[i]:
            rows = chi[k, i]
            y[k, i] = []
            for column in reversed(A.columns[i]):
                v = [row.dot(column.s) for row in rows]
                y[k, i].insert(0, [x * column.Dinv for x in v])
                rows = [row - column.Ud * x for row, x in zip(rows, v, strict=True)]
            chi[k, p] = [A.X[i].back(row) for row in rows]

    # Root to tips: accelerations, and the cross terms where two ends part.
    a: dict[tuple[int, int], list[Motion]] = {}
    for k, end in enumerate(ends):
        a[k, ROOT] = [Motion.zero() for _ in end.rows]
    GCA = common_ancestors(tree, ends)
    Lam: Symmetric = {}
    for i, p in outward(tree, "accelerations"):
        for k in ES[i]:
            a[k, i] = [A.X[i] @ m for m in a[k, p]]
            for column, forces in zip(A.columns[i], y[k, i], strict=True):
                a[k, i] = [
                    column.outwards(m, x) for m, x in zip(a[k, i], forces, strict=True)
                ]
        for k1, k2 in GCA.get(i, ()):
            _block(Lam, ends[k1], chi[k1, i], ends[k2], a[k2, i])
    for k, end in enumerate(ends):
        _block(Lam, end, end.rows, end, a[k, end.body])
    return Lam


def supports(tree: Tree, bodies: Iterable[int]) -> dict[int, list[int]]:
    """Return ES: for each body, which of some bodies (by place) hang on it."""
    found: dict[int, list[int]] = {i: [] for i in range(-1, len(tree))}
    for k, b in enumerate(bodies):
        for i in tree.support(b):
            found[i].append(k)
    return found


def common_ancestors(
    tree: Tree, ends: Sequence[End]
) -> dict[int, list[tuple[int, int]]]:
    """Return GCA: the pairs of ends by their nearest common ancestor."""
    found: dict[int, list[tuple[int, int]]] = {}
    for k2, second in enumerate(ends):
        for k1, first in enumerate(ends[:k2]):
            if ROOT not in (first.body, second.body):
                g = tree.common_ancestor(first.body, second.body)
                found.setdefault(g, []).append((k1, k2))
    return found


def _block(
    Lam: Symmetric, k1: End, chi: Sequence[Force], k2: End, a: Sequence[Motion]
) -> None:
    for r, row in zip(k1.span, chi, strict=True):
        for c, m in zip(k2.span, a, strict=True):
            if k1 is not k2 or c <= r:
                add(Lam, r, c, row.dot(m))
