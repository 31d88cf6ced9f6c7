"""Trace quantities; resolve ``algorithm="auto"`` by counting the operations of each.

Every candidate is traced. Those within a tenth of the cheapest are simplified, as they
will be when they are compiled, and the one with the least `Ops.cost` wins; the others
are too far behind to catch up. Small programs can lose a fifth of their operations and
are simplified quickly, so their candidates may be half as costly again. They also have
too little else to do while operations wait for each other, so the cycles of the longest
such wait are added to their costs. The winner is compiled as it is here, traced and
simplified.

Quantities that share a choice (operational space of the same tasks) are counted
together; other quantities in a kernel are chosen one by one. Whatever else is chosen by
counting (body frames, ways to solve a part) goes through `cheapest` too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, cast, final

from ramidyn.description.conventions import Conventions
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import count, longest_wait
from ramidyn.symbolic.program import Program, free_name
from ramidyn.symbolic.trace import Shape, trace
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Choice, Quantity, input_shapes
from ramidyn.tree.model import Model, with_placed_frames
from ramidyn.tree.parameters import parameter_shapes
from ramidyn.tree.singular import idle_joints, massless_bodies
from ramidyn.tree.tree import Tree

NEAR = 1.1
"""candidates within this factor of the cheapest as traced are simplified, compared"""
SMALL, NEAR_IF_SMALL = 5_000, 1.5
"""the same if the cheapest as traced costs no more than this: 0.06 s to simplify"""
NEAR_IN_PART = 1.05
"""the same if a quantity is part of another: its share of the cost is smaller"""
NEAR_IN_FRAMES = 1.02
"""the same of one algorithm in two sets of frames: both get simpler by equal shares"""
MANY_BODIES, FEW_BODIES = 128, 48
"""of a tree with more than so many bodies, so few are counted to choose its frames"""


@final
class Candidate:
    """A program as traced, and simplified when that is first needed."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def simplified(self) -> Program:
        """The program after the simplifications."""
        return simplify(self.program)


@final
class Comparison(NamedTuple):
    """The name of the cheapest candidate, and the costs that decided."""

    best: str
    simplified: dict[str, int]
    """of those near the cheapest; none if one is far ahead"""
    traced: dict[str, int]


@final
class Chosen(NamedTuple):
    """A program whose algorithms have all been chosen."""

    candidate: Candidate
    choices: tuple[Choice, ...] = ()


def choose(
    wanted: Sequence[Quantity],
    model: Model,
    conventions: Conventions,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
    near: float = NEAR,
) -> Chosen:
    """Return the program of some quantities, each by its cheapest algorithm."""
    handed_on = _handed_on.pop(model, None)
    _handed_on.clear()  # it keeps a robot and a program alive
    if parameters or dtype != "float64":
        handed_on = None

    def traced(quantities: Sequence[Quantity]) -> Candidate:
        if handed_on and ((*quantities,), conventions) == handed_on[:2]:
            return handed_on[2]
        return Candidate(
            trace_quantities(quantities, model, conventions, parameters, dtype)
        )

    groups = _groups(wanted, model, conventions)
    decided, choices = list(wanted), list[Choice]()
    winner = None
    for group in groups:
        alone = len(groups) == 1
        candidates = {
            name: _with(decided, group, name)
            for k in group
            for name in wanted[k].algorithms(model, conventions)
        }
        programs = {
            name: traced(quantities if alone else [quantities[k] for k in group])
            for name, quantities in candidates.items()
        }
        label = " + ".join(str(wanted[k]) for k in group)
        best, costs, as_traced = cheapest(programs, near, NEAR_IF_SMALL)
        if alone and near == NEAR and best not in costs:  # it is compiled, so simplify
            waits = counts_waits(as_traced, [c.program for c in programs.values()])
            costs[best] = price(programs[best].simplified, waits)
        choices.append(Choice(label, best, costs, as_traced))
        decided = candidates[best]
        winner = programs[best] if alone else None
    return Chosen(winner or traced(decided), tuple(choices))


def cheapest(
    candidates: Mapping[str, Candidate], near: float, near_if_small: float = 1.0
) -> Comparison:
    """Return the cheapest program, the first of equals, and what all cost."""
    costs = {name: count(c.program).cost for name, c in candidates.items()}
    least = min(costs.values())
    near = max(near, near_if_small) if least <= SMALL else near
    close = [n for n, cost in costs.items() if cost <= near * least]
    waits = counts_waits(costs, [c.program for c in candidates.values()])
    simplified: dict[str, int] = {}
    if len(close) > 1:
        alike: dict[Any, list[str]] = {}
        for name in close:
            _, *content, _ = candidates[name].program.flat()  # not its name and regions
            alike.setdefault(tuple(content), []).append(name)
        for same in alike.values() if len(alike) > 1 else ():
            cost = price(candidates[same[0]].simplified, waits)
            simplified.update(dict.fromkeys(same, cost))
    decisive = simplified or costs
    return Comparison(min(decisive, key=decisive.__getitem__), simplified, costs)


