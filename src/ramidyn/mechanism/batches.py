"""Batches of states: the valid ones are solved together, failures named by index."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array
from ramidyn.errors import Error, ModelWarning
from ramidyn.mechanism.constraints.rank import TOLERANCE
from ramidyn.mechanism.state_arrays import vector
from ramidyn.mechanism.states import listed, rank

if TYPE_CHECKING:
    from ramidyn.robot import Robot

Check = Callable[[Array], Any]
"""raises an error for an invalid state"""


def is_regular(robot: Robot) -> bool:
    """Say whether the loops' rows are independent, except those that never are."""
    found = rank(robot)
    return not found.is_redundant and found.tolerance <= TOLERANCE


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The valid states of a batch."""

    robot: Robot
    valid: npt.NDArray[np.intp]
    """their indices"""
    size: int
    """of the batch"""
    invalid: Mapping[int, str]
    """what is wrong with the others, by index"""

    @staticmethod
    def of(robot: Robot, arrays: Sequence[Array], checks: Sequence[Check]) -> Batch:
        """Return the states that are finite and have quaternions, by the checks."""
        n = len(arrays[0])
        suspicious = np.zeros(n, dtype=bool)
        for x in arrays:
            suspicious |= ~np.isfinite(x).all(axis=1)
        for j in robot.model.joints:
            if j.nq > j.nv:
                end = j.q_index + j.nq
                suspicious |= ~arrays[0][:, end - 4 : end].any(axis=1)
        invalid: dict[int, str] = {}
        for i in np.flatnonzero(suspicious).tolist():
            try:
                for x, check in zip(arrays, checks, strict=True):
                    check(x[i])
            except Error as error:
                invalid[i] = str(error)
        return Batch(robot, np.flatnonzero(~suspicious), n, invalid)

    def values(self, what: str, value: npt.ArrayLike, n: int) -> Array:
        """Return n numbers for all valid states, or for each of them."""
        if self.size > 1 and np.size(value) == self.size * n:
            each = np.reshape(np.asarray(value, dtype=float), (self.size, n))
            return each[self.valid]
        return vector(what, value, n)

    def result(
        self, method: str, errors: Mapping[int, str], *found: Array
    ) -> tuple[Array, ...]:
        """Return arrays of the batch, NaN where a state failed; warn of those."""
        failed = {int(self.valid[i]): text for i, text in errors.items()}
        failed |= self.invalid
        out: list[Array] = []
        for x in found:
            full = np.full((self.size, x.shape[1]), np.nan)
            full[self.valid] = x
            full[list(failed)] = np.nan
            out.append(full)
        if failed:
            texts = [f"state {i}: {failed[i]}" for i in sorted(failed)]
            warnings.warn(
                f"{method} failed for {len(failed)} of {self.size} states of robot "
                f"{self.robot.name!r}, which are NaN in the result: {listed(texts)}",
                ModelWarning,
                stacklevel=4,
            )
        return tuple(out)
