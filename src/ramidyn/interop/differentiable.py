"""A compiled function with the derivatives that other libraries ask for.

    y = f(x)        tangent: ẏ = (∂f/∂x) ẋ from x and ẋ
                    cotangent: x̄ = (∂f/∂x)ᵀ ȳ from x and ȳ

Each is a compiled function of its own, made when it is first needed, and is the
transpose of the other; both can be differentiated again. x are raw coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, final

from ramidyn.compilation import Compilation
from ramidyn.compiler import Stages
from ramidyn.concurrency import made_once
from ramidyn.function import CallOptions, DType
from ramidyn.symbolic.derivatives import jvp, vjp
from ramidyn.symbolic.program import Program, live

Places = tuple[int, ...]
"""Inputs by their places."""


@final
class Differentiable:
    """A program on its way to native code, and its derivatives."""

    def __init__(
        self,
        compilation: Compilation,
        linear: int = 0,
        transpose: Callable[[], Differentiable] | None = None,
    ) -> None:
        """Prepare the derivatives.

        Args:
            compilation: of the program.
            linear: number of inputs, the last ones, that the outputs are linear in.
            transpose: what those inputs get from weights of the outputs.
        """
        self.name = compilation.name
        own = compilation.options
        self.key = f"{self.name} {compilation.digest} {own.lanes} {own.threads}"
        """the same in every process for the same program, called the same way"""
        self.inputs = compilation.inputs
        self.outputs = compilation.outputs
        self.first_linear: int = len(self.inputs) - linear
        self._compilation = compilation
        self._transpose = transpose
        self._by_dtype: dict[str, Compilation] = {}
        self._tangents: dict[Places, Differentiable] = {}
        self._cotangents: dict[Places, Differentiable] = {}

    def compiled(self, dtype: DType) -> Compilation:
        """Return the program in a dtype."""
        return made_once(self._by_dtype, dtype, lambda: self._compiled(dtype))

    def _compiled(self, dtype: DType) -> Compilation:
        own = self._compilation
        if own.options.dtype == dtype:
            return own
        options = replace(own.options, dtype=dtype)
        return Compilation.of(
            own.traced_for(dtype), options, Stages, own.choices, own.traced_for
        )

    def tangent(self, wrt: Places) -> Differentiable:
        """Return ẏ as a function of all inputs and of ẋ, for some inputs x."""
        return made_once(
            self._tangents,
            wrt,
            lambda: Differentiable(
                self._derived(jvp, wrt, len(self.outputs)),
                len(wrt),
                lambda: self.cotangent(wrt),
            ),
        )

    def cotangent(self, wrt: Places) -> Differentiable:
        """Return x̄ of some inputs x as a function of all inputs and of ȳ."""
        return made_once(
            self._cotangents,
            wrt,
            lambda: Differentiable(
                self._derived(vjp, wrt, len(wrt)),
                len(self.outputs),
                lambda: self.tangent(wrt),
            ),
        )

    def transpose(self) -> Differentiable:
        """Return what weights of the outputs give for the linear inputs."""
        assert self._transpose is not None
        return self._transpose()

    def _derived(
        self, derive: Callable[..., Program], wrt: Places, count: int
    ) -> Compilation:
        """Return the last outputs of a derivative."""
        names = [self.inputs[k][0] for k in wrt]

        def traced(dtype: str) -> Program:
            program = self._compilation.traced_for(dtype)
            return last_outputs(derive(program, names), count)

        own = self._compilation.options
        options = CallOptions(own.dtype, own.lanes, own.threads)
        return Compilation.of(traced(own.dtype), options, Stages, traced=traced)


def last_outputs(program: Program, count: int) -> Program:
    """Return a program with only its last outputs."""
    outputs = program.outputs[-count:]
    results = program.results[-sum(v.size for v in outputs) :]
    order = live(program.order, results)
    return replace(program, outputs=outputs, results=results, order=order)


def leading_axes(f: Differentiable, inputs: Sequence[Any]) -> Places:
    """Return the lengths of the batch axes, which an input has all of or none."""
    for (_, shape), x in zip(f.inputs, inputs, strict=True):
        if len(x.shape) > len(shape):
            return tuple(x.shape[: len(x.shape) - len(shape)])
    return ()


def mapped(
    moveaxis: Callable[[Any, int, int], Any],
    broadcast_to: Callable[[Any, Places], Any],
    f: Differentiable,
    inputs: Sequence[Any],
    axes: Sequence[int | None],
    length: int,
) -> tuple[list[Any], Places]:
    """Return inputs with one more batch axis in front, and all batch axes: vmap.

    Args:
        moveaxis: a function of the library that does what NumPy's does.
        broadcast_to: the same.
        f: what is called.
        inputs: its inputs.
        axes: the axis of each that is mapped, or None.
        length: of that axis.
    """
    fronts = [
        x[None] if axis is None else moveaxis(x, axis, 0)
        for x, axis in zip(inputs, axes, strict=True)
    ]
    shapes = [shape for _, shape in f.inputs]
    pairs = list(zip(fronts, shapes, strict=True))
    inner = max((tuple(x.shape[1 : x.ndim - len(s)]) for x, s in pairs), key=len)
    batch = (length, *inner)
    moved: list[Any] = []
    for x, front, axis, shape in zip(inputs, fronts, axes, shapes, strict=True):
        if axis is None and tuple(x.shape) == shape:
            moved.append(x)  # the same for all states: read as it is
            continue
        if front.ndim < len(batch) + len(shape):
            ones = (1,) * len(inner)
            front = front.reshape((length, *ones, *shape))  # noqa: PLW2901
        moved.append(broadcast_to(front, (*batch, *shape)))
    return moved, batch
