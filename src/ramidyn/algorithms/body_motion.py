"""Body motion without linear velocities.

Accelerations of origins are classical here (as an accelerometer there measures them,
gravity included): then the force on a body depends on its angular motion and on the
acceleration of its origin alone, and no algorithm needs linear velocities
(Balafoutis, Patel and Misra 1988). With B = ẇ× + w× w×, the acceleration of a point at
r is a + B r, and so from the parent p to a body whose joint moves by (wJ, vJ)

    w = E w_p + wJ        ẇ = E ẇ_p + E w_p × wJ + ẇJ
    a = E (a_p + B_p r) + 2 E w_p × vJ + wJ × vJ + aJ

(ẇ, a) transforms as a spatial motion, and what the velocities add to it is

    c = (E w_p × wJ,  E w_p× w_p× r + 2 E w_p × vJ + wJ × vJ)

    X[i]  transform, p to i        w[i]   angular velocity
    S[i]  joint motion basis       BB[i]  w× w×, symmetric
    r[i]  origin of i in p         c[i]   velocity-product acceleration
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

from ramidyn.algorithms.sweeps import outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import IDENTITY, ZERO3, ZERO33, Mat, Vec, mat
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.joint_transform import position, transform
from ramidyn.tree.tree import ROOT, Tree

NO_MOTION = Motion.zero()


def transforms(tree: Tree, q: JointVector) -> dict[int, Transform]:
    """Return X[i], from the parent of i to i, for all bodies."""
    X: dict[int, Transform] = {}
    for i, _ in outward(tree, "transform"):
        X[i] = transform(tree, i, q[i])
    return X


def joint_columns(tree: Tree) -> dict[int, tuple[Motion, ...]]:
    """Return S[i] for all bodies."""
    return {i: b.columns() for i, b in enumerate(tree.bodies)}


def joint_motion(S: tuple[Motion, ...], qd: tuple[Expr, ...]) -> Motion:
    """Return S q̇."""
    total = Motion.zero()
    for s, x in zip(S, qd, strict=True):
        total = total + s * x
    return total


def centripetal(w: Vec) -> Mat:
    """Return w× w× = w wᵀ − (w·w) 1."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return mat((-(yy + zz), xy, xz), (xy, -(xx + zz), yz), (xz, yz, -(xx + yy)))


def plus_cross(A: Mat, w: Vec) -> Mat:
    """Return A + w×."""
    return A + Mat(map(w.cross, IDENTITY)).T


def coriolis(wp: Vec, vJ: Motion) -> Vec:
    """Return 2 w_p × vJ + wJ × vJ."""
    return (wp + wp).cross(vJ.v) + vJ.w.cross(vJ.v)


class BodyMotion(NamedTuple):
    """The motion of a body, in its own coordinates."""

    w: Vec
    wd: Vec
    a: Vec
    B: Mat

    @staticmethod
    def of_world(gravity: Vec = ZERO3) -> BodyMotion:
        """Return the motion of the world, which accelerates against gravity."""
        return BodyMotion(ZERO3, ZERO3, -gravity, ZERO33)

    def beyond(
        self, X: Transform, vJ: Motion = NO_MOTION, aJ: Motion = NO_MOTION
    ) -> BodyMotion:
        """Return the motion of a body or frame that moves with vJ and aJ in this."""
        wp = X.rotate(self.w)
        w = wp + vJ.w
        wd = X.rotate(self.wd) + wp.cross(vJ.w) + aJ.w
        a = X.rotate(self.a + self.B @ position(X)) + (coriolis(wp, vJ) + aJ.v)
        return BodyMotion(w, wd, a, plus_cross(centripetal(w), wd))


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
    """Return the velocity terms that the algorithms need, root to tips."""
    X, S = transforms(tree, q), joint_columns(tree)
    w = {ROOT: ZERO3}
    BB = {ROOT: ZERO33}
    r: dict[int, Vec] = {}
    c: dict[int, Motion] = {}
    for i, p in outward(tree, "velocity", w=w, BB=BB, c=c):
        vJ = joint_motion(S[i], qd[i])
        wp = X[i].rotate(w[p])
        w[i] = wp + vJ.w
        BB[i] = centripetal(w[i])
        r[i] = position(X[i])
        linear = X[i].rotate(BB[p] @ r[i]) + coriolis(wp, vJ)
        c[i] = Motion(wp.cross(vJ.w), linear, vJ.frame)
    return Velocities(X, S, w, BB, r, c)


def wrench(inertia: RigidInertia, B: Mat, a: Vec) -> Force:
    """Return the force on a body with B = ẇ× + w× w×, its origin accelerating by a.

    With the second moments J = ½ tr(I) 1 − I, the moment is that of B J − (B J)ᵀ.
    """
    I, h = inertia.I, inertia.h
    half = (I[0][0] + I[1][1] + I[2][2]) * 0.5
    Jx, Jy, Jz = half - I[0][0], half - I[1][1], half - I[2][2]
    Jxy, Jxz, Jyz = -I[0][1], -I[0][2], -I[1][2]
    n = Vec(
        (
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
    )
    f = a * inertia.m + B @ h
    return Force(n + h.cross(a), f, inertia.frame)
