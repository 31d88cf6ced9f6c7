"""The articulated sweep: joints are eliminated, tips to root (RBDA ch. 7).

    U = IA S    D = SᵀU + armature    Ud = U D⁻¹    IA_p += Xᵀ (IA − U D⁻¹ Uᵀ) X

A joint with several degrees of freedom is a row of columns, eliminated one by one:
inwards the last comes first, outwards the first. What an algorithm carries besides
inertias (bias forces, rows of constraints) it carries along in the same sweep.

`Elimination` is the whole sweep, in which joints may share coordinates (`clusters`); a
plain joint is a cluster of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.clusters import Clusters, Factors
from ramidyn.algorithms.kinematics import unit_index
from ramidyn.algorithms.sweeps import label_value
from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import ZERO
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import total
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree, TreeBody

Inertia = RigidInertia | ArticulatedInertia


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


def last_first(S: Sequence[Motion]) -> Iterator[tuple[int, Motion]]:
    """Yield the columns of a joint in the order of elimination, with their places."""
    return ((k, S[k]) for k in reversed(range(len(S))))


# ------------------------------------------------------------ with clusters


@final
@dataclass(frozen=True, slots=True, eq=False)
class Eliminated:
    """A coordinate that is eliminated: ẍ = u − Ud · a − Σ row_z z̈."""

    y: int | None
    """the shared coordinate; None if it is that of one joint"""
    column: Column
    u: Expr
    row: dict[int, Expr]
    """D_z / D of the shared coordinates that are eliminated later"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A degree of freedom that moves with shared coordinates."""

    s: Motion
    G: Factors


