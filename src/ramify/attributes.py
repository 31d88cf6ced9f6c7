"""Quantities as attributes of a Robot: compiled on first use, and kept.

`Compiled` is one quantity: ``robot.mass_matrix`` is its Function. `Asked` is one that
takes further arguments, such as a frame: ``robot.jacobian(q, "hand")``. `direct` lets
a method be the compiled callable that its body calls. `Method` is a function of another
module that takes the robot first.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, final, overload

from ramify.backend.chooser import Chooser
from ramify.compiling import compile
from ramify.function import Function
from ramify.once import made_once
from ramify.quantities.base import Quantity

if TYPE_CHECKING:
    from ramify.robot import Robot

F = TypeVar("F", bound=Callable[..., Any])


@final
class Compiled:
    """A quantity that needs nothing but the state."""

    def __init__(self, quantity: Quantity) -> None:
        self.quantity = quantity

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, robot: None, owner: type) -> Quantity: ...

    @overload
    def __get__(self, robot: Robot, owner: type) -> Function: ...

    def __get__(self, robot: Robot | None, owner: type) -> Quantity | Function:
        if robot is None:
            return self.quantity
        return made_once(
            robot.__dict__, self.name, lambda: compile(self.quantity, robot)
        )


@final
class Asked:
    """A quantity of the state and of something more: a frame, or tasks."""

    def __init__(self, quantity: Callable[..., Quantity], *state: str) -> None:
        """Take what makes the quantity, and the names of the state that comes first."""
        self.quantity = quantity
        self.state = state
        self.__doc__ = quantity.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, robot: None, owner: type) -> Callable[..., Quantity]: ...

    @overload
    def __get__(self, robot: Robot, owner: type) -> Chooser: ...

    def __get__(
        self, robot: Robot | None, owner: type
    ) -> Callable[..., Quantity] | Chooser:
        if robot is None:
            return self.quantity
        functions: dict[Any, Function] = {}

        def function(*rest: Any, **options: Any) -> Function:
            """Return the compiled function, to be called with the state alone."""
            key = (_frozen(rest), _frozen(options))
            return made_once(
                functions, key, lambda: compile(self.quantity(*rest, **options), robot)
            )

        return made_once(
            robot.__dict__,
            self.name,
            lambda: Chooser(self.name, self.state, function, self.__doc__),
        )


@final
class Direct:
    """A method that is one compiled callable: see `direct`."""

    def __init__(self, method: Callable[..., Any], source: str) -> None:
        self.method = method
        self.source = source

    def __get__(self, robot: Robot | None, owner: type) -> Callable[..., Any]:
        if robot is None:
            return self.method
        made = getattr(robot, self.source)
        made.__doc__ = self.method.__doc__
        made.__signature__ = inspect.signature(self.method.__get__(robot))
        robot.__dict__[self.method.__name__] = made
        return made


def direct(source: str) -> Callable[[F], F]:
    """Return a decorator for a method that only calls an attribute of its robot.

    ``robot.method`` then is that attribute, a compiled callable, and a call costs no
    more than its own. The method is there for its signature and its docstring, and
    for ``Robot.method(robot, ...)``.
    """
    return lambda method: cast(F, Direct(method, source))


@final
class Method:
    """A function of a robot, in a module that itself needs Robot, as a method."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __get__(self, robot: Robot | None, owner: type) -> Callable[..., Any]:
        function = getattr(importlib.import_module(self.module), self.name)
        return function if robot is None else functools.partial(function, robot)


def _frozen(x: Any) -> Any:
    """Return lists and dicts as tuples, so that they can be keys."""
    if isinstance(x, dict):
        pairs = cast("dict[Any, Any]", x)
        return tuple((k, _frozen(v)) for k, v in pairs.items())
    if isinstance(x, (list, tuple)):
        return tuple(_frozen(v) for v in cast("list[Any]", x))
    return x
