"""Motion of bodies; poses, velocities and accelerations of frames (RBDA §4.4).

A frame is fixed to a body, and only the bodies that support it matter. Poses go from
the root to the tip, and are shared by all frames of one trace:

    R[i]  axes of body i in world axes        r[i]  from its parent's origin to its own

Motions are in body coordinates; p = λ(i) is the parent:

    v[i] = X[i] v[p] + S[i] q̇                  a[i] = X[i] a[p] + S[i] q̈ + v[i] × S[i]
q̇

A spatial acceleration is the rate of the spatial velocity; a classical one says how the
origin accelerates: v̇ + w × v.

Dynamics needs no linear velocities. Accelerations of origins are classical here (as an
accelerometer there measures them, gravity included): then the force on a body depends
on its angular motion and on the acceleration of its origin alone, and no algorithm
needs linear velocities (Balafoutis, Patel and Misra 1988). With B = ẇ× + w× w×, the
acceleration of a point at r is a + B r, and so from the parent p to a body whose joint
moves by (wJ, vJ)

    w = E w_p + wJ        ẇ = E ẇ_p + E w_p × wJ + ẇJ
    a = E (a_p + B_p r) + 2 E w_p × vJ + wJ × vJ + aJ

    X[i]  transform, p to i        S[i]  joint motion basis

What does not depend on velocities in (ẇ, a) transforms as a spatial motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, final

from ramidyn.algorithms.sweeps import Outward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.transform import Rotate, Shift, Step, Transform
from ramidyn.spatial.vector3 import IDENTITY, ZERO3, ZERO33, Mat, Vec, mat
from ramidyn.spatial.vectors import Force, Motion, Tag, common
from ramidyn.symbolic.expr import Expr, const, region
from ramidyn.tree.frames import fixed_steps, position, transform
from ramidyn.tree.model import Frame
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


def unit_index(s: Motion) -> int | None:
    """Return k if s is the k-th unit vector."""
    parts = s.parts()
    ones = [k for k, e in enumerate(parts) if not e.is_zero]
    return ones[0] if len(ones) == 1 and parts[ones[0]] is const(1.0) else None


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

    @staticmethod
    def of(w: Vec, wd: Vec, a: Vec) -> BodyMotion:
        """Return the motion with an angular velocity and accelerations."""
        return BodyMotion(w, wd, a, plus_cross(centripetal(w), wd))

    def beyond(
        self, X: Transform, vJ: Motion = NO_MOTION, aJ: Motion = NO_MOTION
    ) -> BodyMotion:
        """Return the motion of a body or frame that moves with vJ and aJ in this."""
        wp = X.rotate(self.w)
        wd = X.rotate(self.wd) + wp.cross(vJ.w) + aJ.w
        a = X.rotate(self.a + self.B @ position(X)) + (coriolis(wp, vJ) + aJ.v)
        return BodyMotion.of(wp + vJ.w, wd, a)

    def accelerated(self, aJ: Motion) -> BodyMotion:
        """Return the motion of a body that accelerates by aJ more."""
        return BodyMotion.of(self.w, self.wd + aJ.w, self.a + aJ.v)


def wrench(inertia: RigidInertia, motion: BodyMotion) -> Force:
    """Return the force on a moving body.

    With the second moments J = ½ tr(I) 1 − I, the moment is that of B J − (B J)ᵀ.
    """
    I, h, B = inertia.I, inertia.h, motion.B
    half = (I[0][0] + I[1][1] + I[2][2]) * 0.5
    J = [half - I[i][i] for i in range(3)]
    Jxy, Jxz, Jyz = -I[0][1], -I[0][2], -I[1][2]

    def about(i: int) -> Expr:
        """Return B_kj J_j − B_jk J_k, the moment about axis i of the plane j, k."""
        j, k = (i + 1) % 3, (i + 2) % 3
        less, I_ii = J[j] - J[k], J[j] + J[k]
        if less.is_zero or I_ii.is_zero:  # one product
            return motion.w[j] * motion.w[k] * less + motion.wd[i] * I_ii
        return B[k][j] * J[j] - B[j][k] * J[k]

    n = Vec(
        (
            B[2][0] * Jxy - B[1][0] * Jxz + about(0) + (B[2][2] - B[1][1]) * Jyz,
            B[0][1] * Jyz - B[2][1] * Jxy + about(1) + (B[0][0] - B[2][2]) * Jxz,
            B[1][2] * Jxz - B[0][2] * Jyz + about(2) + (B[1][1] - B[0][0]) * Jxy,
        )
    )
    f = motion.a * inertia.m + B @ h
    return Force(n + h.cross(motion.a), f, inertia.frame)


@final
@dataclass(eq=False)
class Axes:
    """The axes of frames in those of the world, from the root outwards."""

    R: dict[int, Mat] = field(default_factory=lambda: {ROOT: IDENTITY})
    r: dict[int, Vec] = field(default_factory=lambda: {ROOT: ZERO3})
    parent_axes: dict[int, Mat] = field(default_factory=dict[int, Mat])
    """of floating and spherical joints: the axes before their turn"""


def axes(tree: Tree, q: JointVector, bodies: Iterable[int]) -> Axes:
    """Return the axes of some bodies, which come parents first."""
    found = Axes()
    for i in bodies:
        region(f"axes {tree.name(i)}")
        R, r = found.R[tree.parents[i]], ZERO3
        for step in transform(tree, i, q[i]).steps:
            if isinstance(step, Rotate):
                found.parent_axes[i] = R
            R, r = onward(R, r, step)
        found.R[i], found.r[i] = R, r
    return found


def onward(R: Mat, p: Vec, *steps: Step) -> tuple[Mat, Vec]:
    """Return the axes and the origin of a frame after some more steps."""
    for step in steps:
        if isinstance(step, Shift):
            p = p + R.T[step.k] * step.d
        else:
            R = Mat(map(step.vector, R))
    return R, p


def root_poses(tree: Tree, X: Mapping[int, Transform]) -> Outward[tuple[Mat, Vec]]:
    """Return the axes and the origin of each body in the frame of its root body."""
    start = IDENTITY, ZERO3

    def beyond(i: int, pose: tuple[Mat, Vec]) -> tuple[Mat, Vec]:
        return start if tree.parents[i] == ROOT else onward(*pose, *X[i].steps)

    return Outward(tree, start, beyond)


def root_name(tree: Tree, i: int) -> str:
    """Return the name of the root body of body i."""
    return tree.name(tree.support(i)[0])


def origin(r: dict[int, Vec], bodies: Iterable[int]) -> Vec:
    """Return the pose of the last of some bodies relative to the first's parent."""
    p = ZERO3
    for i in bodies:
        p = p + r[i]
    return p


