"""Write the inertia of every body into an MJCF model, so that it needs no meshes."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ramidyn.description.description import Inertial
from ramidyn.description.formats.mjcf.parse import MjcfModel, read_document
from ramidyn.description.formats.read import read_source
from ramidyn.description.formats.xml import Element
from ramidyn.errors import ModelError


def with_inertials(
    source: str | os.PathLike[str],
    include_directory: str | os.PathLike[str] | None = None,
    inertials: Mapping[str, Inertial | None] | None = None,
) -> tuple[str, list[str], list[Path]]:
    """Return a model with an <inertial> in every body: its own, or a given one.

    Included files become part of the text; comments are lost.

    Returns:
        The text, the bodies that got an inertia, and all files that were read.

    Raises:
        ModelError: the model cannot be loaded, or is not MJCF.
    """
    text, path = read_source(source)
    label = path.name if path is not None else "text"
    if "<mujoco" not in text:
        raise ModelError(f"{label}: expected an MJCF file, with <mujoco>")
    folder = path.parent if path is not None else None
    root, allowed = read_document(text, label, folder, include_directory)
    model = MjcfModel(root, allowed)
    rule = model.settings.inertia_from_geom
    written: list[str] = []
    done: set[Element] = set()
    for body, described in zip(model.world.bodies[1:], model.bodies(), strict=True):
        inertial = described.inertial
        if inertials is not None:
            _remove_inertial(body.element)
            given = inertials.get(body.name)
            body.element.insert(0, _element(MASSLESS if given is None else given))
            written.append(body.name)
            continue
        if inertial is None or inertial.mass <= 0 or body.element in done:
            continue
        if rule == "true" or body.inertial is None:
            _remove_inertial(body.element)
            body.element.insert(0, _element(inertial))
            written.append(body.name)
            done.add(body.element)  # bodies that <replicate> made share theirs
    for compiler in root.iter("compiler"):
        compiler.attrib.pop("inertiafromgeom", None)
    ET.indent(root)
    files = [] if allowed is None else sorted(allowed.seen)
    return ET.tostring(root, encoding="unicode") + "\n", written, files


MASSLESS = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def _remove_inertial(body: Element) -> None:
    for child in body.findall("inertial"):
        body.remove(child)


def _element(inertial: Inertial) -> ET.Element:
    I = inertial.inertia.tolist()
    full = (I[0][0], I[1][1], I[2][2], I[0][1], I[0][2], I[1][2])
    return ET.Element(
        "inertial",
        pos=_written(inertial.com.tolist()),
        mass=repr(inertial.mass),
        fullinertia=_written(full),
    )


def _written(values: Iterable[float]) -> str:
    return " ".join(map(repr, values))
