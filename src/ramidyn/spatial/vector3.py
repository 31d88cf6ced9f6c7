"""Vectors and matrices of three, over symbols, with the operators of the book."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, final, overload

import numpy as np

from ramidyn.errors import ShapeError
from ramidyn.symbolic.expr import ONE, ZERO, Expr, ScalarLike, lift


@final
class Vec(tuple[Expr, Expr, Expr]):
    """Three symbols: the components of a free vector or a point."""

    __slots__ = ()

    # A tuple's own + and * would concatenate and repeat.
    def __add__(self, b: Vec) -> Vec:  # type: ignore[override]
        if b.__class__ is not Vec:
            _refuse("+", self, b)
        return Vec((self[0] + b[0], self[1] + b[1], self[2] + b[2]))

    def __radd__(self, a: object) -> NoReturn:
        _refuse("+", a, self)

    def __sub__(self, b: Vec) -> Vec:
        if b.__class__ is not Vec:
            _refuse("-", self, b)
        return Vec((self[0] - b[0], self[1] - b[1], self[2] - b[2]))

    def __neg__(self) -> Vec:
        return Vec((-self[0], -self[1], -self[2]))

    def __mul__(self, s: Expr | float) -> Vec:  # type: ignore[override]
        return Vec((s * self[0], s * self[1], s * self[2]))

    __rmul__ = __mul__  # type: ignore[assignment]

    def __truediv__(self, s: Expr) -> Vec:
        return Vec((self[0] / s, self[1] / s, self[2] / s))

    def dot(self, b: Vec) -> Expr:
        """Return self · b."""
        return self[0] * b[0] + self[1] * b[1] + self[2] * b[2]

    def cross(self, b: Vec) -> Vec:
        """Return self × b."""
        return Vec(
            (
                self[1] * b[2] - self[2] * b[1],
                self[2] * b[0] - self[0] * b[2],
                self[0] * b[1] - self[1] * b[0],
            )
        )


@final
class Mat(tuple[Vec, Vec, Vec]):
    """A 3 x 3 matrix: its rows."""

    __slots__ = ()

    @property
    def T(self) -> Mat:
        """The transpose."""
        return Mat(map(Vec, zip(*self, strict=True)))

    def __add__(self, B: Mat) -> Mat:  # type: ignore[override]
        if B.__class__ is not Mat:
            _refuse("+", self, B)
        return Mat((self[0] + B[0], self[1] + B[1], self[2] + B[2]))

    def __radd__(self, A: object) -> NoReturn:
        _refuse("+", A, self)

    @overload
    def __matmul__(self, b: Vec) -> Vec: ...
    @overload
    def __matmul__(self, b: Mat) -> Mat: ...
    def __matmul__(self, b: Vec | Mat) -> Vec | Mat:
        if isinstance(b, Vec):
            return Vec((self[0].dot(b), self[1].dot(b), self[2].dot(b)))
        columns = b.T
        return Mat(Vec(row.dot(column) for column in columns) for row in self)


def _refuse(sign: str, a: Any, b: Any) -> NoReturn:
    raise TypeError(
        f"unsupported operand types for {sign}: {type(a).__name__} and "
        f"{type(b).__name__}; expected two Vec or two Mat"
    )


def vec(x: ScalarLike, y: ScalarLike, z: ScalarLike) -> Vec:
    """Return a vector of numbers or symbols."""
    return Vec((lift(x), lift(y), lift(z)))


def mat(x: Iterable[Expr], y: Iterable[Expr], z: Iterable[Expr]) -> Mat:
    """Return the matrix of three rows."""
    return Mat((Vec(x), Vec(y), Vec(z)))


def checked(what: str, x: Any, shape: tuple[int, ...]) -> Any:
    """Return numbers or symbols as an array of a shape, or raise ShapeError."""
    found: Any = np.asarray(x)
    if found.shape != shape:
        raise ShapeError(f"{what} has shape {found.shape}; expected {shape}")
    return found


def matrix3(rows: Any) -> Mat:
    """Return a 3 x 3 array of numbers or symbols as a matrix."""
    return Mat(vec(*row) for row in checked("matrix", rows, (3, 3)))


def vector3(x: Any) -> Vec:
    """Return an array of three numbers or symbols as a vector."""
    return vec(*checked("vector", x, (3,)))


def halves(x: Any) -> tuple[Vec, Vec]:
    """Return an array of six numbers or symbols as two vectors."""
    six = checked("vector", x, (6,))
    return vec(*six[:3]), vec(*six[3:])


def values(entries: Any) -> Any:
    """Return an array of symbols; of numbers if they are all known."""
    found: Any = np.array(entries, dtype=object)
    if all(e.op == "const" for e in found.flat):
        known: Any = np.array([e.value for e in found.flat])
        return known.reshape(found.shape)
    return found


def skew(r: Vec) -> Mat:
    """Return r×, with (r×) b = r × b."""
    return mat((ZERO, -r[2], r[1]), (r[2], ZERO, -r[0]), (-r[1], r[0], ZERO))


def unit(axis: int) -> Vec:
    """Return the unit vector of a coordinate axis."""
    return IDENTITY[axis]


ZERO3 = Vec((ZERO, ZERO, ZERO))
ZERO33 = Mat((ZERO3, ZERO3, ZERO3))
IDENTITY = mat((ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE))
