"""Derivatives of operational-space quantities are those of complex steps."""

from __future__ import annotations

import numpy as np
import pytest

import ramidyn
from ramidyn.compiler import program_of
from ramidyn.symbolic.interpreter import evaluate
from support import complex_step

TOLERANCE = 1e-12
INPUTS = {
    "operational_inertia_inverse": "q",
    "operational_inertia": "q",
    "dynamically_consistent_inverse": "q",
    "null_space_projector": "q",
    "task_bias": "qd",
    "task_acceleration": "q",
}


@pytest.mark.parametrize("name", INPUTS)
def test_operational_quantities_differentiate_like_complex_steps(
    name: str, rng: np.random.Generator
) -> None:
    robot = ramidyn.robots.chain(4)
    quantity = getattr(ramidyn, name)([ramidyn.tasks.Task("body3", "x")])
    traced = program_of([quantity], robot)
    inputs = {v.name: rng.normal(size=v.shape) for v in traced.inputs}
    wrt = INPUTS[name]
    derivative = ramidyn.derivative(quantity, wrt)
    (found,) = evaluate(program_of([derivative], robot), inputs).values()
    moved = complex_step.directional(traced, inputs, {wrt: np.eye(robot.nv)})
    (expected,) = (np.moveaxis(x, 0, -1) for x in moved.values())
    assert np.abs(expected).max() > 1e-3
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * scale)
