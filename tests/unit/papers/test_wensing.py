"""Counts of Λ⁻¹ for ASIMO, beside what Wensing, Featherstone & Orin 2012 say of them.

``pytest tests/unit/papers/test_wensing.py --slow --update-golden`` makes the table.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog.paper_robots import asimo
from ramidyn.compiler import program_of
from ramidyn.papers.wensing import BASE, MORE
from ramidyn.papers.wensing_stages import appendix, stages
from ramidyn.quantities.operational import operational_inertia_inverse, task_jacobian
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.tree.tree import sparsity_pattern
from support.asimo import CASES, GOLDEN, HANDS_FEET, as_robot, counted, table
from support.pages import REPOSITORY

found = functools.cache(lambda name: counted(CASES[name]))
LARGE = (
    "12-joint hands, fingertips",
    MORE,
    "hands, feet, head",
    "3 more joints per leg",
    "3 more joints per arm",
    "forefingers, thumbs, feet",
    "12-joint hands",
)
"""cases that take longer than all others"""


def marked(names: list[str]) -> list[object]:
    """The names of some cases; the large ones run with --slow."""
    slow = pytest.mark.slow
    return [pytest.param(n, marks=slow) if n in LARGE else n for n in names]


def totals(name: str) -> dict[str, int]:
    """The operations of a case by algorithm, counted."""
    return {row.algorithm: row.total for row in found(name).rows}


def shares(name: str) -> dict[str, float]:
    line = totals(name)
    return {algorithm: n / line["efpa"] for algorithm, n in line.items()}


# ------------------------------------------------------------ the robots


def test_asimo_has_the_zeros_that_the_paper_prints() -> None:
    robot = as_robot(asimo())
    assert robot.nv == 40
    assert 1 - sparsity_pattern(robot.tree.dof_parents).mean() == 0.5575
    J = program_of(task_jacobian(HANDS_FEET), robot).results
    zeros = np.mean([e.op == "const" and e.value == 0.0 for e in J])
    supports = [len(robot.tree.support(robot.model.frame(f).body)) for f in HANDS_FEET]
    assert 1 - np.mean([n + 5 for n in supports]) / 40 == 0.675
    assert zeros >= 0.675  # and where world axes have no part in a rotation


def test_four_arms_and_legs_have_the_zeros_that_the_paper_prints() -> None:
    robot = as_robot(asimo(arms=4, legs=4))
    zeros = 1 - sparsity_pattern(robot.tree.dof_parents).mean()
    assert (robot.nv, round(100 * zeros, 2)) == (70, 73.02)


# ------------------------------------------------------------ the counts


def test_the_table_has_a_line_for_every_case(update_golden: bool) -> None:
    if update_golden:
        GOLDEN.write_text(table({case: found(case) for case in CASES}))
    assert len(GOLDEN.read_text().splitlines()) == 1 + len(CASES)


@pytest.fixture(scope="module", params=marked([*CASES]))
def name(request: pytest.FixtureRequest) -> str:
    """A case, by module: what is said of one runs in turn and counts it once."""
    return request.param


def test_counts_are_the_pinned_ones(name: str) -> None:
    head, line = table({name: found(name)}).splitlines()
    pinned = GOLDEN.read_text().splitlines()
    assert pinned[0] == head
    assert pinned[1 + list(CASES).index(name)] == line


def test_efpa_needs_less_than_rjk_unless_a_foot_is_fixed(name: str) -> None:
    line = totals(name)
    assert (line["efpa"] < line["rjk"]) == CASES[name].efpa_beats_rjk


def test_mixed_is_never_above_pv_and_pvr(name: str) -> None:
    line = totals(name)
    assert line["mixed"] <= min(line["pv"], line["pvr"])


@pytest.mark.parametrize(
    "name",
    marked(
        ["forefingers, thumbs, feet", "12-joint hands, fingertips", "one foot fixed"]
    ),
)
def test_mixed_is_below_all_six_where_chains_are_common(name: str) -> None:
    line = totals(name)
    assert line.pop("mixed") < min(line.values())


def test_with_one_foot_fixed_pvr_beats_both() -> None:
    line = totals("one foot fixed")
    assert line["pvr"] < line["rjk"] < line["efpa"]
    assert line["pvr"] < 0.7 * line["efpa"]


@pytest.mark.parametrize(
    "name", marked(["3 more joints per arm", "3 more joints per leg"])
)
def test_sfa_loses_its_lead_as_chains_lengthen(name: str) -> None:
    base = shares(BASE)["sfa"]
    assert 0.75 < base < 0.90  # 0.78 printed, and ours with rows in world axes
    assert shares(name)["sfa"] > base + 0.03


@pytest.mark.slow
def test_more_limbs_cost_rjk_more_than_efpa_and_leave_sfa_its_lead() -> None:
    base, more = shares(BASE), shares(MORE)
    assert more["rjk"] > 1.3 * base["rjk"]
    assert more["sfa"] < 1
    assert abs(more["sfa"] / base["sfa"] - 1) < 0.05


@pytest.mark.slow
def test_sfa_takes_the_printed_share_with_rows_in_world_axes() -> None:
    line = counted(CASES[BASE], "world")
    assert round(line["sfa"].total / line["efpa"].total, 2) == 0.78
    assert found(BASE)["sfa"].total == 19_825


# ------------------------------------------------------------ the page's words


PAGE = (REPOSITORY / "docs" / "papers.md").read_text(encoding="utf-8")


def regions(
    robot: Robot, ends: tuple[str, ...], algorithm: str
) -> list[tuple[str, int]]:
    """The operations of each region of Λ⁻¹, in the order of the trace."""
    tasks = [Task(f, "pose", "local") for f in ends]
    program = simplify(program_of(operational_inertia_inverse(tasks, algorithm), robot))
    found = Counter(e.region for e in program.order if e.op not in ("const", "input"))
    return [(program.regions[k], found[k]) for k in sorted(found)]


@functools.cache
def rjk_by_pairs(name: str) -> int:
    """RJK's operations with every pair of ends counted by itself."""
    robot, ends = as_robot(asimo(**CASES[name].change)), tuple(CASES[name].ends)
    pairs = list(itertools.combinations(ends, 2))
    shared = sum(n for _, n in regions(robot, ends, "rjk")[-len(pairs) :])
    # The last region of two ends is what both share.
    alone = sum(regions(robot, pair, "rjk")[-1][1] for pair in pairs)
    return totals(name)["rjk"] - shared + alone


def test_articulated_inertias_take_less_than_the_factor_of_M() -> None:
    robot = as_robot(asimo())
    articulated = stages(robot, HANDS_FEET, "efpa")["articulated inertias"]
    sparse = stages(robot, HANDS_FEET, "sfa")
    factor = sparse["mass matrix"] + sparse["its factor"]
    assert articulated < factor
    assert (
        f"take {articulated:,} operations where M and its factor take {factor:,}:"
        in PAGE
    )


def test_the_appendix_is_met() -> None:
    for name, (printed, ours) in appendix().items():
        assert sum(ours) <= sum(printed), name


@pytest.mark.slow
def test_rjk_takes_and_rises_by_what_the_page_says() -> None:
    base, more = rjk_by_pairs(BASE), rjk_by_pairs(MORE)
    sfa = totals(MORE)["sfa"] / totals(BASE)["sfa"]
    together = totals(MORE)["rjk"] / totals(BASE)["rjk"] / sfa - 1
    alone = more / base / sfa - 1
    assert f"it takes {base:,} operations for hands and feet and {more:,} with" in PAGE
    assert f", a rise of {alone:.0%}." in PAGE
    assert f"RJK over SFA | over +50% | {together:+.0%} |" in PAGE
