"""The motion that forward dynamics begins with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramidyn.algorithms.forces.applied import Applied
from ramidyn.description.pose import Array
from ramidyn.quantities import dynamics, frames
from ramidyn.quantities.applied import reference_forces
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.chooser import algorithm_of
from ramidyn.tracing.context import Context
from support.close import assert_close
from support.states import angular, case, linear, state, value


def reference(robot: Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return τ and q̈ of the motion."""

    def traced(q: Any, qd: Any) -> dict[str, Any]:
        inputs = {"q": q, "qd": qd}
        context = Context(robot.placed_model, robot.conventions, inputs, algorithm_of)
        tau, qdd = reference_forces(context, Applied())
        return {"tau": tau, "qdd": qdd}

    made = trace(traced, {"q": robot.nq, "qd": robot.nv})
    found = evaluate(made, {"q": q, "qd": qd})
    return found["tau"], found["qdd"]


def test_its_forces_are_those_of_inverse_dynamics(
    robot: Robot, now: dict[str, Array]
) -> None:
    tau, qdd = reference(robot, now["q"], now["qd"])
    moving = {**now, "qdd": qdd}
    assert_close(tau, value(robot, dynamics.inverse_dynamics, **moving))
    assert np.count_nonzero(qdd) > robot.nv // 2


def test_a_floating_base_falls_freely(rng: np.random.Generator) -> None:
    robot = case("floating_base")
    now = {**state(robot, rng), "qd": np.zeros(robot.nv)}
    _, now["qdd"] = reference(robot, now["q"], now["qd"])
    base = robot.description.bodies[0].name
    moved = value(robot, frames.acceleration(base, expressed_in="world"), **now)
    assert_close(linear(robot, moved), np.array(robot.gravity))
    assert_close(angular(robot, moved), np.zeros(3))
