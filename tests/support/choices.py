"""What ``algorithm="auto"`` should compare, from compiled programs."""

from __future__ import annotations

from collections.abc import Iterable

from ramidyn.compilation import Request
from ramidyn.robot import Robot
from ramidyn.symbolic.count import count
from ramidyn.tracing.chooser import counts_waits, price
from ramidyn.tracing.quantity import Quantity


def prices(quantity: Quantity, robot: Robot, names: Iterable[str]) -> dict[str, int]:
    """Return the costs of algorithms, with the longest waits of small programs."""
    made = {
        name: Request(quantity(algorithm=name), robot).choose().candidate
        for name in names
    }
    traced = {name: count(c.program).cost for name, c in made.items()}
    waits = counts_waits(traced, [c.program for c in made.values()])
    return {name: price(c.simplified, waits) for name, c in made.items()}
