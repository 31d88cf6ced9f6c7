"""Operation counts of the closed-loop solver, on the paper's own vehicle."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import pytest

from ramidyn.algorithms.loops.counting import joint_formulation_counts, loopwise_counts
from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import count
from ramidyn.loading import load
from ramidyn.quantities.closed_loops import (
    SOLVERS,
    constrained_operational_inertia_inverse,
)
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.quantities.loop_derivatives import solved_derivatives
from ramidyn.robot import Robot
from ramidyn.symbolic.linear_steps import UNROLLED
from support.choices import prices
from support.linkages import five_bar_legs, parallel_ankle
from support.loops import as_robot, jacobian_columns
from support.planar import four_bar, four_bar_knee
from support.references import needs_shared_robots, path_of


def test_hmmwv_costs_no_more_than_published() -> None:
    robot = as_robot(robots.hmmwv("general"))
    counts = joint_formulation_counts(robot.tree.dof_parents, jacobian_columns(robot))
    one = counts["1"]
    assert (one.mul, one.add, one.div) == (660, 660, 165)
    whole = counts["Total"]
    assert whole.add <= 3833
    assert whole.mul <= 4065
    assert whole.div <= 545
    assert whole.sqrt <= 43


def test_loop_by_loop_costs_hmmwv_a_third_less() -> None:
    robot = as_robot(robots.hmmwv("general"))
    ops = loopwise_counts(robot.tree.dof_parents, jacobian_columns(robot))
    assert (ops.mul, ops.add, ops.div) == (2666, 2529, 407)


LOOPS = (
    *("joint_formulation", "loopwise", "constrained_aba"),
    *("cluster_aba", "cluster_ltdl"),
)
COSTS = {
    "four_bar": (240, 240, 249, 232, 234),
    "knee": (2532, 2508, 1960, 1609, 1867),
    "ankle": (8187, 8187, 5617, 4348, 4820),
    "five_bars": (3076, 2888, 2942, 2553, 2624),
    "hmmwv": (18376, 15107, 15691, 11335, 11347),
    "cassie": (17507, 16406, 11377, 10657, 13776),
    "robotiq_2f85_v4": (641, 643, 677, 583, 585),
}
"""of forward dynamics by each algorithm; two loops of Cassie are not clusters"""
MADE = {
    "four_bar": four_bar,
    "knee": four_bar_knee,
    "ankle": parallel_ankle,
    "five_bars": five_bar_legs,
    "hmmwv": lambda: as_robot(robots.hmmwv("general")),
}


CHOSEN = {
    "four_bar": ((769, 838), (158, 121)),
    "knee": ((17682, 13615), (3115, 2173)),
    "ankle": ((46520, 32214), (9370, 5526)),
    "five_bars": ((13371, 11090), (2722, 2375)),
    "cassie": ((116719, 102072), (14797, 12177)),
    "robotiq_2f85_v4": ((2471, 2474), (574, 367)),
}
"""by rows and by clusters: derivatives, and Λ⁻¹ of the last body's pose"""
pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")


def named(*fast: str, names: Iterable[str]) -> list[Any]:
    """Return robots to count; all but the fast ones only if asked for."""
    return [
        pytest.param(
            name,
            marks=[
                *([] if name in MADE else [needs_shared_robots]),
                *([] if name in fast else [pytest.mark.slow]),
            ],
        )
        for name in names
    ]


@functools.cache
def made(name: str) -> Robot:
    return MADE[name]() if name in MADE else load(path_of(name))


@pytest.mark.parametrize(
    "name", named("four_bar", "knee", "ankle", "cassie", names=COSTS)
)
def test_local_loops_are_clusters_where_that_is_cheaper(name: str) -> None:
    robot = made(name)
    costs = {a: count(forward_dynamics(algorithm=a), robot).cost for a in LOOPS}
    assert tuple(costs.values()) == COSTS[name]
    found = prices(forward_dynamics, robot, ("auto", *LOOPS))
    assert found["auto"] == min(found.values())


@pytest.mark.parametrize("name", named("four_bar", names=CHOSEN))
def test_many_right_sides_are_solved_by_clusters_where_that_is_cheaper(
    name: str,
) -> None:
    robot = made(name)
    task = (Task(robot.body_names[-1], "pose"),)
    quantities = (
        solved_derivatives,
        constrained_operational_inertia_inverse(tasks=task),
    )
    for quantity, expected in zip(quantities, CHOSEN[name], strict=True):
        costs = tuple(count(quantity(algorithm=a), robot).cost for a in SOLVERS)
        assert costs == expected
        if quantity is not solved_derivatives or robot.nv <= UNROLLED:
            assert count(quantity, robot).cost == min(costs)
