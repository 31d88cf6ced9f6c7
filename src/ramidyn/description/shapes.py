"""What a robot looks like: shapes on bodies, as data. Dynamics never needs them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array, Pose

KINDS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh")
Color = tuple[float, float, float, float]
Role = Literal["visual", "collision"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeshShape:
    """The mesh of a shape: a file, or vertices given in the model."""

    file: str = ""
    """as the model names it: a path, ``package://...`` or ``file://...``"""
    folder: Path | None = None
    """where a relative path starts; None: the model was given as text"""
    limit: Path | None = None
    """the directory that the file may not leave"""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    reference: Pose = field(default_factory=Pose.identity)
    """the mesh's frame among the file's coordinates: x = scale · T⁻¹ x_file"""
    vertices: Array | None = None
    """(n, 3), where no file is named"""
    faces: npt.NDArray[np.int64] | None = None
    """(m, 3) indices of vertices; None: their convex hull"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A shape fixed to a body."""

    kind: str
    """one of `KINDS`"""
    body: str
    """a body of the robot, or "world" """
    placement: Pose
    """its center and axes in the body's frame"""
    size: tuple[float, ...] = ()
    """box: its three edges; sphere: radius; cylinder, capsule: radius, and length along
    z without the caps; ellipsoid: its three radii; plane: two edges, 0: endless [m]"""
    color: Color | None = None
    """red, green, blue, opacity from 0 to 1; None where the model gives none"""
    role: Role = "visual"
    name: str = ""
    mesh: MeshShape | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShapeSource:
    """Where the shapes of a description are read from, once somebody looks."""

    text: str = ""
    """the model, where it was given as text or is not what its file holds"""
    path: str = ""
    """the model's file, if it has one"""
    include_directory: str | None = None
    prefix: str = ""
    """of every name, after the robot was attached to another"""
    body: str | None = None
    """the body that its world is fixed to, None: the world"""
    placement: Pose = field(default_factory=Pose.identity)
    """of its world in that body"""

    @staticmethod
    def of(
        text: str,
        path: Path | None,
        include_directory: str | os.PathLike[str] | None,
        is_expanded: bool = False,
    ) -> ShapeSource:
        """Return the source of a model that has just been read, or expanded."""
        limit = None if include_directory is None else os.fspath(include_directory)
        file = "" if path is None else os.path.abspath(path)
        kept = text if is_expanded or not file else ""
        return ShapeSource(kept, file, limit)

    def attached(self, body: str | None, placement: Pose, prefix: str) -> ShapeSource:
        """Return the source, its robot attached to a body of another."""
        if self.body is not None:
            return replace(self, prefix=prefix + self.prefix, body=prefix + self.body)
        return replace(
            self,
            prefix=prefix + self.prefix,
            body=body,
            placement=placement @ self.placement,
        )
