"""Scans as functions of JAX and PyTorch: all steps are one node with one gradient."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ramidyn.backend.calls import arguments
from ramidyn.concurrency import made_once
from ramidyn.errors import ArgumentError
from ramidyn.simulation.scan import Scan
from ramidyn.simulation.scan_derivatives import ScanVjp


@final
class ScanNode:
    """A scan, and its gradients by some inputs."""

    def __init__(self, scan: Scan, library: str) -> None:
        if scan.signature.layout != "batch_first":
            raise ArgumentError(
                f"f has layout='batch_last'; in {library} batch axes come first: "
                "compile its step with layout='batch_first'"
            )
        self.scan = scan
        self._gradients: dict[tuple[str, ...], ScanVjp] = {}

    def bind(self, values: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Return the inputs in order."""
        given = (*values, *named.values())
        *bound, out = arguments.bind(self.scan.signature, given, tuple(named))
        if out is not None:
            raise ArgumentError(
                f"{self.scan.signature.name} was called with out=, which is not "
                "supported here; omit out="
            )
        return bound

    def shapes(self, inputs: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs, from those of the inputs."""
        scan = self.scan
        own = [scan.batch_of(k, tuple(x.shape)) for k, x in enumerate(inputs)]
        batch = arguments.common_batch(scan.signature, own)
        results = scan.results
        return [results.shape(core, batch) for _, core in results.outputs]

    def run(self, *inputs: Any) -> list[Any]:
        """Return the outputs as NumPy arrays."""
        found = self.scan(*[np.asarray(x) for x in inputs])
        return [found] if len(self.scan.results.outputs) == 1 else list(found)

    def gradients(
        self, wrt: Sequence[int], inputs: Sequence[Any], weights: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients of some inputs, in their shapes."""
        names = tuple(self.scan.signature.input_names[k] for k in wrt)
        vjp = made_once(self._gradients, names, lambda: self.scan.vjp(names))
        arrays = [np.asarray(x) for x in inputs]
        _, found = vjp.run(arrays, [np.asarray(w) for w in weights])
        return [_summed(x, arrays[k].shape) for k, x in zip(wrt, found, strict=True)]

    def result(self, found: Sequence[Any]) -> Any:
        """Return one output, or a named tuple of several."""
        if len(found) == 1:
            return found[0]
        return arguments.make_result(self.scan.results.output_names, found)


def _summed(x: Any, shape: tuple[int, ...]) -> Any:
    """Return a gradient in the shape of an input that states share."""
    if x.ndim > len(shape):
        return x.sum(axis=0)
    return x if x.shape == shape else x.sum(axis=0, keepdims=True)


def scan_in_torch(scan: Scan) -> Callable[..., Any]:
    """Return a scan as a function of PyTorch."""
    torch: Any = importlib.import_module("torch")
    node, dtype = ScanNode(scan, "PyTorch"), getattr(torch, scan.signature.dtype)
    function: Any = torch.autograd.Function

    class ScanCall(function):
        """All steps as one node; PyTorch calls methods by these names."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> tuple[Any, ...]:
            """Return the outputs."""
            ctx.save_for_backward(*inputs)
            found = node.run(*[x.numpy(force=True) for x in inputs])
            return tuple(torch.from_numpy(x) for x in found)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
            """Return the gradients of the inputs that need one."""
            inputs = [x.numpy(force=True) for x in ctx.saved_tensors]
            wrt = [k for k, is_needed in enumerate(ctx.needs_input_grad) if is_needed]
            given = [w.numpy(force=True) for w in weights]
            found = node.gradients(wrt, inputs, given)
            gradients: list[Any] = [None] * len(inputs)
            for k, x in zip(wrt, found, strict=True):
                gradients[k] = torch.from_numpy(np.ascontiguousarray(x))
            return tuple(gradients)

    def call(*values: Any, **named: Any) -> Any:
        inputs = [torch.as_tensor(x, dtype=dtype) for x in node.bind(values, named)]
        return node.result(ScanCall.apply(*inputs))

    return call


def scan_in_jax(scan: Scan) -> Callable[..., Any]:
    """Return a scan as a function of JAX."""
    jax: Any = importlib.import_module("jax")
    jnp: Any = importlib.import_module("jax.numpy")
    node, kind = ScanNode(scan, "JAX"), np.dtype(scan.signature.dtype)

    def called(f: Callable[..., Any], shapes: Any, *inputs: Any) -> Any:
        wanted = [jax.ShapeDtypeStruct(shape, kind) for shape in shapes]
        return jax.pure_callback(f, wanted, *inputs, vmap_method="sequential")

    @jax.custom_vjp
    def run(*inputs: Any) -> Any:
        return called(node.run, node.shapes(inputs), *inputs)

    def forward(*inputs: Any) -> tuple[Any, Any]:
        return run(*inputs), inputs

    def backward(inputs: Any, weights: Any) -> Any:
        count = len(inputs)

        def gradients(*given: Any) -> Any:
            return node.gradients(range(count), given[:count], given[count:])

        return tuple(called(gradients, [x.shape for x in inputs], *inputs, *weights))

    run.defvjp(forward, backward)

    def call(*values: Any, **named: Any) -> Any:
        if kind == np.float64 and not jax.config.jax_enable_x64:
            raise ArgumentError(
                f"{scan.signature.name!r} runs in float64, which JAX has off; set "
                "jax.config.update('jax_enable_x64', True), or compile the step with "
                "dtype='float32'"
            )
        inputs = [jnp.asarray(x, dtype=kind) for x in node.bind(values, named)]
        return node.result(run(*inputs))

    return call
