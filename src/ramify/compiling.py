"""From quantities of a robot to one compiled function."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from ramify.backend import cache
from ramify.errors import CompileError
from ramify.function import Function, Options, Source
from ramify.model.assembly import Model
from ramify.model.conventions import Conventions
from ramify.model.fingerprint import fingerprint
from ramify.model.parameters import parameter_shapes
from ramify.quantities.base import INPUTS, Context, Quantity
from ramify.simplify.passes import simplify
from ramify.symbolic.count import Ops
from ramify.symbolic.count import count as count_operations
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace
from ramify.version import source_digest

if TYPE_CHECKING:
    from ramify.robot import Robot


def compile(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    *,
    dtype: npt.DTypeLike = "float64",
    lanes: int | None = None,
    threads: int = 1,
    layout: str = "batch_first",
    parameters: Sequence[str] = (),
) -> Function:
    """Compile one quantity of a robot, or several into one kernel.

    Several share what they have in common, and come back as a named tuple. Inputs are
    those that they need of q, qd, qdd and tau, in this order, then others.

    Args:
        quantities: such as ``ramify.forward_dynamics`` or ``ramify.jacobian("hand")``.
        robot: what to compile them for.
        dtype: "float64" or "float32".
        lanes: states per vector, for batches; what the processor holds by default.
        threads: how many threads share a large batch.
        layout: where the batch axis is: "batch_first" or "batch_last".
        parameters: what becomes an input instead of a constant: "gravity",
            "inertia:<body>", "placement:<body>".
    """
    options = Options.checked(dtype, lanes, threads, layout)
    start = time.perf_counter()
    source = _source(quantities, robot, parameters, options.dtype)
    return Function(source, options, time.perf_counter() - start)


def count(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    *,
    parameters: Sequence[str] = (),
) -> Ops:
    """Return the operations that compiling the same would give, without compiling."""
    return count_operations(simplify(program_of(quantities, robot, parameters)))


def _source(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    parameters: Sequence[str],
    dtype: str,
) -> Source:
    """Return the program of some quantities: remembered on disk, or traced now."""
    wanted = wanted_of(quantities)
    rounding = dtype if robot.model.loops else "float64"  # all else is the same
    key = _key(wanted, robot, parameters, rounding)
    stored = cache.load(key) if key else None
    if stored is not None:
        try:
            name, inputs, outputs, digest = json.loads(stored)
            return Source(
                str(name),
                _variables(inputs),
                _variables(outputs),
                str(digest),
                lambda: program_of(wanted, robot, parameters, rounding),
            )
        except (ValueError, TypeError):
            pass  # made by something else: trace it anew
    source = Source.of(program_of(wanted, robot, parameters, rounding))
    if key:
        plan = [source.name, source.inputs, source.outputs, source.digest]
        cache.store(key, json.dumps(plan).encode())
    return source


def _variables(given: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return names and shapes as the cache has them, or say that they are none."""
    found = tuple((str(name), tuple(shape)) for name, shape in given)
    if not all(type(n) is int and n >= 0 for _, shape in found for n in shape):
        raise TypeError("not a shape")
    return found


def wanted_of(quantities: object) -> list[Quantity]:
    """Return the quantities as a list, or say what is not one."""
    if isinstance(quantities, Quantity):
        return [quantities]
    if isinstance(quantities, Iterable) and not isinstance(quantities, str):
        wanted = list(cast("Iterable[object]", quantities))
        found = [x for x in wanted if isinstance(x, Quantity)]
        if found and len(found) == len(wanted):
            return found
        quantities = cast("object", wanted)
    raise CompileError(
        f"{quantities!r} cannot be compiled; expected a quantity such as "
        "ramify.inverse_dynamics, or a list of them"
    )


def _key(
    quantities: Sequence[Quantity],
    robot: Robot,
    parameters: Sequence[str],
    dtype: str,
) -> str | None:
    """Return what a traced program depends on, or None where that is not known."""
    if not all(x.trace.__module__.startswith("ramify.") for x in quantities):
        return None  # of a user's own function we do not know when it changes
    wanted = [(x.name, x.options) for x in quantities]
    model = robot.fingerprint
    return model and fingerprint(
        "plan", source_digest(), model, wanted, list(parameters), dtype
    )


def program_of(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
) -> Program:
    """Return the traced program of some quantities of a robot, to be run in a dtype."""
    model, conventions = robot.placed_model, robot.conventions
    wanted = wanted_of(quantities)
    chosen = [resolve(x, model, conventions) for x in wanted]
    names = [x.name for x in wanted]
    for k, name in enumerate(names):
        if name in names[:k]:
            names[k] = f"{name}_{names[: k + 1].count(name)}"
    shapes = {**_shapes(chosen, model), **parameter_shapes(parameters, model)}
    label = "+".join(map(str, chosen))

    def traced(*symbols: Any) -> dict[str, Any]:
        inputs = dict(zip(shapes, symbols, strict=True))
        context = Context(model, conventions, inputs, dtype, chosen)
        out: dict[str, Any] = {}
        for name, quantity in zip(names, chosen, strict=True):
            value = quantity.of(context)
            if isinstance(value, Mapping):
                out.update(value)  # type: ignore[arg-type]
            else:
                out[name] = value
        return out

    return trace(traced, shapes, f"{label} of {robot.name}")


def _shapes(quantities: Sequence[Quantity], model: Model) -> dict[str, tuple[int, ...]]:
    needed: dict[str, tuple[int, ...]] = {}
    for quantity in quantities:
        needed.update(quantity.input_shapes(model))
    first = {n: needed[n] for n in INPUTS if n in needed}
    return {**first, **{n: s for n, s in needed.items() if n not in first}}


def resolve(quantity: Quantity, model: Model, conventions: Conventions) -> Quantity:
    """Return the quantity with ``algorithm="auto"`` decided by counting."""
    options = dict(quantity.options)
    choices = quantity.choices(model)
    if not choices or options.get("algorithm", "auto") != "auto":
        return quantity
    if len(choices) == 1:
        return quantity(algorithm=choices[0])
    costs = costs_of(quantity, model, conventions)
    return quantity(algorithm=min(costs, key=lambda name: costs[name].cost))


def costs_of(
    quantity: Quantity, model: Model, conventions: Conventions
) -> dict[str, Ops]:
    """Return the operations of each algorithm for a quantity."""
    shapes = _shapes([quantity], model)
    costs: dict[str, Ops] = {}
    for algorithm in quantity.choices(model):
        choice = quantity(algorithm=algorithm)

        def traced(*symbols: Any, choice: Quantity = choice) -> Any:
            inputs = dict(zip(shapes, symbols, strict=True))
            return choice.of(Context(model, conventions, inputs))

        costs[algorithm] = count_operations(trace(traced, shapes))
    return costs
