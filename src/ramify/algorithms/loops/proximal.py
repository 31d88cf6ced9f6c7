"""Redundant and singular constraints, by proximal iterations (Carpentier et al. 2021).

    M q̈ⁿ = Q + Jᵀ λⁿ,   J q̈ⁿ + μ (λⁿ − λⁿ⁻¹) = −γ          λ⁰ = 0

Each pass solves a system that is definite whatever the rank of J, and what is left of
J q̈ + γ shrinks by μ / (μ + σ) from pass to pass, for every eigenvalue σ > 0 of
J M⁻¹ Jᵀ. In the form of corrections all passes share one factorisation, and rounding
in one is the next one's to mend:

    r = J q̈ⁿ + γ,    (q̈, λ)ⁿ⁺¹ = (q̈, λ)ⁿ + solution for Q = 0, γ = r

μ is scaled, row by row, by what J M⁻¹ Jᵀ has on its diagonal. Of all multipliers that
cause the same forces, those found are the least (in the norm that μ scales).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ramify.algorithms.loops.joint_formulation import dot
from ramify.algorithms.ltdl import DofVector
from ramify.spatial.vector3 import ZERO
from ramify.symbolic.expr import Expr

DAMPING = 1e-8
"""μ over the diagonal of J M⁻¹ Jᵀ: far above rounding, far below any mechanism's σ."""
PASSES = 3

Solver = Callable[[DofVector, Sequence[Expr]], tuple[DofVector, list[Expr]]]
"""(Q, γ) -> (q̈, λ), of a damped augmented matrix that is factored"""


def proximal(
    solve: Solver,
    J: Sequence[DofVector],
    Q: DofVector,
    gamma: Sequence[Expr],
    passes: int = PASSES,
) -> tuple[DofVector, list[Expr]]:
    """Return q̈ and λ after some passes of a damped solver."""
    qdd, multipliers = solve(Q, gamma)
    for _ in range(passes - 1):
        left = [g + dot(row, qdd) for g, row in zip(gamma, J, strict=True)]
        dqdd, dmultipliers = solve({}, left)
        qdd = {k: x + dqdd.get(k, ZERO) for k, x in qdd.items()}
        both = zip(multipliers, dmultipliers, strict=True)
        multipliers = [x + d for x, d in both]
    return qdd, multipliers
