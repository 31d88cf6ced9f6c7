"""A piece of a picture: triangles on a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.description.description import Color
from ramidyn.description.mesh_files import TriangleMesh


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Triangles of one color, in the frame of a body."""

    body: str
    """a body of the robot, or "world" """
    layer: str
    mesh: TriangleMesh
    color: Color
    name: str = ""
    is_ground: bool = False
    """a plane, usually larger than the robot"""
