"""A compiled kernel as the driver reads it, how much runs at a time, and on threads."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ramidyn.backend.calls.arguments import Array, Signature
from ramidyn.backend.runtime.instructions import encode, has_open_ends
from ramidyn.backend.runtime.memory_layout import (
    ADDRESS,
    IS_TABLE,
    ITEM_BYTES,
    LINE,
    MOST_BYTES,
    NEAR,
    STACK_BYTES,
    TILES,
    Kernel,
    KernelSizes,
    Words,
    kernel_sizes,
    python_function,
    words,
)
from ramidyn.concurrency import importing
from ramidyn.errors import CompileError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from ramidyn.backend.llvm.build import NativeKernel
    from ramidyn.backend.llvm.target import Processor


CHUNK_WORK = 100_000
"""Slots times states that are worth a thread: some 50 us, what waking one costs."""
SLICE = 0.004
"""Seconds of native code after which Python may handle a signal, such as Ctrl-C."""


class Pace:
    """How many states of a kernel take about a SLICE, learned from what was run."""

    def __init__(self, kernel: NativeKernel) -> None:
        self._least = kernel.lanes * TILES
        self.states: int = max(self._least, chunk_of(kernel))

    def learn(self, states: int, seconds: float) -> None:
        """Note how long some states took."""
        fit = int(states * SLICE / max(seconds, 1e-9)) // self._least * self._least
        if seconds > 2 * SLICE:
            self.states = max(self._least, min(self.states, fit))
        else:
            self.states = max(self.states, min(8 * states, fit))


def ports_of(
    shapes: Sequence[tuple[int, ...]], blocks: Sequence[Words], places: Sequence[int]
) -> Words:
    """Return the ports of inputs and outputs: their shapes and places for numbers."""

    def size(shape: tuple[int, ...], place: int) -> int:
        return ADDRESS if place == IS_TABLE else math.prod(shape)

    return words(
        [
            word
            for shape, block, place in zip(shapes, blocks, places, strict=True)
            for word in (
                size(shape, place),
                len(shape),
                ctypes.addressof(block),
                place,
            )
        ]
    )


def kernel_block(
    signature: Signature,
    kernel: NativeKernel,
    run: int,
    ports: Words,
    libm: Any,
    further_slots: int = 0,
) -> tuple[Words, object]:
    """Return the Kernel block of native code, and what must outlive it.

    Args:
        signature: of what is called.
        kernel: its code.
        run: the address of the driver.
        ports: of all inputs and outputs.
        libm: table of C functions.
        further_slots: of a workspace, behind those of the kernel.
    """
    sizes = kernel_sizes(
        kernel.slots + further_slots,
        kernel.outputs,
        len(kernel.cuts),
        kernel.lanes,
        signature.dtype,
        has_open_ends(kernel.steps),
    )
    if sizes.bytes > MOST_BYTES:
        raise CompileError(
            f"{signature.name!r} needs a workspace of {sizes.bytes:,} bytes for "
            f"{kernel.lanes} states; the limit is {MOST_BYTES:,}"
        )
    cuts = words(kernel.cuts)
    steps = encode(kernel.steps, kernel.lanes * ITEM_BYTES[signature.dtype])
    instructions, moves = words(steps.words), _ints(steps.moves)
    places = _ints(sizes.places)
    block = words([0] * len(Kernel))
    for field, value in sizes.fields.items():
        block[field] = value
    block[Kernel.RUN] = run
    block[Kernel.CUTS] = ctypes.addressof(cuts)
    block[Kernel.N_CUTS] = len(kernel.cuts)
    block[Kernel.N_INPUTS] = len(signature.inputs)
    block[Kernel.N_OUTPUTS] = len(signature.outputs)
    block[Kernel.PORTS] = ctypes.addressof(ports)
    block[Kernel.PLACES] = ctypes.addressof(places)
    writers = words(kernel.writers or [0] * len(signature.outputs))
    block[Kernel.WRITERS] = ctypes.addressof(writers)
    block[Kernel.LIBM] = ctypes.addressof(libm)
    block[Kernel.STEPS] = ctypes.addressof(instructions)
    block[Kernel.N_STEPS] = len(kernel.steps)
    block[Kernel.MOVES] = ctypes.addressof(moves)
    block[Kernel.MALLOC] = python_function("PyMem_RawMalloc")
    block[Kernel.FREE] = python_function("PyMem_RawFree")
    block[Kernel.BRING], block[Kernel.TAKE] = kernel.carriers
    kept = kept_memory(sizes, kernel.lanes)
    if kept is not None:
        block[Kernel.KEPT] = kept.ctypes.data
        block[Kernel.KEPT_BYTES] = len(kept)
    return block, (cuts, places, ports, libm, kept, instructions, moves, writers)


def kept_memory(sizes: KernelSizes, lanes: int) -> Array | None:
    """Return memory that calls use again, for what is large, or None.

    That is a single tile, or a group that no second cache holds. Pages that no call
    uses take no memory.
    """
    tiles = sizes.fields[Kernel.TILES]
    if lanes == 1:
        tiles = 1
        is_large = sys.platform == "win32" or sizes.bytes + LINE > STACK_BYTES
    else:
        is_large = tiles > 1 and tiles * sizes.bytes > NEAR
        tiles += 1  # to spare: see `run_groups`
    return np.zeros(tiles * sizes.bytes + LINE, np.uint8) if is_large else None


def _ints(values: Sequence[int]) -> Any:
    """Return offsets in a workspace as the driver reads them."""
    return (ctypes.c_int32 * max(1, len(values)))(*values)


def driver(dtype: str, lanes: int) -> int:
    """Return the address of ``run`` (`driver_code`) for an element type and width."""
    from ramidyn.backend.llvm.target import runnable  # noqa: PLC0415 (llvmlite only where used)

    return _driver(dtype, lanes, runnable())


@functools.cache  # the code is the same for all kernels of a process
def _driver(dtype: str, lanes: int, target: Processor) -> int:
    from ramidyn.backend.llvm.build import load_functions  # noqa: PLC0415 (llvmlite only where used)

    write = functools.partial(_driver_ir, dtype, lanes, target)
    return load_functions(write, ["run"], f"driver {dtype} {lanes}")[0]


def _driver_ir(dtype: str, lanes: int, target: Processor) -> str:
    with importing:
        from ramidyn.backend.runtime import driver_code, tiles  # noqa: PLC0415  not in the cache

    return str(driver_code.emit(tiles.Tile(dtype, lanes), target).llvm)


def chunk_of(kernel: NativeKernel) -> int:
    """Return the smallest number of states that is worth a thread."""
    return max(kernel.lanes, CHUNK_WORK // max(kernel.slots, 1))


# ------------------------------------------------------------ threads

T = TypeVar("T")

_pool: ThreadPoolExecutor | None = None
"""that large batches are split over; one per process"""
_lock = threading.Lock()


def _forget() -> None:
    """Start over in a forked child, which has none of its parent's threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def run_all(tasks: Sequence[Callable[[], T]], stop: list[None]) -> list[T]:
    """Run the tasks at once, the first in this thread, and return their results.

    An exception, such as Ctrl-C, adds to ``stop`` and leaves when all tasks have ended.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    from concurrent.futures import wait  # noqa: PLC0415  it takes long to import

    futures = [_submit(task) for task in tasks[1:]]
    try:
        return [tasks[0](), *(future.result() for future in futures)]
    except BaseException:
        stop.append(None)
        wait(futures)
        raise


def _submit(task: Callable[[], T]) -> Future[T]:
    """Run a task in the pool, or here if the interpreter is about to end."""
    try:
        return _shared_pool().submit(task)
    except RuntimeError:
        from concurrent.futures import Future  # noqa: PLC0415  it takes long to import

        future: Future[T] = Future()
        future.set_result(task())
        return future


def _shared_pool() -> ThreadPoolExecutor:
    """Return the pool, made on first use."""
    global _pool  # noqa: PLW0603 (the pool is the process's)
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  it takes long to import

    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(
                os.cpu_count() or 1, thread_name_prefix="ramidyn"
            )
        return _pool
