"""States of robots with loops: checked, assembled, projected."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ramidyn.builder import Body, Joint, RobotBuilder
from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import compile
from ramidyn.errors import ModelError, ShapeError, UnknownName
from ramidyn.mechanism.assembly import assemble
from ramidyn.mechanism.loops import add_loop
from ramidyn.mechanism.mobility import constrained_inverse_dynamics, partition_of
from ramidyn.mechanism.projection import project
from ramidyn.mechanism.states import check_closed
from ramidyn.quantities.closed_loops import constraint_jacobian
from support.loops import as_robot
from support.planar import Planar, four_bar, pin_at, rod


def test_inadmissible_states_are_named() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    check_closed(robot, q, qd)
    with pytest.raises(
        ModelError,
        match=r"loop 'pin' is open at q: \|Φ\| is 0.03 \(row 'py'\); expected at "
        r"most 1e-06; assemble\(q\) closes it",
    ):
        robot.simulate(q + np.array([0, 0.1, 0]))
    with pytest.raises(
        ModelError,
        match=r"loop 'pin' does not stay closed under qd: \|J qd\| is 0.3 \(row "
        r"'p[xy]'\)",
    ):
        check_closed(robot, q, qd + np.array([0, 1.0, 0]))
    with pytest.raises(
        ModelError,
        match=r"loop 'pin' does not stay closed under qdd: \|J qdd \+ γ\| is "
        r".*forward_dynamics",
    ):
        constrained_inverse_dynamics(robot, q, qd, np.ones(3))


def test_assembly_closes_loops_with_joints_held() -> None:
    robot, known = four_bar(), Planar("four_bar")
    for t in (0.3, 2.0):
        q = assemble(robot, [0.0, 0.5, 1.5], fixed={"crank_joint": t})
        np.testing.assert_allclose(q, known.state(t, 0.0)[0], atol=1e-8)
    kept = assemble(robot, [0.3, 0.5, 1.7], fixed=["rocker_joint"])
    assert kept[2] == 1.7


def test_assembly_stays_within_limits() -> None:
    b = RobotBuilder("limited")
    elbow = Joint.revolute((0, -1, 0), limits=(-3.0, -0.01), name="elbow")
    b.add(Body("upper", rod(1, 0.3)), "world", Joint.revolute((0, -1, 0), name="base"))
    b.add(Body("lower", rod(1, 0.3)), "upper", elbow, (0.3, 0, 0))
    robot = add_loop(
        as_robot(b.description()),
        "world",
        "lower",
        joint="point_on_line",
        placement_a=pin_at(0.4),
        placement_b=pin_at(0.3),
    )
    q = assemble(robot, [0.0, 1.0])  # from the wrong side of the elbow's range
    assert -3.0 <= q[1] <= -0.01
    check_closed(robot, q, tolerance=1e-9)


def test_assembly_says_what_holds_it_back() -> None:
    with pytest.raises(
        ModelError, match=r"no closed configuration found from 20 starts"
    ):
        assemble(four_bar(), fixed={"crank_joint": 0.3, "rocker_joint": -1.0})
    with pytest.raises(
        ShapeError, match=re.escape("q_guess is [0.0]; expected 3 finite")
    ):
        assemble(four_bar(), [0.0])
    with pytest.raises(UnknownName, match="no joint 'crank' in robot 'four_bar'"):
        assemble(four_bar(), fixed=["crank"])


def test_a_weld_is_not_assembled_the_wrong_way_round() -> None:
    b = RobotBuilder("arm")
    b.add(Body("body", rod(1.0, 0.1)), "world", Joint.spherical())
    robot = add_loop(as_robot(b.description()), "world", "body", joint="weld")
    flipped = np.array([1.0, 0.0, 0.0, 0.0])  # half a turn about x
    q = assemble(robot, flipped)
    np.testing.assert_allclose(np.abs(q), [0, 0, 0, 1], atol=1e-9)
    with pytest.raises(ModelError, match="point in opposite"):
        check_closed(robot, flipped)


def test_projection_is_the_nearest_admissible_state(rng: np.random.Generator) -> None:
    robot = as_robot(robots.hmmwv("general"))
    q = robot.integrate(robot.neutral(), rng.normal(size=27), 0.02)
    qd = rng.normal(size=27)
    closed, moving = project(robot, q, qd)
    check_closed(robot, closed, moving, tolerance=1e-9)
    # What was taken away is orthogonal, by M, to all that the loops allow.
    J = compile(constraint_jacobian, robot)(closed)
    N = partition_of(J).N
    assert np.abs(J @ N).max() < 1e-12
    M = robot.mass_matrix(closed)
    assert np.abs(N.T @ M @ (moving - qd)).max() < 1e-8 * np.abs(M).max()
    again = project(robot, closed, moving)
    np.testing.assert_allclose(again[1], moving, atol=1e-10)
