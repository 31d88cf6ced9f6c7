"""J̄ = M⁻¹ Jᵀ Λ by propagators: the same as by the factor of M, and cheaper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog.paper_robots import asimo, chain, chang_khatib24, random_tree
from ramidyn.compiler import count, program_of
from ramidyn.errors import ArgumentError
from ramidyn.loading import load
from ramidyn.quantities.operational import (
    dynamically_consistent_inverse,
    null_space_projector,
    operational_inertia,
)
from ramidyn.robot import Robot
from ramidyn.symbolic.count import count as as_traced
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tree.tree import D1
from support.asimo import HANDS_FEET, as_robot
from support.parameters import some
from support.paths import SHARED_ROBOTS
from support.states import case


def consistent_inverse(robot: Robot, q: Any, tasks: Any, **options: Any) -> Any:
    quantity = dynamically_consistent_inverse(tasks, "pv", **options)
    return evaluate(program_of(quantity, robot), {"q": q})[quantity.name]


def closed_form(robot: Robot, q: Any, tasks: Any, damping: float = 0.0) -> Any:
    J = robot.task_jacobian(q, tasks)
    MJ = np.linalg.solve(robot.mass_matrix(q), J.T)
    return MJ @ np.linalg.inv(J @ MJ + damping * np.eye(len(J)))


def check(robot: Robot, tasks: Any, damping: float = 0.0) -> None:
    q = robot.random_configuration(np.random.default_rng(5))
    expected = closed_form(robot, q, tasks, damping)
    size = 1e-9 * np.abs(expected).max()
    for response in ("factor", "propagators"):
        found = consistent_inverse(robot, q, tasks, damping=damping, response=response)
        np.testing.assert_allclose(found, expected, rtol=0, atol=size)


@pytest.mark.parametrize("seed", some(range(12), slow=range(4, 12)))
@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_random_trees_have_the_inverse_of_the_closed_form(
    seed: int, conventions: str
) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot.from_description(
        random_tree(8, rng, roots=1 + seed % 2), conventions=conventions
    )
    names = rng.choice(robot.body_names, 2, replace=False).tolist()
    check(robot, [Task(n, "pose", "local_world_aligned") for n in names], damping=0.1)


def test_a_task_on_the_world_moves_nothing() -> None:
    robot = as_robot(chain(4))
    check(robot, [Task("body3", "x"), Task("world", "y")], damping=0.1)


def test_asimo_has_the_inverse_of_the_closed_form() -> None:
    check(as_robot(asimo()), HANDS_FEET)


SHARED = {
    "iiwa14/iiwa14.xml": ["link7"],
    "anymal_c/anymal.urdf": [
        Task(f"{leg}_SHANK", "position") for leg in ("LF", "RF", "LH", "RH")
    ],
    "cassie/cassie.xml": ["left-foot", "right-foot"],
    "g1_with_hands/g1_with_hands.xml": [
        Task("left_ankle_roll_link", "pose"),
        Task("right_ankle_roll_link", "position"),
    ],
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
@pytest.mark.skipif(not SHARED_ROBOTS.exists(), reason="no folder of shared robots")
@pytest.mark.parametrize("name", SHARED)
def test_real_robots_have_the_inverse_of_the_closed_form(name: str) -> None:
    check(load(SHARED_ROBOTS / name), SHARED[name], damping=0.01)


# ------------------------------------------------------------ counts


def counted(robot: Robot, tasks: Any, *options: Any) -> int:
    return count(dynamically_consistent_inverse(tasks, *options), robot).total


def test_one_more_link_costs_the_propagators_the_same() -> None:
    def traced(n: int, response: str) -> int:
        quantity = dynamically_consistent_inverse(f"body{n - 1}", "pv", 0.0, response)
        return as_traced(program_of(quantity, as_robot(chain(n)))).total

    factor, propagators = (
        np.diff([traced(n, response) for n in (12, 16, 20)])
        for response in ("factor", "propagators")
    )
    assert propagators[1] == propagators[0]
    assert factor[1] > 1.15 * factor[0]


@pytest.mark.parametrize("make", [chang_khatib24, lambda: chain(20), lambda: chain(6)])
def test_auto_takes_the_cheaper_response(make: Any) -> None:
    robot = as_robot(make())
    tasks = ["left_hand", "right_hand"] if robot.nv == 24 else [f"body{robot.nv - 1}"]
    by_name = [counted(robot, tasks, "pv", 0.0, r) for r in ("factor", "propagators")]
    assert counted(robot, tasks, "pv") == min(by_name)


def test_the_projector_takes_the_same_way() -> None:
    robot = as_robot(chain(9))
    q = robot.random_configuration(0)
    N = [
        robot.null_space_projector(q, ["body8"], "pv", response=r)
        for r in ("factor", "propagators")
    ]
    np.testing.assert_allclose(N[0], N[1], atol=1e-9)
    quantity = null_space_projector(["body8"], "pv")
    assert count(quantity, robot) == count(quantity(response="propagators"), robot)


def test_mimic_joints_need_the_factor() -> None:
    robot = case("coupled")
    task = Task(robot.body_names[-1], "x")
    quantity = dynamically_consistent_inverse(task)
    assert count(quantity, robot) == count(quantity(response="factor"), robot)
    with pytest.raises(
        ArgumentError,
        match=r"'propagators' cannot be used, because robot .* has mimic joints",
    ):
        count(quantity(response="propagators"), robot)
    with pytest.raises(
        ArgumentError, match="response is 'minv'; possible: 'auto', 'factor', 'prop"
    ):
        dynamically_consistent_inverse(task, response="minv")


def test_rows_of_the_inertia_are_shared_with_the_inverse() -> None:
    # J̄ = L⁻¹ (D⁻¹ Yᵀ Λ): beyond Λ, a product with the nonzeros of Y and one sweep.
    robot = as_robot(chang_khatib24("plain"))
    hands = [Task(f"{side}_hand", "pose", "local") for side in ("left", "right")]
    parents, m = robot.tree.dof_parents, 12
    supports = [robot.tree.support(robot.model.frame(t.frame).body) for t in hands]
    nonzeros = 6 * sum(map(len, supports))
    inertia = count(operational_inertia(hands, "sfa"), robot).total
    inverse = counted(robot, hands, "sfa", 0.0, "factor")
    assert inverse - inertia <= 2 * m * (nonzeros + D1(parents))
