"""How bodies move, without their linear velocities.

Accelerations of origins are classical here (as an accelerometer there would feel them,
gravity included): then the force on a body depends on its angular motion and on the
acceleration of its origin alone, and no algorithm needs linear velocities
(Balafoutis, Patel and Misra 1988). With B = ẇ× + w× w×, the acceleration of a point at
r is a + B r; (ẇ, a) transforms as a spatial motion, and the joint adds

    c = (E w_p × wJ,  E w_p× w_p× r + 2 E w_p × vJ + wJ × vJ)

    X[i]  transform, p to i        w[i]   angular velocity
    S[i]  joint motion basis       BB[i]  w× w×, symmetric
    r[i]  origin of i in p         c[i]   velocity-product acceleration
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramify.model.coordinates import JointVector
from ramify.model.motion import position, transform
from ramify.model.tree import ROOT, Tree
from ramify.spatial.inertia import RigidInertia
from ramify.spatial.transform import Transform
from ramify.spatial.vector3 import ZERO3, Mat, Vec, cross, plus, times
from ramify.spatial.vectors import Force, Motion
from ramify.symbolic.expr import Expr, label, region


def transforms(tree: Tree, q: JointVector) -> dict[int, Transform]:
    """Return X[i], from the parent of i to i, for all bodies."""
    X: dict[int, Transform] = {}
    for i, _ in tree:
        region(f"transform {tree.bodies[i].name}")
        X[i] = transform(tree.bodies[i], q[i])
    return X


def joint_motion(S: tuple[Motion, ...], qd: tuple[Expr, ...]) -> Motion:
    """Return S q̇."""
    total = Motion.zero()
    for s, x in zip(S, qd, strict=True):
        total = total + s * x
    return total


def upper(A: Mat) -> tuple[Expr, ...]:
    """Return the upper triangle of a symmetric matrix, by rows: for labels."""
    return (*A[0], *A[1][1:], A[2][2])


def centripetal(w: Vec) -> Mat:
    """Return w× w× = w wᵀ − (w·w) 1."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return (-(yy + zz), xy, xz), (xy, -(xx + zz), yz), (xz, yz, -(xx + yy))


@final
@dataclass(frozen=True, eq=False)
class Velocities:
    """The velocity-dependent terms of every body."""

    X: dict[int, Transform]
    S: dict[int, tuple[Motion, ...]]
    w: dict[int, Vec]
    BB: dict[int, Mat]
    r: dict[int, Vec]
    c: dict[int, Motion]


def velocities(tree: Tree, q: JointVector, qd: JointVector) -> Velocities:
    """Return what the algorithms need of the velocities, root to tips."""
    X = transforms(tree, q)
    S = {i: b.joint.columns() for i, b in enumerate(tree.bodies)}
    w: dict[int, Vec] = {ROOT: ZERO3}
    BB: dict[int, Mat] = {ROOT: (ZERO3, ZERO3, ZERO3)}
    r: dict[int, Vec] = {}
    c: dict[int, Motion] = {}
    for i, p in tree:
        name = tree.bodies[i].name
        region(f"velocity {name}")
        vJ = joint_motion(S[i], qd[i])
        wp = X[i].rotate(w[p])
        w[i] = plus(wp, vJ.w)
        BB[i] = centripetal(w[i])
        r[i] = position(X[i])
        centre = X[i].rotate(times(BB[p], r[i]))
        coriolis = plus(cross(plus(wp, wp), vJ.v), cross(vJ.w, vJ.v))
        c[i] = Motion(cross(wp, vJ.w), plus(centre, coriolis))
        label(f"w_{name}", *w[i])
        label(f"BB_{name}", *upper(BB[i]))
        label(f"c_w_{name}", *c[i].w)
        label(f"c_v_{name}", *c[i].v)
    return Velocities(X, S, w, BB, r, c)


def wrench(inertia: RigidInertia, B: Mat, a: Vec) -> Force:
    """Return the force on a body with B = ẇ× + w× w×, its origin accelerating by a.

    With the second moments J = ½ tr(I) 1 − I, the couple is that of B J − (B J)ᵀ.
    """
    I, h = inertia.I, inertia.h
    half = (I[0][0] + I[1][1] + I[2][2]) * 0.5
    Jx, Jy, Jz = half - I[0][0], half - I[1][1], half - I[2][2]
    Jxy, Jxz, Jyz = -I[0][1], -I[0][2], -I[1][2]
    n: Vec = (
        B[2][0] * Jxy
        - B[1][0] * Jxz
        + (B[2][1] * Jy - B[1][2] * Jz)
        + (B[2][2] - B[1][1]) * Jyz,
        B[0][1] * Jyz
        - B[2][1] * Jxy
        + (B[0][2] * Jz - B[2][0] * Jx)
        + (B[0][0] - B[2][2]) * Jxz,
        B[1][2] * Jxz
        - B[0][2] * Jyz
        + (B[1][0] * Jx - B[0][1] * Jy)
        + (B[1][1] - B[0][0]) * Jxy,
    )
    f = plus(tuple(inertia.m * x for x in a), times(B, h))  # type: ignore[arg-type]
    return Force(plus(n, cross(h, a)), f)
