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

from ramify.algorithms.crba import TreeMatrix
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


def coriolis(
    tree: Tree, q: JointVector, qd: JointVector, still: Container[int] = ()
) -> TreeMatrix:
    """Return C, both triangles along the tree.

    Args:
        tree: the tree.
        q: its configuration.
        qd: its velocities.
        still: degrees of freedom whose S does not turn with the body.
    """
    X = transforms(tree, q)
    Ic = {ROOT: RigidInertia.zero()}
    P: dict[int, Vec] = {ROOT: ZERO3}
    K: dict[int, Mat] = {ROOT: (ZERO3, ZERO3, ZERO3)}
    w: dict[int, Vec] = {ROOT: ZERO3}
    d: dict[int, Vec] = {}
    S: dict[int, Motion] = {}
    Sd: dict[int, Motion] = {}

    # Root to tips: velocities, and what each body is alone.
    for i, p in tree:
        region(f"velocity {tree.bodies[i].name}")
        columns = tree.bodies[i].joint.columns()
        vJ = joint_motion(columns, qd[i])
        w[i] = plus(X[i].rotate(w[p]), vJ.w)
        d[i] = plus(cross(w[p], position(X[i])), X[i].rotate_back(vJ.v))
        for k, s in zip(tree.dofs[i], columns, strict=True):
            turning = Motion(cross(w[i], s.w), cross(w[i], s.v))
            S[k], Sd[k] = s, Motion.zero() if k in still else turning
        Ic[i] = tree.bodies[i].rigid_inertia()
        P[i] = cross(w[i], Ic[i].h)
        moments = transpose(second_moments(Ic[i]))
        K[i] = transpose(tuple(cross(w[i], column) for column in moments))  # type: ignore[arg-type]

    # Tips to root: rows and columns of C, then all beyond i as part of its parent.
    C: TreeMatrix = {}
    for i, p in reversed(tree):
        region(f"coriolis {tree.bodies[i].name}")
        for k in tree.dofs[i]:
            sw = S[k].w
            trace = scale(K[i][0][0] + K[i][1][1] + K[i][2][2], sw)
            F1 = Ic[i] @ Sd[k] + Force(minus(trace, times(K[i], sw)), cross(sw, P[i]))
            F2 = Ic[i] @ S[k]
            G = plus(minus(trace, times(transpose(K[i]), sw)), cross(P[i], S[k].v))
            for j in tree.dofs[i]:
                C[j, k] = S[j].dot(F1)
            child = i
            for b in tree.ancestors(i):
                F1, F2 = X[child].back(F1), X[child].back(F2)
                G = plus(X[child].rotate_back(G), cross(d[child], F2.f))
                for j in tree.dofs[b]:
                    C[j, k] = S[j].dot(F1)
                    C[k, j] = Sd[j].dot(F2) + dot(S[j].w, G)
                child = b
        I, Pp, r = X[i].back(Ic[i]), X[i].rotate_back(P[i]), position(X[i])
        Ic[p] = Ic[p] + I
        P[p] = plus(P[p], plus(Pp, scale(I.m, d[i])))
        K[p] = _sum(K[p], _turned_back(X[i], K[i]), _outer(d[i], I.h), _outer(Pp, r))
    return C


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
