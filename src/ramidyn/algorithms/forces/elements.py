"""Every kind of force element: what it applies, and the energy it stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ramidyn.algorithms.forces import (
    body_forces,
    contact_forces,
    joint_forces,
)
from ramidyn.algorithms.forces.actuator_forces import actuator_forces
from ramidyn.algorithms.forces.applied import Applied, ForceScene
from ramidyn.description.forces.bodies import (
    Bushing,
    GravityCompensation,
    PointSpring,
    TorsionSpring,
)
from ramidyn.description.forces.contacts import PointContact, SphereContact, Tire
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.joints import (
    JointDamper,
    JointFriction,
    JointLimit,
    JointSpring,
    Tendon,
)
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.expr import Expr, region

FORCES: Final[dict[type, Callable[[ForceScene, Any, Applied], None]]] = {
    JointSpring: joint_forces.joint_spring,
    JointDamper: joint_forces.joint_damper,
    JointFriction: joint_forces.joint_friction,
    JointLimit: joint_forces.joint_limit,
    Tendon: joint_forces.tendon,
    PointSpring: body_forces.point_spring,
    TorsionSpring: body_forces.torsion_spring,
    Bushing: body_forces.bushing,
    GravityCompensation: body_forces.gravity_compensation,
    PointContact: contact_forces.contact,
    SphereContact: contact_forces.contact,
    Tire: contact_forces.tire,
}
"""what adds an element's force; actuators come together, and functions of users from
where the public state is"""

ENERGIES: Final[dict[type, Callable[[ForceScene, Any], Expr]]] = {
    JointSpring: joint_forces.joint_spring_energy,
    JointLimit: joint_forces.joint_limit_energy,
    Tendon: joint_forces.tendon_energy,
    PointSpring: body_forces.point_spring_energy,
    TorsionSpring: body_forces.torsion_spring_energy,
    Bushing: body_forces.bushing_energy,
    GravityCompensation: body_forces.gravity_compensation_energy,
    PointContact: contact_forces.contact_energy,
    SphereContact: contact_forces.contact_energy,
    Tire: contact_forces.tire_energy,
}


def element_forces(scene: ForceScene, elements: Sequence[ForceElement]) -> Applied:
    """Return what some elements apply."""
    applied = Applied()
    for element in elements:
        if type(element) in FORCES:
            region(f"force {element.name}")
            FORCES[type(element)](scene, element, applied)
    actuator_forces(scene, elements, applied)
    return applied


def stored_energy(scene: ForceScene, elements: Sequence[ForceElement]) -> Expr:
    """Return the energy in springs and all else that gives it back."""
    total = ZERO
    for element in elements:
        if type(element) in ENERGIES:
            region(f"force {element.name}")
            total = total + ENERGIES[type(element)](scene, element)
    return total
