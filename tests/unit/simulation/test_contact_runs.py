"""Rollouts and simulations with contacts: options, records, restarts, refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import ramidyn
from ramidyn import contacts
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.robot import Robot
from support.planar import four_bar, swung


@functools.cache
def tripod() -> Robot:
    """Return a body on three points."""
    builder = RobotBuilder("tripod")
    body = Body("body", Inertia.from_box(1.0, (0.3, 0.3, 0.1)))
    builder.add(body, "world", Joint.floating())
    robot = builder.robot(conventions="mujoco")
    for k, (x, y) in enumerate([(0.2, 0.0), (-0.1, 0.15), (-0.1, -0.15)]):
        point = contacts.ContactPoint("body", (x, y, -0.2), friction=0.5)
        robot = robot.add_contact(point, name=f"foot{k}")
    return robot


def dropped(batch: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    q = np.tile(tripod().neutral(), (batch, 1))
    q[:, 2] = 0.22
    return q, 0.3 * rng.normal(size=(batch, 6))


def test_records_have_a_row_for_each_contact() -> None:
    q, qd = dropped(2)
    run = tripod().rollout(
        q, qd, steps=600, every=100,
        record=["contact_forces", "contact_states", "contact_residual"],
    )  # fmt: skip
    assert run.contact_forces.shape == (2, 7, 3, 3)
    assert run.contact_states.shape == (2, 7, 3)
    assert run.contact_residual.shape == (2, 7)
    assert (run.contact_states[:, 0] == 0.0).all()
    assert (run.contact_states[:, -1] == 1.0).all()
    assert run.contact_residual.max() < 1e-6
    weight = run.contact_forces[:, -1, :, 2].sum(axis=1)
    np.testing.assert_allclose(weight, 9.81, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*overlaps")
def test_states_that_overlap_change_nothing_for_others() -> None:
    q, qd = dropped(20)
    q[::3, 2] = 0.17  # 3 cm into the ground
    together = tripod().rollout(q, qd, steps=40)
    for k in (0, 1, 2, 3, 19):
        some = slice(k, k + 1)
        alone = tripod().rollout(q[some], qd[some], steps=40)
        np.testing.assert_array_equal(alone.q[0], together.q[k])
    assert (together.q[::3, -1, 2] > 0.18).all()  # taken apart


def test_records_of_contacts_need_contacts() -> None:
    robot = ramidyn.robots.chain(2)
    with pytest.raises(ArgumentError, match="record has 'contact_forces'"):
        robot.rollout(robot.neutral(), steps=1, record=["contact_forces"])


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("friction:foot1", [0.5, -0.1], "has -0.1 for 'friction:foot1'; .* 0 or more"),
        ("restitution:foot1", 1.5, "has 1.5 for 'restitution:foot1'; .* from 0 to 1"),
    ],
)
def test_parameters_of_contacts_that_add_energy_are_refused(
    name: str, values: float | list[float], message: str
) -> None:
    q, qd = dropped(2)
    with pytest.raises(ArgumentError, match=message):
        tripod().rollout(q, qd, steps=1, parameters={name: values})
    lower = {"offset:foot1": [-1.0, -2.0]}  # the ground may be anywhere
    tripod().rollout(q, qd, steps=1, parameters=lower)


@pytest.mark.slow
def test_simulate_takes_steps_that_contacts_need() -> None:
    q, qd = dropped(1)
    run = tripod().simulate(q[0], qd[0], duration=0.2, record=["contact_states"])
    rolled = tripod().rollout(q[0], qd[0], steps=200, record=["contact_states"])
    np.testing.assert_array_equal(run.q, rolled.q)


def test_restart_begins_with_no_impulses() -> None:
    q, qd = dropped(1)
    run = tripod().rollout(
        q, qd, steps=400, until=lambda q: q[2] < 0.2005, restart=True
    )
    assert run.ended[0] >= 1.0
    first = int(np.argmax(np.all(run.q[0, 1:] == q[0], axis=1))) + 1
    again = run.q[0, first : first + 20]
    np.testing.assert_array_equal(again, run.q[0, :20])


@pytest.mark.slow
def test_until_keeps_a_state_as_it_is() -> None:
    q, qd = dropped(3)
    run = tripod().rollout(q, qd, steps=300, until=lambda time: time > 0.1)
    np.testing.assert_array_equal(run.q[:, 150], run.q[:, -1])


@pytest.mark.slow
def test_threads_change_nothing() -> None:
    q, qd = dropped(64)
    one = tripod().rollout(q, qd, steps=100, every=100)
    two = tripod().rollout(q, qd, steps=100, every=100, threads=2)
    np.testing.assert_array_equal(one.q, two.q)


def test_implicit_steps_agree_with_explicit_ones() -> None:
    """Without forces that depend on the state, they are the same step."""
    q, qd = dropped(4)
    one = tripod().rollout(q, qd, steps=300, every=100)
    two = tripod().rollout(q, qd, steps=300, every=100, integrator="implicit")
    np.testing.assert_allclose(two.q, one.q, atol=1e-5)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_smooth_integrators_refuse_contacts(integrator: str) -> None:
    q, _ = dropped(1)
    said = f"which '{integrator}' does not support: velocities jump at impacts"
    with pytest.raises(ArgumentError, match=said):
        tripod().simulate(q[0], integrator=integrator)


def test_partition_refuses_contacts() -> None:
    robot = four_bar()
    joint = robot.joint_names[0]
    robot = robot.add_contact(contacts.HardLimit(joint, -3.0, 3.0))
    with pytest.raises(ArgumentError, match="stabilize='partition' does not support"):
        robot.rollout(robot.neutral(), steps=1, stabilize="partition")


def test_linearize_refuses_contacts() -> None:
    q, qd = dropped(1)
    with pytest.raises(ModelError, match="whose impulses linearize does not"):
        tripod().linearize(q[0], qd[0], np.zeros(6), 1e-3)


@pytest.mark.slow
def test_loops_stay_closed_while_a_limit_holds() -> None:
    robot = four_bar()
    q = robot.assemble(swung(robot, 0.5, 0.0)[0])
    joint = robot.model.joints[0]
    start = float(q[joint.q_slice.start])
    limited = robot.add_contact(
        contacts.HardLimit(joint.name, start - 0.05, start + 0.05)
    )
    run = limited.rollout(q, dt=1e-3, steps=1_000, record=["residual"])
    angle = run.q[:, joint.q_slice.start]
    assert np.abs(angle - start).max() < 0.05 + 3e-6
    assert np.abs(angle - start).max() > 0.04
    assert run.residual.max() < 1e-12


def test_a_robot_without_contacts_has_the_step_that_it_had() -> None:
    """No impulses are carried, and no operation is added."""
    plain = ramidyn.robots.chain(3)
    run = plain.rollout(plain.neutral(), np.ones(3), steps=10)
    assert not any("impulses" in name for name in run.end.values)


def test_nan_stays_in_its_state() -> None:
    q, qd = dropped(9)
    whole = tripod().rollout(q, qd, steps=100)
    qd[4] = 1e300  # a number, but its square is none
    with pytest.warns(RuntimeWarning, match="state 4 is not finite"):
        run = tripod().rollout(q, qd, steps=100)
    others = np.arange(9) != 4
    assert np.isnan(run.q[4, -1]).any()
    np.testing.assert_array_equal(run.q[others], whole.q[others])
    np.testing.assert_array_equal(run.qd[others], whole.qd[others])


def test_compiled_time_steps_are_those_of_a_rollout() -> None:
    """A rollout starts its solver where the last two steps point to."""
    robot = tripod()
    q, qd = dropped(5)
    run = robot.rollout(q, qd, dt=1e-3, steps=150)
    step = ramidyn.compile(contacts.time_step, robot)
    tau = np.zeros((5, robot.nv))
    last = before = np.zeros((5, 3 * len(robot.contacts)))
    for _ in range(150):
        after = step(q, qd, tau, 1e-3, 2 * last - before)
        q, qd, before, last = after.q, after.qd, last, after.impulses
    assert np.max(after.states) > 0.0
    np.testing.assert_allclose(q, run.q[:, -1], atol=1e-6)


def test_time_step_names_what_it_needs() -> None:
    with pytest.raises(ModelError, match="has no contacts, hard limits or dry"):
        ramidyn.compile(contacts.time_step, ramidyn.robots.chain(2))
    loop = four_bar().add_contact(contacts.DryFriction("crank_joint", 0.1))
    with pytest.raises(ModelError, match="which time_step does not close"):
        ramidyn.compile(contacts.time_step, loop)
