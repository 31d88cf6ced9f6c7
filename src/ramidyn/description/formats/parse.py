"""Parse a robot file of any format into a Description."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ramidyn.description.description import Description, ShapeSource
from ramidyn.description.formats.read import expand_xacro, is_xacro, read_source
from ramidyn.description.formats.urdf import parse_urdf
from ramidyn.description.formats.xml import parse_xml
from ramidyn.errors import ArgumentError, ModelError

_TAG: Final = re.compile(r"<([A-Za-z_][\w.:-]*)")


def parse(
    source: str | os.PathLike[str],
    include_directory: str | os.PathLike[str] | None = None,
    xacro_arguments: Mapping[str, object] | None = None,
) -> Description:
    """Return the description in a file or a text, by the name of its first element."""
    if not isinstance(include_directory, str | os.PathLike | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"include_directory is {include_directory!r}; expected a directory"
        )
    text, path = read_source(source)
    label = path.name if path is not None else "text"
    is_expanded = path is not None and is_xacro(path)
    if path is not None and is_expanded:
        text = expand_xacro(path, xacro_arguments or {})
        label = f"{path.stem} (expanded)"
    elif xacro_arguments is not None:
        raise ArgumentError(
            f"xacro_arguments is given, but {label!r} is not a .xacro file"
        )
    tag = root_tag(text) or parse_xml(text, label).tag
    shapes = (ShapeSource.of(text, path, include_directory, is_expanded),)
    if tag == "robot":
        return replace(parse_urdf(text, label), shape_sources=shapes)
    if tag == "mujoco":
        from ramidyn.description.formats.mjcf.parse import parse_mjcf  # noqa: PLC0415  a URDF needs none of it

        folder = path.parent if path is not None else None
        found = parse_mjcf(text, label, folder, include_directory)
        return replace(found, shape_sources=shapes)
    if tag == "sdf":
        from ramidyn.description.formats.sdf import parse_sdf  # noqa: PLC0415  the same

        return replace(parse_sdf(text, label), shape_sources=shapes)
    parse_xml(text, label)  # if it is not XML, this says so
    raise ModelError(
        f"{label}: the first element is <{tag}>; expected <robot> (URDF), <mujoco> "
        "(MJCF) or <sdf> (SDF)"
    )


def root_tag(text: str) -> str:
    """Return the name of the first element, or "" if only a parser can find it."""
    at = 0
    while True:
        at = text.find("<", at)
        if at < 0:
            return ""
        for opening, closing in (("<!--", "-->"), ("<?", "?>")):
            if text.startswith(opening, at):
                end = text.find(closing, at)
                at = end + len(closing) if end > 0 else len(text)
                break
        else:
            found = _TAG.match(text, at)
            return found[1] if found else ""
