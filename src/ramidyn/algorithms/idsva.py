"""Derivatives of inverse dynamics along the tree (Singh, Russell & Wensing 2022).

    ∂τ/∂q, ∂τ/∂q̇ and M = ∂τ/∂q̈, all in coordinates of the tree's root body

∂/∂q is taken along the columns S of the joints: a step along s moves a body and all
beyond it by the twist s. A point at r of a body with velocity (w, u) has v = u + w × r,
and all that is needed of the points beyond i are sums,

    m, h, J   ∫ρ, ∫ρ r, ∫ρ r rᵀ       f   ∫ρ v            K   ∫ρ v rᵀ
    F         force, gravity and external forces included

of which the last four stand for the 6 × 6 matrix B of the paper, B s =
2 (tr(K) w − K w, w × f). With v and a of the parent, for the degree of freedom s

    sd = v × s        sdd = a × s + v × sd        sj = 2 sd + (S q̇) × s
    t1 = Ic s         t2 = B s + Ic sj            t3 = B sd + Ic sdd        t4 = Bᵀ s

and for k of an ancestor of the body of l, s ×* F added to t3 for the upper triangle,

    M_kl = s_k · t1_l      ∂τ_k/∂q̇_l = s_k · t2_l     ∂τ_l/∂q̇_k = t1_l · sj_k + t4_l · s_k
                           ∂τ_k/∂q_l = s_k · t3_l      ∂τ_l/∂q_k = t1_l · sdd_k + t4_l · sd_k

Of joints that share a coordinate, all of these are added up before the products: they
have one row and one column, that of the leader's degree of freedom (`clusters`).

Columns of a floating base are M z: where a robot is does not matter to it, nor how fast
it moves along a line (`base_motions`). So M⁻¹ times these needs no solve.
"""  # noqa: E501  equations side by side

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from ramidyn.algorithms.clusters import (
    Block,
    Clusters,
    add_entry,
    blocks_of,
    mimic_clusters,
)
from ramidyn.algorithms.coriolis import second_moments
from ramidyn.algorithms.kinematics import (
    joint_motion,
    root_name,
    root_poses,
    seen_force,
    seen_motion,
    transforms,
)
from ramidyn.algorithms.ltdl import TreeEntries
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia, symmetric
from ramidyn.spatial.vector3 import ZERO, ZERO3, Mat, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree


@final
@dataclass(slots=True, eq=False)
class PointSums:
    """The terms that the derivatives need of some bodies, except forces."""

    m: Expr
    h: Vec
    J: Mat
    f: Vec
    K: Mat

    @staticmethod
    def of(inertia: RigidInertia, R: Mat, p: Vec, v: Motion) -> PointSums:
        """Return the points of a body with axes R and origin p, moving with v."""
        m, h = inertia.m, R @ inertia.h
        J = _shifted_inertia(_turned_inertia(R, second_moments(inertia)), h, p, m)
        h = h + p * m
        K = _plus(Mat(map(v.w.cross, J)).T, v.v, h)
        return PointSums(m, h, J, v.v * m + v.w.cross(h), K)

    def __add__(self, other: PointSums) -> PointSums:
        return PointSums(
            self.m + other.m,
            self.h + other.h,
            symmetric(lambda i, j: self.J[i][j] + other.J[i][j]),
            self.f + other.f,
            self.K + other.K,
        )

    def force(self, v: Motion, a: Motion) -> Force:
        """Return the force on a body that moves with v and a."""
        n = _inertia(self.K, v.w) + (_inertia(self.J, a.w) + self.h.cross(a.v))
        return Force(n, v.w.cross(self.f) + (a.v * self.m + a.w.cross(self.h)))

    def momentum(self, s: Motion) -> Force:
        """Return Ic s."""
        n = _inertia(self.J, s.w) + self.h.cross(s.v)
        return Force(n, s.v * self.m - self.h.cross(s.w), s.frame)

    def drag(self, s: Motion) -> Force:
        """Return B s."""
        w = s.w + s.w
        return Force(_inertia(self.K, w), w.cross(self.f), s.frame)

    def drag_transposed(self, s: Motion) -> Vec:
        """Return the moment of Bᵀ s, which has no force."""
        return _inertia(self.K.T, s.w + s.w) + self.f.cross(s.v + s.v)


@final
@dataclass(slots=True, eq=False)
class MovingAxis:
    """A degree of freedom, and how its twist changes."""

    s: Motion
    sd: Motion
    sj: Motion


@final
@dataclass(frozen=True, slots=True, eq=False)
class Derivatives:
    """τ, without the forces on rotors, and its derivatives where they are not zero."""

    tau: dict[int, Expr]
    q: TreeEntries
    qd: TreeEntries


