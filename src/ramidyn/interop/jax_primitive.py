"""A compiled function as a primitive of JAX: how it runs, batches and differentiates.

Every call is one equation of the primitive ``ramidyn``. Its ``batch`` are leading axes
of the outputs; an input has all of them or none. Transformations give another call of
the same kind:

    vmap       one more leading axis
    jvp        the tangent program (`Differentiable`), linear in the tangents
    transpose  of a tangent program, the cotangent program; and back

On the CPU it is lowered to a handler of XLA's foreign function interface, which runs
the kernel on XLA's own buffers, in whatever thread XLA calls it. Where there is no such
interface, the kernel is called from Python.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast, final

import numpy as np

from ramidyn.backend.calls.arguments import Signature
from ramidyn.backend.calls.c_entry import Entry, xla_handler
from ramidyn.backend.calls.callable import Kind
from ramidyn.backend.llvm.build import key_of
from ramidyn.backend.runtime.memory_layout import wants_plain_calls
from ramidyn.compilation import Compilation
from ramidyn.concurrency import made_once
from ramidyn.errors import Error, ShapeError
from ramidyn.function import DType, Function, calls_of
from ramidyn.interop.differentiable import Differentiable, mapped

# JAX is an extra: behind Any it need not be there to check types.
jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")
core: Any = importlib.import_module("jax.core")
ad: Any = importlib.import_module("jax.interpreters.ad")
batching: Any = importlib.import_module("jax.interpreters.batching")
mlir: Any = importlib.import_module("jax.interpreters.mlir")
call_p: Any = importlib.import_module("jax.extend.core").Primitive("ramidyn")
call_p.multiple_results = True

Shape = tuple[int, ...]
_handlers: dict[str, Entry] = {}  # JAX keeps a target until the process ends


@final
class Jax:
    """How JAX takes values, and runs programs on them."""

    name = "JAX"

    def arrays(self, signature: Signature, values: Sequence[Any]) -> list[Any]:
        """Return the inputs as JAX arrays of one dtype.

        Numbers and integers take the dtype of the others.
        """
        given = [
            _array(signature, name, value)
            for name, value in zip(signature.input_names, values, strict=True)
        ]
        fixed = [a.dtype for a, is_fixed in given if is_fixed]
        dtype: Any = jnp.result_type(*fixed) if fixed else jnp.result_type(float)
        return [a.astype(dtype) for a, _ in given]

    def run(self, f: Differentiable, arrays: list[Any], batch: int | None) -> Any:
        """Return the outputs."""
        dtype = arrays[0].dtype.name if arrays else "float64"
        return run(f, arrays, () if batch is None else (batch,), dtype)

    def visible(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function itself: JAX traces what is called."""
        return call


def _array(signature: Signature, name: str, value: Any) -> tuple[Any, bool]:
    """Return an input as a JAX array, and whether its dtype decides that of all."""
    is_integer = is_numpy_integer(value)
    try:
        # Without its option jax_enable_x64, JAX cuts integers off at 32 bits.
        array = jnp.asarray(value.astype(float) if is_integer else value)
        given = f"an array of {array.dtype}"
        if array.dtype.name in ("float32", "float64"):
            return array, not is_integer and not array.weak_type
        if array.dtype.kind in "iub":
            return array, False
    except (TypeError, ValueError):
        given = type(value).__name__
    needed = f"{signature.name!r} in JAX needs float32, float64 or integers"
    raise ShapeError(f"{name} is {given}; {needed}")


def is_numpy_integer(value: Any) -> bool:
    """Whether a value is a NumPy array of integers, or a NumPy integer."""
    is_numpy = isinstance(value, (np.ndarray, np.generic))
    return is_numpy and np.issubdtype(np.asarray(cast(Any, value)).dtype, np.integer)


def run(f: Differentiable, inputs: Sequence[Any], batch: Shape, dtype: str) -> Any:
    """Return the outputs of a call, as a list."""
    return call_p.bind(*inputs, f=f, batch=batch, dtype=dtype)


@call_p.def_impl
def _run_now(*inputs: Any, **parameters: Any) -> Any:
    return _jitted(**parameters)(*inputs)


@functools.lru_cache(maxsize=512)
def _jitted(**parameters: Any) -> Any:
    return jax.jit(partial(call_p.bind, **parameters))


@call_p.def_abstract_eval
def _shapes(*_: Any, f: Differentiable, batch: Shape, dtype: str) -> list[Any]:
    kind = np.dtype(dtype)
    return [core.ShapedArray((*batch, *shape), kind) for _, shape in f.outputs]


