"""Inverse dynamics by the recursive Newton-Euler algorithm (RBDA ch. 5).

Without linear velocities, as Balafoutis, Patel and Misra (1988) do it.

    τ = M(q) q̈ + C(q, q̇) + g(q)

Quantities with index i are in body-i coordinates; p = λ(i) is the parent. See
`kinematics` for X and S, and for how w, ẇ, a and B = ẇ× + w× w× go from p to i.

    motion[i]  w, ẇ, B, and the classical acceleration a of the origin, gravity included
    f[i]       force across joint i; at first the net force on body i
"""

from __future__ import annotations

from collections.abc import Mapping

from ramidyn.algorithms.kinematics import (
    BodyMotion,
    joint_motion,
    velocities,
    wrench,
)
from ramidyn.algorithms.sweeps import inward, label_value, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import Vec
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
    X, S = m.X, m.S
    tau: JointVector = {}
    motion = {ROOT: BodyMotion.of_world(gravity)}
    f = {ROOT: Force.zero()}

    # Root to tips: the motion of each body and the force it needs.
    for i, p in outward(tree, "inverse dynamics", motion=motion, net=f):
        vJ, aJ = joint_motion(S[i], qd[i]), joint_motion(S[i], qdd[i])
        motion[i] = motion[p].beyond(X[i], vJ, aJ)
        f[i] = wrench(tree.bodies[i].rigid_inertia(), motion[i].B, motion[i].a)
        if external and i in external:
            f[i] = f[i] - external[i]

    # Tips to root: joint forces; each force is added to that on the parent.
    for i, p in inward(tree, "forces"):
        label_value("", tree.bodies[i].joint.name, f[i])
        tau[i] = tuple(s.dot(f[i]) for s in S[i])
        f[p] = f[p] + X[i].back(f[i])

    return tau, f
