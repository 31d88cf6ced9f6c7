"""The best change of u within limits: projected Newton steps (Tassa et al., 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ramidyn.symbolic import functions as math

NEWTON_STEPS, LENGTHS = 3, (1.0, 0.3, 0.05)
"""the set of u at a limit is found in one or two steps"""


def limited_step(Quu: Any, Qu: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return k that minimizes ½ kᵀ Quu k + kᵀ Qu within limits, and its free entries.

    Free entries are 1, those that are pushed to a limit 0.
    """
    k = clamp(np.zeros(len(Qu)), lower, upper)
    for _ in range(NEWTON_STEPS):
        slope = Qu + Quu @ k
        free = free_entries(k, slope, lower, upper)
        L, inverse = factors(masked(Quu, free))
        move = solution(L, inverse, -slope * free)
        best = k @ (Qu + 0.5 * (Quu @ k))
        for length in LENGTHS:  # the best of several lengths, or none
            tried = clamp(k + length * move, lower, upper)
            cost = tried @ (Qu + 0.5 * (Quu @ tried))
            pairs = zip(tried, k, strict=True)
            k = np.array([math.where(cost < best, a, b) for a, b in pairs], object)
            best = math.minimum(best, cost)
    return k, free_entries(k, Qu + Quu @ k, lower, upper)


def factors(Q: Any) -> tuple[Any, list[Any]]:
    """Return L with unit diagonal and 1/D of Q = L D Lᵀ."""
    n = len(Q)
    L: Any = np.zeros((n, n), dtype=object)
    inverse: list[Any] = []
    work = np.array(Q, dtype=object)
    for k in range(n):
        pivot = work[k, k]
        inverse.append(1.0 / math.where(pivot > 0.0, pivot, 1.0))
        for i in range(k + 1, n):
            L[i, k] = work[k, i] * inverse[k]
        for i in range(k + 1, n):
            for j in range(i, n):
                work[i, j] = work[i, j] - L[i, k] * work[k, j]
    return L, inverse


def solution(L: Any, inverse: Sequence[Any], right: Any) -> Any:
    """Return Q⁻¹ right."""
    x = np.array(right, dtype=object)
    n = len(x)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i, k] * x[k]
    for i in reversed(range(n)):
        x[i] = x[i] * inverse[i]
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
    return x


def clamp(x: Any, lower: Any, upper: Any) -> Any:
    """Return entries within limits."""
    ends = zip(x, lower, upper, strict=True)
    return np.array([math.minimum(math.maximum(e, a), b) for e, a, b in ends], object)


def free_entries(k: Any, slope: Any, lower: Any, upper: Any) -> Any:
    """Return 1 for entries that can move, 0 for those that are pushed to a limit."""
    found: Any = np.empty(len(k), dtype=object)
    for i, (x, s) in enumerate(zip(k, slope, strict=True)):
        is_low = math.where(x <= lower[i], math.where(s >= 0.0, 1.0, 0.0), 0.0)
        is_high = math.where(x >= upper[i], math.where(s <= 0.0, 1.0, 0.0), 0.0)
        found[i] = 1.0 - math.maximum(is_low, is_high)
    return found


def masked(Q: Any, free: Any) -> Any:
    """Return a matrix with rows and columns of the unit matrix that are not free."""
    found: Any = np.outer(free, free) * Q
    for i, x in enumerate(free):
        found[i, i] = found[i, i] + (1.0 - x)
    return found
