"""The result of a rollout or a simulation: times, states and what was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from ramify.model.pose import Array

if TYPE_CHECKING:
    from ramify.robot import Robot


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """States over time, of one robot or of a batch.

    What else was recorded is an attribute of its own name, such as ``run.energy``.
    """

    robot: Robot
    times: Array
    """(rows,) [s]"""
    q: Array
    """(rows, nq) or (batch, rows, nq)"""
    qd: Array
    """(rows, nv) or (batch, rows, nv)"""
    recorded: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """what else was recorded: (rows, ...) or (batch, rows, ...)"""
    totals: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """sums over all steps, and times at which states ended: () or (batch,)"""

    def __getattr__(self, name: str) -> Array:
        for found in ("recorded", "totals"):
            try:
                return object.__getattribute__(self, found)[name]
            except (AttributeError, KeyError):
                continue
        known = ", ".join(self.__dir__())
        raise AttributeError(f"this run has no {name!r}; it has {known}")

    def __dir__(self) -> list[str]:
        return ["times", "q", "qd", *self.recorded, *self.totals]

    @property
    def batch(self) -> int | None:
        """The number of states, or None for one without a batch axis."""
        return self.q.shape[0] if self.q.ndim == 3 else None

    @property
    def diverged(self) -> npt.NDArray[np.intp]:
        """Indices of the states that are not finite at the end."""
        last = np.concatenate([self.q[..., -1, :], self.qd[..., -1, :]], axis=-1)
        return np.flatnonzero(~np.isfinite(np.atleast_2d(last)).all(axis=1))

    def __repr__(self) -> str:
        states = "" if self.batch is None else f"{self.batch:,} states, "
        further = [*self.recorded, *self.totals]
        listed = f"; {', '.join(further)}" if further else ""
        bad = f"; {len(self.diverged):,} diverged" if len(self.diverged) else ""
        return (
            f"Run of {self.robot.name}: {states}t = {self.times[0]:.4g} to "
            f"{self.times[-1]:.4g} s in {len(self.times):,} rows, nq "
            f"{self.q.shape[-1]}, nv {self.qd.shape[-1]}{listed}{bad}"
        )
