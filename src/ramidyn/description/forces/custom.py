"""A force given by a Python function, traced once and compiled with the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from ramidyn.description.forces.fields import label

Shape = int | Sequence[int]


@final
@dataclass(frozen=True, slots=True)
class Custom:
    """A force given by a function of symbols.

    The function gets the state, and one argument for each input:

        state.q, state.qd              arrays, in the robot's conventions
        state.pose(frame)              (4, 4) in the world
        state.velocity(frame, expressed_in="local")    (6,)

    It returns joint forces, an array (nv,), or wrenches by frame: a dict such as
    ``{"hull": wrench}`` of arrays (6,), halves in the order of the robot's conventions.

    Args:
        function: called as ``function(state, *inputs)``.
        inputs: the shape of each run-time input by name: then an argument of
            ``forward_dynamics`` and of everything else that needs the force. Elements
            may share one; "time" is the time of a simulation [s].
        expressed_in: the axes of the wrenches: "local", "world" or
            "local_world_aligned", as for external forces.
        name: name of the element.
    """

    function: Callable[..., Any]
    inputs: Mapping[str, Shape] | tuple[tuple[str, tuple[int, ...]], ...] = ()
    expressed_in: str = "local"
    name: str = label()
