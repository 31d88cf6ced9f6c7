"""Robots with loops: what is left free, and what drives it."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import compile
from ramidyn.errors import ModelError
from ramidyn.mechanism.mobility import constrained_inverse_dynamics, mobility
from ramidyn.mechanism.projection import project
from ramidyn.quantities.closed_loops import (
    constrained_operational_inertia_inverse,
    constraint_jacobian,
)
from ramidyn.quantities.frames import jacobian
from support.loops import as_robot
from support.planar import Planar, four_bar


def test_mobility_counts_what_is_left() -> None:
    found = mobility(as_robot(robots.hmmwv("general")))
    assert (found.mobility, found.rank, found.rows) == (11, 16, 16)
    assert found.redundant_rows == ()
    found = mobility(four_bar())
    assert (found.mobility, found.rank, found.rows) == (1, 2, 5)
    assert found.redundant_rows == ("pin.pz", "pin.rx", "pin.ry")
    assert str(found).startswith(
        "mobility 1: 2 of 5 rows independent (redundant: pin.pz"
    )


def test_independent_velocities_lead_the_others() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.9, 1.7)
    p = mobility(robot, q).partition
    np.testing.assert_allclose(p.N @ qd[list(p.independent)], qd, atol=1e-12)


def test_actuation_is_reported() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.9, 1.7)
    qdd = robot.forward_dynamics(q, qd, np.zeros(3))
    found = constrained_inverse_dynamics(robot, q, qd, qdd)
    assert (found.mobility, found.overactuation, found.underactuation) == (1, 2, 0)
    assert not found.is_unique
    np.testing.assert_allclose(found.tau, 0.0, atol=1e-9)
    found = constrained_inverse_dynamics(robot, q, qd, qdd, [])
    assert found.underactuation == 1  # and yet the motion needs no torque
    qdd = robot.forward_dynamics(q, qd, np.array([0.5, 0, 0]))
    message = (
        r"robot 'four_bar': the actuated joints drive 0 of 1 degrees of freedom, and a "
        r"force of .* is missing along the others; underactuated by 1"
    )
    with pytest.raises(ModelError, match=message):
        constrained_inverse_dynamics(robot, q, qd, qdd, [])


def test_all_torques_of_an_overactuated_robot_cause_the_motion() -> None:
    robot = as_robot(robots.hmmwv("general"))
    q, qd = project(robot, robot.neutral(), np.full(27, 0.1))
    rng = np.random.default_rng(0)
    tau = np.concatenate([np.zeros(6), rng.normal(size=21)])
    qdd = robot.forward_dynamics(q, qd, tau)
    found = constrained_inverse_dynamics(robot, q, qd, qdd)
    again = robot.forward_dynamics(q, qd, found.tau)
    np.testing.assert_allclose(again, qdd, atol=1e-8 * np.abs(qdd).max())
    assert np.linalg.norm(found.tau) <= np.linalg.norm(tau) * (1 + 1e-9)


def test_constrained_operational_inertia_is_that_of_dense_algebra() -> None:
    robot = as_robot(robots.hmmwv("general"))
    q = robot.neutral()
    tasks = [
        Task("left_rear_spindle", expressed_in="local"),
        Task("right_rear_spindle", "position"),
    ]
    J = compile(constraint_jacobian, robot)(q)
    found = compile(constrained_operational_inertia_inverse(tasks), robot)(q)
    frames = [(t.frame, t.expressed_in) for t in tasks]
    Jf = np.concatenate([compile(jacobian(*f), robot)(q) for f in frames])[:9]
    W = np.linalg.inv(robot.mass_matrix(q))
    N = W - W @ J.T @ np.linalg.solve(J @ W @ J.T, J @ W)
    expected = Jf @ N @ Jf.T
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
