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

from ramify.algorithms.crba import TreeMatrix
from ramify.algorithms.kinematics import IDENTITY, onward, seen
from ramify.algorithms.motion import joint_motion, transforms
from ramify.model.coordinates import JointVector
from ramify.model.motion import position
from ramify.model.tree import ROOT, Tree
from ramify.spatial.inertia import RigidInertia
from ramify.spatial.transform import Shift, Transform
from ramify.spatial.vector3 import (
    ZERO3,
    Mat,
    Vec,
    cross,
    dot,
    minus,
    plus,
    scale,
    times,
    transpose,
)
from ramify.spatial.vectors import Force, Motion
from ramify.symbolic.expr import region

_ZERO33: Mat = (ZERO3, ZERO3, ZERO3)
_NOTHING = RigidInertia.zero()


@final
@dataclass(eq=False)
class Points:
    """What C needs of the points beyond each body, and of the joints."""

    tree: Tree
    X: dict[int, Transform]
    S: dict[int, Motion] = field(default_factory=dict[int, Motion])
    Sd: dict[int, Motion] = field(default_factory=dict[int, Motion])
    d: dict[int, Vec] = field(default_factory=dict[int, Vec])
    """ȯᵢ − ȯₚ, in coordinates of the parent p"""
    Ic: dict[int, RigidInertia] = field(default_factory=lambda: {ROOT: _NOTHING})
    P: dict[int, Vec] = field(default_factory=lambda: {ROOT: ZERO3})
    K: dict[int, Mat] = field(default_factory=lambda: {ROOT: _ZERO33})

    def forces(self, i: int, k: int) -> tuple[Force, Force, Vec]:
        """Return F1, F2 and G of degree of freedom k, in coordinates of its body i."""
        s, I, P, K = self.S[k], self.Ic[i], self.P[i], self.K[i]
        trace = scale(K[0][0] + K[1][1] + K[2][2], s.w)
        F1 = I @ self.Sd[k] + Force(minus(trace, times(K, s.w)), cross(s.w, P))
        G = plus(minus(trace, times(transpose(K), s.w)), cross(P, s.v))
        return F1, I @ s, G


def points(
    tree: Tree, q: JointVector, qd: JointVector, still: Container[int]
) -> Points:
    """Return the points of a tree; S of ``still`` does not turn with its body."""
    m = Points(tree, transforms(tree, q))
    w: dict[int, Vec] = {ROOT: ZERO3}

    # Root to tips: velocities, and what each body is alone.
    for i, p in tree:
        region(f"velocity {tree.bodies[i].name}")
        columns, X = tree.bodies[i].joint.columns(), m.X[i]
        vJ = joint_motion(columns, qd[i])
        w[i] = plus(X.rotate(w[p]), vJ.w)
        m.d[i] = plus(cross(w[p], position(X)), X.rotate_back(vJ.v))
        for k, s in zip(tree.dofs[i], columns, strict=True):
            turning = Motion(cross(w[i], s.w), cross(w[i], s.v))
            m.S[k], m.Sd[k] = s, Motion.zero() if k in still else turning
        m.Ic[i] = tree.bodies[i].rigid_inertia()
        m.P[i] = cross(w[i], m.Ic[i].h)
        x, y, z = transpose(second_moments(m.Ic[i]))
        m.K[i] = transpose((cross(w[i], x), cross(w[i], y), cross(w[i], z)))

    # Tips to root: all beyond i as part of its parent.
    for i, p in reversed(tree):
        region(f"points {tree.bodies[i].name}")
        X = m.X[i]
        I, P, r = X.back(m.Ic[i]), X.rotate_back(m.P[i]), position(X)
        m.Ic[p] = m.Ic[p] + I
        m.P[p] = plus(m.P[p], plus(P, scale(I.m, m.d[i])))
        turned = _turned_back(X, m.K[i])
        m.K[p] = _sum(m.K[p], turned, _outer(m.d[i], I.h), _outer(P, r))
    return m


def coriolis_in_body_frames(
    tree: Tree, q: JointVector, qd: JointVector, still: Container[int] = ()
) -> TreeMatrix:
    """Return C, both triangles along the tree; F1, F2 and G go from body to body."""
    m = points(tree, q, qd, still)
    C: TreeMatrix = {}
    for i, _ in reversed(tree):
        region(f"coriolis {tree.bodies[i].name}")
        for k in tree.dofs[i]:
            F1, F2, G = m.forces(i, k)
            for j in tree.dofs[i]:
                C[j, k] = m.S[j].dot(F1)
            child = i
            for b in tree.ancestors(i):
                X = m.X[child]
                F1, F2 = X.back(F1), X.back(F2)
                G = plus(X.rotate_back(G), cross(m.d[child], F2.f))
                for j in tree.dofs[b]:
                    C[j, k] = m.S[j].dot(F1)
                    C[k, j] = m.Sd[j].dot(F2) + dot(m.S[j].w, G)
                child = b
    return C


def coriolis_in_root_frame(
    tree: Tree, q: JointVector, qd: JointVector, still: Container[int] = ()
) -> TreeMatrix:
    """Return the same; F1, F2, G, S and Ṡ all in the frame of the root body.

    Where there are several roots, in that of the world. With R and p the axes and the
    origin of a body there, and ṗ how its origin moves away from the root's.
    """
    m = points(tree, q, qd, still)
    root = tree.roots[0] if len(tree.roots) == 1 else ROOT
    R, p, pd = {root: IDENTITY}, {root: ZERO3}, {root: ZERO3}
    S: dict[int, Motion] = {}
    Sd: dict[int, Motion] = {}
    C: TreeMatrix = {}
    for i, parent in tree:
        region(f"coriolis {tree.bodies[i].name}")
        if i != root:
            R[i], p[i] = R[parent], p[parent]
            for step in m.X[i].steps:
                R[i], p[i] = onward(R[i], p[i], step)
            pd[i] = plus(pd[parent], times(R[parent], m.d[i]))
        for k in tree.dofs[i]:
            S[k] = seen(R[i], p[i], m.S[k])
            turning = seen(R[i], p[i], m.Sd[k])
            Sd[k] = Motion(turning.w, plus(turning.v, cross(pd[i], S[k].w)))
        for k in tree.dofs[i]:
            F1, F2, G = m.forces(i, k)
            for j in tree.dofs[i]:
                C[j, k] = m.S[j].dot(F1)
            F1, F2 = force_seen(R[i], p[i], F1), force_seen(R[i], p[i], F2)
            G = plus(times(R[i], G), cross(pd[i], F2.f))
            for b in tree.ancestors(i):
                for j in tree.dofs[b]:
                    C[j, k] = S[j].dot(F1)
                    C[k, j] = Sd[j].dot(F2) + dot(S[j].w, G)
    return C


def force_seen(R: Mat, p: Vec, f: Force) -> Force:
    """Return a force of a frame with axes R and origin p where these are given."""
    linear = times(R, f.f)
    return Force(plus(times(R, f.n), cross(p, linear)), linear)


def second_moments(inertia: RigidInertia) -> Mat:
    """Return Σ m x xᵀ = ½ tr(I) 1 − I."""
    I = inertia.I
    half = (I[0][0] + I[1][1] + I[2][2]) * 0.5
    return (
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
    return scale(a[0], b), scale(a[1], b), scale(a[2], b)


def _sum(*matrices: Mat) -> Mat:
    x, y, z = ZERO3, ZERO3, ZERO3
    for a, b, c in matrices:
        x, y, z = plus(x, a), plus(y, b), plus(z, c)
    return x, y, z
