"""Derivatives of calls: a call of the derivative of what is called.

Forward, values and tangents go through one callee together:

    carried, carried'    shared, shared'    sliced, sliced'

where x' are the tangents of all directions that are not zero. In reverse, a loop is run
once more to keep what it carries into each step; another loop then takes the steps from
the last to the first, and carries the weights of what is carried:

    carried: x̄, and the weights of the shared arguments so far
    sliced:  what was carried into the step, its own arguments, weights of its results

A loop with an open end is differentiated through the steps that it took: steps of a
state that is done change nothing.

A call that declares its residual is differentiated by `implicit_derivatives`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ramidyn.symbolic import expr
from ramidyn.symbolic.calls import replayed, results_of
from ramidyn.symbolic.column_loop import unrolled_columns
from ramidyn.symbolic.expr import Expr, const
from ramidyn.symbolic.implicit_derivatives import (
    Forward,
    Place,
    Reverse,
    Row,
    Rows,
    entries_at,
    places_of,
    program_here,
    tangents_of_solution,
    weights_of_solution,
)
from ramidyn.symbolic.program import Callee, ColumnLoop, Program, Variable
from ramidyn.symbolic.seeds import known_seeds, unit_seeds


def tangents_of_call(e: Expr, rows: Rows, forward: Forward) -> list[Row]:
    """Return how all results of a call change, for changes of its arguments."""
    callee: Callee = e.value
    if callee.residual is not None:
        return tangents_of_solution(e, rows, callee.residual, forward)
    if isinstance(callee.body, ColumnLoop):
        written = unrolled_columns(callee.body, e.args)
        return forward(written, known_seeds(e.args, rows))
    c, s, p = callee.carried, callee.shared, callee.sliced
    carried = places_of(rows[:c])
    shared = places_of(rows[c : c + s])
    sliced = sorted(
        {
            place
            for t in range(callee.times)
            for place in places_of(rows[c + s + t * p : c + s + (t + 1) * p])
        }
    )
    while True:  # what is carried may depend on more directions after each step
        body, after, stacked = _tangent_body(callee, carried, shared, sliced, forward)
        more = sorted({*carried, *after})
        if more == carried:
            break
        carried = more
    made = Callee(
        body,
        callee.times,
        c + len(carried),
        p + len(sliced),
        callee.until,
    )
    arguments = [*e.args[:c], *entries_at(rows[:c], carried)]
    arguments += [*e.args[c : c + s], *entries_at(rows[c : c + s], shared)]
    for t in range(callee.times):
        own = slice(c + s + t * p, c + s + (t + 1) * p)
        arguments += [*e.args[own], *entries_at(rows[own], sliced)]
    results = results_of(made, arguments)
    found: list[Row] = [{} for _ in range(callee.results)]
    for (k, d), x in zip(carried, results[c : made.carried], strict=True):
        found[k][d] = x
    for t in range(callee.times):
        first = made.carried + t * made.stacked + callee.stacked
        for (k, d), x in zip(stacked, results[first:], strict=False):
            found[c + t * callee.stacked + k][d] = x
    return found


def _tangent_body(
    callee: Callee,
    carried: list[Place],
    shared: list[Place],
    sliced: list[Place],
    forward: Forward,
) -> tuple[Program, list[Place], list[Place]]:
    """Return the body with tangents, and which of its results have some."""
    body = callee.body
    assert isinstance(body, Program)
    c = callee.carried
    sizes = (c, callee.shared, callee.sliced)
    with expr.fresh_table() as table:
        table.regions = list(body.regions)
        inputs, entries, seeds = _inputs(sizes, (carried, shared, sliced))
        results = replayed(body, entries)
        rows = forward(results, seeds)
        after, stacked = places_of(rows[:c]), places_of(rows[c:])
        kept = sorted({*carried, *after})
        tangents = [*entries_at(rows[:c], kept)], [*entries_at(rows[c:], stacked)]
        flat = (*results[:c], *tangents[0], *results[c:], *tangents[1])
        made = program_here(f"jvp of {body.name}", inputs, flat)
    return made, after, stacked


def _inputs(
    sizes: Sequence[int], places: Sequence[list[Place]]
) -> tuple[list[Variable], list[Expr], dict[Expr, dict[int, Expr]]]:
    """Return inputs of values and tangents, the values, and tangents by value."""
    inputs: list[Variable] = []
    entries: list[Expr] = []
    seeds: dict[Expr, dict[int, Expr]] = {}
    names = ("carried", "shared", "sliced")
    for name, size, some in zip(names, sizes, places, strict=True):
        inputs += [Variable(name, (size,)), Variable(f"{name}_tangent", (len(some),))]
        own = [expr.symbol(name, k) for k in range(size)]
        seeds.update((e, {}) for e in own)
        for n, (k, d) in enumerate(some):
            seeds[own[k]][d] = expr.symbol(f"{name}_tangent", n)
        entries += own
    return inputs, entries, seeds


def weights_of_call(
    e: Expr, weights: Mapping[int, Mapping[int, Expr]], reverse: Reverse
) -> list[Row]:
    """Return the weights of a call's arguments, for weights of its results.

    Args:
        e: the call.
        weights: of results, by their number, for each output.
        reverse: differentiates nodes in reverse.
    """
    callee: Callee = e.value
    if callee.residual is not None:
        return weights_of_solution(e, weights, callee.residual, reverse)
    if isinstance(callee.body, ColumnLoop):
        written = unrolled_columns(callee.body, e.args)
        numbers = list(weights)
        rows = reverse(
            [written[k] for k in numbers],
            [weights[k] for k in numbers],
            unit_seeds(e.args),
        )
        found: list[Row] = [{} for _ in e.args]
        for output, row in enumerate(rows):
            for k, x in row.items():
                found[k][output] = x
        return found
    return _Reversed(e, weights, reverse).weights()


class _Reversed:
    """A loop from its last step to the first."""

    def __init__(
        self, e: Expr, weights: Mapping[int, Mapping[int, Expr]], reverse: Reverse
    ) -> None:
        self.call = e
        self.callee: Callee = e.value
        self.reverse = reverse
        c, n = self.callee.carried, self.callee.stacked
        self.given = weights
        outputs = sorted({o for row in weights.values() for o in row})
        self.carried: list[Place] = sorted(
            (k, o) for k, row in weights.items() if k < c for o in row
        )
        self.stacked: list[Place] = sorted(
            {((k - c) % n, o) for k, row in weights.items() if k >= c for o in row}
        )
        self.outputs = outputs

    def weights(self) -> list[Row]:
        """Return the weights of all arguments."""
        callee, e = self.callee, self.call
        c, s, p, times = (
            callee.carried,
            callee.shared,
            callee.sliced,
            callee.times,
        )
        while True:
            body, after, shared, sliced = self._body()
            more = sorted({*self.carried, *after})
            if more == self.carried:
                break
            self.carried = more
        before = self._carried_into_steps()
        made = Callee(
            body,
            times,
            len(self.carried) + len(shared),
            c + p + len(self.stacked),
        )
        zero = const(0.0)
        arguments = [self.given.get(k, {}).get(o, zero) for k, o in self.carried]
        arguments += [zero] * len(shared)
        arguments += e.args[c : c + s]
        for t in reversed(range(times)):
            arguments += before[t * c : (t + 1) * c]
            arguments += e.args[c + s + t * p : c + s + (t + 1) * p]
            first = c + t * callee.stacked
            arguments += [
                self.given.get(first + k, {}).get(o, zero) for k, o in self.stacked
            ]
        results = results_of(made, arguments)
        found: list[Row] = [{} for _ in e.args]
        n = len(self.carried)
        for (k, o), x in zip(self.carried, results, strict=False):
            found[k][o] = x
        for (k, o), x in zip(shared, results[n:], strict=False):
            found[c + k][o] = x
        for step, t in enumerate(reversed(range(times))):
            first = made.carried + step * made.stacked
            for (k, o), x in zip(sliced, results[first:], strict=False):
                found[c + s + t * p + k][o] = x
        return found

    def _carried_into_steps(self) -> list[Expr]:
        """Return what was carried into each step, by a loop that keeps it."""
        callee, e = self.callee, self.call
        body, c = callee.body, callee.carried
        assert isinstance(body, Program)
        if c == 0 or callee.times <= 1:
            return list(e.args[:c]) * callee.times
        with expr.fresh_table() as table:
            table.regions = list(body.regions)
            entries = [
                expr.symbol(v.name, k) for v in body.inputs for k in range(v.size)
            ]
            results = replayed(body, entries)
            flat = (*results[:c], *entries[:c])
            name = f"{body.name}, steps kept"
            kept = program_here(name, list(body.inputs), flat)
        made = Callee(kept, callee.times, c, callee.sliced)
        return results_of(made, e.args)[c:]

    def _body(self) -> tuple[Program, list[Place], list[Place], list[Place]]:
        """Return one step in reverse, and which weights it has."""
        callee = self.callee
        body, c, s = callee.body, callee.carried, callee.shared
        assert isinstance(body, Program)
        with expr.fresh_table() as table:
            table.regions = list(body.regions)
            inputs: list[Variable] = []

            def variable(name: str, size: int) -> list[Expr]:
                inputs.append(Variable(name, (size,)))
                return [expr.symbol(name, k) for k in range(size)]

            bars = variable("carried_weights", len(self.carried))
            # The number of sums is known only when the step is; see below.
            inputs.append(Variable("shared_weights", (0,)))
            own = variable("shared", s)
            entries = variable("carried", c)
            mine = variable("sliced", callee.sliced)
            stacked = variable("stacked_weights", len(self.stacked))
            arguments = [*entries, *own, *mine]
            results = replayed(body, arguments)
            weights: list[Row] = [{} for _ in results]
            for (k, o), w in zip(self.carried, bars, strict=True):
                weights[k][o] = w
            for (k, o), w in zip(self.stacked, stacked, strict=True):
                weights[c + k][o] = w
            one = const(1.0)
            seeds = {a: {k: one} for k, a in enumerate(arguments)}
            found = self.reverse(results, weights, seeds)
            by_argument: list[Row] = [{} for _ in arguments]
            for o, row in enumerate(found):
                for k, x in row.items():
                    by_argument[k][o] = x
            after = places_of(by_argument[:c])
            shared = places_of(by_argument[c : c + s])
            sliced = places_of(by_argument[c + s :])
            inputs[1] = Variable("shared_weights", (len(shared),))
            sums = [expr.symbol("shared_weights", n) for n in range(len(shared))]
            kept = sorted({*self.carried, *after})
            flat = (
                *entries_at(by_argument[:c], kept),
                *(
                    expr.add(total, x)
                    for total, x in zip(
                        sums, entries_at(by_argument[c : c + s], shared), strict=True
                    )
                ),
                *entries_at(by_argument[c + s :], sliced),
            )
            made = program_here(f"vjp of {body.name}", inputs, flat)
        return made, after, shared, sliced
