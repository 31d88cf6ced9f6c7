"""A table of what each algorithm for Λ⁻¹ costs, for one robot and its tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from ramify.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramify.errors import ArgumentError
from ramify.quantities.chooser import choose
from ramify.quantities.operational import operational_inertia_inverse
from ramify.quantities.options import one_of
from ramify.quantities.tracing import trace_quantities
from ramify.robot import Robot
from ramify.symbolic.count import Ops, count
from ramify.symbolic.expr import Expr
from ramify.symbolic.program import Program


@final
@dataclass(frozen=True, slots=True)
class AlgorithmCount:
    """The cost of one algorithm for Λ⁻¹; operations as papers count them.

    That is before simplification, with divisions by one number shared.
    """

    algorithm: str
    mul: int
    add: int
    div: int
    total: int
    """all operations, sines and cosines included"""
    cost: int
    """`ramify.count(...).cost`, in units of one multiplication; simplified only for
    candidates close to the cheapest"""
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
        for r in sorted(self.rows, key=lambda r: r.cost):
            mark = "  chosen" if r.chosen else ""
            lines.append(
                f"{r.algorithm:<14}{r.mul:>9,}{r.add:>9,}{r.div:>7,}{r.total:>9,}"
                f"{r.cost:>9,}{mark}"
            )
        return "\n".join(lines)


def explain_operational(robot: Robot, tasks: Tasks) -> OperationalCounts:
    """Return the cost of each algorithm for Λ⁻¹, for a robot and some tasks.

    With mimic joints only "sfa" is available, and the table has one row.
    """
    if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"robot is {robot!r}; expected a ramify.Robot, as returned by ramify.load"
        )
    model, conventions, given = robot.placed_model, robot.conventions, tasks_of(tasks)
    wanted = operational_inertia_inverse(given)
    (choice,) = choose([wanted], model, conventions).choices
    rows: list[AlgorithmCount] = []
    for name, cost in choice.costs.items():
        program = trace_quantities([wanted(algorithm=name)], model, conventions)
        c = published_operations(program)
        is_chosen = name == choice.algorithm
        rows.append(AlgorithmCount(name, c.mul, c.add, c.div, c.total, cost, is_chosen))
    return OperationalCounts(robot.name, given, tuple(rows))


def published_operations(program: Program) -> Ops:
    """Return the operations of a program as papers count them.

    That is as traced, with divisions by one number shared: what simplification takes
    off later is under two in a hundred.
    """
    divided: dict[Expr, int] = {}
    for e in program.order:
        if e.op == "div" and e.args[1].op != "const":
            divided[e.args[1]] = divided.get(e.args[1], 0) + 1
    found = count(program)
    shared = sum(n - 1 for n in divided.values())
    return replace(found, mul=found.mul + shared, div=found.div - shared)
