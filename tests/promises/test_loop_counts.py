"""Operation counts of the closed-loop solver, on the paper's own vehicle."""

from __future__ import annotations

import pytest

from ramidyn.algorithms.loops.counting import joint_formulation_counts, loopwise_counts
from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import count
from ramidyn.loading import load
from ramidyn.quantities.dynamics import forward_dynamics
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
    "four_bar": (240, 240, 299, 240, 234),
    "knee": (2574, 2550, 2112, 1736, 1909),
    "ankle": (8270, 8270, 6069, 4722, 4903),
    "five_bars": (3128, 2940, 3216, 2737, 2676),
    "hmmwv": (18431, 15162, 16142, 11740, 11402),
    "cassie": (17649, 16548, 12272, 11464, 13918),
    "robotiq_2f85_v4": (641, 643, 794, 592, 585),
}
"""of forward dynamics by each algorithm; two loops of Cassie are not clusters"""
MADE = {
    "four_bar": four_bar,
    "knee": four_bar_knee,
    "ankle": parallel_ankle,
    "five_bars": five_bar_legs,
    "hmmwv": lambda: as_robot(robots.hmmwv("general")),
}


@needs_shared_robots
@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
@pytest.mark.parametrize("name", COSTS)
def test_local_loops_are_clusters_where_that_is_cheaper(name: str) -> None:
    robot = MADE[name]() if name in MADE else load(path_of(name))
    costs = {a: count(forward_dynamics(algorithm=a), robot).cost for a in LOOPS}
    assert tuple(costs.values()) == COSTS[name]
    assert count(forward_dynamics, robot).cost == min(costs.values())
