"""Derivatives of the shared robots and of example-robot-data against Pinocchio."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.compiler import program_of
from ramidyn.description.formats.parse import parse
from ramidyn.description.pose import Array
from ramidyn.errors import Error
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support.close import assert_close
from support.pinocchio_loops import with_cuts
from support.real_robots import example_urdfs
from support.references import MJCFS, URDFS, path_of

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio (pip install pin)")
pytestmark = pytest.mark.oracle

SHARED = {n: path_of(n) for n in (*URDFS, *MJCFS) if path_of(n).is_file()}
FILES = {**SHARED, **example_urdfs()}
SAMPLE = [
    name
    for name in (
        "iiwa14",
        "panda_description/panda.urdf",
        "solo_description/solo12.urdf",
    )
    if name in FILES
] or ["none"]
ALL = [
    name if name in SAMPLE else pytest.param(name, marks=pytest.mark.slow)
    for name in FILES or ["none"]
]
close = functools.partial(assert_close, tolerance=1e-9, least=0.0)
"""relative to the largest entry: mass matrices here have conditions up to 1e8"""


def both(name: str) -> tuple[Any, Robot]:
    """Return a robot there and here; a URDF with a floating base."""
    if name == "none":
        pytest.skip("needs ../shared/robots or example-robot-data")
    path, is_mjcf = str(FILES[name]), FILES[name].suffix == ".xml"
    try:
        if is_mjcf:
            model = pin.buildModelFromMJCF(path)
        else:
            model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    except (ValueError, RuntimeError) as error:
        pytest.skip(f"Pinocchio refuses it: {error}")
    try:
        robot = Robot.from_description(
            parse(FILES[name]),
            root=None if is_mjcf else "floating",
            joint_order="file" if is_mjcf else "alphabetical",
            mimic="independent",
        )
    except Error as error:
        pytest.skip(f"refused: {error}")
    if is_mjcf:
        robot = Robot(replace(robot.model, loops=()), robot.conventions)
        skip_other_readings(model, robot)
    return model, robot


def skip_other_readings(model: Any, robot: Robot) -> None:
    """Skip what Pinocchio reads as another robot than MuJoCo, which ours agrees with.

    It drops trees and the pose of a root, and computes other inertias from shapes.
    """
    if model.nq != robot.nq:
        pytest.skip(f"Pinocchio reads nq = {model.nq} in place of {robot.nq}")
    q, data = random_q(model), model.createData()
    pairs = (
        (ramidyn.mass_matrix, np.triu(pin.crba(model, data, q))),
        (ramidyn.gravity_forces, pin.computeGeneralizedGravity(model, data, q)),
    )
    for quantity, there in pairs:
        (here,) = values(robot, quantity, q=q).values()
        if np.abs(np.triu(here) - np.triu(there)).max() > 1e-9 * np.abs(there).max():
            pytest.skip(f"Pinocchio reads another robot: {quantity.name} differs")


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
    found = values(robot, ramidyn.inverse_dynamics_derivatives, q=q, qd=qd, qdd=qdd)
    close(found["dtau_dq"], data.dtau_dq)
    close(found["dtau_dqd"], data.dtau_dv)
    close(found["M"], M)
    if np.linalg.cond(M) < 1e9:
        pin.computeABADerivatives(model, data, q_pin, qd, tau)
        inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        quantity = ramidyn.forward_dynamics_derivatives
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
    kinds = [] if frame not in robot.body_names else [pin.FrameType.BODY]
    index = model.getFrameId(frame, *kinds)
    there = pin.getFrameAccelerationDerivatives(
        model, data, index, pin.ReferenceFrame.LOCAL
    )
    close = functools.partial(assert_close, tolerance=1e-9, least=1.0)
    dv_dq, da_dq, da_dv, da_da = there
    state = {"q": q, "qd": qd}
    by_state = ramidyn.derivative(ramidyn.velocity(frame), ("q", "qd"))
    found = list(values(robot, by_state, **state).values())
    close(found[0], dv_dq)
    close(found[1], da_da)
    by_all = ramidyn.derivative(
        ramidyn.acceleration(frame, kind="spatial"), ("q", "qd", "qdd")
    )
    found = list(values(robot, by_all, **state, qdd=qdd).values())
    for mine, theirs in zip(found, (da_dq, da_dv, da_da), strict=True):
        close(mine, theirs)
    (found_com,) = values(
        robot, ramidyn.derivative(ramidyn.center_of_mass, "q"), q=q
    ).values()
    close(found_com, pin.jacobianCenterOfMass(model, data, q_pin))


@pytest.mark.parametrize("name", SAMPLE)
def test_derivatives_of_gravity_and_momentum_are_pinocchios(
    name: str, rng: np.random.Generator
) -> None:
    model, robot = both(name)
    data, q_pin = model.createData(), random_q(model)
    q = as_angles(model, q_pin)
    qd, qdd = rng.normal(size=(2, robot.nv))
    (found,) = values(
        robot, ramidyn.derivative(ramidyn.gravity_forces, "q"), q=q
    ).values()
    close(found, pin.computeGeneralizedGravityDerivatives(model, data, q_pin))
    dh_dq, _, _, dh_dqd = pin.computeCentroidalDynamicsDerivatives(
        model, data, q_pin, qd, qdd
    )
    by_state = ramidyn.derivative(ramidyn.centroidal_momentum, ("q", "qd"))
    found = list(values(robot, by_state, q=q, qd=qd).values())
    close(found[0], dh_dq)
    close(found[1], dh_dqd)
    pin.computeForwardKinematicsDerivatives(model, data, q_pin, qd, qdd)
    pin.centerOfMass(model, data, q_pin, qd)
    velocity = ramidyn.derivative(ramidyn.jvp(ramidyn.center_of_mass, "q"), "q")
    found = values(robot, velocity, q=q, q_tangent=qd)["dcenter_of_mass_tangent_dq"]
    close(found, pin.getCenterOfMassVelocityDerivatives(model, data))


@pytest.mark.parametrize("name", SAMPLE)
def test_derivatives_of_steps_are_pinocchios(
    name: str, rng: np.random.Generator
) -> None:
    model, robot = both(name)
    q_pin, qd = random_q(model), rng.normal(size=robot.nv)
    q = as_angles(model, q_pin)
    J0, J1 = pin.dIntegrate(model, q_pin, 0.1 * qd)
    quantity = ramidyn.integrate_derivatives
    found = values(robot, quantity, q=q, qd=qd, dt=np.array(0.1))
    close(found["dq1_dq"], J0)
    close(found["dq1_dqd"], 0.1 * J1)
    end_pin = pin.integrate(model, q_pin, 0.1 * qd)
    J0, J1 = pin.dDifference(model, q_pin, end_pin)
    end = as_angles(model, end_pin)
    found = values(robot, ramidyn.difference_derivatives, q0=q, q1=end)
    close(found["dv_dq0"], J0)
    close(found["dv_dq1"], J1)


def cuts_between(robot: Robot) -> list[tuple[str, str, str]]:
    """Return a weld of one leaf to the world, and a ball between two others."""
    tree, frames = robot.tree, robot.model.frames
    leaves = set(range(len(tree))) - set(tree.parents)
    at = {frames[name].body: name for name in reversed(robot.body_names)}
    ends = [at[i] for i in sorted(leaves) if len(tree.support(i)) > 3]
    if not ends:
        pytest.skip("no limbs")
    cuts = [("weld", ends[0], "world")]
    return cuts if len(ends) < 3 else [*cuts, ("spherical", ends[1], ends[2])]


def closed_directions(robot: Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return δq (nv, mobility) that keep the loops closed, and δq̇ that turn with them.

    J δq = 0 and J δq̇ + δJ q̇ = 0.
    """
    (J,) = values(robot, ramidyn.constraint_jacobian, q=q).values()
    quantity = ramidyn.derivative(ramidyn.constraint_jacobian, "q")
    (dJ,) = values(robot, quantity, q=q).values()
    along = np.linalg.svd(J)[2][len(J) :].T
    turned = np.einsum("rkc,k->rc", dJ, qd) @ along
    return along, -np.linalg.pinv(J) @ turned


