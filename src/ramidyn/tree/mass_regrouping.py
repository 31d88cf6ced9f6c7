"""Move inertia across joints, leaves to root, without changing the equation of motion.

Inertia that is the same seen from both sides of a joint, at every joint position, may
belong to either side (Featherstone's notes; the base parameters of identification):

    revolute    masses on the axis: m, h_z, and J of a rod along z, I = diag(J, J, 0)
    prismatic   I, which does not depend on where its body is
    helical     J of a rod along z
    planar      J of a rod along z
    spherical   a point mass at the center

It is moved where that leaves no more nonzero parameters than there were. Afterwards
most masses and several moments are zero. What moved moves alike on both sides, so the
equation of motion, kinetic energy and momentum stay; the center of mass and the
potential energy change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar, final

from ramidyn.description.joint_interface import SimpleJoint
from ramidyn.errors import printable
from ramidyn.tree.tree import ROOT, BodyInertia, Tree, nonzeros


@final
@dataclass(frozen=True, slots=True)
class MassTransfer:
    """What one body gave to its parent, without a change to the equation of motion."""

    body: str
    parent: str | None
    """None: the world, which does not feel it"""
    mass: float
    """[kg]"""
    inertia: tuple[float, ...]
    """about the joint: h = m c [kg m] (3), and I [kg m²] as xx, xy, xz, yy, yz, zz"""


RobotType = TypeVar("RobotType")


@final
@dataclass(frozen=True, slots=True)
class Regrouping(Generic[RobotType]):
    """A simpler robot with the same equation of motion; print it."""

    robot: RobotType
    """the simpler robot: its dynamics, kinetic energy and momentum are the same; its
    center of mass and potential energy are not, and a mass may be negative"""
    moves: tuple[MassTransfer, ...]
    """what moved, from the tips to the root"""
    massless: tuple[str, ...]
    """bodies without mass now"""
    bodies: int
    """how many there are"""
    parameters: tuple[int, int]
    """nonzero inertial parameters before and after"""

    def __str__(self) -> str:
        before, after = self.parameters
        lines = [
            f"{before} nonzero inertial parameters become {after}; "
            f"{len(self.massless)} of {self.bodies} bodies have no mass"
        ]
        for move in self.moves:
            to = "the world" if move.parent is None else move.parent
            lines.append(f"  {move.body} -> {to}: {move.mass:.4g} kg")
        return printable("\n".join(lines))


def regroup(tree: Tree) -> Tree:
    """Return the tree with inertia moved toward the root where possible."""
    return regrouping(tree)[0]


def regrouping(tree: Tree) -> tuple[Tree, tuple[MassTransfer, ...]]:
    """Return the regrouped tree, and what moved, from the tips to the root."""
    inertias = [b.inertia for b in tree.bodies]
    moves: list[MassTransfer] = []
    for i, p in reversed(tree):
        body = tree.bodies[i]
        moved = movable(body.joint.type, inertias[i])
        if moved is None or body.steps is not None:
            continue
        own = inertias[i]
        left = own - moved
        if p != ROOT:
            carried = inertias[p] + moved.seen_from(body.placement)
            before = nonzeros(own) + nonzeros(inertias[p])
            if nonzeros(left) + nonzeros(carried) > before:
                continue
            inertias[p] = carried
        inertias[i] = left
        if nonzeros(moved):
            parent = None if p == ROOT else tree.bodies[p].name
            numbers = (*moved.h, *moved.upper)
            moves.append(MassTransfer(body.name, parent, moved.m, numbers))
    bodies = [replace(b, inertia=I) for b, I in zip(tree.bodies, inertias, strict=True)]
    return Tree(tuple(bodies), tree.gravity), tuple(moves)


def movable(joint: SimpleJoint, inertia: BodyInertia) -> BodyInertia | None:
    """Return the part of an inertia that its parent may carry instead."""
    shared = joint.shared_inertia
    if not shared:
        return None
    m, hz, J = inertia.m, inertia.h[2], inertia.upper[3]
    rod = (J, 0.0, 0.0, J, 0.0, 0.0) if "rod" in shared else (0.0,) * 6
    return BodyInertia(
        m if "m" in shared else 0.0,
        (0.0, 0.0, hz if "hz" in shared else 0.0),
        inertia.upper if "I" in shared else rod,
    )
