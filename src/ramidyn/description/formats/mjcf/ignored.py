"""Warnings that name the parts of an MJCF model that Ramidyn ignores."""

from __future__ import annotations

from collections.abc import Iterable

from ramidyn.description.formats.xml import Element, numbers, where


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
