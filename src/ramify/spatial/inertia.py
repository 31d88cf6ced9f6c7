"""Rigid-body and articulated-body inertias, in the compact forms (RBDA §2.13).

RigidInertia         m, h = m c, I about the origin           10 numbers
ArticulatedInertia   [I H; Hᵀ M]: n = I w + H v, f = Hᵀ w + M v    21 numbers
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from ramify.spatial.vector3 import (
    ZERO,
    ZERO3,
    Mat,
    Vec,
    cross,
    minus,
    plus,
    scale,
    times,
)
from ramify.spatial.vectors import Force, Motion
from ramify.symbolic.expr import Expr


@final
@dataclass(frozen=True, slots=True, eq=False)
class RigidInertia:
    """The inertia of a rigid body about its frame's origin."""

    m: Expr
    h: Vec
    I: Mat

    @staticmethod
    def zero() -> RigidInertia:
        """Return the inertia of nothing."""
        return RigidInertia(ZERO, ZERO3, (ZERO3, ZERO3, ZERO3))

    def __add__(self, other: RigidInertia) -> RigidInertia:
        if other.__class__ is not RigidInertia:
            return NotImplemented
        return RigidInertia(
            self.m + other.m, plus(self.h, other.h), sum_symmetric(self.I, other.I)
        )

    def __matmul__(self, m: Motion) -> Force:
        """Return the momentum of motion m: [I w + h × v; m v − h × w]."""
        return Force(
            plus(times(self.I, m.w), cross(self.h, m.v)),
            minus(scale(self.m, m.v), cross(self.h, m.w)),
        )

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia in the general form."""
        h, m = self.h, self.m
        H: Mat = (
            (ZERO, -h[2], h[1]),
            (h[2], ZERO, -h[0]),
            (-h[1], h[0], ZERO),
        )
        M: Mat = ((m, ZERO, ZERO), (ZERO, m, ZERO), (ZERO, ZERO, m))
        return ArticulatedInertia(self.I, H, M)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArticulatedInertia:
    """The inertia that a body shows when those beyond it move as they will."""

    I: Mat
    H: Mat
    M: Mat

    @staticmethod
    def zero() -> ArticulatedInertia:
        """Return the inertia of nothing."""
        Z = (ZERO3, ZERO3, ZERO3)
        return ArticulatedInertia(Z, Z, Z)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        if other.__class__ is not ArticulatedInertia:
            return NotImplemented
        H = tuple(plus(a, b) for a, b in zip(self.H, other.H, strict=True))
        return ArticulatedInertia(
            sum_symmetric(self.I, other.I),
            H,  # type: ignore[arg-type]
            sum_symmetric(self.M, other.M),
        )

    def __matmul__(self, m: Motion) -> Force:
        """Return the force for acceleration m."""
        Ht: Mat = tuple(zip(*self.H, strict=True))  # type: ignore[assignment]
        return Force(
            plus(times(self.I, m.w), times(self.H, m.v)),
            plus(times(Ht, m.w), times(self.M, m.v)),
        )

    def minus_outer(self, U: Force, u: Force) -> ArticulatedInertia:
        """Return self − U uᵀ, where u is U scaled (so the result is symmetric)."""
        n, f, un, uf = U.n, U.f, u.n, u.f
        R = range(3)
        return ArticulatedInertia(
            symmetric(lambda i, j: self.I[i][j] - n[i] * un[j]),
            tuple(tuple(self.H[i][j] - un[i] * f[j] for j in R) for i in R),  # type: ignore[arg-type]
            symmetric(lambda i, j: self.M[i][j] - f[i] * uf[j]),
        )

    def without(self, k: int) -> ArticulatedInertia:
        """Return self with row and column k (of six) zero, as they are known to be."""
        if k < 3:
            H = tuple(ZERO3 if i == k else row for i, row in enumerate(self.H))
            return ArticulatedInertia(_cleared(self.I, k), H, self.M)  # type: ignore[arg-type]
        k -= 3
        H = tuple(
            tuple(ZERO if j == k else e for j, e in enumerate(row)) for row in self.H
        )
        return ArticulatedInertia(self.I, H, _cleared(self.M, k))  # type: ignore[arg-type]


def _cleared(A: Mat, k: int) -> Mat:
    return symmetric(lambda i, j: ZERO if k in (i, j) else A[i][j])


def symmetric(entry: Callable[[int, int], Expr]) -> Mat:
    """Return the symmetric matrix whose upper triangle is entry(i, j)."""
    xx, xy, xz = entry(0, 0), entry(0, 1), entry(0, 2)
    yy, yz, zz = entry(1, 1), entry(1, 2), entry(2, 2)
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def sum_symmetric(A: Mat, B: Mat) -> Mat:
    """Return A + B of symmetric matrices."""
    return symmetric(lambda i, j: A[i][j] + B[i][j])
