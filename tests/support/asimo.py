"""The cases of Wensing, Featherstone & Orin 2012, Fig. 6, as a table of counts."""

from __future__ import annotations

from collections.abc import Mapping

from ramidyn.explain.counts import OperationalCounts
from ramidyn.papers.document import robot_of as as_robot
from ramidyn.papers.wensing import BASE, CASES, HANDS_FEET, Case, counted
from ramidyn.quantities.operational_inertia import ALGORITHMS
from support.paths import GOLDENS

__all__ = ["CASES", "HANDS_FEET", "Case", "as_robot", "counted"]

GOLDEN = GOLDENS / "counts_asimo.txt"
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
