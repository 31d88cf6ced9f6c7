"""The run-time inputs of force elements, and forces given by a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, final

from ramidyn.description.forces.fields import label

if TYPE_CHECKING:
    from ramidyn.description.forces.actuators import Actuator
    from ramidyn.description.forces.element import ForceElement


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


CONTROL: Final = "control"
INPUT_WORDS: Final = {
    CONTROL: "controls of the actuators, in the order of robot.forces",
    "time": "time [s]",
}


def actuators(forces: Sequence[ForceElement]) -> list[Actuator]:
    """Return the actuators, in the order of the input ``control``."""
    if not forces:
        return []
    from ramidyn.description.forces.actuators import ACTUATORS  # noqa: PLC0415  where there are forces

    return [f for f in forces if isinstance(f, ACTUATORS)]


def force_inputs(forces: Sequence[ForceElement]) -> dict[str, tuple[int, ...]]:
    """Return the run-time inputs of force elements: names and shapes, in order.

    This alone decides what forward dynamics and all else takes besides the state.
    """
    n = len(actuators(forces))
    inputs: dict[str, tuple[int, ...]] = {CONTROL: (n,)} if n else {}
    for element in forces:
        if isinstance(element, Custom):
            inputs.update(cast("Mapping[str, tuple[int, ...]]", dict(element.inputs)))
    return inputs
