"""Inverse dynamics by the recursive Newton-Euler algorithm (RBDA ch. 5).

    τ = M(q) q̈ + C(q, q̇) + g(q)

Quantities with index i are in body-i coordinates; p = λ(i) is the parent. See
`body_motion` for X, S, w, BB and c.

    wd[i]  angular acceleration           B[i]  ẇ× + w× w×
    a[i]   classical acceleration of the origin, gravity included
    f[i]   force across joint i; at first the net force on body i
"""

from __future__ import annotations

from collections.abc import Mapping

from ramidyn.algorithms.body_motion import joint_motion, velocities, wrench
from ramidyn.algorithms.kinematics import plus_cross
from ramidyn.algorithms.sweeps import inward, label_value, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO3, ZERO33, Vec
from ramidyn.spatial.vectors import Force
from ramidyn.tree.tree import ROOT, Tree


def rnea(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    qdd: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> JointVector:
    """Return the joint forces that produce ``qdd``, without those on rotors.

    `Coordinates.force` adds them: armature acts on q̈ as the caller has it.
    """
    return newton_euler(tree, q, qd, qdd, gravity, external)[0]


def newton_euler(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    qdd: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> tuple[JointVector, dict[int, Force]]:
    """Return τ of `rnea`, and f: what the parent of each body exerts on it."""
    m = velocities(tree, q, qd)
    X, S, w, c, r = m.X, m.S, m.w, m.c, m.r
    tau: JointVector = {}
    wd, a, B = {ROOT: ZERO3}, {ROOT: -gravity}, {ROOT: ZERO33}
    f = {ROOT: Force.zero()}

    # Root to tips: the motion of each body and the force it needs.
    for i, p in outward(tree, "inverse dynamics", wd=wd, a=a, B=B, net=f):
        aJ = joint_motion(S[i], qdd[i])
        vJ = joint_motion(S[i], qd[i])
        wp = X[i].rotate(w[p])
        wd[i] = X[i].rotate(wd[p]) + c[i].w + aJ.w
        coriolis = (wp + wp).cross(vJ.v) + vJ.w.cross(vJ.v)
        a[i] = X[i].rotate(a[p] + B[p] @ r[i]) + (coriolis + aJ.v)
        B[i] = plus_cross(m.BB[i], wd[i])
        f[i] = wrench(tree.bodies[i].rigid_inertia(), B[i], a[i])
        if external and i in external:
            f[i] = f[i] - external[i]

    # Tips to root: joint forces; each force is added to that on the parent.
    for i, p in inward(tree, "forces"):
        label_value("", tree.bodies[i].joint.name, f[i])
        tau[i] = tuple(s.dot(f[i]) for s in S[i])
        f[p] = f[p] + X[i].back(f[i])

    return tau, f
