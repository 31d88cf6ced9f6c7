"""Regressors of torques and energies against Pinocchio, on real robots."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import ramidyn
from ramidyn.description.formats.parse import parse
from ramidyn.errors import Error
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.real_robots import example_urdfs
from support.references import URDFS as SHARED
from support.references import path_of
from support.states import program, value

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio (pip install pin)")
pytestmark = pytest.mark.oracle

PATHS = {**{n: path_of(n) for n in SHARED if path_of(n).is_file()}, **example_urdfs()}
SMALL = ("panda", "minitaur")
"""the rest runs with --slow"""
close = functools.partial(assert_close, tolerance=1e-9, least=0.0)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in SMALL else pytest.mark.slow) for n in PATHS]
    or ["none"],
)
def test_regressors_are_pinocchios(name: str, rng: np.random.Generator) -> None:
    if name == "none":
        pytest.skip("needs ../shared/robots or example-robot-data")
    path = PATHS[name]
    try:
        model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        robot = Robot.from_description(
            parse(path), root="floating", mimic="independent"
        )
    except (ValueError, RuntimeError, Error) as error:
        pytest.skip(f"refused: {error}")
    data = model.createData()
    step, qd, qdd = rng.normal(size=(3, robot.nv))
    q_pin = pin.integrate(model, pin.neutral(model), step)
    q = robot.integrate(robot.neutral(), step)

    theirs = pin.computeJointTorqueRegressor(model, data, q_pin, qd, qdd)
    close(value(robot, ramidyn.regressor, q=q, qd=qd, qdd=qdd), theirs)
    found = evaluate(program(robot, ramidyn.energy_regressor), {"q": q, "qd": qd})
    kinetic = pin.computeKineticEnergyRegressor(model, data, q_pin, qd)
    potential = pin.computePotentialEnergyRegressor(model, data, q_pin)
    close(found["kinetic"], kinetic)
    close(found["potential"], potential)
    dynamic = [I.toDynamicParameters() for I in model.inertias[1:]]
    close(robot.inertial_parameters(), np.concatenate(dynamic))
