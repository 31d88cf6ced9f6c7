"""Poses, velocities and accelerations of frames (RBDA §4.4).

A frame is fixed to a body, and only the bodies that support it matter. Poses go from
the root to the tip, and are shared by all frames of one trace:

    R[i]  axes of body i in world axes        r[i]  from its parent's origin to its own

Motions are in body coordinates; p = λ(i) is the parent:

    v[i] = X[i] v[p] + S[i] q̇                  a[i] = X[i] a[p] + S[i] q̈ + v[i] × S[i] q̇

A spatial acceleration is the rate of the spatial velocity; a classical one says how the
origin accelerates: v̇ + w × v (`body_motion`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from ramidyn.algorithms.body_motion import BodyMotion, joint_motion
from ramidyn.algorithms.sweeps import Outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.frames import Tag, common
from ramidyn.spatial.transform import Rotate, Shift, Step, Transform
from ramidyn.spatial.vector3 import IDENTITY, ZERO3, Mat, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import region
from ramidyn.tree.joint_transform import fixed_steps, transform
from ramidyn.tree.model import Frame
from ramidyn.tree.tree import ROOT, Tree


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


def fixed(tree: Tree, frame: Frame) -> Transform:
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
    return fixed(tree, frame) @ v


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
    return fixed(tree, frame) @ a


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
    m = m.beyond(fixed(tree, frame))
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
