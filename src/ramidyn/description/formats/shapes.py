"""Read the shapes of a robot from its file: URDF, SDF or MJCF.

A shape that cannot be read is left out and named: looking never fails.

A geom of group 3 or above counts as collision geometry: MuJoCo's own viewer hides it.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from ramidyn.description.description import Color, MeshShape, Role, Shape, ShapeSource
from ramidyn.description.formats.mjcf.bodies import MjcfBody
from ramidyn.description.formats.mjcf.defaults import LARGEST as MJCF_LARGEST
from ramidyn.description.formats.mjcf.defaults import whole
from ramidyn.description.formats.mjcf.geoms import geom_kind, size_and_pose
from ramidyn.description.formats.mjcf.inertia import Placed
from ramidyn.description.formats.mjcf.orientation import pose
from ramidyn.description.formats.mjcf.parse import MjcfModel, read_document
from ramidyn.description.formats.parse import root_tag
from ramidyn.description.formats.read import read_source
from ramidyn.description.formats.sdf_frames import read_pose
from ramidyn.description.formats.urdf import read_origin
from ramidyn.description.formats.xml import (
    CONTENT,
    LARGEST,
    Element,
    fault,
    number,
    numbers,
    parse_xml,
    word,
)
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError, ModelWarning, group_warnings, readable

ROLES: Final[tuple[Role, ...]] = ("visual", "collision")


def urdf_shapes(
    text: str, label: str, folder: Path | None, problems: list[str]
) -> list[Shape]:
    """Return the shapes of every link; those that cannot be read are ``problems``."""
    robot = parse_xml(text, label)
    colors: dict[str, Color] = {}
    for material in robot.iter("material"):
        color = _urdf_color(material, {})
        if color is not None:
            colors.setdefault(material.get("name", ""), color)
    return shapes_of_links(
        robot.findall("link"),
        lambda element, link, role: _urdf_shape(element, link, role, folder, colors),
        problems,
    )


def shapes_of_links(
    links: Iterable[ET.Element],
    read: Callable[[ET.Element, ET.Element, Role], Shape],
    problems: list[str],
) -> list[Shape]:
    """Return the <visual>s and <collision>s of links, each read in turn."""
    shapes: list[Shape] = []
    for link in links:
        for role in ROLES:
            for element in link.findall(role):
                try:
                    shapes.append(read(element, link, role))
                except ModelError as e:
                    problems.append(str(e))
    return shapes


def _geometry(element: ET.Element) -> ET.Element:
    """Return the shape inside the <geometry> of a <visual> or <collision>."""
    geometry = element.find("geometry")
    inner = None if geometry is None else next(iter(geometry), None)
    if inner is None:
        raise fault(element, "no <geometry> with a shape; expected one")
    return inner


def _urdf_shape(
    element: ET.Element,
    link: ET.Element,
    role: Role,
    folder: Path | None,
    colors: dict[str, Color],
) -> Shape:
    inner = _geometry(element)
    kind = inner.tag
    size: tuple[float, ...] = ()
    mesh = None
    match kind:
        case "box":
            size = numbers(inner, "size", 3, largest=LARGEST)
        case "sphere":
            size = (number(inner, "radius", largest=LARGEST),)
        case "cylinder" | "capsule":
            size = tuple(
                number(inner, a, largest=LARGEST) for a in ("radius", "length")
            )
        case "mesh":
            scale = numbers(inner, "scale", range(1, 4), (1.0,), largest=LARGEST)
            if len(scale) == 2:
                raise fault(inner, "scale has 2 numbers; expected 1 or 3")
            x, y, z = scale if len(scale) == 3 else scale * 3
            limit = None if folder is None else folder.resolve().parent
            file = word(inner, "filename")
            mesh = MeshShape(file, folder, limit, (x, y, z))
        case _:
            raise fault(
                inner, "not a shape; expected box, sphere, cylinder, capsule or mesh"
            )
    if any(x < 0 for x in size):
        raise fault(inner, "a negative size; expected positive numbers")
    material = element.find("material")
    color = None if material is None else _urdf_color(material, colors)
    return Shape(
        kind,
        word(link, "name"),
        read_origin(element.find("origin")),
        size,
        color,
        role,
        element.get("name", ""),
        mesh,
    )


def _urdf_color(material: ET.Element, known: dict[str, Color]) -> Color | None:
    color = material.find("color")
    if color is None:
        return known.get(material.get("name", ""))
    r, g, b, a = numbers(color, "rgba", 4, (0.7, 0.7, 0.7, 1.0))
    return r, g, b, a


def sdf_shapes(
    text: str, label: str, folder: Path | None, problems: list[str]
) -> list[Shape]:
    """Return the shapes of every link; those that cannot be read are ``problems``."""
    return shapes_of_links(
        parse_xml(text, label, keep_text=True).iter("link"),
        lambda element, link, role: sdf_shape(element, link, role, folder),
        problems,
    )


def sdf_shape(
    element: ET.Element,
    link: ET.Element,
    role: Role,
    folder: Path | None,
) -> Shape:
    """Return a <visual> or <collision> of a link as a shape."""
    pose = element.find("pose")
    base = "" if pose is None else pose.get("relative_to", "").strip()
    if base not in ("", link.get("name")):
        raise fault(element, f"its pose is relative to {base!r}, not to its link")
    inner = _geometry(element)
    kind, mesh = inner.tag, None
    size: tuple[float, ...] = ()
    match kind:
        case "box":
            size = _sdf_numbers(inner, "size")
        case "sphere":
            size = (_sdf_number(inner, "radius"),)
        case "cylinder" | "capsule":
            size = _sdf_number(inner, "radius"), _sdf_number(inner, "length")
        case "ellipsoid":
            size = _sdf_numbers(inner, "radii")
        case "plane":
            given = inner.find("size")
            x, y = (0.0, 0.0) if given is None else numbers(given, CONTENT, 2)
            size = (x, y)
        case "mesh":
            mesh = _sdf_mesh(inner, folder)
        case _:
            raise fault(inner, "this shape cannot be drawn")
    if any(x < 0 for x in size):
        raise fault(inner, "a negative size; expected positive numbers")
    body, name = word(link, "name"), element.get("name", "")
    place = read_pose(element)
    return Shape(kind, body, place, size, _sdf_color(element), role, name, mesh)


def _sdf_mesh(inner: ET.Element, folder: Path | None) -> MeshShape:
    uri, scale = inner.find("uri"), inner.find("scale")
    if uri is None:
        raise fault(inner, "no <uri>; it is required")
    x, y, z = (1.0, 1.0, 1.0) if scale is None else numbers(scale, CONTENT, 3)
    limit = None if folder is None else folder.resolve().parent
    return MeshShape(word(uri, CONTENT), folder, limit, (x, y, z))


def _sdf_number(inner: ET.Element, tag: str) -> float:
    child = inner.find(tag)
    if child is None:
        raise fault(inner, f"no <{tag}>; it is required")
    return number(child, CONTENT, largest=LARGEST)


def _sdf_numbers(inner: ET.Element, tag: str) -> tuple[float, ...]:
    child = inner.find(tag)
    if child is None:
        raise fault(inner, f"no <{tag}>; it is required")
    return numbers(child, CONTENT, 3, largest=LARGEST)


def _sdf_color(element: ET.Element) -> Color | None:
    material = element.find("material")
    diffuse = None if material is None else material.find("diffuse")
    if diffuse is None:
        return None
    r, g, b, *rest = numbers(diffuse, CONTENT, range(3, 5))
    return r, g, b, rest[0] if rest else 1.0


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
    reader = MjcfShapeReader(model, allowed.limit if allowed else None, folder)
    shapes: list[Shape] = []
    for body in model.world.bodies:
        for geom in body.geoms:
            try:
                shapes.append(reader.shape(body, geom))
            except ModelError as e:
                problems.append(str(e))
    return shapes


class MjcfShapeReader:
    """Reads the geoms of a model."""

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
                color = _mjcf_color(material, None)
                if color is not None:
                    self.colors[material.get("name", "")] = color

    def shape(self, body: MjcfBody, placed: Placed) -> Shape:
        """Return a geom of a body as a shape."""
        geom, T_body_frame = placed
        kind = geom_kind(geom)
        is_hidden = whole(geom, "group", 0) >= _FIRST_HIDDEN_GROUP
        size, placement, mesh = self._form(geom, kind)
        return Shape(
            kind,
            body.name,
            T_body_frame @ placement,
            size,
            _mjcf_color(geom, self.colors.get(geom.get("material", ""))),
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
        x, y, z = numbers(element, "scale", 3, (1.0, 1.0, 1.0), largest=MJCF_LARGEST)
        if "file" in element.attrib:
            file = self.model.meshes.file(element)
            return MeshShape(file, self.folder, self.limit, (x, y, z), reference)
        vertices = np.array(numbers(element, "vertex", None, (), largest=MJCF_LARGEST))
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


def _mjcf_color(element: Element, default: Color | None) -> Color | None:
    if "rgba" not in element.attrib:
        return default
    r, g, b, a = numbers(element, "rgba", 4)
    return r, g, b, a


def read_shapes(
    sources: Iterable[ShapeSource], bodies: Iterable[str]
) -> tuple[list[Shape], list[str]]:
    """Return the shapes on those bodies and the world, and what was left out."""
    known = {*bodies, "world"}
    shapes: list[Shape] = []
    problems: list[str] = []
    for source in sources:
        try:
            found = _read(source, problems)
        except ModelError as e:
            problems.append(str(e))
            continue
        placed = (_placed_shape(shape, source) for shape in found)
        shapes += [shape for shape in placed if shape.body in known]
    return shapes, problems


def warn_of_shapes(problems: Sequence[str]) -> None:
    """Name what cannot be drawn, all of it in one warning."""
    if problems:
        shown = group_warnings(problems)
        rest = f"; and {len(shown) - 5} more" if len(shown) > 5 else ""
        text = "; ".join(map(readable, shown[:5]))
        warnings.warn(f"not drawn: {text}{rest}", ModelWarning, stacklevel=4)


def open_source(source: ShapeSource) -> tuple[str, str, Path | None]:
    """Return the text of a model, its name for messages, and its folder."""
    text, _ = read_source(source.text or Path(source.path))
    path = Path(source.path) if source.path else None
    label = path.name if path is not None else "text"
    return text, label, None if path is None else path.parent


def _read(source: ShapeSource, problems: list[str]) -> list[Shape]:
    text, label, folder = open_source(source)
    tag = root_tag(text)
    if tag == "robot":
        return urdf_shapes(text, label, folder, problems)
    if tag == "sdf":
        return sdf_shapes(text, label, folder, problems)
    return mjcf_shapes(text, label, folder, source.include_directory, problems)


def _placed_shape(shape: Shape, source: ShapeSource) -> Shape:
    """Return a shape with the names and the place that its robot has now."""
    if shape.body != "world":
        return replace(shape, body=source.prefix + shape.body)
    return replace(
        shape,
        body=source.body or "world",
        placement=source.placement @ shape.placement,
    )
