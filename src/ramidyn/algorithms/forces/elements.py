"""Every kind of force element: its force, as an arrow too, and the energy it stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ramidyn.algorithms.forces import (
    body_forces,
    contact_forces,
    joint_forces,
)
from ramidyn.algorithms.forces.applied import Applied, ForceScene, point_of
from ramidyn.algorithms.forces.contact_forces import contact_point
from ramidyn.algorithms.forces.joint_forces import actuator_forces
from ramidyn.description.forces.bodies import (
    ORIGIN,
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
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import ROOT

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
    """Return the forces that some elements apply."""
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


WithArrows: TypeAlias = PointSpring | Bushing | PointContact | SphereContact | Tire
"""elements whose force acts at a point"""


def force_arrows(
    scene: ForceScene, elements: Sequence[ForceElement]
) -> list[list[Vec]]:
    """Return [point, force] in the world, for every element and body it acts on."""
    return [
        arrow
        for element in elements
        if isinstance(element, WithArrows)
        for arrow in _arrows(scene, element)
    ]


def _arrows(scene: ForceScene, element: WithArrows) -> list[list[Vec]]:
    acting = element_forces(scene, [element]).bodies
    found: list[list[Vec]] = []
    for i, x in _points(scene, element):
        if i != ROOT:
            leg = scene.leg(i)
            found.append([leg.point(x), leg.R @ acting[i].f])
    return found


def _points(scene: ForceScene, element: WithArrows) -> list[tuple[int, Vec]]:
    """Return the bodies that an element acts on, and where, in their coordinates."""
    if not isinstance(element, PointSpring | Bushing):
        i = scene.model.frame(element.frame).body
        return [(i, contact_point(scene, element))]
    a, b = (scene.model.frame(n) for n in (element.frame_a, element.frame_b))
    if a.body == b.body:
        return []  # within one body
    x_b = point_of(b, element.point_b if isinstance(element, PointSpring) else ORIGIN)
    if isinstance(element, PointSpring):
        return [(a.body, point_of(a, element.point_a)), (b.body, x_b)]
    leg_a, leg_b = scene.leg(a.body), scene.leg(b.body)
    x_a = leg_a.R.T @ (leg_b.point(x_b) - leg_a.p)
    return [(a.body, x_a), (b.body, x_b)]
