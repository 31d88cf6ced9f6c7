"""Time loops in native code: `scan` runs a compiled step many times."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ramidyn.backend.calls import arguments
from ramidyn.backend.calls.arguments import Array, Shape, Signature
from ramidyn.backend.calls.scan_call import (
    LoopCall,
    Progress,
    Scanned,
    Scanner,
    Timed,
    Times,
    timed_view,
)
from ramidyn.backend.runtime.memory_layout import Words, is_table, libm_table
from ramidyn.errors import ArgumentError, ShapeError, TraceError
from ramidyn.function import (
    Function,
    ProgressLine,
    as_function,
    compilation_of,
    native_kernel,
    signature_of,
)

if TYPE_CHECKING:
    from ramidyn.simulation.scan_derivatives import ScanJvp, ScanVjp

SMALL = 2**26
"""Bytes of results that always fit; asking for the memory takes longer than a call."""


def scan(
    step: Function,
    *,
    carry: Sequence[str] | Mapping[str, str],
    length: int,
    per_step: Sequence[str] = (),
    record: Sequence[str] | None = None,
    every: int = 1,
) -> Scan:
    """Return a function that runs a compiled step many times, in native code.

    Outputs of one step are inputs of the next, as ``carry`` says. One call runs all
    steps, of one state or of a batch; results equal those of calling the step again
    and again. The result has the outputs of the step: recorded ones with an axis for
    time behind the batch axis, the others after the last step.

    Args:
        step: from `kernel` or `compile`; its dtype, threads and layout apply.
        carry: inputs that are outputs of the step before: names that are both, or
            ``{"x": "x_next"}`` for inputs whose outputs have other names.
        length: number of steps.
        per_step: inputs with a value for each step: (length, ...) or (batch, length,
            ...); 1 in place of length repeats a value.
        record: outputs to record; by default all.
        every: record after every so many steps; length must be a multiple of it.

    >>> import numpy as np, ramidyn
    >>> fall = ramidyn.kernel(
    ...     lambda z, v, dt: {"z": z + dt * v, "v": v - dt * 9.81},
    ...     {"z": (), "v": (), "dt": ()},
    ...     name="fall",
    ... )
    >>> run = ramidyn.scan(fall, carry=("z", "v"), length=4, record=("z",))
    >>> run(1.0, 0.0, 0.1).z.round(4)
    array([1.    , 0.9019, 0.7057, 0.4114])
    """
    step = as_function(step) or step
    return Scan(step, plan_of(step, carry, length, per_step, record, every))


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What a scan does with the inputs and outputs of its step."""

    carry: tuple[tuple[int, int], ...]
    """pairs of an input and the output that it is in the next step"""
    per_step: frozenset[int]
    records: tuple[int, ...]
    times: Times
    """which steps there are, and which of them are recorded"""

    def finals(self, outputs: int) -> list[int]:
        """Return the outputs of the last step that are kept: carried ones first."""
        carried = [o for _, o in self.carry]
        known = {*carried, *self.records}
        return [*carried, *(o for o in range(outputs) if o not in known)]


