"""Methods of Robot that run compiled code: signatures and docstrings are in robot.py.

``@computed`` implements a method, which has a full signature, by the quantity of the
same name. A type checker sees the method; at run time ``robot.mass_matrix`` is a
`Method`, made at first use and kept, which calls compiled functions. A quantity takes
its docstring from there. ``@direct`` does the same for methods that are not quantities.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast, final

from ramidyn.concurrency import made_once
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.tracing.quantity import METHOD_DOCSTRINGS, REQUIRED, Quantity

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Unpack

    from ramidyn.function import Function, Key, Method
    from ramidyn.robot import Robot

F = TypeVar("F", bound=Callable[..., Any])
Make = Callable[["Robot", Callable[..., Any]], "Method"]
"""Makes the method of a robot whose name, signature and docstring are given."""


@final
class Compiled:
    """A method of Robot whose body is compiled."""

    def __init__(self, method: Callable[..., Any], make: Make) -> None:
        self.method = method
        self.make = make
        self.__doc__ = method.__doc__

        @functools.wraps(method)
        def unbound(robot: Robot, *arguments: Any, **named: Any) -> Any:
            return getattr(robot, method.__name__)(*arguments, **named)

        self.unbound = unbound

    def __get__(self, robot: Robot | None, owner: type) -> Any:
        if robot is None:
            return self.unbound
        name = self.method.__name__  # kept, so that the next look-up ends at the robot
        return made_once(robot.__dict__, name, lambda: self.make(robot, self.method))


def computed(method: F) -> F:
    """Implement a method by the quantity of the same name."""
    METHOD_DOCSTRINGS[method.__name__] = inspect.getdoc(method) or ""
    return cast(F, Compiled(method, _of_quantity))


def direct(
    make: Callable[..., Function], resolve: Callable[..., Key] | None = None
) -> Callable[[F], F]:
    """Return a decorator for a method that calls the function ``make(robot)``.

    If the method has options, they are keywords of ``resolve(robot, **options)``, and
    the function is ``make(robot, *resolved)``.
    """

    def method_of(robot: Robot, method: Callable[..., Any]) -> Method:
        if resolve is None:
            return _method(robot, method, (), tuple, make)
        return _method(
            robot,
            method,
            [*inspect.signature(resolve).parameters][1:],
            functools.partial(resolve, robot),
            make,
            needs_options=True,
        )

    return lambda method: cast(F, Compiled(method, method_of))


def _of_quantity(robot: Robot, method: Callable[..., Any]) -> Method:
    from ramidyn.compilation import Request
    from ramidyn.compiler import compilation_of
    from ramidyn.function import CallOptions, Function
    from ramidyn.quantities.external import split_wrenches

    name = method.__name__
    quantity = QUANTITIES[name]
    defaults = quantity.declaration.defaults

    def resolve(**options: Any) -> Key:
        return (quantity(**options),)

    def make(robot: Robot, wanted: Quantity, **call: Unpack[CallKeywords]) -> Function:
        found = compilation_of(Request(wanted, robot), CallOptions.of(**call))
        return Function(found, f"robot.{name}")

    return _method(
        robot,
        method,
        [n for n in defaults if n in inspect.signature(method).parameters],
        resolve,
        make,
        needs_options=REQUIRED in defaults.values(),
        split=split_wrenches if "external" in defaults else None,
        inputs=quantity.force_inputs(robot.model),
    )


class CallKeywords(TypedDict, total=False):
    """Keyword options of every method of a robot that computes.

    ``dtype``: "float64" or "float32", in which to compute; by default that of the
    inputs: float32 if all arrays are, otherwise float64. ``threads``: number of threads
    that share a large batch.
    """

    dtype: npt.DTypeLike
    threads: int


CALL: dict[str, object] = {"dtype": None, "threads": 1}
"""Options of every method, and their defaults; see `CallKeywords`."""


def _resolve(resolve: Callable[..., Key], **options: Any) -> Key:
    """Return the meaning of all options: the method's own, and those of the call."""
    from ramidyn.function import CallOptions

    call = {n: options.pop(n) for n in CALL if n in options}
    if call.get("dtype", ...) is None:  # that of the inputs, which did not decide
        del call["dtype"]
    checked = CallOptions.of(**call)
    return resolve(**options), (("dtype", checked.dtype), ("threads", checked.threads))


def _make(robot: Robot, make: Callable[..., Function], own: Key, call: Any) -> Function:
    """Return the function of resolved options."""
    return make(robot, *own, **dict(call))


def _method(
    robot: Robot,
    method: Callable[..., Any],
    options: Sequence[str],
    resolve: Callable[..., Key],
    make: Callable[..., Function],
    inputs: Mapping[str, str] | None = None,
    **further: Any,
) -> Method:
    """Return a method with its docstring and signature.

    ``inputs`` are those of the robot's force elements, with their descriptions.
    """
    from ramidyn.function import Method

    signature = inspect.signature(method)
    _, *own = signature.parameters.values()
    parameters = [p for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=x)
        for n, x in CALL.items()
    ]
    text = method.__doc__
    if inputs:
        kind = inspect.Parameter.KEYWORD_ONLY
        # A choice of forces needs the inputs of those that are chosen.
        default = None if "forces" in options else inspect.Parameter.empty
        new = [
            inspect.Parameter(n, kind, default=default, annotation="ArrayLike")
            for n in inputs
        ]
        place = next((k for k, p in enumerate(parameters) if p.kind == kind), 0)
        parameters[place:place] = new
        listed = "\n".join(f"    {n}: {words}" for n, words in inputs.items())
        text = f"{inspect.getdoc(method)}\n\nInputs of this robot's forces:\n{listed}"
    made = Method(
        robot,
        method.__name__,
        signature.replace(parameters=parameters),
        frozenset((*options, *CALL)),
        functools.partial(_resolve, resolve),
        functools.partial(_make, robot, make),
        **further,
    )
    made.__doc__ = text
    return made
