"""Configurations and states of users, as arrays: shapes checked, quaternions scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ramidyn.description.builder_checks import shown
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError, ShapeError

if TYPE_CHECKING:
    from ramidyn.robot import Robot

CHECKED = 2**16
"""entries of an input that are searched for NaN before a run"""


def checked_numbers(name: str, value: npt.ArrayLike) -> Array:
    """Return a value as an array without NaN."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} is not an array: {error}") from error
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{name} is {value!r}; expected real numbers")
    if array.size <= CHECKED and not is_finite(array):
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ArgumentError(f"{name} has {array[where]} at {where}; expected numbers")
    return array


def is_finite(array: Array) -> bool:
    """Say whether all numbers are finite; `numpy.all` takes longer for few of them."""
    return np.count_nonzero(np.isfinite(array)) == array.size


def vector(what: str, value: npt.ArrayLike, n: int) -> Array:
    """Return a user's value as n numbers."""
    try:
        array: Array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    x: Array = np.ravel(array)
    if x.shape != (n,) or not is_finite(x):
        is_matrix = array.ndim > 1
        given = f"an array of shape {array.shape}" if is_matrix else shown(value)
        numbers = "finite number" if n == 1 else "finite numbers"
        raise ShapeError(f"{what} is {given}; expected {n} {numbers} for one state")
    return x


def state_rows(what: str, value: npt.ArrayLike, n: int) -> Array:
    """Return one state or a batch as rows of n numbers."""
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(
            f"{what} is not an array of numbers; expected ({n},) or (batch, {n})"
        ) from None
    if x.ndim not in (1, 2) or x.shape[-1] != n:
        raise ShapeError(f"{what} has shape {x.shape}; expected ({n},) or (batch, {n})")
    return np.atleast_2d(x)


def state_batch(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike | None
) -> tuple[Array, Array | None]:
    """Return states of a user as rows of q and q̇, as many of each."""
    states = state_rows("q", q, robot.nq)
    if qd is None:
        return states, None
    rates = state_rows("qd", qd, robot.nv)
    if 1 not in (len(states), len(rates)) and len(states) != len(rates):
        raise ShapeError(
            f"batch sizes differ: q {len(states)}, qd {len(rates)}; expected equal "
            "sizes or 1"
        )
    n = max(len(states), len(rates)) if len(states) and len(rates) else 0
    return np.broadcast_to(states, (n, robot.nq)), np.broadcast_to(rates, (n, robot.nv))


def is_batch(*values: object) -> bool:
    """Say whether one of a user's arrays has several states."""
    try:
        return any(np.ndim(cast(Any, x)) > 1 for x in values)
    except ValueError:  # rows of different lengths
        return False


def normalized(robot: Robot, what: str, q: npt.ArrayLike) -> Array:
    """Return a user's configuration with unit quaternions."""
    x = vector(what, q, robot.nq)
    joints = [j for j in robot.model.joints if j.nq > j.nv]
    for j in joints:
        end = j.q_index + j.nq  # the last four of its coordinates
        if not x[end - 4 : end].any():
            raise ModelError(
                f"{what} has a quaternion of zero length at joint {j.name!r}; expected "
                "a nonzero quaternion, as in robot.neutral()"
            )
    return with_unit_quaternions(robot, x)


def with_unit_quaternions(robot: Robot, q: Array) -> Array:
    """Return configurations with their quaternions scaled to length one."""
    has_any = any(j.nq > j.nv for j in robot.model.joints)
    return robot.normalize(q) if has_any else q
