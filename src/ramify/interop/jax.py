"""Compiled functions as JAX functions."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ramify.backend.python_call import arguments
from ramify.backend.python_call.arguments import Signature
from ramify.backend.python_call.dispatch import Dispatcher
from ramify.errors import ArgumentError, Error, ShapeError
from ramify.function import Function, compilation_of, signature_of
from ramify.symbolic.once import made_once

if TYPE_CHECKING:
    from ramify.interop.differentiable import Differentiable


def to_jax(f: Any) -> Callable[..., Any]:
    """Return a compiled function as a JAX function.

    It takes and returns JAX arrays, and works under jit, vmap, grad, vjp, jvp, jacfwd,
    jacrev, hessian and lax.scan. Derivatives are compiled too, when they are first
    needed. Inputs are float32 or float64, and so is the computation: without JAX's
    option jax_enable_x64 everything is float32. Several outputs are a named tuple.
    Derivatives with respect to q are those by its entries, such as those of a
    quaternion.

    Args:
        f: a method of a robot such as ``robot.forward_dynamics``, or a function from
            `compile` or `kernel`. Methods of frames take the frame as before:
            ``ramify.to_jax(robot.pose)(q, "hand")``.
    """
    try:
        importlib.import_module("jax")
    except ImportError:
        raise Error("to_jax needs JAX: pip install 'ramify[jax]'") from None
    if isinstance(f, Dispatcher):
        return _of_dispatcher(f)
    if not isinstance(f, Function):
        raise ArgumentError(
            f"f is {f!r}; expected a compiled function, such as "
            "robot.forward_dynamics or what ramify.compile returns"
        )
    if signature_of(f).layout != "batch_first":
        raise ArgumentError(
            "f has layout='batch_last'; in JAX batch axes come first: compile it with "
            "layout='batch_first', and choose axes with jax.vmap"
        )
    return made_once(f.__dict__, "_to_jax", lambda: _jax_function(f))


def _of_dispatcher(f: Dispatcher) -> Callable[..., Any]:
    """Return a method whose arguments behind the state choose the function."""

    def call(*values: Any, **options: Any) -> Any:
        count = len(f.state)
        function = f.function(*values[count:], **options)
        return to_jax(function)(*values[:count])

    call.__name__ = call.__qualname__ = f.__dict__["__name__"]
    call.__doc__ = f.__doc__
    call.__dict__["__signature__"] = inspect.signature(f)
    return call


def _jax_function(f: Function) -> Callable[..., Any]:
    from ramify.interop.differentiable import Differentiable  # noqa: PLC0415  if used

    signature = signature_of(f)
    differentiable = Differentiable(compilation_of(f))

    def call(*values: Any, **named: Any) -> Any:
        given = (*values, *named.values())
        *bound, out = arguments.bind(signature, given, tuple(named))
        if out is not None:
            raise ArgumentError(
                f"{signature.name} was called with out=, but JAX arrays cannot be "
                "written to; omit out="
            )
        return _call(signature, differentiable, bound)

    call.__name__ = call.__qualname__ = f.__dict__.get("__name__", signature.name)
    call.__doc__ = f.__doc__
    kind, known = inspect.Parameter.POSITIONAL_OR_KEYWORD, dict(signature.defaults)
    call.__dict__["__signature__"] = inspect.Signature(
        [
            inspect.Parameter(n, kind, default=known.get(n, inspect.Parameter.empty))
            for n in signature.input_names
        ]
    )
    return call


def _call(
    signature: Signature, differentiable: Differentiable, values: list[Any]
) -> Any:
    """Check the inputs, by their shapes and dtypes only, and run."""
    from ramify.interop.jax_primitive import run  # noqa: PLC0415  imports JAX

    jnp: Any = importlib.import_module("jax.numpy")
    arrays = [
        _array(jnp, signature, name, value)
        for name, value in zip(signature.input_names, values, strict=True)
    ]
    strong = [a.dtype for a in arrays if not a.weak_type]
    dtype: Any = jnp.result_type(*strong) if strong else jnp.result_type(float)
    batches = [
        arguments.batch_of(signature, name, core, a.shape)
        for (name, core), a in zip(signature.inputs, arrays, strict=True)
    ]
    batch = arguments.common_batch(signature, batches)
    inputs = [
        a.astype(dtype) if own in (None, batch) else a[0].astype(dtype)
        for a, own in zip(arrays, batches, strict=True)
    ]
    found = run(differentiable, inputs, () if batch is None else (batch,), dtype.name)
    if len(found) == 1:
        return found[0]
    return arguments.make_result(signature.output_names, found)


def _array(jnp: Any, signature: Signature, name: str, value: Any) -> Any:
    """Return an input as a JAX array of real numbers."""
    try:
        array = jnp.asarray(value)
        given = f"an array of {array.dtype}"
        if array.dtype.name in ("float32", "float64"):
            return array
        if array.weak_type and array.dtype.kind == "i":
            return array
    except (TypeError, ValueError):
        given = type(value).__name__
    raise ShapeError(
        f"{name} is {given}; {signature.name!r} in JAX needs float32 or float64"
    )
