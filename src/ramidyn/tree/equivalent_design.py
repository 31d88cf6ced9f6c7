"""Another robot that can be built, with the same equation of motion (Featherstone).

Masses on the axis of a revolute joint may belong to either of its bodies: mass m,
moment h_z, and a rod along the axis. Compiled dynamics moves all of that toward the
root, which leaves bodies with a moment and no mass. Here as much is moved as leaves a
body that can exist. Its mass distribution is that of

    [ Σ  h ]                     Σ = ∫ r rᵀ dm,  I = tr(Σ) 1 − Σ
    [ hᵀ m ]  ≥ 0

The entries m, h_z and Σ_zz can move; the least that may stay is their Schur complement

    [ m    h_z  ]        [ hₓ   h_y ]             [ hₓ  Σxz ]
    [ h_z  Σ_zz ]   =    [ Σxz  Σyz ]  Σ_xy⁻¹     [ h_y Σyz ]

a lamina across the axis. A part of what could move stays, so that bodies have some
thickness and files of them load everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ramidyn.description.description import BodyDescription, Description, Inertial
from ramidyn.description.pose import Array
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT, BodyInertia

STAYS = 0.05
"""the part of what could move that stays"""
REVOLUTE = {"m", "hz", "rod"}
"""what may move across a revolute joint"""


def equivalent_design(model: Model) -> Description:
    """Return the robot with masses moved toward the root, as far as bodies can exist.

    Masses move across revolute joints between two bodies of the description. What
    reaches the world is left out: it does not move.
    """
    description = model.description
    assert description is not None
    owners = _owners(model, description.bodies)
    inertias = [b.inertia for b in model.tree.bodies]
    for i, p in reversed(model.tree):
        joint = model.tree.bodies[i].joint
        if i not in owners or set(joint.type.shared_inertia) != REVOLUTE:
            continue
        if owners[i].joints[0].name != joint.name or (p != ROOT and p not in owners):
            continue  # between two joints of one body: no file has a mass there
        moved = movable_part(inertias[i])
        inertias[i] = inertias[i] - moved
        if p != ROOT:
            seen = moved.seen_from(model.tree.bodies[i].placement)
            inertias[p] = inertias[p] + seen
    placed: dict[str, Inertial | None] = {}
    for i, body in owners.items():
        outer = model.frames[body.name].placement.inverse()
        placed[body.name] = _inertial(inertias[i].seen_from(outer))
    bodies = [
        b
        if model.frames[b.name].body == ROOT
        else replace(b, inertial=placed.get(b.name))
        for b in description.bodies
    ]
    return replace(description, bodies=tuple(bodies))


def movable_part(inertia: BodyInertia) -> BodyInertia:
    """Return what a body can give to its parent across the z axis, and still exist."""
    I = inertia.I
    second: Array = np.trace(I) / 2 * np.eye(3) - I
    hx, hy, hz = inertia.h
    across: Array = np.array([[hx, second[0, 2]], [hy, second[1, 2]]])
    within: Any = np.linalg.pinv(second[:2, :2], rcond=1e-12)
    least: Array = np.transpose(across) @ within @ across
    own: Array = np.array([[inertia.m, hz], [hz, second[2, 2]]])
    given: Array = (1.0 - STAYS) * (own - least)
    if np.linalg.eigvalsh(given)[0] < 0:  # a body that cannot exist stays as it is
        return BodyInertia.zero()
    m, hz, rod = float(given[0, 0]), float(given[0, 1]), float(given[1, 1])
    return BodyInertia(m, (0.0, 0.0, hz), (rod, 0.0, 0.0, rod, 0.0, 0.0))


def _owners(
    model: Model, bodies: Sequence[BodyDescription]
) -> dict[int, BodyDescription]:
    """Return the described bodies with joints, by the tree body that each is."""
    return {model.frames[b.name].body: b for b in bodies if b.joints}


def _inertial(inertia: BodyInertia) -> Inertial | None:
    """Return mass, center and inertia about it; None for nothing."""
    if inertia.m <= 0.0:
        return None
    c: Array = np.array(inertia.h) / inertia.m
    about = inertia.I - inertia.m * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return Inertial(inertia.m, c, about)
