"""The run-time inputs of force elements: what a quantity takes besides the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from ramidyn.description.forces.actuators import Actuator
    from ramidyn.description.forces.element import ForceElement

CONTROL: Final = "control"
INPUT_WORDS: Final = {
    CONTROL: "controls of the actuators, in the order of robot.forces",
    "time": "time [s]",
}


def actuators(forces: Iterable[ForceElement]) -> list[Actuator]:
    """Return the actuators, in the order of the input ``control``."""
    elements = tuple(forces)
    if not elements:
        return []
    from ramidyn.description.forces.actuators import ACTUATORS  # noqa: PLC0415  where there are forces

    return [f for f in elements if isinstance(f, ACTUATORS)]


def force_inputs(forces: Iterable[ForceElement]) -> dict[str, tuple[int, ...]]:
    """Return the run-time inputs of force elements: names and shapes, in order.

    This alone decides what forward dynamics and all else takes besides the state.
    """
    elements = tuple(forces)
    if not elements:
        return {}
    from ramidyn.description.forces.custom import Custom  # noqa: PLC0415  where there are forces

    n = len(actuators(elements))
    inputs: dict[str, tuple[int, ...]] = {CONTROL: (n,)} if n else {}
    for element in elements:
        if isinstance(element, Custom):
            inputs.update(cast("Mapping[str, tuple[int, ...]]", dict(element.inputs)))
    return inputs
