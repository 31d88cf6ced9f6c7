"""Wensing, Featherstone & Orin (2012): Figs 5 and 6 as ratios.

The figures print no totals; the text prints some ratios, and says which of two
algorithms needs less.
"""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog import paper_robots as robots
from ramidyn.explain.counts import OperationalCounts, explain_operational
from ramidyn.papers import wensing_stages
from ramidyn.papers.document import Plot, Section, Table, robot_of, verdict
from ramidyn.papers.operation_counts import UNCOUNTED
from ramidyn.papers.wensing_stages import HANDS_FEET, NAME, inverse_program, stages
from ramidyn.robot import Robot
from ramidyn.symbolic.count import count
from ramidyn.tree.tree import sparsity_pattern

FINGERS = ("left_forefinger", "left_thumb", "right_forefinger", "right_thumb")
FINGERTIPS = tuple(
    f"{side}_{finger}3"
    for side in ("left", "right")
    for finger in ("forefinger", "thumb", "finger3", "finger4")
)
LESS_THAN_RJK, MORE_THAN_RJK = "EFPA below RJK", "RJK below EFPA"
SFA_LEADS = "SFA below EFPA"
ADVANTAGE, LOSS = "EFPA below SFA", "SFA less efficient than at first"
"""two readings of section V: more joints provide "advantages for the EFPA over the
SFA", which has "a lower relative efficiency" then"""
MORE_JOINTS = (LESS_THAN_RJK, ADVANTAGE, LOSS)


@dataclass(frozen=True)
class Case:
    """One group of bars: a change to ASIMO, and the ends of the operational space."""

    ends: Sequence[str]
    change: Mapping[str, Any] = field(default_factory=dict[str, Any])
    claims: Sequence[str] = (LESS_THAN_RJK,)
    """what the paper says of it"""

    @property
    def efpa_beats_rjk(self) -> bool:
        """Whether EFPA needs less than RJK: in every case but one, the paper says."""
        return MORE_THAN_RJK not in self.claims


BASE, MORE = "hands and feet", "2 more arms and legs"
CASES = {
    BASE: Case(HANDS_FEET, claims=(LESS_THAN_RJK, SFA_LEADS)),
    "hands, feet, head": Case((*HANDS_FEET, "head")),
    "forefingers, thumbs, feet": Case((*FINGERS, *HANDS_FEET[2:])),
    "3 more joints per arm": Case(HANDS_FEET, {"arm_joints": 10}, MORE_JOINTS),
    "3 more joints per leg": Case(HANDS_FEET, {"leg_joints": 9}, MORE_JOINTS),
    "12-joint hands": Case(HANDS_FEET, {"fingers": 4, "finger_joints": 3}, MORE_JOINTS),
    "12-joint hands, fingertips": Case(
        (*FINGERTIPS, *HANDS_FEET[2:]), {"fingers": 4, "finger_joints": 3}
    ),
    MORE: Case(
        (*HANDS_FEET, *(f.replace("_", "2_") for f in HANDS_FEET)),
        {"arms": 4, "legs": 4},
        (LESS_THAN_RJK, SFA_LEADS),
    ),
    "one foot fixed": Case(
        ("left_hand", "right_hand", "right_foot"),
        {"base": "left_foot"},
        (MORE_THAN_RJK,),
    ),
}
ALGORITHMS = ("sfa", "rjk", "efpa", "pv", "pvr")
AXES = {
    "local": "the end's axes",
    "local_world_aligned": "world axes at the end",
    "world": "world axes at the origin",
}


def counted(case: Case, expressed_in: str = "local") -> OperationalCounts:
    """Return the counts of a case, of all six rows of every end."""
    robot = robot_of(robots.asimo(**case.change))
    return explain_operational(
        robot, [Task(f, "pose", expressed_in) for f in case.ends]
    )


def sections() -> list[Section]:
    """Return the sections of this paper."""
    return [figures(), more_joints(), *wensing_stages.sections()]


LIMBS = {"arm": 7, "leg": 6}
"""joints of ASIMO's"""
MORE_PER_LIMB = (3, 6, 9, 12)


