"""Check and normalize the arguments of one call, in Python.

Whatever the fast path does not take comes through here: values by name, lists, other
dtypes and layouts, overlapping arrays; and every mistake, with its message.
"""

from __future__ import annotations

import ctypes
import functools
from collections import namedtuple
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ramidyn.backend.calls.result_memory import empty
from ramidyn.backend.runtime.memory_layout import HAS_KNOWN_OBJECTS, ArrayField
from ramidyn.errors import ArgumentError, ShapeError, close_matches, counted_noun

DATA_OFFSET = int(ArrayField.DATA)
Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Ports = tuple[tuple[str, Shape], ...]


@dataclass(frozen=True)
class Signature:
    """How a kernel is called.

    Attributes:
        name: its name in messages.
        inputs: names and core shapes, in order.
        outputs: the same of the results.
        layout: where a batch has its extra axis.
        threads: how many a large batch may use.
        defaults: what inputs of shape () are unless given, by name.
        hints: why an input may have a different shape than expected, by name.
    """

    name: str
    inputs: Ports
    outputs: Ports
    dtype: Literal["float64", "float32"] = "float64"
    layout: Literal["batch_first", "batch_last"] = "batch_first"
    threads: int = 1
    defaults: tuple[tuple[str, float], ...] = ()
    hints: tuple[tuple[str, str], ...] = ()

    def shape(self, core: Shape, batch: int | None) -> Shape:
        """Return the shape of an array with this core."""
        if batch is None:
            return core
        return (batch, *core) if self.layout == "batch_first" else (*core, batch)

    def allowed_shapes(self, core: Shape) -> str:
        """Return the shapes that an input may have, for messages."""
        sizes = [str(n) for n in core]
        batched = (
            ["batch", *sizes] if self.layout == "batch_first" else [*sizes, "batch"]
        )
        return f"{core} or ({', '.join(batched)}{',' if len(batched) == 1 else ''})"

    @functools.cached_property
    def input_names(self) -> tuple[str, ...]:
        """The inputs' names."""
        return tuple(name for name, _ in self.inputs)

    @functools.cached_property
    def output_names(self) -> tuple[str, ...]:
        """The outputs' names."""
        return tuple(name for name, _ in self.outputs)

    @functools.cached_property
    def parameters(self) -> Parameters:
        """How the inputs and out= are given."""
        optional = (*dict(self.defaults), "out")
        return Parameters(self.name, self.input_names, ("out",), optional)

    @functools.cached_property
    def element(self) -> np.dtype[Any]:
        """The dtype as NumPy's own object."""
        return np.dtype(self.dtype)


class Strided(NamedTuple):
    """An array as the driver sees it: bytes between elements and between states."""

    array: Array
    step: int
    stride: int
    batched: bool


# Binding: which value is which argument.


@dataclass(frozen=True)
class Parameters:
    """The parameters of a callable: which value is which argument."""

    called: str
    """its name in messages"""
    positional: tuple[str, ...]
    by_name: tuple[str, ...]
    optional: Collection[str]

    def bind(self, values: Sequence[object], names: Sequence[str]) -> dict[str, object]:
        """Return the arguments by name; the last of the values have names."""
        count = len(values) - len(names)
        if count > len(self.positional):
            listed = ", ".join(self.positional) or "none"
            raise ArgumentError(
                f"{self.called} takes at most "
                f"{counted_noun(len(self.positional), 'argument')} by position "
                f"({listed}); {count} were given"
            )
        bound = dict(zip(self.positional, values[:count], strict=False))
        for name, value in zip(names, values[count:], strict=True):
            if name in bound:
                raise ArgumentError(
                    f"{self.called} got {name!r} twice: by position and by name"
                )
            bound[name] = value
            if name not in self._known:
                close = close_matches(name, self._known)
                meant = f" (did you mean {close[0]!r}?)" if close else ""
                raise ArgumentError(
                    f"{self.called} has no argument {name!r}{meant}; it takes {self}"
                )
        missing = [repr(name) for name in self._required if name not in bound]
        if missing:
            raise ArgumentError(
                f"{self.called} is missing argument{'s' * (len(missing) > 1)} "
                f"{', '.join(missing)}; it takes {self}"
            )
        return bound

    @functools.cached_property
    def _known(self) -> tuple[str, ...]:
        return (*self.positional, *self.by_name)

    @functools.cached_property
    def _required(self) -> list[str]:
        return [name for name in self._known if name not in self.optional]

    def __str__(self) -> str:
        plain = [n for n in self.positional if n not in self.optional]
        named = [n for n in (*self.positional, *self.by_name) if n not in plain]
        return ", ".join([*plain, *(f"{name}=" for name in named)])