def counts_waits(traced: Mapping[str, int], programs: Iterable[Program]) -> bool:
    """Return whether prices of some candidates include their longest waits.

    They do if the cheapest as traced is small and no candidate has calls.
    """
    return min(traced.values()) <= SMALL and not any(p.calls for p in programs)


def price(program: Program, waits: bool) -> int:
    """Return the cost of a program, with the cycles of its longest wait if asked.

    Prices can be compared if all of them include waits, or none does (`counts_waits`).
    """
    return count(program).cost + (longest_wait(program) if waits else 0)


_handed_on: dict[Model, tuple[tuple[Quantity, ...], Conventions, Candidate]] = {}
"""The program that a model's body frames were chosen by, until the next choice: its
forward dynamics is that program, and so need not be traced and simplified again."""


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


# ------------------------------------------------------------ body frames


def with_cheapest_frames(
    model: Model, conventions: Conventions, known: Mapping[str, Quantity]
) -> Model:
    """Return the model with the body frames that make its dynamics cheapest.

    Frames that take steps out of transforms save operations, unless that puts numbers
    into inertias that were zero, or splits a sine that mimic joints share. So the
    dynamics, from the ``known`` quantities, is counted with both, and the frames of the
    file stay if it got costlier. Of a large tree, the first bodies are counted.
    """
    new = with_placed_frames(model)
    if new is model:
        return model
    models = {"placed": new, "file": model}
    counted = {name: _counted_part(m) for name, m in models.items()}
    for quantity in _counted_quantities(counted["file"], known):
        candidates = {
            name: Candidate(trace_quantities([quantity], part, conventions))
            for name, part in counted.items()
        }
        best = cheapest(candidates, NEAR_IN_FRAMES).best
        if counted[best] is models[best]:
            chosen = (quantity,), conventions, candidates[best]
            _handed_on[models[best]] = chosen
        if best == "file":
            return model
    return new


def _counted_part(model: Model) -> Model:
    """Return what of a model decides about its frames: its first bodies alone."""
    tree = model.tree
    if len(tree) > MANY_BODIES:
        model = replace(model, tree=Tree(tree.bodies[:FEW_BODIES], tree.gravity))
    if model.loops or model.forces:
        model = replace(model, loops=(), forces=())
    return model


def _counted_quantities(model: Model, known: Mapping[str, Quantity]) -> list[Quantity]:
    """Return quantities that stand for all: those that use every transform most.

    The articulated-body algorithm takes velocities out and forces and inertias back;
    where it does not apply, two others share that work.
    """
    if massless_bodies(model.tree) or idle_joints(model.tree):
        return [known["inverse_dynamics"], known["mass_matrix"](algorithm="crba")]
    return [known["forward_dynamics"](algorithm="aba")]


# ------------------------------------------------------------ tracing


def trace_quantities(
    wanted: Sequence[Quantity],
    model: Model,
    conventions: Conventions,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
    regroup: bool = True,
) -> Program:
    """Return the program of some quantities, their algorithms given."""
    shapes = {**input_shapes(wanted, model), **parameter_shapes(parameters, model)}
    return trace_with_context(
        lambda context: values_of(wanted, context),
        model,
        conventions,
        shapes,
        f"{'+'.join(map(str, wanted))} of {model.name}",
        dtype=dtype,
        regroup=regroup,
    )


def trace_with_context(
    fn: Callable[[Context], Any],
    model: Model,
    conventions: Conventions,
    shapes: Mapping[str, Shape],
    name: str | None = None,
    **options: Any,
) -> Program:
    """Return the program of a function of a robot's state; for options see Context."""

    def traced(*symbols: Any) -> Any:
        inputs = dict(zip(shapes, symbols, strict=True))
        return fn(Context(model, conventions, inputs, algorithm_of, **options))

    return trace(traced, shapes, name)


def values_of(wanted: Sequence[Quantity], context: Context) -> dict[str, Any]:
    """Return the symbols of some quantities by name; equal names are numbered."""
    out: dict[str, Any] = {}
    for one in wanted:
        value = one.of(context)
        named = {one.name: value}
        if isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
        for name, array in named.items():
            out[free_name(name, out)] = array
    return out
