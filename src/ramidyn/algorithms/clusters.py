"""Clusters: joints that move with shared coordinates, and are eliminated as one joint.

    q̇_k = Σ G_ky ẏ        q̈_k = Σ G_ky ÿ + g_k

for the degrees of freedom k of a tree that depend on the shared coordinates y. A mimic
joint or a gear has a constant G; a linkage has one that depends on q, and g. All other
joints have a coordinate of their own: clusters of one.

If everything beyond body i moves freely, except for coordinates y that joints nearer to
the root share, then with a the acceleration of i

    f   = IA a + pA + Σ F_y ÿ              the force across the joint of i
    τ_y = F_y · a + Σ D_yz z̈ + d_y         of each such coordinate

A joint that moves with y and z adds to it, with U = IA S,

    D_yz += G_y S · F_z + G_z S · F_y + G_y G_z (S · U + armature)
    d_y  += G_y (S · pA − τ)               F_y += G_y U

A coordinate is eliminated where the last of its joints has joined, as a plain joint is
(`articulated`): on one path that is the joint nearest to the root, on several branches
the body where they meet. What is eliminated has a row of D, and takes from the others

    F_z −= F_y D_yz / D_yy      d_z += D_yz u      D_zw −= D_yz D_yw / D_yy
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar, final

from ramidyn.algorithms.articulated import Column, last_first
from ramidyn.algorithms.ltdl import TreeEntries
from ramidyn.algorithms.sweeps import label_value
from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import ONE, ZERO, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.tree import Tree

Inertia = RigidInertia | ArticulatedInertia
Value = TypeVar("Value", Expr, Vec, Motion, Force)
Factors = Mapping[int, Expr]
"""G_k: the shared coordinates that a degree of freedom moves with"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The degrees of freedom of a tree that move with shared coordinates."""

    G: Mapping[int, Factors]
    """by degree of freedom; a plain joint is not here"""
    last: dict[int, list[int]]
    """body -> the coordinates that are eliminated behind its joint"""
    meeting: dict[int, list[int]]
    """body -> the coordinates of several branches that meet in it"""
    first: dict[int, int]
    """coordinate -> the first body that moves with it"""
    bias: Mapping[int, Expr]
    """g, by degree of freedom"""

    def coordinates(self, k: int) -> Factors:
        """Return the coordinates that a degree of freedom moves with, and G."""
        return self.G.get(k, {k: ONE})

    def weighted(
        self, y: int, dofs: tuple[int, ...], values: Mapping[int, Value]
    ) -> Value:
        """Return Σ G_ky x_k over some degrees of freedom that move with y."""
        if dofs == (y,):
            return values[y]  # the leader, or a plain joint
        first, *others = (values[k] * self.coordinates(k)[y] for k in dofs)
        for x in others:
            first = first + x
        return first

    @staticmethod
    def of(
        tree: Tree, G: Mapping[int, Factors], bias: Mapping[int, Expr] | None = None
    ) -> Clusters:
        """Return the clusters of joints that move as G and g say."""
        bodies: dict[int, list[int]] = {}
        for i, dofs in enumerate(tree.dofs):
            for y in (y for k in dofs if k in G for y in G[k]):
                bodies.setdefault(y, []).append(i)
        last: dict[int, list[int]] = {}
        meeting: dict[int, list[int]] = {}
        for y, moved in bodies.items():
            top = reduce(tree.common_ancestor, moved)
            (last if top in moved else meeting).setdefault(top, []).append(y)
        first = {y: moved[0] for y, moved in bodies.items()}
        return Clusters(G, last, meeting, first, bias or {})


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Pairs of degrees of freedom, all of one below all of the other.

    What they add to entry (y, z) of a matrix along the tree is a product of two sums.
    """

    y: int
    z: int
    below: tuple[int, ...]
    """degrees of freedom that move with y, beyond those of ``above``"""
    above: tuple[int, ...]


def blocks_of(tree: Tree, clusters: Clusters) -> dict[int, list[Block]]:
    """Return the blocks of each coordinate, by the last degree of freedom it moves.

    A plain joint has a block with each degree of freedom before it.
    """
    members: dict[int, list[int]] = {}
    for k in range(len(tree.dof_parents)):
        for y in clusters.coordinates(k):
            members.setdefault(y, []).append(k)
    before: dict[int, tuple[int, ...]] = {}
    for i, dofs in enumerate(tree.dofs):
        path = tuple(j for b in tree.ancestors(i) for j in tree.dofs[b])
        before.update(dict.fromkeys(dofs, path))
    found: dict[int, list[Block]] = {}
    for y, moved in members.items():
        beyond: dict[int, list[int]] = {}
        for k in moved:
            for j in before[k]:
                beyond.setdefault(j, []).append(k)
        above: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for j, below in beyond.items():
            for z in clusters.coordinates(j):
                above.setdefault((z, tuple(below)), []).append(j)
        found.setdefault(moved[-1], []).extend(
            Block(y, z, below, tuple(js)) for (z, below), js in above.items()
        )
    return found


def mimic_clusters(tree: Tree) -> Clusters:
    """Return the clusters of mimic joints and the joints that they follow.

    A coordinate is known by the degree of freedom of its leader.
    """
    G: dict[int, Factors] = {}
    for i, body in enumerate(tree.bodies):
        leader = body.joint.leader
        if leader is not None:
            y, factor = tree.dofs[leader][0], const(body.joint.multiplier)
            G[y] = {y: const(1.0)}
            G[tree.dofs[i][0]] = {} if factor.is_zero else {y: factor}
    return Clusters.of(tree, G)


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
    bias: Expr


@final
class Elimination:
    """Coordinates on their way out of the equations of motion, from tips to root.

    IA and pA are those of bodies alone at first; children add to their parents'.
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
        self.D: dict[tuple[int, int], Expr] = {}
        self.d: dict[int, Expr] = {}
        self.steps: dict[int, list[Eliminated | Joined]] = {}
        self.found: dict[int, Expr] = {}

    # ------------------------------------------------------------ tips to root

    def eliminate(self, i: int, S: Sequence[Motion], tau: Sequence[Expr]) -> None:
        """Eliminate what meets in body i, its joint, and what ends with that."""
        F = self.F.setdefault(i, {})
        steps = self.steps[i] = [
            self._eliminate_shared(i, y, F) for y in self.clusters.meeting.get(i, ())
        ]
        for k, s in last_first(S):
            dof = self.tree.dofs[i][k]
            if dof in self.clusters.G:
                steps.append(self._join(i, dof, s, F, tau[k]))
            else:
                steps.append(self._eliminate_joint(i, k, s, F, tau[k]))
        steps += (
            self._eliminate_shared(i, y, F) for y in self.clusters.last.get(i, ())
        )

    def carry(self, i: int, X: Transform, c: Motion) -> None:
        """Add what is left of body i to its parent, with c the bias of its joint."""
        p, Ia, F = self.tree.parents[i], self.IA[i], self.F.pop(i)
        pa = self.pA[i] + Ia @ c
        if isinstance(Ia, RigidInertia):  # nothing was eliminated beyond i
            self.IA[p] = sum_of(self.IA[p], X.back(Ia))
        else:
            self.IA[p] = articulated(self.IA[p]) + X.back(Ia)
        self.pA[p] = self.pA[p] + X.back(pa)
        above = self.F.setdefault(p, {})
        for y, f in F.items():
            self._add_bias(y, f.dot(c))
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
        row = {z: s.dot(f) for z, f in F.items()}
        return Eliminated(None, column, u, self._take_out(column, u, row, F))

    def _eliminate_shared(self, i: int, y: int, F: dict[int, Force]) -> Eliminated:
        """Eliminate a shared coordinate, all of whose joints have joined."""
        U, D = F.pop(y, Force.zero()), self.D.pop((y, y))
        Ud, u = U / D, -self.d.pop(y) / D
        name = self.tree.bodies[self.clusters.first[y]].name
        for letter, value in (("U", U), ("Ud", Ud), ("D", D), ("u", u)):
            label_value(letter, name, value)
        column = Column(name, Motion.zero(), U, D, Ud, None)
        self.IA[i] = column.eliminated(articulated(self.IA[i]))
        self.pA[i] = self.pA[i] + U * u
        row = {z: self.D.pop(_pair(y, z), ZERO) for z in F}
        return Eliminated(y, column, u, self._take_out(column, u, row, F))

    def _take_out(
        self, column: Column, u: Expr, row: Mapping[int, Expr], F: dict[int, Force]
    ) -> dict[int, Expr]:
        """Take a coordinate with its row of D from the others; return row / D."""
        row = {z: x for z, x in row.items() if not x.is_zero}
        shares = {z: x / column.D for z, x in row.items()}
        for z, x in row.items():
            F[z] = F[z] - column.Ud * x
            self._add_bias(z, x * u)
            for w in row:
                if w <= z:
                    self._add(z, w, -(shares[z] * row[w]))
        return shares

    def _join(
        self, i: int, dof: int, s: Motion, F: dict[int, Force], tau: Expr
    ) -> Joined:
        """Let a degree of freedom move with shared coordinates."""
        G, bias = self.clusters.G[dof], self.clusters.bias.get(dof, ZERO)
        U = self.IA[i] @ s
        self.pA[i] = self.pA[i] + U * bias
        D = s.dot(U) + self.tree.bodies[i].joint.armature
        d = s.dot(self.pA[i]) - tau
        for z, f in F.items():
            along = s.dot(f)
            self._add_bias(z, along * bias)
            for y, g in G.items():
                self._add(y, z, g * along if y != z else g * (along + along))
        for y, g in G.items():
            self._add_bias(y, g * d)
            for z, h in G.items():
                if z <= y:
                    self._add(y, z, g * h * D)
        for y, g in G.items():
            F[y] = F.get(y, Force.zero()) + U * g
        return Joined(s, G, bias)

    def _add(self, y: int, z: int, x: Expr) -> None:
        """Add to D_yz."""
        self.D[_pair(y, z)] = self.D.get(_pair(y, z), ZERO) + x

    def _add_bias(self, y: int, x: Expr) -> None:
        """Add to d_y."""
        self.d[y] = self.d.get(y, ZERO) + x

    # ------------------------------------------------------------ root to tips

    def accelerations(self, i: int, a: Motion) -> tuple[Motion, tuple[Expr, ...]]:
        """Return the acceleration of body i and q̈ of its joint.

        Args:
            i: the body.
            a: its acceleration if its joint does not accelerate.
        """
        qdd: tuple[Expr, ...] = ()
        for step in reversed(self.steps[i]):
            if isinstance(step, Joined):
                x = step.bias
                for y, g in step.G.items():
                    x = x + g * self.found[y]
                s = step.s
            else:
                s, x = step.column.s, step.u - step.column.Ud.dot(a)
                for z, share in step.row.items():
                    x = x - share * self.found[z]
                if step.y is not None:
                    self.found[step.y] = x
                    continue
            a = a + s * x
            qdd = (*qdd, x)
        return a, qdd


def _pair(y: int, z: int) -> tuple[int, int]:
    return max(y, z), min(y, z)


def articulated(inertia: Inertia) -> ArticulatedInertia:
    """Return an inertia in the general form."""
    return inertia.articulated() if isinstance(inertia, RigidInertia) else inertia


def sum_of(a: Inertia, b: RigidInertia) -> Inertia:
    """Return the inertia of two bodies that move as one: rigid if both are."""
    return a + b if isinstance(a, RigidInertia) else a + b.articulated()


def add_entry(entries: TreeEntries, y: int, z: int, x: Expr) -> None:
    """Add to an entry of a matrix, which may not be there yet."""
    entries[y, z] = entries[y, z] + x if (y, z) in entries else x
