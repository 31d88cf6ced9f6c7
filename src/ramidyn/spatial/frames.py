"""Frame tags: in which body's coordinates a spatial quantity is expressed.

A tag is the name of a body, or None for what has no frame of its own: zero, or a
quantity made from components. None agrees with every frame; two names must be
equal. Tags are checked while a function is traced, and leave nothing in the program.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn, TypeAlias

from ramidyn.errors import FrameError

Tag: TypeAlias = str | None

WORLD = "world"
"""the tag of the world's frame"""

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(_HERE)), "")


def common(verb: str, a: Tag, b: Tag) -> Tag:
    """Return the frame of two operands, or raise FrameError if they differ."""
    if a is None:
        return b
    if b is not None and a != b:
        _refuse(
            f"cannot {verb}: left operand is in {_shown(a)}, right operand in "
            f"{_shown(b)}"
        )
    return a


def check_source(expected: Tag, given: Tag) -> None:
    """Raise FrameError unless a transform's operand is in the frame it comes from."""
    if expected is not None and given is not None and expected != given:
        _refuse(
            f"cannot transform: the operand is in {_shown(given)}, the transform "
            f"starts in {_shown(expected)}"
        )


def _shown(tag: str) -> str:
    return "the world" if tag == WORLD else f"body {tag!r}"


def _refuse(what: str) -> NoReturn:
    """Raise FrameError with the line of the first caller outside of ``spatial``."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  as in expr.py
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    path = frame.f_code.co_filename.removeprefix(_PACKAGE).replace(os.sep, "/")
    raise FrameError(f"{what} ({path}:{frame.f_lineno})")
