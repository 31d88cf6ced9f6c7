"""Rows of goals: their Jacobians are the slopes of their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.kinematics.goal_rows import rows_of
from ramidyn.kinematics.goals import Goal, row_count, target_shape
from ramidyn.robot import Robot
from ramidyn.symbolic.expr import ZERO
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tasks import (
    CenterOfMass,
    Direction,
    Posture,
    RelativePose,
    Residual,
    Task,
)
from ramidyn.tracing.chooser import trace_with_context
from support.arms import arm7, torso

STEP = 1e-6
SLOPE = 1e-8
"""of central differences with that step, over the largest entry"""


def product(robot: Robot) -> Any:
    def function(q: Any) -> Any:
        p = robot.pose(q, "left_hand")[:3, 3]
        return [p[0] * p[1], p @ p]

    return function


EXACT: dict[str, Goal] = {
    "position": Task("left_hand", "position"),
    "single rows, local": Task("left_hand", ("x", "z", "rx", "rz"), "local"),
    "single rows, world": Task("left_hand", ("y", "ry", "rz"), "world"),
    "direction": Direction("left_hand", (1.0, 2.0, 3.0)),
    "center of mass": CenterOfMass(),
    "relative position": RelativePose("left_hand", "right_hand", "position"),
    "relative rows": RelativePose("left_hand", "body", ("x", "rx", "rz")),
    "residual": Residual(product(torso()), 2),
}
"""e and J are exact row by row"""
WHOLE: dict[str, Goal] = {
    "orientation": Task("left_hand", "orientation"),
    "pose": Task("left_hand"),
    "relative pose": RelativePose("left_hand", "right_hand"),
    "posture": Posture(),
}
"""only the gradient Jᵀ e is exact: orientations leave Jr out"""


def traced(robot: Robot, goal: Goal, is_uniform: bool) -> Any:
    """Return a function (q, target) -> e, J."""
    shape = target_shape(goal, robot.model)
    shapes: dict[str, Any] = {"q": robot.nq}
    if shape is not None:
        shapes["target"] = shape

    def function(context: Any) -> Any:
        found = rows_of(goal, context, context.inputs.get("target"), is_uniform)
        J = [[row.get(k, ZERO) for k in range(robot.nv)] for row in found.J]
        return {"e": np.array(found.e), "J": np.array(J, dtype=object)}

    model, conventions = robot.placed_model, robot.conventions
    program = trace_with_context(function, model, conventions, shapes)

    def call(q: Any, target: Any) -> tuple[Any, Any]:
        inputs = {"q": q} if shape is None else {"q": q, "target": target}
        found = evaluate(program, inputs)
        return found["e"], found["J"]

    return call


def target_of(robot: Robot, goal: Goal, rng: np.random.Generator) -> Any:
    shape = target_shape(goal, robot.model)
    if shape == (robot.nq,):
        return robot.random_configuration(rng)
    if shape in ((4, 4), (3, 3)):
        T = robot.pose(robot.random_configuration(rng), "right_hand")
        return T if shape == (4, 4) else T[:3, :3]
    return None if shape is None else rng.normal(size=shape)


def slopes(robot: Robot, f: Any, q: Any, target: Any) -> Any:
    """Return −de/dv by central differences."""
    columns = []
    for v in STEP * np.eye(robot.nv):
        ahead, behind = (f(robot.integrate(q, s * v), target)[0] for s in (1, -1))
        columns.append((behind - ahead) / (2 * STEP))
    return np.array(columns).T


@pytest.mark.parametrize("name", EXACT)
def test_jacobian_is_the_slope_of_the_error(
    name: str, rng: np.random.Generator
) -> None:
    robot, goal = torso(), EXACT[name]
    f = traced(robot, goal, is_uniform=False)
    q, target = robot.random_configuration(rng), target_of(robot, goal, rng)
    e, J = f(q, target)
    assert len(e) == row_count(goal, robot.model)
    expected = slopes(robot, f, q, target)
    np.testing.assert_allclose(J, expected, atol=SLOPE * max(1.0, np.abs(J).max()))


@pytest.mark.parametrize("name", WHOLE)
def test_gradient_of_whole_parts_is_exact(name: str, rng: np.random.Generator) -> None:
    robot, goal = torso(), WHOLE[name]
    f = traced(robot, goal, is_uniform=True)
    q, target = robot.random_configuration(rng), target_of(robot, goal, rng)
    e, J = f(q, target)
    expected = slopes(robot, f, q, target).T @ e
    np.testing.assert_allclose(J.T @ e, expected, atol=1e-7 * max(1.0, np.abs(e).max()))


@pytest.mark.parametrize("axis", range(3))
def test_errors_are_finite_at_half_a_turn(axis: int) -> None:
    robot = arm7()
    q = np.zeros(7)
    half = -np.eye(3)
    half[axis, axis] = 1.0
    for is_uniform in (True, False):
        f = traced(robot, Task("hand", "orientation"), is_uniform)
        e, J = f(q, robot.pose(q, "hand")[:3, :3] @ half)
        np.testing.assert_allclose(np.abs(e[axis]), np.pi, rtol=1e-12)
        assert np.isfinite(J).all()


def test_rows_of_two_frames_leave_shared_joints_out(rng: np.random.Generator) -> None:
    robot = torso()
    goal = RelativePose("left_hand", "right_hand")
    q, target = robot.random_configuration(rng), target_of(robot, goal, rng)
    _, J = traced(robot, goal, is_uniform=True)(q, target)
    assert not J[:, :6].any()  # the floating base
    assert J[:, 6:].any(axis=0).sum() == 8
