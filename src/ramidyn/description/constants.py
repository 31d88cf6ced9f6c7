"""Arithmetic of a model's constants: the same digits on every processor.

BLAS adds in an order that depends on the processor, vectorized sines in NumPy depend on
its vector unit, libm on its fused multiply-add. One last bit then decides whether a
term of a program vanishes. Here all is done on Python's floats in one order; sines,
cosines and angles are rounded correctly.

Where exact arithmetic gives zero, rounding leaves noise (1e-17). It is removed where it
arises, because only there it is known what it came from: a sum of which nothing but the
rounding of its terms is left is zero, and so is such an entry of a rotation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ramidyn.symbolic.expr import ROUNDING

Array = npt.NDArray[np.float64]
Vector = Sequence[float]
Matrix = Sequence[Vector]
"""rows"""
Three = tuple[float, ...]
Rows = tuple[Three, ...]
"""of a 3 x 3 matrix"""
Symmetric = tuple[float, ...]
"""the upper triangle of a symmetric 3 x 3 matrix: xx, xy, xz, yy, yz, zz"""
Direction = tuple[float, float]
"""the cosine and the sine of an angle"""

EXACT = 1e-11
"""Entries of rotations, and positions [m], below this are rounding errors of a file's
digits: many write twelve of π/2, which leaves 5e-12."""
AHEAD: Direction = (1.0, 0.0)
"""the direction of the angle 0"""
ORIGIN: Three = (0.0, 0.0, 0.0)
IDENTITY: Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


# ------------------------------------------------------------ sums and products


def total(*terms: float) -> float:
    """Return the sum of some terms, in order; zero if only rounding is left of it."""
    out = scale = 0.0
    for x in terms:
        out += x
        scale += abs(x)
    return 0.0 if abs(out) < ROUNDING * scale else out


def dot(a: Vector, b: Vector) -> float:
    """Return a · b of vectors of three, as `total` adds."""
    return total(a[0] * b[0], a[1] * b[1], a[2] * b[2])


def norm(a: Vector) -> float:
    """Return |a|, even where squares of entries overflow or underflow."""
    out = 0.0
    for x in a:
        out += x * x
    if 1e-280 < out < math.inf:
        return math.sqrt(out)
    return math.hypot(*a)


def cross(a: Vector, b: Vector) -> Three:
    """Return a × b."""
    return (
        total(a[1] * b[2], -a[2] * b[1]),
        total(a[2] * b[0], -a[0] * b[2]),
        total(a[0] * b[1], -a[1] * b[0]),
    )


def transpose(A: Matrix) -> Rows:
    """Return Aᵀ."""
    return tuple(zip(*A, strict=True))


def moved_point(R: Matrix, v: Vector, p: Vector) -> Three:
    """Return R v + p of a rotation R, as `total` adds."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    (a, b, c), (d, e, f) = v, p
    x = xx * a + xy * b + xz * c + d
    y = yx * a + yy * b + yz * c + e
    z = zx * a + zy * b + zz * c + f
    # Entries of R are at most one, so a sum above this is not rounding.
    least = 2 * ROUNDING * (abs(a) + abs(b) + abs(c) + abs(d) + abs(e) + abs(f))
    if x and -least < x < least:
        x = total(xx * a, xy * b, xz * c, d)
    if y and -least < y < least:
        y = total(yx * a, yy * b, yz * c, e)
    if z and -least < z < least:
        z = total(zx * a, zy * b, zz * c, f)
    return x, y, z


def times(R: Matrix, v: Vector) -> Three:
    """Return R v of a rotation R."""
    return moved_point(R, v, ORIGIN)


