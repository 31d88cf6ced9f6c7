"""A Program as part of the function that is being traced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ramidyn.symbolic.calls import SHORT, call_program, replayed
from ramidyn.symbolic.count import count
from ramidyn.symbolic.derivatives import between
from ramidyn.symbolic.expr import (
    Expr,
    is_symbol,
    label,
    labels,
    lift,
    rebuilt,
    region,
    resumed_regions,
    symbol,
)
from ramidyn.symbolic.program import Program, Variable


def inline(program: Program, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Do the operations of a program in the current trace; return its outputs by name.

    Args:
        program: preferably as traced; it is simplified with what it becomes part of.
        inputs: arrays of symbols and numbers by name, in the shapes of the program.
    """
    given = [e for v in program.inputs for e in entries_of(inputs[v.name])]
    results = replayed(program, given)
    region("start")
    return _outputs(program.outputs, results)


def called(program: Program, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Call a program in the current trace; return its outputs by name.

    A program that is called several times is compiled once; a short one is done in
    place.
    """
    if count(program).cost < SHORT:
        return inline(program, inputs)
    given = [e for v in program.inputs for e in entries_of(inputs[v.name])]
    return _outputs(program.outputs, call_program(program, given))


def entries_of(array: Any) -> list[Expr]:
    """Return the entries of an array, or a number, as symbols."""
    entries: list[Any] = np.asarray(array, dtype=object).ravel().tolist()
    return [lift(x) for x in entries]


def _outputs(variables: Iterable[Variable], results: list[Expr]) -> dict[str, Any]:
    """Return results by name: a symbol for shape (), else an array of symbols."""
    outputs: dict[str, Any] = {}
    start = 0
    for v in variables:
        entries: Any = np.empty(v.size, dtype=object)
        entries[:] = results[start : start + v.size]
        outputs[v.name] = entries.reshape(v.shape) if v.shape else entries[0]
        start += v.size
    return outputs


def placeholders(name: str, shape: tuple[int, ...]) -> Any:
    """Return symbols that stand for an array of this trace, and occur nowhere else."""
    number = 1
    while is_symbol(f"{name}'{number}"):
        number += 1
    variable = Variable(f"{name}'{number}", shape)
    results = [symbol(variable.name, i) for i in range(variable.size)]
    return _outputs((variable,), results)[variable.name]


def substituted(outputs: dict[str, Any], by: Mapping[Expr, Expr]) -> dict[str, Any]:
    """Return arrays of this trace with some symbols replaced by other nodes."""
    value = dict(by)
    results = [e for x in outputs.values() for e in entries_of(x)]
    with resumed_regions() as resume:
        for e in between(results, by):
            if any(a in value for a in e.args):
                resume(e.region)
                value[e] = rebuilt(e, tuple([value.get(a, a) for a in e.args]))
    for e, new in value.items():
        if e in labels():
            label(labels()[e], new)
    arrays = [
        Variable(name, np.asarray(x, dtype=object).shape) for name, x in outputs.items()
    ]
    return _outputs(arrays, [value.get(e, e) for e in results])


def has_symbols(array: Any) -> bool:
    """Say whether an array holds symbols."""
    return array.dtype == object and any(isinstance(x, Expr) for x in array.flat)
