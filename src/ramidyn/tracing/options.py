"""The options that quantities share, each checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from math import inf, isfinite
from numbers import Real
from typing import Any, Final, cast

from ramidyn.description.conventions import EXPRESSED_IN, axes_named
from ramidyn.errors import ArgumentError

KINDS = ("classical", "spatial")


def one_of(name: str, value: object, possible: Collection[str]) -> str:
    """Return a word of a list, or raise ArgumentError."""
    if isinstance(value, str) and value in possible:
        return value
    listed = ", ".join(map(repr, possible))
    raise ArgumentError(f"{name} is {value!r}; possible: {listed}")


def frame(value: object) -> str:
    """Return the name of a frame; tracing checks whether the robot has it."""
    if isinstance(value, str):
        return value
    raise ArgumentError(
        f"frame is {value!r}; expected a name, such as one of robot.frame_names"
    )


def finite_number(
    name: str,
    value: object,
    expected: str,
    is_valid: Callable[[float], bool] = lambda _: True,
) -> float:
    """Return a finite number that is valid, or raise ArgumentError."""
    if isinstance(value, Real) and value is not True and value is not False:
        try:
            number = float(value)
        except OverflowError:
            number = inf
        if isfinite(number) and is_valid(number):
            return number
    raise ArgumentError(f"{name} is {value!r}; expected {expected}")


def nonnegative(name: str) -> Callable[[object], float]:
    """Return the check of an option that is a number, 0 or more."""
    expected = "a number, 0 or more"
    return lambda value: finite_number(name, value, expected, lambda x: x >= 0.0)


def external(value: object) -> tuple[str, ...]:
    """Return the names of frames that external forces act on."""
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        names = tuple(cast(Iterable[object], value))
        if all(isinstance(n, str) for n in names):
            return cast(tuple[str, ...], names)
    raise ArgumentError(f"external is {value!r}; expected a list of frame names")


def tasks(value: object) -> Any:
    """Return the tasks as a tuple; a name stands for the pose of that frame."""
    from ramidyn.algorithms.operational.tasks import tasks_of

    return tasks_of(cast(Any, value))


def flag(name: str) -> Callable[[object], bool]:
    """Return the check of an option that is True or False."""

    def check(value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ArgumentError(f"{name} is {value!r}; possible: True, False")

    return check


Checks = Mapping[str, Callable[[Any], Any]]
"""Option -> what returns its value or raises ArgumentError."""

SHARED: Final[Checks] = {
    "frame": frame,
    "tasks": tasks,
    "expressed_in": lambda x: axes_named(x) or one_of("expressed_in", x, EXPRESSED_IN),
    "kind": partial(one_of, "kind", possible=KINDS),
    "damping": nonnegative("damping"),
    "external": external,
    "packed": flag("packed"),
    "rate": nonnegative("rate"),
    "response": partial(one_of, "response", possible=("auto", "factor", "propagators")),
}
"""The options that mean the same in every quantity; others are in its declaration."""
