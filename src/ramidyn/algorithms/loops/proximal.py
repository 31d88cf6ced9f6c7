"""Redundant and singular constraints, by proximal iterations (Carpentier et al. 2021).

    M q̈ⁿ = Q + Jᵀ λⁿ,   J q̈ⁿ + μ (λⁿ − λⁿ⁻¹) = −γ          λ⁰ = 0

Each pass solves a system that is definite whatever the rank of J, and what is left of
J q̈ + γ shrinks by μ / (μ + σ) from pass to pass, for every eigenvalue σ > 0 of
J M⁻¹ Jᵀ. In the form of corrections all passes share one factorization, and each
corrects the rounding of the one before:

    r = J q̈ⁿ + γ,    (q̈, λ)ⁿ⁺¹ = (q̈, λ)ⁿ + solution for Q = 0, γ = r

μ is scaled, row by row, by what J M⁻¹ Jᵀ has on its diagonal. Of all multipliers that
cause the same forces, those found are the least in the norm that μ scales; what
`without_idle` leaves of them are the least as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ramidyn.algorithms.ltdl import DofVector
from ramidyn.description.pose import Array
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.dense import (
    Factor,
    add_multiples,
    dot,
    gram,
    ldl,
    without_components,
)
from ramidyn.symbolic.dense import solve as ldl_solve
from ramidyn.symbolic.expr import Expr, const

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


def idle(
    J: Mapping[int, DofVector], spare: Sequence[int], null: Array, damping: float
) -> list[list[Expr]]:
    """Return multipliers of all rows that do nothing, one list for each spare row.

    With B the rows that are independent, each spare row d is a sum of them:

        J_B J_Bᵀ c = J_B J_dᵀ      n_d = e_d − c

    Args:
        J: rows by their numbers, those that are always redundant left out.
        spare: which of them depend on the others where the loops are closed.
        null: (rows, k) orthonormal, what does nothing wherever the robot is.
        damping: as for the dynamics; B may be singular somewhere.
    """
    basis = [r for r in J if r not in spare]
    rows = [J[r] for r in basis]
    factor = _gram_factor(rows, damping)
    N: list[list[Expr]] = []
    for d in spare:
        c, left = [ZERO] * len(basis), dict(J[d])
        for _ in range(PASSES):  # what is left of J_d without c
            more = ldl_solve(*factor, [dot(row, left) for row in rows])
            c = [x + m for x, m in zip(c, more, strict=True)]
            add_multiples(left, rows, [-m for m in more])
        n = [ZERO] * len(null)
        n[d] = const(1.0)
        for r, x in zip(basis, c, strict=True):
            n[r] = -x
        N.append(without_components(null, n))
    return N


def without_idle(N: Sequence[Sequence[Expr]], x: Sequence[Expr]) -> list[Expr]:
    """Return x − N (Nᵀ N)⁻¹ Nᵀ x: of all λ with the same Jᵀ λ, that of least Σ λ².

    Nothing of ``null`` may be in x.
    """
    columns = [dict(enumerate(n)) for n in N]
    b = [dot(n, dict(enumerate(x))) for n in columns]
    y = ldl_solve(*ldl(gram(columns, columns)), b)
    out = list(x)
    for n, k in zip(N, y, strict=True):
        out = [o - e * k for o, e in zip(out, n, strict=True)]
    return out


def preimage(rows: Sequence[DofVector], x: Sequence[Expr], damping: float) -> DofVector:
    """Return the y in the span of independent rows with J y = x."""
    factor = _gram_factor(rows, damping)
    y: DofVector = {}
    for _ in range(PASSES):
        left = [e - dot(row, y) for row, e in zip(rows, x, strict=True)]
        add_multiples(y, rows, ldl_solve(*factor, left))
    return y


def _gram_factor(rows: Sequence[DofVector], damping: float) -> Factor:
    """Return C and E of J Jᵀ = C E Cᵀ, damped."""
    A = gram(rows, rows)
    return ldl([[*a[:-1], a[-1] * (1.0 + damping)] for a in A])
