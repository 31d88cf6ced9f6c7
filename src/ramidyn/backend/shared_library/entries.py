"""The functions of a shared library, written around the code that Python calls.

    int name(const T *input, ..., T *output, ...)
    int name_batch(int64_t n, const T *input, ..., T *output, ...)

Each fills the views of its arrays on the stack and calls the driver with a kernel that
is constant data of the library: the cuts, the places of results and the C library's
functions by their symbols. Both return 0, or 1 if there is no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from ramidyn.backend.llvm.jit import compile_objects
from ramidyn.backend.llvm.libm import LIBM
from ramidyn.backend.llvm.parts import Schedule
from ramidyn.backend.llvm.sources import sources
from ramidyn.backend.llvm.target import BYTES, Processor, Target
from ramidyn.backend.llvm.word_builder import I64, Module, Value, const, ir
from ramidyn.backend.runtime.driver_code import emit
from ramidyn.backend.runtime.instructions import encoded
from ramidyn.backend.runtime.memory_layout import (
    PORT_WORDS,
    VIEW_WORDS,
    Kernel,
    View,
    kernel_sizes,
)
from ramidyn.backend.runtime.tiles import Tile


@final
@dataclass(frozen=True, slots=True)
class Arrays:
    """The entries of each input and each output."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def library_objects(
    schedule: Schedule,
    arrays: Arrays,
    name: str,
    processor: Processor,
    dtype: str,
    layout: str,
) -> list[bytes]:
    """Return the object files of a library: for one state, and for batches."""
    objects: list[bytes] = []
    for symbol, lanes in ((name, 1), (f"{name}_batch", processor.lanes(dtype))):
        target = Target(processor, lanes, dtype)
        seal = "_single" if lanes == 1 else "_batch"
        objects += compile_objects(sources(schedule, target, seal), processor)
        module = _entry(schedule, arrays, symbol, target, seal, layout)
        objects += compile_objects([lambda m=module: str(m.llvm)], processor)
    return objects


def _entry(
    schedule: Schedule,
    arrays: Arrays,
    symbol: str,
    target: Target,
    seal: str,
    layout: str,
) -> Module:
    module = emit(Tile(target.dtype, target.lanes), target.processor)
    for function in module.llvm.functions:
        if not function.is_declaration:
            function.linkage = "internal"
    kernel = _kernel(module, schedule, arrays, target, seal)
    sizes = (*arrays.inputs, *arrays.outputs)
    is_batch = seal == "_batch"
    code = module.function(symbol, len(sizes) + is_batch)
    views = code.cell(0, VIEW_WORDS * max(len(sizes), 1))
    batch: Value = code.arguments[0] if is_batch else const(1)
    code.leave_if(code.compare(batch, "<=", 0), 0)
    item = BYTES[target.dtype]
    for k, size in enumerate(sizes):
        step, stride = const(item), const(size * item)
        if is_batch and layout == "batch_last":
            step, stride = code.mul(batch, item), const(item)
        view = k * VIEW_WORDS
        code.store(code.arguments[k + is_batch], views, view + View.DATA)
        code.store(step, views, view + View.STEP)
        code.store(stride, views, view + View.STRIDE)
    code.leave(code.call("run", code.b.ptrtoint(kernel, I64), views, batch))
    return module


def _kernel(
    module: Module, schedule: Schedule, arrays: Arrays, target: Target, seal: str
) -> Value:
    """Return the constant block that the driver reads: see `memory_layout.Kernel`."""
    pointer = ir.IntType(8).as_pointer()
    double = ir.DoubleType()
    cuts = [
        module.external(f"cut{k}{seal}", ir.VoidType(), [pointer] * 3)
        for k in range(len(schedule.functions))
    ]
    pairs = ("atan2", "pow")
    libm = [
        module.external(name, double, [double] * (2 if name in pairs else 1))
        for name in LIBM
    ]
    malloc, free = (module.external(name, I64, [I64]) for name in ("malloc", "free"))
    ports: list[Any] = []
    for size in (*arrays.inputs, *arrays.outputs):
        ports += [size, *[0] * (PORT_WORDS - 1)]
    sizes = kernel_sizes(
        schedule.slots, schedule.outputs, len(cuts), target.lanes, target.dtype
    )
    words: list[Any] = [0] * len(Kernel)
    for field, value in sizes.fields.items():
        words[field] = value
    words[Kernel.CUTS] = _constants(module, "cuts", cuts)
    words[Kernel.N_CUTS] = len(cuts)
    words[Kernel.N_INPUTS] = len(arrays.inputs)
    words[Kernel.N_OUTPUTS] = len(arrays.outputs)
    words[Kernel.PORTS] = _constants(module, "ports", ports)
    words[Kernel.PLACES] = _constants(module, "places", sizes.places, ir.IntType(32))
    words[Kernel.LIBM] = _constants(module, "libm", libm)
    steps = encoded(schedule.steps, target.lanes * BYTES[target.dtype])
    words[Kernel.STEPS] = _constants(module, "steps", steps.words)
    words[Kernel.N_STEPS] = len(schedule.steps)
    words[Kernel.MOVES] = _constants(module, "moves", steps.moves, ir.IntType(32))
    words[Kernel.MALLOC], words[Kernel.FREE] = malloc, free
    return _constants(module, "kernel", words)


def _constants(
    module: Module, name: str, values: Sequence[Any], kind: Any = I64
) -> Value:
    """Return a global array of numbers and addresses."""
    words = [
        ir.Constant(kind, v) if isinstance(v, int) else v.ptrtoint(kind) for v in values
    ] or [ir.Constant(kind, 0)]
    array = ir.ArrayType(kind, len(words))
    found: Any = ir.GlobalVariable(module.llvm, array, name)
    found.linkage, found.global_constant = "internal", True
    found.align = 64
    found.initializer = ir.Constant(array, words)
    return found
