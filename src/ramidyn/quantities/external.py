"""External forces as users give them: a dict of wrenches by frame.

A wrench is force and moment, in the order of the robot's conventions. Forces
that the environment exerts on the robot are positive:

    τ = M q̈ + h − Σ Jᵀ f
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ramidyn.errors import ArgumentError, ShapeError


def split_wrenches(options: dict[str, Any]) -> dict[str, Any]:
    """Replace wrenches among the options by their frames; return them as an input."""
    external = options.pop("external", None)
    frames, array = ((), None) if external is None else wrenches(external)
    if not frames:
        return {}
    options["external"] = frames
    return {"external": array}


def wrenches(external: object) -> tuple[tuple[str, ...], Any]:
    """Return the frames of a dict of wrenches, and the wrenches as one array.

    They are (6,) or (batch, 6) each, and (frames, 6) or (batch, frames, 6) together.
    """
    if not isinstance(external, Mapping):
        raise ArgumentError(
            f"external is {external!r}; expected a dict of wrenches by frame, such as "
            '{"left_foot": wrench}'
        )
    given = cast("Mapping[str, Any]", external)
    for name in given:
        if not isinstance(cast(object, name), str):
            raise ArgumentError(
                f"external has {name!r}; expected the name of a frame for each wrench"
            )
    # One function for all orders of the same frames: compiling takes long.
    arrays = {name: _wrench(name, given[name]) for name in sorted(given)}
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or array.shape[-1] != 6:
            raise ShapeError(
                f"external[{name!r}] has shape {array.shape}; expected a wrench, (6,) "
                "or (batch, 6)"
            )
    sizes = {n: len(a) for n, a in arrays.items() if a.ndim == 2}
    if not sizes:
        return tuple(arrays), np.array(list(arrays.values()))
    if len(set(sizes.values()) - {1}) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ShapeError(
            f"batch sizes in external differ: {listed}; expected equal sizes or 1"
        )
    together = np.broadcast_arrays(*arrays.values())
    return tuple(arrays), np.stack(together, axis=-2)


def _wrench(name: str, value: object) -> Any:
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ShapeError(f"external[{name!r}] is not an array: {error}") from error
