"""Propagation across the joints of a tree, shared by the propagation algorithms.

    L = 1 − S D⁻¹ Uᵀ          see `algorithms.articulated` for U and D

L takes the acceleration of a joint's one side to that of the other, its transpose the
force. A joint with several degrees of freedom has one L for each: inwards the last
comes first, outwards the first.

    X[i]        transform, p to i        Ud    U D⁻¹
    columns[i]  of joint i, in order

The inverse inertia of a body is its acceleration per unit force on it:

    Ω = [W Hᵀ; H V]:  w = W n + Hᵀ f,  v = H n + V f

It goes outwards as an articulated inertia goes inwards, with motions in the place of
forces: (v, w) changes from p to i as (n, f) does from p's to i's where X is inverted.
So its congruence costs what that of an articulated inertia costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.articulated import Column, last_first, rigid_bodies
from ramidyn.algorithms.kinematics import transforms
from ramidyn.algorithms.sweeps import inward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import ArticulatedInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import IDENTITY, ONE, ZERO, ZERO3, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import Tree, TreeBody


@final
@dataclass(frozen=True, slots=True, eq=False)
class Propagator:
    """L of one degree of freedom."""

    s: Motion
    Ud: Force
    Dinv: Expr
    e: int | None
    """s is the e-th unit vector, and L has no row and column e"""

    def outwards(self, a: Motion, y: Expr = ZERO) -> Motion:
        """Return L a + s y."""
        if self.e is not None:
            a = without_entry(a, self.e)
        return a + self.s * (y - self.Ud.dot(a))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Propagators:
    """The joints of a tree whose bodies move freely under forces."""

    X: dict[int, Transform]
    columns: dict[int, tuple[Propagator, ...]]
    IA: dict[int, ArticulatedInertia]
    """of each body with all joints beyond it free"""

    def outwards(self, i: int, a: Motion) -> Motion:
        """Return the acceleration of body i that follows its parent's, a."""
        a = self.X[i] @ a
        for column in self.columns[i]:
            a = column.outwards(a)
        return a


def propagators(tree: Tree, q: JointVector) -> Propagators:
    """Return the ways across all joints."""
    X, IA = transforms(tree, q), rigid_bodies(tree)
    columns: dict[int, tuple[Propagator, ...]] = {}
    for i, p in inward(tree, "articulated inertia", IA=IA):
        Ia, columns[i] = IA[i], ()
        for k, s in last_first(ordered_basis(tree.bodies[i])):
            dof = Column.of(tree.bodies[i], k, s, Ia)
            columns[i] = (Propagator(s, dof.Ud, ONE / dof.D, dof.e), *columns[i])
            Ia = dof.eliminated(Ia)
        IA[p] = IA[p] + X[i].back(Ia)
    return Propagators(X, columns, IA)


def ordered_basis(body: TreeBody) -> tuple[Motion, ...]:
    """Return S, of a floating joint with turns last: inwards they come first.

    Rows from a limb that begins with the z axis of the base do not turn about it.
    """
    S = body.columns()
    return tuple(S[k] for k in column_order(body))


def column_order(body: TreeBody) -> tuple[int, ...]:
    """Return which column of S each of `ordered_basis` is."""
    n = range(body.joint.nv)
    return (*n[3:], *n[:3]) if body.joint.type.is_free else tuple(n)


def without_entry(a: Motion, e: int) -> Motion:
    """Return a with entry e (of six) zero."""
    parts = [ZERO if k == e else x for k, x in enumerate(a.parts())]
    return Motion(Vec(parts[:3]), Vec(parts[3:]), a.frame)


@final
@dataclass(frozen=True, slots=True, eq=False)
class InverseInertia:
    """Ω of one body, kept as the inertia that it is the dual of."""

    dual: ArticulatedInertia

    @staticmethod
    def zero() -> InverseInertia:
        """Return Ω of what does not move."""
        return InverseInertia(ArticulatedInertia.zero())

    def __matmul__(self, f: Force) -> Motion:
        """Return the acceleration for a force."""
        swapped = self.dual @ Motion(f.f, f.n, f.frame)
        return Motion(swapped.f, swapped.n, swapped.frame)

    def across(self, X: Transform) -> InverseInertia:
        """Return X Ω Xᵀ."""
        return InverseInertia(X.inverted().back(self.dual))

    def beyond(self, column: Propagator) -> InverseInertia:
        """Return L Ω Lᵀ + S D⁻¹ Sᵀ."""
        dual = self.dual
        if column.e is not None:
            dual = dual.without((column.e + 3) % 6)
        t = InverseInertia(dual) @ column.Ud
        m = column.Dinv + column.Ud.dot(t)
        # Ω − S tᵀ − t Sᵀ + S m Sᵀ,  t = Ω Ud
        s, rest = column.s, t - column.s * m
        return InverseInertia(_minus(_minus(dual, s, rest), t, s))

    def columns(self) -> list[Motion]:
        """Return the accelerations for the six unit forces, moments first."""
        return [self @ f for f in unit_forces()]


def unit_forces() -> tuple[Force, ...]:
    """Return the six unit forces, moments first."""
    couples = (Force(e, ZERO3) for e in IDENTITY)
    return (*couples, *(Force(ZERO3, e) for e in IDENTITY))


def _minus(dual: ArticulatedInertia, a: Motion, b: Motion) -> ArticulatedInertia:
    """Return Ω − a bᵀ as far as the dual keeps it: upper triangles, and H."""
    return dual.minus_outer(Force(a.v, a.w, a.frame), Force(b.v, b.w, b.frame))