def bind(
    signature: Signature, values: Sequence[object], names: Sequence[str]
) -> tuple[object, ...]:
    """Return the inputs in order, and ``out`` or None."""
    known = signature.input_names
    bound = {**dict(signature.defaults), **signature.parameters.bind(values, names)}
    return (*(bound[name] for name in known), bound.get("out"))


# Inputs: any real numbers to an array of the kernel's dtype.

OTHER_ARRAYS = {
    "jax": "a JAX tracer, which has no numbers yet; inside jax.jit, jax.vmap and "
    "jax.grad call ramidyn.to_jax(f) instead of f",
    "torch": "a PyTorch tensor that NumPy cannot read, because it requires gradients "
    "or is not in CPU memory; pass tensor.detach().cpu(), or call ramidyn.to_torch(f) "
    "instead of f for gradients",
}
"""Arrays that cannot be read, by library; all others are accepted."""


def to_arrays(signature: Signature, values: Sequence[object]) -> list[Array]:
    """Return the inputs as arrays that the driver can read, or arrays of symbols."""
    return [
        to_array(signature, *port, value)
        for port, value in zip(signature.inputs, values, strict=True)
    ]


def to_array(signature: Signature, name: str, core: Shape, value: object) -> Array:
    """Return an input as an array that the driver can read, or an array of symbols."""
    try:
        array: Array = np.asarray(value)
        is_unread = array is not value and array.ndim == 0 and array.dtype == object
        if is_unread and hasattr(value, "__dlpack__"):
            array = np.from_dlpack(cast(Any, value))
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        # Lists of unequal lengths, or an array of another library.
        library = type(value).__module__.partition(".")[0]
        if library in OTHER_ARRAYS:
            raise ShapeError(f"{name} is {OTHER_ARRAYS[library]}") from error
        raise ShapeError(
            f"{name} is not an array: {error}; kernel {signature.name!r} needs "
            f"{signature.allowed_shapes(core)}."
        ) from error
    if array.dtype is not signature.element:
        if array.dtype == object:
            from ramidyn.symbolic.inline import has_symbols  # noqa: PLC0415  rarely needed

            if has_symbols(array):
                return array
        array = _of_dtype(signature, name, core, value, array)
    flags = array.flags
    if flags.aligned and (
        flags.c_contiguous or as_strided(signature, array, array.ndim > len(core))
    ):
        return array
    return np.array(array, order="C")


def _of_dtype(
    signature: Signature, name: str, core: Shape, value: object, array: Array
) -> Array:
    """Return the array of a value in the kernel's dtype, if it holds real numbers."""
    if array.dtype.kind in "fiub" or _holds_integers(value, array):
        try:
            return np.asarray(array, signature.element)
        except OverflowError:
            given = "an int that is too large"
    else:
        given = type(value).__name__
        given += f" of {array.dtype}" if given == "ndarray" else ""
    raise ShapeError(
        f"{name} is {given}; kernel {signature.name!r} needs real numbers "
        f"({signature.dtype}) of shape {signature.allowed_shapes(core)}."
    )


REAL = (int, float, np.integer, np.floating)


def _holds_integers(value: object, array: Array) -> bool:
    """Return whether NumPy made objects of numbers, because an int exceeds 64 bits.

    An array of no symbols holds as many numbers: none.
    """
    return (
        array.dtype == object
        and not (isinstance(value, np.ndarray) and array.size)
        and all(isinstance(x, REAL) for x in array.ravel().tolist())
    )


def read_inputs(
    signature: Signature, arrays: Sequence[Array]
) -> tuple[list[Strided], int | None]:
    """Return the inputs as the driver reads them, and their common batch."""
    batches = [
        batch_of(signature, name, core, array.shape)
        for (name, core), array in zip(signature.inputs, arrays, strict=True)
    ]
    inputs: list[Strided] = []
    for array, batch in zip(arrays, batches, strict=True):
        strided = as_strided(signature, array, batch is not None)
        assert strided is not None
        inputs.append(strided)
    return inputs, common_batch(signature, batches)


