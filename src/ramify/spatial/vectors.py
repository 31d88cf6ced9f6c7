"""Spatial vectors: Motion and Force, angular part first (RBDA ch. 2).

They are duals: ``f.dot(m)`` is power; adding one to the other is a TypeError.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramify.spatial.vector3 import ZERO3, Vec, cross, dot, minus, plus, scale
from ramify.symbolic.expr import Expr


@final
@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """A velocity or acceleration: angular w, and linear v at the frame's origin."""

    w: Vec
    v: Vec

    @staticmethod
    def zero() -> Motion:
        """Return rest."""
        return Motion(ZERO3, ZERO3)

    def __add__(self, other: Motion) -> Motion:
        if other.__class__ is not Motion:
            return NotImplemented
        return Motion(plus(self.w, other.w), plus(self.v, other.v))

    def __sub__(self, other: Motion) -> Motion:
        if other.__class__ is not Motion:
            return NotImplemented
        return Motion(minus(self.w, other.w), minus(self.v, other.v))

    def __neg__(self) -> Motion:
        return Motion.zero() - self

    def __mul__(self, s: Expr) -> Motion:
        return Motion(scale(s, self.w), scale(s, self.v))

    __rmul__ = __mul__

    def cross(self, m: Motion) -> Motion:
        """Return self × m: how m changes when it moves along with self."""
        return Motion(cross(self.w, m.w), plus(cross(self.w, m.v), cross(self.v, m.w)))

    def cross_force(self, f: Force) -> Force:
        """Return self ×* f: how f changes when it moves along with self."""
        return Force(plus(cross(self.w, f.n), cross(self.v, f.f)), cross(self.w, f.f))

    def dot(self, f: Force) -> Expr:
        """Return the power of f along self."""
        return f.dot(self)

    def parts(self) -> tuple[Expr, ...]:
        """Return the six components, angular first."""
        return (*self.w, *self.v)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Force:
    """A wrench or momentum: couple n about the frame's origin, and linear f."""

    n: Vec
    f: Vec

    @staticmethod
    def zero() -> Force:
        """Return no force."""
        return Force(ZERO3, ZERO3)

    def __add__(self, other: Force) -> Force:
        if other.__class__ is not Force:
            return NotImplemented
        return Force(plus(self.n, other.n), plus(self.f, other.f))

    def __sub__(self, other: Force) -> Force:
        if other.__class__ is not Force:
            return NotImplemented
        return Force(minus(self.n, other.n), minus(self.f, other.f))

    def __mul__(self, s: Expr) -> Force:
        return Force(scale(s, self.n), scale(s, self.f))

    __rmul__ = __mul__

    def dot(self, m: Motion) -> Expr:
        """Return the power of self along m."""
        return dot(self.n, m.w) + dot(self.f, m.v)

    def parts(self) -> tuple[Expr, ...]:
        """Return the six components, couple first."""
        return (*self.n, *self.f)
