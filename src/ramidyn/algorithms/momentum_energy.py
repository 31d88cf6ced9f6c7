"""The center of mass, the momentum about it (Orin, Goswami & Lee 2013), and energy.

    h = A(q) q̇          A_k = Ic_i S_k as seen from the center of mass, in world axes

    Ic[i]  inertia of i and all beyond it, as one body     m  mass of all bodies
    R[i]   axes of body i in world axes                    d  from the center to i

The center is measured from the root where there is only one, so that nothing depends
on how far the robot has gone.

Kinetic and potential energy (RBDA §5.1):

    T = ½ Σ vᵢᵀ Iᵢ vᵢ + ½ Σ armature q̇²          V = −Σ mᵢ cᵢ · g
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.crba import composite_inertias, rigid_inertias
from ramidyn.algorithms.kinematics import axes, spatial_velocities, transforms
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.errors import ModelError
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.vector3 import ONE, ZERO, ZERO3, ZERO33, Mat, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree


@final
@dataclass(frozen=True, slots=True, eq=False)
class Momenta:
    """Momenta by the tree's degrees of freedom, in world axes."""

    A: dict[int, Force]
    parent_axes: dict[int, Mat]
    """of floating joints: the axes of their parent's side"""
    masses: dict[int, Expr]
    """of each body and all beyond it"""


def mass(tree: Tree) -> Expr:
    """Return the mass of all bodies."""
    return subtree_masses(tree)[ROOT]


def _mass_reciprocal(tree: Tree) -> Expr:
    m = mass(tree)
    if m.is_zero:
        raise ModelError("no moving body has mass, so the center of mass is undefined")
    return ONE / m


def subtree_masses(tree: Tree) -> dict[int, Expr]:
    """Return the mass of each body and all beyond it, and of all."""
    m = {ROOT: ZERO}
    for i, _ in tree:
        m[i] = tree.bodies[i].rigid_inertia().m
    for i, p in reversed(tree):
        m[p] = m[p] + m[i]
    return m


def first_moments(tree: Tree) -> tuple[dict[int, RigidInertia], Expr]:
    """Return inertias without second moments, and the factor that makes them per mass.

    The factor is part of the inertias already where masses are numbers.
    """
    factor = _mass_reciprocal(tree)
    now, later = (factor, ONE) if factor.op == "const" else (ONE, factor)
    moments: dict[int, RigidInertia] = {}
    for i, _ in tree:
        I = tree.bodies[i].rigid_inertia()
        moments[i] = RigidInertia(now * I.m, I.h * now, ZERO33, I.frame)
    return moments, later


def center_of_mass(tree: Tree, q: JointVector) -> Vec:
    """Return the center of mass in the world."""
    moments, factor = first_moments(tree)
    return composite_inertias(tree, transforms(tree, q), moments)[ROOT].h * factor


def center_of_mass_jacobian(tree: Tree, q: JointVector) -> Momenta:
    """Return, as linear momenta, the velocities of the center of mass per q̇."""
    moments, factor = first_moments(tree)
    Ic = composite_inertias(tree, transforms(tree, q), moments)
    a = axes(tree, q, range(len(tree)))
    shares = {i: I.m * factor for i, I in Ic.items()}
    found = Momenta({}, a.parent_axes, shares)
    for i, _ in outward(tree, "center of mass"):
        for k, s in zip(tree.dofs[i], tree.bodies[i].columns(), strict=True):
            f = (Ic[i] @ s).f * factor
            found.A[k] = Force(ZERO3, a.R[i] @ f)
    return found


def centroidal_momentum(
    tree: Tree, q: JointVector, qd: JointVector, regrouped: Tree
) -> Force:
    """Return the momentum of all bodies about the center of mass, in world axes.

    ``regrouped`` may stand for the tree, except for its center: masses on the axis of a
    joint move alike on either side of it, and those moved into the world are at rest.
    """
    X = transforms(tree, q)
    h = {ROOT: Force.zero()}
    v = spatial_velocities(tree, q, qd)
    for i, _ in outward(tree, "momentum"):
        h[i] = regrouped.bodies[i].rigid_inertia() @ v[i]
    for i, p in inward(tree, "total momentum"):
        h[p] = h[p] + X[i].back(h[i])
    i = _reference(tree)
    moments, factor = first_moments(tree)
    c = composite_inertias(tree, X, moments)[i].h * factor
    n, f = h[i].n - c.cross(h[i].f), h[i].f
    if i == ROOT:
        return Force(n, f)
    return Force(X[i].rotate_back(n), X[i].rotate_back(f))


def centroidal_momentum_matrix(tree: Tree, q: JointVector) -> Momenta:
    """Return the columns of A."""
    Ic = composite_inertias(tree, transforms(tree, q), rigid_inertias(tree))
    a = axes(tree, q, range(len(tree)))
    found = Momenta({}, a.parent_axes, {i: I.m for i, I in Ic.items()})
    root = _reference(tree)
    c = a.R[root] @ (Ic[root].h * _mass_reciprocal(tree))
    d = {root: -c}
    for i, p in outward(tree, "momentum"):
        if i != root:
            d[i] = d[p] + a.r[i]
        for k, s in zip(tree.dofs[i], tree.bodies[i].columns(), strict=True):
            F = Ic[i] @ s
            f = a.R[i] @ F.f
            n = a.R[i] @ F.n + d[i].cross(f)
            if i == root and all(x.is_zero for x in s.w):
                n = ZERO3  # all bodies translate: no moment about their center
            found.A[k] = Force(n, f)
    return found


def _reference(tree: Tree) -> int:
    """Return the common root body of all others, or the world."""
    return tree.roots[0] if len(tree.roots) == 1 else ROOT


def kinetic_energy(tree: Tree, q: JointVector, qd: JointVector) -> Expr:
    """Return T, including the rotors: T = ½ q̇ᵀ M q̇.

    Regrouping leaves it alone: masses on the axis of a joint move alike on either side.
    """
    v = spatial_velocities(tree, q, qd)
    double = ZERO
    for i, _ in outward(tree, "kinetic energy"):
        joint = tree.bodies[i].joint
        double = double + twice_energy(tree.bodies[i].rigid_inertia(), v[i])
        for x in qd[i]:
            double = double + x * x * joint.armature
    return double * 0.5


def twice_energy(inertia: RigidInertia, v: Motion) -> Expr:
    """Return vᵀ I v = wᵀ I w + m v·v + 2 h · (v × w)."""
    h, m = inertia.h, inertia.m
    turning = (inertia.I @ v.w).dot(v.w)
    return turning + m * v.v.dot(v.v) + (h + h).dot(v.v.cross(v.w))


def potential_energy(tree: Tree, q: JointVector, gravity: Vec) -> Expr:
    """Return V, zero if all mass is at the world's origin."""
    m = mass(tree)
    if m.is_zero:
        return ZERO
    weight = Vec(g * -m for g in gravity)
    return weight.dot(center_of_mass(tree, q))
