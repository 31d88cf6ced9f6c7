"""The state of a rollout: all that one step hands to the next.

    q, qd            the motion
    step count       since the start time; their product with dt is the time
    state number     in its batch, where random numbers are drawn
    end of motion    with ``until``: when a state ended, or how often it began again
    integral, sum    of records and totals
    and what policies, forces and contacts remember from step to step

`TracedStep.state` is the table of these values, and everything else reads it: the step
has an output ``next <name>`` for each, the time loop carries it over, ``until`` keeps
it, ``restart`` puts its first value back, `Run.end` has the last one, files save it,
and a later rollout continues from there. What a new feature remembers is a new entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError

COUNT: Final = "step count"
START: Final = "start time"
ENDED: Final = "end of motion"
STATE_NUMBER: Final = "state number"
SEED: Final = "random seed"
"""values of a state by names that no function can ask for"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A value that is carried from step to step."""

    name: str
    shape: tuple[int, ...] = ()
    first: float | Array | None = None
    """before the first step, unless it is given; None: it must be given"""
    is_restarted: bool = True
    """whether a restart puts its first value back; else it goes on"""
    is_kept: bool = True
    """whether a state that has ended keeps it; else it goes on"""

    @property
    def after(self) -> str:
        """The output of a step that is its next value."""
        return f"next {self.name}"

    @property
    def before(self) -> str:
        """The input of a step that is its first value, for restarts."""
        return f"first {self.name}"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunState:
    """The state at the end of a run; `Robot.rollout` and `simulate` continue from it.

    A run that continues another equals one run of all steps, to the bit: times, totals
    and all that policies, forces and contacts remember go on.
    """

    values: Mapping[str, Array]
    """all values by name: those of `Carried`, and their first ones for restarts"""
    start: float
    """time of the first step of all [s]"""
    dt: float
    """time step [s]"""

    @property
    def q(self) -> Array:
        """(nq,) or (batch, nq)."""
        return self.values["q"]

    @property
    def qd(self) -> Array:
        """(nv,) or (batch, nv)."""
        return self.values["qd"]

    @property
    def steps(self) -> float:
        """The number of steps since the first."""
        return float(np.max(self.values[COUNT], initial=0.0))

    @property
    def time(self) -> float:
        """[s]."""
        return self.start + self.steps * self.dt

    def __getitem__(self, index: int | slice | npt.NDArray[Any]) -> RunState:
        """Return the state of one robot of a batch, or of some."""
        chosen = {name: x[index] for name, x in self.values.items()}
        return RunState(chosen, self.start, self.dt)

    def __repr__(self) -> str:
        batch = f"{len(self.q):,} states" if self.q.ndim > 1 else "one state"
        own = [n for n in self.values if " " not in n]
        return f"RunState: {batch} at t = {self.time:.6g} s; {', '.join(own)}"


def continued(state: RunState, dt: float, table: tuple[Carried, ...]) -> dict[str, Any]:
    """Return the inputs of a step that continues a run, of what it carries itself.

    Sums that are not asked for again are left out.

    Raises:
        ArgumentError: the state remembers what this step does not.
    """
    known = {*(e.name for e in table), *(e.before for e in table)}
    lost = [n for n in state.values if n not in ("q", "qd", *known) and " " not in n]
    if lost:
        raise ArgumentError(
            f"the state has {lost[0]!r}, which nothing in this run remembers; pass the "
            "functions and the robot of the run that ended there, or q=state.q and "
            "qd=state.qd"
        )
    values: dict[str, Any] = {n: x for n, x in state.values.items() if n in known}
    if COUNT not in known:
        return {**values, START: state.time}
    # With steps of another length, the same count is the same time.
    begin = state.start if dt == state.dt else state.time - state.steps * dt
    return {**values, START: begin}
