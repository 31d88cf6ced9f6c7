"""Kinetic and potential energy (RBDA §5.1).

T = ½ Σ vᵢᵀ Iᵢ vᵢ + ½ Σ armature q̇²          V = −Σ mᵢ cᵢ · g
"""

from __future__ import annotations

from ramidyn.algorithms.kinematics import spatial_velocities
from ramidyn.algorithms.momentum import center_of_mass, mass
from ramidyn.algorithms.sweeps import outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import Tree


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
