"""What ``algorithm="auto"`` should compare, from compiled programs."""

from __future__ import annotations

from collections.abc import Iterable

from ramidyn.compilation import Request
from ramidyn.robot import Robot
from ramidyn.symbolic.count import count, longest_wait
from ramidyn.tracing.chooser import SMALL
from ramidyn.tracing.quantity import Quantity


def prices(quantity: Quantity, robot: Robot, names: Iterable[str]) -> dict[str, int]:
    """Return the costs of algorithms, with the longest waits of small programs."""
    made = {
        name: Request(quantity(algorithm=name), robot).choose().candidate
        for name in names
    }
    waits = min(count(c.program).cost for c in made.values()) <= SMALL
    return {
        name: count(c.simplified).cost + waits * longest_wait(c.simplified)
        for name, c in made.items()
    }
