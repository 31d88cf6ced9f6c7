"""Where bodies are and how they move, seen from an ancestor that counts as still.

A force between two bodies depends on what lies between them and their nearest common
ancestor only: joints above it do not occur.

    R, p  axes and origin of the body in the ancestor       v  its velocity there, in
                                                               its own coordinates
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.body_motion import joint_motion
from ramidyn.algorithms.kinematics import onward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.description.constants import moved
from ramidyn.spatial.vector3 import IDENTITY, ONE, ZERO3, Mat, Vec, mat, vec
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.expr import atan2, const
from ramidyn.tree.joint_transform import transform
from ramidyn.tree.model import Frame
from ramidyn.tree.tree import Tree

TINY = 1e-30
"""square of a sine below which a rotation counts as none: never divided by"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Leg:
    """A body seen from an ancestor."""

    R: Mat
    p: Vec
    v: Motion

    def point(self, x: Vec) -> Vec:
        """Return where a point of the body is, in the ancestor."""
        return self.p + self.R @ x

    def speed(self, x: Vec) -> Vec:
        """Return the velocity of a point of the body, in its coordinates."""
        return self.v.v + self.v.w.cross(x)


def leg(tree: Tree, q: JointVector, qd: JointVector, ancestor: int, i: int) -> Leg:
    """Return a body as its ancestor sees it."""
    R, p = IDENTITY, ZERO3
    v = Motion.zero()
    for j in tree.support(i):
        if j <= ancestor:
            continue
        X = transform(tree, j, q[j])
        R, p = onward(R, p, *X.steps)
        if j in qd:
            v = X @ v + joint_motion(tree.bodies[j].columns(), qd[j])
    return Leg(R, p, Motion(v.w, v.v))


def point_of(frame: Frame, point: tuple[float, float, float]) -> Vec:
    """Return a point given in a frame in coordinates of the frame's body."""
    return vec(*moved(frame.placement.rows, point, frame.placement.origin))


def axes_of(frame: Frame) -> Mat:
    """Return the axes of a frame in coordinates of its body."""
    return mat(*([const(x) for x in row] for row in frame.placement.rows))


def rotation_vector(R: Mat) -> Vec:
    """Return φ of R = exp(φ×), no longer than π."""
    u = vec(R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]) * 0.5
    c = (R[0][0] + R[1][1] + R[2][2] - ONE) * 0.5
    s = (u.dot(u) + TINY).sqrt()
    return u * (atan2(s, c) / s)
