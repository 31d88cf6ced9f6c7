"""Forward dynamics by the articulated-body algorithm (RBDA ch. 7).

    q̈ = M(q)⁻¹ (τ − C(q, q̇) − g(q))       in O(n), without forming M

Velocities, gravity and external forces are in the net forces of a reference motion
(`ReferenceMotion`). What is missing there is found for bodies at rest:

    IA[i]  articulated-body inertia       pA[i]  articulated-body bias force
    u      (τ − Sᵀ pA) / D                da[i]  (ẇ, a) beyond the reference motion

See `kinematics` for X and S, and `articulated` for U, D and Ud of each column.

Inertias cross a joint by axial screws (McMillan & Orin 1995). A joint with several
degrees of freedom is eliminated one by one, and joints that share a coordinate
together: `Elimination` has the steps of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ramidyn.algorithms.articulated import Elimination, Inertia
from ramidyn.algorithms.clusters import Clusters, mimic_clusters
from ramidyn.algorithms.crba import rigid_inertias
from ramidyn.algorithms.kinematics import joint_columns, transforms
from ramidyn.algorithms.rnea import ReferenceMotion, net_forces
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.vector3 import Vec
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
    """Return q̈, and −λ of rows."""
    X, S = transforms(tree, q), joint_columns(tree)
    reference = ReferenceMotion(tree, S, clusters)
    pA, start = net_forces(tree, X, S, qd, reference.beyond, gravity, external)
    gamma = dict(clusters.gamma)
    for i, dofs in enumerate(tree.dofs):
        for k, x in zip(dofs, start[i], strict=True):
            for r, J in clusters.J.get(k, {}).items():
                gamma[r] = gamma[r] + J * x
    IA: dict[int, Inertia] = {ROOT: RigidInertia.zero(), **rigid_inertias(tree)}
    joints = Elimination(tree, replace(clusters, gamma=gamma), IA, pA)

    # Tips to root: articulated-body inertias and bias forces.
    for i, _ in inward(tree, "articulated inertia", IA=IA, pA=pA):
        armature = tree.bodies[i].joint.armature
        left = [x - armature * y for x, y in zip(tau[i], start[i], strict=True)]
        joints.eliminate(i, S[i], left)
        joints.carry(i, X[i])
    joints.eliminate(ROOT, (), ())

    # Root to tips: accelerations.
    qdd: JointVector = {}
    da = {ROOT: Motion.zero()}
    joints.accelerations(ROOT, da[ROOT])
    for i, p in outward(tree, "joint acceleration", da=da):
        da[i], more = joints.accelerations(i, X[i] @ da[p])
        qdd[i] = tuple(x + y for x, y in zip(more, start[i], strict=True))
    return qdd, {r: joints.found[r] for r in gamma}
