"""Mass and inertia of MJCF's primitive geoms, solid or shell.

The formulas are the textbook's for uniform density, with the two approximations that
MuJoCo makes for the shell of an ellipsoid, so that both agree to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ramidyn.description.constants import Symmetric, Three, turned_inertia
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    TINY,
    Settings,
    choice,
    flag,
    whole,
)
from ramidyn.description.formats.mjcf.orientation import pose, segment
from ramidyn.description.formats.xml import Element, fault, number, numbers
from ramidyn.description.pose import Pose

SIZES: Final = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""how many sizes each primitive needs"""
Solid = tuple[float, Three, Symmetric]
"""a mass, where its center is, and its inertia about there"""
_MASSLESS: Final = ("plane",)
_FROM_FILES: Final = ("mesh", "hfield", "sdf")


def is_counted(geom: Element, settings: Settings) -> bool:
    """Return whether a geom takes part in the inertia of its body."""
    first, last = settings.inertia_groups
    if not first <= whole(geom, "group", 0) <= last:
        return False
    if geom_type(geom) in _MASSLESS:
        return False
    if "mass" in geom.attrib:
        return number(geom, "mass", largest=LARGEST) != 0
    return number(geom, "density", 1000.0, largest=LARGEST) != 0


def geom_type(geom: Element) -> str:
    """Return the type of a geom; "mesh" also for a primitive fitted to a mesh."""
    return "mesh" if "mesh" in geom.attrib else geom_kind(geom)


def geom_kind(geom: Element) -> str:
    """Return the type of a geom as it is drawn."""
    return choice(geom, "type", *SIZES, *_MASSLESS, *_FROM_FILES, default="sphere")


def needs_file(geom: Element) -> bool:
    """Return whether the shape of a geom is in a file, or made from one."""
    return geom_type(geom) in _FROM_FILES


def solid_of(geom: Element, settings: Settings) -> Solid:
    """Return the mass and inertia of a primitive geom, in its own parent frame."""
    kind = geom_type(geom)
    return sized_solid(geom, kind, *size_and_pose(geom, kind, settings))


def sized_solid(
    geom: Element, kind: str, size: tuple[float, ...], placement: Pose
) -> Solid:
    """Return the mass and inertia of a primitive of that size at that place."""
    is_shell = flag(geom, "shellinertia")
    mass = mass_of(geom, (_area if is_shell else _volume)(kind, size))
    x, y, z = (mass * s for s in (_shell if is_shell else _solid)(kind, size))
    inertia = turned_inertia((x, 0.0, 0.0, y, 0.0, z), placement.rows)
    return mass, placement.origin, inertia


def mass_of(geom: Element, extent: float) -> float:
    """Return the mass of a geom of that volume (or area, of a shell)."""
    if "mass" in geom.attrib:
        mass = number(geom, "mass", largest=LARGEST)
        if extent <= TINY:
            mass = 0.0
    else:
        mass = number(geom, "density", 1000.0, largest=LARGEST) * extent
    if mass < 0:
        raise fault(geom, "a negative mass or density; expected a positive one")
    return mass


def size_and_pose(
    geom: Element, kind: str, settings: Settings
) -> tuple[tuple[float, ...], Pose]:
    """Return the sizes of a primitive, halves as in MJCF, and its pose."""
    size = list(numbers(geom, "size", range(1, 4), (0.0,), largest=LARGEST))
    if "fromto" in geom.attrib:
        if kind == "sphere":
            raise fault(geom, "fromto; expected a capsule, cylinder, ellipsoid or box")
        placement, half = segment(geom)
        size = [size[0], half] if SIZES[kind] == 2 else [size[0], size[0], half]
    else:
        placement = pose(geom, settings)
    size = size[: SIZES[kind]]
    if len(size) < SIZES[kind] or min(size) <= 0:
        raise fault(
            geom,
            f"size={geom.get('size', '')!r}; expected {SIZES[kind]} positive "
            f"number{'s' if SIZES[kind] > 1 else ''} for a {kind}",
        )
    return tuple(size), placement


