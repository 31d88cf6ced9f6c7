"""The inertia of an MJCF body: given, or computed from its geoms."""

from __future__ import annotations

import numpy as np

from ramidyn.description.constants import (
    ORIGIN,
    Symmetric,
    eigen,
    full,
    is_surely_physical,
    moved_point,
    squares,
    total,
    turned_inertia,
    upper,
    without_rounding,
)
from ramidyn.description.description import Inertial
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    ORIENTATIONS,
    TINY,
    Settings,
)
from ramidyn.description.formats.mjcf.geoms import (
    Solid,
    is_counted,
    needs_file,
    solid_of,
)
from ramidyn.description.formats.mjcf.meshes import MeshAssets
from ramidyn.description.formats.mjcf.orientation import position, rotation
from ramidyn.description.formats.xml import Element, fault, number, numbers, where, word
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError

Placed = tuple[Element, Pose]
"""an element with its defaults filled in, and its parent frame"""


def read_inertial(placed: Placed, settings: Settings, warnings: list[str]) -> Inertial:
    """Return the inertia that an <inertial> gives, in body coordinates."""
    element, T_body_frame = placed
    word(element, "pos")
    if "mass" not in element.attrib:
        warnings.append(f"{where(element)}: no attribute 'mass'; treated as 0")
    mass = number(element, "mass", 0.0, largest=LARGEST)
    if mass < 0:
        raise fault(element, f"mass={mass:g}; expected at least 0")
    T = T_body_frame @ Pose.at(position(element))
    inertia = turned_inertia(_written_inertia(element, settings), T.rows)
    return Inertial(mass, T.p, full(inertia))


def _written_inertia(element: Element, settings: Settings) -> Symmetric:
    """Return the inertia about the center of mass, in the frame of the element."""
    if "fullinertia" not in element.attrib:
        x, y, z = numbers(element, "diaginertia", 3, ORIGIN, largest=LARGEST)
        return turned_inertia((x, 0.0, 0.0, y, 0.0, z), rotation(element, settings))
    others = [a for a in (*ORIENTATIONS, "diaginertia") if a in element.attrib]
    if others:
        raise fault(element, f"fullinertia and {others[0]} are given; expected one")
    xx, yy, zz, xy, xz, yz = numbers(element, "fullinertia", 6, largest=LARGEST)
    return xx, xy, xz, yy, yz, zz


def gather(
    body: Element, geoms: list[Placed], settings: Settings, meshes: MeshAssets
) -> Inertial | None:
    """Return the inertia of the geoms together, None if none has mass.

    Raises:
        ModelError: one of them is a mesh that cannot be read.
    """
    parts: list[Solid] = []
    for geom, T_body_frame in geoms:
        if not is_counted(geom, settings):
            continue
        if needs_file(geom):
            mass, com, inertia = _mesh_solid(body, geom, meshes)
        else:
            mass, com, inertia = solid_of(geom, settings)
        if mass > TINY:
            com = moved_point(T_body_frame.rows, com, T_body_frame.origin)
            parts.append((mass, com, turned_inertia(inertia, T_body_frame.rows)))
    return _sum_of_solids(parts) if parts else None


def takes_mesh(geoms: list[Placed], settings: Settings) -> bool:
    """Return whether one of the geoms that give inertia is a mesh."""
    return any(is_counted(g, settings) and needs_file(g) for g, _ in geoms)


def _mesh_solid(body: Element, geom: Element, meshes: MeshAssets) -> Solid:
    name = geom.get("name") or geom.get("mesh") or geom.get("hfield") or ""
    try:
        return meshes.solid(geom)
    except ModelError as e:
        raise fault(
            body,
            f"takes its inertia from mesh geom {name!r} (line {geom.line}), but {e}; "
            "add an <inertial> to the body (`ramidyn write-inertials` does it where "
            "the meshes are)",
        ) from None


def _sum_of_solids(parts: list[Solid]) -> Inertial:
    if len(parts) == 1:
        ((mass, center, own),) = parts
        return Inertial(mass, np.array(center), full(without_rounding(own)))
    mass = total(*(m for m, _, _ in parts))
    moments = zip(*([m * x for x in c] for m, c, _ in parts), strict=True)
    com = [total(*terms) / mass for terms in moments]
    inertia = [0.0] * 6
    for m, c, I in parts:
        away = squares([x - y for x, y in zip(c, com, strict=True)])
        terms = zip(inertia, I, away, strict=True)
        inertia = [a + (b + m * s) for a, b, s in terms]
    return Inertial(mass, np.array(com), full(without_rounding(inertia)))


def bounded_inertia(
    inertial: Inertial | None, body: Element, settings: Settings, warnings: list[str]
) -> Inertial | None:
    """Apply boundmass, boundinertia, balanceinertia; warn about unphysical values."""
    if inertial is None:
        if settings.least_mass <= 0 and settings.least_inertia <= 0:
            return None
        # MuJoCo puts the mass of a body without any at ``pos``, in body coordinates.
        inertial = Inertial(0.0, np.array(position(body)), np.zeros((3, 3)))
    mass = max(inertial.mass, settings.least_mass)
    if settings.least_inertia <= 0 and is_surely_physical(upper(inertial.inertia)):
        return Inertial(mass, inertial.com, inertial.inertia)
    moments, R = eigen(inertial.inertia)
    raised = [max(x, settings.least_inertia) for x in moments]
    changed = settings.least_inertia > 0 and raised != moments
    if changed:
        moments = raised
    slack = 1e-12 * max(map(abs, moments))
    if moments[0] + moments[1] < moments[2] - slack or moments[0] < -slack:
        if settings.balance_inertia:
            mean = total(*(max(x, 0.0) for x in moments)) / 3
            return Inertial(mass, inertial.com, np.eye(3) * mean)
        warnings.append(
            f"{where(body)}: unphysical inertia: principal moments "
            f"{moments[0]:.4g}, {moments[1]:.4g}, {moments[2]:.4g} "
            "(none may be negative or exceed the sum of the others)"
        )
    inertia = inertial.inertia
    if changed:
        x, y, z = moments
        inertia = full(
            turned_inertia((x, 0.0, 0.0, y, 0.0, z), tuple(map(tuple, R.tolist())))
        )
    return Inertial(mass, inertial.com, inertia)
