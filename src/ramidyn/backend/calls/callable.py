"""From compiled cuts to a Python callable: NumPy in, NumPy out.

    make_callable -> builtin --fast--> run            (entry, driver: emitted code)
                        └--slow--> Calls.slow -> run  (arguments: Python)

The builtin's ``self`` is an Anchor, which holds the address of a CallBlock
(`memory_layout`) and keeps alive everything it refers to. The slow path does not need
the builtin: where there is none, it is the callable.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ramidyn.backend.calls import arguments
from ramidyn.backend.calls.arguments import Array, Signature, Strided, address
from ramidyn.backend.calls.result_memory import empty
from ramidyn.backend.calls.runnable import (
    Pace,
    chunk_of,
    driver,
    kernel_block,
    ports_of,
    run_all,
)
from ramidyn.backend.calls.vectorcall import Anchor, entries
from ramidyn.backend.runtime.memory_layout import (
    BUFFER_WORDS,
    HAS_KNOWN_OBJECTS,
    MAX_PORTS,
    NEVER,
    WORD,
    CallBlock,
    Words,
    api_table,
    new_array,
    new_tuple,
    number_dtypes,
    number_types,
    words,
)
from ramidyn.concurrency import Lock
from ramidyn.symbolic.expr import current_dtype

if TYPE_CHECKING:
    from ramidyn.backend.llvm.build import NativeKernel
    from ramidyn.symbolic.program import Program

Kind = Literal["single", "batch"]
METH_FASTCALL_KEYWORDS = 0x80 | 0x02
Run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


KEPT = (int(CallBlock.KEPT), int(CallBlock.KEPT_BEFORE))
RELEASE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("Py_DecRef", ctypes.pythonapi))


@dataclass(frozen=True)
class RunnableKernel:
    """A kernel with its driver, ready to run."""

    kernel: NativeKernel
    run: Callable[[int, int, int], int]
    block: Words
    pace: Pace
    keepalive: object


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def make_callable(
    signature: Signature,
    kernel_for: Callable[[Kind], NativeKernel],
    libm_table: Any,
    traced_for: Callable[[str], Program] | None = None,
) -> Callable[..., Any]:
    """Return ``f(x, ..., out=None)`` that runs a kernel on NumPy arrays.

    Args:
        signature: names, shapes, dtype and layout.
        kernel_for: makes the kernel for one state or for batches, at the first call.
        libm_table: a ctypes array of C functions, handed to the cuts.
        traced_for: the program for a dtype, where calls with symbols are possible.
    """
    if "out" in signature.input_names:
        raise ValueError(
            f"kernel {signature.name!r} has an input 'out', which is a reserved name."
        )
    calls = Calls(signature, kernel_for, libm_table, traced_for)
    return _builtin(calls) if HAS_KNOWN_OBJECTS else _plain(calls)


def _plain(calls: Calls) -> Callable[..., Any]:
    """Return the slow path as a Python function."""

    def call(*values: object, **named: object) -> object:
        return calls.slow(calls.bind((*values, *named.values()), tuple(named)))

    call.__name__ = call.__qualname__ = calls.signature.name
    call.__doc__ = calls.doc.partition("--\n\n")[2]
    return call


def _builtin(calls: Calls) -> Callable[..., Any]:
    """Return the emitted function as a builtin of Python."""
    name, doc = calls.signature.name.encode(), calls.doc.encode()
    method = MethodDef(name, entries()["call"], METH_FASTCALL_KEYWORDS, doc)
    keepalive = (calls, calls.hand_over_objects(), method, name, doc)
    anchor = Anchor(ctypes.addressof(calls.block), keepalive)
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
    )
    new = kind(("PyCFunction_NewEx", ctypes.pythonapi))
    return new(ctypes.addressof(method), anchor, "ramidyn")


class Calls:
    """All that the calls of one callable share."""

    def __init__(
        self,
        signature: Signature,
        kernel_for: Callable[[Kind], NativeKernel],
        libm: Any,
        traced_for: Callable[[str], Program] | None = None,
    ) -> None:
        self.signature = signature
        self._traced_for = traced_for
        self._kernel_for = kernel_for
        self._libm = libm
        self._allocate = arguments.allocator(signature)
        # Emitted code holds the addresses of these blocks as long as it is called.
        self._loaded: dict[Kind, RunnableKernel] = {}
        self._lock = Lock()
        shapes = [shape for _, shape in (*signature.inputs, *signature.outputs)]
        self._shapes = [words(shape) for shape in shapes]
        self._sizes = [math.prod(shape) for shape in shapes]
        self._ports = ports_of(shapes, self._shapes, _buffer_places(signature))
        self._names = [sys.intern(name) for name in signature.input_names]
        self._name_words = words([id(name) for name in self._names])
        self._cores = [core for _, core in signature.outputs]
        self._core_words = words([id(core) for core in self._cores])
        self._defaults = dict(signature.defaults)
        self._default_words = words(
            [
                id(self._defaults[name]) if name in self._defaults else 0
                for name in self._names
            ]
        )
        self.block: Words = self._make_block()

    def __del__(
        self, kept: tuple[int, ...] = KEPT, release: Callable[[int], None] = RELEASE
    ) -> None:
        """Release the results that emitted code keeps, even as Python shuts down."""
        # Asked for its __dict__, Python 3.11 makes one, which the collector takes for a
        # new owner of all: a robot would outlive the collection.
        block: Words | None = getattr(self, "block", None)
        for result in (block[word] for word in kept) if block is not None else ():
            if result:
                release(result)

    @property
    def doc(self) -> str:
        """The docstring, from which Python reads the signature."""
        listed = "".join(f"{name}, " for name in self.signature.input_names)
        shapes = "; ".join(f"{n} {s}" for n, s in self.signature.inputs) or "nothing"
        results = "; ".join(f"{n} {s}" for n, s in self.signature.outputs)
        return (
            f"{self.signature.name}({listed}*, out=None)\n--\n\n"
            f"Takes {shapes}; returns {results}. Any input may have a batch axis."
        )

    def hand_over_objects(self) -> dict[CallBlock, object]:
        """Write the objects of the CallBlock, and return them for the Anchor to own.

        They hold this object; owned here, they would make a cycle.
        """
        objects: dict[CallBlock, object] = {
            CallBlock.DTYPE: np.dtype(self.signature.dtype),
            CallBlock.ARRAY_TYPE: np.ndarray,
            CallBlock.LIST_TYPE: list,
            CallBlock.TUPLE_TYPE: tuple,
            CallBlock.RESULT_TYPE: arguments.result_type(self.signature.output_names),
            CallBlock.OUT_NAME: sys.intern("out"),
            CallBlock.NONE: None,
            CallBlock.EMPTY: np.empty,
            CallBlock.LARGE_EMPTY: empty,
            CallBlock.AS_TYPE: np.ndarray.astype,
            CallBlock.BIND: self.bind,
            CallBlock.CONVERT: self.convert,
            CallBlock.SLOW: self.slow,
        }
        for word, value in objects.items():
            self.block[word] = id(value)
        return objects

    def _make_block(self) -> Words:
        block = words([0] * len(CallBlock))
        n_inputs, n_outputs = len(self.signature.inputs), len(self.signature.outputs)
        fits = n_inputs + n_outputs <= MAX_PORTS
        block[CallBlock.API] = ctypes.addressof(api_table())
        block[CallBlock.NEW_TUPLE] = new_tuple()
        block[CallBlock.NEW_ARRAY] = new_array()
        block[CallBlock.NUMBER_TYPES] = ctypes.addressof(number_types())
        block[CallBlock.NUMBER_DTYPES] = ctypes.addressof(number_dtypes())
        block[CallBlock.NAMES] = ctypes.addressof(self._name_words)
        block[CallBlock.SHAPES] = ctypes.addressof(self._core_words)
        block[CallBlock.DEFAULTS] = ctypes.addressof(self._default_words)
        block[CallBlock.PORTS] = ctypes.addressof(self._ports)
        block[CallBlock.N_INPUTS] = n_inputs if fits else -1
        block[CallBlock.N_OUTPUTS] = n_outputs
        block[CallBlock.ITEMSIZE] = np.dtype(self.signature.dtype).itemsize
        block[CallBlock.BATCH_LAST] = self.signature.layout == "batch_last"
        block[CallBlock.SPLIT_FROM] = NEVER
        return block

    def loaded(self, kind: Kind) -> RunnableKernel:
        """Return a kernel, compiled by the first thread that asks."""
        with self._lock:
            if kind not in self._loaded:
                self._loaded[kind] = self._load(kind)
                self._split_from(self._loaded[kind])
            return self._loaded[kind]

    def _load(self, kind: Kind) -> RunnableKernel:
        kernel = self._kernel_for(kind)
        run = driver(self.signature.dtype, kernel.lanes)
        block, keepalive = kernel_block(
            self.signature, kernel, run, self._ports, self._libm
        )
        loaded = RunnableKernel(kernel, Run(run), block, Pace(kernel), keepalive)
        self.block[CallBlock.SINGLE if kind == "single" else CallBlock.BATCH] = (
            ctypes.addressof(block)
        )
        return loaded

    def bind(
        self, values: tuple[object, ...], names: tuple[str, ...] | None
    ) -> tuple[object, ...]:
        """Return the inputs, in order, and out; the last of the values have names."""
        return arguments.bind(self.signature, values, names or ())

    def convert(self, index: int, value: object) -> Array:
        """Return an input as an array that the driver can read, or one of symbols."""
        return arguments.to_array(self.signature, *self.signature.inputs[index], value)

    def slow(self, given: Any) -> object:
        """Run a call with any inputs and out, as ``bind`` returns them."""
        *values, out = given
        arrays = arguments.to_arrays(self.signature, values)
        if any(array.dtype == object for array in arrays):
            return self._call_inline(arrays, out)
        inputs, batch = arguments.read_inputs(self.signature, arrays)
        if out is None:
            result = self._allocate(-1 if batch is None else batch)
            outputs = [result] if isinstance(result, np.ndarray) else list(result)
        else:
            result = out
            outputs = arguments.read_out(self.signature, out, batch)
        if batch != 0:
            self._run(inputs, outputs, batch)
        return result

    def _call_inline(self, arrays: list[Array], out: object) -> object:
        """Return a call with symbols, done in the trace that they belong to."""
        from ramidyn.backend.calls.symbols import call_inline  # noqa: PLC0415 (rarely needed)

        assert self._traced_for is not None
        program = self._traced_for(current_dtype())
        return call_inline(self.signature, program, arrays, out)

    def _run(
        self, inputs: list[Strided], outputs: list[Array], batch: int | None
    ) -> None:
        """Run on arrays that may overlap, or cannot be written as they are."""
        targets = [self._target(i, array, batch) for i, array in enumerate(outputs)]
        if batch is not None:
            inputs = [self._apart(one, targets) for one in inputs]
        loaded = self.loaded("single" if batch is None else "batch")
        try:
            self._run_tiles(loaded, [*inputs, *targets], batch or 1)
        finally:  # interrupted or not, what is done is written
            for array, target in zip(outputs, targets, strict=True):
                if target.array is not array:
                    array[...] = target.array

    def _target(self, index: int, array: Array, batch: int | None) -> Strided:
        """Return an output as the driver can write it, or a new array in its place."""
        size = self._sizes[len(self.signature.inputs) + index]
        strided = arguments.as_strided(self.signature, array, batch is not None)
        if (
            strided
            and array.flags.aligned
            and arguments.is_simple(strided, size, batch or 1)
        ):
            return strided
        return arguments.contiguous_copy(self.signature, array, batch is not None)

    def _apart(self, one: Strided, targets: list[Strided]) -> Strided:
        """Return an input that no output overwrites before it is read."""
        # One that is an output, element by element, is safe: each state is read before
        # it is written. No more than that holds: see `ferries`.
        if any(
            arguments.overlaps(one.array, t.array) and not arguments.is_same(one, t)
            for t in targets
        ):
            return arguments.contiguous_copy(self.signature, one.array, one.batched)
        return one

    def _run_tiles(
        self, loaded: RunnableKernel, arrays: list[Strided], batch: int
    ) -> None:
        """Run the kernel, on several threads if that pays."""
        chunk = chunk_of(loaded.kernel)
        parts = max(1, min(self.signature.threads, batch // chunk))
        lanes = loaded.kernel.lanes
        share = -(-batch // (parts * lanes)) * lanes
        stop: list[None] = []
        tasks = [
            functools.partial(
                _run_part, loaded, arrays, first, min(share, batch - first), stop
            )
            for first in range(0, batch, share)
        ]
        if any(run_all(tasks, stop)):
            raise MemoryError
        self._split_from(loaded)

    def _split_from(self, loaded: RunnableKernel) -> None:
        """Handle batches that take longer than a slice or are worth threads."""
        if loaded is self._loaded.get("batch"):
            worth = 2 * chunk_of(loaded.kernel) if self.signature.threads > 1 else NEVER
            self.block[CallBlock.SPLIT_FROM] = min(worth, loaded.pace.states + 1)


def _run_part(
    loaded: RunnableKernel,
    arrays: list[Strided],
    first: int,
    count: int,
    stop: list[None],
) -> int:
    """Run some of the states, slice by slice, until ``stop`` has an entry.

    ctypes releases the GIL. Between two slices Python's main thread handles signals.
    """
    end = first + count
    while first < end and not stop:
        some = min(end - first, loaded.pace.states)
        start = time.perf_counter()
        if _run_slice(loaded, arrays, first, some):
            return 1
        loaded.pace.learn(some, time.perf_counter() - start)
        first += some
    return 0


def _run_slice(
    loaded: RunnableKernel, arrays: list[Strided], first: int, count: int
) -> int:
    """Run some states at once."""
    views = words(
        [
            word
            for a in arrays
            for word in (address(a.array) + first * a.stride, a.step, a.stride, 0)
        ]
    )
    return loaded.run(ctypes.addressof(loaded.block), ctypes.addressof(views), count)


def _buffer_places(signature: Signature) -> list[int]:
    """Return where each input's numbers go in the buffer, -1 for what does not fit."""
    item, places, end = np.dtype(signature.dtype).itemsize, list[int](), 0
    for _, core in signature.inputs:
        size = math.prod(core) * item
        fits = len(core) <= 1 and end + size <= BUFFER_WORDS * WORD
        places.append(end if fits else -1)
        end += size if fits else 0
    return places + [-1] * len(signature.outputs)
