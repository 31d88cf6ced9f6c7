"""Spatial vectors: Motion and Force, angular part first (RBDA ch. 2).

They are duals: ``f.dot(m)`` is power; adding one to the other is a TypeError. Each
carries the frame it is expressed in (`frames`). They are not frozen dataclasses, which
take three times as long to create: a trace creates thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from ramidyn.spatial.frames import Tag, common
from ramidyn.spatial.vector3 import ZERO3, Vec, halves, values
from ramidyn.symbolic.expr import Expr


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
