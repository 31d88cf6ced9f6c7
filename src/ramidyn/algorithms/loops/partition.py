"""Dependent and independent velocities of loops (Wehage & Haug 1982), over symbols.

    J q̇ = J_d q̇_d + J_i q̇_i = 0

w[k] is 1 for a dependent velocity and 0 for an independent one: numbers that are found
when the compiled code runs, as each state needs them. With W = diag(w),

    v = −W Jᵀ (J W Jᵀ)⁻¹ x

changes dependent velocities alone: J W Jᵀ = J_d J_dᵀ, so v_d = −J_d⁻¹ x.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ramidyn.algorithms.ltdl import DofVector
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import add_multiples, dot, gram, ldl, solve
from ramidyn.symbolic.expr import Expr, region
from ramidyn.symbolic.functions import absolute, maximum, where


def dependent_columns(J: Sequence[DofVector], n: int) -> list[Expr]:
    """Return w by elimination: of each row, the column of the largest entry left."""
    region("dependent velocities")
    A = [dict(row) for row in J]
    w: list[Expr] = [ZERO] * n
    for r, row in enumerate(A):
        pivot = _largest(row, w)
        for k, is_pivot in pivot.items():
            w[k] = w[k] + is_pivot
        inverse = ONE / dot(pivot, row)
        for below in A[r + 1 :]:
            if pivot.keys() & below.keys():
                factor = dot(pivot, below) * inverse
                for k, e in row.items():
                    below[k] = below.get(k, ZERO) - factor * e
    return w


def _largest(row: DofVector, w: Sequence[Expr]) -> DofVector:
    """Return 1 for the first of the largest entries without w, 0 for the others."""
    sizes = {k: where(w[k] > 0.5, -1.0, absolute(e)) for k, e in row.items()}
    largest: Expr = functools.reduce(maximum, sizes.values())
    left = ONE
    found: DofVector = {}
    for k, size in sizes.items():
        found[k] = where(size >= largest, left, 0.0)
        left = left - found[k]
    return found


def dependent_motion(
    J: Sequence[DofVector], w: Sequence[Expr], x: Sequence[Expr]
) -> DofVector:
    """Return the v of dependent velocities with J v = −x."""
    W = [{k: e * w[k] for k, e in row.items()} for row in J]
    multipliers = solve(*ldl(gram(J, W)), x)
    v: DofVector = {}
    add_multiples(v, W, [-x for x in multipliers])
    return v
