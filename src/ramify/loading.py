"""Load a robot from a file or a text."""

from __future__ import annotations

import gc
import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, cast

from ramify.errors import ModelError, ModelWarning, ShapeError
from ramify.model.conventions import Conventions
from ramify.model.description import Description
from ramify.model.mjcf import parse_mjcf
from ramify.model.source import read_source
from ramify.model.urdf import parse_urdf
from ramify.model.xml import parse_xml
from ramify.robot import Robot

_TAG: Final = re.compile(r"<([A-Za-z_][\w.:-]*)")


def load(
    source: str | os.PathLike[str],
    *,
    root: str | None = None,
    conventions: str | Conventions = "pinocchio",
    joint_order: str | Sequence[str] = "file",
    mimic: str = "reduce",
    strict: bool = False,
    gravity: Sequence[float] | None = None,
    include_directory: str | os.PathLike[str] | None = None,
) -> Robot:
    """Load a robot from a URDF or MJCF file, or from the text of one.

    Meshes are never read. What is odd about the file comes as a `ModelWarning` that
    names it.

    Args:
        source: a path, or XML text.
        root: "floating", "planar" or "fixed" puts the root body on such a joint; None
            leaves what the file says.
        conventions: how q, q̇ and 6-vectors are laid out: "pinocchio", "mujoco",
            "featherstone" or a `Conventions` value.
        joint_order: "file" (depth first), "alphabetical" (as Pinocchio) or the names
            of all joints in the order wanted.
        mimic: "reduce" (a mimic joint follows its leader and is not in q) or
            "independent".
        strict: turn warnings into a `ModelError`.
        gravity: (3,) [m/s²]; the file's (MJCF) or (0, 0, −9.81) by default.
        include_directory: MJCF: files outside of it cannot be included; by default
            the parent of the file's own directory.

    Raises:
        ModelError: the file cannot be read or cannot be a robot.
    """
    with _garbage_kept():
        description = parse(source, include_directory)
        if gravity is not None:
            description = replace(description, gravity=_checked_gravity(gravity))
        robot = Robot.from_description(
            description,
            root=root,
            conventions=conventions,
            joint_order=joint_order,
            mimic=mimic,
        )
    if robot.warnings and strict:
        raise ModelError(f"{description.name} (strict): " + "; ".join(robot.warnings))
    for text in robot.warnings:
        warnings.warn(text, ModelWarning, stacklevel=2)
    return robot


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """Collect no garbage meanwhile: a large file is all live, and is walked for it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parse(
    source: str | os.PathLike[str],
    include_directory: str | os.PathLike[str] | None = None,
) -> Description:
    """Return the description in a file or a text, by the name of its first element."""
    text, path = read_source(source)
    label = path.name if path is not None else "text"
    tag = _root_tag(text) or parse_xml(text, label).tag
    if tag == "robot":
        return parse_urdf(text, label)
    if tag == "mujoco":
        folder = path.parent if path is not None else None
        return parse_mjcf(text, label, folder, include_directory)
    parse_xml(text, label)  # if it is no XML, that is what to say
    raise ModelError(
        f"{label}: the first element is <{tag}>; expected <robot> (URDF) or <mujoco> "
        "(MJCF)"
    )


def _root_tag(text: str) -> str:
    """Return the name of the first element, or "" where it takes a parser to see it."""
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


def _checked_gravity(gravity: object) -> tuple[float, float, float]:
    try:
        x, y, z = (float(g) for g in cast(Iterable[float], gravity))
    except (TypeError, ValueError):
        x = y = z = math.nan
    if not all(map(math.isfinite, (x, y, z))):
        raise ShapeError(f"gravity is {gravity!r}; expected 3 finite numbers [m/s²]")
    return x, y, z
