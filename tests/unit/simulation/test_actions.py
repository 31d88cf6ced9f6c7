"""What policies and controllers return besides τ, and wrenches as inputs of rollouts.

A run in which a policy sets controls or wrenches equals the run with the recorded ones
as inputs, and that of the joint forces that they amount to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn import ArgumentError, ShapeError, UnknownName, policies
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.forces import Custom, JointSpring, Motor
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run
from support.planar import Planar, four_bar

DT, STEPS, BATCH = 5e-3, 30, 5
EXACT = 1e-11
"""different sums of the same numbers, over 30 steps"""
WRENCH = np.array([0.1, -0.2, 0.3, 0.02, 0.01, -0.03])

pytestmark = pytest.mark.filterwarnings("ignore:.* is too long for this motion")


@pytest.fixture(scope="module")
def arm() -> Robot:
    """Three links, with a motor on two of the joints."""
    builder, parent = RobotBuilder("arm"), "world"
    rod = Inertia.from_box(1.0, (0.05, 0.05, 0.3), at=(0, 0, 0.15))
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0))):
        joint = Joint.revolute(axis)
        builder.add(Body(f"link{k}", rod), parent, joint, (0, 0, 0.3))
        parent = f"link{k}"
    robot = Robot.from_description(builder.description())
    names = [j.name for j in robot.model.joints]
    limits = {"control_range": (-0.5, 0.5), "name": "hip"}
    motors = [Motor(names[0], gear=2.0, **limits), Motor(names[2], name="wrist")]
    return robot.add_force(motors[0]).add_force(motors[1])


@pytest.fixture(scope="module")
def plain(arm: Robot) -> Robot:
    return arm.remove_force("hip").remove_force("wrist")


def states(robot: Robot) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(BATCH, robot.nq)), rng.normal(size=(BATCH, robot.nv))


def drive(q: Any, qd: Any) -> dict[str, Any]:
    return {"control": np.array([3.0 * (0.2 - q[0]) - qd[0], -0.4 * qd[2]])}


def torques(control: Any) -> Any:
    """Return the joint forces of the motors, limits and gears applied by hand."""
    tau = np.zeros((*control.shape[:-1], 3))
    tau[..., 0] = 2.0 * np.clip(control[..., 0], -0.5, 0.5)
    tau[..., 2] = control[..., 1]
    return tau


SLOW_RK4 = pytest.param("rk4", marks=pytest.mark.slow)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", SLOW_RK4, "implicit"])
def test_a_policy_drives_motors_within_their_limits(
    arm: Robot, plain: Robot, integrator: str
) -> None:
    options: dict[str, Any] = {"dt": DT, "integrator": integrator}
    state = states(arm)
    run = arm.rollout(*state, steps=STEPS, policy=drive, record=["control"], **options)
    control = run.control[:, :-1]
    assert (np.abs(control[..., 0]) > 0.5).any()
    expected = drive(np.moveaxis(run.q, -1, 0), np.moveaxis(run.qd, -1, 0))["control"]
    np.testing.assert_allclose(run.control, np.moveaxis(expected, 0, -1), atol=EXACT)
    if integrator != "implicit":  # which follows the policy within a step
        open_loop = arm.rollout(*state, inputs={"control": control}, **options)
        np.testing.assert_allclose(open_loop.q, run.q, atol=EXACT)
        by_hand = plain.rollout(*state, torques(control), **options)
        np.testing.assert_allclose(by_hand.q, run.q, atol=EXACT)


def test_controls_and_joint_forces_add_up(arm: Robot, plain: Robot) -> None:
    tau = np.array([0.1, -0.2, 0.05])
    state = states(arm)
    both = arm.rollout(
        *state,
        dt=DT,
        steps=STEPS,
        policy=lambda q, qd: {**drive(q, qd), "tau": tau - 0.1 * qd},
        record=["control", "tau"],
    )
    total = both.tau + torques(both.control)
    expected = plain.rollout(*state, total[:, :-1], DT)
    np.testing.assert_allclose(both.q, expected.q, atol=EXACT)
    given = arm.rollout(*state, tau, dt=DT, steps=STEPS, policy=drive, record=["tau"])
    np.testing.assert_array_equal(given.tau, np.broadcast_to(tau, given.tau.shape))


@pytest.mark.parametrize("integrator", [SLOW_RK4, "semi_implicit_euler", "adaptive"])
def test_a_controller_drives_motors_at_its_rate(arm: Robot, integrator: str) -> None:
    q, qd = (x[0] for x in states(arm))
    options: dict[str, Any] = {"dt": DT, "duration": 0.1, "integrator": integrator}
    run = arm.simulate(
        q,
        qd,
        controller=lambda _, q, qd: drive(q, qd),
        control_dt=2 * DT,
        record=["control"],
        **options,
    )
    calls = [drive(a, b)["control"] for a, b in zip(run.q, run.qd, strict=True)][::2]
    np.testing.assert_allclose(run.control[:-1], np.repeat(calls[:-1], 2, 0), atol=1e-9)
    inputs = {"control": run.control[:-1]}
    same = arm.simulate(q, qd, inputs=inputs, **options)
    np.testing.assert_allclose(same.q, run.q, atol=1e-8)


@pytest.mark.parametrize("expressed_in", ["local", "world", "local_world_aligned"])
def test_external_wrenches_push_as_in_forward_dynamics(
    plain: Robot, expressed_in: str
) -> None:
    state, frame = states(plain), "link1"
    options: dict[str, Any] = {"expressed_in": expressed_in}
    run = plain.rollout(
        *state,
        dt=DT,
        steps=STEPS,
        inputs={"external": {frame: WRENCH}},
        record=["qdd"],
        **options,
    )
    q, qd, qdd = (x.reshape(-1, x.shape[-1]) for x in (run.q, run.qd, run.qdd))
    external = {frame: np.broadcast_to(WRENCH, (len(q), 6))}
    zero = np.zeros_like(qd)
    expected = plain.forward_dynamics(q, qd, zero, external=external, **options)
    np.testing.assert_allclose(qdd, expected, atol=1e-10)


def test_wrenches_of_a_policy_are_those_of_the_inputs(plain: Robot) -> None:
    state = states(plain)

    def push(time: Any) -> Any:
        return {"external": {"link2": WRENCH * time, "link1": WRENCH}}

    run = plain.rollout(*state, dt=DT, steps=STEPS, policy=push)
    times = run.times[:-1]
    inputs = {"external": {"link1": WRENCH, "link2": times[:, None] * WRENCH}}
    given = plain.rollout(*state, dt=DT, inputs=inputs)
    np.testing.assert_allclose(run.q, given.q, atol=EXACT)
    each = np.broadcast_to(times[:, None] * WRENCH, (BATCH, STEPS, 6))
    array = {"link2": policies.per_state(policies.per_step(each))}
    inputs = {"external": {"link1": policies.shared(WRENCH), **array}}
    same = plain.rollout(*state, dt=DT, inputs=inputs)
    np.testing.assert_array_equal(same.q, given.q)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_energy_is_the_work_of_motors_springs_and_wrenches(
    arm: Robot, integrator: str
) -> None:
    joint = arm.model.joints[1].name
    sprung = arm.add_force(JointSpring(joint, stiffness=2.0, name="spring"))
    q, qd = (x[0] for x in states(arm))
    run = sprung.simulate(
        q,
        qd,
        dt=1e-3,
        duration=0.2,
        integrator=integrator,
        policy=lambda q, qd: {**drive(q, qd), "tau": -0.1 * qd},
        inputs={"external": {"link1": WRENCH}},
        expressed_in="world",
    )
    balance = run.energy - run.work - run.element_work
    assert np.ptp(run.element_work) > 1e-2
    tolerance = 1e-3 if integrator == "rk4" else 1e-6  # the policy is held by rk4
    np.testing.assert_allclose(balance, balance[0], atol=tolerance)


def test_inputs_of_functions_of_users_are_set_by_a_policy(plain: Robot) -> None:
    def field(state: Any, gains: Any) -> Any:
        return -gains @ state.qd

    robot = plain.add_force(Custom(field, inputs={"gains": (3, 3)}, name="field"))
    state, gains = states(robot), np.diag([0.1, 0.2, 0.3]) + 0.05
    run = robot.rollout(
        *state, dt=DT, steps=STEPS, policy=lambda time: {"gains": gains * (1 + time)}
    )
    rows = gains * (1 + run.times[:-1, None, None])
    same = robot.rollout(*state, dt=DT, inputs={"gains": rows})
    np.testing.assert_allclose(same.q, run.q, atol=EXACT)
    shared = robot.rollout(*state, dt=DT, steps=3, inputs={"gains": gains})
    each = policies.per_state(np.broadcast_to(gains, (BATCH, 3, 3)))
    single = robot.rollout(*state, dt=DT, steps=3, inputs={"gains": each})
    np.testing.assert_array_equal(single.q, shared.q)


def test_loops_feel_wrenches_and_motors() -> None:
    robot, known = four_bar(), Planar("four_bar")
    joint = robot.model.joints[0].name
    driven = robot.add_force(Motor(joint, name="motor"))
    frame = robot.body_names[-1]
    q, _ = known.state(0.3, 0.0)
    push = 0.05 * WRENCH
    run = driven.rollout(
        q,
        dt=1e-3,
        steps=20,
        policy=lambda qd: {"control": 0.1 - qd[:1]},
        inputs={"external": {frame: push}},
        record=["control", "qdd"],
    )
    k = robot.joint(joint).v_index
    for q_row, qd_row, u, qdd in zip(run.q, run.qd, run.control, run.qdd, strict=True):
        tau = np.zeros(robot.nv)
        tau[k] = u[0]
        found = robot.forward_dynamics(q_row, qd_row, tau, external={frame: push})
        np.testing.assert_allclose(qdd, found, rtol=1e-9, atol=1e-9)


def rolled(robot: Robot, **options: Any) -> Run:
    return robot.rollout(np.zeros(3), dt=DT, steps=3, **options)


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"policy": lambda q: {"controls": q[:2]}},
        ArgumentError,
        r"policy returns 'controls' \(did you mean 'control'\?\), which nothing takes; "
        "possible: tau, control, external",
    ),
    (
        {"policy": lambda q: {"control": q}},
        ArgumentError,
        r"policy: 'control' returns shape \(3,\); expected \(2,\)",
    ),
    (
        {"policy": lambda q: q},
        ArgumentError,
        "robot 'arm' has forces that need 'control'; pass .* or return it from the pol",
    ),
    (
        {"policy": drive, "inputs": {"control": np.zeros(2)}},
        ArgumentError,
        "policy returns 'control', which is also given; give one of them, or let the",
    ),
    (
        {"policy": lambda q: {"control": q[:2], "external": q}},
        ArgumentError,
        "policy returns external of type ndarray; expected a dict of wrenches by frame",
    ),
    (
        {"policy": lambda q: {"control": q[:2], "external": {"lnk1": q}}},
        UnknownName,
        "no frame or body 'lnk1'|no frame 'lnk1'|'lnk1' in robot 'arm'",
    ),
    (
        {"policy": lambda q: {"control": q[:2], "external": {"link1": q}}},
        ArgumentError,
        r"policy: external\['link1'\] returns shape \(3,\); expected \(6,\)",
    ),
    (
        {"inputs": {"control": np.zeros(2), "external": WRENCH}},
        ArgumentError,
        "external is array.*; expected a dict of wrenches by frame",
    ),
    (
        {"inputs": {"control": np.zeros(2), "external": {"link1": np.zeros(5)}}},
        ShapeError,
        r"external\['link1'\] has shape \(5,\); tried \(6,\) shared by all, \(steps, "
        r"6\) for each step, and \(batch, steps, 6\) for each step of each state; one "
        r"for each state is ramidyn.policies.per_state\(x\)",
    ),
    (
        {"inputs": {"control": policies.per_state(np.zeros((4, 3)))}},
        ShapeError,
        r"control has shape \(4, 3\), declared per_state; expected \(batch, 2\)",
    ),
    (
        {"policy": drive, "inputs": {"W": np.zeros((4, 4))}, "until": lambda W: W < 0},
        ArgumentError,
        r"steps is 3; W has 4 of shape \(4, 4\); if \(4, 4\) is not \(steps, ...\), "
        r"pass shared\(x\), one for all, or per_state\(x\), one for each state, of ram",
    ),
    (
        {"inputs": {"control": np.zeros(2)}, "expressed_in": "wold"},
        ArgumentError,
        "expressed_in is 'wold'",
    ),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_bad_actions_are_refused(
    arm: Robot, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rolled(arm, **options)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            {"contrl": 1},
            r"controller returns 'contrl' \(did you mean 'control'\?\)",
        ),
        (
            {"control": [1, 2, 3]},
            r"controller returned 'control': \[1, 2, 3\] at",
        ),
        ({"tau": np.zeros(3)}, "forces that need 'control'; .* from the controller"),
    ],
)
def test_bad_returns_of_a_controller_are_refused(
    arm: Robot, returned: Any, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        arm.simulate(np.zeros(3), controller=lambda *_: returned, dt=DT, duration=DT)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: policies.shared(policies.shared(x)), "shared: .* expected an array"),
        (
            lambda x: policies.per_step(policies.per_state(x)),
            "per_step.* per_state",
        ),
        (lambda x: policies.per_state(policies.shared(x)), "per_state.shared"),
    ],
)
def test_arrangements_that_contradict_are_refused(
    make: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        make(np.zeros(3))
