"""The inertia of an MJCF body: written, or gathered from its geoms."""

from __future__ import annotations

import numpy as np

from ramify.model.constants import (
    Array,
    eigen,
    squares,
    symmetric,
    total,
    turned,
)
from ramify.model.description import Inertial
from ramify.model.formats.mjcf.defaults import LARGEST, ORIENTATIONS, TINY, Settings
from ramify.model.formats.mjcf.geoms import inertial_of, is_counted, needs_file
from ramify.model.formats.mjcf.orientation import position, rotation
from ramify.model.formats.xml import Element, fault, number, numbers, where, word
from ramify.model.pose import Pose

Placed = tuple[Element, Pose]
"""an element with its defaults filled in, and the frame that it stands in"""


def read_inertial(placed: Placed, settings: Settings, warnings: list[str]) -> Inertial:
    """Return what an <inertial> says, in body coordinates."""
    element, T_body_frame = placed
    word(element, "pos")
    if "mass" not in element.attrib:
        warnings.append(f"{where(element)}: no attribute 'mass'; taken as 0")
    mass = number(element, "mass", 0.0, largest=LARGEST)
    if mass < 0:
        raise fault(element, f"mass={mass:g}; expected at least 0")
    T = T_body_frame @ Pose(np.eye(3), position(element))
    return Inertial(mass, T.p, turned(_written_inertia(element, settings), T.R))


def _written_inertia(element: Element, settings: Settings) -> Array:
    """Return the inertia about the centre of mass, in the frame of the element."""
    if "fullinertia" not in element.attrib:
        moments = numbers(element, "diaginertia", 3, (0, 0, 0), largest=LARGEST)
        R = rotation(element, settings)
        return turned(np.array(moments) * np.eye(3), R)
    others = [a for a in (*ORIENTATIONS, "diaginertia") if a in element.attrib]
    if others:
        raise fault(element, f"fullinertia and {others[0]} are given; expected one")
    xx, yy, zz, xy, xz, yz = numbers(element, "fullinertia", 6, largest=LARGEST)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def gather(body: Element, geoms: list[Placed], settings: Settings) -> Inertial | None:
    """Return the inertia of the geoms together, None if none has mass.

    Raises:
        ModelError: one of them is a mesh.
    """
    parts: list[Inertial] = []
    for geom, T_body_frame in geoms:
        if not is_counted(geom, settings):
            continue
        if needs_file(geom):
            raise fault(body, _no_meshes(geom))
        part = inertial_of(geom, settings)
        if part.mass > TINY:
            com = T_body_frame.apply(part.com)
            inertia = turned(part.inertia, T_body_frame.R)
            parts.append(Inertial(part.mass, com, inertia))
    return _together(parts) if parts else None


def takes_mesh(geoms: list[Placed], settings: Settings) -> bool:
    """Return whether one of the geoms that give inertia is a mesh."""
    return any(is_counted(g, settings) and needs_file(g) for g, _ in geoms)


def _no_meshes(geom: Element) -> str:
    name = geom.get("name") or geom.get("mesh") or geom.get("hfield") or ""
    return (
        f"takes its inertia from the mesh geom {name!r} (line {geom.line}), and meshes "
        "are never read; add an <inertial> to the body (MuJoCo writes it with "
        "compiler saveinertial='true')"
    )


def _together(parts: list[Inertial]) -> Inertial:
    mass = total(*(part.mass for part in parts))
    moments = zip(*(part.mass * part.com for part in parts), strict=True)
    com = np.array([total(*map(float, terms)) / mass for terms in moments])
    inertia = np.zeros((3, 3))
    for part in parts:
        inertia += part.inertia + part.mass * squares((part.com - com).tolist())
    return Inertial(mass, com, symmetric(inertia.tolist()))


def bounded(
    inertial: Inertial | None, body: Element, settings: Settings, warnings: list[str]
) -> Inertial | None:
    """Apply boundmass, boundinertia and balanceinertia; warn of what is unphysical."""
    if inertial is None:
        if settings.least_mass <= 0 and settings.least_inertia <= 0:
            return None
        # MuJoCo puts the mass of a body without any at ``pos``, in body coordinates.
        inertial = Inertial(0.0, position(body), np.zeros((3, 3)))
    mass = max(inertial.mass, settings.least_mass)
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
    inertia = turned(np.array(moments) * np.eye(3), R) if changed else inertial.inertia
    return Inertial(mass, inertial.com, inertia)