def contiguous_copy(signature: Signature, array: Array, batched: bool) -> Strided:
    """Return a contiguous copy, which the driver can always read."""
    strided = as_strided(signature, np.array(array, order="C"), batched)
    assert strided is not None
    return strided


def batch_of(signature: Signature, name: str, core: Shape, shape: Shape) -> int | None:
    """Return the length of an array's batch axis, or None."""
    if shape == core:
        return None
    if len(shape) == len(core) + 1:
        first = signature.layout == "batch_first"
        batch, rest = (shape[0], shape[1:]) if first else (shape[-1], shape[:-1])
        if rest == core:
            return batch
    hint = dict(signature.hints).get(name)
    raise ShapeError(
        f"{name} has shape {shape}; kernel {signature.name!r} needs "
        f"{signature.allowed_shapes(core)}." + (f" {hint}" if hint else "")
    )


def common_batch(signature: Signature, batches: Sequence[int | None]) -> int | None:
    """Return the batch that all inputs broadcast to: equal sizes, or 1."""
    sizes = [b for b in batches if b is not None]  # PyTorch's may have no hash
    common = next((b for b in sizes if b != 1), 1 if sizes else None)
    if any(b not in (1, common) for b in sizes):
        given = ", ".join(
            f"{name} {batch}"
            for name, batch in zip(signature.input_names, batches, strict=True)
            if batch is not None
        )
        raise ShapeError(
            f"batch sizes differ: {given}; kernel {signature.name!r} needs equal sizes "
            "or 1."
        )
    return common


def as_strided(signature: Signature, array: Array, batched: bool) -> Strided | None:
    """Return an array as the driver sees it, or None if its core has no single step."""
    if not batched and array.flags.c_contiguous:
        return Strided(array, array.itemsize, 0, batched)
    shape, strides = array.shape, array.strides
    stride = 0
    if batched:
        axis = 0 if signature.layout == "batch_first" else array.ndim - 1
        stride = strides[axis] if shape[axis] != 1 else 0
        shape = shape[:axis] + shape[axis + 1 :]
        strides = strides[:axis] + strides[axis + 1 :]
    step = element_step(shape, strides, array.itemsize)
    return None if step is None else Strided(array, step, stride, batched)


def element_step(shape: Shape, strides: Shape, step: int) -> int | None:
    """Return the bytes between elements; None if they differ, ``step`` for one."""
    expected: int | None = None
    for length, own in zip(reversed(shape), reversed(strides), strict=True):
        if length == 1:
            continue
        if expected is None:
            step = own
        elif own != expected:
            return None
        expected = own * length
    return step


# Outputs: arrays to write to.


@functools.cache
def result_type(names: tuple[str, ...]) -> type[tuple[Array, ...]]:
    """Return the tuple type of several outputs, with their names; its values pickle."""
    kind: Any = namedtuple("Outputs", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]

    def reduce(self: tuple[Array, ...]) -> tuple[object, ...]:
        return make_result, (names, tuple(self))

    kind.__reduce__ = reduce
    return kind


def make_result(names: tuple[str, ...], values: Sequence[Array]) -> tuple[Array, ...]:
    """Return several outputs as a named tuple."""
    kind: Any = result_type(names)
    return kind._make(values)


def allocator(signature: Signature) -> Callable[[int], Array | tuple[Array, ...]]:
    """Return a function of the batch, negative for one state, that makes the outputs.

    They are one array, or a tuple with the outputs' names.
    """
    dtype = np.dtype(signature.dtype)
    cores = [core for _, core in signature.outputs]
    first = signature.layout == "batch_first"

    def one(batch: int, core: Shape = cores[0] if cores else ()) -> Array:
        if batch < 0:
            return empty(core, dtype)
        return empty((batch, *core) if first else (*core, batch), dtype)

    if len(cores) == 1:
        return one
    kind: Any = result_type(signature.output_names)
    return lambda batch: kind(*[one(batch, core) for core in cores])


