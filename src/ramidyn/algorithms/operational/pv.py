"""Λ⁻¹ in one sweep, as Popov and Vereshchagin solved constraints (PV-OSIM).

    Λ⁻¹ = Σᵢ vᵢ Dᵢ⁻¹ vᵢᵀ,    v = K S,    K_p = K L X

Rows of all ends go towards the root together; each joint adds what it lets them move.

    K[i]   rows of the ends beyond i, in body-i coordinates
    v      those rows along S       D, L  see `propagators`

Sathya, Bruyninckx, Decré & Pipeleers, "Efficient constrained dynamics algorithms based
on an equivalent LQR formulation", IEEE T-RO 2023. A floating base is six columns, which
together are K IA⁻¹ Kᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.algorithms.operational.propagators import propagators
from ramidyn.algorithms.operational.tasks import End
from ramidyn.algorithms.sweeps import inward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.dense import Symmetric, add_outer
from ramidyn.tree.tree import ROOT, Tree


def pv(tree: Tree, q: JointVector, ends: Sequence[End]) -> Symmetric:
    """Return Λ⁻¹."""
    A = propagators(tree, q)
    K: dict[int, dict[int, Force]] = {i: {} for i in range(ROOT, len(tree))}
    for end in ends:
        K[end.body].update(zip(end.span, end.rows, strict=True))
    Lam: Symmetric = {}
    for i, p in inward(tree, "task inertia"):
        for column in reversed(A.columns[i]):
            v = {r: row.dot(column.s) for r, row in K[i].items()}
            add_outer(Lam, v, column.Dinv)
            K[i] = {r: row - column.Ud * v[r] for r, row in K[i].items()}
        K[p].update((r, A.X[i].back(row)) for r, row in K[i].items())
    return Lam