@final
class Elimination:
    """Coordinates on their way out of the equations of motion, from tips to root.

    IA and pA are those of bodies alone at first; children add to their parents'.

    If everything beyond body i moves freely, except for coordinates y that joints
    nearer to the root share, then with a the acceleration of i

        f   = IA a + pA + Σ F_y ÿ              the force across the joint of i
        τ_y = F_y · a + Σ D_yz z̈ + d_y         of each such coordinate

    A joint that moves with y and z adds to it, with U = IA S (g is in the motion that
    forces and γ begin with, `rnea.ReferenceMotion`)

        D_yz += G_y S · F_z + G_z S · F_y + G_y G_z (S · U + armature)
        d_y  += G_y (S · pA − τ)        F_y += G_y U

    A coordinate is eliminated where the last of its joints has joined, as a plain joint
    is: on one path that is the joint nearest to the root, on several branches the body
    where they meet. What is eliminated has a row of D, and takes from the others

        F_z −= F_y D_yz / D_yy      d_z += D_yz u      D_zw −= D_yz D_yw / D_yy

    A row of constraints, Σ J_rk q̈_k + γ_r = 0, is a coordinate too: −λ_r, with D_rk =
    J_rk from the start, d_r = γ_r and no force of its own. It is eliminated as soon as
    all that it constrains is, where the two sides of its loop meet (the idea of LCABA,
    here without penalties): what is left for the bodies before is the inertia of a
    closed loop, and loops on different branches never meet. Its pivot is −J M⁻¹ Jᵀ with
    the body where they meet held: definite exactly if rows are independent.
    """

    def __init__(
        self,
        tree: Tree,
        clusters: Clusters,
        IA: dict[int, Inertia],
        pA: dict[int, Force],
    ) -> None:
        self.tree, self.clusters, self.IA, self.pA = tree, clusters, IA, pA
        self.F: dict[int, dict[int, Force]] = {}
        self.D: dict[int, dict[int, Expr]] = {}
        self.d = dict(clusters.gamma)
        self.steps: dict[int, list[Eliminated | Joined]] = {}
        self.found: dict[int, Expr] = {}
        """ÿ of shared coordinates, and −λ of rows"""

    # ------------------------------------------------------------ tips to root

    def eliminate(self, i: int, S: Sequence[Motion], tau: Sequence[Expr]) -> None:
        """Eliminate what meets in body i, its joint, and what ends with that."""
        dofs = self.tree.dofs[i] if S else ()
        F = self.F.setdefault(i, {})
        steps = self.steps[i] = [
            self._eliminate_shared(i, y, F) for y in self.clusters.meeting.get(i, ())
        ]
        for k, s in last_first(S):
            dof = dofs[k]
            if dof in self.clusters.G:
                steps.append(self._join(i, dof, s, F, tau[k]))
            else:
                steps.append(self._eliminate_joint(i, k, s, F, tau[k]))
        steps += [
            self._eliminate_shared(i, y, F) for y in self.clusters.last.get(i, ())
        ]

    def carry(self, i: int, X: Transform) -> None:
        """Add what is left of body i to its parent."""
        p, Ia = self.tree.parents[i], self.IA[i]
        if isinstance(Ia, RigidInertia):  # nothing was eliminated beyond i
            self.IA[p] = sum_of(self.IA[p], X.back(Ia))
        else:
            self.IA[p] = articulated(self.IA[p]) + X.back(Ia)
        self.pA[p] = self.pA[p] + X.back(self.pA[i])
        above = self.F.setdefault(p, {})
        for y, f in self.F.pop(i).items():
            above[y] = above.get(y, Force.zero()) + X.back(f)

    def _eliminate_joint(
        self, i: int, k: int, s: Motion, F: dict[int, Force], tau: Expr
    ) -> Eliminated:
        """Eliminate a degree of freedom that has a coordinate of its own."""
        Ia = articulated(self.IA[i])
        column = Column.of(self.tree.bodies[i], k, s, Ia)
        u = column.force(tau, self.pA[i])
        self.IA[i] = column.eliminated(Ia)
        self.pA[i] = self.pA[i] + column.U * u
        row = dict(self.clusters.J.get(self.tree.dofs[i][k], {}))
        for z, f in F.items():
            row[z] = row.get(z, ZERO) + s.dot(f)
        shares = self._take_out(column.D, row)
        for z in shares:
            F[z] = F.get(z, Force.zero()) - column.Ud * row[z]
            self._add_bias(z, row[z] * u)
        return Eliminated(None, column, u, shares)

    def _eliminate_shared(self, i: int, y: int, F: dict[int, Force]) -> Eliminated:
        """Eliminate a shared coordinate, all of whose joints have joined."""
        U, row = F.pop(y, Force.zero()), self.D.pop(y)
        D = row.pop(y)
        d = self.d.pop(y)
        Ud, u = U / D, -d / D
        name = self.clusters.names[y]
        for letter, value in (("U", U), ("Ud", Ud), ("D", D), ("u", u)):
            label_value(letter, name, value)
        column = Column(name, Motion.zero(), U, D, Ud, None)
        self.IA[i] = column.eliminated(articulated(self.IA[i]))
        self.pA[i] = self.pA[i] + U * u
        for z in row:
            del self.D[z][y]
        shares = self._take_out(D, row)
        for z, share in shares.items():
            F[z] = F.get(z, Force.zero()) - U * share
            self._add_bias(z, -(share * d))
        return Eliminated(y, column, u, shares)

    def _take_out(self, D: Expr, row: Mapping[int, Expr]) -> dict[int, Expr]:
        """Take a coordinate with its row of D from that of others; return row / D."""
        row = {z: x for z, x in row.items() if not x.is_zero}
        shares = {z: x / D for z, x in row.items()}
        for z in row:
            for w in row:
                if w <= z:
                    self._add(z, w, -(shares[z] * row[w]))
        return shares

    def _join(
        self, i: int, dof: int, s: Motion, F: dict[int, Force], tau: Expr
    ) -> Joined:
        """Let a degree of freedom move with shared coordinates."""
        G, U = self.clusters.G[dof], self.IA[i] @ s
        D = s.dot(U) + self.tree.bodies[i].joint.armature
        d = s.dot(self.pA[i]) - tau
        along = dict(self.clusters.J.get(dof, {}))
        for z, f in F.items():
            along[z] = along.get(z, ZERO) + s.dot(f)
        for z, x in along.items():
            for y, g in G.items():
                self._add(y, z, g * x if y != z else g * (x + x))
        for y, g in G.items():
            self._add_bias(y, g * d)
            for z, h in G.items():
                if z <= y:
                    self._add(y, z, g * h * D)
        for y, g in G.items():
            F[y] = F.get(y, Force.zero()) + U * g
        return Joined(s, G)

    def _add(self, y: int, z: int, x: Expr) -> None:
        """Add to D_yz."""
        known = self.D.setdefault(y, {}).get(z, ZERO) + x
        self.D[y][z] = self.D.setdefault(z, {})[y] = known

    def _add_bias(self, y: int, x: Expr) -> None:
        """Add to d_y."""
        self.d[y] = self.d.get(y, ZERO) + x

    # ------------------------------------------------------------ root to tips

    def accelerations(self, i: int, a: Motion) -> tuple[Motion, tuple[Expr, ...]]:
        """Return the acceleration of body i and q̈ of its joint.

        Args:
            i: the body.
            a: the acceleration of its parent, there.
        """
        qdd: tuple[Expr, ...] = ()
        for step in reversed(self.steps[i]):
            if isinstance(step, Joined):
                x = total(g * self.found[y] for y, g in step.G.items())
                a, qdd = a + step.s * x, (*qdd, x)
                continue
            column = step.column
            x = step.u - column.Ud.dot(a)
            for z, share in step.row.items():
                x = x - share * self.found[z]
            if step.y is not None:
                self.found[step.y] = x
            else:
                a, qdd = a + column.s * x, (*qdd, x)
        return a, qdd


def articulated(inertia: Inertia) -> ArticulatedInertia:
    """Return an inertia in the general form."""
    return inertia.articulated() if isinstance(inertia, RigidInertia) else inertia


def sum_of(a: Inertia, b: RigidInertia) -> Inertia:
    """Return the inertia of two bodies that move as one: rigid if both are."""
    return a + b if isinstance(a, RigidInertia) else a + b.articulated()
