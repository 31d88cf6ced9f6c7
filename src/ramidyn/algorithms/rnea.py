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
from typing import final

from ramidyn.algorithms.clusters import Clusters
from ramidyn.algorithms.kinematics import (
    BodyMotion,
    joint_columns,
    joint_motion,
    transforms,
    unit_index,
    wrench,
)
from ramidyn.algorithms.sweeps import inward, label_value, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import ONE, ZERO, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import total
from ramidyn.symbolic.expr import Expr
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
    qdd: JointVector | ReferenceMotion,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> tuple[JointVector, dict[int, Force]]:
    """Return τ of `rnea`, and f: what the parent of each body exerts on it."""
    X, S = transforms(tree, q), joint_columns(tree)
    f = net_forces(tree, X, S, qd, qdd, gravity, external)
    tau: JointVector = {}
    # Tips to root: joint forces; each force is added to that on the parent.
    for i, p in inward(tree, "forces"):
        label_value("", tree.bodies[i].joint.name, f[i])
        tau[i] = tuple(s.dot(f[i]) for s in S[i])
        f[p] = f[p] + X[i].back(f[i])
    return tau, f


def net_forces(
    tree: Tree,
    X: Mapping[int, Transform],
    S: Mapping[int, tuple[Motion, ...]],
    qd: JointVector,
    qdd: JointVector | ReferenceMotion,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> dict[int, Force]:
    """Return the force that each body needs to move, root to tips."""
    motion = {ROOT: BodyMotion.of_world(gravity)}
    f = {ROOT: Force.zero()}
    for i, p in outward(tree, "net force", motion=motion, net=f):
        vJ = joint_motion(S[i], qd[i])
        if isinstance(qdd, ReferenceMotion):
            motion[i] = qdd.beyond(motion[p], i, X[i], vJ)
        else:
            motion[i] = motion[p].beyond(X[i], vJ, joint_motion(S[i], qdd[i]))
        f[i] = wrench(tree.bodies[i].rigid_inertia(), motion[i])
        if external and i in external:
            f[i] = f[i] - external[i]
    return f


@final
class ReferenceMotion:
    """A motion for forward dynamics to begin with, chosen from the root outwards.

    Forward dynamics is linear in what is left, whatever the motion:

        q̈ = q̈_ref + M⁻¹ (τ − RNEA(q, q̇, q̈_ref))

    Here each joint accelerates so that its body does not, along the joint: (ẇ, a) of a
    body has an entry less, and a floating base falls freely. Products of velocities are
    in the forces alone, and no sweep carries them beside. Joints that share coordinates
    accelerate as the first of them does.
    """

    def __init__(self, tree: Tree, clusters: Clusters) -> None:
        self.qdd: JointVector = {}
        self._tree, self._clusters = tree, clusters
        self._shared: dict[int, Expr] = {}

    def beyond(self, p: BodyMotion, i: int, X: Transform, vJ: Motion) -> BodyMotion:
        """Return the motion of body i beyond that of its parent."""
        motion, S = p.beyond(X, vJ), self._tree.bodies[i].columns()
        rates = (*motion.wd, *motion.a)
        self.qdd[i] = tuple(
            self._acceleration(k, None if (e := unit_index(s)) is None else rates[e])
            for k, s in zip(self._tree.dofs[i], S, strict=True)
        )
        return motion.accelerated(joint_motion(S, self.qdd[i]))

    def _acceleration(self, k: int, rate: Expr | None) -> Expr:
        """Return q̈ of a degree of freedom, without which its body has a rate."""
        G, bias = self._clusters.coordinates(k), self._clusters.bias.get(k, ZERO)
        leads = [*G] == [k] and G[k] is ONE and bias.is_zero
        if leads and k not in self._shared and rate is not None:
            self._shared[k] = -rate
        return total(g * self._shared.setdefault(y, ZERO) for y, g in G.items()) + bias
