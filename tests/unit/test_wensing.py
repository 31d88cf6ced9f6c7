"""The figures in the page's words on Wensing, Featherstone & Orin 2012."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from ramify.algorithms.operational.tasks import Task
from ramify.compiling import program_of
from ramify.model.catalog import asimo
from ramify.papers.featherstone import robot_of
from ramify.papers.wensing import BASE, CASES, MORE, counted
from ramify.quantities.operational import operational_inertia_inverse
from ramify.robot import Robot
from support.asimo import totals


def regions(
    robot: Robot, ends: tuple[str, ...], algorithm: str
) -> list[tuple[str, int]]:
    """The operations of each region of Λ⁻¹, in the order of the trace."""
    tasks = [Task(f, "pose", "local") for f in ends]
    program = program_of(operational_inertia_inverse(tasks, algorithm), robot)
    found = Counter(e.region for e in program.order if e.op not in ("const", "input"))
    return [(program.regions[k], found[k]) for k in sorted(found)]


def pairs_alone(robot: Robot, ends: tuple[str, ...]) -> int:
    """The operations of RJK's cross terms with every pair of ends counted by itself."""
    # The last region of two ends is what both share.
    return sum(regions(robot, p, "rjk")[-1][1] for p in itertools.combinations(ends, 2))


def test_articulated_inertias_take_less_than_the_factor_of_M() -> None:
    robot, ends = robot_of(asimo()), tuple(CASES[BASE].ends)

    def total(algorithm: str, *names: str) -> int:
        return sum(n for r, n in regions(robot, ends, algorithm) if r.startswith(names))

    assert total("efpa", "articulated inertia") == 6062
    assert total("sfa", "composite inertia", "factor") == 10704


ALONE = {BASE: 36_196, MORE: 135_174}
"""RJK's operations with every pair of ends counted by itself"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "expected"), ALONE.items())
def test_rjk_takes_more_with_every_pair_by_itself(name: str, expected: int) -> None:
    robot, ends = robot_of(asimo(**CASES[name].change)), tuple(CASES[name].ends)
    pairs = len(ends) * (len(ends) - 1) // 2
    shared = sum(n for _, n in regions(robot, ends, "rjk")[-pairs:])
    total = counted(CASES[name])["rjk"].total
    assert total - shared + pairs_alone(robot, ends) == expected


@pytest.mark.parametrize("shared", [True, False])
def test_rjk_rises_by_what_the_page_says(shared: bool) -> None:
    base, more = (
        (totals(n)["rjk"] if shared else ALONE[n]) / totals(n)["sfa"]
        for n in (BASE, MORE)
    )
    assert round(more / base - 1, 2) == (0.38 if shared else 0.61)
