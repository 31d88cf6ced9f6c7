"""Dynamics with loops by articulated bodies, in O(n + rows), without M.

Rows of constraints are eliminated like coordinates that joints share, where the two
sides of their loop meet: `clusters` has the equations. Loops that leave their joints
one coordinate can be clusters instead (`loop_clusters`). Their multipliers come last:

    e = M q̈ + h − τ − Σ Jᵀ λ of the other rows = Jᵀ λ        λ = (J Jᵀ)⁻¹ J e
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

from ramidyn.algorithms.aba import articulated_accelerations
from ramidyn.algorithms.clusters import ClusterRow, Clusters, mimic_clusters
from ramidyn.algorithms.loops.constraints import ConstraintRow
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.algorithms.loops.loop_clusters import ClusterMotion, loop_clusters
from ramidyn.algorithms.ltdl import DofVector
from ramidyn.algorithms.rnea import rnea
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.dense import dot, gram, ldl, solve
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import Tree


def constrained_aba(
    tree: Tree,
    cuts: Sequence[CutJoint],
    rows: Sequence[ConstraintRow],
    dropped: Collection[int],
    with_clusters: bool,
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> tuple[JointVector, dict[int, Expr]]:
    """Return q̈, and λ of the rows that are not dropped.

    ``with_clusters`` says whether loops that can be clusters are.
    """
    found = loop_clusters(tree, cuts, dropped) if with_clusters else []
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
    qdd, known = articulated_accelerations(
        tree, q, qd, tau, gravity, external, clusters
    )
    multipliers = dict(zip(kept, (-known[r] for r in clusters.gamma), strict=True))
    if inside:
        needed = rnea(tree, q, qd, qdd, gravity, external)
        e = _lack(tree, needed, qdd, tau)
        for r, x in multipliers.items():
            for k, j in rows[r].J.items():
                e[k] = e[k] - j * x
        multipliers.update(_inside(tree, {r: rows[r].J for r in inside}, e))
    return qdd, dict(sorted(multipliers.items()))


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
