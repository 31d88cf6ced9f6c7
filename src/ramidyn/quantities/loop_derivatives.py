"""Derivatives of dynamics with loops, from the conditions that q̈ and λ meet.

    ID(q, q̇, q̈) = τ + Jᵀ λ        J q̈ + γ = 0

Along a direction δ of q, q̇ or τ, with q̈ and λ held on the right:

    [ M  Jᵀ ] [ δq̈ ]   [ δτ − δID + δJᵀ λ ]
    [ J  −μ ] [−δλ ] = [ −δJ q̈ − δγ       ]

That is the matrix of the dynamics: its factor solves for every column. Where rows are
redundant, the least λ = J y is in the span of J, and so its change satisfies

    N δλ = N δJ y        N J = 0

Along directions that open the loops such rows contradict each other: then N removes the
contradiction from the right side.

The least v with J v = −x, which closes loops that are open by x, meets conditions of
the same form, with M v for ID and x for γ: its derivatives are found in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from ramidyn.algorithms.forces.applied import Applied
from ramidyn.algorithms.loops.proximal import preimage, without_idle
from ramidyn.algorithms.ltdl import DofVector
from ramidyn.algorithms.rnea import rnea
from ramidyn.description.conventions import Conventions
from ramidyn.mechanism.constraints.rank import Rank
from ramidyn.mechanism.constraints.samples import ConstraintRows, rows_of
from ramidyn.quantities.applied import acting_forces, newton_euler
from ramidyn.quantities.closed_loops import (
    SOLVERS,
    LoopSolution,
    idle_rows,
    resolve_solver,
    solve_augmented,
    solver_of,
    solvers,
    spread_multipliers,
    stabilized_bias,
    system_of,
)
from ramidyn.quantities.directions import seeds
from ramidyn.spatial.vector3 import ONE, ZERO, vec
from ramidyn.symbolic.dense import add_multiples, dot
from ramidyn.symbolic.derivatives import Row, forward
from ramidyn.symbolic.expr import Expr, region
from ramidyn.symbolic.linear_steps import UNROLLED, map_linear
from ramidyn.symbolic.seeds import held_seeds
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tracing.quantity import quantity
from ramidyn.tree.model import Model

TorqueRows: TypeAlias = Callable[[Context, Mapping[Expr, Row]], list[Row]]
"""(context with q̈, directions) -> the derivatives of inverse dynamics"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class LoopDerivatives:
    """q̈, and the derivatives of q̈ and λ along q, q̇ and τ, one after another."""

    conditions: _Conditions
    given: list[list[Expr]]
    """the right side of each column"""

    @property
    def qdd(self) -> list[Expr]:
        """q̈."""
        return self.conditions.solution.qdd

    def accelerations(self) -> list[Row]:
        """Return the derivatives of q̈."""
        order = self.conditions.solution.system.order
        found = self._solved_changes(lambda column: self.conditions.change(column)[0])
        rows: list[Row] = [{} for _ in order]
        for v, row in zip(order, found, strict=True):
            rows[v] = dict(enumerate(row))
        return rows

    def change(self, column: Sequence[Expr]) -> list[Expr]:
        """Return the change of q̈ for a column of changes along all directions."""
        right = list(self.given[0])
        for k in range(len(right)):
            total = ZERO
            for x, of in zip(column, self.given, strict=True):
                total = total + of[k] * x
            right[k] = total
        found, _ = self.conditions.change(right)
        order = self.conditions.solution.system.order
        out = zeros(len(order))
        for v, x in zip(order, found, strict=True):
            out[v] = x
        return out

    def multipliers(self) -> list[Row]:
        """Return the derivatives of λ."""
        found = self._solved_changes(lambda column: self.conditions.change(column)[1])
        return [dict(enumerate(row)) for row in found]

    def _solved_changes(
        self, change: Callable[[Sequence[Expr]], list[Expr]]
    ) -> Sequence[Sequence[Expr]]:
        """Return the changes for all columns, by rows."""
        if len(self.conditions.solution.system.order) > UNROLLED:
            return map_linear(change, self.given)
        return list(zip(*map(change, self.given), strict=True))