def more_joints() -> Section:
    """Return SFA's share of EFPA's operations as limbs get longer."""
    rows: list[tuple[str, ...]] = []
    for limb, joints in LIMBS.items():
        shares: list[float] = []
        for more in MORE_PER_LIMB:
            change: dict[str, Any] = {f"{limb}_joints": joints + more}
            robot = robot_of(robots.asimo(**change))
            sfa, efpa = (
                count(inverse_program(robot, HANDS_FEET, a)).total
                for a in ("sfa", "efpa")
            )
            shares.append(sfa / efpa)
        below = [more for more, x in zip(MORE_PER_LIMB, shares, strict=True) if x > 1]
        found = f"from {below[0]} on: holds" if below else "differs"
        rows.append((f"more joints per {limb}", *(f"{x:.2f}" for x in shares), found))
    return Section(
        f"{NAME}, Fig. 6: how many more joints",
        "The paper says that more joints in arms or legs provide advantages for EFPA "
        "over SFA; how many it adds is not printed. SFA's share of EFPA's operations "
        "by the number of joints added to each limb, for hands and feet: SFA takes "
        "O(n d²), so it grows, and EFPA is below at last.",
        (Table(("", *map(str, MORE_PER_LIMB), "EFPA below SFA"), tuple(rows)),),
    )


def figures() -> Section:
    """Return Figs. 5 and 6: the algorithms on ASIMO and robots derived from it."""
    counts = {name: counted(case) for name, case in CASES.items()}
    rows: list[tuple[str, ...]] = []
    for name, case in CASES.items():
        c = counts[name]
        shares = [f"{_ratio(c, a):.2f}" for a in ALGORITHMS if a != "efpa"]
        first = counts[BASE]
        said = "; ".join(
            f"{claim}: {verdict(_holds(claim, c, first))}" for claim in case.claims
        )
        rows.append((name, f"{c['efpa'].total:,}", *shares, c.chosen, said))
    head = ("operational space", "EFPA, ours", "SFA", "RJK", "PV", "PVr")
    head = (*head, "chosen", "the paper says")
    bars = {
        a.upper(): [
            (float(k), float(c[a].total)) for k, c in enumerate(counts.values(), 1)
        ]
        for a in ALGORITHMS
    }
    labels = tuple(textwrap.fill(n, 10, break_long_words=False) for n in counts)
    title = "Wensing et al. 2012, Figs 5 and 6: operations for Λ⁻¹, our programs"
    plot = Plot("figure6", title, "bars", bars, labels, ("", "operations"))
    return Section(
        f"{NAME}, Figs 5 and 6",
        "Operations of the inverse operational-space inertia Λ⁻¹ of ASIMO and of "
        "robots derived from it, as shares of EFPA's; six rows an end, in its own "
        "axes. Counts are those of simplified programs, as they are compiled. The "
        "figures print no totals, so the ratios and the order are what can be "
        "compared. SFA takes the cheaper of our two mass matrices. How many joints "
        "the paper adds to arms and legs is not printed: three each are our "
        "choice, and so are the fingertips. PV (Popov and Vereshchagin's) and PVr "
        "came after the paper.",
        (
            Table(("", "printed", "ours", ""), tuple(_printed(counts))),
            Table(head, tuple(rows)),
        ),
        (plot,),
        _why(counts),
    )


def _why(counts: Mapping[str, OperationalCounts]) -> str:
    """Return what the printed ratios and ours differ by, counted."""
    robot = robot_of(robots.asimo())
    articulated = stages(robot, HANDS_FEET, "efpa")["articulated inertias"]
    sparse = stages(robot, HANDS_FEET, "sfa")
    factor = sparse["mass matrix"] + sparse["its factor"]
    pairs = {name: _rjk_by_pairs(CASES[name], counts[name]) for name in (BASE, MORE)}
    sfa = counts[MORE]["sfa"].total / counts[BASE]["sfa"].total
    rise = pairs[MORE] / pairs[BASE] / sfa - 1
    return (
        "Why ratios differ where they do. SFA's share: of hands and feet our "
        f"articulated inertias take {articulated:,} operations where M and its factor "
        f"take {factor:,}: frames are placed for axial screws, and rows and columns "
        "that are zero behind a joint are not computed. RJK's rise: our RJK follows a "
        "path from a common ancestor to an end once for all pairs of ends that share "
        f"it. With every pair counted by itself it takes {pairs[BASE]:,} operations "
        f"for hands and feet and {pairs[MORE]:,} with two more arms and legs, a rise "
        f"of {rise:.0%}."
    )


