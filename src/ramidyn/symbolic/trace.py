"""Run a Python function on symbols and keep what it did as a Program."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ramidyn.errors import TraceError
from ramidyn.symbolic import expr
from ramidyn.symbolic.expr import Condition, Expr
from ramidyn.symbolic.program import Program, Variable, live

Shape = int | Sequence[int]


def trace(
    fn: Callable[..., Any],
    inputs: Mapping[str, Shape],
    name: str | None = None,
    dtype: str = "float64",
) -> Program:
    """Return the program of ``fn`` called with one array of symbols per input.

    Args:
        fn: called with the inputs in order: a scalar symbol for shape (), else a
            NumPy array of symbols. It returns a symbol, an array or (nested) list of
            them, or several of these: a dict by name, a named tuple or a tuple.
        inputs: the shape of each input by name; 3 means (3,).
        name: what the program is called; the function's own name by default.
        dtype: what the program will run in.
    """
    variables = tuple(Variable(n, _shape(n, s)) for n, s in inputs.items())
    with expr.fresh_table(dtype) as table:
        try:
            returned = fn(*(_symbols(v) for v in variables))
        except TypeError as error:
            _explain_linalg(error)
            raise
        named = named_outputs(returned)
        if not named:
            raise TraceError(f"{_name_of(fn)} returned no outputs")
        outputs: list[Variable] = []
        results: list[Expr] = []
        for key, value in named.items():
            array = _as_array(key, value)
            outputs.append(Variable(str(key), array.shape))
            results.extend(_number(e) for e in array.ravel())
        order = live(tuple(table.table.values()), results)
        for e in order:
            if e.op == "input" and table.table.get(("input", e.value)) is not e:
                raise TraceError(
                    f"{_name_of(fn)} uses {e!r}, a symbol of another trace; a traced "
                    "function may use only its arguments and constants"
                )
        regions, labels = tuple(table.regions), table.labels
    return Program(
        name or _name_of(fn),
        variables,
        tuple(outputs),
        tuple(results),
        order,
        regions,
        _kept(labels, order),
    )


def named_outputs(returned: Any) -> Mapping[Any, Any]:
    """Return the outputs by name."""
    if isinstance(returned, Mapping):
        return cast("Mapping[Any, Any]", returned)
    if not isinstance(returned, tuple):
        return {"result": returned}
    values = cast("tuple[Any, ...]", returned)
    numbered = [f"result_{k}" for k in range(len(values))]
    names = getattr(cast(object, returned), "_fields", numbered)
    return dict(zip(names, values, strict=True))


LINALG = {
    "solve": "solve",
    "inv": "inverse",
    "det": "determinant",
    "cholesky": "cholesky",
    "lstsq": "least_squares",
}
"""functions of `ramidyn.math` by those of numpy.linalg"""


def _explain_linalg(error: TypeError) -> None:
    """Raise TraceError if symbols were given to a function of numpy.linalg."""
    line = "unknown line"
    for frame, number in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_name
        if frame.f_globals.get("__name__", "").startswith("numpy.linalg"):
            hint = f"ramidyn.math has {', '.join(LINALG.values())}"
            if name in LINALG:
                hint = f"use ramidyn.math.{LINALG[name]}"
            raise TraceError(
                f"{line}: numpy.linalg.{name} does not work on symbols; {hint}"
            ) from error
        line = f"{frame.f_code.co_filename}:{number}"


def _kept(labels: dict[Expr, str], order: tuple[Expr, ...]) -> dict[Expr, str]:
    """Return the labels of nodes that are still there."""
    if not labels:
        return labels
    alive = set(order)
    return {e: name for e, name in labels.items() if e in alive}


def _name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _shape(name: str, shape: Shape) -> tuple[int, ...]:
    try:
        extents = shape if isinstance(shape, Sequence) else (shape,)
        checked = tuple(operator.index(n) for n in extents)
    except TypeError:
        checked = (-1,)
    if any(n < 0 for n in checked):
        raise TraceError(
            f"input {name!r} has shape {shape!r}; expected an integer or a tuple of "
            "nonnegative integers"
        )
    return checked


def _symbols(variable: Variable) -> Any:
    if variable.shape == ():
        return expr.symbol(variable.name)
    array: Any = np.empty(variable.size, dtype=object)
    for i in range(variable.size):
        array[i] = expr.symbol(variable.name, i)
    return array.reshape(variable.shape)


def _as_array(name: str, value: Any) -> np.ndarray[Any, Any]:
    if value is None:
        raise TraceError(f"output {name!r} is None; did the function return it?")
    try:
        return np.asarray(value, dtype=object)
    except ValueError as error:
        raise TraceError(f"output {name!r} is not an array: {error}") from None


def _number(value: Any) -> Expr:
    if isinstance(value, Condition):
        return expr.where(value, expr.const(1.0), expr.const(0.0))
    return expr.lift(value)
