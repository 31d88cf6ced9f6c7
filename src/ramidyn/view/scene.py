"""What there is to see of a robot: colored triangles, each fixed to a body.

Layers: "visual" and "collision" are the model's own shapes. Where a robot has no visual
shapes, or their meshes are missing, "bars" connect the joints. "axes" are the joints'
axes, "masses" are spheres of a uniform density, "inertias" ellipsoids of uniform
density with the body's own inertia, around its center of mass. "loops", "forces" and
"contacts" mark cut joints, force elements and rigid contacts (`force_shapes`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

import numpy as np

from ramidyn.description.description import Color, Description, Shape
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, ModelError, names_of
from ramidyn.view.force_shapes import (
    Connection,
    connections_of,
    ground_levels,
    marks_of,
)
from ramidyn.view.stick_figure import body_points, stick_body, tires
from ramidyn.view.triangles import (
    Part,
    ball,
    bar,
    inertia_ellipsoid,
    moved_mesh,
    scaled,
    thinned,
    triangles_of,
)

LAYERS: Final = (
    *("visual", "collision", "bars", "axes", "masses", "inertias", "loops", "forces"),
    "contacts",
)
GRAY: Final[Color] = (0.62, 0.66, 0.72, 1.0)
_COLORS: Final[dict[str, Color]] = {
    "collision": (0.85, 0.45, 0.35, 0.5),
    "bars": (0.36, 0.52, 0.72, 1.0),
    "axes": (0.86, 0.42, 0.24, 1.0),
    "masses": (0.42, 0.44, 0.50, 1.0),
    "inertias": (0.42, 0.62, 0.42, 0.45),
}
_TIRE: Final[Color] = (0.25, 0.25, 0.27, 1.0)
_DENSITY: Final = 8000.0
"""of the spheres that show masses: about that of steel [kg/m³]"""
_THICKNESS: Final = 0.012
"""radius of a bar, as a share of the robot's size"""


def check_layers(layers: Sequence[str]) -> None:
    """Raise ArgumentError for a layer that does not exist."""
    for name in names_of("layers", layers):
        if name not in LAYERS:
            raise ArgumentError(
                f"layers has {name!r}; possible: {', '.join(map(repr, LAYERS))}"
            )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """All parts of a robot, and what could not be drawn."""

    parts: tuple[Part, ...]
    size: float
    """about the length of the robot [m]"""
    problems: tuple[str, ...]
    connections: tuple[Connection, ...] = ()
    """springs and loops between two bodies"""
    levels: tuple[float, ...] = ()
    """heights of level ground that contacts and tires touch [m]"""

    @property
    def default_layers(self) -> tuple[str, ...]:
        """What is shown first: the shapes, or what the dynamics knows instead."""
        if any(p.layer == "visual" and p.body != "world" for p in self.parts):
            return ("visual", "bars", "loops", "forces")
        return ("bars", "axes", "masses", "loops", "forces", "contacts")

    def layer(self, *names: str) -> list[Part]:
        """Return the parts of some layers."""
        return [part for part in self.parts if part.layer in names]


def coarser_parts(parts: Sequence[Part], cell: float, most: int) -> list[Part]:
    """Return parts with at most so many faces: coarser, first by ``cell`` [m]."""
    coarse = list(parts)
    while sum(len(part.mesh.faces) for part in coarse) > most:
        coarse = [replace(part, mesh=thinned(part.mesh, cell)) for part in coarse]
        cell *= 1.5
    return coarse


def scene_of(
    description: Description,
    shapes: Sequence[Shape],
    mesh_directories: Sequence[Path] = (),
) -> Scene:
    """Return what there is to see of a robot."""
    size = _size(description)
    parts: list[Part] = []
    problems: list[str] = []
    is_whole = True
    for shape in shapes:
        try:
            mesh = triangles_of(shape, mesh_directories)
        except ModelError as e:
            problems.append(str(e))
            is_whole = is_whole and shape.role != "visual"
            continue
        color = shape.color or _COLORS.get(shape.role, GRAY)
        name = shape.name or shape.kind
        is_ground = shape.kind == "plane"
        parts.append(Part(shape.body, shape.role, mesh, color, name, is_ground))
    drawn = {part.body for part in parts if part.layer == "visual"}
    if drawn <= {"world"} or not is_whole:
        parts += _bars(description, drawn, _THICKNESS * size)
    parts += _axes(description, _THICKNESS * size)
    parts += _masses(description)
    parts += marks_of(description, size)
    return Scene(
        tuple(parts),
        size,
        tuple(dict.fromkeys(problems)),
        tuple(connections_of(description)),
        tuple(ground_levels(description)),
    )


# ------------------------------------------------------------ made from the dynamics


def _size(description: Description) -> float:
    """Return the extent of the origins and centers of mass, as the file places them."""
    poses: dict[str | None, Pose] = {None: Pose.identity()}
    points: list[Array] = []
    for body in description.bodies:
        T = poses[body.name] = poses[body.parent] @ body.placement
        points.append(T.p)
        if body.inertial is not None:
            points.append(T.apply(body.inertial.com))
    extent = float(np.ptp(np.array(points), axis=0).max()) if points else 0.0
    return extent or 1.0


def _bars(
    description: Description, drawn: Collection[str], radius: float
) -> list[Part]:
    """Return bars, plates and tires for the bodies that are not drawn otherwise."""
    points = body_points(description)
    wheels = [(name, mesh) for name, mesh in tires(description) if name not in drawn]
    parts = [Part(name, "bars", mesh, _TIRE, name) for name, mesh in wheels]
    drawn = {*drawn, *(name for name, _ in wheels)}
    for body in description.bodies:
        if body.name not in drawn:
            for mesh in stick_body(body, points[body.name], radius):
                parts.append(Part(body.name, "bars", mesh, _COLORS["bars"], body.name))
    return parts


def _axes(description: Description, radius: float) -> list[Part]:
    parts: list[Part] = []
    for body in description.bodies:
        for joint in body.joints:
            if not joint_type(joint.name, joint.type).has_axis:
                continue
            axes = [joint.axis] if joint.axis2 is None else [joint.axis, joint.axis2]
            for axis in axes:
                reach = 4 * radius * axis / float(np.linalg.norm(axis))
                mesh = bar(joint.position - reach, joint.position + reach, radius / 2)
                color = _COLORS["axes"]
                parts.append(Part(body.name, "axes", mesh, color, joint.name))
    return parts


def _masses(description: Description) -> list[Part]:
    """Return spheres for masses, ellipsoids for inertias."""
    parts: list[Part] = []
    for body in description.bodies:
        own = body.inertial
        if own is None or own.mass <= 0:
            continue
        r = (3 * own.mass / (4 * math.pi * _DENSITY)) ** (1 / 3)
        at = Pose(np.eye(3), own.com)
        sphere = moved_mesh(scaled(ball(), (r, r, r)), at)
        parts.append(Part(body.name, "masses", sphere, _COLORS["masses"], body.name))
        ellipsoid = inertia_ellipsoid(own)
        color = _COLORS["inertias"]
        parts.append(Part(body.name, "inertias", ellipsoid, color, body.name))
    return parts