def read_out(signature: Signature, out: object, batch: int | None) -> list[Array]:
    """Return the arrays of ``out=`` in order, each fit to be written."""
    arrays: list[Array] = []
    for (name, core), value in zip(
        signature.outputs, _out_values(signature, out), strict=True
    ):
        shape = signature.shape(core, batch)
        fault = _fault(value, shape, signature.dtype)
        if fault is not None:
            label = "out" if len(signature.outputs) == 1 else f"out {name!r}"
            raise ShapeError(
                f"{label} {fault}; kernel {signature.name!r} needs a writable "
                f"{signature.dtype} array of shape {shape}."
            )
        arrays.append(np.asarray(cast(Array, value)))
    for i, array in enumerate(arrays):
        for k in range(i):
            if overlaps(array, arrays[k]):
                first, second = signature.output_names[k], signature.output_names[i]
                raise ShapeError(f"out {first!r} and out {second!r} share memory.")
    return arrays


def _fault(value: object, shape: Shape, dtype: str) -> str | None:
    """Return why a value cannot be written to, for messages, or None."""
    if not isinstance(value, np.ndarray):
        return f"is {type(value).__name__}"
    array = cast(Array, value)
    if array.shape != shape:
        return f"has shape {array.shape}"
    if array.dtype != dtype:
        return f"is an array of {array.dtype}"
    if not array.flags.writeable:
        return "is read-only"
    if overlaps_itself(array):
        return f"has elements that share memory (strides {array.strides})"
    return None


def _out_values(signature: Signature, out: object) -> list[object]:
    """Return the objects given as ``out=``, in the outputs' order."""
    names = signature.output_names
    if isinstance(out, Mapping):
        given = cast(Mapping[object, object], out)
        if set(given) != set(names):
            listed = ", ".join(repr(k) for k in given)
            raise ShapeError(
                f"out has {listed or 'nothing'}; outputs are {', '.join(names)}."
            )
        return [given[name] for name in names]
    if isinstance(out, (tuple, list)):
        values = list(cast(Sequence[object], out))
        if len(values) != len(names):
            raise ShapeError(
                f"out has {len(values)} arrays; kernel {signature.name!r} has "
                f"{len(names)} outputs ({', '.join(names)})."
            )
        return values
    if len(names) == 1:
        return [out]
    raise ShapeError(
        f"out is {type(out).__name__}; kernel {signature.name!r} needs a tuple or dict "
        f"of {len(names)} arrays ({', '.join(names)})."
    )


def address(array: Array) -> int:
    """Return where an array's first element is."""
    if HAS_KNOWN_OBJECTS:  # four times as fast
        return ctypes.c_int64.from_address(id(array) + DATA_OFFSET).value
    return array.__array_interface__["data"][0]


def overlaps(left: Array, right: Array) -> bool:
    """Return whether two arrays share memory, or may."""
    if not np.may_share_memory(left, right):
        return False
    try:
        return bool(np.shares_memory(left, right, cast(Any, 100_000)))
    except RuntimeError:  # too hard to tell
        return True


def overlaps_itself(array: Array) -> bool:
    """Return whether two elements of an array share memory."""
    item, size = array.itemsize, array.size
    axes = sorted(
        (abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True)
    )
    axes = [(stride, n) for stride, n in axes if n > 1]
    extent, nested = item, True
    for stride, n in axes:
        nested = nested and stride >= extent
        extent += (n - 1) * stride
    if nested or size <= 1:
        return False
    if extent < size * item:
        return True
    places: list[int] = [0]
    for stride, n in axes:
        places = [place + stride * i for place in places for i in range(n)]
    return bool((np.diff(np.sort(places)) < item).any())


def is_same(left: Strided, right: Strided) -> bool:
    """Return whether two arrays are the same elements in the same order."""
    return (
        address(left.array) == address(right.array)
        and left.array.shape == right.array.shape
        and (left.step, left.stride) == (right.step, right.stride)
    )


def is_simple(strided: Strided, size: int, batch: int) -> bool:
    """Return whether no two elements share memory, as far as strides show."""
    item = strided.array.itemsize
    step, stride = abs(strided.step), abs(strided.stride)
    steps, strides = size <= 1 or step >= item, batch <= 1 or stride >= item
    rows = batch <= 1 or stride >= (size - 1) * step + item
    columns = size <= 1 or step >= (batch - 1) * stride + item
    return steps and strides and (rows or columns)
