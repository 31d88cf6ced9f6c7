"""Derivatives of every URDF of example-robot-data against Pinocchio."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ramify
from ramify.compiler import program_of
from ramify.errors import Error
from ramify.model.formats.parse import parse
from ramify.quantities.quantity import Quantity
from ramify.robot import Robot
from ramify.symbolic.interpreter import evaluate
from support.close import assert_close
from support.real_robots import example_urdfs

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio (pip install pin)")
pytestmark = pytest.mark.oracle

URDFS = example_urdfs()
SAMPLE = ("panda_description/panda.urdf", "solo_description/solo12.urdf")
ALL = [
    name if name in SAMPLE else pytest.param(name, marks=pytest.mark.slow)
    for name in URDFS or ["none"]
]
close = functools.partial(assert_close, tolerance=1e-9, least=0.0)
"""relative to the largest entry: mass matrices here have conditions up to 1e8"""


def both(name: str) -> tuple[Any, Robot]:
    """Return a robot there and here, with a floating base."""
    if name == "none":
        pytest.skip("needs example-robot-data")
    try:
        model = pin.buildModelFromUrdf(str(URDFS[name]), pin.JointModelFreeFlyer())
    except (ValueError, RuntimeError) as error:
        pytest.skip(f"Pinocchio refuses it: {error}")
    try:
        robot = Robot.from_description(
            parse(URDFS[name]),
            root="floating",
            joint_order="alphabetical",
            mimic="independent",
        )
    except Error as error:
        pytest.skip(f"refused: {error}")
    return model, robot


def as_angles(model, q):
    """Continuous joints are (cos, sin) there and an angle here."""
    out: list[float] = []
    for joint in model.joints[1:]:
        own = q[joint.idx_q : joint.idx_q + joint.nq]
        is_turn = joint.nq == 2 and joint.nv == 1
        out.extend([np.arctan2(own[1], own[0])] if is_turn else own)
    return np.array(out)


def random_q(model):
    pin.seed(0)
    return pin.randomConfiguration(
        model, np.full(model.nq, -1.0), np.full(model.nq, 1.0)
    )


def values(robot: Robot, quantity: Quantity, **inputs: Any) -> dict[str, Any]:
    return evaluate(program_of(quantity, robot), inputs)


@pytest.mark.parametrize("name", ALL)
def test_derivatives_of_dynamics_are_pinocchios(
    name: str, rng: np.random.Generator
) -> None:
    model, robot = both(name)
    data, q_pin = model.createData(), random_q(model)
    q = as_angles(model, q_pin)
    qd, qdd, tau = rng.normal(size=(3, robot.nv))
    pin.computeRNEADerivatives(model, data, q_pin, qd, qdd)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    found = values(robot, ramify.inverse_dynamics_derivatives, q=q, qd=qd, qdd=qdd)
    close(found["dtau_dq"], data.dtau_dq)
    close(found["dtau_dqd"], data.dtau_dv)
    close(found["M"], M)
    if np.linalg.cond(M) < 1e9:
        pin.computeABADerivatives(model, data, q_pin, qd, tau)
        inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        quantity = ramify.forward_dynamics_derivatives
        found = values(robot, quantity, q=q, qd=qd, tau=tau)
        close(found["dqdd_dq"], data.ddq_dq)
        close(found["dqdd_dqd"], data.ddq_dv)
        close(found["dqdd_dtau"], inverse)


@pytest.mark.parametrize("name", ALL)
def test_derivatives_of_frames_and_of_the_center_are_pinocchios(
    name: str, rng: np.random.Generator
) -> None:
    model, robot = both(name)
    data, q_pin = model.createData(), random_q(model)
    q = as_angles(model, q_pin)
    qd, qdd = rng.normal(size=(2, robot.nv))
    pin.computeForwardKinematicsDerivatives(model, data, q_pin, qd, qdd)
    frame = robot.frame_names[-1]
    if frame == "world" or not model.existFrame(frame):
        frame = robot.body_names[-1]
    index = model.getFrameId(frame)
    there = pin.getFrameAccelerationDerivatives(
        model, data, index, pin.ReferenceFrame.LOCAL
    )
    close = functools.partial(assert_close, tolerance=1e-9, least=1.0)
    dv_dq, da_dq, da_dv, da_da = there
    state = {"q": q, "qd": qd}
    by_state = ramify.derivative(ramify.velocity(frame), ("q", "qd"))
    found = list(values(robot, by_state, **state).values())
    close(found[0], dv_dq)
    close(found[1], da_da)
    by_all = ramify.derivative(
        ramify.acceleration(frame, kind="spatial"), ("q", "qd", "qdd")
    )
    found = list(values(robot, by_all, **state, qdd=qdd).values())
    for mine, theirs in zip(found, (da_dq, da_dv, da_da), strict=True):
        close(mine, theirs)
    (found_com,) = values(
        robot, ramify.derivative(ramify.center_of_mass, "q"), q=q
    ).values()
    close(found_com, pin.jacobianCenterOfMass(model, data, q_pin))


@pytest.mark.parametrize("name", SAMPLE if URDFS else ["none"])
def test_derivatives_of_steps_are_pinocchios(
    name: str, rng: np.random.Generator
) -> None:
    model, robot = both(name)
    q_pin, qd = random_q(model), rng.normal(size=robot.nv)
    q = as_angles(model, q_pin)
    J0, J1 = pin.dIntegrate(model, q_pin, 0.1 * qd)
    quantity = ramify.integrate_derivatives
    found = values(robot, quantity, q=q, qd=qd, dt=np.array(0.1))
    close(found["dq1_dq"], J0)
    close(found["dq1_dqd"], 0.1 * J1)
    end_pin = pin.integrate(model, q_pin, 0.1 * qd)
    J0, J1 = pin.dDifference(model, q_pin, end_pin)
    end = as_angles(model, end_pin)
    found = values(robot, ramify.difference_derivatives, q0=q, q1=end)
    close(found["dv_dq0"], J0)
    close(found["dv_dq1"], J1)
