"""Memory: what policies, forces and records carry from step to step.

A run with memory equals a Python loop over the same functions of numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn import ArgumentError, ShapeError, math, policies
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.contacts import ContactSphere
from ramidyn.forces import Custom
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run

DT, STEPS, BATCH = 5e-3, 20, 5
EXACT = 1e-11

pytestmark = pytest.mark.filterwarnings("ignore:.* is too long for this motion")


@pytest.fixture(scope="module")
def arm() -> Robot:
    builder, parent = RobotBuilder("arm"), "world"
    rod = Inertia.from_box(1.0, (0.05, 0.05, 0.3), at=(0, 0, 0.15))
    for k, axis in enumerate(((0, 1, 0), (1, 0, 0))):
        joint = Joint.revolute(axis)
        builder.add(Body(f"link{k}", rod), parent, joint, (0, 0, 0.3))
        parent = f"link{k}"
    return Robot.from_description(builder.description())


def states() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(BATCH, 2)), rng.normal(size=(BATCH, 2))


def pid(q: Any, qd: Any, integral: Any, dt: Any) -> dict[str, Any]:
    """Return a PID controller's torques; its integral goes on."""
    error = 0.3 - q
    tau = 4.0 * error + 20.0 * integral - 0.2 * qd
    return {"tau": tau, "integral": integral + dt * error}


def delayed(queue: Any, q: Any) -> Any:
    """Return a queue of the last three configurations."""
    return np.concatenate([[q], queue[:-1]])


def remembering(robot: Robot, *state: Any, **options: Any) -> Run:
    options = {
        "dt": DT,
        "steps": STEPS,
        "policy": pid,
        "memory": {"integral": np.zeros(2), "queue": np.ones((3, 2)), "peak": -9.0},
        "updates": {"queue": delayed, "peak": lambda peak, q: math.maximum(peak, q[0])},
        "record": ["tau", "integral", "queue", "peak"],
        **options,
    }
    return robot.rollout(*state, **options)


def test_memory_is_what_a_python_loop_remembers(arm: Robot) -> None:
    run = remembering(arm, *states())
    integral, queue = np.zeros((BATCH, 2)), np.ones((3, BATCH, 2))
    peak = np.full(BATCH, -9.0)
    for k in range(STEPS + 1):
        q, qd = run.q[:, k], run.qd[:, k]
        found = pid(q, qd, integral, DT)
        np.testing.assert_allclose(run.tau[:, k], found["tau"], atol=EXACT)
        np.testing.assert_allclose(run.integral[:, k], integral, atol=EXACT)
        np.testing.assert_array_equal(run.queue[:, k], np.moveaxis(queue, 1, 0))
        np.testing.assert_array_equal(run.peak[:, k], peak)
        integral = found["integral"]
        queue, peak = delayed(queue, q), np.maximum(peak, q[:, 0])
    assert run.end is not None
    np.testing.assert_array_equal(run.end.values["peak"], run.peak[:, -1])


@pytest.mark.parametrize("batch", [True, False])
def test_a_run_that_continues_remembers(
    arm: Robot, tmp_path: Path, batch: bool
) -> None:
    state = [x if batch else x[0] for x in states()]
    whole = remembering(arm, *state)
    first = remembering(arm, *state, steps=8)
    first.save(tmp_path / "first.npz")
    end = Run.load(tmp_path / "first.npz", arm).end
    second = remembering(arm, end, steps=STEPS - 8)
    for name in ("q", "tau", "integral", "queue", "peak"):
        a, b = (getattr(run, name) for run in (whole, second))
        rows = (slice(None), slice(8, None)) if batch else (slice(8, None),)
        np.testing.assert_array_equal(a[rows], b)
    with pytest.raises(ArgumentError, match=r"the state has 'integral', which nothing"):
        arm.rollout(end, dt=DT, steps=2)


def test_a_restart_puts_the_first_memory_back(arm: Robot) -> None:
    rows = remembering(
        arm,
        *states(),
        memory={
            "integral": policies.per_state(np.arange(10.0).reshape(BATCH, 2)),
            "queue": np.ones((3, 2)),
            "peak": -9.0,
            "age": 0.0,
        },
        updates={
            "queue": delayed,
            "peak": lambda peak, q: math.maximum(peak, q[0]),
            "age": lambda age: age + 1.0,
        },
        record=["integral", "age"],
        until=lambda age: age > 4.5,
        restart=True,
    )
    np.testing.assert_array_equal(rows.age, np.tile(np.arange(21) % 5, (BATCH, 1)))
    first = rows.integral[:, 0]
    np.testing.assert_array_equal(first, np.arange(10.0).reshape(BATCH, 2))
    for k in (5, 10, 20):
        np.testing.assert_array_equal(rows.integral[:, k], first)
        np.testing.assert_array_equal(rows.q[:, k], rows.q[:, 0])


def test_a_state_that_ended_keeps_its_memory(arm: Robot) -> None:
    run = remembering(arm, *states(), until=lambda time: time > 9.5 * DT)
    np.testing.assert_array_equal(run.integral[:, 11:], run.integral[:, [10] * 10])


