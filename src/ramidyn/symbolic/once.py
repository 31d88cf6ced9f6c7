"""Values made once, by the first thread that asks: nothing is compiled twice.

The lock is the one of tracing, which most makers need. With a lock of its own, one
thread could make something and wait to trace while another traces and waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, final, overload

from ramidyn.symbolic.expr import tracing

T = TypeVar("T")


def made_once(store: dict[Any, T], key: Any, make: Callable[[], T]) -> T:
    """Return ``store[key]``, made by the first thread that asks."""
    if key not in store:
        with tracing():
            if key not in store:  # another thread may have made it while we waited
                store[key] = make()
    return store[key]


@final
class once(Generic[T]):  # noqa: N801 (a decorator)
    """A cached property that several threads may ask for at the same time."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> once[T]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: Any, kind: type) -> once[T] | T:
        if owner is None:
            return self
        return made_once(owner.__dict__, self.name, lambda: self.make(owner))
