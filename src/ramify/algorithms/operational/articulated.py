"""What the propagation algorithms share: articulated bodies, and ways across joints.

    U = IA S    D = SᵀU    L = 1 − S D⁻¹ Uᵀ    IA_p += Xᵀ (IA − U D⁻¹ Uᵀ) X

L takes the acceleration of a joint's one side to that of the other, its transpose the
force. A joint with several degrees of freedom is a row of columns, each with its own
L: inwards the last comes first, outwards the first.

    X[i]        transform, p to i        Ud    U D⁻¹
    columns[i]  of joint i, in order     IA    articulated-body inertia
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

from ramify.algorithms.aba import over, unit_index
from ramify.algorithms.motion import transforms
from ramify.model.coordinates import JointVector
from ramify.model.joints import Joint
from ramify.model.tree import ROOT, Tree
from ramify.spatial.inertia import ArticulatedInertia
from ramify.spatial.transform import Transform
from ramify.spatial.vector3 import ONE, ZERO
from ramify.spatial.vectors import Force, Motion
from ramify.symbolic.expr import Expr, region

Symmetric = dict[tuple[int, int], Expr]
"""Entries (r, c) of a symmetric matrix, c ≤ r; those that are not there are zero."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One degree of freedom of a joint."""

    s: Motion
    Ud: Force
    Dinv: Expr
    e: int | None
    """s is the e-th unit vector, and L has no row and column e"""

    def outwards(self, a: Motion, y: Expr = ZERO) -> Motion:
        """Return L a + s y."""
        if self.e is not None:
            a = without(a, self.e)
        return a + self.s * (y - self.Ud.dot(a))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Articulated:
    """The joints of a tree whose bodies follow forces as they will."""

    X: dict[int, Transform]
    columns: dict[int, tuple[Column, ...]]

    def outwards(self, i: int, a: Motion) -> Motion:
        """Return the acceleration of body i that follows its parent's, a."""
        a = self.X[i] @ a
        for column in self.columns[i]:
            a = column.outwards(a)
        return a


def articulated(tree: Tree, q: JointVector) -> Articulated:
    """Return the joints, tips to root."""
    X = transforms(tree, q)
    columns: dict[int, tuple[Column, ...]] = {}
    IA = {ROOT: ArticulatedInertia.zero()}
    for i, _ in tree:
        IA[i] = tree.bodies[i].rigid_inertia().articulated()
    for i, p in reversed(tree):
        region(f"articulated inertia {tree.bodies[i].name}")
        joint = tree.bodies[i].joint
        found: list[Column] = []
        Ia = IA[i]
        for s in reversed(ordered(joint)):
            U = Ia @ s
            D = s.dot(U) + joint.armature
            e = unit_index(s) if joint.armature == 0.0 else None
            column = Column(s, over(U, D), ONE / D, e)
            Ia = Ia.minus_outer(U, column.Ud)
            if e is not None:
                Ia = Ia.without(e)
            found.append(column)
        columns[i] = tuple(reversed(found))
        IA[p] = IA[p] + X[i].back(Ia)
    return Articulated(X, columns)


def ordered(joint: Joint) -> tuple[Motion, ...]:
    """Return S, of a floating joint with turns last: inwards they come first.

    Rows from a limb that begins with the z axis of the base do not turn about it.
    """
    S = joint.columns()
    return (*S[3:], *S[:3]) if joint.kind == "floating" else S


def without(a: Motion, e: int) -> Motion:
    """Return a with entry e (of six) zero."""
    parts = [ZERO if k == e else x for k, x in enumerate(a.parts())]
    return Motion(tuple(parts[:3]), tuple(parts[3:]))  # type: ignore[arg-type]


def is_zero(x: Expr) -> bool:
    """Return whether a symbol is the constant zero."""
    return x.op == "const" and x.value == 0.0


def add(A: Symmetric, r: int, c: int, x: Expr) -> None:
    """Add x to the entry (r, c), or (c, r), of a symmetric matrix."""
    if not is_zero(x):
        at = (r, c) if c <= r else (c, r)
        A[at] = A[at] + x if at in A else x


def add_outer(A: Symmetric, v: Mapping[int, Expr], s: Expr) -> None:
    """Add v s vᵀ to a symmetric matrix."""
    for r, x in v.items():
        y = x * s
        for c, z in v.items():
            if c <= r:
                add(A, r, c, y * z)


def inner(a: Iterable[Expr], b: Iterable[Expr]) -> Expr:
    """Return the sum of products of two rows of symbols."""
    total = ZERO
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def supports(tree: Tree, bodies: Iterable[int]) -> dict[int, list[int]]:
    """Return ES: for each body, which of some bodies (by place) hang on it."""
    found: dict[int, list[int]] = {i: [] for i in range(-1, len(tree))}
    for k, b in enumerate(bodies):
        for i in tree.support(b):
            found[i].append(k)
    return found
