"""A Coriolis matrix with Ṁ − 2C skew (Echeandia & Wensing 2021).

    C_kl = Σ m j_k · dj_l/dt          over all points of mass, j_k = ∂x/∂q_k

which are the Christoffel symbols: C q̇ is the velocity part of the bias forces, and
Ṁ = C + Cᵀ. A point x of a body beyond joint l, with S_l = (w, v) at its origin o, has
j_l = v + w × (x − o), so all that is needed of the points beyond i is, about oᵢ,

    Ic[i]  their inertia as one body
    P[i]   Σ m (ẋ − ȯ)                K[i]  Σ m (ẋ − ȯ)(x − o)ᵀ

twelve numbers in the place of a 6 × 6 matrix. Then, with Ṡ = (ω × w, ω × v),

    F1 = Ic Ṡ + (tr(K) w − K w, w × P)     F2 = Ic S     G = tr(K) w − Kᵀ w + P × v

and C_jl = S_jᵀ F1,  C_lj = Ṡ_jᵀ F2 + w_j · G  for every ancestor j of l.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import final

from ramidyn.algorithms.clusters import add_entry, blocks_of, mimic_clusters
from ramidyn.algorithms.kinematics import (
    joint_motion,
    root_name,
    root_poses,
    seen_force,
    seen_motion,
    transforms,
)
from ramidyn.algorithms.ltdl import TreeEntries
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.transform import Shift, Transform
from ramidyn.spatial.vector3 import ZERO3, ZERO33, Mat, Vec, mat
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.tree.frames import position
from ramidyn.tree.tree import ROOT, Tree

_NOTHING = RigidInertia.zero()


@final
@dataclass(eq=False)
class CoriolisTerms:
    """The terms that C needs, of the points beyond each body and of the joints."""

    tree: Tree
    X: dict[int, Transform]
    S: dict[int, Motion] = field(default_factory=dict[int, Motion])
    Sd: dict[int, Motion] = field(default_factory=dict[int, Motion])
    d: dict[int, Vec] = field(default_factory=dict[int, Vec])
    """ȯᵢ − ȯₚ, in coordinates of the parent p"""
    Ic: dict[int, RigidInertia] = field(default_factory=lambda: {ROOT: _NOTHING})
    P: dict[int, Vec] = field(default_factory=lambda: {ROOT: ZERO3})
    K: dict[int, Mat] = field(default_factory=lambda: {ROOT: ZERO33})

    def forces(self, i: int, k: int) -> tuple[Force, Force, Vec]:
        """Return F1, F2 and G of degree of freedom k, in coordinates of its body i."""
        s, I, P, K = self.S[k], self.Ic[i], self.P[i], self.K[i]
        trace = s.w * (K[0][0] + K[1][1] + K[2][2])
        F1 = I @ self.Sd[k] + Force(trace - K @ s.w, s.w.cross(P), s.frame)
        G = trace - K.T @ s.w + P.cross(s.v)
        return F1, I @ s, G


def points(
    tree: Tree, q: JointVector, qd: JointVector, still: Container[int]
) -> CoriolisTerms:
    """Return the points of a tree; S of ``still`` does not turn with its body."""
    m = CoriolisTerms(tree, transforms(tree, q))
    w = {ROOT: ZERO3}

    # Root to tips: velocities, and the terms of each body alone.
    for i, p in outward(tree, "velocity", w=w):
        columns, X = tree.bodies[i].columns(), m.X[i]
        vJ = joint_motion(columns, qd[i])
        w[i] = X.rotate(w[p]) + vJ.w
        m.d[i] = w[p].cross(position(X)) + X.rotate_back(vJ.v)
        for k, s in zip(tree.dofs[i], columns, strict=True):
            turning = Motion(w[i].cross(s.w), w[i].cross(s.v), s.frame)
            m.S[k], m.Sd[k] = s, Motion.zero() if k in still else turning
        m.Ic[i] = tree.bodies[i].rigid_inertia()
        m.P[i] = w[i].cross(m.Ic[i].h)
        m.K[i] = Mat(map(w[i].cross, second_moments(m.Ic[i]).T)).T

    # Tips to root: add everything beyond i to its parent.
    for i, p in inward(tree, "points"):
        X = m.X[i]
        I, P, r = X.back(m.Ic[i]), X.rotate_back(m.P[i]), position(X)
        m.Ic[p] = m.Ic[p] + I
        m.P[p] = m.P[p] + (P + m.d[i] * I.m)
        turned = _turned_back(X, m.K[i])
        carried, lever = _outer(m.d[i], I.h), _outer(P, r)
        m.K[p] = m.K[p] + turned + carried + lever
    return m


def coriolis_in_body_frames(
    tree: Tree, q: JointVector, qd: JointVector, still: Container[int] = ()
) -> TreeEntries:
    """Return C, both triangles along the tree; F1, F2 and G go from body to body."""
    m = points(tree, q, qd, still)
    C: TreeEntries = {}
    for i, _ in inward(tree, "coriolis"):
        for k in tree.dofs[i]:
            F1, F2, G = m.forces(i, k)
            for j in tree.dofs[i]:
                C[j, k] = m.S[j].dot(F1)
            child = i
            for b in tree.ancestors(i):
                X = m.X[child]
                F1, F2 = X.back(F1), X.back(F2)
                G = X.rotate_back(G) + m.d[child].cross(F2.f)
                for j in tree.dofs[b]:
                    C[j, k] = m.S[j].dot(F1)
                    C[k, j] = m.Sd[j].dot(F2) + m.S[j].w.dot(G)
                child = b
    return C


def coriolis_in_root_frame(
    tree: Tree, q: JointVector, qd: JointVector, still: Container[int] = ()
) -> TreeEntries:
    """Return C; F1, F2, G, S and Ṡ are all in the frame of the root body.

    With R and p the axes and the origin of a body there, and ṗ how its origin moves
    away from the root's.
    """
    m = points(tree, q, qd, still)
    poses = root_poses(tree, m.X)
    clusters = mimic_clusters(tree)
    blocks, sum_of = blocks_of(tree, clusters), clusters.weighted
    pd: dict[int, Vec] = {}
    S: dict[int, Motion] = {}
    Sd: dict[int, Motion] = {}
    F1: dict[int, Force] = {}
    F2: dict[int, Force] = {}
    G: dict[int, Vec] = {}
    C: TreeEntries = {}
    for i, parent in outward(tree, "coriolis"):
        R, p = poses[i]
        pd[i] = ZERO3
        if parent != ROOT:
            pd[i] = pd[parent] + poses[parent][0] @ m.d[i]
        frame = root_name(tree, i)
        for k in tree.dofs[i]:
            S[k] = seen_motion(R, p, m.S[k], frame)
            turning = seen_motion(R, p, m.Sd[k], frame)
            Sd[k] = Motion(turning.w, turning.v + pd[i].cross(S[k].w), frame)
        for k in tree.dofs[i]:
            f1, f2, g = m.forces(i, k)
            for j in tree.dofs[i]:
                for y, a in clusters.coordinates(j).items():
                    for z, b in clusters.coordinates(k).items():
                        add_entry(C, y, z, m.S[j].dot(f1) * a * b)
            F1[k] = seen_force(R, p, f1, frame)
            F2[k] = seen_force(R, p, f2, frame)
            G[k] = R @ g + pd[i].cross(F2[k].f)
            for x in blocks.get(k, ()):
                s = sum_of(x.z, x.above, S)
                add_entry(C, x.z, x.y, s.dot(sum_of(x.y, x.below, F1)))
                turning = sum_of(x.z, x.above, Sd).dot(sum_of(x.y, x.below, F2))
                add_entry(C, x.y, x.z, turning + s.w.dot(sum_of(x.y, x.below, G)))
    return C


def second_moments(inertia: RigidInertia) -> Mat:
    """Return Σ m x xᵀ = ½ tr(I) 1 − I."""
    I = inertia.I
    half = (I[0][0] + I[1][1] + I[2][2]) * 0.5
    return mat(
        (half - I[0][0], -I[0][1], -I[0][2]),
        (-I[1][0], half - I[1][1], -I[1][2]),
        (-I[2][0], -I[2][1], half - I[2][2]),
    )


def _turned_back(X: Transform, A: Mat) -> Mat:
    """Return Eᵀ A E, from the axes of the last frame to those of the first."""
    for step in reversed(X.steps):
        if not isinstance(step, Shift):
            A = step.general_back(A)
    return A


def _outer(a: Vec, b: Vec) -> Mat:
    return Mat((b * a[0], b * a[1], b * a[2]))
