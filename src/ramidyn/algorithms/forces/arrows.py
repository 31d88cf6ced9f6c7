"""Forces as arrows: where each force element acts on a body, and with what force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ramidyn.algorithms.forces.applied import ForceScene
from ramidyn.algorithms.forces.contact_forces import contact_point
from ramidyn.algorithms.forces.elements import element_forces
from ramidyn.algorithms.forces.relative import point_of
from ramidyn.description.forces.bodies import ORIGIN, Bushing, PointSpring
from ramidyn.description.forces.contacts import PointContact, SphereContact, Tire
from ramidyn.description.forces.element import ForceElement
from ramidyn.spatial.vector3 import Vec
from ramidyn.tree.tree import ROOT

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
