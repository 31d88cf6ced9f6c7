"""The shapes of a URDF: <visual> and <collision> of its links."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from ramidyn.description.formats.urdf.parse import LARGEST, read_origin
from ramidyn.description.formats.xml import fault, number, numbers, parse_xml, word
from ramidyn.description.shapes import Color, MeshShape, Role, Shape
from ramidyn.errors import ModelError

ROLES: Final[tuple[Role, ...]] = ("visual", "collision")


def urdf_shapes(
    text: str, label: str, folder: Path | None, problems: list[str]
) -> list[Shape]:
    """Return the shapes of every link; those that cannot be read are ``problems``."""
    robot = parse_xml(text, label)
    colors: dict[str, Color] = {}
    for material in robot.iter("material"):
        color = _color(material, {})
        if color is not None:
            colors.setdefault(material.get("name", ""), color)
    return shapes_of_links(
        robot.findall("link"),
        lambda element, link, role: _shape(element, link, role, folder, colors),
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


def _shape(
    element: ET.Element,
    link: ET.Element,
    role: Role,
    folder: Path | None,
    colors: dict[str, Color],
) -> Shape:
    geometry = element.find("geometry")
    inner = None if geometry is None else next(iter(geometry), None)
    if inner is None:
        raise fault(element, "no <geometry> with a shape; expected one")
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
    color = None if material is None else _color(material, colors)
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


def _color(material: ET.Element, known: dict[str, Color]) -> Color | None:
    color = material.find("color")
    if color is None:
        return known.get(material.get("name", ""))
    r, g, b, a = numbers(color, "rgba", 4, (0.7, 0.7, 0.7, 1.0))
    return r, g, b, a
