"""Inverse dynamics by the recursive Newton-Euler algorithm (RBDA ch. 5).

Without linear velocities, as Balafoutis, Patel and Misra (1988) do it.

    τ = M(q) q̈ + C(q, q̇) + g(q)

Quantities with index i are in body-i coordinates; p = λ(i) is the parent. See
`kinematics` for X and S, and for how w, ẇ, a and B = ẇ× + w× w× go from p to i.

    motion[i]  w, ẇ, B, and the classical acceleration a of the origin, gravity included
    f[i]       force across joint i; at first the net force on body i
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

MotionWithQdd = tuple[BodyMotion, tuple[Expr, ...]]
"""the motion of a body, and q̈ of its joint"""


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
    X, S = transforms(tree, q), joint_columns(tree)

    def given(i: int, p: BodyMotion, X: Transform, vJ: Motion) -> MotionWithQdd:
        return p.beyond(X, vJ, joint_motion(S[i], qdd[i])), qdd[i]

    f, _ = net_forces(tree, X, S, qd, given, gravity, external)
    return joint_forces(tree, X, S, f), f


def reference_dynamics(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None,
    clusters: Clusters,
) -> tuple[JointVector, JointVector]:
    """Return τ of `rnea` for the reference motion, and its q̈."""
    X, S = transforms(tree, q), joint_columns(tree)
    reference = ReferenceMotion(tree, S, clusters)
    f, qdd = net_forces(tree, X, S, qd, reference.beyond, gravity, external)
    return joint_forces(tree, X, S, f), qdd


def net_forces(
    tree: Tree,
    X: Mapping[int, Transform],
    S: Mapping[int, tuple[Motion, ...]],
    qd: JointVector,
    motion_of: Callable[[int, BodyMotion, Transform, Motion], MotionWithQdd],
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> tuple[dict[int, Force], JointVector]:
    """Return the force that each body needs to move, root to tips, and q̈.

    ``motion_of`` returns the motion of body i and q̈ of its joint, given i, its parent's
    motion, X[i] and S[i] q̇.
    """
    motion = {ROOT: BodyMotion.of_world(gravity)}
    f = {ROOT: Force.zero()}
    qdd: JointVector = {}
    for i, p in outward(tree, "net force", motion=motion, net=f):
        motion[i], qdd[i] = motion_of(i, motion[p], X[i], joint_motion(S[i], qd[i]))
        f[i] = wrench(tree.bodies[i].rigid_inertia(), motion[i])
        if external and i in external:
            f[i] = f[i] - external[i]
    return f, qdd


def joint_forces(
    tree: Tree,
    X: Mapping[int, Transform],
    S: Mapping[int, tuple[Motion, ...]],
    f: dict[int, Force],
) -> JointVector:
    """Return τ, and turn the net forces f into those across joints."""
    tau: JointVector = {}
    # Tips to root: joint forces; each force is added to that on the parent.
    for i, p in inward(tree, "forces"):
        label_value("", tree.bodies[i].joint.name, f[i])
        tau[i] = tuple(s.dot(f[i]) for s in S[i])
        f[p] = f[p] + X[i].back(f[i])
    return tau


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

    def __init__(
        self, tree: Tree, S: Mapping[int, tuple[Motion, ...]], clusters: Clusters
    ) -> None:
        self._tree, self._S, self._clusters = tree, S, clusters
        self._shared: dict[int, Expr] = {}

    def beyond(self, i: int, p: BodyMotion, X: Transform, vJ: Motion) -> MotionWithQdd:
        """Return the motion of body i, a child of p, and q̈ of its joint."""
        motion, S = p.beyond(X, vJ), self._S[i]
        rates = (*motion.wd, *motion.a)
        qdd = tuple(
            self._acceleration(k, None if (e := unit_index(s)) is None else rates[e])
            for k, s in zip(self._tree.dofs[i], S, strict=True)
        )
        return motion.accelerated(joint_motion(S, qdd)), qdd

    def _acceleration(self, k: int, rate: Expr | None) -> Expr:
        """Return q̈ of a degree of freedom, without which its body has a rate."""
        G, bias = self._clusters.coordinates(k), self._clusters.bias.get(k, ZERO)
        leads = [*G] == [k] and G[k] is ONE and bias.is_zero
        if leads and k not in self._shared and rate is not None:
            self._shared[k] = -rate
        return total(g * self._shared.setdefault(y, ZERO) for y, g in G.items()) + bias
