"""Λ⁻¹ by the recursive algorithm of Chang & Khatib (2000), Table 1.

    1  outwards   X                          4  outwards  Ωᵢⱼ from Ω_hh, h the nearest
    2  inwards    L (with IA)                             common ancestor
    3  outwards   Ωᵢᵢ                        5  Λ⁻¹_kl = C_k Ωᵢⱼ C_lᵀ
                                             6  Λ from Λ⁻¹ (`quantities.operational`)

Steps 1 to 3 are those of `rjk`, and so are the ways of step 4. The difference is when
the rows of a task are taken: here in step 5, from whole 6 × 6 blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.algorithms.operational.propagators import unit_forces
from ramidyn.algorithms.operational.rjk import rjk
from ramidyn.algorithms.operational.tasks import End
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.dense import Symmetric, add, inner
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import ROOT, Tree


def chang_khatib(tree: Tree, q: JointVector, ends: Sequence[End]) -> Symmetric:
    """Return Λ⁻¹."""
    bodies = sorted({end.body for end in ends if end.body != ROOT})
    whole = {b: End(b, unit_forces(), 6 * n) for n, b in enumerate(bodies)}
    Om = rjk(tree, q, tuple(whole.values()))
    Lam: Symmetric = {}
    for k, end in enumerate(ends):
        for other in ends[: k + 1]:
            if ROOT in (end.body, other.body):
                continue
            region(f"task rows {k}")
            i, j = whole[end.body].first, whole[other.body].first
            for c, row in zip(other.span, other.rows, strict=True):
                parts = row.parts()
                x = [
                    inner(parts, [_at(Om, i + m, j + n) for n in range(6)])
                    for m in range(6)
                ]
                a = Motion(Vec(x[:3]), Vec(x[3:]))
                for r, out in zip(end.span, end.rows, strict=True):
                    if c <= r:
                        add(Lam, r, c, out.dot(a))
    return Lam


def _at(A: Symmetric, r: int, c: int) -> Expr:
    return A.get((r, c) if c <= r else (c, r), ZERO)
