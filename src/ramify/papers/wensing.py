"""Wensing, Featherstone & Orin (2012): Figs 5 and 6 as ratios.

The figures print no totals; the text prints some ratios, and says which of two
algorithms needs less.
"""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramify.algorithms.operational.explicit_inverse import symmetric_inverse
from ramify.algorithms.operational.inverse_inertia import InverseInertia
from ramify.algorithms.operational.sfa import sfa
from ramify.algorithms.operational.tasks import Task
from ramify.compiler import program_of
from ramify.explain.operational import OperationalCounts, explain_operational
from ramify.model import catalog as robots
from ramify.model.tree import sparsity_pattern
from ramify.papers.document import Plot, Section, Table, robot_of, word
from ramify.quantities.context import Context
from ramify.quantities.mass_matrix import CRBA
from ramify.quantities.operational import operational_inertia_inverse
from ramify.quantities.operational_inertia import jacobian_entries
from ramify.robot import Robot
from ramify.simplify.passes import simplify
from ramify.spatial import ArticulatedInertia, Motion, Transform
from ramify.spatial.transform import Turn
from ramify.symbolic.count import count
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace

HANDS_FEET = ("left_hand", "right_hand", "left_foot", "right_foot")
FINGERS = ("left_forefinger", "left_thumb", "right_forefinger", "right_thumb")
FINGERTIPS = tuple(
    f"{side}_{finger}3"
    for side in ("left", "right")
    for finger in ("forefinger", "thumb", "finger3", "finger4")
)
LESS_THAN_RJK, MORE_THAN_RJK = "EFPA below RJK", "RJK below EFPA"
SFA_LOSES, SFA_LEADS = "SFA worse than at first", "SFA below EFPA"


@dataclass(frozen=True)
class Case:
    """One group of bars: a change to ASIMO, and the ends of the operational space."""

    ends: Sequence[str]
    change: Mapping[str, Any] = field(default_factory=dict[str, Any])
    claim: str = LESS_THAN_RJK
    """what the paper says of it"""

    @property
    def efpa_beats_rjk(self) -> bool:
        """Whether EFPA needs less than RJK: in every case but one, the paper says."""
        return self.claim != MORE_THAN_RJK