def pose(tree: Tree, q: JointVector, frame: Frame) -> tuple[Mat, Vec]:
    """Return R and p of a frame in the world."""
    support = tree.support(frame.body)
    found = axes(tree, q, support)
    p = origin(found.r, support)
    return onward(found.R[frame.body], p, *fixed_steps(frame.placement))


def to_frame(tree: Tree, q: JointVector, frame: Frame) -> Transform:
    """Return the transform from the world to a frame."""
    X = Transform()
    for i in tree.support(frame.body):
        X = X.then(*transform(tree, i, q[i]).steps)
    return X.then(*fixed_steps(frame.placement))


def frame_transform(tree: Tree, frame: Frame) -> Transform:
    """Return the transform from a frame's body to the frame."""
    return Transform(fixed_steps(frame.placement), tree.name(frame.body))


def spatial_velocities(
    tree: Tree, q: JointVector, qd: JointVector, title: str = ""
) -> Outward[Motion]:
    """Return the velocities of bodies, in their own coordinates."""

    def beyond(i: int, v: Motion) -> Motion:
        vJ = joint_motion(tree.bodies[i].columns(), qd[i])
        return transform(tree, i, q[i]) @ v + vJ

    return Outward(tree, Motion.zero(), beyond, title)


def velocity(tree: Tree, q: JointVector, qd: JointVector, frame: Frame) -> Motion:
    """Return the spatial velocity of a frame, in its own coordinates."""
    v = spatial_velocities(tree, q, qd, "velocity")[frame.body]
    return frame_transform(tree, frame) @ v


def spatial_acceleration(
    tree: Tree, q: JointVector, qd: JointVector, qdd: JointVector, frame: Frame
) -> Motion:
    """Return the spatial acceleration of a frame, in its own coordinates."""
    v, a = Motion.zero(), Motion.zero()
    for i in tree.support(frame.body):
        region(f"acceleration {tree.name(i)}")
        X, S = transform(tree, i, q[i]), tree.bodies[i].columns()
        vJ = joint_motion(S, qd[i])
        v = X @ v + vJ
        a = X @ a + joint_motion(S, qdd[i]) + v.cross(vJ)
    return frame_transform(tree, frame) @ a


def classical_acceleration(
    tree: Tree, q: JointVector, qd: JointVector, qdd: JointVector, frame: Frame
) -> Motion:
    """Return (ẇ, classical a) of a frame, in its own coordinates."""
    m = BodyMotion.of_world()
    for i in tree.support(frame.body):
        region(f"acceleration {tree.name(i)}")
        S = tree.bodies[i].columns()
        vJ, aJ = joint_motion(S, qd[i]), joint_motion(S, qdd[i])
        m = m.beyond(transform(tree, i, q[i]), vJ, aJ)
    m = m.beyond(frame_transform(tree, frame))
    return Motion(m.wd, m.a)


def classical(a: Motion, v: Motion) -> Motion:
    """Return the classical acceleration of a spatial one, both at one point."""
    return Motion(a.w, a.v + v.w.cross(v.v), common("add", a.frame, v.frame))


def seen_motion(R: Mat, p: Vec, s: Motion, frame: Tag = None) -> Motion:
    """Return a motion of a frame with axes R and origin p where these are given."""
    w = R @ s.w
    return Motion(w, R @ s.v + p.cross(w), frame)


def seen_force(R: Mat, p: Vec, f: Force, frame: Tag = None) -> Force:
    """Return a force of a frame with axes R and origin p where these are given."""
    linear = R @ f.f
    return Force(R @ f.n + p.cross(linear), linear, frame)
