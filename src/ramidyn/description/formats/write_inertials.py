"""Write inertias of bodies into the text of a robot file, URDF or MJCF."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping

from ramidyn.description.description import Inertial
from ramidyn.description.formats.mjcf.write_inertials import with_inertials
from ramidyn.description.formats.read import read_source
from ramidyn.errors import ModelError


def text_with_inertials(
    source: str | os.PathLike[str], inertials: Mapping[str, Inertial | None]
) -> str:
    """Return the text of a robot file with other inertias, by the names of bodies.

    Nothing else changes, except that comments are lost. None is a body without mass.
    """
    text, path = read_source(source)
    if "<mujoco" in text:
        return with_inertials(source, inertials=inertials)[0]
    if "<robot" not in text:
        label = "the source" if path is None else path.name
        raise ModelError(
            f"{label}: inertias can be written to URDF and MJCF files; this is neither"
        )
    root = ET.fromstring(text)
    links = {link.get("name"): link for link in root.findall("link")}
    missing = [name for name in inertials if name not in links]
    if missing:
        raise ModelError(
            f"the source has no link {missing[0]!r}; expected the file that the robot "
            "was loaded from"
        )
    for name, inertial in inertials.items():
        link = links[name]
        for child in link.findall("inertial"):
            link.remove(child)
        if inertial is not None:
            link.insert(0, _urdf(inertial))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _urdf(inertial: Inertial) -> ET.Element:
    element = ET.Element("inertial")
    ET.SubElement(element, "origin", xyz=_numbers(inertial.com.tolist()))
    ET.SubElement(element, "mass", value=repr(inertial.mass))
    I = inertial.inertia.tolist()
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    places = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    values = {n: repr(I[i][j]) for n, (i, j) in zip(names, places, strict=True)}
    ET.SubElement(element, "inertia", values)
    return element


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(repr, values))
