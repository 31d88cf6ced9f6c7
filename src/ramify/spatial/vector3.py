"""Vectors and matrices of three, over symbols: plain tuples and the few products."""

from __future__ import annotations

from typing import TypeAlias

from ramify.symbolic.expr import Expr, ScalarLike, const, lift

Vec: TypeAlias = tuple[Expr, Expr, Expr]
Mat: TypeAlias = tuple[Vec, Vec, Vec]
"""rows"""

ZERO = const(0.0)
ONE = const(1.0)
ZERO3: Vec = (ZERO, ZERO, ZERO)


def vec(x: ScalarLike, y: ScalarLike, z: ScalarLike) -> Vec:
    """Return a vector of numbers or symbols."""
    return lift(x), lift(y), lift(z)


def unit(axis: int) -> Vec:
    """Return the unit vector of a coordinate axis."""
    return tuple(ONE if k == axis else ZERO for k in range(3))  # type: ignore[return-value]


def plus(a: Vec, b: Vec) -> Vec:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def minus(a: Vec, b: Vec) -> Vec:
    """Return a − b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(s: Expr, a: Vec) -> Vec:
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


def dot(a: Vec, b: Vec) -> Expr:
    """Return a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec, b: Vec) -> Vec:
    """Return a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def times(A: Mat, b: Vec) -> Vec:
    """Return A b."""
    return dot(A[0], b), dot(A[1], b), dot(A[2], b)


def transpose(A: Mat) -> Mat:
    """Return Aᵀ."""
    return tuple(zip(*A, strict=True))  # type: ignore[return-value]


def product(A: Mat, B: Mat) -> Mat:
    """Return A B."""
    columns = transpose(B)
    return tuple(  # type: ignore[return-value]
        tuple(dot(row, column) for column in columns) for row in A
    )
