"""Projected Gauss-Seidel: constraint after constraint, each by its own rule.

A cone takes the impulse that stops it, or one on the cone; it is in the cone after
every step. Velocities are carried
along: what a constraint changes is added to its own blocks when they are needed next,
and to the others once, for all constraints of its blocks together.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.algorithms.contact.problem import (
    TINY,
    Cone,
    Constraint,
    Impulse,
    Interval,
    Problem,
    Scales,
    largest,
)
from ramidyn.symbolic.dense import Entries, inner, total
from ramidyn.symbolic.expr import ONE, ZERO, Expr, extremum, where

Swept = tuple[list[Impulse], list[Expr], Expr]
"""impulses, V, and by how much the sweep changed velocities [m/s]"""


def sweep(
    problem: Problem,
    scales: Sequence[Scales],
    impulses: Sequence[Impulse],
    V: Sequence[Expr],
) -> Swept:
    """Return impulses and velocities after one step of each constraint."""
    state = _Velocities(problem, V)
    now = [list(x) for x in impulses]
    changes: list[Expr] = []
    for k, (one, scale) in enumerate(zip(problem.constraints, scales, strict=True)):
        x, v = now[k], problem.velocity(one, state.at(one))
        now[k], change = _step(one, scale, x, v)
        changes += change
        moved = [a - b for a, b in zip(now[k], x, strict=True)]
        state.push(problem.block_impulse(one, moved))
    return now, state.all(), largest(changes)


def _step(
    one: Constraint, scale: Scales, x: Impulse, v: Sequence[Expr]
) -> tuple[Impulse, list[Expr]]:
    """Return the impulse of one constraint by its rule, and how it changes v."""
    if isinstance(one, Interval):
        found = one.clamp(x[0] - v[0] * scale.per_normal)
        return [found], [(found - x[0]) * scale.normal]
    return _cone_step(one, scale, x, v)


def _cone_step(
    one: Cone, scale: Scales, x: Impulse, v: Sequence[Expr]
) -> tuple[Impulse, list[Expr]]:
    """Return the impulse that stops the contact if it is in the cone.

    Else the normal row comes first, then the tangential ones with the largest
    eigenvalue of their block.
    """
    D, per = scale.D, scale.per_tangential
    stuck = [a - inner(row, v) for a, row in zip(x, scale.inverse, strict=True)]
    most = one.friction * stuck[2]
    is_stuck = stuck[0] * stuck[0] + stuck[1] * stuck[1] <= most * abs(most)
    n = extremum("max", x[2] - v[2] * scale.per_normal, ZERO)
    more = n - x[2]
    t = [x[k] - (v[k] + D[k][2] * more) * per for k in (0, 1)]
    length = (t[0] * t[0] + t[1] * t[1] + TINY).sqrt()
    kept = extremum("min", ONE, one.friction * n / length)
    sliding = [t[0] * kept, t[1] * kept, n]
    found = [where(is_stuck, a, b) for a, b in zip(stuck, sliding, strict=True)]
    units = (scale.tangential, scale.tangential, scale.normal)
    change = [(a - b) * u for a, b, u in zip(found, x, units, strict=True)]
    return found, change


class _Velocities:
    """V, with what impulses change added to a block when it is needed."""

    def __init__(self, problem: Problem, V: Sequence[Expr]) -> None:
        self.problem, self.V = problem, list(V)
        self.waiting: list[Entries] = [{} for _ in problem.blocks]

    def at(self, one: Constraint) -> list[Expr]:
        """Return V, right in the blocks of a constraint."""
        touched = {i for row in one.rows for i in row}
        for k, block in enumerate(self.problem.blocks):
            if not touched.isdisjoint(block):
                self._add(k)
        return self.V

    def all(self) -> list[Expr]:
        """Return V."""
        for k in range(len(self.waiting)):
            self._add(k)
        return self.V

    def push(self, F: Entries) -> None:
        """Let a change of impulses wait at all blocks."""
        for waiting in self.waiting:
            for i, x in F.items():
                waiting[i] = waiting[i] + x if i in waiting else x

    def _add(self, k: int) -> None:
        G, waiting = self.problem.G, self.waiting[k]
        if waiting:
            for i in self.problem.blocks[k]:
                more = total(G[i][j] * x for j, x in waiting.items())
                self.V[i] = self.V[i] + more
            self.waiting[k] = {}
