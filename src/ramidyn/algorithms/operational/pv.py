"""Λ⁻¹ in one sweep, as Popov and Vereshchagin solved constraints (PV-OSIM).

    Λ⁻¹ = Σᵢ vᵢ Dᵢ⁻¹ vᵢᵀ,    v = K S,    K_p = K L X

Rows of all ends go towards the root together; each joint adds what it lets them move.
A row that is the velocity of one degree of freedom starts there, with v = 1.

    K[i]   rows of the ends beyond i, in body-i coordinates
    v      those rows along S       D, L  see `propagators`

Sathya, Bruyninckx, Decré & Pipeleers, "Efficient constrained dynamics algorithms based
on an equivalent LQR formulation", IEEE T-RO 2023. A floating base is six columns, which
together are K IA⁻¹ Kᵀ.

Where joints share coordinates, rows of ends go along with these (`Elimination`): as
rows that are never eliminated. −Λ⁻¹ is left of their entries of D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ramidyn.algorithms.articulated import Elimination
from ramidyn.algorithms.clusters import Clusters, mimic_clusters
from ramidyn.algorithms.kinematics import transforms
from ramidyn.algorithms.operational.propagators import column_order, propagators
from ramidyn.algorithms.operational.tasks import End
from ramidyn.algorithms.sweeps import inward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.dense import Symmetric, add_outer
from ramidyn.tree.tree import ROOT, Tree


def pv(
    tree: Tree,
    q: JointVector,
    ends: Sequence[End],
    joints: Mapping[tuple[int, int], int] | None = None,
) -> Symmetric:
    """Return Λ⁻¹; ``joints`` has rows of joints, by body and column of S."""
    clusters, joints = mimic_clusters(tree), joints or {}
    if clusters.G:
        return _with_clusters(tree, q, ends, joints, clusters)
    A = propagators(tree, q)
    K: dict[int, dict[int, Force]] = {i: {} for i in range(ROOT, len(tree))}
    for end in ends:
        K[end.body].update(zip(end.span, end.rows, strict=True))
    Lam: Symmetric = {}
    for i, p in inward(tree, "task inertia"):
        order = column_order(tree.bodies[i])
        for k, column in reversed(list(zip(order, A.columns[i], strict=True))):
            v = {r: row.dot(column.s) for r, row in K[i].items()}
            if (i, k) in joints:
                v[joints[i, k]] = ONE
                K[i][joints[i, k]] = Force.zero()
            add_outer(Lam, v, column.Dinv)
            K[i] = {r: row - column.Ud * v[r] for r, row in K[i].items()}
        K[p].update((r, A.X[i].back(row)) for r, row in K[i].items())
    return Lam


def _with_clusters(
    tree: Tree,
    q: JointVector,
    ends: Sequence[End],
    joints: Mapping[tuple[int, int], int],
    clusters: Clusters,
) -> Symmetric:
    """Return Λ⁻¹ of a tree whose joints share coordinates."""
    X, n = transforms(tree, q), len(tree.dof_parents)
    IA: dict[int, RigidInertia | ArticulatedInertia] = {ROOT: RigidInertia.zero()}
    IA.update((i, body.rigid_inertia()) for i, body in enumerate(tree.bodies))
    J = {tree.dofs[i][k]: {n + r: ONE} for (i, k), r in joints.items()}
    sweep = Elimination(tree, replace(clusters, J=J), IA, {i: Force.zero() for i in IA})
    for end in ends:
        rows = ((n + r, row) for r, row in zip(end.span, end.rows, strict=True))
        sweep.F.setdefault(end.body, {}).update(rows)
    for i, _ in inward(tree, "task inertia"):
        columns = tree.bodies[i].columns()
        sweep.eliminate(i, columns, [ZERO] * len(columns))
        sweep.carry(i, X[i])
    sweep.eliminate(ROOT, (), ())
    return {
        (r - n, s - n): -x
        for r, row in sweep.D.items()
        for s, x in row.items()
        if n <= s <= r
    }