BASE, MORE = "hands and feet", "2 more arms and legs"
CASES = {
    BASE: Case(HANDS_FEET, claim=SFA_LEADS),
    "hands, feet, head": Case((*HANDS_FEET, "head")),
    "forefingers, thumbs, feet": Case((*FINGERS, *HANDS_FEET[2:])),
    "3 more joints per arm": Case(HANDS_FEET, {"arm_joints": 10}, SFA_LOSES),
    "3 more joints per leg": Case(HANDS_FEET, {"leg_joints": 9}, SFA_LOSES),
    "12-joint hands": Case(HANDS_FEET, {"fingers": 4, "finger_joints": 3}, SFA_LOSES),
    "12-joint hands, fingertips": Case(
        (*FINGERTIPS, *HANDS_FEET[2:]), {"fingers": 4, "finger_joints": 3}
    ),
    MORE: Case(
        (*HANDS_FEET, *(f.replace("_", "2_") for f in HANDS_FEET)),
        {"arms": 4, "legs": 4},
        SFA_LEADS,
    ),
    "one foot fixed": Case(
        ("left_hand", "right_hand", "right_foot"), {"base": "left_foot"}, MORE_THAN_RJK
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
    """Return the section of this paper."""
    counts = {name: counted(case) for name, case in CASES.items()}
    rows: list[tuple[str, ...]] = []
    for name, case in CASES.items():
        c = counts[name]
        shares = [f"{_ratio(c, a):.2f}" for a in ALGORITHMS if a != "efpa"]
        holds = "holds" if _holds(case, c, counts[BASE]) else "differs"
        rows.append(
            (name, f"{c['efpa'].total:,}", *shares, c.chosen, case.claim, holds)
        )
    head = ("operational space", "EFPA, ours", "SFA", "RJK", "PV", "PVr")
    head = (*head, "chosen", "the paper says", "")
    bars = {
        a.upper(): [
            (float(k), float(c[a].total)) for k, c in enumerate(counts.values(), 1)
        ]
        for a in ALGORITHMS
    }
    labels = tuple(textwrap.fill(n, 10, break_long_words=False) for n in counts)
    title = "Wensing et al. 2012, Figs 5 and 6: operations for Λ⁻¹, our programs"
    plot = Plot("figure6", title, "bars", bars, labels, ("", "operations"))
    return [
        Section(
            "Wensing, Featherstone & Orin 2012, Figs 5 and 6",
            "Operations of the inverse operational-space inertia Λ⁻¹ of ASIMO and of "
            "robots derived from it, as shares of EFPA's; six rows an end, in its own "
            "axes. The figures print no totals, so the ratios and the order are what "
            "can be compared. PV (Popov and Vereshchagin's) and PVr came after the "
            "paper.",
            (
                Table(("", "printed", "ours", ""), tuple(_printed(counts))),
                Table(head, tuple(rows)),
            ),
            (plot,),
            _why(counts),
        ),
        *breakdown(),
    ]


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
        f"take {factor:,}; frames placed for axial screws, and rows and columns that "
        "are known to be zero behind a joint, help EFPA's first sweep more than they "
        "help M. RJK's rise: our RJK follows a path from a common ancestor to an end "
        "once for all pairs of ends that share it, and four more ends share more. With "
        f"every pair counted by itself it takes {pairs[BASE]:,} operations for hands "
        f"and feet and {pairs[MORE]:,} with two more arms and legs, a rise of "
        f"{rise:.0%}. General geometry; operations as traced, divisions by one number "
        "shared."
    )


def _traced(robot: Robot, ends: Sequence[str], algorithm: str) -> Program:
    tasks = [Task(f, "pose", "local") for f in ends]
    return program_of(operational_inertia_inverse(tasks, algorithm), robot)


def _rjk_by_pairs(case: Case, found: OperationalCounts) -> int:
    """Return RJK's operations with every pair of ends counted by itself."""
    robot = robot_of(robots.asimo(**case.change))
    pairs = list(itertools.combinations(case.ends, 2))

    def last_regions(ends: Sequence[str], n: int) -> int:
        program = _traced(robot, ends, "rjk")
        ops = Counter(e.region for e in program.order if e.op not in UNCOUNTED)
        return sum(ops[k] for k in sorted(ops)[-n:])

    shared = last_regions(case.ends, len(pairs))
    # The last region of two ends is what both share.
    return found["rjk"].total - shared + sum(last_regions(p, 1) for p in pairs)


UNCOUNTED = ("const", "input", "cos")
"""the sine of an angle is counted, and its cosine comes with it"""
STAGES = {
    "transform": "transforms",
    "jacobian": "Jacobian",
    "composite inertia": "mass matrix",
    "factor": "its factor",
    "task row": "rows J L⁻¹",
    "articulated inertia": "articulated inertias",
    "force propagators": "inward: force propagators",
    "accelerations": "outward, and all blocks of Λ⁻¹",
    "mobility": "outward: diagonal blocks",
    "task inertia": "blocks of Λ⁻¹",
}


def stages(robot: Robot, ends: Sequence[str], algorithm: str) -> dict[str, int]:
    """Return the operations of Λ⁻¹ by stage, of the program that is compiled."""
    program = simplify(_traced(robot, ends, algorithm))
    found: Counter[str] = Counter()
    for e in program.order:
        if e.op not in UNCOUNTED:
            name = program.regions[e.region].rpartition(" ")[0]
            found[STAGES[name]] += 1
    return dict(found)


def breakdown() -> list[Section]:
    """Return Fig. 5 by stages, SFA with both mass matrices, and the appendix."""
    robot = robot_of(robots.asimo())
    rows: list[tuple[str, ...]] = []
    for algorithm in ("efpa", "rjk", "sfa"):
        found = stages(robot, HANDS_FEET, algorithm)
        total = sum(found.values())
        rows += [
            (algorithm.upper(), stage, f"{n:,}", f"{n / total:.0%}")
            for stage, n in found.items()
        ]
        rows.append((algorithm.upper(), "all", f"{total:,}", ""))
    efpa = sum(stages(robot, HANDS_FEET, "efpa").values())
    masses = _sfa_by_mass_matrix(robot)
    cheapest = min(masses, key=masses.__getitem__)
    chosen = tuple(
        (name, f"{n:,}", f"{n / efpa:.0%}", "cheaper" if name == cheapest else "")
        for name, n in masses.items()
    )
    operations = tuple(
        (name, _shown(*printed), _shown(*ours), word(sum(printed), sum(ours)))
        for name, (printed, ours) in appendix().items()
    )
    return [
        Section(
            "Wensing, Featherstone & Orin 2012, Fig. 5: stage by stage",
            "Where the operations of hands and feet are, in the programs that are "
            "compiled. The figure prints no numbers; its message is that EFPA pays "
            "more on the way in than RJK, and less for the blocks of Λ⁻¹. SFA is "
            "counted with the paper's mass matrix (`crba`) and with ours "
            "(`crba_root`).",
            (
                Table(("algorithm", "stage", "operations", "share"), tuple(rows)),
                Table(("SFA with M by", "operations", "of EFPA", ""), chosen),
            ),
        ),
        Section(
            "Wensing, Featherstone & Orin 2012, appendix",
            "The costs that the appendix prints, and those of the same operations of "
            "`ramify.spatial`. The privileged child of the floating base differs from "
            "it by a turn about one axis.",
            (Table(("operation", "printed", "ours", ""), operations),),
        ),
    ]


def _sfa_by_mass_matrix(robot: Robot) -> dict[str, int]:
    """Return the operations of SFA with each algorithm for M."""
    model, conventions = robot.placed_model, robot.conventions
    tasks = tuple(Task(f, "pose", "local") for f in HANDS_FEET)
    found: dict[str, int] = {}
    for name in ("crba", "crba_root"):

        def run(q: Any, name: str = name) -> Any:
            context = Context(model, conventions, {"q": q})
            rows, tree = jacobian_entries(context, tasks), context.dynamics_tree
            entries = CRBA[name](tree, context.q)
            inverse = sfa(entries, tree.dof_parents, rows)
            return np.array(list(inverse.values()), dtype=object)

        found[name] = count(simplify(trace(run, {"q": model.nq}))).total
    return found


Cost = tuple[int, int]


def appendix() -> dict[str, tuple[Cost, Cost]]:
    """Return the operations of the appendix: printed, and ours as (m, a)."""

    def ops(run: Callable[[Any], Any]) -> Cost:
        found = count(trace(run, {"x": 80}))
        return found.mul + found.div, found.add

    def full(x: Any) -> ArticulatedInertia:
        rows = iter(x[:21])
        matrix = np.empty((6, 6), dtype=object)
        for i in range(6):
            for j in range(i, 6):
                matrix[i, j] = matrix[j, i] = next(rows)
        return ArticulatedInertia.of(matrix)

    def turn(x: Any) -> Transform:
        return Transform((Turn(2, x[70], x[71]),))

    def general(x: Any) -> Transform:
        return Transform.of(np.reshape(x[60:69], (3, 3)), x[70:73])

    def motions(x: Any) -> list[Motion]:
        return [Motion.of(x[6 * k : 6 * k + 6]) for k in range(6)]

    def both_sides(x: Any) -> list[Any]:
        half = [(general(x) @ m).parts() for m in motions(x)]
        return [e for c in zip(*half, strict=True) for e in _sent(general(x), c)]

    def dense(x: Any) -> list[Any]:
        first: Any = np.reshape(x[:36], (6, 6))
        return list((first @ np.reshape(x[36:72], (6, 6))).ravel())

    def inverse(x: Any) -> list[Any]:
        found = symmetric_inverse([list(row) for row in full(x).array()])
        return [found[i][j] for i in range(6) for j in range(i + 1)]

    return {
        "Xᵀ Iᴬ L X, privileged child": (
            (22, 25),
            ops(lambda x: turn(x).invapply(full(x).without(2)).parts()),
        ),
        "Iᴬ + ..., privileged child": (
            (0, 15),
            ops(lambda x: (full(x[21:]) + full(x).without(2)).parts()),
        ),
        "X Λ⁻¹_pk, privileged child": (
            (48, 24),
            ops(lambda x: [e for m in motions(x) for e in (turn(x) @ m).parts()]),
        ),
        "X Λ⁻¹_pp Xᵀ, privileged child": (
            (63, 54),
            ops(lambda x: InverseInertia(full(x)).across(turn(x)).dual.parts()),
        ),
        "Λ⁻¹_kk from Ω, general end": (
            (137, 137),
            ops(lambda x: InverseInertia(full(x)).across(general(x)).dual.parts()),
        ),
        "Λ⁻¹_k₁k₂ from Ω, general ends": ((288, 216), ops(both_sides)),
        "χ Λ⁻¹_ik, dense": ((216, 180), ops(dense)),
        "K₁ = (Iᴬ₁)⁻¹, all operations": ((231, 0), (sum(ops(inverse)), 0)),
    }


def _sent(transform: Transform, row: Sequence[Any]) -> tuple[Any, ...]:
    return (transform @ Motion.of(np.array(row, dtype=object))).parts()


def _shown(m: int, a: int) -> str:
    return f"{m}m + {a}a" if a else (f"{m}" if m else "0")


def _printed(counts: Mapping[str, OperationalCounts]) -> list[tuple[str, ...]]:
    """Return the numbers in the text, and ours."""
    base, more = (robot_of(robots.asimo(**CASES[n].change)) for n in (BASE, MORE))
    zeros = {
        "ASIMO, n = 40: zeros of H": (0.56, _zeros(base)),
        f"{BASE}: zeros of J": (0.67, _zeros_of_rows(base)),
        "n = 70: zeros of H": (0.73, _zeros(more)),
    }
    found = [
        (name, f"{printed:.0%}", f"{ours:.2%}", _near(printed, ours))
        for name, (printed, ours) in zeros.items()
    ]
    for frame, axes in AXES.items():
        c = counts[BASE] if frame == "local" else counted(CASES[BASE], frame)
        what = f"{BASE}, rows in {axes}: SFA of EFPA"
        ours = _ratio(c, "sfa")
        found.append((what, "78%", f"{ours:.1%}", _near(0.78, ours)))
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
            "holds" if abs(sfa) < NEARLY else "differs",
        ),
        (
            f"{MORE}: RJK over SFA",
            "over +50%",
            f"{rjk:+.0%}",
            "holds" if rjk > 0.5 else "differs",
        ),
    ]


