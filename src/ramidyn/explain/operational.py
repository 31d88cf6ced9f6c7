"""A table of what each algorithm for Λ⁻¹ costs, for one robot and its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramidyn.errors import ArgumentError, printable
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.quantities.operational_inertia import supported_algorithms
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import count
from ramidyn.tracing.chooser import choose, trace_quantities
from ramidyn.tracing.context import one_of


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

    With mimic joints only "sfa" is available, and the table has one row.
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
