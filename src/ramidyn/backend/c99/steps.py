"""Split a Program into the steps of its algorithm, for readable C.

A step is a region of the trace: what one sweep does at one body. Sines and cosines of
the joints come first, as a step of their own. What a step makes and a later one needs
is a field of a struct; fields and temporaries are named by the labels of the program.
Long programs are called in parts: compilers join the steps of a part, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ramidyn.backend.c99.names import Names
from ramidyn.symbolic.count import how_often
from ramidyn.symbolic.expr import Condition, Expr
from ramidyn.symbolic.program import Program

LARGEST = 400
"""A region with more operations is cut: compilers are not linear, nor are readers."""
ANGLES = "sines and cosines of the joints"
MOST_ANGLES = 64
"""At once: gcc's time for a function with n copies grows with n squared."""
WHOLE = 1500
"""A program with fewer operations is one part."""
PART = 300
"""Operations of a part: beyond it, joined steps keep more values than registers."""
LONGEST_MOVE = 64
"""Statements that only move values: compilers compare each with all others."""

Entry = tuple[str, int]


@dataclass(slots=True)
class SourceStep:
    """A run of operations that becomes one function."""

    name: str
    """the region: for comments"""
    symbol: str
    """the function"""
    order: list[Expr]
    fields: list[Expr] = field(default_factory=list[Expr])
    """what later steps need of it"""
    angles: dict[Expr, list[Expr]] = field(default_factory=dict[Expr, list[Expr]])
    """the sine and cosine of each angle that it takes"""
    call: Expr | None = None
    """what it calls, if that is all it does"""
    moves: list[str] = field(default_factory=list[str])
    """functions for many arguments or results"""


@dataclass(frozen=True, slots=True)
class JoinedSteps:
    """A run of steps that compilers may join; they join no others."""

    symbol: str | None
    """the function, or None where the function for one state calls the steps"""
    steps: list[SourceStep]

    @property
    def operations(self) -> int:
        """How many operations there are in its steps."""
        return sum(len(step.order) for step in self.steps)


@dataclass(slots=True)
class SourcePlan:
    """The steps of a program, and where its values are."""

    program: Program
    steps: list[SourceStep]
    uses: dict[Expr, int]
    home: dict[Expr, int]
    """the step in which a value is made"""
    fields: dict[Expr, str]
    """the field that holds a value between steps"""
    results: dict[Expr, list[Entry]]
    """where a value goes: (output, entry)"""
    angles: dict[Expr, list[Expr]]
    """the sine and cosine of each angle in the first steps"""
    parts: list[JoinedSteps]


