"""The native calls of a run, for arrays of known shapes and strides.

What a time loop must know about its arrays depends on how they are laid out. It is
found once; later runs whose inputs are laid out alike only say where their arrays are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ramidyn.backend.calls import arguments
from ramidyn.backend.calls.arguments import Array
from ramidyn.backend.calls.scan_call import LoopCall, MovableCalls, Timed, array_like
from ramidyn.backend.runtime.memory_layout import is_table

if TYPE_CHECKING:
    from ramidyn.simulation.compiled_step import CompiledStep
    from ramidyn.simulation.scan import Scan

MOST_COPIED = 2**20
"""bytes of inputs of other dtypes that are kept from run to run"""


def layout_of(value: object, element: np.dtype[Any]) -> object:
    """Return the shape of an input, and its strides if it is read where it is.

    None if it is neither an array nor a number.
    """
    if type(value) is not np.ndarray:
        return () if isinstance(value, (float, int)) else None
    if value.dtype is element and value.flags.aligned:
        return value.shape, value.strides
    return value.shape


@final
class ReadyRun:
    """A run of some steps; one thread at a time may call it."""

    def __init__(
        self, compiled: CompiledStep, inputs: Sequence[Any], steps: int, every: int
    ) -> None:
        step = compiled.step
        self._scan: Scan = compiled.scan(steps, every)
        arrays, batches = self._scan.read(inputs)
        self.batch: int | None = arguments.common_batch(self._scan.signature, batches)
        lead = () if self.batch is None else (self.batch,)
        rows, outputs = steps // every + 1, compiled.outputs
        self.records = {n: (*lead, rows, *outputs[n]) for n in step.recorded}
        self.size: int = sum(map(math.prod, self.records.values()))
        self.size *= self._scan.signature.element.itemsize
        self.finals = {n: (*lead, *outputs[n]) for n in step.carry.values()}
        self._copied: list[tuple[int, Array]] = []
        """inputs that are copied, and where to"""
        self._read: list[int] = []
        """inputs that are read where they are"""
        self._calls = MovableCalls([], [])
        if self.batch != 0:
            self._calls = self._prepared(compiled, inputs, arrays, batches)
        self.is_small: bool = sum(x.nbytes for _, x in self._copied) <= MOST_COPIED
        """whether it may be kept for later runs"""

    def _prepared(
        self,
        compiled: CompiledStep,
        values: Sequence[Any],
        arrays: Sequence[Array],
        batches: Sequence[int | None],
    ) -> MovableCalls:
        """Return the calls, for models of the arrays that each run has."""
        scan, kind = self._scan, self._scan.signature.element
        inputs: list[Timed] = []
        for k, (array, batch) in enumerate(zip(arrays, batches, strict=True)):
            is_read = array is values[k] and array.flags.aligned
            if is_table(scan.signature.input_names[k]):
                is_read = is_read and array.flags.c_contiguous
            model = array_like(array) if is_read else np.array(array, order="C")
            has_time = scan.has_time(k, array.shape)
            inputs.append(scan.timed(model, batch is not None, has_time))
            if is_read and inputs[k].array is model:
                self._read.append(k)
            else:
                self._copied.append((k, inputs[k].array))
        records = {n: np.empty(s, kind) for n, s in self.records.items()}
        finals = {n: np.empty(s, kind) for n, s in self.finals.items()}
        calls = [self._call(scan, inputs, records, slice(0, -1), finals)]
        if compiled.step.options.record:
            calls.append(self._last_call(compiled, inputs, records, finals))
        models = [inputs[k].array for k in self._read]
        models += [*records.values(), *finals.values()]
        return MovableCalls(calls, models)

    def _call(
        self,
        scan: Scan,
        inputs: Sequence[Timed],
        records: Mapping[str, Array],
        rows: slice,
        finals: Mapping[str, Array],
    ) -> LoopCall:
        """Return the call of a time loop that writes some of the rows."""
        is_batch, names = self.batch is not None, scan.signature.output_names
        body = (slice(None),) * is_batch
        targets = {n: a[(*body, rows)] for n, a in records.items()}
        return scan.call(
            inputs,
            [scan.timed(targets[names[k]], is_batch, True) for k in scan.plan.records],
            [scan.timed(finals[names[k]], is_batch, False) for k in scan.finals],
            self.batch,
        )

    def _last_call(
        self,
        compiled: CompiledStep,
        inputs: Sequence[Timed],
        records: Mapping[str, Array],
        finals: Mapping[str, Array],
    ) -> LoopCall:
        """Return the call that records the last row, with inputs of the last step."""
        step, here = compiled.step, list(inputs)
        for k, name in enumerate(step.shapes):
            if name in step.carry:
                last = finals[step.carry[name]]
                here[k] = self._scan.timed(last, self.batch is not None, False)
            elif here[k].pace:
                axis = here[k].array.ndim - len(step.shapes[name]) - 1
                row = here[k].array[(*(slice(None),) * axis, -1)]
                here[k] = here[k]._replace(array=row, pace=0)
        unused = {n: np.empty_like(x) for n, x in finals.items()}
        one = compiled.scan(1, 1)
        return self._call(one, here, records, slice(-1, None), unused)

    def run(
        self,
        inputs: Sequence[Any],
        records: Mapping[str, Array],
        finals: Mapping[str, Array],
    ) -> None:
        """Run all steps, and write the results into new arrays."""
        if self.batch == 0:
            return
        for k, slot in self._copied:
            slot[...] = inputs[k]
        arrays = [inputs[k] for k in self._read]
        self._calls.run(
            [*arrays, *records.values(), *finals.values()], self._scan.progress
        )

    def run_into(
        self,
        inputs: Sequence[Any],
        records: dict[str, Array],
        finals: Mapping[str, Array],
    ) -> None:
        """Run all steps, and write the results into arrays of a user."""
        written = list(records.values())
        is_dense = all(a.flags.carray for a in written)
        pairs = itertools.combinations(written, 2)
        if not is_dense or any(np.may_share_memory(a, b) for a, b in pairs):
            lead = int(self.batch is not None)
            cores = tuple((name, shape[lead:]) for name, shape in self.records.items())
            results = replace(self._scan.signature, outputs=cores)
            arguments.read_out(results, records, self.batch)
        # Steps read their inputs when earlier ones have been written.
        apart = list(inputs)
        for k in self._read:
            if any(np.may_share_memory(inputs[k], a) for a in written):
                apart[k] = array_like(inputs[k])
                apart[k][...] = inputs[k]
        if is_dense:
            self.run(apart, records, finals)
            return
        dense = {
            n: a if a.flags.carray else np.empty(a.shape, a.dtype)
            for n, a in records.items()
        }
        self.run(apart, dense, finals)
        for name, array in records.items():
            if dense[name] is not array:
                array[...] = dense[name]
