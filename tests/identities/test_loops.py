"""Closed loops: what must hold of constraints and of dynamics that obey them."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import numpy as np
import pytest

from ramidyn.catalog import paper_robots as robots
from ramidyn.description.description import LoopDescription
from ramidyn.description.loop_types import ROWS
from ramidyn.mechanism.constraints.rank import numerical_rank, rank_of
from ramidyn.quantities import closed_loops, dynamics
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.robot import Robot
from support.loops import (
    JOINT_TYPES,
    as_robot,
    closed_loop,
    dense,
    tangent,
    value,
    with_loops,
)

STEP = 1e-30
ALGORITHMS = ("joint_formulation", "loopwise", "constrained_aba", "proximal")


def random_robot(rng: np.random.Generator, n: int = 9, **options: Any) -> Robot:
    return as_robot(robots.random_tree(n, rng, massless=0.0), **options)


def two_bodies(robot: Robot, rng: np.random.Generator) -> tuple[str, str]:
    """Return two bodies that move in each other, the world among them."""
    names = [*robot.body_names, "world"]
    while True:
        a, b = (names[k] for k in rng.integers(len(names), size=2))
        if robot.model.frame(a).body != robot.model.frame(b).body:
            return a, b


def state(robot: Robot, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    q = robot.random_configuration(rng)
    return q, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def looped(rng: np.random.Generator, *types: str, **options: Any) -> tuple[Robot, Any]:
    """Return a random robot with loops of these types, closed at the q returned."""
    while True:
        robot = random_robot(rng, **options)
        q = robot.random_configuration(rng)
        new = [closed_loop(robot, t, *two_bodies(robot, rng), q, rng) for t in types]
        if len({x.name for x in new}) < len(new):
            continue
        robot = with_loops(robot, *new)
        J = value(closed_loops.constraint_jacobian, robot, q=q)
        if numerical_rank(J) == len(J):
            return robot, q


@cache
def shared_loops(*types: str, n: int = 9, **options: Any) -> tuple[Robot, Any]:
    """Return `looped` of a seed of its own: one robot for all tests of its loops."""
    rng = np.random.default_rng(zlib.crc32(repr((types, n, options)).encode()))
    while True:
        robot, q = looped(rng, *types, n=n, **options)
        rank = rank_of(robot.placed_model, robot.conventions)
        if not rank.is_redundant:  # wherever it is closed, for all algorithms
            return robot, q


@pytest.mark.parametrize("type_", JOINT_TYPES)
def test_a_cut_allows_what_its_joint_does(type_: str) -> None:
    robot, q = shared_loops(type_)
    residual = value(closed_loops.constraint_residual, robot, q=q)
    assert residual.shape == (len(ROWS[type_]),)
    np.testing.assert_allclose(residual, 0.0, atol=1e-12)


@pytest.mark.parametrize("type_", JOINT_TYPES)
def test_jacobian_is_the_derivative_of_the_residual(
    type_: str, rng: np.random.Generator
) -> None:
    robot, _ = shared_loops(type_)
    q = robot.random_configuration(rng)  # where the loop is not closed
    J = value(closed_loops.constraint_jacobian, robot, q=q)
    moved = [q + 1j * STEP * tangent(robot, q, e) for e in np.eye(robot.nv)]
    columns = value(closed_loops.constraint_residual, robot, complex, q=np.array(moved))
    np.testing.assert_allclose(J.T, columns.imag / STEP, atol=1e-12)


@pytest.mark.parametrize("type_", JOINT_TYPES)
def test_bias_is_the_derivative_of_the_jacobian_along_the_motion(
    type_: str, rng: np.random.Generator
) -> None:
    robot, _ = shared_loops(type_)
    q, qd, _ = state(robot, rng)
    moved = q + 1j * STEP * tangent(robot, q, qd)
    J = value(closed_loops.constraint_jacobian, robot, complex, q=moved)
    bias = value(closed_loops.constraint_bias, robot, q=q, qd=qd)
    np.testing.assert_allclose(bias, (J @ qd).imag / STEP, atol=1e-11)


def test_couplings_are_polynomials_of_coordinates(rng: np.random.Generator) -> None:
    robot = as_robot(robots.random_tree(3, rng, ["revolute", "prismatic"]))
    c = (0.1, 0.5, -0.3, 0.2, 0.1)
    robot = with_loops(
        robot,
        LoopDescription(
            "gear", "coupling", joints=("joint2", "joint0"), coefficients=c
        ),
        LoopDescription("hold", "coupling", joints=("joint1",), coefficients=(0.3,)),
    )
    q, qd, _ = state(robot, rng)
    residual = value(closed_loops.constraint_residual, robot, q=q)
    np.testing.assert_allclose(
        residual, [q[2] - np.polyval(c[::-1], q[0]), q[1] - 0.3], atol=1e-14
    )
    J = value(closed_loops.constraint_jacobian, robot, q=q)
    slope = np.polyval(np.polyder(c[::-1]), q[0])
    np.testing.assert_allclose(J, [[-slope, 0, 1], [0, 1, 0]], atol=1e-14)
    bend = np.polyval(np.polyder(c[::-1], 2), q[0])
    bias = value(closed_loops.constraint_bias, robot, q=q, qd=qd)
    np.testing.assert_allclose(bias, [-bend * qd[0] ** 2, 0], atol=1e-13)


def test_columns_are_zero_off_the_loop_and_above_it(rng: np.random.Generator) -> None:
    robot, _ = looped(rng, "revolute", "distance", "weld")
    J = value(
        closed_loops.constraint_jacobian, robot, q=robot.random_configuration(rng)
    )
    tree, start = robot.tree, 0
    for loop in robot.model.loops:
        a, b = (
            robot.model.frame(n).body if n else -1 for n in (loop.body_a, loop.body_b)
        )
        on_path = set(tree.support(a)) ^ set(tree.support(b))
        rows = slice(start, start + len(ROWS[loop.type]))
        for i, body in enumerate(tree.bodies):
            columns = slice(body.joint.v_index, body.joint.v_index + body.joint.nv)
            if i not in on_path:
                assert not J[rows, columns].any()
        start = rows.stop


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("type_", JOINT_TYPES)
def test_dynamics_agree_with_a_dense_solve(
    type_: str, algorithm: str, rng: np.random.Generator
) -> None:
    robot, q = shared_loops(type_)
    _, qd, tau = state(robot, rng)
    check(robot, q, qd, tau, algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_dynamics_with_several_loops_agree_with_a_dense_solve(
    algorithm: str, conventions: str, rng: np.random.Generator
) -> None:
    types = ("spherical", "cylindrical", "distance", "planar")
    robot, q = shared_loops(*types, n=12, conventions=conventions)
    _, qd, tau = state(robot, rng)
    check(robot, q, qd, tau, algorithm)


def check(robot: Robot, q: Any, qd: Any, tau: Any, algorithm: str) -> None:
    expected, multipliers, J = dense(robot, q, qd, tau)
    wanted = [
        forward_dynamics(algorithm=algorithm),
        closed_loops.loop_forces(algorithm=algorithm),
    ]
    qdd, found = value(wanted, robot, q=q, qd=qd, tau=tau).values()
    scale = np.abs(expected).max()
    np.testing.assert_allclose(qdd, expected, atol=1e-9 * scale)
    forces = J.T @ multipliers
    np.testing.assert_allclose(J.T @ found, forces, atol=1e-9 * np.abs(forces).max())


@pytest.mark.parametrize("algorithm", ["joint_formulation", "loopwise", "auto"])
def test_a_loop_given_twice_changes_nothing(
    algorithm: str, rng: np.random.Generator
) -> None:
    robot = as_robot(robots.hmmwv("general"))
    q, (_, qd, tau) = robot.neutral(), state(robot, rng)
    expected, *_ = dense(robot, q, qd, tau)
    once = robot.description.loops
    again = [
        LoopDescription("again", *_fields(once[0])),
        LoopDescription("more", *_fields(once[5])),
    ]
    robot = with_loops(robot, *again)
    rank = rank_of(robot.placed_model, robot.conventions)
    assert (rank.rows, rank.rank) == (20, 16)
    qdd = value(
        dynamics.forward_dynamics(algorithm=algorithm), robot, q=q, qd=qd, tau=tau
    )
    np.testing.assert_allclose(qdd, expected, atol=1e-9 * np.abs(expected).max())


def _fields(loop: LoopDescription) -> tuple[Any, ...]:
    ends = (loop.body_a, loop.body_b, loop.placement_a, loop.placement_b)
    return (loop.type, *ends, (), (), loop.length)


def test_a_batch_agrees_with_its_states_compiled(rng: np.random.Generator) -> None:
    robot = as_robot(robots.hmmwv("general"))
    q = robot.integrate(
        np.tile(robot.neutral(), (9, 1)), rng.normal(size=(9, 27)), 0.05
    )
    qd, tau = rng.normal(size=(2, 9, 27))
    batch = robot.forward_dynamics(q, qd, tau)
    scale = np.abs(batch).max()
    for k in range(9):
        one = robot.forward_dynamics(q[k], qd[k], tau[k])
        np.testing.assert_allclose(batch[k], one, atol=1e-9 * scale)
    for k in (0, 4, 8):  # in full lanes, and in what is left of them
        expected, *_ = dense(robot, q[k], qd[k], tau[k])
        np.testing.assert_allclose(
            batch[k], expected, atol=1e-9 * np.abs(expected).max()
        )


def test_constraints_do_no_work(rng: np.random.Generator) -> None:
    robot, q = looped(rng, "universal", "spherical")
    _, qd, tau = state(robot, rng)
    J = value(closed_loops.constraint_jacobian, robot, q=q)
    qd = qd - np.linalg.pinv(J) @ (J @ qd)
    multipliers = value(closed_loops.loop_forces, robot, q=q, qd=qd, tau=tau)
    assert abs(qd @ J.T @ multipliers) < 1e-9 * np.abs(multipliers).max()
