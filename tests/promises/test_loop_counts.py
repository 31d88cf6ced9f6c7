"""Operation counts of the closed-loop solver, on the paper's own vehicle."""

from __future__ import annotations

from ramidyn.algorithms.loops.counting import joint_formulation_counts, loopwise_counts
from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import count
from ramidyn.quantities.dynamics import forward_dynamics
from support.loops import as_robot, jacobian_columns


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


def test_auto_takes_the_cheaper_algorithm() -> None:
    robot = as_robot(robots.hmmwv("general"))
    costs = {
        name: count(forward_dynamics(algorithm=name), robot).cost
        for name in ("auto", "joint_formulation", "loopwise")
    }
    assert costs["auto"] == costs["loopwise"] < costs["joint_formulation"]
