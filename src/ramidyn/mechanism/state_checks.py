"""Invalid states: what is wrong with q and q̇, by joint and index.

The length of a quaternion reveals zeros, or entries of q that are shifted; it cannot
reveal entries in the wrong order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ramidyn.coordinates.configurations import WIDEST
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError
from ramidyn.mechanism.state_arrays import is_batch, state_batch, with_unit_quaternions
from ramidyn.mechanism.states import check_closed, kernels, listed
from ramidyn.tracing.context import nonnegative

if TYPE_CHECKING:
    from ramidyn.robot import Robot

UNIT = 0.1
"""how far from 1 the length of a quaternion may be: kernels normalize it"""
TURN = 2 * math.pi
AT_ONCE = 4096
"""states whose loops are checked in one call"""

Fault = tuple[int, str]
"""the state, and what is wrong with it"""


def check_state(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike | None, tolerance: float
) -> None:
    """Raise ModelError if a state is invalid; see `Robot.check_state`."""
    nonnegative("tolerance")(tolerance)
    states, rates = state_batch(robot, q, qd)
    found = [*_not_finite(robot, "q", states)]
    if rates is not None:
        found += _not_finite(robot, "qd", rates)
    if not found:
        found = [*_bad_quaternions(robot, states), *_far_beyond_limits(robot, states)]
    if not found and robot.model.loops:
        found = [*_open_loops(robot, states, rates, tolerance)]
    if not found:
        return
    found.sort(key=lambda fault: fault[0])
    has_batch = is_batch(q, qd)
    texts = [f"state {k}: {text}" if has_batch else text for k, text in found]
    raise ModelError(f"robot {robot.name!r}: {listed(texts)}")


def _not_finite(robot: Robot, what: str, values: Array) -> Iterator[Fault]:
    for state, k in np.argwhere(~np.isfinite(values)).tolist():
        name = _joint_at(robot, what, k)
        yield state, f"{what}[{k}] of joint {name!r} is {values[state, k]}"


def _joint_at(robot: Robot, what: str, index: int) -> str:
    for j in robot.model.joints:
        start, n = (j.q_index, j.nq) if what == "q" else (j.v_index, j.nv)
        if start <= index < start + n:
            return j.name
    raise AssertionError(f"no joint has {what}[{index}]")


def _bad_quaternions(robot: Robot, q: Array) -> Iterator[Fault]:
    order = robot.conventions.quaternion
    for j in robot.model.joints:
        if not joint_type(j.name, j.type).has_quaternion:
            continue
        end = j.q_index + j.nq  # the last four of its coordinates
        x: Array = q[:, end - 4 : end]
        halves: Array = np.hypot(x[:, :2], x[:, 2:])  # its squares may overflow
        lengths: Array = np.hypot(halves[:, 0], halves[:, 1])
        for state in np.flatnonzero(np.abs(lengths - 1) > UNIT).tolist():
            yield (
                state,
                f"the quaternion q[{end - 4}:{end}] of joint {j.name!r} has length "
                f"{lengths[state]:.3g}; expected a unit quaternion ({order})",
            )


def _far_beyond_limits(robot: Robot, q: Array) -> Iterator[Fault]:
    """Yield the angles more than a full turn beyond their limits."""
    for j in robot.model.joints:
        if joint_type(j.name, j.type).coordinates != (("", "rad"),):
            continue
        k = j.q_index
        low, high = float(robot.limits.lower[k]), float(robot.limits.upper[k])
        if not high - low <= WIDEST:
            continue  # files use a wider range for "no limit"
        x = q[:, k]
        beyond = (x < low - TURN) | (x > high + TURN)
        for state in np.flatnonzero(beyond).tolist():
            yield (
                state,
                f"q[{k}] of joint {j.name!r} is {x[state]:.6g} rad, more than a full "
                f"turn beyond its limits ({low:.3g} to {high:.3g}); is it in degrees?",
            )


def _open_loops(
    robot: Robot, q: Array, qd: Array | None, tolerance: float
) -> Iterator[Fault]:
    for start in range(0, len(q), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        v = None if qd is None else qd[part]
        for k in np.flatnonzero(_may_be_open(robot, q[part], v, tolerance)).tolist():
            state = start + k
            try:
                check_closed(robot, q[state], None if v is None else v[k], tolerance)
            except ModelError as error:
                yield state, str(error)


def _may_be_open(
    robot: Robot, q: Array, qd: Array | None, tolerance: float
) -> npt.NDArray[np.bool_]:
    """Return the states that `check_closed` may refuse."""
    phi, J, senses = kernels(robot).position(with_unit_quaternions(robot, q))
    is_sure = (np.abs(phi) <= tolerance).all(axis=1) & (senses >= 0).all(axis=1)
    if qd is not None:
        rates = np.abs(np.einsum("sij,sj->si", J, qd)).max(axis=1, initial=0.0)
        is_sure &= rates <= tolerance * (1.0 + np.abs(qd).max(axis=1, initial=0.0))
    return ~is_sure
