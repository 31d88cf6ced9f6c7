"""External forces: wrenches on named frames, by a dict of numbers or as an input.

A wrench is force and moment, in the order of the robot's conventions. Forces
that the environment exerts on the robot are positive:

    τ = M q̈ + h − Σ Jᵀ f
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vectors import Force
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Shapes
from ramidyn.tree.frames import fixed_steps
from ramidyn.tree.model import Model


def external_shape(model: Model, external: Sequence[str] = (), **_: Any) -> Shapes:
    """Return the input for forces on named frames: one 6-vector each."""
    for name in external:
        model.frame(name)
    return {"external": (len(external), 6)} if external else {}


def external_forces(
    context: Context, frames: Sequence[str], expressed_in: str = "local"
) -> dict[int, Force] | None:
    """Return the force on each body, in its own coordinates."""
    if not frames:
        return None
    forces: dict[int, Force] = {}
    for name, given in zip(frames, context.inputs["external"], strict=True):
        body, force = in_body(
            context, name, Force(*context.halves(given)), expressed_in
        )
        forces[body] = forces.get(body, Force.zero()) + force
    return forces


def in_body(
    context: Context, name: str, force: Force, expressed_in: str
) -> tuple[int, Force]:
    """Return the body of a frame, and a wrench on the frame in its coordinates."""
    frame = context.model.frame(name)
    if expressed_in != "local":
        from ramidyn.algorithms import kinematics

        X = kinematics.to_frame(context.tree, context.q, frame)
        if expressed_in == "world":
            force = X.inverted().back(force)
        else:
            force = Force(X.rotate(force.n), X.rotate(force.f))
    return frame.body, Transform(fixed_steps(frame.placement)).back(
        Force(force.n, force.f)
    )


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