def loop_derivatives(
    context: Context,
    applied: Applied,
    torque_rows: TorqueRows,
    rate: float = 0.0,
    algorithm: str = "auto",
) -> LoopDerivatives:
    """Return the derivatives of the dynamics of a robot with loops.

    Args:
        context: with q, q̇ and τ.
        applied: the forces that act.
        torque_rows: for the derivatives of inverse dynamics.
        rate: of Baumgarte's stabilization.
        algorithm: that solves the augmented system.
    """
    algorithm, damping, rank = _resolve(context, algorithm)
    solution = solve_augmented(context, algorithm, damping, rank, applied, rate)
    rows = rows_of(context)
    gamma = rows.bias
    if rate:
        velocities: Sequence[Expr] = context.inputs["qd"]
        qd: DofVector = dict(enumerate(velocities))
        gamma = [
            stabilized_bias(g, dict(enumerate(J)), qd, phi, rate)
            for g, J, phi in zip(rows.bias, rows.J, rows.residual, strict=True)
        ]
    conditions = _Conditions.of(solution, rank, rows)
    directions = {**seeds(context, ("q", "qd")), **conditions.held_seeds()}
    moved = zip(conditions.rows, conditions.accelerations(), strict=True)
    opening = forward([x + gamma[r] for r, x in moved], directions)
    there = context.with_inputs(qdd=solution.qdd)
    torques, n = torque_rows(there, directions), context.model.nv
    return conditions.changes(torques, opening, directions, 2 * n, n)


def closing_derivatives(context: Context, x: Sequence[Expr]) -> LoopDerivatives:
    """Return the least v with J v = −x in place of q̈, and its derivatives.

    v is the smallest in the norm of M; derivatives are along q, then along x.
    """
    n = context.model.nv
    algorithm, damping, rank = _resolve(context, "loopwise")
    system = system_of(context, algorithm, with_velocities=False)
    solve = solver_of(system, algorithm, damping, rank.scales)
    found, multipliers = solve({}, [x[r] for r in system.kept])
    v = system.order.scatter(found)
    solution = LoopSolution(system, solve, damping, v, multipliers)
    rows = rows_of(context, with_velocities=False)
    conditions = _Conditions.of(solution, rank, rows)
    directions = {**seeds(context, ("q",)), **conditions.held_seeds()}
    opening = forward(conditions.accelerations(), directions)
    for row, r in zip(opening, conditions.rows, strict=True):
        row[n + r] = ONE
    torques = forward(_inertia_times(context, v), directions)
    return conditions.changes(torques, opening, directions, n + len(x))


def _solvers(model: Model, conventions: Conventions, **_: Any) -> tuple[str, ...]:
    """Return the solvers that are worth counting."""
    found = solvers(model, conventions)
    return found if model.nv <= UNROLLED else found[-1:]


@quantity("q", "qd", "tau", algorithms=SOLVERS, possible=_solvers, has_forces=True)
def solved_derivatives(context: Context, algorithm: str = "auto") -> Any:
    """The derivatives of q̈ by a solver of the augmented system."""

    def torque_rows(there: Context, directions: Mapping[Expr, Row]) -> list[Row]:
        qdd: Sequence[Expr] = there.inputs["qdd"]
        return forward(newton_euler(there, qdd, acting_forces(there)), directions)

    applied = acting_forces(context)
    found = loop_derivatives(context, applied, torque_rows, algorithm=algorithm)
    return array([list(row.values()) for row in found.accelerations()])


def _resolve(context: Context, algorithm: str) -> tuple[str, float, Rank]:
    """Return the solver, the damping, and the rank they are chosen by."""
    if algorithm == "auto":
        algorithm = context.algorithm_of(solved_derivatives)
    return resolve_solver(
        context.model, context.conventions, algorithm, None, context.dtype
    )


