"""Resolve ``algorithm="auto"`` by counting the operations of each program.

Every candidate is traced. Those within a tenth of the cheapest are simplified, as they
will be when they are compiled, and the one with the least `Ops.cost` wins; the others
are too far behind to catch up. Small programs can lose a fifth of their operations and
are simplified quickly, so their candidates may be half as costly again. The winner's
program is the one that is compiled.

Quantities that share a choice (operational space of the same tasks) are counted
together; other quantities in a kernel are chosen one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from ramidyn.description.conventions import Conventions
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import count
from ramidyn.symbolic.program import Program
from ramidyn.tracing.choice import Choice
from ramidyn.tracing.quantity import Quantity
from ramidyn.tracing.tracing import trace_quantities
from ramidyn.tree.model import Model

NEAR = 1.1
"""candidates within this factor of the cheapest as traced are simplified, compared"""
SMALL, NEAR_IF_SMALL = 5_000, 1.5
"""the same if the cheapest as traced costs no more than this: 0.06 s to simplify"""
NEAR_IN_PART = 1.05
"""the same if a quantity is part of another: its share of the cost is smaller"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A program whose algorithms have all been chosen."""

    program: Program
    quantities: tuple[Quantity, ...]
    choices: tuple[Choice, ...]


def choose(
    wanted: Sequence[Quantity],
    model: Model,
    conventions: Conventions,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
    near: float = NEAR,
) -> Chosen:
    """Return the program of some quantities, each by its cheapest algorithm."""

    def traced(quantities: Sequence[Quantity]) -> Program:
        return trace_quantities(quantities, model, conventions, parameters, dtype)

    groups = _groups(wanted, model, conventions)
    decided, choices = list(wanted), list[Choice]()
    program = None
    for group in groups:
        alone = len(groups) == 1
        names = wanted[group[0]].algorithms(model, conventions)

        candidates = {name: _with(decided, group, name) for name in names}
        programs = {
            name: traced(quantities if alone else [quantities[k] for k in group])
            for name, quantities in candidates.items()
        }
        label = " + ".join(str(wanted[k]) for k in group)
        best, costs = cheapest(programs, near, NEAR_IF_SMALL)
        choices.append(Choice(label, best, costs))
        decided = _with(decided, group, best)
        program = programs[best] if alone else None
    return Chosen(program or traced(decided), tuple(decided), tuple(choices))


def cheapest(
    programs: Mapping[str, Program], near: float, near_if_small: float = 1.0
) -> tuple[str, dict[str, int]]:
    """Return the name of the cheapest program, the first of equals, and all costs."""
    costs = {name: count(p).cost for name, p in programs.items()}
    least = min(costs.values())
    near = max(near, near_if_small) if least <= SMALL else near
    close = [n for n, cost in costs.items() if cost <= near * least]
    if len(close) > 1:
        alike: dict[Any, list[str]] = {}
        for name in close:
            _, *content, _ = programs[name].flat()  # all but its name and its regions
            alike.setdefault(tuple(content), []).append(name)
        for same in alike.values() if len(alike) > 1 else ():
            cost = count(simplify(programs[same[0]])).cost
            costs.update(dict.fromkeys(same, cost))
    return min(costs, key=costs.__getitem__), costs


@lru_cache(maxsize=256)
def algorithm_of(quantity: Quantity, model: Model, conventions: Conventions) -> str:
    """Return the algorithm of a quantity that is part of another."""
    names = quantity.algorithms(model, conventions)
    if len(names) == 1:
        return names[0]
    found = choose([quantity], model, conventions, near=NEAR_IN_PART)
    return found.choices[0].algorithm


def _groups(
    wanted: Sequence[Quantity], model: Model, conventions: Conventions
) -> list[list[int]]:
    """Return the places of quantities still to be chosen; shared choices together."""
    groups: list[list[int]] = []
    by_tasks: dict[Any, list[int]] = {}
    for k, one in enumerate(wanted):
        if not one.is_open or not one.algorithms(model, conventions):
            continue
        if one.declaration.shares_choice:
            group = by_tasks.setdefault(one.options["tasks"], [])
            if not group:
                groups.append(group)
            group.append(k)
        else:
            groups.append([k])
    return groups


def _with(
    wanted: Sequence[Quantity], places: Sequence[int], algorithm: str
) -> list[Quantity]:
    return [
        one(algorithm=algorithm) if k in places else one for k, one in enumerate(wanted)
    ]
