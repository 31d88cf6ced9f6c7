"""Rotations and poses as vectors: exponential and logarithm of SO(3) and SE(3).

    exp_so3(ω) = I + A ω̂ + B ω̂²         A = sin θ / θ,  B = (1 − cos θ) / θ²,  θ = |ω|
    exp_se3(v, ω) = [exp_so3(ω), V v]    V = I + B ω̂ + C ω̂²,  C = (θ − sin θ) / θ³

log_so3 goes through a quaternion, whose largest entry is computed without a root or a
division: it is exact at 0 and at π, and so are its derivatives. At π the axis and its
negative are the same rotation; one of them is returned.

All work on numbers, with any axes in front, and on symbols. Vectors of SE(3) have the
linear part first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ramidyn.errors import ShapeError
from ramidyn.symbolic.functions import atan2, cos, cross, sin, sqrt, where

SMALL = 0.04
"""θ² below which series are used: their remainder is less than 1e-15"""
TINY = 1e-280
"""added under roots: their derivatives are finite at zero"""


def exp_so3(rotation_vector: Any) -> Any:
    """Return the rotation matrix of a rotation vector (axis times angle).

    Args:
        rotation_vector: (..., 3) [rad].

    Returns:
        (..., 3, 3). Pinocchio's exp3.
    """
    w = _checked("rotation_vector", rotation_vector, (3,))
    A, B, _ = _coefficients(_square(w))
    W = _hat(w)
    return np.eye(3) + _times(A, W) + _times(B, W @ W)


def log_so3(rotation: Any) -> Any:
    """Return the rotation vector of a rotation matrix, of length 0 to π.

    Args:
        rotation: (..., 3, 3).

    Returns:
        (..., 3) [rad]. Pinocchio's log3.
    """
    R = _checked("rotation", rotation, (3, 3))
    v, w = _quaternion(R)
    square = _square(v)
    is_small = _less(square, 1e-8 * w * w)
    scale = where(is_small, w, 1.0)
    ratio = where(is_small, square, 0.0) / (scale * scale)
    near_zero = 2.0 * (1.0 - ratio / 3.0 + ratio * ratio / 5.0) / scale
    length = sqrt(square + TINY)
    factor = where(is_small, near_zero, 2.0 * atan2(length, w) / length)
    return v * np.asarray(factor)[..., None]


def exp_se3(twist: Any) -> Any:
    """Return the pose that a constant twist leads to in unit time.

    Args:
        twist: (..., 6), the linear part first [m, rad].

    Returns:
        (..., 4, 4). Pinocchio's exp6.
    """
    x = _checked("twist", twist, (6,))
    v, w = x[..., :3], x[..., 3:]
    _, B, C = _coefficients(_square(w))
    once = cross(w, v)
    p = v + once * _column(B) + cross(w, once) * _column(C)
    return _pose(exp_so3(w), p)


def log_se3(pose: Any) -> Any:
    """Return the twist that leads to a pose in unit time.

    Args:
        pose: (..., 4, 4).

    Returns:
        (..., 6), the linear part first [m, rad]. Pinocchio's log6.
    """
    T = _checked("pose", pose, (4, 4))
    p, w = T[..., :3, 3], log_so3(T[..., :3, :3])
    once = cross(w, p)
    v = p - 0.5 * once + cross(w, once) * _column(_inverse_coefficient(_square(w)))
    return np.concatenate([v, w], axis=-1)


def inverse_left_jacobian(rotation_vector: Any) -> Any:
    """Return Jl⁻¹ = I − ½ ω̂ + D ω̂²: the rate of log R is Jl⁻¹ times the velocity of R.

    The velocity is in the axes that R maps to. Finite up to π; its transpose is Jr⁻¹.

    Args:
        rotation_vector: (..., 3) [rad].
    """
    w = _checked("rotation_vector", rotation_vector, (3,))
    W = _hat(w)
    return np.eye(3) - 0.5 * W + _times(_inverse_coefficient(_square(w)), W @ W)


def rotation_error(rotation: Any, target: Any) -> Any:
    """Return the rotation vector from a rotation to a target, in the former's axes.

    ``rotation @ exp_so3(rotation_error(rotation, target))`` is the target.

    Args:
        rotation: (..., 3, 3).
        target: (..., 3, 3).
    """
    R = _checked("rotation", rotation, (3, 3))
    return log_so3(np.swapaxes(R, -1, -2) @ _checked("target", target, (3, 3)))


def pose_error(pose: Any, target: Any) -> Any:
    """Return the twist from a pose to a target, in the pose's own frame.

    ``pose @ exp_se3(pose_error(pose, target))`` is the target: what a task that moves a
    frame to a target needs, with `robot.jacobian` in its default axes, "local".

    Args:
        pose: (..., 4, 4).
        target: (..., 4, 4).
    """
    T, goal = _checked("pose", pose, (4, 4)), _checked("target", target, (4, 4))
    inverse = np.swapaxes(T[..., :3, :3], -1, -2)
    gap = goal[..., :3, 3] - T[..., :3, 3]
    p = (inverse @ gap[..., None])[..., 0]
    return log_se3(_pose(inverse @ goal[..., :3, :3], p))


def _coefficients(z: Any) -> tuple[Any, Any, Any]:
    """Return A, B and C for θ² = z."""
    is_small = _less(z, SMALL)
    far = where(is_small, 1.0, z)
    angle = sqrt(far)
    half = sin(0.5 * angle)
    A = 1.0 + z * (-1 / 6 + z * (1 / 120 + z * (-1 / 5040 + z / 362880)))
    B = 1 / 2 + z * (-1 / 24 + z * (1 / 720 + z * (-1 / 40320 + z / 3628800)))
    C = 1 / 6 + z * (-1 / 120 + z * (1 / 5040 + z * (-1 / 362880 + z / 39916800)))
    sine = 2.0 * half * cos(0.5 * angle)
    return (
        where(is_small, A, sine / angle),
        where(is_small, B, 2.0 * half * half / far),
        where(is_small, C, (angle - sine) / (far * angle)),
    )


def _inverse_coefficient(z: Any) -> Any:
    """Return D of V⁻¹ = I − ½ ω̂ + D ω̂² for θ² = z."""
    A, B, _ = _coefficients(z)
    is_small = _less(z, SMALL)
    series = 1 / 12 + z * (1 / 720 + z * (1 / 30240 + z * (1 / 1209600 + z / 47900160)))
    return where(is_small, series, (1.0 - A / (2.0 * B)) / where(is_small, 1.0, z))


def _quaternion(R: Any) -> tuple[Any, Any]:
    """Return a quaternion of any length, vector and scalar: that with w ≥ 0."""
    (a, b, c), (d, e, f), (g, h, i) = (
        [R[..., r, k] for k in range(3)] for r in range(3)
    )
    # The column of 4 q qᵀ with the largest diagonal.
    columns = [
        [1.0 + a - e - i, b + d, c + g, h - f],
        [b + d, 1.0 - a + e - i, f + h, c - g],
        [c + g, f + h, 1.0 - a - e + i, d - b],
        [h - f, c - g, d - b, 1.0 + a + e + i],
    ]
    best, largest = columns[3], columns[3][3]
    for k in range(3):
        is_larger = _less(largest, columns[k][k])
        best = [where(is_larger, x, y) for x, y in zip(columns[k], best, strict=True)]
        largest = where(is_larger, columns[k][k], largest)
    is_negative = _less(best[3], 0.0)
    x, y, z, w = (where(is_negative, -q, q) for q in best)
    return np.stack(np.broadcast_arrays(x, y, z), axis=-1), w


def _hat(w: Any) -> Any:
    """Return ω̂, with ω̂ x = ω × x."""
    x, y, z = (w[..., k] for k in range(3))
    zero = 0.0 * x
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _pose(R: Any, p: Any) -> Any:
    top = np.concatenate([R, p[..., None]], axis=-1)
    last = np.broadcast_to(np.array([0.0, 0.0, 0.0, 1.0]), (*top.shape[:-2], 1, 4))
    return np.concatenate([top, last], axis=-2)


def _square(x: Any) -> Any:
    return (x * x).sum(axis=-1)


def _column(x: Any) -> Any:
    return np.asarray(x)[..., None]


def _times(x: Any, matrix: Any) -> Any:
    return np.asarray(x)[..., None, None] * matrix


def _less(a: Any, b: Any) -> Any:
    """Return a < b, of symbols too."""
    left, right = np.asarray(a), np.asarray(b)
    if object in (left.dtype, right.dtype):
        return np.less(left, right, dtype=object)
    return left < right


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Any:
    array = np.asarray(value)
    if array.shape[-len(shape) :] != shape:
        wanted = ", ".join(map(str, ("...", *shape)))
        raise ShapeError(f"{name} has shape {array.shape}; expected ({wanted})")
    return array
