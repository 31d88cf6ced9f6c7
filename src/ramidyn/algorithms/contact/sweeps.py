"""Projected Gauss-Seidel: constraint after constraint, each by its own rule.

A cone takes the impulse that stops it, or one on the cone; it is in the cone after
every step. Velocities are carried
along: what constraints change is added to a block when it is needed next.

Two constraints of different blocks are taken at once: what one changes of the other is
seen later. So a processor has two chains of operations to work on. Where nothing slides
or opens, such sweeps converge like plain ones: with G = L + D + Lᵀ, D the blocks of
pairs but with the signs of their couplings changed is positive where G is.
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
    for pair in pairs(problem):
        rules = [problem.constraints[k] for k in pair]
        v = [problem.velocity(one, state.at(one)) for one in rules]
        for k, one, own in zip(pair, rules, v, strict=True):
            x = now[k]
            now[k], change = _step(one, scales[k], x, own)
            changes += change
            moved = [a - b for a, b in zip(now[k], x, strict=True)]
            state.push(problem.block_impulse(one, moved))
    return now, state.all(), largest(changes)


def pairs(problem: Problem) -> list[tuple[int, ...]]:
    """Return all constraints in the order of a sweep, one or two at once.

    Those of a block from both ends: first the corners that are farthest apart.
    """
    queues: dict[frozenset[int], list[int]] = {}
    for k, one in enumerate(problem.constraints):
        queues.setdefault(_blocks_of(problem, one), []).append(k)
    ordered: dict[frozenset[int], list[int]] = {
        b: _from_both_ends(queue) for b, queue in queues.items()
    }
    found: list[tuple[int, ...]] = []
    while ordered:
        waiting = list(ordered)
        while waiting:
            blocks = waiting.pop(0)
            partner = next((b for b in waiting if b.isdisjoint(blocks)), None)
            both = [blocks] if partner is None else [blocks, partner]
            found.append(tuple(ordered[b].pop(0) for b in both))
            waiting = [b for b in waiting if b not in both]
        ordered = {b: queue for b, queue in ordered.items() if queue}
    return found


def _from_both_ends(queue: list[int]) -> list[int]:
    return [queue[k // 2 if k % 2 == 0 else -1 - k // 2] for k in range(len(queue))]


def _blocks_of(problem: Problem, one: Constraint) -> frozenset[int]:
    """Return the numbers of the blocks that a constraint moves."""
    rows = {i for row in one.rows for i in row}
    return frozenset(
        k for k, block in enumerate(problem.blocks) if not rows.isdisjoint(block)
    )


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
        for k in sorted(_blocks_of(self.problem, one)):
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
