"""How a search goes on: traced functions of numbers that each problem has.

    φ = J + ν Σ|f|        J: the cost, f: defects of multiple shooting

A step of length α leaves (1 − α) f. The quadratic model promises that J changes by m
with a full step, so φ by m − ν Σ|f|; the penalty ν grows until that is a decrease.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ramidyn.symbolic import functions as math

STEP_LENGTHS = tuple(0.5**k for k in range(8))
"""that are tried"""
DECREASE = 1e-4
"""of the decrease that the quadratic model promises, that a step must reach"""
LEAST_DAMPING, SMALL_DAMPING, MOST_DAMPING, GROWTH = 1e-8, 1e-7, 1e8, 10.0
MOST_STALLS = 3
"""times that a problem may promise no decrease, each with less damping"""
CLOSED = 1e-9
"""Σ|f| of a motion without defects"""
HUGE = 1e300

STATE = (
    *("cost", "damping", "stalls", "failed", "done", "converged", "promised"),
    *("goes", "sound", "row", "penalty", "defect"),
)
"""numbers of each problem"""


def decide(x: Mapping[str, Any]) -> dict[str, Any]:
    """Return what follows from a new policy.

    Without a positive definite Quu the damping grows. Without a decrease the problem
    ends, if that is not for its damping: much of it makes steps short, and they promise
    little, so that less is tried first.
    """
    change, defect = x["slope"] + x["curvature"], x["defect"]
    is_open = _all(defect > CLOSED)
    needed = 2.0 * change / math.where(defect > CLOSED, defect, 1.0)
    is_short = _all(change > 0.0, needed > x["penalty"]) * is_open
    penalty = math.where(is_short > 0.5, needed, x["penalty"])
    promised = penalty * defect - change
    least = x["tolerance"] * (abs(x["cost"]) + 1e-12)
    # Comparisons with NaN do not hold.
    sound = _all(x["failed_recursion"] < 0.5, promised > -least, promised < HUGE)
    flat = _all(promised <= least, is_open < 0.5) * sound
    is_last = _any(x["damping"] <= SMALL_DAMPING, x["stalls"] > MOST_STALLS - 0.5)
    ends = flat * is_last
    more = math.maximum(GROWTH * x["damping"], LEAST_DAMPING)
    gives_up = (1.0 - sound) * math.where(more > MOST_DAMPING, 1.0, 0.0)
    less = math.where(flat - ends > 0.5, x["damping"] / GROWTH**2, x["damping"])
    return {
        "penalty": math.where(sound > 0.5, penalty, x["penalty"]),
        "promised": promised,
        "defect": defect,
        "sound": sound,
        "goes": sound * (1.0 - flat),
        "done": math.maximum(ends, gives_up),
        "converged": ends * (1.0 - x["failed"]),
        "stalls": x["stalls"] + flat,
        "damping": math.where(sound > 0.5, less, more),
    }


def take_best(x: Mapping[str, Any], lengths: Any, is_last: bool) -> dict[str, Any]:
    """Return which of the motions that were tried is taken, and what follows.

    ``is_last``: no others are tried if none is good.
    """
    open_ = x["penalty"] * x["defect"]
    best: Any = HUGE
    cost, row, length = x["cost"], -1.0, 1.0
    for k, alpha in enumerate(lengths):
        own = x["total"][k] + x["last"][k]
        merit = own + (1.0 - alpha) * open_
        is_better = _all(merit < best, merit > -HUGE)
        best, cost, row, length = (
            math.where(is_better > 0.5, a, b)
            for a, b in ((merit, best), (own, cost), (float(k), row), (alpha, length))
        )
    gain = x["cost"] + open_ - best
    good = _all(gain > DECREASE * length * x["promised"], row >= 0.0) * x["goes"]
    fails = x["goes"] * (1.0 - good) * float(is_last)
    more = math.maximum(GROWTH * x["damping"], LEAST_DAMPING)
    is_small = x["damping"] <= GROWTH * LEAST_DAMPING
    less = math.where(is_small, 0.0, x["damping"] / GROWTH)

    def chosen(if_good: Any, if_failed: Any, otherwise: Any) -> Any:
        rest = math.where(fails > 0.5, if_failed, otherwise)
        return math.where(good > 0.5, if_good, rest)

    gives_up = math.where(more > MOST_DAMPING, 1.0, 0.0)
    return {
        "row": math.where(good > 0.5, row, -1.0),
        "cost": math.where(good > 0.5, cost, x["cost"]),
        "defect": math.where(good > 0.5, (1.0 - length) * x["defect"], x["defect"]),
        "damping": chosen(less, more, x["damping"]),
        "stalls": math.where(good > 0.5, 0.0, x["stalls"]),
        "failed": chosen(0.0, 1.0, x["failed"]),
        "done": math.maximum(x["done"], fails * gives_up),
        "goes": x["goes"] - good - fails,
    }


def take_first(x: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known about a first motion, which is taken in any case."""
    return {"row": np.array(0.0), "cost": x["total"][0] + x["last"][0]}


def _all(*conditions: Any) -> Any:
    """Return 1 if all conditions hold, else 0."""
    found: Any = 1.0
    for condition in conditions:
        found = found * math.where(condition, 1.0, 0.0)
    return found


def _any(*conditions: Any) -> Any:
    """Return 1 if one condition holds, else 0."""
    found: Any = 0.0
    for condition in conditions:
        found = math.maximum(found, math.where(condition, 1.0, 0.0))
    return found
