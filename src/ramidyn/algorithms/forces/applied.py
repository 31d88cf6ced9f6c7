"""What acts on a tree: forces along its joints, and wrenches on its bodies.

    τ_applied = τ + Σ Jᵀ f

τ is in the tree's coordinates, and f in those of each body, as `rnea` and `aba` take
external forces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from ramidyn.algorithms.forces.relative import Leg, leg
from ramidyn.coordinates.coordinates import Entries, JointVector
from ramidyn.spatial.vector3 import ZERO, Vec, vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import Expr, const, lift
from ramidyn.tree.joint_transform import transform
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT, Tree

if TYPE_CHECKING:
    from ramidyn.description.forces.element import ForceElement


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
        """Return where body i is, seen from an ancestor."""
        return leg(self.tree, self.q, self.qd, ancestor, i)

    def number(self, element: ForceElement, name: str) -> Expr:
        """Return a parameter: a constant, or an input."""
        given = self.inputs.get(f"{name}:{element.name}")
        return const(getattr(element, name)) if given is None else lift(given)

    def vector(self, element: ForceElement, name: str) -> Vec:
        """Return a parameter of three numbers."""
        given = self.inputs.get(f"{name}:{element.name}")
        return vec(*(getattr(element, name) if given is None else given))

    def numbers(self, element: ForceElement, name: str) -> tuple[Expr, ...]:
        """Return a parameter of one or more numbers."""
        value = self.inputs.get(f"{name}:{element.name}", getattr(element, name))
        entries = value if hasattr(value, "__len__") else (value,)
        return tuple(lift(x) for x in entries)

    def is_zero(self, element: ForceElement, name: str) -> bool:
        """Say whether a parameter is the constant zero."""
        return all(x.is_zero for x in self.numbers(element, name))

    def joint_bodies(self, name: str) -> list[int]:
        """Return the bodies of the tree that a joint moves, in order."""
        return [i for i, b in enumerate(self.tree.bodies) if b.joint.name == name]
