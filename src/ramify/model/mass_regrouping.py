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

from dataclasses import replace

from ramify.model.constants import ORIGIN
from ramify.model.tree import ROOT, BodyInertia, Tree, nonzeros


def regroup(tree: Tree) -> Tree:
    """Return the tree with inertia moved toward the root where possible."""
    inertias = [b.inertia for b in tree.bodies]
    for i, p in reversed(tree):
        body = tree.bodies[i]
        moved = movable(body.joint.kind, inertias[i])
        if moved is None or body.steps is not None:
            continue
        own = inertias[i]
        left = own - moved
        if p == ROOT:
            inertias[i] = left
            continue
        carried = inertias[p] + moved.seen_from(body.placement)
        before = nonzeros(own) + nonzeros(inertias[p])
        if nonzeros(left) + nonzeros(carried) <= before:
            inertias[i], inertias[p] = left, carried
    bodies = [replace(b, inertia=I) for b, I in zip(tree.bodies, inertias, strict=True)]
    return Tree(tuple(bodies), tree.gravity)


def movable(kind: str, inertia: BodyInertia) -> BodyInertia | None:
    """Return the part of an inertia that its parent may carry instead."""
    J = inertia.upper[3]
    rod = (J, 0.0, 0.0, J, 0.0, 0.0)
    if kind == "revolute":
        return BodyInertia(inertia.m, (0.0, 0.0, inertia.h[2]), rod)
    if kind == "prismatic":
        return BodyInertia(0.0, ORIGIN, inertia.upper)
    if kind in ("helical", "planar"):
        return BodyInertia(0.0, ORIGIN, rod)
    if kind == "spherical":
        return BodyInertia(inertia.m, ORIGIN, (0.0,) * 6)
    return None
