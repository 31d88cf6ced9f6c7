"""The reference interpreter: runs a Program one operation at a time with NumPy.

The reference that native code is tested against; clarity before speed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ramidyn.symbolic.column_loop import evaluated
from ramidyn.symbolic.program import FAR, Callee, ColumnLoop, Program, terms_of
from ramidyn.symbolic.random_numbers import uniform


def _fma(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _fms(a: Any, b: Any, c: Any) -> Any:
    return a * b - c


def _fnma(a: Any, b: Any, c: Any) -> Any:
    return c - a * b


def _sum_of_angles(op: str, x: Any, y: Any, whole: Any) -> Any:
    """Return sin or cos of x + y kept apart (see `terms_of`)."""
    if op == "sin":
        apart = np.sin(x) * np.cos(y) + np.cos(x) * np.sin(y)
    else:
        apart = np.cos(x) * np.cos(y) - np.sin(x) * np.sin(y)
    is_far: Any = np.abs(whole) > FAR
    return np.where(is_far, apart, MEANING[op](whole))  # type: ignore[no-any-return]


MEANING: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": np.divide,
    "neg": operator.neg,
    "fma": _fma,
    "fms": _fms,
    "fnma": _fnma,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan2": np.arctan2,
    "exp": np.exp,
    "log": np.log,
    "pow": np.power,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "where": np.where,
    "random": uniform,
}


def evaluate(
    program: Program,
    inputs: Mapping[str, npt.ArrayLike],
    dtype: npt.DTypeLike = np.float64,
) -> dict[str, npt.NDArray[Any]]:
    """Return the outputs by name, for inputs of one state or of a batch.

    Inputs have their own shape, or that with a leading batch axis. Complex numbers
    work where the operations are analytic, which is how derivatives are tested.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    batch: int | None = None
    for v in program.inputs:
        a: Any = np.asarray(inputs[v.name], dtype=dtype)
        if a.ndim > len(v.shape):
            batch = a.shape[0]
            arrays[v.name] = a.reshape(a.shape[0], v.size)
        else:
            arrays[v.name] = a.reshape(v.size)
    entries = [arrays[v.name][..., k] for v in program.inputs for k in range(v.size)]
    with np.errstate(all="ignore"):
        results = iter(_run(program, entries, np.dtype(dtype)))
    outputs: dict[str, npt.NDArray[Any]] = {}
    lead = () if batch is None else (batch,)
    for v in program.outputs:
        out: Any = np.empty((*lead, v.size), dtype=dtype)
        for i in range(v.size):
            out[..., i] = next(results)
        outputs[v.name] = out.reshape((*lead, *v.shape))
    return outputs


def _run(program: Program, entries: Sequence[Any], dtype: np.dtype[Any]) -> list[Any]:
    """Return the results of a program, flat, for the entries of its inputs."""
    offsets, value = program.input_offsets(), dict[Any, Any]()
    for e in program.order:
        if e.op == "const":
            value[e] = dtype.type(e.value)
        elif e.op == "input":
            value[e] = entries[offsets[e.value[0]] + e.value[1]]
        elif e.op == "call":
            value[e] = _call(e.value, [value[a] for a in e.args], dtype)
        elif e.op == "result":
            value[e] = value[e.args[0]][e.value]
        elif e.op in ("sin", "cos") and (terms := terms_of(e.args[0])):
            x, y = (value[a] for a in terms)
            y = -y if e.args[0].op == "sub" else y
            value[e] = _sum_of_angles(e.op, x, y, value[e.args[0]])
        else:
            value[e] = MEANING[e.op](*(value[a] for a in e.args))
    return [value[e] for e in program.results]


def _call(callee: Callee, arguments: list[Any], dtype: np.dtype[Any]) -> list[Any]:
    """Return the results of a call, step after step."""
    body = callee.body
    if isinstance(body, ColumnLoop):
        together: Any = np.stack(np.broadcast_arrays(*arguments), axis=-1).astype(dtype)
        shared, given = together[..., : body.shared], together[..., body.shared :]
        made = evaluated(body, shared, given)
        return list(np.moveaxis(made, -1, 0))
    carried = arguments[: callee.carried]
    end = callee.carried + callee.shared
    shared, sliced = arguments[callee.carried : end], arguments[end:]
    stacked: list[Any] = []
    for step in range(callee.times):
        if callee.until and np.all(carried[0] == 1.0):
            break
        own = sliced[step * callee.sliced : (step + 1) * callee.sliced]
        results = _run(body, [*carried, *shared, *own], dtype)
        carried = results[: callee.carried]
        stacked += results[callee.carried :]
    return [*carried, *stacked]
