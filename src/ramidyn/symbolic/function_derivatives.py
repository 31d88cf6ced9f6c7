"""Derivatives of users' functions, as functions for `kernel`.

They are varied by the entries of their inputs. Inside a kernel an input may be any
expression, and the function may see it elsewhere: what varies are symbols of its own
(`placeholders`), replaced by what they stand for at the end.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from math import prod
from typing import Any, TypeAlias

from ramidyn.errors import ArgumentError
from ramidyn.symbolic.derivatives import Seeds, checked_wrt
from ramidyn.symbolic.expr import Expr, const, is_tracing
from ramidyn.symbolic.inline import placeholders, substituted
from ramidyn.symbolic.jacobians import (
    Arrays,
    Shapes,
    entries,
    flat,
    hessians,
    jacobians,
    shape_of,
    with_cotangents,
    with_tangents,
)
from ramidyn.symbolic.parameters import BY_PLACE, parameters_of
from ramidyn.symbolic.trace import named_outputs

Derive: TypeAlias = Callable[[Arrays, Shapes, Seeds, Sequence[Any]], Arrays]
"""(outputs, shapes of what varies, directions, additional inputs) -> outputs"""


def differentiated(
    f: Callable[..., Any], wrt: object, derive: Derive
) -> Callable[..., Any]:
    """Return a function of symbols that calls f and differentiates what it returns."""
    own = _parameters(f)
    names = tuple(p.name for p in own)
    chosen = checked_wrt(wrt, names)

    @functools.wraps(f, updated=())
    def derived(*arguments: Any) -> Any:
        inputs = dict(zip(names, arguments, strict=False))
        _check_arguments(f, inputs, chosen)
        # f may see the same nodes elsewhere: what varies are symbols of its own.
        varied = {n: placeholders(n, shape_of(inputs[n])) for n in chosen}
        returned = f(*{**inputs, **varied}.values())
        values: Arrays = {str(n): x for n, x in named_outputs(returned).items()}
        widths = {n: shape_of(inputs[n]) for n in chosen}
        places = [e for n in chosen for e in flat(varied[n])]
        along = {e: {k: const(1.0)} for k, e in enumerate(places)}
        found = derive(values, widths, along, arguments[len(names) :])
        here = [e for n in chosen for e in flat(inputs[n])]
        found = substituted(found, dict(zip(places, here, strict=True)))
        first = next(iter(found), "")
        is_one = len(found) == 1 and first.startswith(("dresult_", "d2result_"))
        return found[first] if is_one else found

    # Those of f come first, in its order; what follows depends on what f returns.
    by_place = [p.replace(kind=Parameter.POSITIONAL_ONLY) for p in own]
    further = Parameter("further", Parameter.VAR_POSITIONAL)
    derived.__dict__["__signature__"] = inspect.Signature([*by_place, further])
    del derived.__wrapped__
    return derived


def _check_arguments(
    f: Callable[..., Any], given: Mapping[str, Any], chosen: Sequence[str]
) -> None:
    """Raise ArgumentError unless a kernel is being traced, with all that is varied."""
    name = getattr(f, "__name__", type(f).__name__)
    if not is_tracing():
        raise ArgumentError(
            f"a derivative of {name!r} was called with numbers; compile it with "
            "ramidyn.kernel and call the kernel"
        )
    for x in chosen:
        if x not in given:
            raise ArgumentError(
                f"wrt names {x!r}, but {name!r} was called without it; add it to the "
                "inputs of the kernel"
            )


def _parameters(f: Callable[..., Any]) -> list[Parameter]:
    parameters = parameters_of(f)
    if parameters is None:
        raise ArgumentError(
            f"{f!r} cannot be differentiated, because its parameters are not known; "
            "wrap it in a function that names them"
        )
    return [p for p in parameters.values() if p.kind in BY_PLACE]


def derivative(
    values: Arrays, widths: Shapes, along: Seeds, _: Sequence[Any]
) -> Arrays:
    """Return dy/dx, by whichever mode has fewer sweeps."""
    is_wide = len(entries(values)) < sum(map(prod, widths.values()))
    algorithm = "reverse" if is_wide else "forward"
    return jacobians(values, widths, along, algorithm)


def hessian(values: Arrays, widths: Shapes, along: Seeds, _: Sequence[Any]) -> Arrays:
    """Return d²y/dx² of scalars."""
    return hessians(values, widths, along)


def jvp(
    values: Arrays, widths: Shapes, along: Seeds, tangents: Sequence[Any]
) -> Arrays:
    """Return y and (dy/dx) ẋ."""
    expected = {f"{n}_tangent": shape for n, shape in widths.items()}
    return with_tangents(values, along, _further(expected, tangents))


def vjp(
    values: Arrays, widths: Shapes, along: Seeds, cotangents: Sequence[Any]
) -> Arrays:
    """Return y and (dy/dx)ᵀ ȳ."""
    expected = {f"{n}_cotangent": shape_of(v) for n, v in values.items()}
    return with_cotangents(values, widths, along, _further(expected, cotangents))


def _further(expected: Shapes, given: Sequence[Any]) -> list[Expr]:
    """Return the entries of additional inputs; an error says which are expected."""
    shapes = [shape_of(x) for x in given]
    if shapes != list(expected.values()):
        wanted = ", ".join(f"{n}: {shape}" for n, shape in expected.items())
        raise ArgumentError(
            f"the additional inputs have shapes {shapes}; after its own inputs the "
            f"function takes {wanted}"
        )
    return [e for x in given for e in flat(x)]