@final
class CommonFrame:
    """A moving tree, each body in coordinates of its root body."""

    def __init__(self, tree: Tree, q: JointVector, qd: JointVector) -> None:
        self.tree, self.qd = tree, qd
        self.X = transforms(tree, q)
        self.poses = root_poses(tree, self.X)
        self.v: dict[int, Motion] = {ROOT: Motion.zero()}
        self.axes: dict[int, MovingAxis] = {}
        self.body: dict[int, PointSums] = {}
        for i, parent in outward(tree, "motion"):
            R, p = self.poses[i]
            root = root_name(tree, i)
            S = tuple(seen_motion(R, p, s, root) for s in tree.bodies[i].columns())
            vp, vJ = self.v[parent], joint_motion(S, qd[i])
            for k, s in zip(tree.dofs[i], S, strict=True):
                sd = vp.cross(s)
                sj = sd + sd if len(S) == 1 else sd + sd + vJ.cross(s)
                self.axes[k] = MovingAxis(s, sd, sj)
            self.v[i] = vp + vJ
            inertia = tree.bodies[i].rigid_inertia()
            self.body[i] = PointSums.of(inertia, R, p, self.v[i])
        self.s = {k: x.s for k, x in self.axes.items()}
        self.beyond = dict(self.body)
        self.M: TreeEntries = {}
        """without the inertia of rotors"""
        self.t1: dict[int, Force] = {}
        self.clusters = mimic_clusters(tree)
        self.blocks = blocks_of(tree, self.clusters)
        for i, parent in inward(tree, "mass matrix"):
            if parent != ROOT:
                self.beyond[parent] = self.beyond[parent] + self.beyond[i]
            self._add_masses(i)
        for l in self.clusters.G:
            self._add_blocks(l)

    def _add_masses(self, i: int) -> None:
        """Add the rows of M of body i, the lower triangle."""
        dofs = self.tree.dofs[i]
        for row, l in enumerate(dofs):
            t1 = self.t1[l] = self.beyond[i].momentum(self.axes[l].s)
            for k in dofs[:row]:
                self.M[l, k] = self.axes[k].s.dot(t1)
            for y, g in self.clusters.coordinates(l).items():
                add_entry(self.M, y, y, self.axes[l].s.dot(t1) * g * g)
            if l not in self.clusters.G:
                self._add_blocks(l)

    def _add_blocks(self, l: int) -> None:
        """Add the entries of M that the last joint of a coordinate completes."""
        weighted = self.clusters.weighted
        for b in self.blocks.get(l, ()):
            x = weighted(b.z, b.above, self.s).dot(weighted(b.y, b.below, self.t1))
            pair = max(b.y, b.z), min(b.y, b.z)
            add_entry(self.M, *pair, x + x if b.y == b.z else x)

    def forces(
        self,
        qdd: JointVector,
        gravity: Vec,
        external: Mapping[int, Force] | None = None,
    ) -> tuple[dict[int, Motion], dict[int, Force], dict[int, Expr]]:
        """Return accelerations, forces across joints, and τ."""
        tree = self.tree
        a: dict[int, Motion] = {}
        F: dict[int, Force] = {}
        for i, _ in outward(tree, "acceleration"):
            axes = [self.axes[k] for k in tree.dofs[i]]
            aJ = joint_motion(tuple(x.s for x in axes), qdd[i])
            for x, rate in zip(axes, self.qd[i], strict=True):
                aJ = aJ + x.sd * rate
            a[i] = self.before(i, a, gravity) + aJ
            F[i] = self.body[i].force(self.v[i], a[i])
            if external and i in external:
                root = root_name(tree, i)
                F[i] = F[i] - seen_force(*self.poses[i], external[i], root)
        tau: dict[int, Expr] = {}
        for i, parent in inward(tree, "forces"):
            if parent != ROOT:
                F[parent] = F[parent] + F[i]
            for k in tree.dofs[i]:
                tau[k] = self.axes[k].s.dot(F[i])
        return a, F, tau

    def before(self, i: int, a: Mapping[int, Motion], gravity: Vec) -> Motion:
        """Return the acceleration of the parent of i, gravity included."""
        parent = self.tree.parents[i]
        if parent != ROOT:
            return a[parent]
        return Motion(ZERO3, -self.X[i].rotate(gravity), self.tree.name(i))

    def derivatives(
        self,
        qdd: JointVector,
        gravity: Vec,
        external: Mapping[int, Force] | None = None,
    ) -> Derivatives:
        """Return τ and its derivatives with respect to q and q̇, at an acceleration."""
        a, F, tau = self.forces(qdd, gravity, external)
        d = Derivatives(self._by_coordinate(tau), {}, {})
        t = _Terms(self.t1)
        for i, parent in outward(self.tree, "derivatives"):
            ap, vp = self.before(i, a, gravity), self.v[parent]
            c, dofs = self.beyond[i], self.tree.dofs[i]
            for k in dofs:
                x = self.axes[k]
                t.s[k], t.sj[k], t.turn[k] = x.s, x.sj, x.sd.w
                t.sdd[k] = ap.cross(x.s) + vp.cross(x.sd)
            for l in dofs:
                x = self.axes[l]
                t.t2[l], t.t4[l] = (
                    c.drag(x.s) + c.momentum(x.sj),
                    c.drag_transposed(x.s),
                )
                t.t3[l] = c.drag(x.sd) + c.momentum(t.sdd[l])
                for k in dofs:
                    s = self.axes[k].s
                    self._add_own(d.q, k, l, s.dot(t.t3[l]))
                    self._add_own(d.qd, k, l, s.dot(t.t2[l]))
                t.t3[l] = t.t3[l] + x.s.cross_force(F[i])
                for b in self.blocks.get(l, ()):
                    t.add_block(d, b, self.clusters)
        return d

    def base_motions(
        self, i: int, gravity: Vec
    ) -> tuple[dict[int, Motion], dict[int, Motion]]:
        """Return z of a floating base: ∂τ/∂q = M z, and ∂τ/∂q̇ = M z for its v.

        If a robot is turned, gravity turns. If it is only faster, nothing happens, but
        that its velocity turns with its axes.
        """
        dofs, a = self.tree.dofs[i], self.before(i, {}, gravity)
        q = {k: a.cross(self.s[k]) for k in dofs}
        return q, {k: self.axes[k].sj for k in dofs[3:]}

    def _add_own(self, entries: TreeEntries, k: int, l: int, x: Expr) -> None:
        """Add an entry of two degrees of freedom of one joint."""
        for y, g in self.clusters.coordinates(k).items():
            for z, h in self.clusters.coordinates(l).items():
                add_entry(entries, y, z, x * g * h)

    def _by_coordinate(self, tau: Mapping[int, Expr]) -> dict[int, Expr]:
        """Return forces with those of followers added to their leaders'."""
        found = dict.fromkeys(tau, ZERO)
        for k, x in tau.items():
            for y, g in self.clusters.coordinates(k).items():
                found[y] = found[y] + x * g
        return found


