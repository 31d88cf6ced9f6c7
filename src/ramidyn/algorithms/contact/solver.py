"""Solve the constraints of a step: sweeps, then Newton steps for what they leave.

Every state takes the steps that it needs, whatever its neighbors in a batch need.
Impulses that are not found in time obey their bounds, and the residual says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from ramidyn.algorithms.contact.newton import UNCONVERGED, refined
from ramidyn.algorithms.contact.problem import Cone, Impulse, Problem, Scales
from ramidyn.algorithms.contact.sweeps import sweep
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.expr import Expr, extremum, where
from ramidyn.symbolic.repeat import repeat_until

TOLERANCE: Final = {"float64": 1e-9, "float32": 2e-6}
"""[m/s, rad/s] by which a sweep still changes velocities that count as solved"""
SWEEPS, SWEEPS_ALONE = 20, 200
"""at most, before Newton steps and without them"""
SEPARATING_SWEEPS, SEPARATED = 10, 1e-4
"""at most, and the share of a speed that counts as solved: overlaps go step by step"""
MOST_UNKNOWNS = 30
"""rows of G up to which there are Newton steps: their cost grows with the cube"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Impulses, and what is known about them."""

    impulses: list[Impulse]
    residual: Expr
    sweeps: Expr


def solve(problem: Problem, start: Sequence[Expr], dtype: str = "float64") -> Solution:
    """Return the impulses of a step, from those of the step before."""
    tolerance = TOLERANCE[dtype]
    scales = [Scales.of(problem, c) for c in problem.constraints]
    first = problem.split(start)
    V = problem.velocities(problem.block_impulses(first))

    def swept(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        flat, V, _ = carry
        impulses = problem.split(list(flat))
        found, V, change = sweep(problem, scales, impulses, list(V))
        return np.array([x for each in found for x in each]), np.array(V), change

    has_newton = len(problem.c) <= MOST_UNKNOWNS
    found = repeat_until(
        swept,
        (np.array(start), np.array(V), _first_residual(problem, start)),
        lambda carry: carry[2] <= tolerance,
        SWEEPS if has_newton else SWEEPS_ALONE,
    )
    impulses, residual = problem.split(list(found.carry[0])), found.carry[2]
    if has_newton:
        impulses, residual = refined(problem, impulses, residual, tolerance)
    return Solution(impulses, residual, found.steps)


def separation(problem: Problem, depth: Expr) -> list[Impulse]:
    """Return impulses that take shapes apart, from zero; none where depth is zero."""
    scales = [Scales.of(problem, c) for c in problem.constraints]
    start = [ZERO] * problem.size

    def swept(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        flat, V, _ = carry
        found, V, change = sweep(problem, scales, problem.split(list(flat)), list(V))
        return np.array([x for each in found for x in each]), np.array(V), change

    found = repeat_until(
        swept,
        (
            np.array(start),
            np.array(problem.c),
            where(depth > 0.0, UNCONVERGED, ZERO),
        ),
        lambda carry: carry[2] <= SEPARATED,
        SEPARATING_SWEEPS,
    )
    return problem.split(list(found.carry[0]))


def _first_residual(problem: Problem, start: Sequence[Expr]) -> Expr:
    """Return 0 where no impulse acts and none is needed, else a large number."""
    need = ZERO
    for x in start:
        need = extremum("max", need, abs(x))
    for one in problem.constraints:
        v = problem.velocity(one, problem.c)[-1]
        is_unilateral = isinstance(one, Cone) or (
            one.upper is None and one.lower is not None
        )
        need = extremum("max", need, -v if is_unilateral else abs(v))
    return where(need > 0.0, UNCONVERGED, ZERO)
