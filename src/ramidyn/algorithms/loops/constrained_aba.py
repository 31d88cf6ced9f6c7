"""Dynamics with loops by articulated bodies, in O(n + rows), without M.

If everything beyond body i moves freely, the acceleration of a row, Φ̈ = J q̈ + γ, is
linear in the acceleration of i and in the multipliers:

    Φ̈ = G[r, i] · a[i] + Σ C[r, s] λ[s] + d[r]

It starts as γ. Eliminating a joint of the loop, with S, U = IA S and D = Sᵀ U as in
`articulated`, takes from each of its rows

    α = J + G · S        G ← G − U α / D        d ← d + α u        C ← C + α αᵀ / D

and, by the same symmetry, α λ / D is what the loop adds to q̈. At the common ancestor of
its two bodies both sides meet, and the row itself is eliminated (the idea of LCABA,
here without penalties): what is left is the inertia of a closed loop,

    IA ← IA + G Gᵀ / C        pA ← pA + G d / C

so nothing of a loop goes further up, and loops on different branches never meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from ramidyn.algorithms.articulated import (
    Column,
    last_first,
    moving_bodies,
    rigid_bodies,
)
from ramidyn.algorithms.kinematics import velocities
from ramidyn.algorithms.loops.constraints import ConstraintRow
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import ArticulatedInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import ZERO, ZERO3, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree


@final
@dataclass(eq=False)
class RisingRows:
    """The rows on their way up the tree."""

    J: list[dict[int, Expr]]
    d: list[Expr]
    top: list[int]
    """of each row: the body where it is eliminated"""
    at: dict[int, dict[int, Force]] = field(default_factory=dict[int, dict[int, Force]])
    """body -> G of the rows that have come up to it"""
    C: dict[tuple[int, int], Expr] = field(default_factory=dict[tuple[int, int], Expr])
    """lower triangle"""

    def entry(self, r: int, s: int) -> Expr:
        """Return C[r, s]."""
        return self.C.get((max(r, s), min(r, s)), ZERO)

    def add(self, r: int, s: int, x: Expr) -> None:
        """Add to C[r, s]."""
        self.C[max(r, s), min(r, s)] = self.entry(r, s) + x


@final
@dataclass(frozen=True, slots=True, eq=False)
class EliminatedRow:
    """A row that is eliminated at a body."""

    r: int
    G: Force
    d: Expr
    C: Expr
    couplings: dict[int, Expr]
    """C[r, s] over C[r, r], for rows s that are eliminated later"""


def constrained_aba(
    tree: Tree,
    cuts: Sequence[CutJoint],
    rows: Sequence[ConstraintRow],
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> tuple[JointVector, list[Expr]]:
    """Return q̈ and λ, for the rows of each cut (one cut for every row)."""
    m = velocities(tree, q, qd)
    X, S, c = m.X, m.S, m.c
    a = {ROOT: Motion(ZERO3, -gravity, tree.name(ROOT))}
    loops = RisingRows([r.J for r in rows], [r.bias for r in rows], tops(tree, cuts))
    IA, pA = rigid_bodies(tree), moving_bodies(tree, m, external)[1]

    # Tips to root: close the loops that meet in a body, then eliminate its joint.
    closed: dict[int, list[EliminatedRow]] = {}
    columns: dict[int, list[tuple[Column, Expr, dict[int, Expr]]]] = {}
    for i, p in inward(tree, "articulated inertia", IA=IA, pA=pA):
        closed[i] = close(loops, i)
        Ia, pa = with_loops(closed[i], IA[i], pA[i])
        G = loops.at.pop(i, {})
        columns[i] = []
        for k, s in last_first(S[i]):
            dof = Column.of(tree.bodies[i], k, s, Ia)
            u = dof.force(tau[i][k], pa)
            Ia = dof.eliminated(Ia)
            pa = pa + dof.U * u
            pushes = take_joint(loops, G, tree.dofs[i][k], dof, u)
            columns[i].insert(0, (dof, u, pushes))
        pa = pa + Ia @ c[i]
        IA[p] = IA[p] + X[i].back(Ia)
        pA[p] = pA[p] + X[i].back(pa)
        carry(loops, G, X[i], c[i], p)
    closed[ROOT] = close(loops, ROOT)

    # Root to tips: accelerations, and the multipliers of what meets in a body.
    multipliers: dict[int, Expr] = {}
    find_multipliers(closed[ROOT], a[ROOT], multipliers)
    qdd: JointVector = {}
    for i, p in outward(tree, "acceleration", a=a):
        a[i], qdd[i] = X[i] @ a[p] + c[i], ()
        # A row that is closed in i pushes only joints beyond i: others are known here.
        for dof, u, pushes in columns[i]:
            x = u - dof.Ud.dot(a[i])
            for r, push in pushes.items():
                x = x + push * multipliers[r]
            a[i] = a[i] + dof.s * x
            qdd[i] = (*qdd[i], x)
        find_multipliers(closed[i], a[i], multipliers)
    return qdd, [multipliers[r] for r in range(len(rows))]


def tops(tree: Tree, cuts: Sequence[CutJoint]) -> list[int]:
    """Return the body where each row is eliminated: all its columns are beyond it."""
    found: list[int] = []
    for cut in cuts:
        ends = tuple(tree.parents[i] for i in cut.coupled) or (cut.a, cut.b)
        found.append(tree.common_ancestor(ends[0], ends[-1]))
    return found


def take_joint(
    loops: RisingRows, G: dict[int, Force], k: int, dof: Column, u: Expr
) -> dict[int, Expr]:
    """Eliminate dof k from the rows that it moves; return α / D of each."""
    alpha: dict[int, Expr] = {}
    for r, row in enumerate(loops.J):
        if k in row or r in G:
            g = G.get(r, Force.zero())
            x = row.get(k, ZERO) + g.dot(dof.s)
            if x.is_zero:
                continue
            alpha[r] = x
            G[r] = g - dof.Ud * x
            loops.d[r] = loops.d[r] + x * u
    pushes = {r: x / dof.D for r, x in alpha.items()}
    for r, push in pushes.items():
        for t, x in alpha.items():
            if t <= r:
                loops.add(r, t, push * x)
    return pushes


def with_loops(
    closed: Sequence[EliminatedRow], Ia: ArticulatedInertia, pa: Force
) -> tuple[ArticulatedInertia, Force]:
    """Return the inertia of a body with the loops closed in it."""
    for row in closed:
        Gd = row.G / row.C
        Ia = Ia.minus_outer(row.G, Force.zero() - Gd)
        pa = pa + Gd * row.d
    return Ia, pa


def carry(
    loops: RisingRows, G: dict[int, Force], X: Transform, c: Motion, p: int
) -> None:
    """Take the rows that have passed a joint to the parent."""
    above = loops.at.setdefault(p, {})
    for r, g in G.items():
        loops.d[r] = loops.d[r] + g.dot(c)
        above[r] = above.get(r, Force.zero()) + X.back(g)


def close(loops: RisingRows, i: int) -> list[EliminatedRow]:
    """Eliminate the rows whose two sides meet in body i."""
    G = loops.at.get(i, {})
    mine = [r for r, top in enumerate(loops.top) if top == i]
    out: list[EliminatedRow] = []
    gone: set[int] = set()
    for r in mine:
        gone.add(r)
        g, pivot = G.pop(r, Force.zero()), loops.entry(r, r)
        others = [
            s
            for s in range(len(loops.top))
            if s not in gone and not loops.entry(r, s).is_zero
        ]
        couplings = {s: loops.entry(r, s) / pivot for s in others}
        for s in others:
            G[s] = G.get(s, Force.zero()) - g * couplings[s]
            loops.d[s] = loops.d[s] - couplings[s] * loops.d[r]
            for t in others:
                if t <= s:
                    loops.add(s, t, -(couplings[s] * loops.entry(r, t)))
        out.append(EliminatedRow(r, g, loops.d[r], pivot, couplings))
        for s in others:
            del loops.C[max(r, s), min(r, s)]
    return out


def find_multipliers(
    rows: Sequence[EliminatedRow], a: Motion, known: dict[int, Expr]
) -> None:
    """Find λ = −(d + G · a) / C − Σ C[s] λ[s] / C, last row first."""
    for row in reversed(rows):
        x = -((row.d + row.G.dot(a)) / row.C)
        for s, coupling in row.couplings.items():
            x = x - coupling * known[s]
        known[row.r] = x
