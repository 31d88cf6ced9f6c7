"""Which algorithm of Λ⁻¹ costs least for one robot and some tasks, by counting.

The rank of tasks is known from the same programs, at a few random configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, final

import numpy as np

from ramify.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramify.errors import ModelError, UnknownName
from ramify.model.assembly import Model
from ramify.model.conventions import Conventions
from ramify.model.ranges import joint_limits, random_configurations
from ramify.quantities.base import Context, Symbols, array
from ramify.quantities.dynamics import by_factor_or_not
from ramify.quantities.osim import (
    ALGORITHMS,
    check_algorithm,
    inverse_matrix,
    mass_solution,
    row_count,
)
from ramify.simplify.passes import simplify
from ramify.symbolic.count import Ops, count
from ramify.symbolic.expr import Expr
from ramify.symbolic.interpreter import evaluate
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace

STATES = 4
"""configurations at which the rank of tasks is looked at"""
NEAR = 1.1
"""algorithms within this factor of the least, as traced, are simplified and compared"""
SINGULAR = 1e-11
"""eigenvalues of Λ⁻¹, scaled to a unit diagonal, below which a row is redundant"""


@final
@dataclass(frozen=True, slots=True)
class AlgorithmCount:
    """What one algorithm of Λ⁻¹ takes; operations as papers count them.

    That is before simplification, with divisions by one number shared.
    """

    algorithm: str
    mul: int
    add: int
    div: int
    total: int
    """all operations, sines and cosines included"""
    cost: int
    """`ramify.count(...).cost`, in units of one multiplication, of those that are near
    the least; of others the same before simplification, which takes little off"""
    chosen: bool


@final
@dataclass(frozen=True, slots=True)
class OperationalCounts:
    """The counts of all algorithms for one robot and some tasks; print it."""

    robot: str
    tasks: tuple[Task, ...]
    rows: tuple[AlgorithmCount, ...]

    @property
    def chosen(self) -> str:
        """The algorithm that ``algorithm="auto"`` takes: the one of least cost."""
        return next(row.algorithm for row in self.rows if row.chosen)

    def __getitem__(self, algorithm: str) -> AlgorithmCount:
        rows = {row.algorithm: row for row in self.rows}
        check_algorithm(algorithm, rows)
        return rows[algorithm]

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


def explain_operational(robot: Any, tasks: Tasks) -> OperationalCounts:
    """Return what each algorithm of Λ⁻¹ costs for a robot and some tasks.

    Mimic joints leave only "sfa": the table then has one row.
    """
    if not (hasattr(robot, "placed_model") and hasattr(robot, "conventions")):
        raise UnknownName(
            f"robot is {robot!r}; expected a ramify.Robot, such as ramify.load gives"
        )
    model, conventions, given = robot.placed_model, robot.conventions, tasks_of(tasks)
    best = chosen(model, conventions, given)
    rows: list[AlgorithmCount] = []
    for name, cost in costs(model, conventions, given).items():
        c = operations(model, conventions, given, name)
        rows.append(
            AlgorithmCount(name, c.mul, c.add, c.div, c.total, cost, name == best)
        )
    return OperationalCounts(robot.name, given, tuple(rows))


def chosen(
    model: Model,
    conventions: Conventions,
    tasks: tuple[Task, ...],
    has_solution: bool = False,
) -> str:
    """Return the algorithm that costs the machine least; see `costs`."""
    names = possible(model)
    if len(names) == 1:
        return names[0]
    found = costs(model, conventions, tasks, has_solution)
    return min(names, key=lambda n: found[n])


@lru_cache(maxsize=512)
def costs(
    model: Model,
    conventions: Conventions,
    tasks: tuple[Task, ...],
    has_solution: bool = False,
) -> Mapping[str, int]:
    """Return what each algorithm costs: where it is close, after simplification.

    With ``has_solution`` it is Λ⁻¹ beside J M⁻¹, of which "sfa" shares the most.
    """
    names = possible(model)
    programs = {n: _traced(model, conventions, tasks, n, has_solution) for n in names}
    found = {n: count(p).cost for n, p in programs.items()}
    most = NEAR * min(found.values())
    near: dict[Any, list[str]] = {}
    for name in names:
        if found[name] <= most:
            *content, _ = programs[name].flat()  # all but the names of its regions
            near.setdefault(tuple(content), []).append(name)
    if len(near) > 1:
        for same in near.values():
            cost = count(simplify(programs[same[0]])).cost
            found.update(dict.fromkeys(same, cost))
    return found


def possible(model: Model) -> tuple[str, ...]:
    """Return the algorithms; mimic joints tie branches: no articulated bodies then."""
    if model.mimics:
        return ("sfa",)
    if "ltdl" in by_factor_or_not(model):
        return ALGORITHMS
    return tuple(name for name in ALGORITHMS if name != "sfa")


@lru_cache(maxsize=64)
def _traced(
    model: Model,
    conventions: Conventions,
    tasks: tuple[Task, ...],
    algorithm: str,
    has_solution: bool = False,
) -> Program:
    def traced(q: Symbols) -> Any:
        context = Context(model, conventions, {"q": q})
        found = {"inverse": array(inverse_matrix(context, tasks, algorithm))}
        if has_solution:
            found["solution"] = array(mass_solution(context, tasks, algorithm))
        return found

    return trace(traced, {"q": model.nq})


@lru_cache(maxsize=512)
def operations(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...], algorithm: str
) -> Ops:
    """Return the operations of Λ⁻¹ as traced, with divisions by one number shared.

    What simplification takes off later is under two in a hundred, of all of them.
    """
    program = _traced(model, conventions, tasks, algorithm)
    divided: dict[Expr, int] = {}
    for e in program.order:
        if e.op == "div" and e.args[1].op != "const":
            divided[e.args[1]] = divided.get(e.args[1], 0) + 1
    found = count(program)
    shared = sum(n - 1 for n in divided.values())
    return replace(found, mul=found.mul + shared, div=found.div - shared)


def ranks(model: Model, program: Program, sizes: Sequence[int]) -> list[int]:
    """Return the rank of leading blocks of a program's Λ⁻¹, where it is largest."""
    rng = np.random.default_rng(0)
    q = random_configurations(model, joint_limits(model), rng, STATES)
    (G,) = evaluate(program, {"q": q}).values()
    scale = np.sqrt(np.abs(np.einsum("bii->bi", G)))
    scale[scale < 1e-12 * scale.max(initial=1e-300)] = np.inf
    scaled = G / (scale[:, :, None] * scale[:, None, :])
    values = [np.linalg.eigvalsh(scaled[:, :n, :n]) for n in sizes]
    return [int((v > SINGULAR).sum(axis=1).max()) for v in values]


@lru_cache(maxsize=64)
def rank(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...], algorithm: str
) -> int:
    """Return how many rows of some tasks can move independently somewhere."""
    program = _traced(model, conventions, tasks, algorithm)
    return ranks(model, program, [row_count(tasks)])[0]


def check_rank(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...], algorithm: str
) -> None:
    """Raise ModelError for tasks with more rows than can move independently."""
    rows, found = row_count(tasks), rank(model, conventions, tasks, algorithm)
    if found < rows:
        names = ", ".join(map(str, tasks))
        raise ModelError(
            f"robot {model.name!r}: tasks {names} have {rows} rows, but only {found} "
            "can move independently (the rank of J M⁻¹ Jᵀ); ask for fewer rows, or "
            "give damping="
        )
