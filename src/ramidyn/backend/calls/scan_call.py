"""Run a kernel step by step in native code: results of one step feed the next."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

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
    LINE,
    VIEW_WORDS,
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
Progress = Callable[[int, int], None]
Run = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
)


class Timed(NamedTuple):
    """An array: bytes between its elements, its states and its steps."""

    array: Array
    step: int
    stride: int
    pace: int

    @property
    def words(self) -> tuple[int, int, int, int]:
        """The array as native code sees it."""
        return address(self.array), self.step, self.stride, self.pace


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
        if len(kernel.cuts) == 1 and not kernel.steps and size == LINE:
            # A group saves fetching code again. With one cut it saves nothing, and
            # with such wide slots it fills the nearest cache before the next step.
            block[Kernel.TILES] = 1
        call = Run(run)
        return Scanned(
            kernel, call, block, (moves, len(moved)), Pace(kernel), keepalive
        )

    def call(
        self,
        inputs: Sequence[Timed],
        records: Sequence[Timed],
        finals: Sequence[Timed],
        batch: int | None,
        times: Times,
    ) -> LoopCall:
        """Return the call that runs all steps of some arrays."""
        scanned = self.scan_kernel("single" if batch is None else "batch")
        return LoopCall(self, scanned, (inputs, records, finals), batch or 1, times)

    def run(
        self,
        inputs: Sequence[Timed],
        records: Sequence[Timed],
        finals: Sequence[Timed],
        batch: int | None,
        times: Times,
    ) -> None:
        """Run all steps."""
        self.call(inputs, records, finals, batch, times).run()

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

    @property
    def threads(self) -> int:
        """How many may share a run."""
        return self._step.threads

    @property
    def carried(self) -> list[int]:
        """The inputs that go on with the last results, in the order of those."""
        return [i for i, _ in self._carry]


@final
class LoopCall:
    """The steps of some arrays, in native code, as often as is asked for.

    ``views`` has four words for each array: where it is, and its strides. To run with
    arrays that are laid out alike, only the first of them changes.
    """

    def __init__(
        self,
        scanner: Scanner,
        scanned: Scanned,
        arrays: tuple[Sequence[Timed], Sequence[Timed], Sequence[Timed]],
        count: int,
        times: Times,
    ) -> None:
        self._scanner, self._scanned = scanner, scanned
        self._counts = tuple(map(len, arrays))
        self._count, self._times = count, times
        timed = [x for ones in arrays for x in ones]
        self.views: Words = words([w for x in timed for w in x.words])
        self.arrays: list[Array | None] = [x.array for x in timed]
        """they must outlive the call, unless views say otherwise"""
        self._loop = scanner.loop_block(scanned, times)
        self._call = (
            ctypes.addressof(scanned.block),
            ctypes.addressof(self.views),
            count,
            ctypes.addressof(self._loop),
        )

    def run(self, progress: Callable[[], Progress] | None = None) -> None:
        """Run all steps, on several threads if that pays.

        If that takes long, one of the threads tells what ``progress`` returns how many
        evaluations are done, and how many there are.
        """
        scanned, count, length = self._scanned, self._count, self._times.length
        lanes, threads, parts = scanned.kernel.lanes, self._scanner.threads, 1
        if threads > 1:
            work = count * length // chunk_of(scanned.kernel)
            parts = max(1, min(threads, work, -(-count // lanes)))
        if parts == 1 and count * length <= scanned.pace.states:
            if scanned.run(*self._call):
                raise MemoryError
            return
        share = -(-count // (parts * lanes)) * lanes
        stop: list[None] = []
        told = None if progress is None else progress()
        tasks = [
            functools.partial(
                self._part,
                first,
                min(share, count - first),
                told if first == 0 else None,
                stop,
            )
            for first in range(0, count, share)
        ]
        if any(run_all(tasks, stop)):
            raise MemoryError

    def _part(
        self,
        first: int,
        count: int,
        progress: Progress | None,
        stop: list[None],
    ) -> int:
        """Run all steps of some states, slice by slice, until ``stop`` has an entry.

        ctypes releases the GIL. Between two slices Python's main thread handles
        signals. A slice is many groups with all steps, or one group with some.
        """
        length, pace, least = (
            self._times.length,
            self._scanned.pace,
            self._scanned.least,
        )
        total, start, end = count * length, first, first + count
        while first < end and not stop:
            some = max(least, pace.states // length // least * least)
            some = min(end - first, some)
            at = 0
            while at < length and not stop:
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
        views, (inputs, records, finals) = list(self.views), self._counts
        if at > 0:
            for k, i in enumerate(self._scanner.carried, inputs + records):
                views[4 * i : 4 * i + 4] = views[4 * k : 4 * k + 4]
        rows = [at] * inputs + [self._times.row(at)] * records + [0] * finals
        for k, row in enumerate(rows):
            _, _, stride, pace = views[4 * k : 4 * k + 4]
            views[4 * k] += first * stride + row * pace
        times = self._times
        if steps != times.length:
            times = replace(times, length=steps)
        block, viewed = self._scanner.loop_block(self._scanned, times, at), words(views)
        return self._scanned.run(
            self._call[0], ctypes.addressof(viewed), count, ctypes.addressof(block)
        )


@final
class MovableCalls:
    """Calls one after the other, whose arrays lie elsewhere each time.

    Args:
        calls: of the models.
        models: arrays that share no memory, laid out as those of each run.
    """

    def __init__(self, calls: Sequence[LoopCall], models: Sequence[Array]) -> None:
        self._calls = calls
        self._places: list[list[tuple[Words, int, int]]] = []
        """of each array: words that say where it is, and how far from its start"""
        spans = [(address(x), *_extent(x)) for x in models]
        for start, low, high in spans:
            found = [
                (call, k)
                for call in calls
                for k, at in enumerate(call.views[::VIEW_WORDS])
                if low <= at - start < high
            ]
            for call, k in found:
                call.arrays[k] = None
            own = [(call.views, VIEW_WORDS * k) for call, k in found]
            self._places.append([(v, k, v[k] - start) for v, k in own])

    def run(
        self, arrays: Sequence[Array], progress: Callable[[], Progress] | None = None
    ) -> None:
        """Run all calls on the arrays."""
        for array, places in zip(arrays, self._places, strict=True):
            start = address(array)
            for views, word, offset in places:
                views[word] = start + offset
        for call in self._calls:
            call.run(progress)


def array_like(array: Array) -> Array:
    """Return a new array with the same shape and strides."""
    low, high = _extent(array)
    memory = np.empty(max(1, high - low), np.uint8)
    return np.ndarray(array.shape, array.dtype, memory, -low, array.strides)


def _extent(array: Array) -> tuple[int, int]:
    """Return the bytes of an array, from the first of its first element on."""
    if not array.size:
        return 0, 0
    ends = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    return sum(min(0, x) for x in ends), sum(max(0, x) for x in ends) + array.itemsize


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
