"""Spatial vectors: Motion and Force, angular part first (RBDA ch. 2).

They are duals: ``f.dot(m)`` is power; adding one to the other is a TypeError. Each
carries the frame it is expressed in. They are not frozen dataclasses, which
take three times as long to create: a trace creates thousands.

A tag is the name of a body, or None for what has no frame of its own: zero, or a
quantity made from components. None agrees with every frame; two names must be
equal. Tags are checked while a function is traced, and leave nothing in the program.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, final

from ramidyn.errors import FrameError
from ramidyn.spatial.vector3 import ZERO3, Vec, halves, values
from ramidyn.symbolic.expr import Expr

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
            f"cannot {verb}: left operand is in {_shown_tag(a)}, right operand in "
            f"{_shown_tag(b)}"
        )
    return a


def check_source(expected: Tag, given: Tag) -> None:
    """Raise FrameError unless a transform's operand is in the frame it comes from."""
    if expected is not None and given is not None and expected != given:
        _refuse(
            f"cannot transform: the operand is in {_shown_tag(given)}, the transform "
            f"starts in {_shown_tag(expected)}"
        )


def _shown_tag(tag: str) -> str:
    return "the world" if tag == WORLD else f"body {tag!r}"


def _refuse(what: str) -> NoReturn:
    """Raise FrameError with the line of the first caller outside of ``spatial``."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  as in expr.py
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    path = frame.f_code.co_filename.removeprefix(_PACKAGE).replace(os.sep, "/")
    raise FrameError(f"{what} ({path}:{frame.f_lineno})")


@final
@dataclass(slots=True, eq=False)
class Motion:
    """A velocity or acceleration: angular w, and linear v at the frame's origin."""

    w: Vec
    v: Vec
    frame: Tag = None

    @staticmethod
    def of(x: Any, frame: Tag = None) -> Motion:
        """Return [w; v] of six numbers or symbols, angular first."""
        return Motion(*halves(x), frame)

    @staticmethod
    def zero() -> Motion:
        """Return zero motion."""
        return Motion(ZERO3, ZERO3)

    def __add__(self, other: Motion) -> Motion:
        if other.__class__ is not Motion:
            return NotImplemented
        frame = common("add", self.frame, other.frame)
        return Motion(self.w + other.w, self.v + other.v, frame)

    def __sub__(self, other: Motion) -> Motion:
        if other.__class__ is not Motion:
            return NotImplemented
        frame = common("subtract", self.frame, other.frame)
        return Motion(self.w - other.w, self.v - other.v, frame)

    def __neg__(self) -> Motion:
        return Motion(-self.w, -self.v, self.frame)

    def __mul__(self, s: Expr) -> Motion:
        return Motion(self.w * s, self.v * s, self.frame)

    __rmul__ = __mul__

    def cross(self, m: Motion) -> Motion:
        """Return self × m: how m changes when it moves along with self."""
        frame = common("take the cross product", self.frame, m.frame)
        w, v = self.w, self.v
        return Motion(w.cross(m.w), w.cross(m.v) + v.cross(m.w), frame)

    def cross_force(self, f: Force) -> Force:
        """Return self ×* f: how f changes when it moves along with self."""
        frame = common("take the cross product", self.frame, f.frame)
        w, v = self.w, self.v
        return Force(w.cross(f.n) + v.cross(f.f), w.cross(f.f), frame)

    def dot(self, f: Force) -> Expr:
        """Return the power of f along self."""
        return f.dot(self)

    def parts(self) -> tuple[Expr, ...]:
        """Return the six components, angular first."""
        return (*self.w, *self.v)

    def array(self) -> Any:
        """Return the six components as an array, of numbers if all are known."""
        return values(self.parts())


@final
@dataclass(slots=True, eq=False)
class Force:
    """A wrench or momentum: moment n about the frame's origin, and linear f."""

    n: Vec
    f: Vec
    frame: Tag = None

    @staticmethod
    def of(x: Any, frame: Tag = None) -> Force:
        """Return [n; f] of six numbers or symbols, angular first."""
        return Force(*halves(x), frame)

    @staticmethod
    def zero() -> Force:
        """Return zero force."""
        return Force(ZERO3, ZERO3)

    def __add__(self, other: Force) -> Force:
        if other.__class__ is not Force:
            return NotImplemented
        frame = common("add", self.frame, other.frame)
        return Force(self.n + other.n, self.f + other.f, frame)

    def __sub__(self, other: Force) -> Force:
        if other.__class__ is not Force:
            return NotImplemented
        frame = common("subtract", self.frame, other.frame)
        return Force(self.n - other.n, self.f - other.f, frame)

    def __mul__(self, s: Expr) -> Force:
        return Force(self.n * s, self.f * s, self.frame)

    __rmul__ = __mul__

    def __truediv__(self, s: Expr) -> Force:
        return Force(self.n / s, self.f / s, self.frame)

    def dot(self, m: Motion) -> Expr:
        """Return the power of self along m."""
        common("take the dot product", self.frame, m.frame)
        return self.n.dot(m.w) + self.f.dot(m.v)

    def parts(self) -> tuple[Expr, ...]:
        """Return the six components, moment first."""
        return (*self.n, *self.f)

    def array(self) -> Any:
        """Return the six components as an array, of numbers if all are known."""
        return values(self.parts())
