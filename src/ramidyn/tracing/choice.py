"""What the chooser decided, as it is kept with a compiled function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """An algorithm chosen by operation count, and the cost of each candidate.

    Costs are `Ops.cost`, in units of one multiplication: simplified for those that were
    near the least, as traced for the others.
    """

    quantity: str
    algorithm: str
    costs: Mapping[str, int]