def test_a_force_remembers(arm: Robot) -> None:
    def wear(state: Any, worn: Any) -> Any:
        return -(0.5 + worn) * state.qd

    robot = arm.add_force(Custom(wear, inputs={"worn": ()}, name="brake"))
    options: dict[str, Any] = {"dt": DT, "steps": STEPS, "record": ["worn", "qdd"]}
    run = robot.rollout(
        *states(),
        memory={"worn": 0.1},
        updates={"worn": lambda worn, qd, dt: worn + 10.0 * dt * (qd @ qd)},
        **options,
    )
    assert np.ptp(run.worn) > 0.1
    rate = 10.0 * DT * (run.qd**2).sum(-1)
    np.testing.assert_allclose(np.diff(run.worn), rate[:, :-1], atol=EXACT)
    tau = -(0.5 + run.worn[..., None]) * run.qd
    q, qd, tau = (x.reshape(-1, 2) for x in (run.q, run.qd, tau))
    expected = arm.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(run.qdd.reshape(-1, 2), expected, atol=1e-10)


def test_simulations_remember_between_calls_of_a_controller(arm: Robot) -> None:
    q, qd = (x[0] for x in states())
    options: dict[str, Any] = {"dt": DT, "duration": 0.1, "record": ["peak"]}
    run = arm.simulate(
        q,
        qd,
        controller=lambda _, q, qd: -q - qd,
        control_dt=4 * DT,
        memory={"peak": -9.0},
        updates={"peak": lambda peak, q: math.maximum(peak, q[0])},
        **options,
    )
    np.testing.assert_array_equal(run.peak[1:], np.maximum.accumulate(run.q[:-1, 0]))


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"memory": {"integral": np.zeros(2)}, "policy": lambda integral: integral},
        ArgumentError,
        "memory has 'integral', which nothing changes; return it from the policy, or p",
    ),
    (
        {"policy": pid},
        ArgumentError,
        "policy asks for 'integral', which is not given; pass .*, or memory= with its",
    ),
    (
        {"policy": lambda q: {"tau": q, "integral": q}},
        ArgumentError,
        "policy returns 'integral' .*, which nothing takes; .*, and names of memory",
    ),
    (
        {"memory": {"integral": None}, "policy": pid},
        ArgumentError,
        "memory has 'integral': None; expected its value before the first step",
    ),
    (
        {"memory": {"integral": np.zeros(3)}, "policy": lambda q: {"integral": q}},
        ArgumentError,
        r"policy: 'integral' returns shape \(2,\); expected \(3,\)",
    ),
    (
        {
            "memory": {"integral": np.zeros(2)},
            "policy": pid,
            "updates": {"integral": lambda q: q},
        },
        ArgumentError,
        "memory 'integral' is returned by the policy and is in updates; use one",
    ),
    (
        {"updates": {"x": lambda q: q}},
        ArgumentError,
        "updates has 'x', which has no start value; pass memory=",
    ),
    (
        {"memory": {"x": 1.0}, "inputs": {"x": 1.0}, "updates": {"x": lambda x: x}},
        ArgumentError,
        "memory and inputs both have 'x'",
    ),
    ({"memory": {"tau": 1.0}}, ArgumentError, "memory has the name 'tau'; expected a"),
    (
        {"memory": {"x": policies.per_step(np.zeros(3))}},
        ArgumentError,
        r"memory has 'x': per_step: .*; expected one value, or per_state\(x\)",
    ),
    (
        {"memory": {"x": "a"}, "updates": {"x": lambda x: x}},
        ShapeError,
        r"memory\['x'\] is 'a'; expected real numbers",
    ),
    (
        {"memory": {"x": 1.0}, "updates": {"x": lambda y: y}},
        ArgumentError,
        "update 'x' asks for 'y', which is not given",
    ),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_bad_memory_is_refused(
    arm: Robot, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        arm.rollout(np.zeros(2), dt=DT, steps=2, **options)


def test_adaptive_steps_do_not_remember(arm: Robot) -> None:
    options: dict[str, Any] = {"memory": {"x": 1.0}, "updates": {"x": lambda x: x}}
    message = "memory is for fixed steps, and integrator is 'adaptive'; use 'rk4'"
    with pytest.raises(ArgumentError, match=message):
        arm.simulate(np.zeros(2), integrator="adaptive", **options)


def test_a_policy_feels_the_ground_of_the_step_before() -> None:
    builder = RobotBuilder("hopper")
    builder.add(
        Body("ball", Inertia.from_box(2.0, (0.2, 0.2, 0.2))),
        joint=Joint.prismatic((0, 0, 1)),
    )
    ball = Robot.from_description(builder.description())
    ball = ball.add_contact(ContactSphere("ball", radius=0.1, name="sole"))

    def policy(felt: Any) -> Any:
        return 0.25 * felt[:, 2]

    run = ball.rollout(
        np.array([0.1]),
        dt=1e-3,
        steps=20,
        policy=policy,
        memory={"felt": np.zeros((1, 3))},
        updates={"felt": lambda contact_forces: contact_forces},
        record=["contact_forces", "tau"],
    )
    np.testing.assert_allclose(
        run.tau[1:, 0], 0.25 * run.contact_forces[:-1, 0, 2], atol=1e-12
    )
    pressed = run.contact_forces[-2, 0, 2] + run.tau[-2, 0]
    assert abs(pressed - 2.0 * 9.81) < 1e-6
