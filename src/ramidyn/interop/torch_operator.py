"""A compiled function as an operator of PyTorch: how it runs, maps and differentiates.

Every call is one call of the operator ``ramidyn::call``, with the name of the function.
Leading axes of the inputs are batches; an input has all of them or none.
Transformations give other calls of the same kind:

    vmap       one more leading axis
    backward   the cotangent program (`Differentiable`)
    jvp        the tangent program

Derivatives registered with an operator do not work in torch.func, nor forward. So the
operator is called by an autograd.Function, which has them all; torch.compile sees it
as one node, and traces what it calls.

Graphs that torch.compile keeps on disk hold names only. So a derivative has the name of
its function and the inputs that it is with respect to, from which it can be made in
another process.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.backend.calls.arguments import Signature
from ramidyn.concurrency import made_once
from ramidyn.errors import ArgumentError, Error, ShapeError
from ramidyn.function import DType, Function
from ramidyn.interop.differentiable import Differentiable, leading_axes, mapped

# PyTorch is an extra: behind Any it need not be there to check types.
torch: Any = importlib.import_module("torch")
autograd: Any = importlib.import_module("torch.autograd")

_functions: dict[str, Differentiable] = {}  # as long as graphs may hold their names
_compiled: dict[tuple[str, DType], Function] = {}


@final
class PyTorch:
    """How PyTorch takes values, and runs programs on them."""

    name = "PyTorch"

    def arrays(self, signature: Signature, values: Sequence[Any]) -> list[Any]:
        """Return the inputs as tensors of one dtype, on one device.

        Numbers, lists and integers take the dtype of the others.
        """
        if not values:
            raise ArgumentError(
                f"{signature.name!r} has no inputs; call the compiled function itself"
            )
        names = signature.input_names
        device = _device(signature, names, values)
        given = [
            _readable(signature, name, value)
            for name, value in zip(names, values, strict=True)
        ]
        dtypes = [own for _, own in given]
        is_single = torch.float32 in dtypes and torch.float64 not in dtypes
        dtype = torch.float32 if is_single else torch.float64
        return [
            x if own is dtype else torch.as_tensor(x, dtype=dtype, device=device)
            for x, own in given
        ]

    def run(
        self,
        f: Differentiable,
        arrays: list[Any],
        batch: int | None,  # noqa: ARG002  seen in the shapes
    ) -> Sequence[Any]:
        """Return the outputs."""
        made_once(_functions, f.key, lambda: f)
        return run(f.key, arrays)

    def visible(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as one node of the graphs that torch.compile makes."""
        return torch.compiler.allow_in_graph(call)


def _device(signature: Signature, names: Sequence[str], values: Sequence[Any]) -> str:
    """Return the device of the tensors: "cpu", or "meta" for their shapes only."""
    found: dict[str, str] = {}
    for name, value in zip(names, values, strict=True):
        if isinstance(value, torch.Tensor):
            found.setdefault(value.device.type, name)
            if value.device.type not in ("cpu", "meta"):
                raise ArgumentError(
                    f"{name} is on device {str(value.device)!r}, but "
                    f"{signature.name!r} runs on the CPU only; pass {name}.cpu()"
                )
    if len(found) > 1:
        raise ArgumentError(
            f"{found['meta']} is on device 'meta' and {found['cpu']} on 'cpu'; "
            f"{signature.name!r} needs all tensors on one device"
        )
    return next(iter(found), "cpu")


def _readable(signature: Signature, name: str, value: Any) -> tuple[Any, Any]:
    """Return an input for PyTorch, and its dtype if that decides the dtype of all."""
    if isinstance(value, (int, float)):
        return value, None
    needed = f"{signature.name!r} in PyTorch needs float32, float64 or integers"
    if not isinstance(value, torch.Tensor):
        return _copied(name, value, needed)
    if value.layout is not torch.strided:
        raise ShapeError(f"{name} has layout {value.layout}; pass {name}.to_dense()")
    if value.dtype in (torch.float32, torch.float64):
        return value, value.dtype
    if value.dtype.is_floating_point or value.dtype.is_complex:
        raise ShapeError(f"{name} is a tensor of {value.dtype}; {needed}")
    return value, None


def _copied(name: str, value: Any, needed: str) -> tuple[Any, Any]:
    """Return a copy of a NumPy array or a list, as PyTorch cannot read all of them."""
    try:
        array: npt.NDArray[Any] = np.array(value, order="C")
    except (TypeError, ValueError, RuntimeError) as error:
        raise ShapeError(f"{name} is not an array: {error}; {needed}") from error
    is_integer = array.dtype.kind in "iub"
    if not is_integer and str(array.dtype) not in ("float32", "float64"):
        given = f"{type(value).__name__} of {array.dtype}"
        raise ShapeError(f"{name} is {given}; {needed}")
    tensor = torch.from_numpy(array.astype(float) if is_integer else array)
    is_fixed = not is_integer and not isinstance(value, (list, tuple))
    return tensor, tensor.dtype if is_fixed else None


