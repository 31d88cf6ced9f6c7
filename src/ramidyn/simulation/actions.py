"""What policies and controllers return: joint forces, and inputs of the robot's forces.

tau                     joint forces (nv,); alone, or in a dict with
control                 controls of the actuators, which clamp and shape them
external                wrenches by frame, (6,) each
and further inputs of the robot's forces, and memory, by their names
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final, cast

import numpy as np

from ramidyn.errors import ArgumentError, did_you_mean
from ramidyn.tree.model import Model

EXTERNAL: Final = "external"
Shape = tuple[int, ...]


def action_shapes(model: Model) -> dict[str, Shape]:
    """Return what sets forces at a step, besides external: names and shapes."""
    inputs = model.force_inputs
    return {"tau": (model.nv,)} | {n: s for n, s in inputs.items() if n != "time"}


def actions_by_name(what: str, found: Any, possible: Mapping[str, object]) -> Any:
    """Return what a policy or a controller returned, as a dict by name."""
    if not isinstance(found, Mapping):
        return {"tau": found}
    actions = cast("Mapping[Any, Any]", found)
    further = ", and names of memory" if what == "policy" else ""
    for name in actions:
        if name not in possible:
            raise ArgumentError(
                f"{what} returns {name!r}{did_you_mean(name, possible)}, which nothing "
                f"takes; possible: {', '.join(possible)}{further}"
            )
    return dict(actions)


def policy_actions(
    what: str,
    returned: Any,
    model: Model,
    given: Container[str],
    memory: Mapping[str, Shape],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what a policy sets and remembers, and the frames of its wrenches.

    Raises:
        ArgumentError: it has a name that nothing takes, or that is also given.
    """
    shapes = action_shapes(model) | dict(memory)
    found = actions_by_name(what, returned, {**shapes, EXTERNAL: ()})
    for name in found:
        if name in given:
            raise ArgumentError(
                f"{what} returns {name!r}, which is also given; give one of them, or "
                f"let the {what} take {name!r} as well and return their sum"
            )
    wrenches = found.pop(EXTERNAL, {})
    frames = frames_of(what, wrenches, model)
    actions: dict[str, Any] = {
        n: checked_shape(what if n == "tau" else f"{what}: {n!r}", x, shapes[n])
        for n, x in found.items()
    }
    if frames:
        each = [
            checked_shape(f"{what}: external[{n!r}]", wrenches[n], (6,)) for n in frames
        ]
        actions[EXTERNAL] = np.stack(each)
    return actions, frames


def frames_of(what: str, external: Any, model: Model) -> tuple[str, ...]:
    """Return the frames of wrenches that a policy returned, in order."""
    if not isinstance(external, Mapping):
        raise ArgumentError(
            f"{what} returns external of type {type(external).__name__}; expected a "
            'dict of wrenches by frame, such as {"left_foot": wrench}'
        )
    given = cast("Mapping[Any, Any]", external)
    for name in given:
        model.frame(name)
    return tuple(sorted(given))


def needed_input(robot: str, name: str, source: str = "") -> str:
    """Return the message that an input of the robot's forces is missing."""
    other = f", or return it from the {source}" if source else ""
    return (
        f"robot {robot!r} has forces that need {name!r}; pass "
        f"inputs={{{name!r}: ...}}{other}"
    )


def checked_shape(what: str, value: Any, shape: Shape) -> Any:
    """Return a traced value of the shape that is expected."""
    array: Any = np.asarray(value, dtype=object)
    if array.shape != shape:
        raise ArgumentError(f"{what} returns shape {array.shape}; expected {shape}")
    for entry in array.flat:
        if entry is None or isinstance(entry, (str, bytes)):
            raise ArgumentError(f"{what} returns {entry!r}; expected numbers")
    return array if shape else array[()]
