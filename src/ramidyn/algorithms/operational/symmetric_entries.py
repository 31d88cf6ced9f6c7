"""Symmetric matrices of symbols, stored by their nonzero entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.expr import Expr

Symmetric = dict[tuple[int, int], Expr]
"""Entries (r, c) of a symmetric matrix, c ≤ r; missing ones are zero."""


def add(A: Symmetric, r: int, c: int, x: Expr) -> None:
    """Add x to the entry (r, c), or (c, r), of a symmetric matrix."""
    if not x.is_zero:
        at = (r, c) if c <= r else (c, r)
        A[at] = A[at] + x if at in A else x


def add_outer(A: Symmetric, v: Mapping[int, Expr], s: Expr) -> None:
    """Add v s vᵀ to a symmetric matrix."""
    for r, x in v.items():
        y = x * s
        for c, z in v.items():
            if c <= r:
                add(A, r, c, y * z)


def inner(a: Iterable[Expr], b: Iterable[Expr]) -> Expr:
    """Return the sum of products of two rows of symbols."""
    total = ZERO
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