def run(name: str, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the outputs of a call."""
    return DifferentiableCall.apply(name, *inputs)


def _named(name: str) -> Differentiable:
    """Return a function, or a derivative, by its name."""
    return made_once(_functions, name, lambda: _derived(name))


def _derivative(name: str, kind: str, wrt: Sequence[int]) -> str:
    """Return the name of a derivative with respect to some inputs."""
    return f"{name} {kind} {','.join(map(str, wrt))}"


def _derived(name: str) -> Differentiable:
    of, kind, places = ("", "", *name.rsplit(" ", 2))[-3:]
    if kind not in ("jvp", "vjp"):
        raise Error(
            f"{name!r} is not loaded in this process; call ramidyn.to_torch first"
        )
    f, wrt = _named(of), tuple(map(int, places.split(",")))
    return f.tangent(wrt) if kind == "jvp" else f.cotangent(wrt)


# ------------------------------------------------------------ the operator


@torch.library.custom_op(
    "ramidyn::call",
    mutates_args=(),
    device_types="cpu",
    schema="(str name, Tensor[] inputs) -> Tensor[]",
)
def call(name: str, inputs: Sequence[Any]) -> list[Any]:
    """Run the native code on the memory of the inputs."""
    f = _named(name)
    dtype: DType = "float64" if inputs[0].dtype is torch.float64 else "float32"
    function = made_once(_compiled, (name, dtype), lambda: Function(f.compiled(dtype)))
    batch = leading_axes(f, inputs)
    arrays = [x.numpy(force=True) for x in inputs]  # in the same memory
    if len(batch) > 1:
        arrays = [
            x.reshape((-1, *shape)) if x.ndim > len(shape) else x
            for (_, shape), x in zip(f.inputs, arrays, strict=True)
        ]
    found: Any = function(*arrays)
    several: Any = (found,) if len(f.outputs) == 1 else found
    return [
        torch.from_numpy(x.reshape((*batch, *shape)))
        for (_, shape), x in zip(f.outputs, several, strict=True)
    ]


@call.register_fake
def _shapes(name: str, inputs: Sequence[Any]) -> list[Any]:
    f = _named(name)
    batch = leading_axes(f, inputs)
    return [inputs[0].new_empty((*batch, *shape)) for _, shape in f.outputs]


def _moved(info: Any, axes: Any, name: str, inputs: Sequence[Any]) -> list[Any]:
    """Return inputs with one more axis in front."""
    functions = torch.movedim, torch.broadcast_to
    return mapped(*functions, _named(name), inputs, axes, info.batch_size)[0]


@call.register_vmap
def _mapped(info: Any, axes: Any, name: str, inputs: Sequence[Any]) -> Any:
    outputs = call(name, _moved(info, axes[1], name, inputs))
    return outputs, [0] * len(outputs)


# ------------------------------------------------------------ derivatives


class DifferentiableCall(autograd.Function):
    """A call, its gradients and its tangents; PyTorch calls methods by these names."""

    @staticmethod
    def forward(name: str, *inputs: Any) -> tuple[Any, ...]:
        """Return the outputs."""
        return tuple(call(name, inputs))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004  PyTorch's signature
        """Keep the inputs."""
        ctx.name, *given = inputs
        ctx.save_for_backward(*given)
        ctx.save_for_forward(*given)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
        """Return the gradients of the inputs that need one."""
        inputs = ctx.saved_tensors
        wrt = [k for k, is_needed in enumerate(ctx.needs_input_grad[1:]) if is_needed]
        name = _derivative(ctx.name, "vjp", wrt)
        found = run(name, [*inputs, *weights])
        gradients: list[Any] = [None] * len(inputs)
        for k, x in zip(wrt, found, strict=True):
            shared = tuple(range(x.ndim - inputs[k].ndim))  # an input without the batch
            gradients[k] = x.sum(shared) if shared else x
        return None, *gradients

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        """Return how the outputs change."""
        wrt = [k for k, x in enumerate(tangents) if x is not None]
        moves = [tangents[k] for k in wrt]
        name = _derivative(ctx.name, "jvp", wrt)
        return run(name, [*ctx.saved_tensors, *moves])

    @staticmethod
    def vmap(info: Any, axes: Any, name: str, *inputs: Any) -> Any:
        """Return the outputs with one more axis in front."""
        outputs = run(name, _moved(info, axes[1:], name, inputs))
        return outputs, (0,) * len(outputs)


# PyTorch looks up the signature at every call: this makes it three times as fast.
DifferentiableCall.forward.__signature__ = inspect.signature(DifferentiableCall.forward)
