"""Newton's method for closing loops, on numbers.

    J v = −Φ(q),   q ← q ⊕ v

All code that closes loops iterates like this: evaluate Φ and J, correct, move, keep
what is found or stop. What differs is given: how q is corrected (within limits, with
which joints, measured by what), and which places are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from ramidyn.description.pose import Array


@final
@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """An intermediate configuration, with its remaining loop errors."""

    q: Array
    phi: Array
    """(rows,)"""
    J: Array
    """(rows, nv)"""

    @property
    def size(self) -> float:
        """The largest |Φ| [m, rad]."""
        return float(np.abs(self.phi).max(initial=0.0))


class Verdict(NamedTuple):
    """What becomes of a step."""

    is_kept: bool
    goes_on: bool


ON = Verdict(is_kept=True, goes_on=True)


def closed(
    q: Array,
    evaluate: Callable[[Array], Iterate],
    moved: Callable[[Iterate], Array | None],
    judge: Callable[[Iterate, Iterate], Verdict] = lambda here, there: ON,  # noqa: ARG005
    *,
    tolerance: float,
    steps: int,
) -> Iterate:
    """Iterate from q until |Φ| is below a tolerance or no step helps.

    Args:
        q: where to start.
        evaluate: returns Φ and J at a configuration.
        moved: returns the configuration one correction further; None stops.
        judge: of a step from here to there; all are kept by default.
        tolerance: of |Φ| [m, rad].
        steps: how many at most.
    """
    here = evaluate(q)
    for _ in range(steps):
        if here.size < tolerance:
            break
        further = moved(here)
        if further is None:
            break
        there = evaluate(further)
        is_kept, goes_on = judge(here, there)
        if is_kept:
            here = there
        if not goes_on:
            break
    return here


def correction(
    J: Array,
    phi: Array,
    damping: float = 0.0,
    *,
    cutoff: float | None = None,
    longest: float = math.inf,
) -> Array:
    """Return the minimum-norm v that minimizes |J v + Φ|² + |damping v|².

    It is shortened where an entry is above ``longest``. Singular values below
    ``cutoff`` (relative to the largest; by default, rounding) are treated as zero.
    """
    rhs = -phi
    if damping:
        n = J.shape[1]
        J = np.vstack([J, damping * np.eye(n)])
        rhs = np.concatenate([rhs, np.zeros(n)])
    v: Array = np.linalg.lstsq(J, rhs, rcond=cutoff)[0].astype(float)
    return v * min(1.0, longest / max(float(np.abs(v).max(initial=0.0)), 1e-12))
