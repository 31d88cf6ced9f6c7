"""Multipliers: what they do is unique; of all that do it, the least are given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from ramidyn.catalog import paper_robots as robots
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelWarning
from ramidyn.mechanism.constraints.rank import rank_of
from ramidyn.mechanism.loops import add_loop
from ramidyn.mechanism.mobility import constrained_inverse_dynamics
from ramidyn.quantities import closed_loops
from ramidyn.robot import Robot
from support.loops import as_robot, dense, value
from support.parameters import some
from support.planar import (
    Planar,
    four_bar,
    open_bars,
    parallelogram,
    pin_at,
    swung,
)

pytestmark = pytest.mark.filterwarnings("ignore:loop .* is redundant:UserWarning")

CLOSE = 1e-10
"""over the largest; J Jᵀ of these mechanisms has a condition below 1e4"""


def state_of_bars(_: Robot) -> tuple[Any, Any]:
    return Planar("four_bar").state(0.3, 2.0)


def state_of_cranks(robot: Robot) -> tuple[Any, Any]:
    return swung(robot, 0.4, 1.3)


def at_rest(robot: Robot) -> tuple[Any, Any]:
    return robot.neutral(), np.zeros(robot.nv)


def doubled(robot: Robot, **changes: Any) -> Robot:
    """Return the robot with its first loop once more, by another joint."""
    first = robot.model.loops[0]
    return add_loop(
        robot,
        first.body_a,
        first.body_b,
        placement_a=first.placement_a,
        placement_b=first.placement_b,
        name="again",
        **changes,
    )


CASES: dict[
    str, tuple[Callable[[], Robot], Callable[[Robot], tuple[Any, Any]], int]
] = {
    "a pin": (four_bar, state_of_bars, 0),
    "two pins in one place": (lambda: doubled(four_bar()), state_of_bars, 0),
    "a crank too many": (parallelogram, state_of_cranks, 1),
    "three cranks too many": (lambda: parallelogram(5), state_of_cranks, 3),
    "a crank too many, and a pin twice": (
        lambda: doubled(parallelogram(), joint="spherical"),
        state_of_cranks,
        1,
    ),
    "a car": (lambda: as_robot(robots.hmmwv("general")), at_rest, 0),
    "a car with a loop twice": (
        lambda: doubled(as_robot(robots.hmmwv("general"))),
        at_rest,
        0,
    ),
}


@cache
def made(name: str) -> Robot:
    return CASES[name][0]()


@pytest.mark.parametrize("algorithm", ["joint_formulation", "loopwise", "auto"])
@pytest.mark.parametrize("name", some(CASES, slow=["a car"]))
def test_multipliers_are_the_least_with_their_effect(
    name: str, algorithm: str, rng: np.random.Generator
) -> None:
    _, state, spare = CASES[name]
    robot = made(name)
    assert len(rank_of(robot.placed_model, robot.conventions).spare) == spare
    q, qd = state(robot)
    tau = rng.normal(size=robot.nv)
    expected, some, J = dense(robot, q, qd, tau)
    found = value(
        closed_loops.loop_forces(algorithm=algorithm), robot, q=q, qd=qd, tau=tau
    )
    forces = J.T @ some
    np.testing.assert_allclose(
        J.T @ found, forces, atol=CLOSE * np.abs(forces).max(), err_msg="Jᵀ λ"
    )
    least = np.linalg.pinv(J.T, rcond=1e-9) @ forces
    np.testing.assert_allclose(found, least, atol=CLOSE * np.abs(least).max())
    inverse = constrained_inverse_dynamics(robot, q, qd, expected, robot.joint_names)
    again = robot.loop_forces(q, qd, inverse.tau)
    scale = np.abs(inverse.loop_forces).max()
    np.testing.assert_allclose(again, inverse.loop_forces, atol=1e-7 * scale)


@pytest.mark.parametrize("joint", ["revolute", "spherical", "weld", "cylindrical"])
def test_rows_out_of_the_plane_carry_nothing(joint: str) -> None:
    q, _ = Planar("four_bar").state(0.3, 2.0)
    robot = four_bar(joint) if joint != "weld" else welded(q)
    found = robot.loop_forces(q, np.zeros(3), np.zeros(3))
    out = [k for k, row in enumerate(robot.loops[0].holds) if row in ("pz", "rx", "ry")]
    assert out
    np.testing.assert_array_equal(found[out], 0.0)
    assert np.abs(found).max() > 1.0


def welded(q: Any) -> Robot:
    """Return the bars of the four-bar, coupler and rocker stuck together at q."""
    turn = q[2] - q[0] - q[1]
    at = pin_at(0.3) @ Pose.from_axis_angle((0, 0, 1), turn)
    return add_loop(
        open_bars(),
        "coupler",
        "rocker",
        joint="weld",
        placement_a=at,
        placement_b=pin_at(0.25),
        check=False,
    )


def test_a_planar_cut_that_nothing_can_open_carries_nothing() -> None:
    with pytest.warns(ModelWarning, match="only 0 of its 3 rows are independent"):
        robot = add_loop(
            four_bar(),
            "coupler",
            "world",
            joint="planar",
            placement_a=pin_at(0.1),
            placement_b=pin_at(0.0),
            name="table",
        )
    q, qd = Planar("four_bar").state(0.3, 2.0)
    free = four_bar().loop_forces(q, qd, np.zeros(3))
    found = robot.loop_forces(q, qd, np.zeros(3))
    np.testing.assert_array_equal(found[5:], 0.0)
    np.testing.assert_allclose(found[:5], free, atol=1e-12 * np.abs(free).max())


def test_a_pin_given_twice_shares_its_force() -> None:
    q, qd = Planar("four_bar").state(0.3, 2.0)
    once = four_bar().loop_forces(q, qd, np.zeros(3))
    twice = doubled(four_bar(), joint="revolute").loop_forces(q, qd, np.zeros(3))
    for half in np.split(twice, 2):
        np.testing.assert_allclose(half, once / 2, atol=1e-12 * np.abs(once).max())
