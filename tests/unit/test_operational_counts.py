"""Counts of Λ⁻¹ for ASIMO, pinned beside what the EFPA paper says of them.

``pytest tests/unit/test_operational_counts.py --slow --update-golden`` makes the table.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ramify.compiling import program_of
from ramify.model.catalog import asimo
from ramify.model.tree import sparsity_pattern
from ramify.quantities.operational import task_jacobian
from support.asimo import (
    CASES,
    GOLDEN,
    HANDS_FEET,
    as_robot,
    counted,
    pinned,
    table,
    totals,
)

found = functools.cache(lambda name: counted(CASES[name]))
LARGE = ("12-joint hands, fingertips", "2 more arms and legs")
"""cases that take as long as all others"""
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name
    for name in CASES
]


def shares(line: dict[str, int]) -> dict[str, float]:
    return {name: n / line["efpa"] for name, n in line.items()}


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


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_the_pinned_ones(name: str, update_golden: bool) -> None:
    if update_golden:
        GOLDEN.write_text(table({case: found(case) for case in CASES}))
    head, line = table({name: found(name)}).splitlines()
    assert GOLDEN.read_text().splitlines()[0] == head
    assert pinned(name) == line


def test_nothing_else_is_pinned() -> None:
    assert len(GOLDEN.read_text().splitlines()) == 1 + len(CASES)


@pytest.mark.parametrize("name", CASES)
def test_efpa_needs_less_than_rjk_unless_a_foot_is_fixed(name: str) -> None:
    line = totals(name)
    assert (line["efpa"] < line["rjk"]) == CASES[name].efpa_beats_rjk


def test_with_one_foot_fixed_pvr_beats_both() -> None:
    line = totals("one foot fixed")
    assert line["pvr"] < line["rjk"] < line["efpa"]
    assert line["pvr"] < 0.7 * line["efpa"]


def test_sfa_loses_its_lead_as_chains_lengthen() -> None:
    base = shares(totals("hands and feet"))["sfa"]
    assert 0.75 < base < 0.90  # 0.78 printed; see docs/operational_space.md
    for name in ("3 more joints per arm", "3 more joints per leg"):
        assert shares(totals(name))["sfa"] > base + 0.05


def test_more_limbs_cost_rjk_more_than_efpa_and_leave_sfa_its_lead() -> None:
    base, more = (shares(totals(n)) for n in ("hands and feet", "2 more arms and legs"))
    assert more["rjk"] > 1.3 * base["rjk"]
    assert more["sfa"] < 1
    assert abs(more["sfa"] / base["sfa"] - 1) < 0.05


@pytest.mark.parametrize("name", CASES)
def test_mixed_is_never_above_pv_and_pvr(name: str) -> None:
    line = totals(name)
    assert line["mixed"] <= min(line["pv"], line["pvr"])


@pytest.mark.parametrize(
    "name",
    ["forefingers, thumbs, feet", "12-joint hands, fingertips", "one foot fixed"],
)
def test_mixed_is_below_all_six_where_chains_are_common(name: str) -> None:
    line = totals(name)
    assert line.pop("mixed") < min(line.values())
