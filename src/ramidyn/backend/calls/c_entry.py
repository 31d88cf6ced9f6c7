"""Entries for callers other than Python: XLA's handlers, and plain C functions.

    handler(call_frame) -> error or NULL       XLA's foreign function interface (FFI)
    call(batch, input, ..., output, ...) -> 0, or 1 if there is no memory

Both tell the driver where the arrays are, which lie in memory without gaps, and hold no
lock of Python. The addresses of one kernel are constants of its entry, so an entry is
made anew in every process, which takes some milliseconds.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from enum import IntEnum
from typing import final

from ramidyn.backend.calls.callable import Calls, Kind
from ramidyn.backend.llvm.jit import LoadedCode, compile_objects
from ramidyn.backend.llvm.target import runnable
from ramidyn.backend.llvm.word_builder import I32, Code, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import VIEW_WORDS, Kernel, View

METADATA = 1  # the extension by which XLA asks for the version
VERSION = (0, 1)  # of XLA's interface: all that is read here is in it
NO_MEMORY = 8  # XLA's RESOURCE_EXHAUSTED


class CallFrame(IntEnum):
    """Words of XLA_FFI_CallFrame."""

    EXTENSION = 1
    API = 2
    INPUTS = 9  # address of the addresses of the inputs' Buffers
    OUTPUTS = 14


class Buffer(IntEnum):
    """Words of XLA_FFI_Buffer."""

    DATA = 3
    RANK = 4
    EXTENTS = 5  # address of RANK words


class Extension(IntEnum):
    """Bytes of XLA_FFI_Metadata_Extension."""

    TYPE = 8
    METADATA = 24


class Metadata(IntEnum):
    """Bytes of XLA_FFI_Metadata."""

    MAJOR = 24
    MINOR = 28
    TRAITS = 32


ERROR_CREATE = 6  # word of XLA_FFI_Api
ERROR_WORDS, ERROR_BYTES = 4, 28  # of its arguments: size, extension, message, code


@final
@dataclass(frozen=True)
class Entry:
    """The address of an entry; its code is in memory as long as this object lives."""

    address: int
    keepalive: object


def xla_handler(calls: Calls, kind: Kind) -> Entry:
    """Return the handler that runs a kernel on XLA's buffers.

    For batches, outputs have leading axes; an input without them is the same for all
    states.
    """
    message = f"{calls.signature.name} ran out of memory".encode()
    text = ctypes.create_string_buffer(message)
    module = Module("xla")
    code = module.function("handler", 1)
    (frame,) = code.arguments
    views = code.cell(0, VIEW_WORDS * len(_cores(calls)))
    error = code.cell(ERROR_BYTES, ERROR_WORDS)
    _answer_metadata(code, code.load(frame, CallFrame.EXTENSION))
    n_inputs = len(calls.signature.inputs)
    outputs = code.load(frame, CallFrame.OUTPUTS)
    batch = const(1)
    for k, core in enumerate(_cores(calls)):
        is_input = k < n_inputs
        buffers = code.load(frame, CallFrame.INPUTS) if is_input else outputs
        buffer = code.load(buffers, k if is_input else k - n_inputs)
        stride = const(0)
        if kind == "batch":
            leading = code.add(code.load(buffer, Buffer.RANK), -len(core))
            size = const(math.prod(core) * calls.signature.element.itemsize)
            stride = code.b.select(code.compare(leading, ">", 0), size, const(0))
            if k == n_inputs:
                batch = _product(code, code.load(buffer, Buffer.EXTENTS), leading)
        _write_view(code, calls, views, k, code.load(buffer, Buffer.DATA), stride)
    failed = _run(code, calls, kind, views, batch)
    with code.when(code.compare(failed, "!=", 0), likely=False):
        code.store(const(0), error, 1)
        code.store(const(ctypes.addressof(text)), error, 2)
        code.store(const(NO_MEMORY), error, 3)
        create = code.load(code.load(frame, CallFrame.API), ERROR_CREATE)
        code.leave(code.call_address(create, error))
    code.leave(0)
    return _load_function(module, "handler", (calls, text))


def c_function(calls: Calls) -> Entry:
    """Return ``call(batch, input, ..., output, ...)`` on arrays without gaps.

    One state, ``batch`` = 1, has a kernel of its own.
    """
    cores = _cores(calls)
    module = Module("c_call")
    code = module.function("call", 1 + len(cores))
    batch, *arrays = code.arguments
    views = code.cell(0, VIEW_WORDS * len(cores))
    for k, (core, data) in enumerate(zip(cores, arrays, strict=True)):
        size = const(math.prod(core) * calls.signature.element.itemsize)
        _write_view(code, calls, views, k, data, size)
    code.leave_if(code.compare(batch, "<=", 0), 0)
    with code.when(code.compare(batch, "==", 1)):
        code.leave(_run(code, calls, "single", views, batch))
    code.leave(_run(code, calls, "batch", views, batch))
    return _load_function(module, "call", calls)


def _cores(calls: Calls) -> list[tuple[int, ...]]:
    signature = calls.signature
    return [core for _, core in (*signature.inputs, *signature.outputs)]


def _answer_metadata(code: Code, extension: Value) -> None:
    """Tell the version of the interface, if XLA asks for it."""
    with code.when(code.compare(extension, "!=", 0), likely=False):
        kind = code.load_int(code.add(extension, Extension.TYPE))
        with code.when(code.compare(kind, "==", METADATA)):
            metadata = code.load_at(extension, Extension.METADATA)
            places = (Metadata.MAJOR, Metadata.MINOR, Metadata.TRAITS)
            for place, value in zip(places, (*VERSION, 0), strict=True):
                half = ir.Constant(I32, value)
                code.store_as(half, code.add(metadata, int(place)), 4)
            code.leave(0)


def _product(code: Code, extents: Value, count: Value) -> Value:
    """Return the product of the first extents of an array."""
    with code.fold(count, 1) as turn:
        extent = code.load(code.at(extents, turn.index))
        turn.next = code.mul(turn.value, extent)
    return turn.result


def _write_view(
    code: Code, calls: Calls, views: Value, index: int, data: Value, stride: Value
) -> None:
    """Tell the driver where an array is."""
    first = index * VIEW_WORDS
    code.store(data, views, first + View.DATA)
    step = const(calls.signature.element.itemsize)
    code.store(step, views, first + View.STEP)
    code.store(stride, views, first + View.STRIDE)


def _run(code: Code, calls: Calls, kind: Kind, views: Value, batch: Value) -> Value:
    """Run a kernel, which is compiled now if need be."""
    block = calls.loaded(kind).block
    run = const(block[Kernel.RUN])
    return code.call_address(run, const(ctypes.addressof(block)), views, batch)


def _load_function(module: Module, name: str, keepalive: object) -> Entry:
    target = runnable()
    (code,) = compile_objects([lambda: str(module.llvm)], target)
    loaded = LoadedCode([(code, [name])], target)
    return Entry(loaded.addresses[0], (loaded, keepalive))
