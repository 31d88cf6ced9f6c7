"""Loops in the functions that users write: `repeat` and `repeat_until`.

The body is traced once, on symbols that stand for what is carried. What depends on them
is the body of the loop; everything else it uses is computed once, before the loop.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np

from ramidyn.errors import TraceError
from ramidyn.symbolic import expr
from ramidyn.symbolic.calls import results_of, traced_body
from ramidyn.symbolic.expr import Condition, Expr, const, users_line
from ramidyn.symbolic.program import Callee, live, reachable

Carry = TypeVar("Carry")
MOST_STEPS: Final = 2**63
"""native code counts in 64 bits"""


class Repeated(NamedTuple):
    """What `repeat_until` returns."""

    carry: Any
    """what is carried after the last step"""
    is_done: Any
    """1 where the condition holds, 0 where the steps ran out"""
    steps: Any
    """the number of steps that a state took"""


def repeat(body: Callable[[Carry], Carry], carry: Carry, times: int) -> Carry:
    """Return ``body(body(... body(carry)))``, so many times.

    Inside a kernel the body becomes a loop: it is traced and compiled once.

    Args:
        body: returns what it is given, changed; the same names and shapes.
        carry: a number, an array, or a tuple or dict of these.
        times: how often.

    >>> import numpy as np, ramidyn
    >>> def root(x):  # Heron's method
    ...     return ramidyn.repeat(lambda y: 0.5 * (y + x / y), x, times=6)
    >>> ramidyn.kernel(root, {"x": ()})(2.0)
    array(1.41421356)
    """
    check_function("body", body, "what is carried")
    count = count_of("times", times)
    start = Values.of(carry)
    if not start.has_symbols and not expr.is_tracing():
        for _ in range(count):
            carry = body(carry)
        return carry

    def step(entries: list[Expr]) -> list[Expr]:
        return start.entries_of(body(start.rebuilt(entries)), "the body")

    n = len(start.entries)
    traced, shared = traced_body(step, n, _name(body))
    results = results_of(Callee(traced, count, n), [*start.entries, *shared])
    return start.rebuilt(results[:n])


def repeat_until(
    body: Callable[[Carry], Carry],
    carry: Carry,
    until: Callable[[Carry], Any],
    most: int,
) -> Repeated:
    """Repeat the body until a condition holds, at most so many times.

    Inside a kernel, each state of a batch takes the steps that it needs: one that is
    done keeps its values, and no result depends on the other states. A condition on NaN
    does not hold: such a state takes all steps, and is not done.

    Args:
        body: returns what it is given, changed; the same names and shapes.
        carry: a number, an array, or a tuple or dict of these.
        until: the condition, of what is carried; it is checked before each step.
        most: how many steps there are at most.

    >>> import numpy as np, ramidyn
    >>> def halvings(x):
    ...     found = ramidyn.repeat_until(lambda y: y / 2, x, lambda y: y < 1.0, most=50)
    ...     return {"x": found.carry, "steps": found.steps, "is_done": found.is_done}
    >>> ramidyn.kernel(halvings, {"x": ()})(np.array([0.5, 3.0, 2.0**60])).steps
    array([ 0.,  2., 50.])
    """
    check_function("body", body, "what is carried")
    check_function("until", until, "what is carried")
    count = count_of("most", most)
    start = Values.of(carry)
    if not start.has_symbols and not expr.is_tracing():
        steps = 0
        while not (is_done := bool(until(carry))) and steps < count:
            carry, steps = body(carry), steps + 1
        return Repeated(carry, float(is_done), float(steps))
    zero, one = const(0.0), const(1.0)

    def flag(values: Carry) -> Expr:
        condition: Any = until(values)
        if getattr(condition, "shape", None) == ():
            condition = condition.item()
        if isinstance(condition, bool | np.bool_):
            return one if condition else zero
        if not isinstance(condition, Condition):
            raise TraceError(
                f"{users_line()}: until returned {condition!r}; expected one "
                "condition, such as x < 1e-9 (& and | join several)"
            )
        return expr.where(condition, one, zero)

    def step(entries: list[Expr]) -> list[Expr]:
        done, taken, *values = entries
        changed = body(start.rebuilt(values))
        new = start.entries_of(changed, "the body")
        after = [flag(start.rebuilt(new)), expr.add(taken, one), *new]
        is_done = expr.compare("lt", const(0.5), done)
        return [
            expr.where(is_done, old, x) for old, x in zip(entries, after, strict=True)
        ]

    n = 2 + len(start.entries)
    traced, shared = traced_body(step, n, _name(body))
    arguments = [flag(carry), zero, *start.entries, *shared]
    callee = Callee(traced, count, n, until=True)
    done, taken, *values = results_of(callee, arguments)[:n]
    return Repeated(start.rebuilt(values), done, taken)


def unless(
    is_done: Condition,
    body: Callable[[list[Expr], list[Expr]], Sequence[Expr]],
    start: Sequence[Expr],
    given: Sequence[Expr],
) -> list[Expr]:
    """Return ``start`` where a condition holds, else ``body(start, given)``.

    A loop of at most one step: native code computes nothing of the body for states that
    are done. So all that the body computes must depend on ``start`` or ``given``.
    """
    zero, one = const(0.0), const(1.0)
    n = 1 + len(start)

    def step(entries: list[Expr]) -> list[Expr]:
        was_done = expr.compare("lt", const(0.5), entries[0])
        new = [one, *body(entries[1:n], entries[n:])]
        return [
            expr.where(was_done, old, x)
            for old, x in zip(entries[:n], new, strict=True)
        ]

    traced, shared = traced_body(step, n + len(given), _name(body))
    callee = Callee(traced, 1, n, until=True)
    arguments = [expr.where(is_done, one, zero), *start, *given, *shared]
    return results_of(callee, arguments)[1:n]


def computed_unless(is_done: Condition, start: Carry, end: Carry) -> Carry:
    """Return ``start`` where a condition holds, else ``end``, of the same form.

    What the end needs and the condition does not is computed only where it does not
    hold.
    """
    values = Values.of(start)
    first, last = values.entries, values.entries_of(end, "the end")
    known = set(reachable([is_done]))
    inside = [e for e in live(expr.nodes(), last) if _is_inside(e, known)]
    own = {*inside, *first}
    used = dict.fromkeys([*(a for e in inside for a in e.args), *last])
    given = [a for a in used if a not in own and a.op != "const"]

    def body(carried: list[Expr], others: list[Expr]) -> list[Expr]:
        value = dict(zip([*given, *first], [*others, *carried], strict=True))
        with expr.resumed_regions() as resume:
            for e in inside:
                resume(e.region)
                args = tuple([value.get(a, a) for a in e.args])
                value.setdefault(e, expr.rebuilt(e, args))
        return [value.get(e, e) for e in last]

    return values.rebuilt(unless(is_done, body, first, given))


def _is_inside(e: Expr, known: set[Expr]) -> bool:
    """Return whether a node is computed only where a condition does not hold.

    ``known`` is what the condition needs. Conditions are not passed on.
    """
    if not e.args or (e.op == "result" and e.args[0] in known):
        return False
    return e not in known or isinstance(e, Condition)


class Values(NamedTuple):
    """A number, an array, or a tuple or dict of these, as flat entries."""

    like: Any
    entries: list[Expr]
    has_symbols: bool

    @staticmethod
    def of(like: Any) -> Values:
        """Return the entries of what is carried."""
        arrays = [_array(x) for x in _parts(like)]
        entries = [x for array in arrays for x in array.ravel().tolist()]
        has_symbols = any(isinstance(x, Expr) for x in entries)
        is_traced = has_symbols or expr.is_tracing()
        return Values(
            like, [expr.lift(x) for x in entries] if is_traced else [], has_symbols
        )

    def rebuilt(self, entries: Sequence[Expr] | Sequence[float]) -> Any:
        """Return other entries in the same form."""
        rest = iter(entries)
        has_symbols = any(isinstance(x, Expr) for x in entries)

        def filled(part: Any) -> Any:
            shape = _array(part).shape
            array: Any = np.empty(shape, dtype=object if has_symbols else float)
            for k in range(array.size):
                array.flat[k] = next(rest)
            return array if shape else array.item()

        return _mapped(self.like, filled)

    def entries_of(self, other: Any, what: str) -> list[Expr]:
        """Return the entries of another value, which must have the same form."""
        mine, theirs = form_of(self.like), form_of(other)
        if mine != theirs:
            raise TraceError(
                f"{users_line()}: {what} of a loop returned {theirs}; expected what "
                f"it is given: {mine}"
            )
        return [
            expr.lift(x)
            for part in _parts(other)
            for x in _array(part).ravel().tolist()
        ]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[Any, Any]", value).values())
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else [value]


def _mapped(like: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(like, Mapping):
        return {k: change(x) for k, x in cast("Mapping[Any, Any]", like).items()}
    if isinstance(like, tuple):
        values = [change(x) for x in cast("tuple[Any, ...]", like)]
        make = getattr(cast(object, like), "_make", tuple)
        return make(values)
    return change(like)


def _array(part: Any) -> Any:
    return np.asarray(part, dtype=object)


def form_of(value: Any) -> str:
    """Return names and shapes in words."""
    if isinstance(value, Mapping):
        of = cast("Mapping[Any, Any]", value)
        return "a dict of " + ", ".join(f"{k}{_array(x).shape}" for k, x in of.items())
    if isinstance(value, tuple):
        parts = cast("tuple[Any, ...]", value)
        return "a tuple of shapes " + ", ".join(str(_array(x).shape) for x in parts)
    return f"shape {_array(value).shape}"


def check_function(name: str, value: object, of: str) -> None:
    """Raise TraceError if a value cannot be called."""
    if not callable(value):
        raise TraceError(
            f"{users_line()}: {name} is of type {type(value).__name__}; expected a "
            f"function of {of}"
        )


def count_of(name: str, value: object) -> int:
    """Return a number of steps, or raise TraceError."""
    if isinstance(value, Expr):
        raise TraceError(
            f"{users_line()}: {name} is a symbol; expected an integer that is known "
            "while tracing. Use repeat_until for a number that depends on the state"
        )
    try:
        found = operator.index(cast(Any, value))
    except TypeError:
        found = -1
    if not 0 <= found < MOST_STEPS or isinstance(value, bool):
        most = " and less than 2**63" if found > 0 else ""
        raise TraceError(
            f"{users_line()}: {name} is {value!r}; expected an integer, 0 or more{most}"
        )
    return found


def _name(body: Callable[..., Any]) -> str:
    name = getattr(body, "__name__", "loop")
    return "loop" if name == "<lambda>" else name
