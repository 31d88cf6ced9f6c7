"""What the entries of q and q̇ are called, and their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.coordinates.coordinates import public_halves
from ramidyn.description.conventions import Conventions
from ramidyn.description.joint_types import joint_type
from ramidyn.tree.model import Model, PublicJoint


@final
@dataclass(frozen=True, slots=True)
class Label:
    """The name of one coordinate, such as "elbow" or "base vx", and its unit."""

    name: str
    unit: str
    """coordinates: "rad", "m", or "" (quaternions); velocities: "rad/s" or "m/s" """


def configuration_labels(model: Model, conventions: Conventions) -> list[Label]:
    """Return a label for every entry of q."""
    labels = [Label("", "")] * model.nq
    for joint in model.joints:
        type_ = joint_type(joint.name, joint.type)
        entries = type_.coordinates
        if conventions.quaternion == "wxyz":
            entries = type_.scalar_first(entries)
        labels[joint.q_slice] = _labels(joint, entries)
    return labels


def velocity_labels(model: Model, conventions: Conventions) -> list[Label]:
    """Return a label for every entry of q̇."""
    labels = [Label("", "")] * model.nv
    for joint in model.joints:
        type_ = joint_type(joint.name, joint.type)
        entries = public_halves(type_, conventions, type_.velocities)
        labels[joint.v_slice] = _labels(joint, entries, "/s")
    return labels


def force_unit(velocity_unit: str) -> str:
    """Return the unit of the joint force that does work at a velocity."""
    return {"rad/s": "N m", "m/s": "N"}.get(velocity_unit, "")


def _labels(
    joint: PublicJoint, entries: Sequence[tuple[str, str]], per: str = ""
) -> list[Label]:
    return [Label(f"{joint.name} {e}".strip(), unit + per) for e, unit in entries]
