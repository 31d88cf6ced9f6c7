"""Redundant loops in files of few digits: rank, mobility and dynamics as if exact."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ramidyn.mechanism.constraints.rank import CLOSED, rank_of
from ramidyn.mechanism.mobility import mobility
from ramidyn.quantities import closed_loops, dynamics
from ramidyn.robot import Robot
from support.loops import value
from support.rounded import MECHANISMS, rounded

DIGITS = (4, 6, 8)


@functools.cache
def exact(name: str) -> Robot:
    return MECHANISMS[name].make()


@functools.cache
def short(name: str, digits: int) -> Robot:
    return rounded(exact(name), digits)


def state(robot: Robot) -> tuple[Any, Any, Any]:
    """Return a state of the exact mechanism, and forces on it."""
    rng = np.random.default_rng(3)
    N = mobility(robot, robot.neutral()).partition.N
    qd = N @ rng.normal(size=N.shape[1])
    return robot.neutral(), qd, rng.normal(size=robot.nv)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_close_exactly_with_the_rank_that_is_known(name: str) -> None:
    robot, known = exact(name), MECHANISMS[name]
    rank = rank_of(robot.placed_model, robot.conventions)
    assert (rank.rows, rank.rank, rank.closed) == (known.rows, known.rank, CLOSED)
    assert rank.damping == 0.0
    found = mobility(robot, robot.neutral())
    assert (found.mobility, found.rank) == (robot.nv - known.rank, known.rank)


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_rank_and_mobility_are_those_of_the_exact_mechanism(
    name: str, digits: int
) -> None:
    robot, known = short(name, digits), MECHANISMS[name]
    rank = rank_of(robot.placed_model, robot.conventions)
    assert (rank.rows, rank.rank, rank.lowest) == (known.rows, known.rank, known.rank)
    assert CLOSED < rank.closed < 300 * 10.0**-digits
    for found in (mobility(robot), mobility(robot, robot.assemble())):
        assert found.mobility == robot.nv - known.rank
        assert found.rank == known.rank


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_assembly_and_projection_stay_near_a_closed_guess(
    name: str, digits: int
) -> None:
    robot = short(name, digits)
    near = 30 * 10.0**-digits
    q, qd, _ = state(exact(name))
    np.testing.assert_allclose(robot.assemble(q), q, atol=near)
    moved, velocity = robot.project(q, qd)
    np.testing.assert_allclose(moved, q, atol=near)
    np.testing.assert_allclose(velocity, qd, atol=near * np.abs(qd).max())
    robot.check_state(moved, velocity)


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_dynamics_is_that_of_the_exact_mechanism_to_the_digits(
    name: str, digits: int
) -> None:
    q, qd, tau = state(exact(name))
    wanted = [
        dynamics.forward_dynamics,
        closed_loops.loop_forces,
        closed_loops.constraint_jacobian,
    ]
    inputs = {"q": q, "qd": qd, "tau": tau}
    expected, multipliers, J = value(wanted, exact(name), **inputs).values()
    qdd, found, K = value(wanted, short(name, digits), **inputs).values()
    near = 100 * 10.0**-digits
    np.testing.assert_allclose(qdd, expected, atol=near * np.abs(expected).max())
    force = J.T @ multipliers
    np.testing.assert_allclose(K.T @ found, force, atol=near * np.abs(force).max())
    np.testing.assert_allclose(
        found, multipliers, atol=near * np.abs(multipliers).max()
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_forces_behind_a_motion_are_those_that_cause_it(name: str) -> None:
    robot = short(name, 6)
    q, qd, tau = state(exact(name))
    q, qd = robot.project(q, qd)
    qdd = robot.forward_dynamics(q, qd, tau)
    found = robot.constrained_inverse_dynamics(q, qd, qdd)
    again = robot.forward_dynamics(q, qd, found.tau)
    np.testing.assert_allclose(again, qdd, atol=1e-4 * np.abs(qdd).max())


@pytest.mark.parametrize("stabilize", ["project", "partition"])
def test_a_rounded_mechanism_moves_as_the_exact_one(stabilize: str) -> None:
    q, qd, _ = state(exact("three_cranks"))
    options: dict[str, Any] = {"duration": 0.05, "dt": 5e-3, "stabilize": stabilize}
    expected = exact("three_cranks").simulate(q, qd, **options)
    robot = short("three_cranks", 6)
    found = robot.simulate(*robot.project(q, qd), **options)
    np.testing.assert_allclose(found.q, expected.q, atol=1e-4)
