"""Wensing, Featherstone & Orin (2012): Figs 5 and 6 as ratios."""

from __future__ import annotations

from typing import Any

from ramify.model import catalog as robots
from ramify.model.tree import sparsity_pattern
from ramify.papers.document import Plot, Section, Table
from ramify.papers.featherstone import robot_of
from ramify.quantities.osim_choice import OperationalCounts, explain_operational

HANDS_FEET = ("left_hand", "right_hand", "left_foot", "right_foot")
FINGERS = ("left_forefinger", "left_thumb", "right_forefinger", "right_thumb")
MORE = tuple(f.replace("_", "2_") for f in HANDS_FEET)
CASES: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    "hands, feet": (HANDS_FEET, {}, "SFA 78% of EFPA"),
    "hands, feet, head": ((*HANDS_FEET, "head"), {}, "EFPA below RJK"),
    "fingers, feet": ((*FINGERS, *HANDS_FEET[2:]), {}, "EFPA below RJK"),
    "longer arms": (HANDS_FEET, {"arm_joints": 10}, "SFA worse than at first"),
    "longer legs": (HANDS_FEET, {"leg_joints": 9}, "SFA worse than at first"),
    "12-DoF hands": (
        HANDS_FEET,
        {"fingers": 4, "finger_joints": 3},
        "SFA worse than at first",
    ),
    "4 arms, 4 legs": (
        (*HANDS_FEET, *MORE),
        {"arms": 4, "legs": 4},
        "SFA to EFPA as at first; RJK worse",
    ),
    "on one foot": (
        ("left_hand", "right_hand", "right_foot"),
        {"base": "left_foot"},
        "RJK below EFPA",
    ),
}
"""ends, changes to the robot, and what the paper says"""
ALGORITHMS = ("sfa", "rjk", "efpa", "pv", "pvr")


def sections() -> list[Section]:
    """Return the section of this paper."""
    counts = {name: _counted(*case[:2]) for name, case in CASES.items()}
    rows: list[tuple[str, ...]] = []
    for name, (_, _, claim) in CASES.items():
        c = counts[name]
        efpa = c["efpa"].total
        shares = [f"{c[a].total / efpa:.2f}" for a in ALGORITHMS if a != "efpa"]
        holds = "holds" if _holds(name, counts) else "differs"
        rows.append((name, f"{efpa:,}", *shares, c.chosen, claim, holds))
    head = ("operational space", "EFPA, ours", "SFA", "RJK", "PV", "PVr")
    head = (*head, "chosen", "the paper says", "")
    base = robot_of(robots.asimo())
    more = robot_of(robots.asimo(arms=4, legs=4))
    zeros = [
        (f"{n}: zeros of H", p, f"{_zeros(r):.1%}", "the same")
        for n, p, r in (("ASIMO, n = 40", "56%", base), ("n = 70", "73%", more))
    ]
    bars = {
        a.upper(): [
            (float(k), float(c[a].total)) for k, c in enumerate(counts.values(), 1)
        ]
        for a in ALGORITHMS
    }
    labels = tuple(n.replace(", ", ",\n") for n in counts)
    title = "Wensing et al. 2012, Figs 5 and 6: operations for Λ⁻¹, our programs"
    plot = Plot("figure6", title, "bars", bars, labels, ("", "operations"))
    return [
        Section(
            "Wensing, Featherstone & Orin 2012, Figs 5 and 6",
            "Operations of the inverse operational-space inertia Λ⁻¹ of ASIMO and of "
            "robots derived from it, as shares of EFPA's. The figures print no totals, "
            "so the ratios and the order are what can be compared. PV (Popov and "
            "Vereshchagin's) and PVr came after the paper.",
            (
                Table(("", "printed", "ours", ""), tuple(zeros)),
                Table(head, tuple(rows)),
            ),
            (plot,),
            "SFA's share of hands and feet is not the printed one: the paper counts by "
            "formulas from several sources, ours are traced programs in which "
            "constants are folded. The order, and how it changes, are the paper's. "
            "General geometry; divisions by one number are shared.",
        )
    ]


def _counted(ends: tuple[str, ...], change: dict[str, Any]) -> OperationalCounts:
    return explain_operational(robot_of(robots.asimo(**change)), list(ends))


def _share(c: OperationalCounts, a: str) -> float:
    return c[a].total / c["efpa"].total


def _holds(name: str, counts: dict[str, OperationalCounts]) -> bool:
    c, base = counts[name], counts["hands, feet"]
    claim = CASES[name][2]
    if claim == "EFPA below RJK":
        return _share(c, "rjk") > 1
    if claim == "RJK below EFPA":
        return _share(c, "rjk") < 1
    if claim == "SFA worse than at first":
        return _share(c, "sfa") > _share(base, "sfa")
    if claim.startswith("SFA to EFPA"):
        is_near = abs(_share(c, "sfa") / _share(base, "sfa") - 1) < 0.05
        return is_near and _share(c, "rjk") > 1.3 * _share(base, "rjk")
    return abs(_share(c, "sfa") - 0.78) < 0.005


def _zeros(robot: Any) -> float:
    return 1 - float(sparsity_pattern(robot.tree.dof_parents).mean())
