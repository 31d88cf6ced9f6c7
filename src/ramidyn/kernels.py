"""Kernels: Python functions of symbols, compiled to native code."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ramidyn.compilation import Compilation
from ramidyn.compiler import Stages
from ramidyn.errors import ArgumentError
from ramidyn.function import CallOptions, Function
from ramidyn.tracing.quantity import Quantity

if TYPE_CHECKING:
    from ramidyn.symbolic.program import Program
    from ramidyn.symbolic.trace import Shape


def kernel(
    fn: Callable[..., Any],
    inputs: Mapping[str, Shape],
    *,
    dtype: npt.DTypeLike = "float64",
    lanes: int | None = None,
    threads: int = 1,
    layout: str = "batch_first",
    name: str | None = None,
    defaults: Mapping[str, float] | None = None,
) -> Function:
    """Compile a Python function of scalars and arrays to native code.

    Methods of robots, compiled functions and other kernels that fn calls become part of
    the kernel and share common computations.

    Args:
        fn: called once with symbols: NumPy arrays of them, or a scalar for shape ().
            It returns a symbol or an array of them, or a dict, named tuple or tuple of
            these for several outputs.
        inputs: the shape of each input by the name of fn's parameter, or in their
            order. Parameters with defaults may be omitted; they become constants.
        dtype: "float64" or "float32".
        lanes: states per vector, for batches; chosen for the processor by default.
        threads: number of threads that share a large batch.
        layout: where the batch axis is: "batch_first" or "batch_last".
        name: name of the function in messages; fn's own name by default.
        defaults: default values of scalar inputs, by name; fn's own by default.

    >>> import numpy as np, ramidyn
    >>> norm = ramidyn.kernel(lambda x: ramidyn.math.sqrt(x @ x), {"x": 3}, name="norm")
    >>> norm(np.array([2.0, 3.0, 6.0]))
    array(7.)
    >>> norm(np.array([[2.0, 3.0, 6.0], [0.0, 3.0, 4.0]]))
    array([7., 5.])
    """
    from ramidyn.symbolic.parameters import default_values, matched  # noqa: PLC0415  not from the cache
    from ramidyn.symbolic.trace import trace  # noqa: PLC0415  not from the cache

    if isinstance(fn, Quantity):
        raise ArgumentError(
            f"{fn} is a quantity of a robot; "
            "compile it with ramidyn.compile(..., robot)"
        )
    if not callable(fn):
        raise ArgumentError(f"fn is {fn!r}; expected a function")
    if not isinstance(name, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"name is {name!r}; expected text")
    defaults = {} if defaults is None else defaults
    for what, given in (("inputs", inputs), ("defaults", defaults)):
        if not isinstance(given, Mapping) or not all(isinstance(n, str) for n in given):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{what} is {given!r}; expected a dictionary, such as {{'q': 7}}"
            )
    options = CallOptions.checked(dtype, lanes, threads, layout)
    known = default_values(fn, inputs, defaults)
    options = replace(options, defaults=tuple(known.items()))
    start = time.perf_counter()
    called = name or getattr(fn, "__name__", type(fn).__name__)
    traced = partial(trace, matched(fn, inputs), dict(inputs), called)
    program = traced(options.dtype)
    compilation = Compilation.of(program, options, Stages, traced=traced)
    compilation.seconds = time.perf_counter() - start
    return Function(compilation)


def program_kernel(program: Program, options: CallOptions) -> Function:
    """Return a program that has been traced as a compiled function."""
    return Function(Compilation.of(program, options, Stages))
