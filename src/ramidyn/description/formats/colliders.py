"""Read what can touch in a robot's file: collision shapes, with their friction.

URDF has shapes; the friction of a link may be in a tag of Gazebo's, otherwise it is 1,
as in MuJoCo. SDF has friction and restitution for each shape. In MJCF, every geom is a
collision shape unless its masks are zero; how two of them touch depends on both
(`FileColliders.touch`).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from ramidyn.description.description import Role, Shape, ShapeSource
from ramidyn.description.formats.mjcf.defaults import whole
from ramidyn.description.formats.mjcf.forces import self_touching_geoms
from ramidyn.description.formats.mjcf.parse import MjcfModel, read_document
from ramidyn.description.formats.parse import root_tag
from ramidyn.description.formats.shapes import (
    MjcfShapeReader,
    open_source,
    sdf_shape,
    shapes_of_links,
    urdf_shapes,
)
from ramidyn.description.formats.xml import (
    CONTENT,
    Element,
    fault,
    number,
    numbers,
    parse_xml,
)
from ramidyn.errors import ModelError

DEFAULT_FRICTION: Final = 1.0
BOUNCING: Final = 1e3
"""[m/s] SDF: a shape bounces if its threshold is below; the default is 1e5"""


@final
@dataclass(frozen=True, slots=True)
class ContactNumbers:
    """How two shapes touch."""

    friction: float = DEFAULT_FRICTION
    restitution: float = 0.0
    dimension: int = 3
    """MJCF's condim: 1 has no friction, 3 sliding, 4 also torsional, 6 also rolling"""
    margin: float = 0.0
    """distance at which they touch [m]"""
    is_uneven: bool = False
    """whether friction differs by direction; the smaller one is kept"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Collider:
    """A collision shape of a file."""

    shape: Shape
    name: str
    """its own, or made of its body's; distinct within the file"""
    touch: ContactNumbers = field(default_factory=ContactNumbers)
    """how it touches ground that the user gives"""
    masks: tuple[int, int] = (1, 1)
    """MJCF's contype and conaffinity"""
    priority: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class FileColliders:
    """All collision shapes of a file, and what it says about pairs of them."""

    colliders: tuple[Collider, ...]
    format: str
    pairs: Mapping[frozenset[str], ContactNumbers] = field(
        default_factory=dict[frozenset[str], ContactNumbers]
    )
    """MJCF: pairs of shapes with numbers of their own, by name"""
    excluded: frozenset[frozenset[str]] = frozenset()
    """MJCF: pairs of bodies that never touch"""
    between: tuple[str, ...] = ()
    """MJCF: geoms that can touch geoms of other moving bodies"""
    is_disabled: bool = False
    """MJCF: whether <option> switches contacts off"""
    problems: tuple[str, ...] = ()
    """shapes that cannot be read"""

    def touch(self, a: Collider, b: Collider) -> ContactNumbers | None:
        """Return how two shapes touch; None: they never do."""
        found = self.pairs.get(frozenset((a.name, b.name)))
        if found is not None:
            return found
        if frozenset((a.shape.body, b.shape.body)) in self.excluded:
            return None
        if not (a.masks[0] & b.masks[1] or b.masks[0] & a.masks[1]):
            return None
        x, y = a.touch, b.touch
        bounce = max(x.restitution, y.restitution)
        if self.format != "mjcf":
            return ContactNumbers(min(x.friction, y.friction), bounce)
        margin = x.margin + y.margin
        if a.priority != b.priority:
            first = x if a.priority > b.priority else y
            return ContactNumbers(first.friction, bounce, first.dimension, margin)
        dimension = max(x.dimension, y.dimension)
        return ContactNumbers(max(x.friction, y.friction), bounce, dimension, margin)


def read_colliders(source: ShapeSource) -> FileColliders:
    """Return the collision shapes of a file."""
    text, label, folder = open_source(source)
    match root_tag(text):
        case "robot":
            problems: list[str] = []
            shapes = urdf_shapes(text, label, folder, problems)
            friction = _gazebo_friction(text, label)
            found = [
                (s, ContactNumbers(friction.get(s.body, DEFAULT_FRICTION)))
                for s in shapes
                if s.role == "collision"
            ]
            return FileColliders(_named(found), "urdf", problems=tuple(problems))
        case "sdf":
            return _sdf_colliders(text, label, folder)
        case _:
            root, allowed = read_document(text, label, folder, source.include_directory)
            limit = allowed.limit if allowed else None
            return _mjcf_colliders(MjcfModel(root, allowed), limit, folder)


