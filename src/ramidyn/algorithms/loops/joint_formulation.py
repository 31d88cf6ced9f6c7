"""Dynamics with loops in joint coordinates (Negrut, Serban & Potra 1997, Alg-S).

    M q̈ = Q + Jᵀ λ,   J q̈ = −γ

The paper's steps, with its M = L Lᵀ as M = Lᵀ D L along the tree (no fill-in, no
roots) and λ with the sign of a force that acts on the robot:

    1    M = Lᵀ D L
    2    Lᵀ z = Q
    3.1  Lᵀ T = Jᵀ, zero where neither end of the loop is supported (Lemma 3);
         W = D⁻¹ T
    3.2  r = −γ − Wᵀ z
    3.3  G = Tᵀ W (= J M⁻¹ Jᵀ)
    3.4  G λ = r, by Cholesky's method, again without roots
    3.5  y = z + T λ
    4    L q̈ = D⁻¹ y

Vectors and rows are dicts over the degrees of freedom of the tree; missing entries are
zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.ltdl import Diagonal, DofVector, TreeEntries, ltdl
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.dense import Matrix, add_multiples, dot, gram, ldl, solve
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import ancestors


@final
@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """The augmented matrix [M Jᵀ; J −μ], factored by steps 1, 3.1, 3.3 and 3.4."""

    parents: Sequence[int]
    L: TreeEntries
    D: Diagonal
    T: list[DofVector]
    W: list[DofVector]
    C: Matrix
    E: list[Expr]


def factor(
    M: TreeEntries,
    J: Sequence[DofVector],
    parents: Sequence[int],
    damping: Sequence[float] = (),
) -> Factors:
    """Factor the augmented matrix; ``damping`` is added to the diagonal of G."""
    L, D = ltdl(M, parents)
    T = [lower_transposed_solve(L, row, parents) for row in J]
    W = [{k: t / D[k] for k, t in column.items()} for column in T]
    G = gram(T, W)
    for r, mu in enumerate(damping):
        G[r][r] = G[r][r] + mu
    C, E = ldl(G)
    return Factors(parents, L, D, T, W, C, E)


def joint_formulation(
    A: Factors, Q: DofVector, gamma: Sequence[Expr]
) -> tuple[DofVector, list[Expr]]:
    """Return q̈ and λ by steps 2, 3.2, 3.4, 3.5 and 4."""
    z = lower_transposed_solve(A.L, Q, A.parents)
    region("multipliers")
    r = [-g - dot(w, z) for g, w in zip(gamma, A.W, strict=True)]
    multipliers = solve(A.C, A.E, r)
    return accelerations(A, z, multipliers), multipliers


def accelerations(A: Factors, z: DofVector, multipliers: Sequence[Expr]) -> DofVector:
    """Return q̈ of L q̈ = D⁻¹ (z + T λ)."""
    region("accelerations")
    y = dict(z)
    add_multiples(y, A.T, multipliers)
    out: DofVector = {}
    for k in range(len(A.parents)):
        x = y.get(k, ZERO) / A.D[k]
        for i in ancestors(A.parents, k):
            x = x - A.L[k, i] * out[i]
        out[k] = x
    return out


def lower_transposed_solve(
    L: TreeEntries, b: DofVector, parents: Sequence[int]
) -> DofVector:
    """Return L⁻ᵀ b: it reaches from the entries of b to their ancestors, no further."""
    x = dict(b)
    for k in reversed(range(len(parents))):
        if k not in x or x[k].is_zero:
            continue
        for i in ancestors(parents, k):
            x[i] = x.get(i, ZERO) - L[k, i] * x[k]
    return {k: e for k, e in x.items() if not e.is_zero}
