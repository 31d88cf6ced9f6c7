"""The shapes of an MJCF model: its geoms.

A geom of group 3 or above counts as collision geometry: MuJoCo's own viewer hides it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from ramidyn.description.formats.mjcf.bodies import MjcfBody
from ramidyn.description.formats.mjcf.defaults import LARGEST, whole
from ramidyn.description.formats.mjcf.geoms import geom_kind, size_and_pose
from ramidyn.description.formats.mjcf.inertia import Placed
from ramidyn.description.formats.mjcf.orientation import pose
from ramidyn.description.formats.mjcf.parse import MjcfModel, read_document
from ramidyn.description.formats.xml import Element, fault, numbers
from ramidyn.description.pose import Pose
from ramidyn.description.shapes import Color, MeshShape, Shape
from ramidyn.errors import ModelError

_FIRST_HIDDEN_GROUP: Final = 3


def mjcf_shapes(
    text: str,
    label: str,
    folder: Path | None,
    include_directory: str | None,
    problems: list[str],
) -> list[Shape]:
    """Return the shapes of every body; those that cannot be read are ``problems``."""
    root, allowed = read_document(text, label, folder, include_directory)
    model = MjcfModel(root, allowed)
    reader = _ShapeReader(model, allowed.limit if allowed else None, folder)
    shapes: list[Shape] = []
    for body in model.world.bodies:
        for geom in body.geoms:
            try:
                shapes.append(reader.shape(body, geom))
            except ModelError as e:
                problems.append(str(e))
    return shapes


class _ShapeReader:
    def __init__(
        self, model: MjcfModel, limit: Path | None, folder: Path | None
    ) -> None:
        self.model = model
        self.limit = limit
        self.folder = folder
        self.colors: dict[str, Color] = {}
        for section in model.sections["asset"]:
            for child in section.findall("material"):
                assert isinstance(child, Element)
                material = model.defaults.apply(child)
                color = _color(material, None)
                if color is not None:
                    self.colors[material.get("name", "")] = color

    def shape(self, body: MjcfBody, placed: Placed) -> Shape:
        geom, T_body_frame = placed
        kind = geom_kind(geom)
        is_hidden = whole(geom, "group", 0) >= _FIRST_HIDDEN_GROUP
        size, placement, mesh = self._form(geom, kind)
        return Shape(
            kind,
            body.name,
            T_body_frame @ placement,
            size,
            _color(geom, self.colors.get(geom.get("material", ""))),
            "collision" if is_hidden else "visual",
            geom.get("name", ""),
            mesh,
        )

    def _form(
        self, geom: Element, kind: str
    ) -> tuple[tuple[float, ...], Pose, MeshShape | None]:
        settings = self.model.settings
        if kind == "mesh":
            return (), pose(geom, settings), self._mesh(geom)
        if "mesh" in geom.attrib:
            size, T_mesh_fit = self.model.meshes.fitted(geom)
            return _edges(kind, size), pose(geom, settings) @ T_mesh_fit, None
        if kind == "plane":
            x, y, *_ = (*numbers(geom, "size", range(1, 4), (0.0,)), 0.0, 0.0)
            return (2 * x, 2 * y), pose(geom, settings), None
        if kind not in ("box", "sphere", "cylinder", "capsule", "ellipsoid"):
            raise fault(geom, f"a geom of type {kind!r} cannot be drawn")
        size, placement = size_and_pose(geom, kind, settings)
        return _edges(kind, size), placement, None

    def _mesh(self, geom: Element) -> MeshShape:
        element = self.model.meshes.element(geom)
        reference = self.model.meshes.reference(element)
        x, y, z = numbers(element, "scale", 3, (1.0, 1.0, 1.0), largest=LARGEST)
        if "file" in element.attrib:
            file = self.model.meshes.file(element)
            return MeshShape(file, self.folder, self.limit, (x, y, z), reference)
        vertices = np.array(numbers(element, "vertex", None, (), largest=LARGEST))
        faces = np.array(numbers(element, "face", None, ()), dtype=np.int64)
        if len(vertices) < 12 or len(vertices) % 3 or len(faces) % 3:
            raise fault(element, "neither a file nor vertices that make a mesh")
        return MeshShape(
            scale=(x, y, z),
            reference=reference,
            vertices=np.reshape(vertices, (-1, 3)),
            faces=np.reshape(faces, (-1, 3)) if len(faces) else None,
        )


def _edges(kind: str, size: tuple[float, ...]) -> tuple[float, ...]:
    """Return whole lengths where MJCF has half ones."""
    match kind:
        case "box":
            return tuple(2 * s for s in size)
        case "cylinder" | "capsule":
            return size[0], 2 * size[1]
        case _:
            return size


def _color(element: Element, default: Color | None) -> Color | None:
    if "rgba" not in element.attrib:
        return default
    r, g, b, a = numbers(element, "rgba", 4)
    return r, g, b, a