def turned_inertia(I: Vector, R: Rows) -> Symmetric:
    """Return R I Rᵀ of a rotation R: zero where it is rounding."""
    if R == IDENTITY:
        return without_rounding(I)
    renamed = _renamed_axes(R)
    if renamed:
        return without_rounding([sign * I[k] for k, sign in renamed])
    xx, xy, xz, yy, yz, zz = I
    half = (times(R, column) for column in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    x, y, z = transpose(list(half))
    return without_rounding((*times(R, x), *times(R, y)[1:], times(R, z)[2]))


@lru_cache(maxsize=256)
def _renamed_axes(R: Rows) -> tuple[tuple[int, float], ...]:
    """Return which entries of I are those of R I Rᵀ, and their signs.

    There are some if R only renames axes, as it does in most frames of joints.
    """
    places = [[k for k in range(3) if row[k]] for row in R]
    if any(len(row) != 1 or abs(R[i][row[0]]) != 1.0 for i, row in enumerate(places)):
        return ()
    axes = [(k, R[i][k]) for i, (k,) in enumerate(places)]
    return tuple(
        (_UPPER[min(a, b), max(a, b)], s * t)
        for i, (a, s) in enumerate(axes)
        for b, t in axes[i:]
    )


_UPPER = {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 1): 3, (1, 2): 4, (2, 2): 5}


def squares(r: Vector) -> Symmetric:
    """Return r·r 1 − r rᵀ, the inertia of a unit mass at r."""
    x, y, z = r
    xx, yy, zz = x * x, y * y, z * z
    return yy + zz, -x * y, -x * z, xx + zz, -y * z, xx + yy


def without_rounding(I: Vector, scale: float = 0.0) -> Symmetric:
    """Return a symmetric matrix with zeros for what is rounding.

    Args:
        I: the matrix.
        scale: the largest number that it came from; its largest entry at least.
    """
    least = ROUNDING * max(scale, *I, -min(I))
    return tuple([0.0 if -least <= x <= least else x for x in I])