@pytest.mark.parametrize("name", ALL)
def test_derivatives_of_dynamics_with_loops_are_pinocchios(
    name: str, rng: np.random.Generator
) -> None:
    """Along what keeps them closed: beyond, each library has conditions of its own."""
    model, robot = both(name)
    q_pin = random_q(model)
    M = mass_matrix_of(model, q_pin)
    if np.linalg.cond(M) > 1e8:
        pytest.skip("M is singular up to rounding")
    qd, tau = rng.normal(size=(2, robot.nv))
    q, cuts = as_angles(model, q_pin), cuts_between(robot)
    there = with_cuts(pin, model, robot, cuts, q, qd)
    (J,) = values(there.robot, ramidyn.constraint_jacobian, q=q).values()
    if np.linalg.cond(J) > 1e3:  # limbs that cannot move apart
        there, J = with_cuts(pin, model, robot, cuts[:1], q, qd), J[:6]
    condition = np.linalg.cond(J @ np.linalg.solve(M, J.T))
    # Rounding alone separates the two where J M⁻¹ Jᵀ has conditions up to 1e8.
    close = functools.partial(
        assert_close, tolerance=1e-9 * max(1.0, condition / 1e6), least=0.0
    )
    qdd = there.accelerations(pin, q_pin, tau)
    found = pin.computeConstraintDynamicsDerivatives(
        model, there.data, there.cuts, there.cut_data, there.settings(pin)
    )
    here = {"q": there.q, "qd": there.qd, "tau": tau}
    (ours,) = values(there.robot, ramidyn.forward_dynamics, **here).values()
    close(ours, qdd)
    of_qdd = values(there.robot, ramidyn.forward_dynamics_derivatives, **here)
    of_lambda = values(there.robot, ramidyn.loop_forces_derivatives, **here)
    dq, dqd = closed_directions(there.robot, there.q, there.qd)
    # λ acts on the second body here, on the first one there.
    for sign, mine, theirs in (
        (1.0, list(of_qdd.values()), found[:3]),
        (-1.0, list(of_lambda.values()), found[3:]),
    ):
        close(sign * (mine[0] @ dq + mine[1] @ dqd), theirs[0] @ dq + theirs[1] @ dqd)
        close(sign * mine[1] @ dq, theirs[1] @ dq)
        close(sign * mine[2], theirs[2])


def mass_matrix_of(model: Any, q: Array) -> Array:
    upper = np.triu(pin.crba(model, model.createData(), q))
    return upper + np.triu(upper, 1).T
