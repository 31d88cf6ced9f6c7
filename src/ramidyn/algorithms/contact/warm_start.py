"""Where the solver begins: impulses that those of the last steps point to.

λ⁺ ≈ λ + ∇λ + ∇²λ        ∇: differences of the last steps
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ramidyn.algorithms.contact.blocks import MOST_ROWS
from ramidyn.symbolic.dense import inner
from ramidyn.symbolic.expr import ONE, ZERO, where
from ramidyn.tree.contact_checks import robot_candidates, robot_pairs
from ramidyn.tree.model import Model


def steps_before(model: Model) -> int:
    """Return of how many steps the impulses are kept.

    Two give a line, three a parabola. Four corners of a foot share a force in many
    ways: what solutions differ by there is no curve to go on with.
    """
    frames = [c.contact.frame for c in robot_candidates(model)]
    frames += [f for pair in robot_pairs(model) for f in (pair.frame_a, pair.frame_b)]
    bodies = Counter(model.frame(name).body for name in frames)
    return 2 if any(3 * n > MOST_ROWS for n in bodies.values()) else 3


def extrapolated(history: Sequence[Any]) -> Any:
    """Return where the impulses of the last steps point to, the newest first.

    Where second differences are larger than first ones, something has closed, opened
    or begun to slide: the line is taken there.
    """
    last, before, *earlier = history
    change = last - before
    start = last + change
    for one in earlier:
        turn = change - (before - one)
        sizes = [inner(list(x), list(x)) for x in (turn, change)]
        start = start + where(sizes[0] < sizes[1], ONE, ZERO) * turn
    return start
