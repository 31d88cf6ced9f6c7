"""A callable whose extra arguments select the compiled function to call.

``f(q, "hand", out=J)`` is ``choose("hand")(q, out=J)``. What was chosen is kept by the
arguments as they were given, and emitted code looks there first (`dispatch_entry`).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, final

from ramidyn.backend.calls.vectorcall import (
    Vectorcall,
    attach_choice,
    vectorcalled,
)
from ramidyn.errors import ShapeError


@final
@vectorcalled
class Dispatcher(Vectorcall):
    """A callable of a state, and of arguments that choose the function."""

    def __init__(
        self,
        name: str,
        state: tuple[str, ...],
        choose: Callable[..., Vectorcall],
        doc: str | None = None,
    ) -> None:
        """Prepare the calls.

        Args:
            name: its name in messages.
            state: the names of the arguments that come first, and choose nothing.
            choose: a function of the other arguments.
            doc: the docstring.
        """
        self._name = name
        self.state = state
        self.function = choose
        self.__doc__ = doc
        chosen: dict[Any, Vectorcall] = {}
        call = _caller(name, state, choose, chosen)
        attach_choice(self, call, len(state), chosen)

    def __get__(self, owner: object, kind: type | None = None) -> Dispatcher:
        """Return itself: to Python a routine, whose signature `help` shows."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, self.__dict__["method_of"]

    def __repr__(self) -> str:
        return f"{self._name}({', '.join((*self.state, '...'))})"


def _caller(
    name: str,
    state: tuple[str, ...],
    choose: Callable[..., Vectorcall],
    chosen: dict[Any, Vectorcall],
) -> Callable[..., Any]:
    """Return the call in Python, which fills ``chosen`` for emitted code."""
    options_of = inspect.signature(choose)

    def call(*values: Any, **named: Any) -> Any:
        options = {k: v for k, v in named.items() if k != "out"}
        given, rest = list(values[: len(state)]), values[len(state) :]
        given += [options.pop(k) for k in state[len(given) :] if k in options]
        if len(given) < len(state) or any(isinstance(x, str) for x in given):
            raise ShapeError(
                f"{name}: pass the arrays {', '.join(state)} first, then options; "
                f"{len(values)} arguments were given"
            )
        try:
            options_of.bind(*rest, **options)
        except TypeError as error:
            known = ", ".join(options_of.parameters)
            raise TypeError(f"{name}: {error}; options: {known}") from None
        function = choose(*rest, **options)
        if len(values) >= len(state):
            try:
                key = (tuple(map(sys.intern, named)) or None, *rest, *options.values())
                chosen[key] = function
            except TypeError:  # for example, a list cannot be part of a key
                pass
        out = named.get("out")
        return function(*given) if out is None else function(*given, out=out)

    return call
