"""Compiled functions as functions of a library with transformations: JAX and PyTorch.

A library says how it takes values as arrays of its own, and how it runs a program on
them; names, shapes, batches and results are the same for all.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol, cast, final

from ramidyn.backend.calls import arguments
from ramidyn.backend.calls.arguments import Signature
from ramidyn.concurrency import made_once
from ramidyn.errors import ArgumentError, Error, install_command
from ramidyn.function import Function, Method, compilation_of, signature_of
from ramidyn.simulation.scan import Scan

if TYPE_CHECKING:
    from ramidyn.interop.differentiable import Differentiable


class Library(Protocol):
    """What differs between libraries."""

    name: str
    """in messages"""

    def arrays(self, signature: Signature, values: Sequence[Any]) -> list[Any]:
        """Return the inputs as arrays of the library, of one dtype."""
        ...

    def run(
        self, f: Differentiable, arrays: list[Any], batch: int | None
    ) -> Sequence[Any]:
        """Return the outputs; inputs have the batch axis in front, or none."""
        ...

    def visible(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function as the library's compiler should see it in a method."""
        ...


def require(module: str, name: str) -> None:
    """Raise an error that says how to install a library that is missing."""
    if importlib.util.find_spec(module) is None:
        raise Error(f"to_{module} needs {name}: {install_command(module)}")


def wrapped(f: Any, library: Library) -> Callable[..., Any]:
    """Return a compiled function as a function of a library."""
    key = f"_in_{library.name}"
    if isinstance(f, Method):
        return made_once(f.__dict__, key, lambda: _of_method(f, library))
    if not isinstance(f, Function):
        raise ArgumentError(
            f"f is {f!r}; expected a compiled function, such as "
            "robot.forward_dynamics or what ramidyn.compile returns"
        )
    if signature_of(f).layout != "batch_first":
        raise ArgumentError(
            f"f has layout='batch_last'; in {library.name} batch axes come first: "
            "compile it with layout='batch_first', and choose axes with vmap"
        )
    return made_once(f.__dict__, key, lambda: _of_function(f, library))


def _of_method(f: Method, library: Library) -> Callable[..., Any]:
    """Return a method, whose options select the function."""

    def call(*values: Any, **named: Any) -> Any:
        function, inputs = f.select(values, named)
        return wrapped(function, library)(**inputs)

    return Owner(f, library).method(call, inspect.signature(f))


def _of_function(f: Function, library: Library) -> Callable[..., Any]:
    from ramidyn.interop.differentiable import Differentiable  # noqa: PLC0415  if used

    signature = signature_of(f)
    differentiable = Differentiable(compilation_of(f))

    def call(*values: Any, **named: Any) -> Any:
        given = (*values, *named.values())
        *bound, out = arguments.bind(signature, given, tuple(named))
        if out is not None:
            raise ArgumentError(
                f"{signature.name} was called with out=, which {library.name} "
                "functions do not support; omit out="
            )
        return _call(library, signature, differentiable, bound)

    kind, known = inspect.Parameter.POSITIONAL_OR_KEYWORD, dict(signature.defaults)
    parameters = [
        inspect.Parameter(n, kind, default=known.get(n, inspect.Parameter.empty))
        for n in signature.input_names
    ]
    return Owner(f, library).method(call, inspect.Signature(parameters))


@final
class Owner:
    """The object whose only method is a compiled function as one of a library.

    A method is pickled as its owner and its name, and a function not at all.
    """

    def __init__(self, f: Function | Method, library: Library) -> None:
        self.f = f
        self.library = library

    def __reduce__(self) -> tuple[Any, ...]:
        return _owner_of, (self.f, self.library)

    def method(
        self, call: Callable[..., Any], signature: inspect.Signature
    ) -> Callable[..., Any]:
        """Return the method, with the name and the docstring of the function."""
        node, f = self.library.visible(call), self.f

        def method(_owner: Owner, *values: Any, **named: Any) -> Any:
            return node(*values, **named)

        # torch.compile limits recompilations per code object: each has its own.
        method.__code__ = method.__code__.replace()
        name = f.__name__ if isinstance(f, Method) else f.name
        method.__name__ = method.__qualname__ = name
        method.__doc__ = f.__doc__
        own = inspect.Parameter("_owner", inspect.Parameter.POSITIONAL_ONLY)
        method.__dict__["__signature__"] = signature.replace(
            parameters=[own, *signature.parameters.values()]
        )
        made = self.__dict__[name] = MethodType(method, self)
        return made


