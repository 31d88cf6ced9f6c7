"""The shapes of an SDF model: <visual> and <collision> of its links."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from ramidyn.description.formats.sdf.frames import LARGEST, read_pose
from ramidyn.description.formats.urdf.shapes import shapes_of_links
from ramidyn.description.formats.xml import (
    CONTENT,
    fault,
    number,
    numbers,
    parse_xml,
    word,
)
from ramidyn.description.shapes import Color, MeshShape, Role, Shape


def sdf_shapes(
    text: str, label: str, folder: Path | None, problems: list[str]
) -> list[Shape]:
    """Return the shapes of every link; those that cannot be read are ``problems``."""
    return shapes_of_links(
        parse_xml(text, label, keep_text=True).iter("link"),
        lambda element, link, role: _shape(element, link, role, folder),
        problems,
    )


def _shape(
    element: ET.Element,
    link: ET.Element,
    role: Role,
    folder: Path | None,
) -> Shape:
    pose = element.find("pose")
    base = "" if pose is None else pose.get("relative_to", "").strip()
    if base not in ("", link.get("name")):
        raise fault(element, f"its pose is relative to {base!r}, not to its link")
    geometry = element.find("geometry")
    inner = None if geometry is None else next(iter(geometry), None)
    if inner is None:
        raise fault(element, "no <geometry> with a shape; expected one")
    kind, mesh = inner.tag, None
    size: tuple[float, ...] = ()
    match kind:
        case "box":
            size = _numbers(inner, "size")
        case "sphere":
            size = (_number(inner, "radius"),)
        case "cylinder" | "capsule":
            size = _number(inner, "radius"), _number(inner, "length")
        case "ellipsoid":
            size = _numbers(inner, "radii")
        case "plane":
            given = inner.find("size")
            x, y = (0.0, 0.0) if given is None else numbers(given, CONTENT, 2)
            size = (x, y)
        case "mesh":
            mesh = _mesh(inner, folder)
        case _:
            raise fault(inner, "this shape cannot be drawn")
    if any(x < 0 for x in size):
        raise fault(inner, "a negative size; expected positive numbers")
    body, name = word(link, "name"), element.get("name", "")
    place = read_pose(element)
    return Shape(kind, body, place, size, _color(element), role, name, mesh)


def _mesh(inner: ET.Element, folder: Path | None) -> MeshShape:
    uri, scale = inner.find("uri"), inner.find("scale")
    if uri is None:
        raise fault(inner, "no <uri>; it is required")
    x, y, z = (1.0, 1.0, 1.0) if scale is None else numbers(scale, CONTENT, 3)
    limit = None if folder is None else folder.resolve().parent
    return MeshShape(word(uri, CONTENT), folder, limit, (x, y, z))


def _number(inner: ET.Element, tag: str) -> float:
    child = inner.find(tag)
    if child is None:
        raise fault(inner, f"no <{tag}>; it is required")
    return number(child, CONTENT, largest=LARGEST)


def _numbers(inner: ET.Element, tag: str) -> tuple[float, ...]:
    child = inner.find(tag)
    if child is None:
        raise fault(inner, f"no <{tag}>; it is required")
    return numbers(child, CONTENT, 3, largest=LARGEST)


def _color(element: ET.Element) -> Color | None:
    material = element.find("material")
    diffuse = None if material is None else material.find("diffuse")
    if diffuse is None:
        return None
    r, g, b, *rest = numbers(diffuse, CONTENT, range(3, 5))
    return r, g, b, rest[0] if rest else 1.0