def upper(A: Array) -> Symmetric:
    """Return the upper triangle of a symmetric matrix."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = A.tolist()
    return xx, xy, xz, yy, yz, zz


def full(I: Vector) -> Array:
    """Return a symmetric matrix as an array (3, 3)."""
    xx, xy, xz, yy, yz, zz = I
    return np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def is_surely_physical(I: Vector) -> bool:
    """Return whether some mass distribution has this inertia, with digits to spare.

    It has if tr(I)/2 − I, the second moments of the mass, is positive definite. Where
    the answer is no, only the eigenvalues tell.
    """
    xx, xy, xz, yy, yz, zz = I
    half = (xx + yy + zz) / 2
    a, b, c = half - xx, half - yy, half - zz
    minor = a * b - xy * xy
    det = c * minor - a * yz * yz - b * xz * xz - 2 * xy * xz * yz
    return a > 0.0 and minor > 1e-12 * half**2 and det > 1e-12 * half**3


def clean_rotation(R: Matrix) -> Rows:
    """Return a rotation with zeros and ones for what differs from them by rounding.

    Its entries are at most one: they have a scale of their own.
    """
    if R == IDENTITY:
        return IDENTITY
    least = EXACT
    return tuple(
        [
            tuple(
                [
                    (0.0 if -least < x < least else x)
                    if -0.99 < x < 0.99
                    else _clean_one(x)
                    for x in row
                ]
            )
            for row in R
        ]
    )


def _clean_one(x: float) -> float:
    return math.copysign(1.0, x) if abs(abs(x) - 1.0) < ROUNDING else x


def clean_position(p: Vector) -> Three:
    """Return a position [m] with zeros for what is smaller than any atom.

    Files carry such entries (1e-17) from the rounding of the programs that wrote them.
    """
    x, y, z = p
    least = EXACT
    return (
        0.0 if -least < x < least else x,
        0.0 if -least < y < least else y,
        0.0 if -least < z < least else z,
    )


def eigen(A: Array) -> tuple[list[float], Array]:
    """Return eigenvalues, the least first, and eigenvectors (columns), by Jacobi."""
    n = len(A)
    rows: list[list[float]] = A.tolist()
    columns: list[list[float]] = np.eye(n).tolist()
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    least = 1e-17 * float(np.abs(A).max())
    while any(abs(rows[i][j]) > least for i, j in pairs):
        for i, j in pairs:
            if rows[i][j] != 0.0:
                _rotate(rows, columns, i, j)
    order = sorted(range(n), key=lambda k: (rows[k][k], k))
    vectors = np.array(transpose([columns[k] for k in order]))
    return [rows[k][k] for k in order], vectors


def _rotate(
    rows: list[list[float]], columns: list[list[float]], i: int, j: int
) -> None:
    """Make entry (i, j) of a symmetric matrix zero by rotating the plane of i, j."""
    ratio = (rows[j][j] - rows[i][i]) / (2.0 * rows[i][j])
    t = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for row in rows:
        row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]
    for M in (rows, columns):
        a, b = M[i], M[j]
        M[i] = [c * x - s * y for x, y in zip(a, b, strict=True)]
        M[j] = [s * x + c * y for x, y in zip(a, b, strict=True)]
    rows[i][j] = rows[j][i] = 0.0


# ------------------------------------------------------------ angles

_BITS = 192
"""of the fraction of a fixed-point number"""
_ONE = 1 << _BITS
_PI = 0x3243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89
"""π in fixed point, of 256 bits"""


@lru_cache(maxsize=4096)
def direction(angle: float) -> Direction:
    """Return (cos, sin) of an angle, with the zeros and ones of quarter turns exact.

    Files write 1.5708 for π/2 as often as all its digits; only an angle within
    4e-15 of a quarter turn (what a double can hold of it) is rounded.
    """
    k = round(angle / (math.pi / 2))
    if abs(angle - k * math.pi / 2) < 4e-15 * max(1.0, abs(k)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[k % 4]
    c, s = _cosine_and_sine(angle)
    return c / _ONE, s / _ONE


def direction_of(x: float, y: float) -> Direction:
    """Return (cos, sin) of the angle of a point; quarter turns exact, (1, 0) at 0."""
    length = math.sqrt(x * x + y * y)
    if length == 0.0:
        return AHEAD
    c, s = x / length, y / length
    if abs(c) < EXACT:
        return 0.0, math.copysign(1.0, s)
    if abs(s) < EXACT:
        return math.copysign(1.0, c), 0.0
    return c, s


def turned_back(a: Direction, b: Direction) -> Direction:
    """Return the direction of the angle of a less that of b."""
    along = total(a[0] * b[0], a[1] * b[1])
    return direction_of(along, total(a[1] * b[0], -a[0] * b[1]))


def angle_of(d: Direction) -> float:
    """Return the angle of a direction, in (−π, π], rounded correctly.

    libm's is within a unit of the last place: one step of Newton's method from there,
    in fixed point, gives twice the digits.
    """
    c, s = d[0], d[1] + 0.0  # no −0: its angle would be −π
    near = math.atan2(s, c)
    at, (C, S) = _fixed_point(near), _cosine_and_sine(near)
    (x, x_unit), (y, y_unit) = c.as_integer_ratio(), s.as_integer_ratio()
    X, Y = x * y_unit, y * x_unit
    across, along = Y * C - X * S, X * C + Y * S
    return (at * along + (across << _BITS)) / (along << _BITS)


def _fixed_point(x: float) -> int:
    n, unit = x.as_integer_ratio()
    return (n << _BITS) // unit


def _cosine_and_sine(angle: float) -> tuple[int, int]:
    """Return cos and sin in fixed point, by their series about a quarter turn."""
    n, unit = angle.as_integer_ratio()
    more = 256 - _BITS
    k, r = divmod(((n << 256) // unit) + _PI // 4, _PI // 2)
    r = (r - _PI // 4) >> more
    sums, term, m = [0, 0], _ONE, 0
    while term not in (0, -1):  # −1 >> 1 stays −1
        sums[m % 2] += term if m % 4 < 2 else -term
        m += 1
        term = ((term * r) >> _BITS) // m
    c, s = sums
    return ((c, s), (-s, c), (-c, -s), (s, -c))[k % 4]


def quaternion(R: Rows) -> list[float]:
    """Return the quaternion (w, x, y, z), w ≥ 0, of a rotation matrix."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    # Each row is 4 w, 4 x, 4 y or 4 z times (w, x, y, z); the longest has all digits.
    rows = (
        (1 + xx + yy + zz, zy - yz, xz - zx, yx - xy),
        (zy - yz, 1 + xx - yy - zz, xy + yx, xz + zx),
        (xz - zx, xy + yx, 1 - xx + yy - zz, yz + zy),
        (yx - xy, xz + zx, yz + zy, 1 - xx - yy + zz),
    )
    # Of equal ones the first: within rounding, so that the last bit does not decide.
    largest = max(rows[k][k] for k in range(4))
    row = next(rows[k] for k in range(4) if rows[k][k] > largest - EXACT)
    length = math.copysign(norm(row), row[0])
    return [x / length for x in row]
