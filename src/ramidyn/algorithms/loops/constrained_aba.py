"""Dynamics with loops by articulated bodies, in O(n + rows), without M.

Rows of constraints are eliminated like coordinates that joints share, where the two
sides of their loop meet: `elimination` has the equations. Loops that leave their joints
one coordinate can be clusters instead (`loop_clusters`); where all loops are, M over
the coordinates that are left can be factored, too. Their multipliers come last:

    e = M q̈ + h − τ − Σ Jᵀ λ of the other rows = Jᵀ λ        λ = (J Jᵀ)⁻¹ J e
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

from ramidyn.algorithms.aba import articulated_accelerations
from ramidyn.algorithms.clusters import ClusterRow, Clusters, mimic_clusters
from ramidyn.algorithms.crba import crba
from ramidyn.algorithms.loops.constraints import ConstraintRow
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.algorithms.loops.loop_clusters import ClusterMotion, loop_clusters
from ramidyn.algorithms.ltdl import (
    DofVector,
    elimination_parents,
    filled_matrix,
    ltdl,
)
from ramidyn.algorithms.ltdl import solve as factor_solve
from ramidyn.algorithms.rnea import rnea
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.dense import dot, gram, ldl, solve, total
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import Tree


def constrained_aba(
    tree: Tree,
    cuts: Sequence[CutJoint],
    rows: Sequence[ConstraintRow],
    dropped: Collection[int],
    clusters_by: str | None,
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> tuple[JointVector, dict[int, Expr]]:
    """Return q̈, and λ of the rows that are not dropped.

    ``clusters_by`` says how loops are solved that can be clusters: by "aba", by "ltdl"
    if there are no others, or None: like others.
    """
    found = loop_clusters(tree, cuts, dropped) if clusters_by else []
    motion = ClusterMotion(tree)
    for cluster in found:
        motion.add(cluster, rows)
    inside = [r for cluster in found for r in cluster.rows]
    of_row = [cut for cut in cuts for _ in cut.rows]
    kept = [r for r in range(len(rows)) if r not in dropped and r not in inside]
    closing = [
        ClusterRow(of_row[r].name, rows[r].J, rows[r].bias, top_of(tree, of_row[r]))
        for r in kept
    ]
    clusters = Clusters.of(tree, motion.G, motion.bias, closing)
    by = factored_accelerations if clusters_by == "ltdl" else articulated_accelerations
    qdd, known = by(tree, q, qd, tau, gravity, external, clusters)
    multipliers = dict(zip(kept, (-known[r] for r in clusters.gamma), strict=True))
    if inside:
        needed = rnea(tree, q, qd, qdd, gravity, external)
        e = _lack(tree, needed, qdd, tau)
        for r, x in multipliers.items():
            for k, j in rows[r].J.items():
                e[k] = e[k] - j * x
        multipliers.update(_inside(tree, {r: rows[r].J for r in inside}, e))
    return qdd, dict(sorted(multipliers.items()))


def factored_accelerations(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None,
    clusters: Clusters,
) -> tuple[JointVector, dict[int, Expr]]:
    """Return q̈ and ÿ by the factor of M over coordinates, for clusters without rows.

    Gᵀ M G ÿ = Gᵀ (τ − M g − h)
    """
    bias = {
        i: tuple(clusters.bias.get(k, ZERO) for k in dofs)
        for i, dofs in enumerate(tree.dofs)
    }
    lack = _lack(tree, rnea(tree, q, qd, bias, gravity, external), bias, tau)
    force: DofVector = {}
    for k, x in lack.items():
        for y, g in clusters.coordinates(k).items():
            force[y] = force.get(y, ZERO) - g * x
    order = sorted(force)
    place = {y: n for n, y in enumerate(order)}
    M = {
        (place[y], place[z]): x
        for (y, z), x in crba(tree, q, clusters).items()
        if not x.is_zero
    }
    parents = elimination_parents(M, len(order))
    L, D = ltdl(filled_matrix(M, parents), parents)
    found = factor_solve(L, D, {place[y]: x for y, x in force.items()}, parents)
    known = {y: found[n] for y, n in place.items()}
    qdd: JointVector = {}
    for i, dofs in enumerate(tree.dofs):
        qdd[i] = tuple(
            total((clusters.bias.get(k, ZERO), *(g * known[y] for y, g in at)))
            for k in dofs
            for at in [clusters.coordinates(k).items()]
        )
    return qdd, known


def _lack(
    tree: Tree, needed: JointVector, qdd: JointVector, tau: JointVector
) -> DofVector:
    """Return what the joint forces are short of, rotors included."""
    e: DofVector = {}
    for i, body in enumerate(tree.bodies):
        for k, x, a, given in zip(tree.dofs[i], needed[i], qdd[i], tau[i], strict=True):
            e[k] = x + a * body.joint.armature - given
    return e


def _inside(
    tree: Tree, rows: Mapping[int, Mapping[int, Expr]], e: DofVector
) -> dict[int, Expr]:
    """Return λ of rows that are all that is left to balance e."""
    region("multipliers")
    mimics = mimic_clusters(tree)
    J: list[DofVector] = []
    for row in rows.values():
        J.append({})
        for k, x in row.items():
            for y, g in mimics.coordinates(k).items():
                J[-1][y] = J[-1].get(y, ZERO) + x * g
    force: DofVector = {}
    for k, x in e.items():
        for y, g in mimics.coordinates(k).items():
            force[y] = force.get(y, ZERO) + x * g
    return dict(
        zip(rows, solve(*ldl(gram(J, J)), [dot(r, force) for r in J]), strict=True)
    )


def top_of(tree: Tree, cut: CutJoint) -> int:
    """Return the body where a cut is closed: all columns of its rows are beyond it."""
    ends = tuple(tree.parents[i] for i in cut.coupled) or (cut.a, cut.b)
    return reduce(tree.common_ancestor, ends)
