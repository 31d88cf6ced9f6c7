"""The articulated sweep: joints are eliminated, tips to root (RBDA ch. 7).

    U = IA S    D = SᵀU + armature    Ud = U D⁻¹    IA_p += Xᵀ (IA − U D⁻¹ Uᵀ) X

A joint with several degrees of freedom is a row of columns, eliminated one by one:
inwards the last comes first, outwards the first. What an algorithm carries besides
inertias (bias forces, rows of constraints) it carries along in the same sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.kinematics import Velocities, wrench
from ramidyn.algorithms.sweeps import label_value, outward
from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia
from ramidyn.spatial.vector3 import ZERO3
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.tree import ROOT, Tree, TreeBody


@final
@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One degree of freedom of a joint, to be eliminated from its body's inertia."""

    name: str
    s: Motion
    U: Force
    D: Expr
    Ud: Force
    e: int | None
    """s is the e-th unit vector: nothing is left of row and column e of IA"""

    @staticmethod
    def of(body: TreeBody, k: int, s: Motion, IA: ArticulatedInertia) -> Column:
        """Return degree of freedom k of a body's joint, and what it takes from IA."""
        joint = body.joint
        name = body.name if joint.nv == 1 else f"{body.name}_{k}"
        U = IA @ s
        D = s.dot(U) + joint.armature
        Ud = U / D  # the entry that is D itself becomes 1
        for letter, value in (("U", U), ("Ud", Ud), ("D", D)):
            label_value(letter, name, value)
        e = unit_index(s) if joint.armature == 0.0 else None
        return Column(name, s, U, D, Ud, e)

    def force(self, tau: Expr, pA: Force) -> Expr:
        """Return u = (τ − Sᵀ pA) / D."""
        u = (tau - self.s.dot(pA)) / self.D
        label_value("u", self.name, u)
        return u

    def eliminated(self, IA: ArticulatedInertia) -> ArticulatedInertia:
        """Return IA − U D⁻¹ Uᵀ."""
        Ia = IA.minus_outer(self.U, self.Ud)
        return Ia if self.e is None else Ia.without(self.e)


def rigid_bodies(tree: Tree) -> dict[int, ArticulatedInertia]:
    """Return IA before any joint is eliminated: of each body alone."""
    IA = {ROOT: ArticulatedInertia.zero()}
    for i, _ in tree:
        IA[i] = tree.bodies[i].rigid_inertia().articulated()
    return IA


def moving_bodies(
    tree: Tree, m: Velocities, external: Mapping[int, Force] | None
) -> tuple[dict[int, RigidInertia | ArticulatedInertia], dict[int, Force]]:
    """Return IA and pA before any joint is eliminated."""
    IA: dict[int, RigidInertia | ArticulatedInertia] = {ROOT: RigidInertia.zero()}
    pA = {ROOT: Force.zero()}
    for i, _ in outward(tree, "bias", bias=pA):
        inertia = tree.bodies[i].rigid_inertia()
        IA[i] = inertia
        pA[i] = wrench(inertia, m.BB[i], ZERO3)
        if external and i in external:
            pA[i] = pA[i] - external[i]
    return IA, pA


def last_first(S: Sequence[Motion]) -> Iterator[tuple[int, Motion]]:
    """Yield the columns of a joint in the order of elimination, with their places."""
    return ((k, S[k]) for k in reversed(range(len(S))))


def unit_index(s: Motion) -> int | None:
    """Return k if s is the k-th unit vector."""
    parts = s.parts()
    ones = [k for k, e in enumerate(parts) if not e.is_zero]
    return ones[0] if len(ones) == 1 and parts[ones[0]] is const(1.0) else None