def _named(shapes: list[tuple[Shape, ContactNumbers]]) -> tuple[Collider, ...]:
    """Return shapes with distinct names: their own, or those of their bodies."""
    taken: set[str] = set()
    found: list[Collider] = []
    for shape, touch in shapes:
        name = shape.name
        if not name or name in taken:
            k = 0
            while f"{shape.body}_collision{k}" in taken:
                k += 1
            name = f"{shape.body}_collision{k}"
        taken.add(name)
        found.append(Collider(shape, name, touch))
    return tuple(found)


def _gazebo_friction(text: str, label: str) -> dict[str, float]:
    """Return the friction that <gazebo> tags of a URDF give to links."""
    found: dict[str, float] = {}
    for tag in parse_xml(text, label, keep_text=True).findall("gazebo"):
        mu = tag.find("mu1")
        if mu is not None:
            given = number(mu, "value" if "value" in mu.attrib else CONTENT)
            if given < 0.0:
                raise fault(mu, f"mu1 is {given:g}; expected 0 or more")
            found[tag.get("reference", "")] = given
    return found


# ------------------------------------------------------------ SDF


def _sdf_colliders(text: str, label: str, folder: Path | None) -> FileColliders:
    found: list[tuple[Shape, ContactNumbers]] = []

    def read(element: ET.Element, link: ET.Element, role: Role) -> Shape:
        shape = sdf_shape(element, link, role, folder)
        if role == "collision":
            found.append((shape, _sdf_touch(element)))
        return shape

    problems: list[str] = []
    root = parse_xml(text, label, keep_text=True)
    shapes_of_links(root.iter("link"), read, problems)
    return FileColliders(_named(found), "sdf", problems=tuple(problems))


def _sdf_touch(element: ET.Element) -> ContactNumbers:
    friction = element.find("surface/friction/ode/mu")
    bounce = element.find("surface/bounce/restitution_coefficient")
    least = element.find("surface/bounce/threshold")
    is_bouncing = least is not None and number(least, CONTENT) < BOUNCING
    mu = DEFAULT_FRICTION if friction is None else number(friction, CONTENT)
    e = 0.0 if bounce is None or not is_bouncing else number(bounce, CONTENT)
    if mu < 0.0:
        raise fault(element, f"mu is {mu:g}; expected 0 or more")
    if not 0.0 <= e <= 1.0:
        raise fault(element, f"restitution_coefficient is {e:g}; expected 0 to 1")
    return ContactNumbers(mu, e)


# ------------------------------------------------------------ MJCF


def _mjcf_colliders(
    model: MjcfModel, limit: Path | None, folder: Path | None
) -> FileColliders:
    reader = MjcfShapeReader(model, limit, folder)
    problems: list[str] = []
    found: list[Collider] = []
    for body in model.world.bodies:
        for k, (geom, T_body_frame) in enumerate(body.geoms):
            masks = whole(geom, "contype", 1), whole(geom, "conaffinity", 1)
            name = geom.get("name") or f"{body.name}_geom{k}"
            touch, priority = _mjcf_touch(geom, 1), whole(geom, "priority", 0)
            try:
                shape = reader.shape(body, (geom, T_body_frame))
            except ModelError as e:
                problems.append(str(e))
                continue
            found.append(Collider(shape, name, touch, masks, priority))
    pairs: dict[frozenset[str], ContactNumbers] = {}
    excluded: set[frozenset[str]] = set()
    for section in model.sections["contact"]:
        for child in section:
            assert isinstance(child, Element)
            if child.tag == "exclude":
                bodies = child.get("body1", ""), child.get("body2", "")
                excluded.add(frozenset(bodies))
            elif child.tag == "pair":
                geoms = child.get("geom1", ""), child.get("geom2", "")
                touch = _mjcf_touch(model.defaults.apply(child), 2)
                pairs[frozenset(geoms)] = touch
    return FileColliders(
        tuple(found),
        "mjcf",
        pairs,
        frozenset(excluded),
        self_touching_geoms(
            model.world, model.sections["contact"], model.flag("filterparent")
        ),
        not (model.flag("contact") and model.flag("constraint")),
        tuple(problems),
    )


def _mjcf_touch(element: Element, directions: int) -> ContactNumbers:
    given = numbers(element, "friction", range(1, 6), (DEFAULT_FRICTION,))
    sliding = given[:directions]
    dimension = whole(element, "condim", 3)
    if min(given) < 0.0:
        raise fault(element, f"friction={min(given):g}; expected 0 or more")
    if dimension not in (1, 3, 4, 6):
        raise fault(element, f"condim={dimension}; expected 1, 3, 4 or 6")
    margin = number(element, "margin", 0.0)
    return ContactNumbers(min(sliding), 0.0, dimension, margin, len({*sliding}) > 1)
