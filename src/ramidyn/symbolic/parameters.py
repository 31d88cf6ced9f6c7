"""Which parameter of a Python function each input of its kernel is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from numbers import Real
from typing import Any

from ramidyn.errors import ArgumentError

ANY = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def parameters_of(fn: Callable[..., Any]) -> dict[str, Parameter] | None:
    """Return the parameters of a function, or None where Python does not know them."""
    try:
        return dict(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return None


def matched(fn: Callable[..., Any], inputs: Iterable[str]) -> Callable[..., Any]:
    """Return fn as a function of the inputs in order; ArgumentError if it is not one.

    Inputs that all have names of parameters are passed by name, others by position.
    """
    names, parameters = list(inputs), parameters_of(fn)
    if parameters is None:
        return fn
    kinds = {p.kind for p in parameters.values()}
    takes_any = Parameter.VAR_POSITIONAL in kinds
    by_name = not takes_any and all(
        n in parameters and parameters[n].kind != Parameter.POSITIONAL_ONLY
        for n in names
    )
    places = [n for n, p in parameters.items() if p.kind in BY_PLACE]
    filled = set(names) if by_name else set(places[: len(names)])
    own = [n for n, p in parameters.items() if p.kind not in ANY]
    misplaced = [
        n for k, n in enumerate(names) if n in own and places[k : k + 1] != [n]
    ]
    listed, given = f"{_name(fn)}({', '.join(parameters)})", ", ".join(names) or "none"
    unknown = [n for n in names if n not in parameters]
    too_many = len(names) > len(places) and not takes_any
    if not by_name and unknown and (too_many or (misplaced and not takes_any)):
        raise ArgumentError(
            f"inputs has {unknown[0]!r}, which is not a parameter of {listed}; "
            f"given: {given}"
        )
    if not by_name and misplaced:
        raise ArgumentError(
            f"inputs are matched by position, but {misplaced[0]!r} is elsewhere in "
            f"{listed}; given: {given}"
        )
    missing = [
        n
        for n, p in parameters.items()
        if n not in filled and p.default is Parameter.empty and p.kind not in ANY
    ]
    if missing:
        raise ArgumentError(
            f"inputs has no shape for {', '.join(map(repr, missing))} of {listed}; "
            f"given: {given}"
        )
    if not by_name:
        return fn
    return lambda *values: fn(**dict(zip(names, values, strict=True)))


def default_values(
    fn: Callable[..., Any],
    inputs: Mapping[str, Any],
    given: Mapping[str, float],
) -> dict[str, float]:
    """Return default values of scalar inputs: those given, or fn's own."""
    for name, value in given.items():
        if name not in inputs or inputs[name] != ():
            scalars = ", ".join(n for n, s in inputs.items() if s == ()) or "none"
            raise ArgumentError(
                f"defaults has {name!r}, which is not a scalar input; scalar inputs "
                f"(shape ()): {scalars}"
            )
        if not _is_number(value):
            raise ArgumentError(
                f"defaults has {name!r}: {value!r}; expected a real number"
            )
    own = {
        n: p.default
        for n, p in (parameters_of(fn) or {}).items()
        if n in inputs and inputs[n] == () and _is_number(p.default)
    }
    return {n: float(x) for n, x in {**own, **given}.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and value is not True and value is not False


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", type(fn).__name__)
