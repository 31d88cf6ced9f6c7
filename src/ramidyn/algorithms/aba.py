"""Forward dynamics by the articulated-body algorithm (RBDA ch. 7).

    q̈ = M(q)⁻¹ (τ − C(q, q̇) − g(q))       in O(n), without forming M

Accelerations are (ẇ, classical a): see `kinematics` for X, S, BB and c, and
`articulated` for U, D and Ud of each column.

    IA[i]  articulated-body inertia       pA[i]  articulated-body bias force
    u      (τ − Sᵀ pA) / D                a[i]   acceleration, gravity included

A joint with several degrees of freedom is eliminated one by one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ramidyn.algorithms.articulated import Column, last_first, moving_bodies
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
    m = velocities(tree, q, qd)
    X, S, c = m.X, m.S, m.c
    a = {ROOT: Motion(ZERO3, -gravity, tree.name(ROOT))}
    IA, pA = moving_bodies(tree, m, external)
    columns: dict[int, list[tuple[Column, Expr]]] = {}
    qdd: JointVector = {}

    # Tips to root: articulated-body inertias and bias forces.
    for i, p in inward(tree, "articulated inertia", IA=IA, pA=pA):
        Ia, pa, columns[i] = IA[i], pA[i], []
        for k, s in last_first(S[i]):
            dof = Column.of(tree.bodies[i], k, s, Ia)
            u = dof.force(tau[i][k], pa)
            Ia = dof.eliminated(Ia)
            pa = pa + dof.U * u
            columns[i].insert(0, (dof, u))
        pa = pa + Ia @ c[i]
        IA[p] = IA[p] + X[i].back(Ia)
        pA[p] = pA[p] + X[i].back(pa)

    # Root to tips: accelerations.
    for i, p in outward(tree, "acceleration", a=a):
        a[i], qdd[i] = X[i] @ a[p] + c[i], ()
        for dof, u in columns[i]:
            x = u - dof.Ud.dot(a[i])
            a[i] = a[i] + dof.s * x
            qdd[i] = (*qdd[i], x)

    return qdd
