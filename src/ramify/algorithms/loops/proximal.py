"""Redundant and singular constraints, by proximal iterations (Carpentier et al. 2021).

    M q̈ⁿ = Q + Jᵀ λⁿ,   J q̈ⁿ + μ (λⁿ − λⁿ⁻¹) = −γ          λ⁰ = 0

Each pass solves a system that is definite whatever the rank of J, and what is left of
J q̈ + γ shrinks by μ / (μ + σ) from pass to pass, for every eigenvalue σ > 0 of
J M⁻¹ Jᵀ. In the form of corrections all passes share one factorization, and rounding
in one is the next one's to mend:

    r = J q̈ⁿ + γ,    (q̈, λ)ⁿ⁺¹ = (q̈, λ)ⁿ + solution for Q = 0, γ = r

μ is scaled, row by row, by what J M⁻¹ Jᵀ has on its diagonal. Of all multipliers that
cause the same forces, those found are the least in the norm that μ scales; `least`
makes them the least as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ramify.algorithms.loops.joint_formulation import (
    cholesky,
    cholesky_solve,
    dot,
    gram,
)
from ramify.algorithms.ltdl import DofVector
from ramify.model.pose import Array
from ramify.spatial.vector3 import ZERO
from ramify.symbolic.expr import Expr, const

DAMPING = {"float64": 1e-8, "float32": 1e-5}
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


def least(
    J: Mapping[int, DofVector],
    spare: Sequence[int],
    null: Array,
    multipliers: Sequence[Expr],
    damping: float,
) -> list[Expr]:
    """Return the multipliers with the same Jᵀ λ and the smallest Σ λ².

    With B the rows that are independent, each spare row d is a sum of them, and what
    that says does nothing is taken out of λ:

        J_B J_Bᵀ c = J_B J_dᵀ      n_d = e_d − c      λ − N (Nᵀ N)⁻¹ Nᵀ λ

    Args:
        J: rows by their numbers, those that are always redundant left out.
        spare: which of them depend on the others where the loops are closed.
        null: (rows, k) orthonormal, what does nothing wherever the robot is.
        multipliers: of all rows; nothing of ``null`` is in them.
        damping: as for the dynamics; B may be singular somewhere.
    """
    basis = [r for r in J if r not in spare]
    rows = [J[r] for r in basis]
    A = gram(rows, rows)
    C, E = cholesky([[*a[:-1], a[-1] * (1.0 + damping)] for a in A])
    N: list[list[Expr]] = []
    for d in spare:
        c, left = [ZERO] * len(basis), dict(J[d])
        for _ in range(PASSES):  # what is left of J_d without c
            more = cholesky_solve(C, E, [dot(row, left) for row in rows])
            c = [x + m for x, m in zip(c, more, strict=True)]
            for row, m in zip(rows, more, strict=True):
                for k, x in row.items():
                    left[k] = left.get(k, ZERO) - m * x
        n = [ZERO] * len(multipliers)
        n[d] = const(1.0)
        for r, x in zip(basis, c, strict=True):
            n[r] = -x
        N.append(without(null, n))
    idle = _combined(N, multipliers)
    return [x - i for x, i in zip(multipliers, idle, strict=True)]


def without(null: Array, x: Sequence[Expr]) -> list[Expr]:
    """Return x − n nᵀ x for orthonormal columns n."""
    out = list(x)
    for n in np.transpose(null).tolist():
        along = ZERO
        for k, e in zip(n, x, strict=True):
            along = along + e * k
        out = [e - along * k for e, k in zip(out, n, strict=True)]
    return out


def _combined(N: Sequence[Sequence[Expr]], x: Sequence[Expr]) -> list[Expr]:
    """Return N (Nᵀ N)⁻¹ Nᵀ x."""
    columns = [dict(enumerate(n)) for n in N]
    b = [dot(n, dict(enumerate(x))) for n in columns]
    y = cholesky_solve(*cholesky(gram(columns, columns)), b)
    out = [ZERO] * len(x)
    for n, k in zip(N, y, strict=True):
        out = [o + e * k for o, e in zip(out, n, strict=True)]
    return out
