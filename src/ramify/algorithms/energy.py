"""Kinetic and potential energy (RBDA §5.1).

T = ½ Σ vᵢᵀ Iᵢ vᵢ + ½ Σ armature q̇²          V = −Σ mᵢ cᵢ · g
"""

from __future__ import annotations

from ramify.algorithms.momentum import center_of_mass, mass
from ramify.algorithms.motion import joint_motion, transforms
from ramify.model.coordinates import JointVector
from ramify.model.tree import ROOT, Tree
from ramify.spatial.inertia import RigidInertia
from ramify.spatial.vector3 import ZERO, Vec, cross, dot, plus, times
from ramify.spatial.vectors import Motion
from ramify.symbolic.expr import Expr, region


def kinetic_energy(tree: Tree, q: JointVector, qd: JointVector) -> Expr:
    """Return T, the rotors' included: T = ½ q̇ᵀ M q̇.

    Regrouping leaves it alone: masses on the axis of a joint move alike on either side.
    """
    X = transforms(tree, q)
    v = {ROOT: Motion.zero()}
    double = ZERO
    for i, p in tree:
        region(f"kinetic energy {tree.bodies[i].name}")
        joint = tree.bodies[i].joint
        v[i] = X[i] @ v[p] + joint_motion(joint.columns(), qd[i])
        double = double + twice_energy(tree.bodies[i].rigid_inertia(), v[i])
        for x in qd[i]:
            double = double + x * x * joint.armature
    return double * 0.5


def twice_energy(inertia: RigidInertia, v: Motion) -> Expr:
    """Return vᵀ I v = wᵀ I w + m v·v + 2 h · (v × w)."""
    h = inertia.h
    return (
        dot(times(inertia.I, v.w), v.w)
        + inertia.m * dot(v.v, v.v)
        + dot(plus(h, h), cross(v.v, v.w))
    )


def potential_energy(tree: Tree, q: JointVector, gravity: Vec) -> Expr:
    """Return V, zero where all mass is at the world's origin."""
    m = mass(tree)
    if m is ZERO:
        return ZERO
    weight = tuple(g * -m for g in gravity)
    return dot(weight, center_of_mass(tree, q))  # type: ignore[arg-type]