@final
@dataclass(slots=True, eq=False)
class _Terms:
    """The terms of the equations by degree of freedom; ``turn`` is w of sd."""

    t1: dict[int, Force]
    t2: dict[int, Force] = field(default_factory=dict[int, Force])
    t3: dict[int, Force] = field(default_factory=dict[int, Force])
    t4: dict[int, Vec] = field(default_factory=dict[int, Vec])
    s: dict[int, Motion] = field(default_factory=dict[int, Motion])
    sj: dict[int, Motion] = field(default_factory=dict[int, Motion])
    sdd: dict[int, Motion] = field(default_factory=dict[int, Motion])
    turn: dict[int, Vec] = field(default_factory=dict[int, Vec])

    def add_block(self, d: Derivatives, b: Block, clusters: Clusters) -> None:
        """Add the products of the sums over one block."""
        sum_of, y, z = clusters.weighted, b.y, b.z
        s = sum_of(z, b.above, self.s)
        add_entry(d.q, z, y, s.dot(sum_of(y, b.below, self.t3)))
        add_entry(d.qd, z, y, s.dot(sum_of(y, b.below, self.t2)))
        t1, t4 = sum_of(y, b.below, self.t1), sum_of(y, b.below, self.t4)
        sdd, turn = sum_of(z, b.above, self.sdd), sum_of(z, b.above, self.turn)
        add_entry(d.q, y, z, t1.dot(sdd) + t4.dot(turn))
        add_entry(d.qd, y, z, t1.dot(sum_of(z, b.above, self.sj)) + t4.dot(s.w))


def _inertia(J: Mat, w: Vec) -> Vec:
    """Return tr(J) w − J w."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = J
    return Vec(
        (
            (yy + zz) * w[0] - xy * w[1] - xz * w[2],
            (xx + zz) * w[1] - yx * w[0] - yz * w[2],
            (xx + yy) * w[2] - zx * w[0] - zy * w[1],
        )
    )


def _turned_inertia(R: Mat, J: Mat) -> Mat:
    """Return R J Rᵀ of a symmetric J."""
    A = R @ J
    return symmetric(lambda i, j: A[i].dot(R[j]))


def _shifted_inertia(J: Mat, h: Vec, p: Vec, m: Expr) -> Mat:
    """Return ∫ρ (r + p)(r + p)ᵀ."""
    g = h + p * m
    return symmetric(lambda i, j: J[i][j] + (h[i] * p[j] + p[i] * g[j]))


def _plus(A: Mat, u: Vec, h: Vec) -> Mat:
    """Return A + u hᵀ."""
    return Mat(Vec(A[i][j] + u[i] * h[j] for j in range(3)) for i in range(3))
