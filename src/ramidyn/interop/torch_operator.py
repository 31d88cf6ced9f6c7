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
        """Return the inputs as tensors of one dtype; numbers take that of tensors."""
        if not values:
            raise ArgumentError(
                f"{signature.name!r} has no inputs; call the compiled function itself"
            )
        given = zip(signature.input_names, values, strict=True)
        dtypes = [_dtype(signature, name, value) for name, value in given]
        is_single = torch.float32 in dtypes and torch.float64 not in dtypes
        dtype = torch.float32 if is_single else torch.float64
        return [
            value if own is dtype else torch.as_tensor(value, dtype=dtype)
            for value, own in zip(values, dtypes, strict=True)
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
        node = torch.compiler.allow_in_graph(call)

        def outer(*values: Any, **named: Any) -> Any:  # or `call` itself is traced
            return node(*values, **named)

        # torch.compile limits recompilations per code object: each has its own.
        outer.__code__ = outer.__code__.replace()
        return outer


def _dtype(signature: Signature, name: str, value: Any) -> Any:
    """Return the dtype of an input that can be used, or None for a number."""
    if isinstance(value, (int, float)):
        return None
    needed = f"{signature.name!r} in PyTorch needs a tensor of float32 or float64"
    if not isinstance(value, torch.Tensor):
        raise ShapeError(f"{name} is {type(value).__name__}; {needed}")
    if value.dtype not in (torch.float32, torch.float64):
        raise ShapeError(f"{name} is a tensor of {value.dtype}; {needed}")
    if value.layout is not torch.strided:
        raise ShapeError(f"{name} has layout {value.layout}; pass {name}.to_dense()")
    if value.device.type not in ("cpu", "meta"):
        raise ArgumentError(
            f"{name} is on device {str(value.device)!r}, but {signature.name!r} runs "
            f"on the CPU only; pass {name}.cpu()"
        )
    return value.dtype


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
