"""Articulated inertias and propagators, by other quantities."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ramidyn
from ramidyn import robots
from ramidyn.errors import ArgumentError
from ramidyn.robot import Robot
from support.close import assert_close

EVERY = ("torso", "left_hand", "right_foot")


@pytest.fixture(scope="module")
def humanoid() -> Robot:
    return robots.humanoid30("plain")


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_of_a_floating_base_it_is_the_operational_inertia(
    humanoid: Robot, conventions: str, rng: np.random.Generator
) -> None:
    robot = humanoid.with_conventions(conventions)
    q = robot.random_configuration(rng)
    root = robot.tree.bodies[0].name
    # The base floats: nothing but its articulated inertia resists a force on it.
    assert_close(
        robot.articulated_inertia(q, root),
        robot.operational_inertia(q, [ramidyn.tasks.Task(root, expressed_in="local")]),
    )


def test_a_force_on_the_base_goes_out_by_propagators(
    humanoid: Robot, rng: np.random.Generator
) -> None:
    robot, root = humanoid, humanoid.tree.bodies[0].name
    q, still = robot.random_configuration(rng), np.zeros(robot.nv)
    force = rng.normal(size=6)
    IA = robot.articulated_inertia(q, root)
    M = robot.mass_matrix(q)
    J = robot.jacobian(q, root)
    qdd = np.linalg.solve(M, J.T @ force)
    a_root = robot.acceleration(q, still, qdd, root)
    assert_close(IA @ a_root, force)
    for frame in ("left_hand", "right_foot"):
        A = robot.propagator(q, frame, root)
        assert_close(A @ a_root, robot.acceleration(q, still, qdd, frame))
        # The other way around: a force on the end pushes the base like Aᵀ f does.
        pushed = np.linalg.solve(M, robot.jacobian(q, frame).T @ force)
        there = robot.acceleration(q, still, pushed, root)
        assert_close(IA @ there, A.T @ force)


def test_propagators_multiply_along_a_chain(rng: np.random.Generator) -> None:
    robot = robots.chain(5)
    q = robot.random_configuration(rng)
    whole = robot.propagator(q, "body4", "body1")
    parts = [robot.propagator(q, f"body{k + 1}", f"body{k}") for k in range(1, 4)]
    assert_close(whole, parts[2] @ parts[1] @ parts[0])
    assert_close(robot.propagator(q, "body2", "body2"), np.eye(6))


def test_what_has_none_is_said(humanoid: Robot) -> None:
    q = humanoid.neutral()
    message = "propagator: base 'left_hand' does not support frame 'right_hand'; expec"
    with pytest.raises(ArgumentError, match=re.escape(message)):
        humanoid.propagator(q, "right_hand", "left_hand")
    arm = robots.chain(2)
    message = "articulated_inertia: frame 'world' is fixed to the world, which does not"
    with pytest.raises(ArgumentError, match=re.escape(message)):
        arm.articulated_inertia(arm.neutral(), "world")
