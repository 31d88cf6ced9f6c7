"""Attributes and elements of MJCF: known ones, to detect typos, and ignored ones.

MuJoCo rejects an unknown attribute; here it is a warning, because newer versions add
some.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ramidyn.description.formats.mjcf.defaults import ORIENTATIONS
from ramidyn.description.formats.xml import Element, numbers, where
from ramidyn.errors import close_matches

_POSE: Final = ("pos", *ORIENTATIONS)
_EQUALITY: Final = ("name", "class", "active", "solref", "solimp")
_SCALARS: Final = "armature damping stiffness frictionloss ref springref margin user"
_GEOM: Final = (
    "type contype conaffinity condim group priority size material friction mass "
    "density shellinertia solmix solref solimp margin gap surfacevel adhesion fromto "
    "hfield mesh fitscale rgba fluidshape fluidcoef user"
)
_NUMBERS: Final = frozenset(
    (
        *(*_POSE, "axis", "range", "actuatorfrcrange", "size", "fromto", "mass"),
        *(*_SCALARS.split(), "density", "diaginertia", "fullinertia", "group", "qpos"),
        *("gravcomp", "gravity", "boundmass", "boundinertia", "settotalmass"),
        *("inertiagrouprange", "offset", "anchor", "relpose", "polycoef"),
    )
)

KNOWN: Final[dict[str, frozenset[str]]] = {
    tag: frozenset((*words.split(), *more))
    for tag, words, more in (
        (
            "compiler",
            "autolimits boundmass boundinertia settotalmass balanceinertia strippath "
            "coordinate angle fitaabb eulerseq meshdir texturedir discardvisual "
            "usethread fusestatic inertiafromgeom inertiagrouprange saveinertial "
            "assetdir alignfree conflict convexhull exactmeshinertia",
            (),
        ),
        ("body", "name childclass mocap gravcomp sleep simple user", _POSE),
        ("frame", "name childclass", _POSE),
        ("replicate", "count offset euler sep childclass", ()),
        ("inertial", "mass diaginertia fullinertia", _POSE),
        ("freejoint", "name group align", ()),
        (
            "joint",
            "name class type group pos axis springdamper limited actuatorfrclimited "
            "solreflimit solimplimit solreffriction solimpfriction range "
            f"actuatorfrcrange actuatorgravcomp align {_SCALARS}",
            (),
        ),
        ("geom", f"name class {_GEOM}", _POSE),
        ("site", "name class type group material size fromto rgba user", _POSE),
        ("connect", "body1 body2 anchor site1 site2", _EQUALITY),
        ("weld", "body1 body2 anchor site1 site2 relpose torquescale", _EQUALITY),
    )
}


def warn_of_unknown_attributes(element: Element, warnings: list[str]) -> None:
    """Append a warning for every attribute that MJCF does not have there."""
    known = KNOWN.get(element.tag)
    if known is None or known.issuperset(element.attrib):
        return
    for name in element.attrib:
        if name not in known and ":" not in name:
            close = close_matches(name, known)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            warnings.append(
                f"{where(element)}: unknown attribute {name!r} is ignored{hint}"
            )


def drop_blank_numbers(root: Element) -> None:
    """Remove attributes such as range="", which count as not written in MuJoCo."""
    for element in root.iter():
        blank = [
            name
            for name, text in element.attrib.items()
            if name in _NUMBERS and not text.strip()
        ]
        for name in blank:
            del element.attrib[name]


def ignored_options(options: Element) -> list[str]:
    """Return warnings about the fluid around the model."""
    given = [
        name
        for name, count in (("density", 1), ("viscosity", 1), ("wind", 3))
        if any(numbers(options, name, count, (0.0,) * count))
    ]
    if not given:
        return []
    return [f"{where(options)}: the fluid ({', '.join(given)}) is ignored"]


def ignored_flexes(sections: list[Element]) -> list[str]:
    """Return warnings about deformable bodies."""
    return [
        f"{where(flex)}: the elasticity of the flex is ignored"
        for flex in _children(sections)
        if flex.tag == "flex"
    ]


def _children(sections: list[Element]) -> Iterable[Element]:
    for section in sections:
        for child in section:
            assert isinstance(child, Element)
            yield child