def plan(
    program: Program,
    entry_names: Mapping[Entry, str],
    function_names: Names,
    arrays: Iterable[str],
) -> SourcePlan:
    """Return the steps of a program.

    Args:
        program: simplified; every division that is shared is a reciprocal already.
        entry_names: what the entries of inputs are called, such as joints.
        function_names: the names in use at the level of the file.
        arrays: the names of inputs and outputs, which no field may have.
    """
    angles = _angles(program)
    early: set[Expr] = set()
    steps: list[SourceStep] = []
    for some in _at_most(MOST_ANGLES, angles):
        needed = _needed_for(some) - early
        first = [e for e in program.order if e in needed]
        step = SourceStep(ANGLES, function_names.unique("angles"), first, angles=some)
        steps.append(step)
        early |= needed
    region = -1
    taken: dict[Expr, list[Expr]] = {e: [e] for e in program.calls}
    for e in program.order:
        if e.op == "result":
            taken[e.args[0]].append(e)
    for e in program.order:
        if e.op == "call":
            symbol = function_names.unique(f"call {e.value.name}")
            sizes = [len(e.args), len(taken[e])]
            some = sum(n // LONGEST_MOVE + 1 for n in sizes if n > LONGEST_MOVE)
            moves = [function_names.unique(f"move {e.value.name}") for _ in range(some)]
            steps.append(
                SourceStep(how_often(e.value), symbol, taken[e], call=e, moves=moves)
            )
            region = -1
            continue
        if not e.args or e in early or e.op == "result" or isinstance(e, Condition):
            continue
        if e.region != region or len(steps[-1].order) >= LARGEST:
            name = program.regions[e.region]
            steps.append(SourceStep(name, function_names.unique(name), []))
            region = e.region
        steps[-1].order.append(e)
    home = {e: k for k, step in enumerate(steps) for e in step.order}
    results, parts = _results(program), _parts(steps, function_names)
    made = SourcePlan(program, steps, program.uses(), home, {}, results, angles, parts)
    _name_fields(made, entry_names, Names(arrays))
    return made


def _at_most(
    n: int, angles: dict[Expr, list[Expr]]
) -> Iterator[dict[Expr, list[Expr]]]:
    """Return the angles in runs of at most n."""
    items = list(angles.items())
    for k in range(0, len(items), n):
        yield dict(items[k : k + n])


def _parts(steps: list[SourceStep], function_names: Names) -> list[JoinedSteps]:
    """Return the steps in the runs in which they are called."""
    angles = [s for s in steps if s.angles]
    parts = [JoinedSteps(None, [s]) for s in angles]
    rest = steps[len(angles) :]
    if sum(len(s.order) for s in rest) < WHOLE:
        return [*parts, JoinedSteps(None, rest)]
    runs: list[list[SourceStep]] = []
    size = 0
    for step in rest:
        if not runs or size + len(step.order) > PART:
            runs.append([])
            size = 0
        runs[-1].append(step)
        size += len(step.order)
    for run in runs:
        name = function_names.unique(f"from {run[0].symbol}")
        parts.append(JoinedSteps(name, run))
    return parts


def _results(program: Program) -> dict[Expr, list[Entry]]:
    results: dict[Expr, list[Entry]] = {}
    values = iter(program.results)
    for v in program.outputs:
        for k in range(v.size):
            results.setdefault(next(values), []).append((v.name, k))
    return results


def _angles(program: Program) -> dict[Expr, list[Expr]]:
    """Return the sines and cosines of angles that follow from one input entry."""
    angles: dict[Expr, list[Expr]] = {}
    for e in program.order:
        if e.op in ("sin", "cos") and input_of(e.args[0]) is not None:
            angles.setdefault(e.args[0], []).append(e)
    return angles


def input_of(e: Expr) -> Expr | None:
    """Return the one input that e is a linear function of, or None."""
    while e.op != "input":
        varying = [a for a in e.args if a.op != "const"]
        if e.op not in ("add", "sub", "mul", "neg", "div") or len(varying) != 1:
            return None
        e = varying[0]
    return e


def _needed_for(angles: dict[Expr, list[Expr]]) -> set[Expr]:
    needed = {e for pair in angles.values() for e in pair}
    for angle in angles:
        e = angle
        while e.op != "input":
            needed.add(e)
            e = next(a for a in e.args if a.op != "const")
    return needed


def _name_fields(
    made: SourcePlan, entry_names: Mapping[Entry, str], names: Names
) -> None:
    """Give every value that crosses from one step to another a field."""
    crossing: set[Expr] = set()
    for k, step in enumerate(made.steps):
        stack = list(step.order)
        while stack:
            for a in stack.pop().args:
                if isinstance(a, Condition):
                    stack.append(a)
                elif made.home.get(a, k) != k:
                    crossing.add(a)
    for angle, pair in made.angles.items():
        crossing.update(pair)
        if angle.op != "input":
            crossing.add(angle)
    for step in made.steps:
        step.fields = [e for e in step.order if e in crossing]
        for e in step.fields:
            made.fields[e] = names.unique(_field_name(e, step, made, entry_names))


def _field_name(
    e: Expr, step: SourceStep, made: SourcePlan, entry_names: Mapping[Entry, str]
) -> str:
    if step.angles:
        is_sine = e.op in ("sin", "cos") and e.args[0] in made.angles
        source = input_of(e.args[0] if is_sine else e)
        assert source is not None
        name, index = source.value
        known = entry_names.get(source.value, f"{name}{index}")
        return f"{e.op if is_sine else 'angle'}_{known}"
    if e.op == "result":
        return name_of(e, made) or f"{e.args[0].value.name} {e.value}"
    return name_of(e, made) or step.symbol


def name_of(e: Expr, made: SourcePlan) -> str | None:
    """Return what a value is: its label, or the result that it becomes."""
    found = made.program.labels.get(e)
    if found is None and e in made.results:
        name, index = made.results[e][0]
        shape = next(v.shape for v in made.program.outputs if v.name == name)
        columns = shape[-1] if len(shape) == 2 else 0
        return f"{name}_{place(index, columns).replace(' ', '_')}"
    return found


def place(index: int, columns: int) -> str:
    """Return row and column of an entry of a matrix, or the entry of a vector."""
    return f"{index // columns} {index % columns}" if columns else str(index)
