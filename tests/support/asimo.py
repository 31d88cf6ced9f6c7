"""The cases of Wensing, Featherstone & Orin 2012, Fig. 6, and their counts.

The figure prints no totals; the text prints one ratio, and says which of two algorithms
needs less in each case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ramify.algorithms.operational.tasks import Task
from ramify.model.catalog import asimo
from ramify.quantities.osim import ALGORITHMS
from ramify.quantities.osim_choice import OperationalCounts, explain_operational
from ramify.robot import Robot

HANDS_FEET = ("left_hand", "right_hand", "left_foot", "right_foot")
FINGERS = ("left_forefinger", "left_thumb", "right_forefinger", "right_thumb")
FINGERTIPS = tuple(
    f"{side}_{finger}3"
    for side in ("left", "right")
    for finger in ("forefinger", "thumb", "finger3", "finger4")
)
PRINTED = {("hands and feet", "sfa"): 0.78}
"""operations as a share of EFPA's"""


@dataclass(frozen=True)
class Case:
    """One group of bars: a change to ASIMO, and the ends of the operational space."""

    ends: Sequence[str]
    change: Mapping[str, Any] = field(default_factory=dict[str, Any])
    efpa_beats_rjk: bool = True


CASES = {
    "hands and feet": Case(HANDS_FEET),
    "hands, feet, head": Case((*HANDS_FEET, "head")),
    "forefingers, thumbs, feet": Case((*FINGERS, *HANDS_FEET[2:])),
    "3 more joints per arm": Case(HANDS_FEET, {"arm_joints": 10}),
    "3 more joints per leg": Case(HANDS_FEET, {"leg_joints": 9}),
    "12-joint hands": Case(HANDS_FEET, {"fingers": 4, "finger_joints": 3}),
    "12-joint hands, fingertips": Case(
        (*FINGERTIPS, *HANDS_FEET[2:]), {"fingers": 4, "finger_joints": 3}
    ),
    "2 more arms and legs": Case(
        (*HANDS_FEET, *(f.replace("_", "2_") for f in HANDS_FEET)),
        {"arms": 4, "legs": 4},
    ),
    "one foot fixed": Case(
        ("left_hand", "right_hand", "right_foot"),
        {"base": "left_foot"},
        efpa_beats_rjk=False,
    ),
}


def as_robot(made: Any) -> Robot:
    """Return the robot of a function of `ramify.robots`."""
    return made if isinstance(made, Robot) else Robot.from_description(made)


def counted(case: Case, expressed_in: str = "local") -> OperationalCounts:
    """Return the counts of a case, of all six rows of every end."""
    robot = as_robot(asimo(**case.change))
    tasks = [Task(f, "pose", expressed_in) for f in case.ends]
    return explain_operational(robot, tasks)


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
