"""MJCF's settings and default classes: the values of attributes that are not given.

The value of an attribute is the element's own, else that of its class (``class``,
else the ``childclass`` around it, else main), else MuJoCo's. Lists of open length
(``size``, ``damping``, ``stiffness``) are overwritten from the front, as MuJoCo does;
an orientation replaces an orientation, however either is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ramidyn.description.formats.xml import Element, fault, number, numbers
from ramidyn.errors import ModelError, close_matches

LARGEST: Final = 1e10
"""MuJoCo's own bound on lengths, masses and the like"""
TINY: Final = 1e-14
"""MuJoCo's own bound below which a vector has no direction"""
ORIENTATIONS: Final = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
MAIN: Final = "main"
_OPEN_LISTS: Final = ("size", "damping", "stiffness")

Attributes = dict[str, str]


def choice(element: Element, attribute: str, *options: str, default: str) -> str:
    """Return an attribute that is one of a few words."""
    text = element.get(attribute)
    if text is None:
        return default
    text = text.strip()
    if text not in options:
        raise fault(
            element, f"{attribute}={text!r}; expected {', '.join(map(repr, options))}"
        )
    return text


def flag(element: Element, attribute: str, default: bool = False) -> bool:
    """Return an attribute that is true or false."""
    word = "true" if default else "false"
    return choice(element, attribute, "true", "false", default=word) == "true"


def whole(element: Element, attribute: str, default: int | None = None) -> int:
    """Return an attribute that is a whole number."""
    value = number(element, attribute, default, largest=1e9)
    if value != int(value):
        raise fault(element, f"{attribute}={value:g}; expected a whole number")
    return int(value)


def unknown(element: Element, kind: str, name: str, known: Iterable[str]) -> ModelError:
    """Return the error for a reference to an undefined name."""
    names = list(known)
    close = close_matches(name, names)
    hint = " or ".join(map(repr, close)) or f"one of {len(names)} known"
    return fault(element, f"no {kind} {name!r} in the model; expected {hint}")


def like(element: Element, attributes: Attributes) -> Element:
    """Return an element at the same place with other attributes, and no children."""
    copy = Element(element.tag, attributes)
    copy.label, copy.line, copy.outer = element.label, element.line, element.outer
    return copy


@dataclass(frozen=True, slots=True)
class Settings:
    """The <compiler> of a model."""

    degrees: bool
    euler_sequence: str
    autolimits: bool
    inertia_from_geom: str
    """"true", "false" or "auto" """
    inertia_groups: tuple[int, int]
    least_mass: float
    least_inertia: float
    balance_inertia: bool
    total_mass: float
    """the mass to scale the model to; not positive: as it is"""
    align_free: bool
    fuse_static: bool
    mesh_folder: str
    """where mesh files are, seen from the model's"""
    strip_paths: bool
    """whether only the last part of a mesh file's name counts"""
    fit_boxes: bool
    """whether a primitive is fitted to the bounding box of a mesh"""

    @staticmethod
    def of(sections: list[Element], root: Element) -> Settings:
        """Return the settings of all <compiler> sections; the last one wins."""
        merged: Attributes = {}
        for section in sections:
            merged.update(section.attrib)
        c = like(sections[-1] if sections else root, merged)
        if c.get("coordinate", "local") != "local":
            raise fault(
                c,
                "coordinate='global'; expected 'local' (MuJoCo 2.3.3 converts it)",
            )
        sequence = c.get("eulerseq", "xyz")
        if len(sequence) != 3 or not set(sequence) <= set("xyzXYZ"):
            raise fault(c, f"eulerseq={sequence!r}; expected three of x y z X Y Z")
        first, last = numbers(c, "inertiagrouprange", 2, (0, 5))
        angle = choice(c, "angle", "degree", "radian", default="degree")
        return Settings(
            degrees=angle == "degree",
            euler_sequence=sequence,
            autolimits=flag(c, "autolimits", default=True),
            inertia_from_geom=choice(
                c, "inertiafromgeom", "true", "false", "auto", default="auto"
            ),
            inertia_groups=(int(first), int(last)),
            least_mass=number(c, "boundmass", 0.0, largest=LARGEST),
            least_inertia=number(c, "boundinertia", 0.0, largest=LARGEST),
            balance_inertia=flag(c, "balanceinertia"),
            total_mass=number(c, "settotalmass", -1.0, largest=LARGEST),
            align_free=flag(c, "alignfree"),
            fuse_static=flag(c, "fusestatic"),
            mesh_folder=c.get("meshdir", c.get("assetdir", "")),
            strip_paths=flag(c, "strippath"),
            fit_boxes=flag(c, "fitaabb"),
        )


class Defaults:
    """The default classes of a model, each with all that it inherits."""

    def __init__(self, sections: list[Element]) -> None:
        self._classes: dict[str, dict[str, Attributes]] = {MAIN: {}}
        for section in sections:
            name = section.get("class", MAIN)
            if name in self._classes and name != MAIN:
                raise fault(section, f"duplicate default class {name!r}; expected one")
            if name != MAIN:
                self._classes[name] = self._classes[MAIN]
            self._read(section, self._classes[MAIN])

    def _read(self, top: Element, into: dict[str, Attributes]) -> None:
        """Read a section: its own elements, then the classes nested in it."""
        waiting = [(top, into)]
        while waiting:
            section, tags = waiting.pop()
            nested: list[Element] = []
            for child in section:
                assert isinstance(child, Element)
                if child.tag == "default":
                    nested.append(child)
                else:
                    tags[child.tag] = merged_attributes(
                        tags.get(child.tag, {}), child.attrib
                    )
            for child in nested:
                waiting.append((child, self._nested_classes(child, tags)))

    def _nested_classes(
        self, section: Element, outer: dict[str, Attributes]
    ) -> dict[str, Attributes]:
        name = section.get("class", "")
        if not name:
            raise fault(section, "a nested default without a class; expected its name")
        if name in self._classes:
            raise fault(section, f"duplicate default class {name!r}; expected one")
        self._classes[name] = dict(outer)
        return self._classes[name]

    def class_name(self, element: Element, attribute: str, inherited: str) -> str:
        """Return the class that an element names, or the inherited one."""
        name = element.get(attribute)
        if name is None:
            return inherited
        if name not in self._classes:
            raise unknown(element, "default class", name, self._classes)
        return name

    def apply(
        self, element: Element, inherited: str = MAIN, tag: str | None = None
    ) -> Element:
        """Return the element with the attributes of its class filled in."""
        name = self.class_name(element, "class", inherited)
        attributes = self._classes[name].get(tag or element.tag)
        if not attributes:
            return element
        return like(element, merged_attributes(attributes, element.attrib))


def merged_attributes(inherited: Attributes, own: Attributes) -> Attributes:
    """Return attributes with the own ones laid over the inherited."""
    result = dict(inherited)
    if any(name in own for name in ORIENTATIONS):
        for name in ORIENTATIONS:
            result.pop(name, None)
    result.update(own)
    for name in _OPEN_LISTS:
        if name in own and name in inherited:
            front, back = own[name].split(), inherited[name].split()
            result[name] = " ".join(front + back[len(front) :])
    return result
