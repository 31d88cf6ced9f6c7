"""Inverse dynamics by the recursive Newton-Euler algorithm (RBDA ch. 5).

    τ = M(q) q̈ + C(q, q̇) + g(q)

Quantities with index i are in body-i coordinates; p = λ(i) is the parent. See
`motion` for X, S, w, BB and c.

    wd[i]  angular acceleration           B[i]  ẇ× + w× w×
    a[i]   classical acceleration of the origin, gravity included
    f[i]   force across joint i
"""

from __future__ import annotations

from collections.abc import Mapping

from ramify.algorithms.kinematics import plus_cross
from ramify.algorithms.motion import joint_motion, velocities, wrench
from ramify.model.coordinates import JointVector
from ramify.model.tree import ROOT, Tree
from ramify.spatial.vector3 import ZERO3, Mat, Vec, cross, plus, times
from ramify.spatial.vectors import Force
from ramify.symbolic.expr import label, region


def rnea(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    qdd: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> JointVector:
    """Return the joint forces that produce ``qdd``, those on rotors not included.

    `Coordinates.force` adds them: armature acts on q̈ as the caller has it.
    """
    m = velocities(tree, q, qd)
    X, S = m.X, m.S
    tau: JointVector = {}
    wd: dict[int, Vec] = {ROOT: ZERO3}
    a: dict[int, Vec] = {ROOT: (-gravity[0], -gravity[1], -gravity[2])}
    B: dict[int, Mat] = {ROOT: (ZERO3, ZERO3, ZERO3)}
    f: dict[int, Force] = {ROOT: Force.zero()}

    # Root to tips: the motion of each body and the force it needs.
    for i, p in tree:
        name = tree.bodies[i].name
        region(f"inverse dynamics {name}")
        aJ = joint_motion(S[i], qdd[i])
        vJ = joint_motion(S[i], qd[i])
        wp = X[i].rotate(m.w[p])
        wd[i] = plus(plus(X[i].rotate(wd[p]), m.c[i].w), aJ.w)
        coriolis = plus(cross(plus(wp, wp), vJ.v), cross(vJ.w, vJ.v))
        a[i] = plus(X[i].rotate(plus(a[p], times(B[p], m.r[i]))), plus(coriolis, aJ.v))
        B[i] = plus_cross(m.BB[i], wd[i])
        f[i] = wrench(tree.bodies[i].rigid_inertia(), B[i], a[i])
        if external and i in external:
            f[i] = f[i] - external[i]
        label(f"wd_{name}", *wd[i])
        label(f"a_{name}", *a[i])
        label(f"B_{name}", *B[i][0], *B[i][1], *B[i][2])
        label(f"net_n_{name}", *f[i].n)
        label(f"net_f_{name}", *f[i].f)

    # Tips to root: the joint takes its share, the parent carries the rest.
    for i, p in reversed(tree):
        region(f"forces {tree.bodies[i].name}")
        joint = tree.bodies[i].joint
        label(f"n_{joint.name}", *f[i].n)
        label(f"f_{joint.name}", *f[i].f)
        tau[i] = tuple(s.dot(f[i]) for s in S[i])
        f[p] = f[p] + X[i].back(f[i])

    return tau
