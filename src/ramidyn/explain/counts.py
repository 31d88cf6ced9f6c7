"""Operation counts of algorithms: after each pass, and for each way to compute Λ⁻¹."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import final

from ramidyn.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramidyn.description.conventions import Conventions
from ramidyn.errors import ArgumentError, ModelError, one_of, printable
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.quantities.operational_inertia import supported_algorithms
from ramidyn.robot import Robot
from ramidyn.simplify.passes import SIMPLIFICATIONS, everywhere, simplify
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.program import Program
from ramidyn.tracing.chooser import choose, trace_quantities
from ramidyn.tracing.quantity import Quantity
from ramidyn.tree.model import Model, with_placed_frames
from ramidyn.tree.tree import Tree, TreeBody

ALGORITHMS = {
    "inverse dynamics, RNEA": inverse_dynamics,
    "mass matrix, CRBA": mass_matrix(algorithm="crba"),
    "forward dynamics, ABA": forward_dynamics(algorithm="aba"),
    "forward dynamics, CRBA + LTDL": forward_dynamics(algorithm="ltdl"),
}
"""What is counted, by how it is called."""

PASSES = {
    "drop_dead_code": "dead code",
    "fold_trigonometry": "trigonometry",
    "collect_terms": "common factors",
    "place_signs": "signs",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """The count after a pass."""

    name: str
    ops: Ops


@dataclass(frozen=True, slots=True)
class Counts:
    """An algorithm's counts, from the file's frames to the last pass."""

    name: str
    stages: tuple[Stage, ...]
    chain: Ops | None
    """of the same joints and bodies in one chain"""

    @property
    def ops(self) -> Ops:
        """What is compiled."""
        return self.stages[-1].ops


def counts_of(robot: Robot, progress: Callable[[str], None]) -> Iterator[Counts]:
    """Yield the counts of every algorithm that the robot allows."""
    line = chain_of(robot.model)
    for name, quantity in ALGORITHMS.items():
        progress(name)
        try:
            stages = tuple(stages_of(quantity, robot))
        except ModelError:  # a singular mass matrix: no forward dynamics
            continue
        chain = None
        if line is not None:
            chain = _last(quantity, with_placed_frames(line), robot.conventions)
        yield Counts(name, stages, chain)


def stages_of(quantity: Quantity, robot: Robot) -> Iterator[Stage]:
    """Yield the count before any pass, and after each."""
    c, model = robot.conventions, robot.placed_model
    yield Stage("frames of the file", count(traced(quantity, robot.model, c, False)))
    yield Stage("frames placed", count(traced(quantity, model, c, False)))
    program = traced(quantity, model, c, True)
    yield Stage("masses regrouped", count(program))
    for simplification in SIMPLIFICATIONS:
        program = everywhere(simplification, program)
        name = getattr(simplification, "__name__", "pass")
        yield Stage(PASSES.get(name, name.replace("_", " ")), count(program))


def _last(quantity: Quantity, model: Model, conventions: Conventions) -> Ops:
    return count(simplify(traced(quantity, model, conventions, True)))


def traced(
    quantity: Quantity, model: Model, conventions: Conventions, regroup: bool
) -> Program:
    """Return the program of a quantity, with masses regrouped or as they are."""
    return trace_quantities([quantity], model, conventions, regroup=regroup)


def chain_of(model: Model) -> Model | None:
    """Return the model with its bodies in one chain; None where joints follow others.

    Every body keeps its joint, its inertia and the placement on its parent.
    """
    if model.mimics:
        return None
    bodies: list[TreeBody] = [
        replace(body, parent=i - 1) for i, body in enumerate(model.tree.bodies)
    ]
    return replace(model, tree=Tree(tuple(bodies), model.tree.gravity))


# ------------------------------------------------------------ algorithms for Λ⁻¹


@final
@dataclass(frozen=True, slots=True)
class AlgorithmCount:
    """The cost of one algorithm for Λ⁻¹: operations of the program it compiles to."""

    algorithm: str
    mul: int
    add: int
    div: int
    total: int
    """all operations, sines and cosines included"""
    cost: int
    """`ramidyn.count(...).cost`, in units of one multiplication"""
    chosen: bool


@final
@dataclass(frozen=True, slots=True)
class OperationalCounts:
    """The operation counts of all algorithms for one robot and some tasks; print it."""

    robot: str
    tasks: tuple[Task, ...]
    rows: tuple[AlgorithmCount, ...]

    @property
    def chosen(self) -> str:
        """The algorithm that ``algorithm="auto"`` uses: the cheapest."""
        return next(row.algorithm for row in self.rows if row.chosen)

    def __getitem__(self, algorithm: str) -> AlgorithmCount:
        rows = {row.algorithm: row for row in self.rows}
        return rows[one_of("algorithm", algorithm, tuple(rows))]

    def __str__(self) -> str:
        lines = [
            f"Λ⁻¹ of {self.robot}: {', '.join(map(str, self.tasks))}",
            f"{'algorithm':<14}{'mul':>9}{'add':>9}{'div':>7}{'total':>9}{'cost':>9}",
        ]
        for r in sorted(self.rows, key=lambda r: (r.cost, not r.chosen)):
            mark = "  chosen" if r.chosen else ""
            lines.append(
                f"{r.algorithm:<14}{r.mul:>9,}{r.add:>9,}{r.div:>7,}{r.total:>9,}"
                f"{r.cost:>9,}{mark}"
            )
        return printable("\n".join(lines))


def explain_operational(robot: Robot, tasks: Tasks) -> OperationalCounts:
    """Return the cost of each algorithm for Λ⁻¹, for a robot and some tasks.

    With mimic joints only "sfa" and "pv" are available, and the table has two rows.
    """
    if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"robot is {robot!r}; expected a ramidyn.Robot, as returned by ramidyn.load"
        )
    model, conventions, given = robot.placed_model, robot.conventions, tasks_of(tasks)
    wanted = operational_inertia_inverse(given)
    (choice,) = choose([wanted], model, conventions).choices
    rows: list[AlgorithmCount] = []
    for name in supported_algorithms(model):
        program = trace_quantities([wanted(algorithm=name)], model, conventions)
        c = count(simplify(program))
        is_chosen = name == choice.algorithm
        row = AlgorithmCount(name, c.mul, c.add, c.div, c.total, c.cost, is_chosen)
        rows.append(row)
    return OperationalCounts(robot.name, given, tuple(rows))
