"""The pass of a time loop and back: the tape, and the steps in reverse.

States of a batch are taken some at a time, so that their tape stays in the processor's
cache. If the tape is too long even so, the forward pass keeps the beginnings of
segments, and runs them once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from ramidyn.backend.calls.arguments import Array, Signature
from ramidyn.backend.calls.result_memory import empty
from ramidyn.backend.calls.scan_call import LoopCall, Scanner, Timed, Times
from ramidyn.backend.runtime.memory_layout import LARGE, libm_table
from ramidyn.function import (
    CallOptions,
    Function,
    compilation_of,
    native_kernel,
    signature_of,
)
from ramidyn.kernels import program_kernel
from ramidyn.symbolic.derivatives import SolutionNodes
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.reverse_step import ReverseStep, reverse_step

if TYPE_CHECKING:
    from ramidyn.simulation.scan import Scan

CACHED = 2**23
"""bytes of tape of the states that run together: about what fits in caches"""
MOST = 2**28
"""bytes of tape at which it is cut into segments"""
SMALL = 2**16
"""bytes of tape that need no memory of their own"""
LEAST = 64
"""states that run together at least: fewer do not fill the tiles of a group"""


class ArrayRows(NamedTuple):
    """An array, of which states and steps are taken."""

    signature: Signature
    array: Array
    batch: int | None
    has_time: bool

    @property
    def time_axis(self) -> int:
        """The axis of the steps, if there is one."""
        return int(self.batch is not None and self.signature.layout == "batch_first")

    @property
    def batch_axis(self) -> int:
        """The axis of the states, if there is one."""
        return 0 if self.signature.layout == "batch_first" else self.array.ndim - 1

    def is_timed(self, length: int) -> bool:
        """Say whether there is a value for each step."""
        return self.has_time and self.array.shape[self.time_axis] == length

    def repeated(self, batch: int | None) -> Array:
        """Return the array with a batch axis, if there is a batch."""
        if batch is None or self.batch == batch:
            return self.array
        is_first, array = self.signature.layout == "batch_first", self.array
        if self.batch is None:
            array = np.expand_dims(array, 0 if is_first else -1)
        shape = array.shape
        full = (batch, *shape[1:]) if is_first else (*shape[:-1], batch)
        return np.broadcast_to(array, full)

    def states(self, first: int, count: int) -> ArrayRows:
        """Return some states, or the same for all."""
        if self.batch is None or self.array.shape[self.batch_axis] in (1, count):
            return self
        some = at_axis(self.batch_axis, slice(first, first + count))
        return self._replace(array=self.array[some], batch=count)

    def steps(self, rows: slice) -> ArrayRows:
        """Return some steps, or the array itself if it has no others."""
        length = self.array.shape[self.time_axis] if self.has_time else 1
        if length == 1 or rows == slice(0, length):
            return self
        return self._replace(array=self.array[at_axis(self.time_axis, rows)])

    def backwards(self) -> ArrayRows:
        """Return the steps in reverse."""
        return self.steps(slice(None, None, -1))

    def row(self, index: int) -> Array:
        """Return one step, never a scalar."""
        return self.array[(*at_axis(self.time_axis, index), ...)]


def at_axis(axis: int, index: int | slice) -> tuple[int | slice, ...]:
    """Return an index into one axis."""
    return (*(slice(None),) * axis, index)


@final
class BackwardPass:
    """The forward pass with its tape, and the steps in reverse."""

    def __init__(
        self,
        scan: Scan,
        wrt: tuple[str, ...],
        of: tuple[str, ...],
        timed: frozenset[str],
        program: Program,
        solutions: Sequence[SolutionNodes],
    ) -> None:
        self.scan = scan
        self.wrt = wrt
        signature, plan = scan.signature, scan.plan
        self.names = signature.input_names
        outputs = signature.output_names
        self.carry = {self.names[i]: outputs[o] for i, o in plan.carry}
        records = [outputs[k] for k in plan.records]
        last = [n for n in of if n not in records and n in self.carry.values()]
        self.step: ReverseStep = reverse_step(
            program,
            self.carry,
            timed,
            wrt,
            [n for n in of if n not in last],
            last,
            solutions,
        )
        self.ends = {  # weights after the last step, each in one cotangent
            name: next((n for n in self.step.carried if self.carry[n] == name), None)
            for name in last
        }
        self.taped = [n for n in self.step.values if n in self.carry]
        self.cores = dict(signature.inputs)
        own = [outputs.index(self.carry[n]) for n in self.taped]
        kernel = partial(native_kernel, compilation_of(scan.step))
        carried = [o for _, o in plan.carry]
        make = partial(Scanner, signature, kernel, libm_table(), plan.carry)
        self.taped_scanner: Scanner = make(own, carried)
        self.kept: Scanner = make(carried, carried)
        self.merged_scanner: Scanner = make([*own, *plan.records], scan.finals)
        options = replace(options_of(scan.step), defaults=())
        self.function: Function = program_kernel(self.step.program, options)
        self.signature: Signature = signature_of(self.function)
        n, kept = len(self.step.values), len(self.step.carried)
        sums = len(self.step.summed)
        first = n + kept + len(self.step.weighted)
        back = [(n + k, k) for k in range(kept)]
        stacked = range(kept, kept + len(self.step.stacked))
        back += [(first + k, stacked.stop + k) for k in range(sums)]
        self.scanner = Scanner(
            self.signature,
            partial(native_kernel, compilation_of(self.function)),
            libm_table(),
            back,
            list(stacked),
            [o for _, o in back],
        )

    def gradients(
        self,
        inputs: Mapping[str, ArrayRows],
        weights: Mapping[str, ArrayRows],
        outputs: list[Array],
        batch: int | None,
    ) -> list[Array]:
        """Return the gradients, and write the outputs of the scan."""
        signature, times = self.scan.signature, self.scan.plan.times
        length, kind = times.length, signature.element
        size = sum(math.prod(self.cores[n]) for n in self.taped) * kind.itemsize
        threads = signature.threads
        row = max(1, size) * min(batch or 1, LEAST * threads)
        segment = length
        if row * length > MOST:
            segment = min(length, max(MOST // row, math.isqrt(length) + 1))
        fits = CACHED * threads // (max(1, size) * (segment + 1))
        chunk = max(1, fits // LEAST) * LEAST
        found = {
            n: np.zeros(signature.shape(self.cores[n], batch), kind)
            for n in (*self.step.carried, *self.step.summed)
        } | {
            n: empty(signature.shape((length, *self.cores[n]), batch), kind)
            for n in self.step.stacked
        }
        is_merged = times.every == 1 and segment == length
        if not is_merged:
            first, *others = (inputs[n] for n in self.names)  # weights may be a batch
            arrays = [first.repeated(batch), *(x.array for x in others)]
            self.scan(*arrays, out=outputs)
        states = 1 if batch is None else batch
        for first in range(0, states, chunk):
            count = min(chunk, states - first)
            part = partial(ArrayRows.states, first=first, count=count)
            own = None if batch is None else count
            StateChunk(
                self,
                {n: part(x) for n, x in inputs.items()},
                {n: part(x) for n, x in weights.items()},
                [part(ArrayRows(signature, x, batch, False)).array for x in outputs],
                {
                    n: part(ArrayRows(signature, x, batch, n in self.step.stacked))
                    for n, x in found.items()
                },
                own,
            ).run(segment, is_merged)
        return [self.gradient(n, inputs[n], found[n], batch) for n in self.wrt]

    def gradient(
        self, name: str, given: ArrayRows, found: Array, batch: int | None
    ) -> Array:
        """Return the gradient of an input, in its shape for each state."""
        if name in self.step.stacked or not given.has_time:
            return found
        rows = ArrayRows(given.signature, found, batch, has_time=True)
        return np.expand_dims(found, rows.time_axis)


@final
@dataclass
class StateChunk:
    """Some states of a batch: all their steps, forward and back."""

    owner: BackwardPass
    inputs: dict[str, ArrayRows]
    weights: dict[str, ArrayRows]
    outputs: list[Array]
    found: dict[str, ArrayRows]
    """gradients; those of what is carried are at the step that is reached"""
    batch: int | None

    def run(self, segment: int, is_merged: bool) -> None:
        """Add up all gradients, and write the outputs if that is merged."""
        owner = self.owner
        for name, carried in owner.ends.items():
            if carried is not None:
                self.found[carried].array[...] += self._aligned(self.weights[name])
        length = owner.scan.length
        tape = self.tape(owner.taped, segment + 1)
        starts = list(range(0, length, segment))
        kept = self._checkpoints(segment, len(starts) - 1)
        for k, first in reversed(list(enumerate(starts))):
            steps = slice(first, min(length, first + segment))
            now = {n: x.steps(steps) for n, x in self.inputs.items()}
            if k:
                now |= {
                    n: x._replace(array=x.row(k - 1), has_time=False)
                    for n, x in kept.items()
                }
            self._forward(now, steps, tape, is_merged)
            self.back_call(now, steps, tape).run()

    def tape(self, names: Iterable[str], rows: int) -> dict[str, ArrayRows]:
        """Return memory for what is carried, states side by side."""
        signature = self.owner.scan.signature
        states = () if self.batch is None else (self.batch,)
        shapes = {n: (rows, *self.owner.cores[n], *states) for n in names}
        size = sum(map(math.prod, shapes.values()))
        if size * signature.element.itemsize > SMALL:  # memory that is used again
            size = max(size, LARGE // signature.element.itemsize)
        memory, tape = empty(size, signature.element), dict[str, ArrayRows]()
        for name, shape in shapes.items():
            count = math.prod(shape)
            array, memory = memory[:count].reshape(shape), memory[count:]
            if states and signature.layout == "batch_first":
                array = np.moveaxis(array, -1, 0)
            tape[name] = ArrayRows(signature, array, self.batch, has_time=True)
        return tape

    def _aligned(self, rows: ArrayRows) -> Array:
        """Return an array without time that broadcasts to one of this batch."""
        is_last = rows.signature.layout == "batch_last"
        if is_last and rows.batch is None and self.batch is not None:
            return rows.array[..., None]
        return rows.array

    def _timed(self, rows: ArrayRows) -> Timed:
        is_batch = rows.batch is not None
        return self.owner.scan.timed(rows.array, is_batch, rows.has_time)

    def _scratch(self, output: int) -> Timed:
        """Return memory for an output after the last step."""
        signature = self.owner.scan.signature
        shape = signature.shape(signature.outputs[output][1], self.batch)
        last = np.empty(shape, signature.element)
        return self._timed(ArrayRows(signature, last, self.batch, has_time=False))

    def _checkpoints(self, segment: int, count: int) -> dict[str, ArrayRows]:
        """Return what is carried into all segments but the first."""
        owner = self.owner
        if count == 0:
            return {}
        kept = self.tape(owner.carry, count)
        owner.kept.run(
            [self._timed(x) for x in self.inputs.values()],
            [self._timed(x) for x in kept.values()],
            [self._scratch(o) for _, o in owner.scan.plan.carry],
            self.batch,
            Times(segment * count, segment, segment - 1),
        )
        return kept

    def _forward(
        self,
        inputs: Mapping[str, ArrayRows],
        steps: slice,
        tape: Mapping[str, ArrayRows],
        is_merged: bool,
    ) -> None:
        """Run some steps, and keep what they carry."""
        for name, rows in tape.items():
            rows.row(0)[...] = self._aligned(inputs[name])
        length = steps.stop - steps.start
        call, targets = self.forward_call(inputs, length, tape, is_merged)
        call.run()
        for k, target in targets.items():
            if target.array is not self.outputs[k]:
                self.outputs[k][...] = target.array

    def forward_call(
        self,
        inputs: Mapping[str, ArrayRows],
        length: int,
        tape: Mapping[str, ArrayRows],
        is_merged: bool,
    ) -> tuple[LoopCall, dict[int, Timed]]:
        """Return the call of some steps, and where the outputs of the scan go."""
        owner, plan = self.owner, self.owner.scan.plan
        targets: dict[int, Timed] = {}
        records = [
            self._timed(rows.steps(slice(1, length + 1))) for rows in tape.values()
        ]
        if not is_merged:
            finals = [self._scratch(o) for _, o in plan.carry]
            scanner = owner.taped_scanner
        else:
            scanner, signature = owner.merged_scanner, owner.scan.signature
            targets = {
                k: self._timed(ArrayRows(signature, x, self.batch, k in plan.records))
                for k, x in enumerate(self.outputs)
            }
            records += [targets[k] for k in plan.records]
            finals = [
                self._scratch(k) if k in plan.records else targets[k]
                for k in owner.scan.finals
            ]
        given = [self._timed(x) for x in inputs.values()]
        call = scanner.call(given, records, finals, self.batch, Times(length, 1, 0))
        return call, targets

    def back_call(
        self,
        inputs: Mapping[str, ArrayRows],
        steps: slice,
        tape: Mapping[str, ArrayRows],
    ) -> LoopCall:
        """Return the call of some steps in reverse."""
        step = self.owner.step
        length = steps.stop - steps.start
        values = {**inputs, **{n: x.steps(slice(0, length)) for n, x in tape.items()}}
        given = [values[n].backwards() for n in step.values]
        carried = [self.found[n] for n in step.carried]
        summed = [self.found[n] for n in step.summed]
        given += carried
        given += [self._weights(n, steps).backwards() for n in step.weighted]
        given += summed
        stacked = [self.found[n].steps(steps).backwards() for n in step.stacked]
        return self.owner.scanner.call(
            [self._timed(x) for x in given],
            [self._timed(x) for x in stacked],
            [self._timed(x) for x in (*carried, *summed)],
            self.batch,
            Times(length, 1, 0),
        )

    def _weights(self, name: str, steps: slice) -> ArrayRows:
        """Return the weights of an output in some steps: zeros where it is not kept."""
        scan, given = self.owner.scan, self.weights[name]
        times = scan.plan.times
        if given.has_time and times.every == 1:
            return given.steps(steps)
        length = steps.stop - steps.start
        core = dict(scan.signature.outputs)[name]
        shape = scan.signature.shape((length, *core), given.batch)
        rows = np.zeros(shape, scan.signature.element)
        dense = ArrayRows(scan.signature, rows, given.batch, has_time=True)
        if given.has_time:
            first, end = times.row(steps.start), times.row(steps.stop)
            start = times.first + first * times.every - steps.start
            if first < end:
                at = at_axis(dense.time_axis, slice(start, None, times.every))
                rows[at] = given.array[at_axis(given.time_axis, slice(first, end))]
        elif steps.stop == scan.length:
            dense.row(length - 1)[...] = given.array
        return dense


def options_of(step: Function) -> CallOptions:
    """Return how a step is called."""
    own = compilation_of(step).options
    return CallOptions(own.dtype, own.lanes, own.threads, own.layout, own.defaults)
