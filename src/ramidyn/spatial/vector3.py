"""Vectors, matrices and rotations in three dimensions, over symbols.

Functions of an angle near zero are series there, and the other branch is kept finite.
A quaternion may have any length but zero: only its direction counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, final, overload

import numpy as np

from ramidyn.errors import ShapeError
from ramidyn.symbolic.expr import ONE, ZERO, Expr, ScalarLike, atan2, const, lift, where
from ramidyn.symbolic.functions import maximum


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


def checked_shape(what: str, x: Any, shape: tuple[int, ...]) -> Any:
    """Return numbers or symbols as an array of a shape, or raise ShapeError."""
    found: Any = np.asarray(x)
    if found.shape != shape:
        raise ShapeError(f"{what} has shape {found.shape}; expected {shape}")
    return found


def matrix3(rows: Any) -> Mat:
    """Return a 3 x 3 array of numbers or symbols as a matrix."""
    return Mat(vec(*row) for row in checked_shape("matrix", rows, (3, 3)))


def vector3(x: Any) -> Vec:
    """Return an array of three numbers or symbols as a vector."""
    return vec(*checked_shape("vector", x, (3,)))


def halves(x: Any) -> tuple[Vec, Vec]:
    """Return an array of six numbers or symbols as two vectors."""
    six = checked_shape("vector", x, (6,))
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


Quaternion = tuple[Expr, Expr, Expr, Expr]
"""x, y, z, w"""

SMALL = 1e-2
"""θ² below which a series of five terms is exact to the last bit"""


# ------------------------------------------------------------ quaternions


def quaternion(x: Sequence[Expr]) -> Quaternion:
    """Return four entries as a quaternion."""
    a, b, c, d = x
    return lift(a), lift(b), lift(c), lift(d)


def transposed_rotation(x: Expr, y: Expr, z: Expr, w: Expr) -> Mat:
    """Return E = Rᵀ of a quaternion of any length: from parent to body coordinates.

    With k = 2 / (q · q) the length cancels, without a root:
    R = 1 + k (w v× + v× v×), v = (x, y, z).
    """
    xx, yy, zz = x * x, y * y, z * z
    a, b, c = yy + zz, xx + zz, xx + yy
    k = const(2.0) / (w * w + xx + a)
    kx, ky, kz = k * x, k * y, k * z
    xy, xz, yz = x * ky, x * kz, y * kz
    wx, wy, wz = w * kx, w * ky, w * kz
    return mat(
        (ONE - k * a, xy + wz, xz - wy),
        (xy - wz, ONE - k * b, yz + wx),
        (xz + wy, yz - wx, ONE - k * c),
    )


def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return a ⊗ b."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + (ay * bz - az * by),
        aw * by + ay * bw + (az * bx - ax * bz),
        aw * bz + az * bw + (ax * by - ay * bx),
        aw * bw - (ax * bx + ay * by + az * bz),
    )


def near_one(q: Quaternion) -> Quaternion:
    """Return q of any length times r², r = 1/√max |qᵢ|: its largest entry is one.

    Neither r nor q r overflows or underflows, in float64 and in float32.
    """
    x, y, z, w = (abs(e) for e in q)
    r = ONE / maximum(maximum(x, y), maximum(z, w)).sqrt()
    return quaternion([e * r * r for e in q])


def unit_quaternion(q: Quaternion) -> Quaternion:
    """Return q scaled to length one."""
    x, y, z, w = q
    k = ONE / (x * x + y * y + (z * z + w * w)).sqrt()
    return k * x, k * y, k * z, k * w


def turned_quaternion(q: Quaternion, w: Vec) -> Quaternion:
    """Return q turned by the rotation vector w, given in its own axes: length one."""
    xx = w.dot(w) * 0.25
    x, y, z = w * (sinc(xx) * 0.5)
    return unit_quaternion(quaternion_product(q, (x, y, z, cosine(xx))))


def rotation_between(q0: Quaternion, q1: Quaternion) -> Vec:
    """Return the rotation vector, no longer than π, that turns q0 into q1.

    With q₀* ⊗ q₁ = (u, c) it is 2 atan(|u| / |c|) u / |u|, and −u where c < 0. The
    quaternions need not have length one, only be multiples of such.
    """
    x, y, z, c = quaternion_product((-q0[0], -q0[1], -q0[2], q0[3]), q1)
    u = Vec((x, y, z))
    uu, cc = u.dot(u), c * c
    sign = where(c < 0.0, const(-1.0), ONE)
    is_small = uu < 1e-5 * cc
    n = where(is_small, ONE, uu).sqrt()
    t = uu / where(is_small, cc, ONE)
    near = polynomial(t, (2.0, -2 / 3, 2 / 5, -2 / 7)) / where(is_small, c, ONE)
    far = atan2(n, sign * c) * (sign * 2.0) / n
    return u * where(is_small, near, far)


def quaternion_rate(q: Sequence[Expr], w: Sequence[Expr]) -> Quaternion:
    """Return dq/dt = ½ q ⊗ (w, 0), for an angular velocity w in body axes."""
    x, y, z, s = (e * const(0.5) for e in q)
    return (
        s * w[0] + y * w[2] - z * w[1],
        s * w[1] + z * w[0] - x * w[2],
        s * w[2] + x * w[1] - y * w[0],
        -(x * w[0] + y * w[1] + z * w[2]),
    )


def angular_velocity(q: Sequence[Expr], rate: Sequence[Expr]) -> Vec:
    """Return w of dq/dt = ½ q ⊗ (w, 0): twice the vector of q* ⊗ dq/dt over q · q."""
    x, y, z, s = q
    dx, dy, dz, ds = rate
    k = const(2.0) / (x * x + y * y + (z * z + s * s))
    return Vec(
        (
            k * (s * dx - x * ds + (z * dy - y * dz)),
            k * (s * dy - y * ds + (x * dz - z * dx)),
            k * (s * dz - z * ds + (y * dx - x * dy)),
        )
    )


# ------------------------------------------------------------ screws


def along_screw(w: Vec, v: Vec) -> Vec:
    """Return V(w) v, the path of a point that moves with a constant twist for 1 s.

    V = 1 + (1 − cos θ)/θ² w× + (θ − sin θ)/θ³ w× w×
    """
    xx = w.dot(w)
    s, c = sinc(xx * 0.25), cosine(xx * 0.25)
    series = polynomial(xx, (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800))
    is_small = xx < SMALL
    b = s * s * 0.5
    a = where(is_small, series, (ONE - s * c) / where(is_small, ONE, xx))
    wv = w.cross(v)
    return v + (wv * b + w.cross(wv) * a)


def against_screw(w: Vec, p: Vec) -> Vec:
    """Return V(w)⁻¹ p = p − ½ w × p + (1 − θ/2 cot θ/2)/θ² w × (w × p), θ ≤ π."""
    xx = w.dot(w)
    is_small = xx < SMALL
    safe = where(is_small, ONE, xx)
    half = safe.sqrt() * 0.5
    closed = (ONE - half * half.cos() / half.sin()) / safe
    series = polynomial(xx, (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160))
    d = where(is_small, series, closed)
    wp = w.cross(p)
    return p + (wp * -0.5 + w.cross(wp) * d)


# ------------------------------------------------------------ angles


def sinc(xx: Expr) -> Expr:
    """Return sin(x)/x of x²."""
    is_small = xx < SMALL
    x = where(is_small, ONE, xx).sqrt()
    series = polynomial(xx, (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880))
    return where(is_small, series, x.sin() / x)


def cosine(xx: Expr) -> Expr:
    """Return cos(x) of x²."""
    is_small = xx < SMALL
    x = where(is_small, ONE, xx).sqrt()
    series = polynomial(xx, (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800))
    return where(is_small, series, x.cos())


def wrapped_angle(angle: Expr) -> Expr:
    """Return the angle in [−π, π] that is the same on the circle."""
    return atan2(angle.sin(), angle.cos())


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Return Σ c_k x^k."""
    total = ZERO
    for c in reversed(coefficients):
        total = total * x + c
    return total
