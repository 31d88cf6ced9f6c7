"""Newton steps on an augmented Lagrangian, for what sweeps leave.

Four corners of a foot share impulses in many ways, and sweeps go through them slowly.
In the velocities of the blocks there are few unknowns. With G = K Kᵀ and V = c + K y,

    y = Kᵀ Σ Eᵀ P(z),   z = λ − ρ (E V + a + s)        s: μ |v_t| in a cone's normal row

is the minimum of a convex function of y (P projects onto the bounds of a constraint).
Newton steps find it with the matrix 1 + Kᵀ (Σ ρ Eᵀ P′ E) K, symmetric and positive;
steps are halved until the function falls. Where it is found, P(z) are the new λ, and
the velocities give a new s (de Saxcé's correction, held in between). The impulses P(z)
obey their bounds at any time; the best are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ramidyn.algorithms.contact.problem import (
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
    slip,
)
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import Matrix, inner, ldl, solve, total
from ramidyn.symbolic.expr import Expr, const, where
from ramidyn.symbolic.repeat import repeat_until

STIFFNESS = 1e3
"""ρ times the inverse inertia of a constraint"""
MOST_STEPS, MOST_HALVINGS = 30, 8
DECREASE = 1e-4
"""of what the slope promises, that a step must reach (Armijo's rule)"""
ROUNDING = 1e-12
"""of an entry of G: a smaller pivot of its factor is zero"""
SOLVED = 1e-3
"""of the residual, that may be left of the equation for y when λ changes"""


def newton_steps(
    problem: Problem,
    scales: Sequence[Scales],
    impulses: Sequence[Impulse],
    residual: Expr,
    tolerance: float,
) -> tuple[list[Impulse], Expr]:
    """Return better impulses where the residual is too large, and their residual."""
    lagrangian = _Lagrangian.of(problem, scales)
    start = [x for each in impulses for x in each]
    cones = [c for c in problem.constraints if isinstance(c, Cone)]
    y = lagrangian.back(problem.block_impulses(impulses))
    V = lagrangian.velocities(y)
    slips = [slip(c, problem.velocity(c, V)) for c in cones]

    def step(carry: dict[str, Any]) -> dict[str, Any]:
        y, slips = list(carry["y"]), list(carry["slips"])
        held = problem.split(list(carry["held"]))
        z = lagrangian.arguments(y, held, slips)
        p = [project(c, x) for c, x in zip(problem.constraints, z, strict=True)]
        g = lagrangian.gradient(y, p)
        d = lagrangian.direction(z, g)
        y = lagrangian.line_search(y, d, g, held, slips, lagrangian.value(y, z, p))
        z = lagrangian.arguments(y, held, slips)
        p = [project(c, x) for c, x in zip(problem.constraints, z, strict=True)]
        g = lagrangian.gradient(y, p)
        V = problem.velocities(problem.block_impulses(p))
        now = natural_residual(problem, scales, p, V)
        is_better = now < carry["residual"]
        flat = [x for each in p for x in each]
        best = [
            where(is_better, a, b) for a, b in zip(flat, carry["best"], strict=True)
        ]
        left = largest(g) * lagrangian.unit
        is_solved = left < SOLVED * now + 0.1 * tolerance
        V = lagrangian.velocities(y)
        slipping = [slip(c, problem.velocity(c, V)) for c in cones]
        pairs = zip(flat, carry["held"], strict=True)
        return {
            "y": np.array(y),
            "held": np.array([where(is_solved, a, b) for a, b in pairs]),
            "slips": np.array(
                [where(is_solved, a, b) for a, b in zip(slipping, slips, strict=True)]
            ),
            "best": np.array(best),
            "residual": where(is_better, now, carry["residual"]),
        }

    found = repeat_until(
        step,
        {
            "y": np.array(y),
            "held": np.array(start),
            "slips": np.array(slips),
            "best": np.array(start),
            "residual": residual,
        },
        lambda carry: carry["residual"] <= tolerance,
        MOST_STEPS,
    )
    return problem.split(list(found.carry["best"])), found.carry["residual"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Lagrangian:
    """The augmented Lagrangian of a problem."""

    problem: Problem
    K: Matrix
    """lower triangle, by rows"""
    rho: list[Expr]
    compliance: list[Expr]
    """1 / ρ"""
    unit: Expr
    """velocity per unit of y, about"""

    @staticmethod
    def of(problem: Problem, scales: Sequence[Scales]) -> _Lagrangian:
        """Return it, with G factored."""
        units = [s.mean for s in scales]
        rho = [inverse_of(u) * STIFFNESS for u in units]
        soft = [u * (1.0 / STIFFNESS) for u in units]
        mean = total(units) * (1.0 / len(units))
        return _Lagrangian(problem, _root(problem.G), rho, soft, mean.sqrt())

    def back(self, F: Sequence[Expr]) -> list[Expr]:
        """Return Kᵀ F."""
        n = range(len(F))
        return [total(self.K[i][j] * F[i] for i in n if i >= j) for j in n]

    def velocities(self, y: Sequence[Expr]) -> list[Expr]:
        """Return c + K y."""
        rows = zip(self.problem.c, self.K, strict=True)
        return [c + inner(row, y[: len(row)]) for c, row in rows]

    def arguments(
        self, y: Sequence[Expr], held: Sequence[Impulse], slips: Sequence[Expr]
    ) -> list[Impulse]:
        """Return z of all constraints."""
        V, rest = self.velocities(y), iter(slips)
        found: list[Impulse] = []
        for one, x, rho in zip(self.problem.constraints, held, self.rho, strict=True):
            v = self.problem.velocity(one, V)
            if isinstance(one, Cone):
                v[2] = v[2] + next(rest)
            found.append([a - rho * b for a, b in zip(x, v, strict=True)])
        return found

    def value(
        self, y: Sequence[Expr], z: Sequence[Impulse], p: Sequence[Impulse]
    ) -> Expr:
        """Return the function that Newton steps minimize."""
        parts = [
            soft * (inner(a, b) - 0.5 * inner(b, b))
            for a, b, soft in zip(z, p, self.compliance, strict=True)
        ]
        return 0.5 * inner(y, y) + total(parts)

    def gradient(self, y: Sequence[Expr], p: Sequence[Impulse]) -> list[Expr]:
        """Return y − Kᵀ Σ Eᵀ p."""
        F = self.problem.block_impulses(p)
        return [a - b for a, b in zip(y, self.back(F), strict=True)]

    def direction(self, z: Sequence[Impulse], g: Sequence[Expr]) -> list[Expr]:
        """Return the Newton step."""
        n = len(g)
        H: dict[tuple[int, int], Expr] = {}
        for one, x, rho in zip(self.problem.constraints, z, self.rho, strict=True):
            _add_curvature(H, one, x, rho)
        K = self.K
        HK = [[ZERO] * n for _ in range(n)]
        for (i, j), h in H.items():
            for k in range(j + 1):
                HK[i][k] = HK[i][k] + h * K[j][k]
        A = [
            [
                total(K[i][r] * HK[i][c] for i in range(r, n))
                + (ONE if r == c else ZERO)
                for c in range(r + 1)
            ]
            for r in range(n)
        ]
        return [-x for x in solve(*ldl(A), g)]

    def line_search(
        self,
        y: Sequence[Expr],
        d: Sequence[Expr],
        g: Sequence[Expr],
        held: Sequence[Impulse],
        slips: Sequence[Expr],
        value: Expr,
    ) -> list[Expr]:
        """Return y after a step that is short enough."""
        slope = inner(g, d) * DECREASE
        rounding = 1e-14 * abs(value)

        def at(t: Expr) -> tuple[list[Expr], Expr]:
            there = [a + t * b for a, b in zip(y, d, strict=True)]
            z = self.arguments(there, held, slips)
            rules = zip(self.problem.constraints, z, strict=True)
            p = [project(c, x) for c, x in rules]
            return there, self.value(there, z, p)

        found = repeat_until(
            lambda carry: (carry[0] * 0.5, at(carry[0] * 0.5)[1]),
            (ONE, at(ONE)[1]),
            lambda carry: carry[1] <= value + carry[0] * slope + rounding,
            MOST_HALVINGS,
        )
        t = found.carry[0]
        return [a + t * b for a, b in zip(y, d, strict=True)]


def _root(G: Matrix) -> Matrix:
    """Return K of G = K Kᵀ, lower triangular, with zero columns where G is singular."""
    K: Matrix = []
    inverses: list[Expr] = []
    for i, row in enumerate(G):
        new: list[Expr] = []
        for j in range(i):
            left = row[j] - inner(new[:j], K[j][:j])
            new.append(left * inverses[j])
        pivot = row[i] - inner(new, new)
        is_usable = pivot > ROUNDING * row[i]
        root = where(is_usable, pivot, ONE).sqrt()
        K.append([*new, where(is_usable, root, ZERO)])
        inverses.append(where(is_usable, ONE / root, ZERO))
    return K


def _add_curvature(
    H: dict[tuple[int, int], Expr], one: Constraint, z: Impulse, rho: Expr
) -> None:
    """Add ρ Eᵀ P′ E, for the derivative P′ of the projection of z."""
    P = _projection_derivative(one, z)
    for a, row in enumerate(one.rows):
        for b, other in enumerate(one.rows):
            weight = rho * P[max(a, b)][min(a, b)]
            for i, x in row.items():
                left = weight * x
                for j, y in other.items():
                    more = left * y
                    H[i, j] = H[i, j] + more if (i, j) in H else more


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
) -> tuple[list[Impulse], Expr]:
    """Return `newton_steps` of the states that need them; others pass by.

    What only these steps need (the factor of G) is computed for such states alone: a
    loop of at most one step carries the numbers of the problem.
    """

    def solved(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        values, flat, left = carry
        own = problem.with_numbers(list(values))
        scales = [Scales.of(own, c) for c in own.constraints]
        found, now = newton_steps(own, scales, own.split(list(flat)), left, tolerance)
        return values, np.array([x for each in found for x in each]), now

    flat = [x for each in impulses for x in each]
    found = repeat_until(
        solved,
        (np.array(problem.numbers()), np.array(flat), residual),
        lambda carry: carry[2] <= tolerance,
        1,
    )
    return problem.split(list(found.carry[1])), found.carry[2]


UNCONVERGED = const(1e30)
"""residual before the first sweep"""
