"""Forces along the joints of a tree and wrenches on its bodies, as they are applied.

    τ_applied = τ + Σ Jᵀ f

τ is in the tree's coordinates, and f in those of each body, as `rnea` and `aba` take
external forces.

A force between two bodies depends on what lies between them and their nearest common
ancestor only: joints above it do not occur.

    R, p  axes and origin of the body in the ancestor       v  its velocity there, in
                                                               its own coordinates
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from ramidyn.algorithms.kinematics import joint_motion, onward
from ramidyn.coordinates.coordinates import Entries, JointVector
from ramidyn.description.constants import moved_point
from ramidyn.spatial.vector3 import IDENTITY, ONE, ZERO, ZERO3, Mat, Vec, mat, vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr, atan2, const, lift
from ramidyn.tree.frames import transform
from ramidyn.tree.model import Frame, Model
from ramidyn.tree.tree import ROOT, Tree

if TYPE_CHECKING:
    from ramidyn.description.contacts import Contact
    from ramidyn.description.forces.element import ForceElement


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
        """Return the position of a point of the body, in the ancestor."""
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
    return vec(*moved_point(frame.placement.rows, point, frame.placement.origin))


def axes_of(frame: Frame) -> Mat:
    """Return the axes of a frame in coordinates of its body."""
    return mat(*([const(x) for x in row] for row in frame.placement.rows))


def rotation_vector(R: Mat) -> Vec:
    """Return φ of R = exp(φ×), no longer than π."""
    u = vec(R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]) * 0.5
    c = (R[0][0] + R[1][1] + R[2][2] - ONE) * 0.5
    s = (u.dot(u) + TINY).sqrt()
    return u * (atan2(s, c) / s)


@final
@dataclass(eq=False)
class Applied:
    """Forces along joints and on bodies; empty where nothing acts."""

    joints: dict[int, Entries] = field(default_factory=dict[int, Entries])
    bodies: dict[int, Force] = field(default_factory=dict[int, Force])

    def push(self, i: int, force: Force) -> None:
        """Add a wrench on body i, in its coordinates."""
        if i != ROOT:
            known = self.bodies.get(i)
            self.bodies[i] = force if known is None else known + force

    def turn(self, i: int, tau: Entries) -> None:
        """Add forces along the joint of body i."""
        known = self.joints.get(i)
        if known is not None:
            tau = tuple(a + b for a, b in zip(known, tau, strict=True))
        self.joints[i] = tau

    def added_to(self, tau: JointVector) -> JointVector:
        """Return joint forces and those of the elements."""
        if not self.joints:
            return tau
        return {i: _sum(x, self.joints.get(i), 1.0) for i, x in tau.items()}

    def taken_from(self, tau: JointVector) -> JointVector:
        """Return joint forces without those that the elements contribute."""
        if not self.joints:
            return tau
        return {i: _sum(x, self.joints.get(i), -1.0) for i, x in tau.items()}

    def along_joints(self, tree: Tree, q: JointVector) -> JointVector:
        """Return all of it as forces along joints: τ + Σ Jᵀ f."""
        f = dict(self.bodies)
        tau: JointVector = {}
        for i in reversed(range(len(tree.bodies))):
            columns = tree.bodies[i].columns()
            tau[i] = tuple(ZERO for _ in columns)
            if i in f:
                tau[i] = tuple(s.dot(f[i]) for s in columns)
                p = tree.parents[i]
                if p != ROOT:
                    back = transform(tree, i, q[i]).back(f[i])
                    f[p] = f[p] + back if p in f else back
        return self.added_to(tau)


def _sum(x: Entries, y: Entries | None, sign: float) -> Entries:
    if y is None:
        return x
    if sign > 0:
        return tuple(a + b for a, b in zip(x, y, strict=True))
    return tuple(a - b for a, b in zip(x, y, strict=True))


@final
@dataclass(eq=False)
class ForceScene:
    """A robot's state in a trace, as force elements see it."""

    model: Model
    tree: Tree
    q: JointVector
    qd: JointVector
    gravity: Vec
    inputs: Mapping[str, Any]
    """symbols by name: controls, and parameters of elements"""

    def leg(self, i: int, ancestor: int = ROOT) -> Leg:
        """Return the pose of body i, seen from an ancestor."""
        return leg(self.tree, self.q, self.qd, ancestor, i)

    def number(self, element: ForceElement | Contact, name: str) -> Expr:
        """Return a parameter: a constant, or an input."""
        given = self.inputs.get(f"{name}:{element.name}")
        return const(getattr(element, name)) if given is None else lift(given)

    def vector(self, element: ForceElement | Contact, name: str) -> Vec:
        """Return a parameter of three numbers."""
        given = self.inputs.get(f"{name}:{element.name}")
        return vec(*(getattr(element, name) if given is None else given))

    def numbers(self, element: ForceElement | Contact, name: str) -> tuple[Expr, ...]:
        """Return a parameter of one or more numbers."""
        value = self.inputs.get(f"{name}:{element.name}", getattr(element, name))
        entries = value if hasattr(value, "__len__") else (value,)
        return tuple(lift(x) for x in entries)

    def is_zero(self, element: ForceElement | Contact, name: str) -> bool:
        """Say whether a parameter is the constant zero."""
        return all(x.is_zero for x in self.numbers(element, name))

    def joint_bodies(self, name: str) -> list[int]:
        """Return the bodies of the tree that a joint moves, in order."""
        return [i for i, b in enumerate(self.tree.bodies) if b.joint.name == name]