def _owner_of(f: Function | Method, library: Library) -> Any:
    """Return the owner of the function in this process."""
    return cast(Any, wrapped(f, library)).__self__


def _call(
    library: Library, signature: Signature, f: Differentiable, values: Sequence[Any]
) -> Any:
    """Check the inputs, by their shapes and dtypes only, and run."""
    arrays = library.arrays(signature, values)
    batches = [
        arguments.batch_of(signature, name, core, tuple(a.shape))
        for (name, core), a in zip(signature.inputs, arrays, strict=True)
    ]
    batch = arguments.common_batch(signature, batches)
    inputs = [
        a if own in (None, batch) else a[0]
        for a, own in zip(arrays, batches, strict=True)
    ]
    found = library.run(f, inputs, batch)
    if len(found) == 1:
        return found[0]
    return arguments.make_result(signature.output_names, found)


def to_jax(f: Any) -> Callable[..., Any]:
    """Return a compiled function as a JAX function.

    It takes and returns JAX arrays, and works under jit, vmap, grad, vjp, jvp, jacfwd,
    jacrev, hessian and lax.scan. Derivatives are compiled too, when they are first
    needed. Inputs are float32 or float64, and so is the computation: without JAX's
    option jax_enable_x64 everything is float32. Numbers and integers take the dtype of
    the other inputs. Several outputs are a named tuple. Derivatives with respect to q
    are those by its entries, such as those of a quaternion.

    Args:
        f: a method of a robot such as ``robot.forward_dynamics``, or a function from
            `compile` or `kernel`. Methods of frames take the frame as before:
            ``ramidyn.to_jax(robot.pose)(q, "hand")``. Of a `scan`, all steps are one
            node with one gradient, of first order, in the dtype of its step.
    """
    require("jax", "JAX")
    if isinstance(f, Scan):
        from ramidyn.interop.time_loops import scan_in_jax  # noqa: PLC0415  if used

        return scan_in_jax(f)
    from ramidyn.interop.jax_primitive import Jax  # noqa: PLC0415  imports JAX

    return wrapped(f, Jax())


def to_torch(f: Any) -> Callable[..., Any]:
    """Return a compiled function as a PyTorch function.

    It takes and returns tensors in CPU memory, without copies, and works with autograd,
    torch.func.vmap, grad, vjp and jacrev, and torch.compile. Gradients of any order are
    compiled too, when they are first needed. Inputs are float32 or float64, and so is
    the computation. Numbers, lists and integers take the dtype of the other inputs;
    lists and NumPy arrays are copied. Several outputs are a named tuple. Derivatives
    with respect to q are those by its entries, such as those of a quaternion.

    Args:
        f: a method of a robot such as ``robot.forward_dynamics``, or a function from
            `compile` or `kernel`. Methods of frames take the frame as before:
            ``ramidyn.to_torch(robot.pose)(q, "hand")``. Of a `scan`, all steps are one
            node with one gradient, of first order, in the dtype of its step.
    """
    require("torch", "PyTorch")
    if isinstance(f, Scan):
        from ramidyn.interop.time_loops import scan_in_torch  # noqa: PLC0415  if used

        return scan_in_torch(f)
    from ramidyn.interop.torch_operator import PyTorch  # noqa: PLC0415  imports PyTorch

    return wrapped(f, PyTorch())
