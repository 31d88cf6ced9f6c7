"""Methods of Robot that run compiled code: signatures and docstrings are in robot.py.

``@computed`` implements a method, which has a full signature, by the quantity of the
same name. A type checker sees the method; at run time ``robot.mass_matrix`` is the
compiled function itself, made at first use and kept; ``robot.jacobian`` finds the
function of the frame that it is called with. A quantity takes its docstring from there.
``@direct`` does the same for methods that are not quantities.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

from ramidyn.concurrency import made_once
from ramidyn.tracing.documentation import DOCUMENTATION

if TYPE_CHECKING:
    from ramidyn.backend.calls.dispatch import Dispatcher
    from ramidyn.function import Function
    from ramidyn.robot import Robot

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M")


def computed(method: F) -> F:
    """Implement a method by the quantity of the same name."""
    return cast(F, Computed(method))


@final
class Computed:
    """A method of Robot whose body is a compiled quantity."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__
        DOCUMENTATION[method.__name__] = inspect.getdoc(method) or ""
        self.unbound = called_on_robots(method)

    def __get__(self, robot: Robot | None, owner: type) -> Any:
        if robot is None:
            return self.unbound
        name = self.method.__name__
        return made_once(robot.__dict__, name, lambda: self._made(robot))

    def _made(self, robot: Robot) -> Function | Dispatcher:
        from ramidyn.backend.calls.dispatch import Dispatcher
        from ramidyn.compiler import compile, deferred
        from ramidyn.quantities.external import wrenches
        from ramidyn.quantities.registry import QUANTITIES
        from ramidyn.tracing.quantity import INPUTS, REQUIRED

        quantity = QUANTITIES[self.method.__name__]
        needed = [n for n, x in quantity.declaration.defaults.items() if x is REQUIRED]
        functions: dict[Any, Function] = {}

        def function(*rest: Any, **options: Any) -> Function:
            """Return the compiled function, to be called with only the state."""
            one = quantity(*rest, **options)
            return made_once(functions, one.given, lambda: compile(one, robot))

        inputs = quantity.force_inputs(robot.model)
        if not needed:
            shown = inspect.signature(self.method).parameters
            options = frozenset(n for n in quantity.declaration.defaults if n in shown)
            call = partial(_call_with, function, wrenches, options, {})
            otherwise = (options, call)
            made = deferred(quantity, robot, otherwise)
            return documented(made, self.method, robot, inputs)
        state = tuple(n for n in INPUTS if n in quantity.declaration.inputs)
        made = Dispatcher(quantity.name, state, function)
        return documented(made, self.method, robot, inputs)


def _call_with(
    function: Callable[..., Function],
    wrenches: Callable[[object], tuple[tuple[str, ...], Any]],
    options: Collection[str],
    known: dict[Any, Function],
    *values: Any,
    **named: Any,
) -> Any:
    """Call the function of the options that are among the arguments.

    Results are cached by the options as given, because checking is slow.
    """
    given = {n: named.pop(n) for n in options if n in named}
    external = given.pop("external", None)
    if external is not None:
        frames, array = wrenches(external)
        if frames:
            given["external"], named["external"] = frames, array
    key = tuple(given.items())
    try:
        found = known.get(key)
    except TypeError:  # for example, a list cannot be part of a key
        return function(**given)(*values, **named)
    if found is None:
        found = known[key] = function(**given)
    return found(*values, **named)


@final
class Direct:
    """A method that is one compiled callable: see `direct`."""

    def __init__(
        self, method: Callable[..., Any], make: Callable[[Robot], Any]
    ) -> None:
        self.method = method
        self.make = make
        self.unbound = called_on_robots(method)
        self.__doc__ = method.__doc__

    def __get__(self, robot: Robot | None, owner: type) -> Callable[..., Any]:
        if robot is None:
            return self.unbound
        return made_once(
            robot.__dict__,
            self.method.__name__,
            lambda: documented(self.make(robot), self.method, robot),
        )


def direct(make: Callable[[Robot], Any]) -> Callable[[F], F]:
    """Return a decorator for a method implemented by ``make(robot)``.

    That is a compiled callable, made at first use, and called without overhead. The
    method provides only its signature and docstring.
    """
    return lambda method: cast(F, Direct(method, make))


def called_on_robots(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the value of ``Robot.method``: a function of a robot and the arguments."""

    @functools.wraps(method)
    def unbound(robot: Robot, *arguments: Any, **named: Any) -> Any:
        return getattr(robot, method.__name__)(*arguments, **named)

    return unbound


def documented(
    made: M,
    method: Callable[..., Any],
    robot: Robot,
    inputs: Mapping[str, str] | None = None,
) -> M:
    """Return a compiled callable with the docstring and signature of a method.

    It is pickled as the method of its robot. ``inputs`` are those of the robot's force
    elements, and what they are.
    """
    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())[1:]
    text = method.__doc__
    if inputs:
        kind = inspect.Parameter.KEYWORD_ONLY
        new = [inspect.Parameter(n, kind, annotation="ArrayLike") for n in inputs]
        place = next((k for k, p in enumerate(parameters) if p.kind == kind), 0)
        parameters[place:place] = new
        listed = "\n".join(f"    {n}: {words}" for n, words in inputs.items())
        text = f"{inspect.getdoc(method)}\n\nInputs of this robot's forces:\n{listed}"
    made.__dict__.update(
        __doc__=text,
        __name__=method.__name__,
        method_of=(robot, method.__name__),
        __signature__=signature.replace(parameters=parameters),
    )
    return made
