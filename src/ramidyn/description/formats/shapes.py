"""Read the shapes of a robot from its file, when somebody looks at it.

A shape that cannot be read is left out and named: looking never fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ramidyn.description.formats.mjcf.shapes import mjcf_shapes
from ramidyn.description.formats.parse import root_tag
from ramidyn.description.formats.read import read_source
from ramidyn.description.formats.sdf.shapes import sdf_shapes
from ramidyn.description.formats.urdf.shapes import urdf_shapes
from ramidyn.description.shapes import Shape, ShapeSource
from ramidyn.description.warning_groups import grouped
from ramidyn.errors import ModelError, ModelWarning, readable


def read_shapes(
    sources: Iterable[ShapeSource], bodies: Iterable[str]
) -> tuple[list[Shape], list[str]]:
    """Return the shapes on those bodies and the world, and what was left out."""
    known = {*bodies, "world"}
    shapes: list[Shape] = []
    problems: list[str] = []
    for source in sources:
        try:
            found = _read(source, problems)
        except ModelError as e:
            problems.append(str(e))
            continue
        placed = (_placed(shape, source) for shape in found)
        shapes += [shape for shape in placed if shape.body in known]
    return shapes, problems


def warn_of_shapes(problems: Sequence[str]) -> None:
    """Name what cannot be drawn, all of it in one warning."""
    if problems:
        shown = grouped(problems)
        rest = f"; and {len(shown) - 5} more" if len(shown) > 5 else ""
        text = "; ".join(map(readable, shown[:5]))
        warnings.warn(f"not drawn: {text}{rest}", ModelWarning, stacklevel=4)


def _read(source: ShapeSource, problems: list[str]) -> list[Shape]:
    text, _ = read_source(source.text or Path(source.path))
    path = Path(source.path) if source.path else None
    label = path.name if path is not None else "text"
    folder = None if path is None else path.parent
    tag = root_tag(text)
    if tag == "robot":
        return urdf_shapes(text, label, folder, problems)
    if tag == "sdf":
        return sdf_shapes(text, label, folder, problems)
    return mjcf_shapes(text, label, folder, source.include_directory, problems)


def _placed(shape: Shape, source: ShapeSource) -> Shape:
    """Return a shape with the names and the place that its robot has now."""
    if shape.body != "world":
        return replace(shape, body=source.prefix + shape.body)
    return replace(
        shape,
        body=source.body or "world",
        placement=source.placement @ shape.placement,
    )
