"""A call with symbols: the program becomes part of the function being traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ramidyn.backend.calls.arguments import (
    Array,
    Signature,
    batch_of,
    common_batch,
    make_result,
)
from ramidyn.errors import TraceError
from ramidyn.symbolic.expr import users_line
from ramidyn.symbolic.inline import inline
from ramidyn.symbolic.program import Program


def call_inline(
    signature: Signature, program: Program, arrays: Sequence[Array], out: object
) -> Any:
    """Return what a call with numbers would return, as symbols."""
    if out is not None:
        raise TraceError(
            f"{users_line()}: {signature.name}() was called with symbols and out=; "
            "omit out=, as the symbols are returned"
        )
    names, ports = signature.input_names, zip(signature.inputs, arrays, strict=True)
    batches = [batch_of(signature, name, core, a.shape) for (name, core), a in ports]
    batch = common_batch(signature, batches)
    if batch is None:
        outputs = inline(program, dict(zip(names, arrays, strict=True)))
    else:
        axis = 0 if signature.layout == "batch_first" else -1
        outputs = {
            name: np.empty((batch, *core), dtype=object)
            for name, core in signature.outputs
        }
        rows = [
            [array] * batch if own is None else np.moveaxis(array, axis, 0)
            for array, own in zip(arrays, batches, strict=True)
        ]
        rows = [row if len(row) == batch else [row[0]] * batch for row in rows]
        for k in range(batch):
            state = {n: row[k] for n, row in zip(names, rows, strict=True)}
            for name, value in inline(program, state).items():
                outputs[name][k] = value
        outputs = {name: np.moveaxis(a, 0, axis) for name, a in outputs.items()}
    found = list(outputs.values())
    return found[0] if len(found) == 1 else make_result(signature.output_names, found)