def _batched(
    inputs: Sequence[Any],
    axes: Sequence[int | None],
    *,
    f: Differentiable,
    batch: Shape,
    dtype: str,
) -> tuple[Any, list[int]]:
    """Add a leading axis: to the outputs, and to the inputs that have any."""
    pairs = zip(inputs, axes, strict=True)
    length = next(x.shape[axis] for x, axis in pairs if axis is not None)
    moved, batch = mapped(jnp.moveaxis, jnp.broadcast_to, f, inputs, axes, length)
    outputs = run(f, moved, batch, dtype)
    return outputs, [0] * len(outputs)


def _tangents(
    inputs: Sequence[Any],
    changes: Sequence[Any],
    *,
    f: Differentiable,
    batch: Shape,
    dtype: str,
) -> tuple[Any, Any]:
    """Return the outputs, and how they change."""
    outputs = run(f, inputs, batch, dtype)
    wrt = tuple(k for k, x in enumerate(changes) if type(x) is not ad.Zero)
    if min(wrt) >= f.first_linear:
        rest = [ad.instantiate_zeros(x) for x in changes[f.first_linear :]]
        return outputs, run(f, [*inputs[: f.first_linear], *rest], batch, dtype)
    moves = [changes[k] for k in wrt]
    return outputs, run(f.tangent(wrt), [*inputs, *moves], batch, dtype)


def _transposed(
    weights: Sequence[Any],
    *inputs: Any,
    f: Differentiable,
    batch: Shape,
    dtype: str,
) -> list[Any]:
    """Return what weights of the outputs give for the linear inputs."""
    known, linear = inputs[: f.first_linear], inputs[f.first_linear :]
    given = [ad.instantiate_zeros(x) for x in weights]
    found = run(f.transpose(), [*known, *given], batch, dtype)
    shared = tuple(range(len(batch)))
    return [None] * len(known) + [
        (x.sum(shared) if x.shape != own.aval.shape else x)
        if ad.is_undefined_primal(own)
        else None
        for x, own in zip(found, linear, strict=True)
    ]


def _lowered(
    context: Any, *operands: Any, f: Differentiable, batch: Shape, dtype: DType
) -> Any:
    """Write the call of the handler into a module of XLA."""
    compilation = f.compiled(dtype)
    if wants_plain_calls() or not hasattr(jax, "ffi"):
        plain = partial(_from_python, compilation, batch)
        return mlir.lower_fun(plain, multiple_results=True)(context, *operands)
    target = _registered(compilation, "batch" if batch else "single")
    return jax.ffi.ffi_lowering(target)(context, *operands)


def _refused(_: Any, *__: Any, f: Differentiable, **___: Any) -> Any:
    raise Error(
        f"{f.name!r} runs on the CPU only; move its inputs there with jax.device_put, "
        "or set jax.config.update('jax_platforms', 'cpu')"
    )


def _registered(compilation: Compilation, kind: Kind) -> str:
    """Return the name of the target that runs a kernel, compiled now if need be.

    The name says what the code depends on: JAX keeps compiled modules on disk, which
    find their targets by name.
    """
    key = key_of(compilation.interface, compilation.target(kind))
    name = f"ramidyn_{kind}_{key}"
    made_once(_handlers, name, lambda: _register(compilation, kind, name))
    return name


def _register(compilation: Compilation, kind: Kind, name: str) -> Entry:
    handler = xla_handler(calls_of(compilation), kind)
    address = ctypes.cast(handler.address, ctypes.CFUNCTYPE(None))
    capsule = jax.ffi.pycapsule(address)
    jax.ffi.register_ffi_target(name, capsule, platform="cpu", api_version=1)
    return handler


def _from_python(compilation: Compilation, batch: Shape, *inputs: Any) -> Any:
    """Call the compiled function from Python, when the result is needed."""
    function, count = Function(compilation), math.prod(batch)

    def call(*values: Any) -> list[Any]:
        arrays = [
            np.reshape(x, (count, *shape) if x.ndim > len(shape) else shape)
            for (_, shape), x in zip(compilation.inputs, values, strict=True)
        ]
        found: Any = function(*arrays)
        several = [found] if len(compilation.outputs) == 1 else list(found)
        return [
            np.reshape(x, (*batch, *shape))
            for (_, shape), x in zip(compilation.outputs, several, strict=True)
        ]

    kind = np.dtype(compilation.options.dtype)
    shapes = [
        jax.ShapeDtypeStruct((*batch, *shape), kind) for _, shape in compilation.outputs
    ]
    return jax.pure_callback(call, shapes, *inputs)


batching.primitive_batchers[call_p] = _batched
ad.primitive_jvps[call_p] = _tangents
ad.primitive_transposes[call_p] = _transposed
mlir.register_lowering(call_p, _refused)
mlir.register_lowering(call_p, _lowered, platform="cpu")
