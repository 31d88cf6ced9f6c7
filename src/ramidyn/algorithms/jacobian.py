"""The Jacobian of a frame, along the bodies that support it (RBDA §4.4).

    v = J(q) q̇          J_k = S_k as seen from where v is

All columns come from one sweep over the support, in the coordinates of the result:
with the axes R and the origin p of body i there,

    J_k = (R w, R v + p × R w)        for S_k = (w, v)

In the frame's own coordinates the sweep goes from the tip to the root, in the world's
from the root to the tip: neither the pose of the root nor that of the tip is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.kinematics import axes, onward, seen_motion
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.transform import Rotate, Shift, Step
from ramidyn.spatial.vector3 import IDENTITY, ZERO3, Mat, Vec
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.expr import region
from ramidyn.tree.frames import fixed_steps, transform
from ramidyn.tree.model import Frame
from ramidyn.tree.tree import Tree


@final
@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of a Jacobian by the tree's degrees of freedom."""

    J: dict[int, Motion]
    parent_axes: dict[int, Mat]
    """of floating joints: the axes of their parent's side, where the columns are"""


def local_jacobian(tree: Tree, q: JointVector, frame: Frame) -> Columns:
    """Return the columns in the frame's own coordinates."""
    R, p = IDENTITY, ZERO3
    found = Columns({}, {})
    for step in reversed(fixed_steps(frame.placement)):
        R, p = backward(R, p, step)
    for i in reversed(tree.support(frame.body)):
        region(f"jacobian {tree.name(i)}")
        _add(found, tree, i, R, p)
        for step in reversed(transform(tree, i, q[i]).steps):
            R, p = backward(R, p, step)
            if isinstance(step, Rotate):
                found.parent_axes[i] = R
    return found


def world_jacobian(tree: Tree, q: JointVector, frame: Frame) -> Columns:
    """Return the columns in world coordinates: world axes, at the world's origin."""
    support = tree.support(frame.body)
    a = axes(tree, q, support)
    found = Columns({}, a.parent_axes)
    p = ZERO3
    for i in support:
        region(f"jacobian {tree.name(i)}")
        p = p + a.r[i]
        _add(found, tree, i, a.R[i], p)
    return found


def aligned_jacobian(tree: Tree, q: JointVector, frame: Frame) -> Columns:
    """Return the columns in world axes, at the frame's origin."""
    support = tree.support(frame.body)
    a = axes(tree, q, support)
    found = Columns({}, a.parent_axes)
    p = -onward(a.R[frame.body], ZERO3, *fixed_steps(frame.placement))[1]
    for i in reversed(support):
        region(f"jacobian {tree.name(i)}")
        _add(found, tree, i, a.R[i], p)
        p = p - a.r[i]
    return found


def backward(R: Mat, p: Vec, step: Step) -> tuple[Mat, Vec]:
    """Return the axes and the origin, seen from the tip, of the frame before a step."""
    if isinstance(step, Shift):
        return R, p - R.T[step.k] * step.d
    return Mat(map(step.vector_back, R)), p


def _add(found: Columns, tree: Tree, i: int, R: Mat, p: Vec) -> None:
    for k, s in zip(tree.dofs[i], tree.bodies[i].columns(), strict=True):
        found.J[k] = seen_motion(R, p, s)