def _rjk_by_pairs(case: Case, found: OperationalCounts) -> int:
    """Return RJK's operations with every pair of ends counted by itself."""
    robot = robot_of(robots.asimo(**case.change))
    pairs = list(itertools.combinations(case.ends, 2))

    def last_regions(ends: Sequence[str], n: int) -> int:
        program = inverse_program(robot, ends, "rjk")
        ops = Counter(e.region for e in program.order if e.op not in UNCOUNTED)
        return sum(ops[k] for k in sorted(ops)[-n:])

    shared = last_regions(case.ends, len(pairs))
    # The last region of two ends is what both share.
    return found["rjk"].total - shared + sum(last_regions(p, 1) for p in pairs)


def _printed(counts: Mapping[str, OperationalCounts]) -> list[tuple[str, ...]]:
    """Return the numbers in the text, and ours."""
    base, more = (robot_of(robots.asimo(**CASES[n].change)) for n in (BASE, MORE))
    zeros = {
        f"ASIMO, n = {base.nv}: zeros of H": (0.56, _zeros(base)),
        f"{BASE}: zeros of J": (0.67, _zeros_of_rows(base)),
        f"n = {more.nv}: zeros of H": (0.73, _zeros(more)),
    }
    found = [
        (name, f"{printed:.0%}", f"{ours:.2%}", _near(printed, ours))
        for name, (printed, ours) in zeros.items()
    ]
    for frame, axes in AXES.items():
        c = counts[BASE] if frame == "local" else counted(CASES[BASE], frame)
        what = f"{BASE}, rows in {axes}: SFA of EFPA"
        ours = _ratio(c, "sfa")
        found.append((what, f"{SFA:.0%}", f"{ours:.1%}", _near(SFA, ours)))
    sfa, rjk = (
        _ratio(counts[MORE], *pair) / _ratio(counts[BASE], *pair) - 1
        for pair in (("sfa", "efpa"), ("rjk", "sfa"))
    )
    return [
        *found,
        (
            f"{MORE}: SFA of EFPA",
            "nearly the same",
            f"{sfa:+.0%}",
            verdict(abs(sfa) < NEARLY),
        ),
        (
            f"{MORE}: RJK over SFA",
            f"over {RISE:+.0%}",
            f"{rjk:+.0%}",
            verdict(rjk > RISE),
        ),
    ]


SFA, RISE = 0.78, 0.5
"""printed: SFA's share of EFPA's operations; how much more RJK needs over SFA"""
NEARLY = 0.05
"""a change that we call nearly none"""


def _near(printed: float, ours: float) -> str:
    """Return whether a share is the printed one, up to a unit of its last digit."""
    return "the same" if abs(ours - printed) < 0.01 else "differs"


def _ratio(c: OperationalCounts, a: str, b: str = "efpa") -> float:
    return c[a].total / c[b].total


def _holds(claim: str, c: OperationalCounts, base: OperationalCounts) -> bool:
    return {
        LESS_THAN_RJK: _ratio(c, "rjk") > 1,
        MORE_THAN_RJK: _ratio(c, "rjk") < 1,
        SFA_LEADS: _ratio(c, "sfa") < 1,
        ADVANTAGE: _ratio(c, "sfa") > 1,
        LOSS: _ratio(c, "sfa") > _ratio(base, "sfa"),
    }[claim]


def _zeros(robot: Robot) -> float:
    return 1 - float(sparsity_pattern(robot.tree.dof_parents).mean())


def _zeros_of_rows(robot: Robot) -> float:
    """Return the share of J where no joint supports the end, of hands and feet."""
    tree = robot.tree
    bodies = [robot.model.frame(end).body for end in HANDS_FEET]
    moved = [sum(len(tree.dofs[i]) for i in tree.support(b)) for b in bodies]
    return 1 - float(np.mean(moved)) / robot.nv
