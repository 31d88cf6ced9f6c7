"""One step of the Riccati recursion, from the value after a step to that before it.

    value     ½ δxᵀ V δx + vᵀ δx        x = (q, q̇), δq in the tangent space
    step      δx⁺ = A δx + B δτ
    policy    δτ = k + K δx

A semi-implicit step has one unknown a = δq̇⁺ = C δx + D δτ for all of x⁺, as
δq⁺ = δq + dt a. So V is first taken to (δq, a), and products with A, twice as
large as C, are not needed:

    W = dt² Vqq + dt (Vqv + Vvq) + Vvv      U = dt Vqq + Vqv      w = dt vq + vv

    Qx = ℓx + [vq; 0] + Cᵀ w                Qu  = ℓu + Dᵀ w
    Qxx = ℓxx + Cᵀ G + Eᵀ (Vqq E + U C)     Qux = ℓux + Dᵀ G      G = W C + Uᵀ E
    Quu = ℓuu + Dᵀ W D                      E = [1 0]

Robots whose q is not a vector take the same equations with A = [E; …] written out.
With limits, k minimizes the quadratic model within them, by projected Newton steps, and
rows of K are zero where τ stays at a limit (Tassa, Mansard & Todorov, 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ramidyn.symbolic import functions as math

NEWTON_STEPS, LENGTHS = 3, (1.0, 0.3, 0.05)
"""of the projection on the limits: the set of τ at a limit is found in one or two"""


def packed_size(n: int) -> int:
    """Return the number of entries of a symmetric matrix."""
    return n * (n + 1) // 2


def packed(matrix: Any) -> Any:
    """Return the upper triangle of a symmetric matrix, by rows."""
    return matrix[np.triu_indices(len(matrix))]


def unpacked(entries: Any, n: int) -> Any:
    """Return a symmetric matrix from its upper triangle."""
    found: Any = np.empty((n, n), dtype=object)
    rows, columns = np.triu_indices(n)
    found[rows, columns] = entries
    found[columns, rows] = entries
    return found


def symmetric_product(left: Any, right: Any) -> Any:
    """Return leftᵀ right, of which it is known that it is symmetric."""
    n = left.shape[1]
    found: Any = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(i, n):
            found[i, j] = found[j, i] = left[:, i] @ right[:, j]
    return found


def symmetric_part(matrix: Any) -> Any:
    """Return the mean of a matrix and its transpose, made of one triangle."""
    n = len(matrix)
    found: Any = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(i, n):
            found[i, j] = found[j, i] = 0.5 * (matrix[i, j] + matrix[j, i])
    return found


def action_values(
    V: Any, v: Any, A: Any, B: Any, dt: Any | None
) -> tuple[Any, Any, Any, Any, Any]:
    """Return Qx, Qu, Qxx, Qux and Quu of the value after a step.

    With dt, A and B are C and D.
    """
    if dt is None:
        VA, VB = V @ A, V @ B
        return (
            A.T @ v,
            B.T @ v,
            symmetric_product(A, VA),
            B.T @ VA,
            symmetric_product(B, VB),
        )
    n = len(A)
    Vqq, Vqv, Vvv = V[:n, :n], V[:n, n:], V[n:, n:]
    U = dt * Vqq + Vqv
    W = symmetric_part(dt * (U + Vqv.T) + Vvv)
    w = dt * v[:n] + v[n:]
    G = W @ A
    G[:, :n] += U.T
    Qx = A.T @ w
    Qx[:n] += v[:n]
    # Cᵀ G + Eᵀ (Vqq E + U C) is symmetric: only its upper triangle is computed.
    UC = U @ A
    m = 2 * n
    Qxx: Any = np.empty((m, m), dtype=object)
    for i in range(m):
        for j in range(i, m):
            x = A[:, i] @ G[:, j]
            if i < n:
                x = x + UC[i, j] + (Vqq[i, j] if j < n else 0.0)
            Qxx[i, j] = Qxx[j, i] = x
    return Qx, B.T @ w, Qxx, B.T @ G, symmetric_product(B, W @ B)


def factors(Q: Any) -> tuple[Any, list[Any], Any]:
    """Return L with unit diagonal, 1/D of Q = L D Lᵀ, and the least entry of D."""
    n = len(Q)
    L: Any = np.zeros((n, n), dtype=object)
    inverse: list[Any] = []
    least: Any = None
    work = np.array(Q, dtype=object)
    for k in range(n):
        pivot = work[k, k]
        least = pivot if least is None else math.minimum(least, pivot)
        inverse.append(1.0 / math.where(pivot > 0.0, pivot, 1.0))
        for i in range(k + 1, n):
            L[i, k] = work[k, i] * inverse[k]
        for i in range(k + 1, n):
            for j in range(i, n):
                work[i, j] = work[i, j] - L[i, k] * work[k, j]
    return L, inverse, least


def solved(L: Any, inverse: Sequence[Any], right: Any) -> Any:
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


def limited_step(
    Quu: Any, Qu: Any, Qux: Any, lower: Any, upper: Any
) -> tuple[Any, Any, Any]:
    """Return k within limits, K, and the least pivot; see the module."""
    k = clamp(np.zeros(len(Qu)), lower, upper)
    pivots: Any = 1.0
    for _ in range(NEWTON_STEPS):
        slope = Qu + Quu @ k
        free = free_entries(k, slope, lower, upper)
        L, inverse, least = factors(masked(Quu, free))
        pivots = math.minimum(pivots, least)
        move = solved(L, inverse, -slope * free)
        best = k @ (Qu + 0.5 * (Quu @ k))
        for length in LENGTHS:  # the best of several lengths, or none
            tried = clamp(k + length * move, lower, upper)
            cost = tried @ (Qu + 0.5 * (Quu @ tried))
            pairs = zip(tried, k, strict=True)
            k = np.array([math.where(cost < best, a, b) for a, b in pairs], object)
            best = math.minimum(best, cost)
    free = free_entries(k, Qu + Quu @ k, lower, upper)
    L, inverse, least = factors(masked(Quu, free))
    return k, solved(L, inverse, -Qux * free[:, None]), math.minimum(pivots, least)


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


def free_step(Quu: Any, Qu: Any, Qux: Any) -> tuple[Any, Any, Any]:
    """Return k and K without limits, and the least pivot."""
    L, inverse, least = factors(Quu)
    return solved(L, inverse, -Qu), solved(L, inverse, -Qux), least


def riccati_step(
    V: Any,
    v: Any,
    A: Any,
    B: Any,
    costs: tuple[Any, Any, Any, Any, Any],
    damping: Any,
    dt: Any | None,
    limits: tuple[Any, Any] | None,
) -> dict[str, Any]:
    """Return the policy of a step, and the value before it.

    Args:
        V: (n, n) after the step.
        v: (n,) the same.
        A: (n, n), or C with dt.
        B: (n, m), or D with dt.
        costs: ℓx, ℓu, ℓxx, ℓux and ℓuu.
        damping: μ, added to the diagonal of Quu.
        dt: the time step, if q is a vector.
        limits: the least and the largest change of τ.
    """
    own = action_values(V, v, A, B, dt)
    Qx, Qu, Qxx, Qux, Quu = (x + y for x, y in zip(costs, own, strict=True))
    damped = Quu + damping * np.eye(len(Qu))
    if limits is None:
        k, K, least = free_step(damped, Qu, Qux)
    else:
        k, K, least = limited_step(damped, Qu, Qux, *limits)
    # Rows of K that are free: Quu K + Qux = -mu K.
    value = Qxx + symmetric_product(Qux - damping * K, K)
    Quk = Quu @ k
    return {
        "V": value,
        "v": Qx + K.T @ (Quk + Qu) + Qux.T @ k,
        "k": k,
        "K": K,
        "slope": k @ Qu,
        "curvature": 0.5 * (k @ Quk),
        "pivot": least,
    }
