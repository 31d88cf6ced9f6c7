"""Dynamics with loops by articulated bodies, in O(n + rows), without M.

Rows of constraints are eliminated like coordinates that joints share, where the two
sides of their loop meet: `Elimination` has the equations. Loops that leave their joints
one or two coordinates can be clusters instead (`loop_clusters`), whose multipliers come
last (`reduced`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

from ramidyn.algorithms.aba import articulated_accelerations
from ramidyn.algorithms.clusters import (
    ClusterRow,
    Clusters,
    mimic_factors,
)
from ramidyn.algorithms.loops.constraints import ConstraintRow
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.algorithms.loops.loop_clusters import ClusterMotion, LoopCluster
from ramidyn.algorithms.loops.reduced import Clustered
from ramidyn.algorithms.ltdl import DofVector
from ramidyn.algorithms.rnea import rnea
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import Vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import Tree


def constrained_aba(
    tree: Tree,
    cuts: Sequence[CutJoint],
    rows: Sequence[ConstraintRow],
    dropped: Collection[int],
    found: Sequence[LoopCluster],
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> tuple[JointVector, dict[int, Expr]]:
    """Return q̈, and λ of the rows that are not dropped.

    The loops in ``found`` are clusters.
    """
    motion = ClusterMotion(mimic_factors(tree))
    for cluster in found:
        motion.add(cluster.coordinates, [rows[r].J for r in cluster.rows])
    inside = [r for cluster in found for r in cluster.rows]
    bias = motion.bias(rows[r].bias for r in inside)
    of_row = [cut for cut in cuts for _ in cut.rows]
    kept = [r for r in range(len(rows)) if r not in dropped and r not in inside]
    closing = [
        ClusterRow(of_row[r].name, rows[r].J, rows[r].bias, top_of(tree, of_row[r]))
        for r in kept
    ]
    clusters = Clusters.of(tree, motion.G, bias, closing)
    qdd, known = articulated_accelerations(
        tree, q, qd, tau, gravity, external, clusters
    )
    multipliers = dict(zip(kept, (-known[r] for r in clusters.gamma), strict=True))
    if inside:
        needed = rnea(tree, q, qd, qdd, gravity, external)
        e = _lack(tree, needed, qdd, tau)
        left = sorted((*kept, *inside))
        J = [rows[r].J for r in left]
        clustered = Clustered(J, motion, [left.index(r) for r in inside])
        balanced = clustered.multipliers(e, list(multipliers.values()))
        multipliers = dict(zip(left, balanced, strict=True))
    return qdd, multipliers


def _lack(
    tree: Tree, needed: JointVector, qdd: JointVector, tau: JointVector
) -> DofVector:
    """Return what the joint forces are short of, rotors included."""
    e: DofVector = {}
    for i, body in enumerate(tree.bodies):
        for k, x, a, given in zip(tree.dofs[i], needed[i], qdd[i], tau[i], strict=True):
            e[k] = x + a * body.joint.armature - given
    return e


def top_of(tree: Tree, cut: CutJoint) -> int:
    """Return the body where a cut is closed: all columns of its rows are beyond it."""
    ends = tuple(tree.parents[i] for i in cut.coupled) or (cut.a, cut.b)
    return reduce(tree.common_ancestor, ends)
