"""What the entries of q and q̇ are called, and their units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.description.conventions import Conventions
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
        entries = _configuration(joint, conventions)
        labels[joint.q_slice] = _labels(joint, entries, joint.nq)
    return labels


def velocity_labels(model: Model, conventions: Conventions) -> list[Label]:
    """Return a label for every entry of q̇."""
    labels = [Label("", "")] * model.nv
    for joint in model.joints:
        entries = [(name, f"{unit}/s") for name, unit in _velocity(joint, conventions)]
        labels[joint.v_slice] = _labels(joint, entries, joint.nv)
    return labels


def force_unit(velocity_unit: str) -> str:
    """Return the unit of the joint force that does work at a velocity."""
    return {"rad/s": "N m", "m/s": "N"}.get(velocity_unit, "")


_POSITION = [("x", "m"), ("y", "m"), ("z", "m")]


def _configuration(
    joint: PublicJoint, conventions: Conventions
) -> list[tuple[str, str]]:
    quaternion = [(f"q{c}", "") for c in conventions.quaternion]
    match joint.type:
        case "floating":
            return [*_POSITION, *quaternion]
        case "spherical":
            return quaternion
        case _:
            return _own(joint.type)


def _velocity(joint: PublicJoint, conventions: Conventions) -> list[tuple[str, str]]:
    angular = [(f"w{c}", "rad") for c in "xyz"]
    match joint.type:
        case "floating":
            linear = [(f"v{c}", "m") for c in "xyz"]
            first = conventions.order == "linear_first"
            return [*linear, *angular] if first else [*angular, *linear]
        case "spherical":
            return angular
        case _:
            return _own(joint.type)


def _own(kind: str) -> list[tuple[str, str]]:
    """Return the coordinates of a joint whose velocities are their rates."""
    match kind:
        case "prismatic":
            return [("", "m")]
        case "cylindrical":
            return [("angle", "rad"), ("distance", "m")]
        case "universal":
            return [("angle 1", "rad"), ("angle 2", "rad")]
        case "planar":
            return [("x", "m"), ("y", "m"), ("angle", "rad")]
        case _:
            return [("", "rad")]


def _labels(
    joint: PublicJoint, entries: list[tuple[str, str]], count: int
) -> list[Label]:
    return [Label(f"{joint.name} {e}".strip(), unit) for e, unit in entries[:count]]
