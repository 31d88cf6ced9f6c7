"""Events: where a function of the state crosses zero, or a condition becomes true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array
from ramidyn.kernels import kernel
from ramidyn.simulation.actions import checked_shape
from ramidyn.simulation.run import Run
from ramidyn.simulation.traced_step import Traced, called

Sides = npt.NDArray[np.bool_]


def crossings(values: Array) -> npt.NDArray[np.intp]:
    """Return k of each pair of samples k, k + 1 with a crossing of zero between.

    A sample that is exactly zero ends a crossing; the first one does not start one.
    """
    before, after = np.sign(values[:-1]), np.sign(values[1:])
    is_crossing = (before != 0) & (before != after) & ~np.isnan(after)
    return np.flatnonzero(is_crossing & ~np.isnan(before))


def first_times(holds: Callable[[Array], Sides], a: Array, b: Array) -> Array:
    """Return the times from which conditions hold, to the last bit.

    They hold at the times b, and not at a; the intervals are halved at the same time.
    """
    while True:
        middle = 0.5 * (a + b)
        is_open = (a < middle) & (middle < b)
        if not is_open.any():
            return b
        is_after = holds(middle)
        a, b = (
            np.where(is_open & ~is_after, middle, a),
            np.where(is_open & is_after, middle, b),
        )


def zeros_between(value: Callable[[Array], Array], a: Array, b: Array) -> Array:
    """Return where a function crosses zero, as it does in each interval."""
    side = np.sign(value(a))
    return first_times(lambda t: np.sign(value(t)) != side, a, b)


def events_of_rows(
    run: Run, events: Mapping[str, Traced], constants: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the times of events between the rows of a run, by interpolation."""
    robot = run.robot
    assert robot is not None
    shapes: dict[str, Any] = {"q": robot.nq, "qd": robot.nv, "time": ()}
    shapes |= {name: x.shape for name, x in constants.items()}

    def traced(*values: Any) -> Any:
        known = dict(zip(shapes, values, strict=True))
        found = [event_value(name, event, known) for name, event in events.items()]
        return np.array(found, dtype=object)

    watched = kernel(traced, shapes, name=f"events of {robot.name}")
    further = list(constants.values())
    values: Array = watched(run.q, run.qd, run.times, *further)
    times: dict[str, Array] = {}
    for k, name in enumerate(events):
        rows = crossings(values[:, k])

        def value(t: Array, k: int = k) -> Array:
            return watched(*run.at(t), t, *further)[:, k]

        times[name] = zeros_between(value, run.times[rows], run.times[rows + 1])
    return times


def event_value(name: str, event: Traced, known: Mapping[str, Any]) -> Any:
    """Return the value of an event as a symbol."""
    what = f"event {name!r}"
    return checked_shape(what, called(what, event, known), ())
