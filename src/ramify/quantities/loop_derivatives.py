"""Derivatives of dynamics with loops, from the conditions that q̈ and λ meet.

    ID(q, q̇, q̈) = τ + Jᵀ λ        J q̈ + γ = 0

Along a direction δ of q, q̇ or τ, with q̈ and λ held on the right:

    [ M  Jᵀ ] [ δq̈ ]   [ δτ − δID + δJᵀ λ ]
    [ J  −μ ] [−δλ ] = [ −δJ q̈ − δγ       ]

That is the matrix of the dynamics: its factor solves for every column. Where rows are
redundant, the least λ = J y is in the span of J, and so its change is told by

    N δλ = N δJ y        N J = 0

Along directions that open the loops such rows contradict each other: then N takes the
contradiction out of the right side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from ramify.algorithms.forces.applied import Applied
from ramify.algorithms.loops.joint_formulation import dot
from ramify.algorithms.loops.proximal import preimage, without_idle
from ramify.algorithms.ltdl import DofVector
from ramify.quantities.closed_loops import (
    Solution,
    idle_rows,
    settled,
    solved,
    spread,
)
from ramify.quantities.constraint_rank import Rank
from ramify.quantities.context import Context, zeros
from ramify.quantities.directions import seeds
from ramify.quantities.loop_rows import rows_of
from ramify.spatial.vector3 import ONE, ZERO
from ramify.symbolic.derivatives import Row, forward, held
from ramify.symbolic.expr import Expr, region

TorqueRows: TypeAlias = Callable[[Context, Mapping[Expr, Row]], list[Row]]
"""(context with q̈, directions) -> the derivatives of inverse dynamics"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class LoopDerivatives:
    """q̈, and the derivatives of q̈ and λ along q, q̇ and τ, one after another."""

    qdd: list[Expr]
    accelerations: list[Row]
    multipliers: list[Row]


def loop_derivatives(
    context: Context, applied: Applied, torque_rows: TorqueRows
) -> LoopDerivatives:
    """Return the derivatives of the dynamics of a robot with loops."""
    model, n = context.model, context.model.nv
    _, damping, rank = settled(
        model, context.conventions, "loopwise", None, context.dtype
    )
    solution = solved(context, "loopwise", damping, rank, applied)
    system, rows = solution.system, _rows(context, solution, rank)
    # q̈, λ and y are held: what they do is asked for.
    fixed = [*solution.qdd, *rows.multipliers, *rows.y.values()]
    directions = {**seeds(context, ("q", "qd")), **held(fixed)}
    torques = torque_rows(context.with_inputs(qdd=solution.qdd), directions)
    qdd = {k: solution.qdd[v] for k, v in enumerate(system.order)}
    opening = forward(rows.accelerations(qdd), directions)
    pushes = forward(rows.forces(n), directions)
    turning = forward([dot(row, rows.y) for row in rows.J], directions)

    accelerations: list[Row] = [{} for _ in range(n)]
    multipliers: list[Row] = [{} for _ in range(rank.rows)]
    for c in range(3 * n):
        region(f"column {c}")
        if c < 2 * n:
            Q = {
                k: pushes[k].get(c, ZERO) - torques[v].get(c, ZERO)
                for k, v in enumerate(system.order)
            }
        else:
            Q = {k: ONE for k, v in enumerate(system.order) if v == c - 2 * n}
        gamma = [row.get(c, ZERO) for row in opening]
        if rank.spare:
            consistent = without_idle(rows.idle, gamma)
            gamma = [consistent[r] for r in system.kept]
        x, found = solution.solve(Q, gamma)
        change = spread(system.kept, rank, found)
        if rank.spare:
            told = [row.get(c, ZERO) for row in turning]
            free = [a - b for a, b in zip(change, told, strict=True)]
            free = without_idle(rows.idle, free)
            change = [a + b for a, b in zip(free, told, strict=True)]
        for k, v in enumerate(system.order):
            accelerations[v][c] = x[k]
        for r, e in enumerate(change):
            multipliers[r][c] = e
    return LoopDerivatives(solution.qdd, accelerations, multipliers)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of the loops with their λ: those kept, or all if some are redundant."""

    J: Sequence[DofVector]
    gamma: Sequence[Expr]
    multipliers: list[Expr]
    idle: list[list[Expr]]
    """N, by rows"""
    y: DofVector

    def accelerations(self, qdd: DofVector) -> list[Expr]:
        """Return J q̈ + γ."""
        return [dot(J, qdd) + g for J, g in zip(self.J, self.gamma, strict=True)]

    def forces(self, n: int) -> list[Expr]:
        """Return Jᵀ λ, parents first."""
        out = zeros(n)
        for row, x in zip(self.J, self.multipliers, strict=True):
            for k, e in row.items():
                out[k] = out[k] + e * x
        return out


def _rows(context: Context, solution: Solution, rank: Rank) -> _Rows:
    system = solution.system
    if not rank.spare:
        return _Rows(system.J, system.gamma, solution.found, [], {})
    every = rows_of(context)
    J = [{k: row[v] for k, v in enumerate(system.order)} for row in every.J]
    idle = idle_rows(solution, rank)
    multipliers = without_idle(idle, spread(system.kept, rank, solution.found))
    basis = [r for r in system.kept if r not in rank.spare]
    x = [multipliers[r] for r in basis]
    y = preimage([J[r] for r in basis], x, solution.damping)
    return _Rows(J, every.bias, multipliers, idle, y)
