"""The cases of Wensing, Featherstone & Orin 2012, Fig. 6, as a table of counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ramify.papers.featherstone import robot_of as as_robot
from ramify.papers.wensing import BASE, CASES, HANDS_FEET, Case, counted
from ramify.quantities.osim import ALGORITHMS
from ramify.quantities.osim_choice import OperationalCounts

__all__ = ["CASES", "HANDS_FEET", "Case", "as_robot", "counted"]

GOLDEN = Path(__file__).parents[1] / "goldens" / "counts_asimo.txt"
PRINTED = {(BASE, "sfa"): 0.78}
"""operations as a share of EFPA's"""


def table(counts: Mapping[str, OperationalCounts]) -> str:
    """Return operations by case and algorithm, each with its share of EFPA's."""
    head = "".join(f"{name:>16}" for name in ALGORITHMS)
    lines = [f"{'operations / EFPA':<27}{head}  least"]
    for name, found in counts.items():
        efpa = found["efpa"].total
        cells = [
            f"{found[a].total:>9,} ({found[a].total / efpa:.2f})" for a in ALGORITHMS
        ]
        lines.append(f"{name:<27}" + "".join(f"{c:>16}" for c in cells))
        lines[-1] += f"  {found.chosen}"
    return "\n".join(lines) + "\n"


def pinned(name: str) -> str:
    """The line of a case in the golden table, which a test counts anew."""
    return GOLDEN.read_text().splitlines()[1 + list(CASES).index(name)]


def totals(name: str) -> dict[str, int]:
    """The operations of a case by algorithm."""
    found = re.findall(r"([\d,]+) \(", pinned(name))
    numbers = [int(n.replace(",", "")) for n in found]
    return dict(zip(ALGORITHMS, numbers, strict=True))