@final
class Scan:
    """A compiled step that runs many times in one call; see `ramidyn.scan`."""

    def __init__(self, step: Function, plan: Plan) -> None:
        self.step = step
        self.plan = plan
        self.signature: Signature = signature_of(step)
        outputs = self.signature.outputs
        self.finals: list[int] = plan.finals(len(outputs))
        rows = plan.times.rows
        self.results: Signature = replace(
            self.signature,
            outputs=tuple(
                (name, (rows, *core) if k in plan.records else core)
                for k, (name, core) in enumerate(outputs)
            ),
        )
        self._scanner = Scanner(
            self.signature,
            partial(native_kernel, compilation_of(step)),
            libm_table(),
            plan.carry,
            plan.records,
            self.finals,
        )

    @property
    def length(self) -> int:
        """The number of steps."""
        return self.plan.times.length

    def __repr__(self) -> str:
        return f"{self.length:,} steps of {self.step!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Scan, (self.step, self.plan)

    def __call__(self, *values: Any, out: Any = None, **named: Any) -> Any:
        """Run all steps from the values of the inputs, by position or by name.

        ``out`` has the arrays to write to, or is a function of the batch (None for one
        state) that returns them.
        """
        given = (*values, *named.values())
        *bound, _ = arguments.bind(self.signature, given, tuple(named))
        arrays, batches = self.read(bound)
        batch = arguments.common_batch(self.signature, batches)
        if callable(out):
            out = out(batch)
        if out is None:
            result: Any = self.allocated(batch)
            is_one = len(self.results.outputs) == 1
            outputs: list[Array] = [result] if is_one else list(result)
        else:
            result, outputs = out, arguments.read_out(self.results, out, batch)
        if batch != 0:
            # Steps read their inputs when earlier ones have been written.
            given_out = [] if out is None else outputs
            inputs = [
                self.timed(
                    np.array(array)
                    if array.ndim
                    and any(arguments.overlaps(array, one) for one in given_out)
                    else self._dense(k, array),
                    own is not None,
                    self.has_time(k, array.shape),
                )
                for k, (array, own) in enumerate(zip(arrays, batches, strict=True))
            ]
            self._run(inputs, outputs, batch)
        return result

    def call(
        self,
        inputs: Sequence[Timed],
        records: Sequence[Timed],
        finals: Sequence[Timed],
        batch: int | None,
    ) -> LoopCall:
        """Return the native call of all steps on some arrays."""
        return self._scanner.call(inputs, records, finals, batch, self.plan.times)

    def progress(self) -> Progress:
        """Return what shows how far a run is, if it takes long."""
        return ProgressLine(f"running {self.length:,} steps", "%").percent

    def native_loop(self) -> tuple[Scanned, Words]:
        """Return the kernel for batches and the block of all steps, for native callers.

        Its arrays are the inputs, the records and the last values of `Plan.finals`.
        """
        scanned = self._scanner.scan_kernel("batch")
        return scanned, self._scanner.loop_block(scanned, self.plan.times)

    def of(self, step: Function, plan: Plan) -> Scan:
        """Return the scan of another step."""
        return Scan(step, plan)

    def read(self, values: Sequence[object]) -> tuple[list[Array], list[int | None]]:
        """Return the inputs as arrays, and the batch of each."""
        arrays = [self._array(k, value) for k, value in enumerate(values)]
        return arrays, [self.batch_of(k, a.shape) for k, a in enumerate(arrays)]

    def jvp(self, wrt: str | Sequence[str]) -> ScanJvp:
        """Return the scan with the change of its outputs for a change of inputs.

        The result takes an additional input ``<name>_tangent`` for each name in
        ``wrt``, and has an additional output ``<name>_tangent`` for each output.

        Args:
            wrt: inputs that change: carried ones in their first value.

        >>> import numpy as np, ramidyn
        >>> double = ramidyn.kernel(lambda x, a: {"x": a * x}, {"x": (), "a": ()})
        >>> run = ramidyn.scan(double, carry=["x"], length=3, record=())
        >>> run.jvp("a")(1.0, 2.0, a_tangent=1.0)
        Outputs(x=array(8.), x_tangent=array(12.))
        """
        from ramidyn.simulation.scan_derivatives import ScanJvp  # noqa: PLC0415  not from the cache

        return ScanJvp(self, wrt)

    def vjp(
        self, wrt: str | Sequence[str], of: str | Sequence[str] | None = None
    ) -> ScanVjp:
        """Return the scan with the gradient of a weighted sum of its outputs.

        The result takes an additional input ``<name>_cotangent`` for each name in
        ``of``, the weights in the shape of that output, and has an additional output
        ``<name>_cotangent`` for each name in ``wrt``, the gradient. With a batch, each
        state has its own gradient, also by inputs that all states share.

        Steps run backwards in native code, from the values that the forward pass kept.
        It takes some states of a batch at a time. If the values of 64 states take more
        than 256 MB, it keeps some steps, and computes the others once more.

        Args:
            wrt: inputs: carried ones by their first value, those per step by the value
                of each step, or of all steps if they are given so.
            of: outputs with weights; by default all. Others do not count.

        >>> import numpy as np, ramidyn
        >>> double = ramidyn.kernel(lambda x, a: {"x": a * x}, {"x": (), "a": ()})
        >>> run = ramidyn.scan(double, carry=["x"], length=3, record=())
        >>> run.vjp(["x", "a"])(1.0, 2.0, x_cotangent=1.0)
        Outputs(x=array(8.), x_cotangent=array(8.), a_cotangent=array(12.))
        """
        from ramidyn.simulation.scan_derivatives import ScanVjp  # noqa: PLC0415  not from the cache

        return ScanVjp(self, wrt, of)

    def _array(self, index: int, value: object) -> Array:
        """Return an input as an array of numbers."""
        name, core = self.signature.inputs[index]
        if type(value) is np.ndarray and value.dtype is self.signature.element:
            return value  # in any order: time may run backwards
        array = arguments.to_array(self.signature, name, core, value)
        if array.dtype == object:
            raise TraceError(
                f"{name} is an array of symbols; a scan takes numbers. Call "
                f"{self.signature.name!r} in a Python loop instead, which is unrolled"
            )
        return array

    def _dense(self, index: int, array: Array) -> Array:
        """Return an input; tables are read where they are, entry beside entry."""
        is_far = is_table(self.signature.inputs[index][0])
        return np.ascontiguousarray(array) if is_far else array

    def has_time(self, index: int, shape: Shape) -> bool:
        """Say whether an input has a time axis."""
        core = self.signature.inputs[index][1]
        return index in self.plan.per_step and len(shape) > len(core)

    def batch_of(self, index: int, shape: Shape) -> int | None:
        """Return the batch of an input, or None; raise ShapeError for others."""
        signature, (name, core) = self.signature, self.signature.inputs[index]
        if not self.has_time(index, shape):
            return arguments.batch_of(signature, name, core, shape)
        batch, rest, first = None, shape, signature.layout == "batch_first"
        if len(shape) == len(core) + 2:
            batch, rest = (shape[0], shape[1:]) if first else (shape[-1], shape[:-1])
        if rest in ((self.length, *core), (1, *core)):
            return batch
        full = ", ".join(map(str, (self.length, *core)))
        alone = f"({full})" if core else f"({full},)"
        batched = f"(batch, {full})" if first else f"({full}, batch)"
        raise ShapeError(
            f"{name} has shape {shape}; {self.length} steps of {signature.name!r} "
            f"need {alone}, {batched}, or {core} for all steps"
        )

    def timed(self, array: Array, is_batch: bool, has_time: bool) -> Timed:
        """Return an array as the time loop reads it, or a copy if it cannot."""
        found = timed_view(self.signature, array, is_batch, has_time)
        if found is None or not array.flags.aligned:
            copy = np.array(array, order="C")
            found = timed_view(self.signature, copy, is_batch, has_time)
            assert found is not None
        return found

    def allocated(self, batch: int | None) -> Any:
        """Return new arrays for the results, if they fit in memory."""
        shapes = [self.results.shape(core, batch) for _, core in self.results.outputs]
        size = sum(math.prod(shape) for shape in shapes)
        check_fits(self.signature.name, size * self.signature.element.itemsize)
        return arguments.allocator(self.results)(-1 if batch is None else batch)

    def _run(
        self, inputs: list[Timed], outputs: list[Array], batch: int | None
    ) -> None:
        """Run all steps; outputs that cannot be written as they are get copies."""
        records, is_batch = self.plan.records, batch is not None
        targets = [
            self.timed(array, is_batch, k in records) for k, array in enumerate(outputs)
        ]
        finals: list[Timed] = []
        for k in self.finals:
            if k not in records:
                finals.append(targets[k])
                continue
            shape = self.signature.shape(self.signature.outputs[k][1], batch)
            last = np.empty(shape, self.signature.element)
            finals.append(self.timed(last, is_batch, has_time=False))
        recorded = [targets[k] for k in records]
        try:
            self.call(inputs, recorded, finals, batch).run(self.progress)
        finally:  # interrupted or not, what is done is written
            for array, target in zip(outputs, targets, strict=True):
                if target.array is not array:
                    array[...] = target.array


