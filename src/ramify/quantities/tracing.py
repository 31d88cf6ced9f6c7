"""From quantities of a robot to one Program, their algorithms given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramify.model.conventions import Conventions
from ramify.model.model import Model
from ramify.model.parameters import parameter_shapes
from ramify.quantities.context import Context
from ramify.quantities.quantity import Quantity, input_shapes
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace


def trace_quantities(
    wanted: Sequence[Quantity],
    model: Model,
    conventions: Conventions,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
    regroup: bool = True,
) -> Program:
    """Return the program of some quantities."""
    shapes = {**input_shapes(wanted, model), **parameter_shapes(parameters, model)}

    def traced(*symbols: Any) -> dict[str, Any]:
        inputs = dict(zip(shapes, symbols, strict=True))
        context = Context(model, conventions, inputs, dtype, regroup, rolls=True)
        return values_of(wanted, context)

    return trace(traced, shapes, f"{'+'.join(map(str, wanted))} of {model.name}")


def values_of(wanted: Sequence[Quantity], context: Context) -> dict[str, Any]:
    """Return the symbols of some quantities by name; equal names are numbered."""
    names = [x.name for x in wanted]
    for k, name in enumerate(names):
        if name in names[:k]:
            names[k] = f"{name}_{names[: k + 1].count(name)}"
    out: dict[str, Any] = {}
    for name, one in zip(names, wanted, strict=True):
        value = one.of(context)
        if isinstance(value, Mapping):
            out.update(value)  # type: ignore[arg-type]
        else:
            out[name] = value
    return out