def _inertia_times(context: Context, v: list[Expr]) -> list[Expr]:
    """Return M v."""
    coordinates = context.coordinates
    still = coordinates.velocity(zeros(context.model.nv))
    moved = coordinates.acceleration(v, still)
    tau = rnea(context.dynamics_tree, context.q, still, moved, vec(0.0, 0.0, 0.0))
    return coordinates.force(tau, v)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Conditions:
    """A solution, and rows of the loops: those kept, or all if some are redundant."""

    solution: LoopSolution
    rank: Rank
    rows: Sequence[int]
    J: Sequence[DofVector]
    multipliers: list[Expr]
    idle: list[list[Expr]]
    """N, by rows"""
    y: DofVector

    @staticmethod
    def of(solution: LoopSolution, rank: Rank, rows: ConstraintRows) -> _Conditions:
        """Return the conditions that a solution meets."""
        system = solution.system
        if not rank.spare:
            kept, found = system.kept, solution.found
            return _Conditions(solution, rank, kept, system.J, found, [], {})
        J = list(map(system.order.gather, rows.J))
        idle = idle_rows(solution, rank)
        multipliers = without_idle(
            idle, spread_multipliers(system.kept, rank, solution.found)
        )
        basis = [r for r in system.kept if r not in rank.spare]
        x = [multipliers[r] for r in basis]
        y = preimage([J[r] for r in basis], x, solution.damping)
        every = range(len(J))
        return _Conditions(solution, rank, every, J, multipliers, idle, y)

    def held_seeds(self) -> dict[Expr, Row]:
        """Return seeds that hold q̈, λ and y: their changes are solved for."""
        return held_seeds([*self.solution.qdd, *self.multipliers, *self.y.values()])

    def changes(
        self,
        torques: Sequence[Row],
        opening: Sequence[Row],
        directions: Mapping[Expr, Row],
        columns: int,
        forces: int = 0,
    ) -> LoopDerivatives:
        """Return the derivatives along the directions, then along joint forces.

        Args:
            torques: the derivatives of inverse dynamics.
            opening: the derivatives of J q̈ + γ.
            directions: how nodes change, in so many columns.
            columns: how many.
            forces: the number of joint forces.
        """
        order = self.solution.system.order
        n = len(order)
        pushes = forward(self._forces(n), directions)
        turning = forward([dot(row, self.y) for row in self.J], directions)
        given: list[list[Expr]] = []
        for c in range(columns):
            region(f"column {c}")
            Q = [
                pushes[k].get(c, ZERO) - torques[v].get(c, ZERO)
                for k, v in enumerate(order)
            ]
            given.append(Q + [row.get(c, ZERO) for row in (*opening, *turning)])
        rest = [ZERO] * (len(opening) + len(turning))
        for f in range(forces):
            given.append([ONE if v == f else ZERO for v in order] + rest)
        return LoopDerivatives(self, given)

    def change(self, column: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        """Return the changes of q̈, parents first, and λ.

        The column has the change of Q, of J q̈ + γ, and of J where it acts on y.
        """
        region("solve")
        solution, rank, system = self.solution, self.rank, self.solution.system
        n, m = len(system.order), len(self.rows)
        Q, gamma, dJ_y = column[:n], list(column[n : n + m]), column[n + m :]
        if rank.spare:
            consistent = without_idle(self.idle, gamma)
            gamma = [consistent[r] for r in system.kept]
        x, found = solution.solve(dict(enumerate(Q)), gamma)
        change = spread_multipliers(system.kept, rank, found)
        if rank.spare:
            rest = [a - b for a, b in zip(change, dJ_y, strict=True)]
            rest = without_idle(self.idle, rest)
            change = [a + b for a, b in zip(rest, dJ_y, strict=True)]
        return [x[k] for k in range(n)], change

    def accelerations(self) -> list[Expr]:
        """Return J q̈."""
        qdd = self.solution.system.order.gather(self.solution.qdd)
        return [dot(J, qdd) for J in self.J]

    def _forces(self, n: int) -> list[Expr]:
        """Return Jᵀ λ, parents first."""
        out = dict(enumerate(zeros(n)))
        add_multiples(out, self.J, self.multipliers)
        return list(out.values())
