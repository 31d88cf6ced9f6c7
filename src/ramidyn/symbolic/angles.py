"""Sums of an angle and a constant whose sine stays accurate for large angles.

Frame placement moves the zero of joint angles, so sin(q + c) is common. For angles
beyond FAR the sum would round away digits of q, so the terms are kept apart::

    sin(x + y) = sin x cos y + cos x sin y
    cos(x + y) = cos x cos y − sin x sin y
"""

from __future__ import annotations

from typing import Final

from ramidyn.symbolic.expr import Expr

FAR: Final = 1e5
"""From here on terms are kept apart; below it, a sum of doubles rounds by 1e-11."""


def terms_of(angle: Expr) -> tuple[Expr, Expr] | None:
    """Return x and y of an angle x + y or x − y: inputs or constants, or None."""
    if angle.op not in ("add", "sub"):
        return None
    x, y = angle.args
    return (x, y) if {x.op, y.op} <= {"input", "const"} else None
