"""Rigid-body and articulated-body inertias, in the compact forms (RBDA §2.13).

RigidInertia         m, h = m c, I about the origin           10 numbers
ArticulatedInertia   [I H; Hᵀ M]: n = I w + H v, f = Hᵀ w + M v    21 numbers

Each carries the frame it is expressed in (`vectors`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from ramidyn.spatial.vector3 import (
    ZERO,
    ZERO3,
    ZERO33,
    Mat,
    Vec,
    checked_shape,
    mat,
    matrix3,
    skew,
    values,
    vector3,
)
from ramidyn.spatial.vectors import Force, Motion, Tag, common
from ramidyn.symbolic.expr import Expr, ScalarLike, lift


@final
@dataclass(slots=True, eq=False)  # not frozen: as in `vectors`
class RigidInertia:
    """The inertia of a rigid body about its frame's origin."""

    m: Expr
    h: Vec
    I: Mat
    frame: Tag = None

    @staticmethod
    def of(
        mass: ScalarLike, center: Any, inertia: Any, frame: Tag = None
    ) -> RigidInertia:
        """Return the inertia of a mass [kg] with its center [m] and I about it [kg m²].

        I is 3 x 3; its upper triangle is read.
        """
        m, c, A = lift(mass), vector3(center), matrix3(inertia)
        about = c.dot(c)
        I = symmetric(
            lambda i, j: A[i][j] + m * ((about if i == j else ZERO) - c[i] * c[j])
        )
        return RigidInertia(m, c * m, I, frame)

    @staticmethod
    def zero() -> RigidInertia:
        """Return the inertia of nothing."""
        return RigidInertia(ZERO, ZERO3, ZERO33)

    def __add__(self, other: RigidInertia) -> RigidInertia:
        if other.__class__ is not RigidInertia:
            return NotImplemented
        frame = common("add", self.frame, other.frame)
        return RigidInertia(
            self.m + other.m, self.h + other.h, sum_symmetric(self.I, other.I), frame
        )

    def __matmul__(self, m: Motion) -> Force:
        """Return the momentum of motion m: [I w + h × v; m v − h × w]."""
        frame = common("multiply", self.frame, m.frame)
        h = self.h
        return Force(self.I @ m.w + h.cross(m.v), m.v * self.m - h.cross(m.w), frame)

    def parts(self) -> tuple[Expr, ...]:
        """Return the ten numbers: m, h, and the upper triangle of I."""
        return (self.m, *self.h, *upper(self.I))

    def array(self) -> Any:
        """Return the 6 x 6 matrix, of numbers if all are known."""
        return self.articulated().array()

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia in the general form."""
        H, m = skew(self.h), self.m
        M = mat((m, ZERO, ZERO), (ZERO, m, ZERO), (ZERO, ZERO, m))
        return ArticulatedInertia(self.I, H, M, self.frame)


@final
@dataclass(slots=True, eq=False)  # not frozen: as in `vectors`
class ArticulatedInertia:
    """The inertia of a body whose descendants are free to move."""

    I: Mat
    H: Mat
    M: Mat
    frame: Tag = None

    @staticmethod
    def of(matrix: Any, frame: Tag = None) -> ArticulatedInertia:
        """Return the inertia of a symmetric 6 x 6 matrix [I H; Hᵀ M]."""
        A = checked_shape("matrix", matrix, (6, 6))
        I, M = matrix3(A[:3, :3]), matrix3(A[3:, 3:])
        return ArticulatedInertia(
            symmetric(lambda i, j: I[i][j]),
            matrix3(A[:3, 3:]),
            symmetric(lambda i, j: M[i][j]),
            frame,
        )

    @staticmethod
    def zero() -> ArticulatedInertia:
        """Return the inertia of nothing."""
        return ArticulatedInertia(ZERO33, ZERO33, ZERO33)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        if other.__class__ is not ArticulatedInertia:
            return NotImplemented
        frame = common("add", self.frame, other.frame)
        H = self.H + other.H
        return ArticulatedInertia(
            sum_symmetric(self.I, other.I), H, sum_symmetric(self.M, other.M), frame
        )

    def __matmul__(self, m: Motion) -> Force:
        """Return the force for acceleration m."""
        frame = common("multiply", self.frame, m.frame)
        return Force(self.I @ m.w + self.H @ m.v, self.H.T @ m.w + self.M @ m.v, frame)

    def parts(self) -> tuple[Expr, ...]:
        """Return the 21 numbers: the upper triangles of I and M, and all of H."""
        return (*upper(self.I), *upper(self.M), *(e for row in self.H for e in row))

    def array(self) -> Any:
        """Return the 6 x 6 matrix, of numbers if all are known."""
        top = [[*a, *b] for a, b in zip(self.I, self.H, strict=True)]
        bottom = [[*a, *b] for a, b in zip(self.H.T, self.M, strict=True)]
        return values([*top, *bottom])

    def minus_outer(self, U: Force, u: Force) -> ArticulatedInertia:
        """Return self − U uᵀ, where u is U scaled (so the result is symmetric)."""
        frame = common("subtract", self.frame, common("multiply", U.frame, u.frame))
        n, f, un, uf = U.n, U.f, u.n, u.f
        R = range(3)
        return ArticulatedInertia(
            symmetric(lambda i, j: self.I[i][j] - n[i] * un[j]),
            Mat(Vec(self.H[i][j] - un[i] * f[j] for j in R) for i in R),
            symmetric(lambda i, j: self.M[i][j] - f[i] * uf[j]),
            frame,
        )

    def without(self, k: int) -> ArticulatedInertia:
        """Return self with row and column k (of six) zero, as they are known to be."""
        I, H, M = self.I, self.H, self.M
        if k < 3:
            H = Mat(ZERO3 if i == k else row for i, row in enumerate(H))
            return ArticulatedInertia(_cleared_column(I, k), H, M, self.frame)
        k -= 3
        H = Mat(Vec(ZERO if j == k else e for j, e in enumerate(row)) for row in H)
        return ArticulatedInertia(I, H, _cleared_column(M, k), self.frame)


def upper(A: Mat) -> tuple[Expr, ...]:
    """Return the upper triangle of a symmetric matrix."""
    return tuple(A[i][j] for i in range(3) for j in range(i, 3))


def _cleared_column(A: Mat, k: int) -> Mat:
    return symmetric(lambda i, j: ZERO if k in (i, j) else A[i][j])


def symmetric(entry: Callable[[int, int], Expr]) -> Mat:
    """Return the symmetric matrix whose upper triangle is entry(i, j)."""
    xx, xy, xz = entry(0, 0), entry(0, 1), entry(0, 2)
    yy, yz, zz = entry(1, 1), entry(1, 2), entry(2, 2)
    return mat((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def sum_symmetric(A: Mat, B: Mat) -> Mat:
    """Return A + B of symmetric matrices: what rounding left below is dropped."""
    return symmetric(lambda i, j: A[i][j] + B[i][j])
