"""Run a kernel step by step in native code: results of one step feed the next."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ramidyn.backend.calls.arguments import Array, Signature, address, element_step
from ramidyn.backend.calls.runnable import (
    Pace,
    chunk_of,
    kernel_block,
    ports_of,
    run_all,
)
from ramidyn.backend.runtime.instructions import parallel_moves
from ramidyn.backend.runtime.memory_layout import (
    IS_TABLE,
    Kernel,
    TimeLoop,
    Words,
    is_table,
    slots_of,
    words,
)
from ramidyn.concurrency import Lock

if TYPE_CHECKING:
    from ramidyn.backend.llvm.build import NativeKernel

Kind = Literal["single", "batch"]
Run = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
)


class Timed(NamedTuple):
    """An array: bytes between its elements, its states and its steps."""

    array: Array
    step: int
    stride: int
    pace: int

    def words(self, first: int, row: int) -> tuple[int, int, int, int]:
        """Return the view of states from ``first`` on and steps from ``row`` on."""
        data = address(self.array) + first * self.stride + row * self.pace
        return data, self.step, self.stride, self.pace


def timed_view(
    signature: Signature, array: Array, batched: bool, has_time: bool
) -> Timed | None:
    """Return an array as the driver sees it, or None if its core has no single step."""
    shape, strides, stride, pace = array.shape, array.strides, 0, 0
    if batched:
        axis = 0 if signature.layout == "batch_first" else array.ndim - 1
        stride = strides[axis] if shape[axis] != 1 else 0
        shape = shape[:axis] + shape[axis + 1 :]
        strides = strides[:axis] + strides[axis + 1 :]
    if has_time:
        pace = strides[0] if shape[0] != 1 else 0
        shape, strides = shape[1:], strides[1:]
    step = element_step(shape, strides, array.itemsize)
    return None if step is None else Timed(array, step, stride, pace)


@dataclass(frozen=True)
class Times:
    """The steps of a run, and which of them are recorded.

    Attributes:
        length: number of steps.
        every: steps from one that is recorded to the next.
        first: the first step that is recorded.
    """

    length: int
    every: int
    first: int

    def row(self, step: int) -> int:
        """Return how many rows are recorded before a step."""
        return max(0, -(-(step - self.first) // self.every))

    @property
    def rows(self) -> int:
        """How many rows are recorded."""
        return self.row(self.length)


@dataclass(frozen=True)
class Scanned:
    """A kernel with its time loop, ready to run."""

    kernel: NativeKernel
    run: Callable[[int, int, int, int], int]
    block: Words
    moves: Any
    pace: Pace
    keepalive: object

    @property
    def least(self) -> int:
        """States of a group."""
        return self.kernel.lanes * self.block[Kernel.TILES]


class Scanner:
    """What runs the steps of one kernel.

    Args:
        signature: of a step.
        kernel_for: makes its kernel, for one state or for batches.
        libm: a ctypes array of C functions.
        carry: pairs of an input and the output that it is in the next step.
        records: outputs that are recorded.
        finals: outputs of which the last value is wanted: first those of ``carry``.
    """

    def __init__(
        self,
        signature: Signature,
        kernel_for: Callable[[Kind], NativeKernel],
        libm: Any,
        carry: Sequence[tuple[int, int]],
        records: Sequence[int],
        finals: Sequence[int],
    ) -> None:
        self._carry = carry
        self._outputs = [*records, *finals]
        self._n_records = len(records)
        outputs = tuple(signature.outputs[k] for k in self._outputs)
        self._step = signature
        self._signature = replace(signature, outputs=outputs)
        self._kernel_for = kernel_for
        self._libm = libm
        self._loaded: dict[Kind, Scanned] = {}
        self._lock = Lock()

    def scan_kernel(self, kind: Kind) -> Scanned:
        """Return the kernel with its time loop, compiled by the first that asks."""
        with self._lock:
            if kind not in self._loaded:
                self._loaded[kind] = self._load(kind)
            return self._loaded[kind]

    def _load(self, kind: Kind) -> Scanned:
        from ramidyn.backend.runtime.scan import scan_driver  # noqa: PLC0415 (llvmlite only where it is used)

        kernel, signature = self._kernel_for(kind), self._signature
        slots = _slots(self._step, kernel.outputs)
        inputs, outputs = slots[: len(signature.inputs)], slots[len(signature.inputs) :]
        driven = replace(
            kernel, outputs=tuple(k for i in self._outputs for k in outputs[i])
        )
        pairs = [
            pair
            for i, o in self._carry
            for pair in zip(outputs[o], inputs[i], strict=True)
        ]
        moved, scratch = parallel_moves(pairs, kernel.slots)
        size = kernel.lanes * np.dtype(signature.dtype).itemsize
        offsets = [k * size for pair in moved for k in pair]
        moves = (ctypes.c_int32 * max(1, len(offsets)))(*offsets)
        run = scan_driver(signature.dtype, kernel.lanes)
        shapes = [shape for _, shape in (*signature.inputs, *signature.outputs)]
        blocks = [words(shape) for shape in shapes]
        places = [IS_TABLE if is_table(name) else -1 for name, _ in signature.inputs]
        places += [-1] * len(signature.outputs)
        ports = ports_of(shapes, blocks, places)
        block, keepalive = kernel_block(
            signature, driven, run, ports, self._libm, scratch
        )
        keepalive = (keepalive, blocks)
        call = Run(run)
        return Scanned(
            kernel, call, block, (moves, len(moved)), Pace(kernel), keepalive
        )

    def run(
        self,
        inputs: Sequence[Timed],
        records: Sequence[Timed],
        finals: Sequence[Timed],
        batch: int | None,
        times: Times,
        progress: Callable[[int, int], None],
    ) -> None:
        """Run all steps, on several threads if that pays.

        ``progress`` is told (evaluations done, all) by one of the threads.
        """
        scanned = self.scan_kernel("single" if batch is None else "batch")
        part = _ScanPart(self, scanned, inputs, records, finals, times, [])
        count = batch or 1
        work = count * times.length // chunk_of(scanned.kernel)
        lanes = scanned.kernel.lanes
        parts = max(1, min(self._step.threads, work, -(-count // lanes)))
        share = -(-count // (parts * lanes)) * lanes
        tasks = [
            functools.partial(
                part.run,
                first,
                min(share, count - first),
                progress if first == 0 else None,
            )
            for first in range(0, count, share)
        ]
        if any(run_all(tasks, part.stop)):
            raise MemoryError

    def steps(
        self, scanned: Scanned, views: Sequence[int], count: int, times: Times, at: int
    ) -> int:
        """Run some steps of some states."""
        block, viewed = self.loop_block(scanned, times, at), words(views)
        kernel = ctypes.addressof(scanned.block)
        return scanned.run(
            kernel, ctypes.addressof(viewed), count, ctypes.addressof(block)
        )

    def loop_block(self, scanned: Scanned, times: Times, at: int = 0) -> Words:
        """Return the block of some steps, from one on."""
        block = words([0] * len(TimeLoop))
        block[TimeLoop.STEPS] = times.length
        block[TimeLoop.WAIT] = times.first + times.row(at) * times.every - at
        block[TimeLoop.EVERY] = times.every
        block[TimeLoop.N_RECORDS] = self._n_records
        block[TimeLoop.MOVES] = ctypes.addressof(scanned.moves[0])
        block[TimeLoop.N_MOVES] = scanned.moves[1]
        return block

    def carried_from(
        self, inputs: Sequence[Timed], finals: Sequence[Timed]
    ) -> list[Timed]:
        """Return the inputs of a step that goes on with the last results."""
        found = list(inputs)
        for k, (i, _) in enumerate(self._carry):
            found[i] = finals[k]
        return found


@dataclass(frozen=True)
class _ScanPart:
    """A run that is shared by threads, each with states of its own."""

    scanner: Scanner
    scanned: Scanned
    inputs: Sequence[Timed]
    records: Sequence[Timed]
    finals: Sequence[Timed]
    times: Times
    stop: list[None]

    def run(
        self, first: int, count: int, progress: Callable[[int, int], None] | None
    ) -> int:
        """Run all steps of some states, slice by slice, until ``stop`` has an entry.

        ctypes releases the GIL. Between two slices Python's main thread handles
        signals. A slice is many groups with all steps, or one group with some.
        """
        length, pace, least = self.times.length, self.scanned.pace, self.scanned.least
        total, start, end = count * length, first, first + count
        while first < end and not self.stop:
            some = max(least, pace.states // length // least * least)
            some = min(end - first, some)
            at = 0
            while at < length and not self.stop:
                steps = min(length - at, max(1, pace.states // some))
                begin = time.perf_counter()
                if self._slice(first, some, at, steps):
                    return 1
                pace.learn(some * steps, time.perf_counter() - begin)
                at += steps
                if progress is not None:
                    progress((first - start) * length + some * at, total)
            first += some
        return 0

    def _slice(self, first: int, count: int, at: int, steps: int) -> int:
        """Run some steps of some states."""
        inputs = self.inputs
        if at > 0:
            inputs = self.scanner.carried_from(inputs, self.finals)
        row = self.times.row(at)
        views = [w for one in inputs for w in one.words(first, at)]
        views += [w for one in self.records for w in one.words(first, row)]
        views += [w for one in self.finals for w in one.words(first, 0)]
        times = self.times
        if steps != times.length:
            times = replace(times, length=steps)
        return self.scanner.steps(self.scanned, views, count, times, at)


def _slots(signature: Signature, outputs: Sequence[int]) -> list[Sequence[int]]:
    """Return the slots of each input and output."""
    found: list[Sequence[int]] = []
    start = 0
    for name, shape in signature.inputs:
        size = slots_of(name, int(np.prod(shape)))
        found.append(range(start, start + size))
        start += size
    start = 0
    for _, shape in signature.outputs:
        size = int(np.prod(shape))
        found.append(outputs[start : start + size])
        start += size
    return found
