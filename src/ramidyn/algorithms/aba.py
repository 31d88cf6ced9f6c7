"""Forward dynamics by the articulated-body algorithm (RBDA ch. 7).

    q̈ = M(q)⁻¹ (τ − C(q, q̇) − g(q))       in O(n), without forming M

Accelerations are (ẇ, classical a): see `kinematics` for X, S, BB and c, and
`articulated` for U, D and Ud of each column.

    IA[i]  articulated-body inertia       pA[i]  articulated-body bias force
    u      (τ − Sᵀ pA) / D                a[i]   acceleration, gravity included

Inertias cross a joint by axial screws (McMillan & Orin 1995). A joint with several
degrees of freedom is eliminated one by one, and joints that share a coordinate
together: `Elimination` has the steps of both.
"""

from __future__ import annotations

from collections.abc import Mapping

from ramidyn.algorithms.articulated import Elimination, moving_bodies
from ramidyn.algorithms.clusters import Clusters, mimic_clusters
from ramidyn.algorithms.kinematics import velocities
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO3, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree


def aba(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> JointVector:
    """Return the joint accelerations caused by ``tau``."""
    clusters = mimic_clusters(tree)
    return articulated_accelerations(tree, q, qd, tau, gravity, external, clusters)[0]


def articulated_accelerations(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None,
    clusters: Clusters,
) -> tuple[JointVector, dict[int, Expr]]:
    """Return q̈, and ÿ of shared coordinates with −λ of rows, as clusters have them."""
    m = velocities(tree, q, qd)
    X, S, c = m.X, m.S, m.c
    a = {ROOT: Motion(ZERO3, -gravity, tree.name(ROOT))}
    IA, pA = moving_bodies(tree, m, external)
    joints = Elimination(tree, clusters, IA, pA)

    # Tips to root: articulated-body inertias and bias forces.
    for i, _ in inward(tree, "articulated inertia", IA=IA, pA=pA):
        joints.eliminate(i, S[i], tau[i], c[i])
        joints.carry(i, X[i])
    joints.eliminate(ROOT, (), ())

    # Root to tips: accelerations.
    qdd: JointVector = {}
    joints.accelerations(ROOT, a[ROOT])
    for i, p in outward(tree, "acceleration", a=a):
        a[i], qdd[i] = joints.accelerations(i, X[i] @ a[p])
    return qdd, joints.found
