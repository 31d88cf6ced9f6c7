"""A number that is not known, and counts what is done with it.

The functions that trace programs run on it as they run on symbols, and take no memory:
a factorization of five million operations is counted in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from ramidyn.symbolic.count import Ops


@final
class Unknown:
    """Stands for every number of one computation."""

    __slots__ = ("add", "div", "mul", "roots")

    def __init__(self) -> None:
        self.mul = self.add = self.div = self.roots = 0

    def __add__(self, _: object) -> Unknown:
        self.add += 1
        return self

    __sub__ = __add__

    def __mul__(self, _: object) -> Unknown:
        self.mul += 1
        return self

    def __truediv__(self, _: object) -> Unknown:
        self.div += 1
        return self

    __rtruediv__ = __truediv__

    def __neg__(self) -> Unknown:
        return self  # a sign is not an operation

    def sqrt(self) -> Unknown:
        """Return the root."""
        self.roots += 1
        return self


def count_of(run: Callable[[Any], object]) -> Ops:
    """Return the operations of a function that is given one unknown number."""
    x = Unknown()
    run(x)
    return Ops(mul=x.mul, add=x.add, div=x.div, sqrt=x.roots)
