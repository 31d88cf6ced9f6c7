"""Checks for values that users pass to a builder."""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ramidyn.description.constants import Array, norm
from ramidyn.description.pose import Pose, Vector
from ramidyn.errors import Error, ModelError

WORLD = "world"
"""the name of the world"""

Placement = Pose | Vector | npt.NDArray[np.float64]
"""a pose, its (4, 4) matrix, or the position of a frame with parallel axes"""

T = TypeVar("T")


def checked_name(what: str, name: object) -> str:
    """Return a valid new name."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"{what} is called {shown(name)}; expected a name")
    if name == WORLD:
        raise ModelError(f"{what} is called 'world'; that name is reserved")
    return name


def checked_instance(what: str, value: Any, type_: type[T]) -> T:
    """Return a value of a type."""
    if not isinstance(value, type_):
        raise ModelError(f"{what} is {shown(value)}; expected type {type_.__name__}")
    return value


def checked_number(
    what: str,
    value: object,
    at_least: float = -math.inf,
    finite: bool = True,
) -> float:
    """Return a value as a number."""
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {shown(value)}; expected a number") from None
    if math.isnan(number) or (finite and math.isinf(number)):
        raise ModelError(f"{what} is {number:g}; expected a finite number")
    if number < at_least:
        raise ModelError(f"{what} is {number:g}; expected {at_least:g} or more")
    return number


def nonnegative_number(what: str, value: object, finite: bool = True) -> float:
    """Return a value as a number, 0 or more."""
    return checked_number(what, value, 0.0, finite)


def checked_array(
    what: str, value: object, shape: tuple[int, ...], finite: bool = True
) -> Array:
    """Return a value as an array of a shape."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = None
    if array is None or array.shape != shape:
        size = " x ".join(map(str, shape))
        raise ModelError(f"{what} is {shown(value)}; expected {size} numbers")
    if np.isnan(array).any() or (finite and np.isinf(array).any()):
        raise ModelError(f"{what} is {shown(value)}; expected finite numbers")
    return array


def checked_vector(what: str, value: object, at_least: float = -math.inf) -> Array:
    """Return a value as three read-only numbers."""
    array = checked_array(what, value, (3,))
    if array.min() < at_least:
        raise ModelError(f"{what} is {shown(value)}; expected {at_least:g} or more")
    array.setflags(write=False)
    return array


def checked_direction(what: str, value: object) -> Array:
    """Return a value as a unit vector."""
    axis = checked_vector(what, value)
    length = norm(axis.tolist())
    if length < 1e-9:
        raise ModelError(f"{what} is {shown(value)}; expected a nonzero direction")
    unit = axis if length == 1 else axis / length
    unit.setflags(write=False)
    return unit


def checked_pose(what: str, value: object, error: type[Error] = ModelError) -> Pose:
    """Return a user's placement as a pose."""
    matrix = np.eye(4)
    try:
        if isinstance(value, Pose):
            matrix[:3, :3], matrix[:3, 3] = value.R, value.p
        else:
            given = np.asarray(cast(npt.ArrayLike, value), dtype=float)
            if given.shape == (4, 4):
                matrix = given
            else:
                matrix[0, 3], matrix[1, 3], matrix[2, 3] = given
    except (TypeError, ValueError):
        matrix[:] = np.nan
    if not np.isfinite(matrix).all() or matrix[3].tolist() != [0, 0, 0, 1]:
        raise error(
            f"{what} is {shown(value)}; expected a position of 3 finite numbers, a "
            "Pose, or its (4, 4) matrix"
        )
    R, p = matrix[:3, :3], matrix[:3, 3]
    if np.abs(R @ np.transpose(R) - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
        raise error(f"{what}: R is not a rotation matrix")
    return Pose(R, p)


def shown(value: object) -> str:
    """Return a value for a message, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
