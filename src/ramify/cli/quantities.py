"""Quantities by their names on the command line: ``jacobian:hand``."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import cache

from ramify import quantities
from ramify.errors import Error, UnknownName
from ramify.quantities.base import Quantity

OfFrame = Callable[[str], Quantity]


@cache
def plain() -> dict[str, Quantity]:
    """Return the quantities that need no frame, by name."""
    found: dict[str, Quantity] = {}
    for module in _modules():
        for value in vars(module).values():
            if isinstance(value, Quantity):
                found[value.name] = value
    return found


@cache
def of_frames() -> dict[str, OfFrame]:
    """Return the functions that give the quantity of a frame, by name."""
    found: dict[str, OfFrame] = {}
    for module in _modules():
        for name, value in vars(module).items():
            if name.startswith("_") or not inspect.isfunction(value):
                continue
            parameters = list(inspect.signature(value).parameters.values())
            annotation = inspect.signature(value).return_annotation
            if annotation == "Quantity" and parameters[0].name == "frame":
                found[name] = value
    return found


def named(name: str) -> Quantity:
    """Return a quantity by its name, ``word`` or ``word:frame``."""
    word, _, frame = name.partition(":")
    if frame and word in of_frames():
        return of_frames()[word](frame)
    if not frame and word in plain():
        return plain()[word]
    if word in of_frames():
        raise UnknownName(f"{word} is of a frame; expected {word}:<frame>")
    if word in plain():
        raise UnknownName(f"{word} is of no frame; expected {word} alone")
    known = [*plain(), *(f"{w}:<frame>" for w in of_frames())]
    close = difflib.get_close_matches(word, [*plain(), *of_frames()], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UnknownName(f"no quantity {word!r}.{hint} All: {', '.join(known)}.")


@cache
def _modules() -> list[object]:
    out: list[object] = []
    for info in pkgutil.iter_modules(quantities.__path__):
        try:
            out.append(importlib.import_module(f"ramify.quantities.{info.name}"))
        except (ImportError, Error):
            continue
    return out
