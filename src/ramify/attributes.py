"""Quantities as attributes of a Robot: compiled on first use, and kept.

`Compiled` is one quantity: ``robot.mass_matrix`` is its Function. `Asked` is one that
takes further arguments, such as a frame: ``robot.jacobian(q, "hand")``. `Method` is a
function of another module that takes the robot first.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast, final, overload

from ramify.compiling import compile
from ramify.errors import ShapeError
from ramify.function import Function
from ramify.once import made_once
from ramify.quantities.base import Quantity

if TYPE_CHECKING:
    from ramify.robot import Robot


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
    def __get__(self, robot: Robot, owner: type) -> Question: ...

    def __get__(
        self, robot: Robot | None, owner: type
    ) -> Callable[..., Quantity] | Question:
        if robot is None:
            return self.quantity
        return made_once(robot.__dict__, self.name, lambda: Question(robot, self))


@final
class Question:
    """One such quantity of one robot; what has been compiled for it is kept."""

    def __init__(self, robot: Robot, asked: Asked) -> None:
        self._robot = robot
        self._asked = asked
        self._functions: dict[Any, Function] = {}
        self.__doc__ = asked.__doc__

    def __repr__(self) -> str:
        arguments = ", ".join((*self._asked.state, "..."))
        return f"{self._asked.name}({arguments}) of {self._robot.name}"

    def __call__(self, *arguments: Any, out: Any = None, **options: Any) -> Any:
        """Return the quantity for a state, and what else it asks for."""
        n = len(self._asked.state)
        state, rest = arguments[:n], arguments[n:]
        if len(state) < n or any(isinstance(x, str) for x in state):
            wanted = ", ".join(self._asked.state)
            raise ShapeError(
                f"{self._asked.name} needs {wanted} first, as arrays; "
                f"{len(arguments)} arguments were given"
            )
        f = self.function(*rest, **options)
        return f(*state) if out is None else f(*state, out=out)

    def function(self, *rest: Any, **options: Any) -> Function:
        """Return the compiled function, to be called with the state alone."""
        key = (_frozen(rest), _frozen(options))
        return made_once(
            self._functions,
            key,
            lambda: compile(self._asked.quantity(*rest, **options), self._robot),
        )


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
