"""From quantities of a robot to one Program, their algorithms given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ramidyn.description.conventions import Conventions
from ramidyn.symbolic.program import Program, free_name
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Quantity, input_shapes
from ramidyn.tree.model import Model
from ramidyn.tree.parameters import parameter_shapes


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
        context = Context(model, conventions, inputs, dtype, regroup)
        return values_of(wanted, context)

    return trace(traced, shapes, f"{'+'.join(map(str, wanted))} of {model.name}")


def values_of(wanted: Sequence[Quantity], context: Context) -> dict[str, Any]:
    """Return the symbols of some quantities by name; equal names are numbered."""
    out: dict[str, Any] = {}
    for one in wanted:
        value = one.of(context)
        named = {one.name: value}
        if isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
        for name, array in named.items():
            out[free_name(name, out)] = array
    return out