def _volume(kind: str, size: Sequence[float]) -> float:
    match kind, size:
        case "sphere", (r,):
            return 4 / 3 * math.pi * r**3
        case "capsule", (r, h):
            return math.pi * r**2 * (2 * h + 4 / 3 * r)
        case "cylinder", (r, h):
            return math.pi * r**2 * 2 * h
        case "ellipsoid", (a, b, c):
            return 4 / 3 * math.pi * a * b * c
        case _:
            return 8 * math.prod(size)


def _area(kind: str, size: Sequence[float]) -> float:
    match kind, size:
        case "sphere", (r,):
            return 4 * math.pi * r**2
        case "capsule", (r, h):
            return 4 * math.pi * r * (r + h)
        case "cylinder", (r, h):
            return 2 * math.pi * r * (r + 2 * h)
        case "ellipsoid", (a, b, c):
            p = 1.6075  # Thomsen's approximation, good to 1 %
            mean = ((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3
            return 4 * math.pi * mean ** (1 / p)
        case _:
            a, b, c = size
            return 8 * (a * b + b * c + c * a)


def _solid(kind: str, size: Sequence[float]) -> Three:
    """Return the principal moments of a solid of unit mass."""
    match kind, size:
        case "sphere", (r,):
            return (2 / 5 * r**2,) * 3
        case "capsule", (r, h):
            caps = 4 * r / (4 * r + 6 * h)  # their share of the mass
            tube = 1 - caps
            ends = 2 / 5 * r**2
            across = tube * (r**2 / 4 + h**2 / 3) + caps * (
                ends + h * (3 * r + 4 * h) / 4
            )
            return across, across, tube * r**2 / 2 + caps * ends
        case "cylinder", (r, h):
            across = r**2 / 4 + h**2 / 3
            return across, across, r**2 / 2
        case _:
            squares = [s * s for s in size]
            share = 5 if kind == "ellipsoid" else 3
            return tuple((sum(squares) - s) / share for s in squares)


def _shell(kind: str, size: Sequence[float]) -> Three:
    """Return the principal moments of a thin shell of unit mass."""
    match kind, size:
        case "sphere", (r,):
            return (2 / 3 * r**2,) * 3
        case "capsule", (r, h):
            caps = r / (r + h)
            tube = 1 - caps
            ends = 2 / 3 * r**2
            across = tube * (r**2 / 2 + h**2 / 3) + caps * (ends + h * (h + r))
            return across, across, tube * r**2 + caps * ends
        case "cylinder", (r, h):
            lid = r / (2 * r + 4 * h)  # the share of each of the two
            tube = 1 - 2 * lid
            across = tube * (r**2 / 2 + h**2 / 3) + 2 * lid * (r**2 / 4 + h**2)
            return across, across, tube * r**2 + lid * r**2
        case "ellipsoid", _:
            return _ellipsoid_shell(size)
        case _:
            return _box_shell(size)


def _ellipsoid_shell(size: Sequence[float]) -> Three:
    """Subtract the ellipsoid from one that is a micrometer larger, as MuJoCo does."""
    larger = [x + 1e-6 for x in size]
    outer, inner = math.prod(larger), math.prod(size)
    a, b = outer / (outer - inner), inner / (outer - inner)
    second = [a * (y * y) - b * (x * x) for x, y in zip(size, larger, strict=True)]
    return tuple((sum(second) - s) / 5 for s in second)


def _box_shell(size: Sequence[float]) -> Three:
    """Sum six plates; s[k] is the second moment ∫x_k² of the shell."""
    square = [x * x for x in size]
    s = [0.0] * 3
    area = 0.0
    for k in range(3):  # the two plates normal to axis k
        others = [j for j in range(3) if j != k]
        plate = size[others[0]] * size[others[1]]
        area += plate
        s[k] += plate * square[k]
        for j in others:
            s[j] += plate * square[j] / 3
    s = [x / area for x in s]
    return tuple(sum(s) - x for x in s)