NEARLY = 0.05
"""a change that we call nearly none"""


def _near(printed: float, ours: float) -> str:
    """Return whether a share is the printed one, up to a unit of its last digit."""
    return "the same" if abs(ours - printed) < 0.01 else "differs"


def _ratio(c: OperationalCounts, a: str, b: str = "efpa") -> float:
    return c[a].total / c[b].total


def _holds(case: Case, c: OperationalCounts, base: OperationalCounts) -> bool:
    return {
        LESS_THAN_RJK: _ratio(c, "rjk") > 1,
        MORE_THAN_RJK: _ratio(c, "rjk") < 1,
        SFA_LEADS: _ratio(c, "sfa") < 1,
        SFA_LOSES: _ratio(c, "sfa") > _ratio(base, "sfa"),
    }[case.claim]


def _zeros(robot: Robot) -> float:
    return 1 - float(sparsity_pattern(robot.tree.dof_parents).mean())


def _zeros_of_rows(robot: Robot) -> float:
    """Return the share of J where no joint supports the end, of hands and feet."""
    tree = robot.tree
    bodies = [robot.model.frame(end).body for end in HANDS_FEET]
    moved = [sum(len(tree.dofs[i]) for i in tree.support(b)) for b in bodies]
    return 1 - float(np.mean(moved)) / robot.nv
