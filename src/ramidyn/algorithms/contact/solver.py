"""Solve the constraints of a step: sweeps, then Newton steps for what they leave.

Every state takes the steps that it needs, whatever its neighbors in a batch need.
Impulses that are not found in time obey their bounds, and the residual says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from ramidyn.algorithms.contact.newton import flat, refined
from ramidyn.algorithms.contact.problem import (
    UNCONVERGED,
    Cone,
    Impulse,
    Problem,
    Scales,
    secant,
)
from ramidyn.algorithms.contact.sweeps import sweep
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.expr import Expr, extremum, where
from ramidyn.symbolic.repeat import repeat_until, unless

TOLERANCE: Final = {"float64": 1e-7, "float32": 1e-5}
"""[m/s, rad/s] by which a sweep still changes velocities that count as solved"""
SWEEPS, SWEEPS_OF_POINTS, SWEEPS_ALONE = 20, 60, 200
"""at most, before Newton steps; where no body has more contacts than it has velocities,
which sweeps solve faster; and without Newton steps"""
SEPARATING_SWEEPS, SEPARATED = 10, 1e-4
"""at most, and the share of a speed that counts as solved: overlaps go step by step"""
MOST_UNKNOWNS = 30
"""rows of G up to which there are Newton steps: their cost grows with the cube"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ContactSolution:
    """Impulses, and what is known about them."""

    impulses: list[Impulse]
    displaced: list[Impulse]
    """those that take shapes apart"""
    residual: Expr
    sweeps: Expr
    newton_steps: Expr


Apart = Callable[[Problem, Sequence[Expr], Sequence[Expr]], tuple[Problem, Expr]]
"""a problem, its V and further numbers → the problem of taking shapes apart, and by how
much they overlap"""


def solve(
    problem: Problem,
    start: Sequence[Expr],
    tolerance: float,
    overlap: Expr = ZERO,
    apart: tuple[Apart, Sequence[Expr]] | None = None,
) -> ContactSolution:
    """Return the impulses of a step, from those of the step before.

    Where nothing touches, nothing is computed.

    Args:
        problem: the constraints.
        start: impulses.
        tolerance: [m/s] of velocities.
        overlap: positive if shapes overlap before the step.
        apart: what to do about shapes that overlap after it, and further numbers.
    """
    numbers, size = problem.numbers(), problem.size

    def solved(start: list[Expr], given: list[Expr]) -> list[Expr]:
        own = problem.with_numbers(given[: len(numbers)])
        found = _solved(own, start[:size], start[2 * size], tolerance)
        displaced: Sequence[Expr] = [ZERO] * size
        if apart is not None:
            V = own.velocities(own.block_impulses(found.impulses))
            displaced = _separation(*apart[0](own, V, given[len(numbers) :]))
        rest = found.residual, found.sweeps, found.newton_steps
        return [*flat(found.impulses), *displaced, *rest]

    residual = _first_residual(problem, start, overlap)
    *found, residual, sweeps, steps = unless(
        residual <= tolerance,
        solved,
        [*start, *[ZERO] * size, residual, ZERO, ZERO],
        [*numbers, *(apart[1] if apart else ())],
    )
    impulses, displaced = problem.split(found[:size]), problem.split(found[size:])
    return ContactSolution(impulses, displaced, residual, sweeps, steps)


def _solved(
    problem: Problem, start: Sequence[Expr], residual: Expr, tolerance: float
) -> ContactSolution:
    has_newton = len(problem.c) <= MOST_UNKNOWNS
    has_bodies = any(len(block) > 3 for block in problem.blocks)
    most = SWEEPS if has_bodies else SWEEPS_OF_POINTS
    swept, residual, sweeps = _swept(
        problem,
        start,
        problem.velocities(problem.block_impulses(problem.split(start))),
        residual,
        tolerance,
        most if has_newton else SWEEPS_ALONE,
    )
    impulses, steps = problem.split(swept), ZERO
    if has_newton:
        impulses, residual, steps = refined(problem, impulses, residual, tolerance)
    return ContactSolution(impulses, [], residual, sweeps, steps)


def _swept(
    problem: Problem,
    start: Sequence[Expr],
    V: Sequence[Expr],
    residual: Expr,
    tolerance: float,
    most: int,
) -> tuple[list[Expr], Expr, Expr]:
    """Return impulses after sweeps, what the last one changed of v, and how many.

    A sweep begins where the two before point to.
    """
    scales = [Scales.of(problem, c) for c in problem.constraints]

    def swept(carry: dict[str, Any]) -> dict[str, Any]:
        x, V = carry["x"], carry["V"]
        found, reached, change = sweep(problem, scales, problem.split(list(x)), list(V))
        y, reached = np.array(flat(found)), np.array(reached)
        step = y - x
        gamma = secant(list(step), list(carry["step"]), change, carry["change"])
        return {
            "y": y,
            "change": change,
            "x": y - gamma * (y - carry["y"]),
            "step": step,
            "V": reached - gamma * (reached - carry["reached"]),
            "reached": reached,
        }

    x, free = np.array(start), np.array(V)
    first: dict[str, Any] = {  # what is kept comes first
        "y": x,
        "change": residual,
        "x": x,
        "step": 0 * x + UNCONVERGED,
        "V": free,
        "reached": free,
    }
    found = repeat_until(swept, first, lambda carry: carry["change"] <= tolerance, most)
    return list(found.carry["y"]), found.carry["change"], found.steps


def _separation(problem: Problem, depth: Expr) -> list[Expr]:
    """Return impulses that take shapes apart, from zero; none where depth is zero."""

    def solved(start: list[Expr], numbers: list[Expr]) -> list[Expr]:
        own = problem.with_numbers(numbers)
        most = SEPARATING_SWEEPS
        return _swept(own, start, own.c, UNCONVERGED, SEPARATED, most)[0]

    start = [ZERO] * problem.size
    return unless(depth <= 0.0, solved, start, problem.numbers())


def _first_residual(problem: Problem, start: Sequence[Expr], overlap: Expr) -> Expr:
    """Return 0 where no impulse acts and none is needed, else a large number."""
    need = overlap
    for x in start:
        need = extremum("max", need, abs(x))
    for one in problem.constraints:
        v = problem.velocity(one, problem.c)[-1]
        is_unilateral = isinstance(one, Cone) or (
            one.upper is None and one.lower is not None
        )
        need = extremum("max", need, -v if is_unilateral else abs(v))
    return where(need > 0.0, UNCONVERGED, ZERO)