def plan_of(
    step: object,
    carry: Sequence[str] | Mapping[str, str],
    length: object,
    per_step: Sequence[str] = (),
    record: Sequence[str] | None = None,
    every: object = 1,
    *,
    from_first: bool = False,
) -> Plan:
    """Return the plan of a scan; an error says what does not fit the step.

    The first of ``every`` steps is recorded with ``from_first``, else the last.
    """
    if not isinstance(step, Function):
        raise ArgumentError(
            f"step is {step!r}; expected a compiled function, such as ramidyn.kernel "
            "returns"
        )
    signature = signature_of(step)
    inputs, outputs = dict(signature.inputs), dict(signature.outputs)
    if isinstance(carry, str) or isinstance(per_step, str) or isinstance(record, str):
        raise ArgumentError(
            "carry, per_step and record are sequences of names, such as ('q', 'qd')"
        )
    pairs = dict(carry) if isinstance(carry, Mapping) else {n: n for n in carry}
    listed_inputs = [("carry", n) for n in pairs] + [("per_step", n) for n in per_step]
    for option, name in listed_inputs:
        if name not in inputs:
            raise ArgumentError(
                f"{option} has {name!r}, which is not an input of {signature.name!r}; "
                f"inputs: {', '.join(inputs)}"
            )
    if record is None:
        record = tuple(outputs)
    asked = [("carry", n) for n in pairs.values()] + [("record", n) for n in record]
    for option, name in asked:
        if name not in outputs:
            raise ArgumentError(
                f"{option} has {name!r}, which is not an output of {signature.name!r}; "
                f"outputs: {', '.join(outputs)}"
            )
    for name, source in pairs.items():
        if inputs[name] != outputs[source]:
            raise ArgumentError(
                f"carry: input {name!r} of {signature.name!r} has shape "
                f"{inputs[name]}, output {source!r} {outputs[source]}"
            )
        if name in per_step:
            raise ArgumentError(f"{name!r} is in carry and in per_step")
    for option, value in (("length", length), ("every", every)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ArgumentError(f"{option} is {value!r}; expected 1 or more")
    assert isinstance(length, int) and isinstance(every, int)  # noqa: PT018
    if length % every:
        raise ArgumentError(
            f"length is {length}; expected a multiple of every, which is {every}"
        )
    names, results = list(inputs), list(outputs)
    return Plan(
        tuple((names.index(n), results.index(source)) for n, source in pairs.items()),
        frozenset(names.index(n) for n in per_step),
        tuple(k for k, n in enumerate(results) if n in record),
        Times(length, every, 0 if from_first else every - 1),
    )


def check_fits(name: str, size: int) -> None:
    """Raise ArgumentError if results of so many bytes do not fit in memory."""
    if size < SMALL:
        return
    free = available_memory()
    if size > free:
        raise ArgumentError(
            f"the results of {name!r} take {size / 1e9:,.1f} GB, and {free / 1e9:,.1f} "
            "GB of memory are available; record fewer steps with every=, or fewer "
            "outputs with record="
        )


def available_memory() -> int:
    """Return the bytes of memory that can be had, as far as is known."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize
