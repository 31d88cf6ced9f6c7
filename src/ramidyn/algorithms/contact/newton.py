"""Newton steps on an augmented Lagrangian, for what sweeps leave.

Four corners of a foot share impulses in many ways, and sweeps go through them slowly.
In the velocities of the blocks there are few unknowns:

    G⁻¹ (V − c) = Σ Eᵀ P(z),   z = λ − ρ (E V + a + s)     s: μ |v_t| in normal rows

is the minimum of a convex function of V (P projects onto the bounds of a constraint).
Newton steps find it with the matrix G⁻¹ + Σ ρ Eᵀ P′ E, symmetric and positive; steps
are halved until the function falls. Where it is found, P(z) are the new λ, and the
velocities give a new s (de Saxcé's correction, held in between). The impulses P(z) obey
their bounds at any time; the best are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ramidyn.algorithms.contact.problem import (
    IMMOVABLE,
    UNCONVERGED,
    Cone,
    Constraint,
    Impulse,
    Interval,
    Problem,
    Scales,
    cone_shares,
    inverse_of,
    largest,
    natural_residual,
    project,
    secant,
    slip,
)
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import Matrix, inner, inverse, ldl, solve, total
from ramidyn.symbolic.expr import Expr, extremum, where
from ramidyn.symbolic.repeat import repeat_until, unless

STIFFNESS = 1e4
"""ρ times the inverse inertia of a constraint"""
MOST_STEPS, MOST_HALVINGS = 28, 8
DECREASE = 1e-4
"""of what the slope promises, that a step must reach (Armijo's rule)"""
ROUNDING = 1e-11
"""of the mean entry of G, that is added to it: it may be singular"""
SOLVED = 0.3
"""of the residual, that may be left of the equation for V when λ changes"""


def newton_steps(
    problem: Problem,
    scales: Sequence[Scales],
    impulses: Sequence[Impulse],
    residual: Expr,
    tolerance: float,
) -> list[Expr]:
    """Return better impulses where the residual is too large, their residual, steps."""
    lagrangian = _Lagrangian.of(problem, scales)
    start = flat(impulses)
    F = problem.block_impulses(impulses)
    V = problem.velocities(F)
    v = [problem.velocity(c, V) for c in problem.constraints]
    slips = np.array(slips_of(problem, v))

    def step(carry: dict[str, Any]) -> dict[str, Any]:
        V, back, slips = (list(carry[n]) for n in ("V", "back", "slips"))
        v, held = (problem.split(list(carry[n])) for n in ("v", "held"))
        z = lagrangian.arguments(v, held, slips)
        p = [project(c, x) for c, x in zip(problem.constraints, z, strict=True)]
        pushed = problem.block_impulses(p)
        g = [a - b for a, b in zip(back, pushed, strict=True)]
        d, along, d_back = lagrangian.direction(z, g)
        line = _Line(inner(back, d), inner(d_back, d), inner(g, d))
        t = lagrangian.line_search(line, v, along, held, slips, lagrangian.sum(z, p))
        V, back = moved(V, t, d), moved(back, t, d_back)
        v = [moved(x, t, dx) for x, dx in zip(v, along, strict=True)]
        z = lagrangian.arguments(v, held, slips)
        p = [project(c, x) for c, x in zip(problem.constraints, z, strict=True)]
        reached = problem.velocities(problem.block_impulses(p))
        now = natural_residual(problem, scales, p, reached)
        left = largest([a - b for a, b in zip(reached, V, strict=True)])
        is_solved = left < SOLVED * now + 0.1 * tolerance
        is_better = now < carry["residual"]
        found = slips_of(problem, v)
        change = [a - b for a, b in zip(found, slips, strict=True)]
        was = list(carry["change"])
        gamma = secant(change, was, largest(change), largest(was))
        ahead = [
            extremum("max", a - gamma * (a - b), ZERO)
            for a, b in zip(found, carry["found"], strict=True)
        ]
        return {
            "V": np.array(V),
            "back": np.array(back),
            "v": np.array(flat(v)),
            "held": chosen(is_solved, flat(p), carry["held"]),
            "slips": chosen(is_solved, ahead, slips),
            "found": chosen(is_solved, found, carry["found"]),
            "change": chosen(is_solved, change, carry["change"]),
            "best": chosen(is_better, flat(p), carry["best"]),
            "residual": where(is_better, now, carry["residual"]),
        }

    found = repeat_until(
        step,
        {
            "V": np.array(V),
            "back": np.array(F),
            "v": np.array(flat(v)),
            "held": np.array(start),
            "slips": slips,
            "found": slips,
            "change": np.array([UNCONVERGED] * len(slips)),
            "best": np.array(start),
            "residual": residual,
        },
        lambda carry: carry["residual"] <= tolerance,
        MOST_STEPS,
    )
    return [*found.carry["best"], found.carry["residual"], found.steps]


def flat(parts: Sequence[Sequence[Expr]]) -> list[Expr]:
    """Return all entries in order."""
    return [x for each in parts for x in each]


def moved(x: Sequence[Expr], t: Expr, d: Sequence[Expr]) -> list[Expr]:
    """Return x + t d."""
    return [a + t * b for a, b in zip(x, d, strict=True)]


def chosen(condition: Any, new: Sequence[Expr], old: Sequence[Expr]) -> Any:
    """Return the new values where a condition holds."""
    return np.array([where(condition, a, b) for a, b in zip(new, old, strict=True)])


def slips_of(problem: Problem, v: Sequence[Sequence[Expr]]) -> list[Expr]:
    """Return μ |v_t| of all cones."""
    pairs = zip(problem.constraints, v, strict=True)
    return [slip(c, x) for c, x in pairs if isinstance(c, Cone)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """½ (V − c)ᵀ G⁻¹ (V − c) along a step, and the slope of the whole function."""

    first: Expr
    second: Expr
    slope: Expr

    def at(self, t: Expr) -> Expr:
        return t * (self.first + 0.5 * t * self.second)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Lagrangian:
    """The augmented Lagrangian of a problem."""

    problem: Problem
    inertia: Matrix
    """G⁻¹"""
    rho: list[Expr]
    compliance: list[Expr]
    """1 / ρ"""

    @staticmethod
    def of(problem: Problem, scales: Sequence[Scales]) -> _Lagrangian:
        """Return it, with G inverted."""
        units = [s.mean for s in scales]
        rho = [inverse_of(u) * STIFFNESS for u in units]
        soft = [u * (1.0 / STIFFNESS) for u in units]
        n = range(len(problem.c))
        more = total(problem.G[k][k] for k in n) * (ROUNDING / len(n)) + IMMOVABLE
        G = [[problem.G[r][c] + (more if r == c else ZERO) for c in n] for r in n]
        return _Lagrangian(problem, inverse(*ldl(G)), rho, soft)

    def arguments(
        self,
        v: Sequence[Sequence[Expr]],
        held: Sequence[Impulse],
        slips: Sequence[Expr],
    ) -> list[Impulse]:
        """Return z of all constraints."""
        rest = iter(slips)
        found: list[Impulse] = []
        pairs = zip(self.problem.constraints, v, held, self.rho, strict=True)
        for one, own, x, rho in pairs:
            u = list(own)
            if isinstance(one, Cone):
                u[2] = u[2] + next(rest)
            found.append([a - rho * b for a, b in zip(x, u, strict=True)])
        return found

    def sum(self, z: Sequence[Impulse], p: Sequence[Impulse]) -> Expr:
        """Return the part of the function that the constraints add."""
        return total(
            soft * (inner(a, b) - 0.5 * inner(b, b))
            for a, b, soft in zip(z, p, self.compliance, strict=True)
        )

    def direction(
        self, z: Sequence[Impulse], g: Sequence[Expr]
    ) -> tuple[list[Expr], list[list[Expr]], list[Expr]]:
        """Return the Newton step d, how it moves v, and G⁻¹ d."""
        H = [list(row) for row in self.inertia]
        for one, x, rho in zip(self.problem.constraints, z, self.rho, strict=True):
            _add_curvature(H, one, x, rho)
        d = [-x for x in solve(*ldl(H), g)]
        along = [
            [total(e * d[i] for i, e in row.items()) for row in one.rows]
            for one in self.problem.constraints
        ]
        return d, along, [inner(row, d) for row in self.inertia]

    def line_search(
        self,
        line: _Line,
        v: Sequence[Sequence[Expr]],
        along: Sequence[Sequence[Expr]],
        held: Sequence[Impulse],
        slips: Sequence[Expr],
        value: Expr,
    ) -> Expr:
        """Return how much of a step is short enough."""
        rounding = 1e-14 * abs(value)

        def at(t: Expr) -> Expr:
            there = [moved(x, t, dx) for x, dx in zip(v, along, strict=True)]
            z = self.arguments(there, held, slips)
            rules = zip(self.problem.constraints, z, strict=True)
            return line.at(t) + self.sum(z, [project(c, x) for c, x in rules]) - value

        found = repeat_until(
            lambda carry: (carry[0] * 0.5, at(carry[0] * 0.5)),
            (ONE, at(ONE)),
            lambda carry: carry[1] <= carry[0] * (DECREASE * line.slope) + rounding,
            MOST_HALVINGS,
        )
        return found.carry[0]


def _add_curvature(H: Matrix, one: Constraint, z: Impulse, rho: Expr) -> None:
    """Add the lower triangle of ρ Eᵀ P′ E, for the derivative P′ of the projection."""
    P = _projection_derivative(one, z)
    n = len(one.rows)
    for b in dict.fromkeys(i for row in one.rows for i in row):
        column = [row.get(b, ZERO) for row in one.rows]
        pushed = [
            rho * total(P[max(r, c)][min(r, c)] * column[c] for c in range(n))
            for r in range(n)
        ]
        for a in dict.fromkeys(i for row in one.rows for i in row):
            if a >= b:
                more = total(
                    row.get(a, ZERO) * x
                    for row, x in zip(one.rows, pushed, strict=True)
                )
                H[a][b] = H[a][b] + more


def _projection_derivative(one: Constraint, z: Impulse) -> Matrix:
    """Return the lower triangle of P′."""
    if isinstance(one, Interval):
        inside = ONE
        if one.lower is not None:
            inside = where(z[0] > one.lower, inside, ZERO)
        if one.upper is not None:
            inside = where(z[0] < one.upper, inside, ZERO)
        return [[inside]]
    mu, shares = one.friction, cone_shares(one.friction, z)
    # On the surface: w wᵀ / (1 + μ²) along w = (μ u, 1), and μ n / |z_t| across u.
    u = [z[k] / shares.length for k in (0, 1)]
    along = shares.is_on / (ONE + mu * mu)
    across = shares.is_on * mu * shares.normal / shares.length
    turn = along * mu * mu - across
    inside = shares.is_inside
    return [
        [inside + across + turn * u[0] * u[0]],
        [turn * u[0] * u[1], inside + across + turn * u[1] * u[1]],
        [along * mu * u[0], along * mu * u[1], inside + along],
    ]


def refined(
    problem: Problem, impulses: Sequence[Impulse], residual: Expr, tolerance: float
) -> tuple[list[Impulse], Expr, Expr]:
    """Return `newton_steps` of the states that need them; others pass by."""

    def solved(start: list[Expr], numbers: list[Expr]) -> list[Expr]:
        *entries, left, _ = start
        own = problem.with_numbers(numbers)
        scales = [Scales.of(own, c) for c in own.constraints]
        return newton_steps(own, scales, own.split(entries), left, tolerance)

    start = [*flat(impulses), residual, ZERO]
    numbers = problem.numbers()
    *best, left, steps = unless(residual <= tolerance, solved, start, numbers)
    return problem.split(best), left, steps
