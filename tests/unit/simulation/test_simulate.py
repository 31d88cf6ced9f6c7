"""Simulation: trees and loops, steps of both kinds, torques, events, bad input."""

from __future__ import annotations

import builtins
import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import ArgumentError, ModelWarning, ShapeError, TraceError
from ramidyn.backend.calls.scan_call import LoopCall
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array
from ramidyn.forces import JointDamper, Motor
from ramidyn.robot import Robot
from ramidyn.simulation.compiled_step import CompiledStep
from support.planar import Planar, four_bar

INERTIA = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.2))
DT = 2e-3


def built(*joints: Any) -> Robot:
    builder, parent = RobotBuilder("pendulum"), "world"
    for k, joint in enumerate(joints):
        builder.add(Body(f"link{k}", INERTIA), parent, joint, (0.1, 0.2, 0.3))
        parent = f"link{k}"
    return Robot.from_description(builder.description())


@pytest.fixture(scope="module")
def arm() -> Robot:
    return built(Joint.revolute((0, 1, 0)), Joint.revolute((1, 0, 0)))


@pytest.fixture(scope="module")
def ball() -> Robot:
    return built(Joint.floating(), Joint.spherical())


def start(robot: Robot) -> tuple[Array, Array]:
    return robot.random_configuration(rng=0), np.linspace(-1.0, 1.0, robot.nv)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
@pytest.mark.parametrize("stabilize", ["none", "baumgarte", "project", "partition"])
def test_a_free_four_bar_keeps_its_energy_and_its_loop(
    stabilize: str, integrator: str
) -> None:
    pytest.importorskip("scipy")
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    run = robot.simulate(
        q, qd, duration=0.5, stabilize=stabilize, integrator=integrator
    )
    assert run.times[-1] == pytest.approx(0.5)
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()
    assert run.residual.max() < (1e-7 if stabilize == "none" else 1e-9)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "implicit"])
def test_fixed_steps_are_those_of_a_rollout(ball: Robot, integrator: str) -> None:
    q, qd = start(ball)
    q = ball.normalize(q)
    tau = np.random.default_rng(1).normal(size=(20, ball.nv))
    run = ball.simulate(q, qd, tau, DT, integrator=integrator, every=4, start=1.0)
    same = ball.rollout(q, qd, tau, DT, integrator=integrator, every=4, start=1.0)
    np.testing.assert_allclose(run.q, same.q, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(run.times, same.times)


def test_adaptive_steps_agree_with_short_fixed_ones(ball: Robot) -> None:
    q, qd = start(ball)
    tau = np.linspace(-0.5, 0.5, ball.nv)
    fixed = ball.simulate(q, qd, tau, 5e-4, duration=0.2)
    run = ball.simulate(q, qd, tau, 5e-4, duration=0.2, integrator="adaptive")
    np.testing.assert_allclose(run.times, fixed.times)
    np.testing.assert_allclose(run.q, fixed.q, atol=1e-9)
    np.testing.assert_allclose(run.work, fixed.work, atol=1e-9)
    np.testing.assert_allclose(ball.normalize(run.q), run.q, atol=1e-15)
    rows = [0.05, 0.1, 0.1234]
    some = ball.simulate(q, qd, tau, integrator="adaptive", times=rows)
    np.testing.assert_array_equal(some.times, rows)
    np.testing.assert_allclose(some.q[1], fixed.q[200], atol=1e-9)
    np.testing.assert_allclose(some.q[2], fixed.at(0.1234)[0], atol=1e-9)


def test_the_error_of_adaptive_steps_follows_the_tolerance(ball: Robot) -> None:
    q, qd = start(ball)
    options: dict[str, Any] = {"integrator": "adaptive", "times": [1.0], "dt": 1.0}
    best = ball.simulate(q, 10 * qd, rtol=1e-12, atol=1e-13, **options).q
    errors = [
        float(
            np.abs(ball.simulate(q, 10 * qd, rtol=r, atol=r, **options).q - best).max()
        )
        for r in (1e-4, 1e-7)
    ]
    assert 1e-9 < errors[1] < 1e-5
    assert 1e-6 < errors[0] < 1e-2


# ------------------------------------------------------------ joint forces


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_a_torque_of_time_is_followed_within_a_step(
    arm: Robot, integrator: str
) -> None:
    def torque(time: Any) -> Any:
        return np.array([3.0, 1.0]) * ramidyn.math.sin(20.0 * time)

    q, qd = start(arm)
    options: dict[str, Any] = {"integrator": integrator, "duration": 0.2}
    runs = [arm.simulate(q, qd, torque, dt, **options) for dt in (4e-3, 2e-3, 1e-3)]
    ends = [run.q[-1] for run in runs]
    errors = [float(np.abs(end - ends[-1]).max()) for end in ends[:2]]
    assert errors[0] < 1e-6
    if integrator == "rk4":  # of order four; held, it would be of order one
        assert errors[0] > 10.0 * errors[1]
    held = arm.simulate(q, qd, policy=torque, dt=4e-3, duration=0.2)
    assert np.abs(held.q[-1] - ends[-1]).max() > 1e-3


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_a_controller_is_called_at_its_own_rate(arm: Robot, integrator: str) -> None:
    calls: list[float] = []

    def pd(time: float, q: Array, qd: Array) -> Array:
        calls.append(time)
        return -4.0 * q - 0.5 * qd

    q, qd = start(arm)
    options: dict[str, Any] = {"dt": DT, "duration": 0.1, "integrator": integrator}
    run = arm.simulate(
        q, qd, controller=pd, control_dt=5 * DT, every=2, record=("tau",), **options
    )
    np.testing.assert_allclose(calls, 5 * DT * np.arange(10), atol=1e-15)
    np.testing.assert_allclose(run.times, 2 * DT * np.arange(26))
    # The same by hand: tau per step, from the states at the ticks.
    now, rows = (q, qd), [q]
    taus: list[Array] = []
    for _ in range(10):
        tau = -4.0 * now[0] - 0.5 * now[1]
        part = arm.rollout(*now, tau, DT, steps=5, integrator="rk4")
        now = part.q[-1], part.qd[-1]
        rows.extend(part.q[1:])
        taus.extend([tau] * 5)
    tolerance = 1e-13 if integrator == "rk4" else 1e-8
    np.testing.assert_allclose(run.q, np.array(rows)[::2], atol=tolerance)
    np.testing.assert_allclose(run.tau[:-1], np.array(taus)[::2], atol=30 * tolerance)
    again = arm.simulate(q, qd, np.array(taus), **options)
    np.testing.assert_allclose(again.q[::2], run.q, atol=tolerance)


def test_a_controller_may_keep_what_it_gets_and_count(arm: Robot) -> None:
    seen: list[Array] = []

    def controller(_time: float, q: Array, _qd: Array) -> list[float]:
        seen.append(q)
        q += 100.0
        return [0.0, 0.0]

    q, qd = start(arm)
    run = arm.simulate(q, qd, controller=controller, duration=0.01)
    np.testing.assert_allclose(np.array(seen) - 100.0, run.q[:-1], atol=1e-12)
    assert run.q[-1].max() < 10.0


def test_forces_with_inputs_get_them(arm: Robot) -> None:
    robot = arm.add_force(Motor(arm.joint_names[0]), name="m")
    q, qd = start(arm)
    u = np.linspace(0.0, 1.0, 10)[:, None]
    run = robot.simulate(q, qd, inputs={"control": u}, record=("qdd",))
    same = arm.simulate(q, qd, u * [1.0, 0.0], record=("qdd",))
    np.testing.assert_allclose(run.q, same.q, atol=1e-13)
    slow = robot.simulate(q, qd, inputs={"control": u}, integrator="adaptive")
    np.testing.assert_allclose(slow.q, same.q, atol=1e-9)


# ------------------------------------------------------------ ends and events


def fall(**options: Any) -> ramidyn.Run:
    robot = built(Joint.prismatic((0, 0, 1)))
    return robot.simulate([0.0], [5.0], duration=2.0, **options)


LANDS = 2 * 5.0 / 9.81


def test_a_landing_is_located_to_the_last_digits() -> None:
    run = fall(integrator="adaptive", until=lambda q: q[0] < 0.0)
    assert float(run.ended) == pytest.approx(LANDS, abs=1e-9)
    assert run.times[-1] == run.ended
    assert run.q[-1, 0] == pytest.approx(0.0, abs=1e-9)
    assert run.qd[-1, 0] == pytest.approx(-5.0, abs=1e-8)
    assert len(run.times) == len(run.energy) == int(LANDS / 1e-3) + 2
    fixed = fall(until=lambda q: q[0] < 0.0)
    assert fixed.ended == fixed.times[-1]
    assert 0.0 < fixed.times[-1] - LANDS < 1e-3
    assert fixed.q[-1, 0] < 0.0 < fixed.q[-2, 0]
    never = fall(integrator="adaptive", until=lambda q: q[0] < -100.0)
    assert np.isinf(never.ended)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_zero_crossings_are_located_between_rows(integrator: str) -> None:
    events = {
        "lands": lambda q: q[0],
        "apex": lambda qd: qd[0],
        "tick": lambda time: ramidyn.math.sin(np.pi * time / 0.3),
        "height": lambda q, h: q[0] - h,
    }
    run = fall(integrator=integrator, events=events, dt=0.01, inputs={"h": 1.0})
    np.testing.assert_allclose(run.events["lands"], [LANDS], atol=1e-9)
    np.testing.assert_allclose(run.events["apex"], [LANDS / 2], atol=1e-9)
    np.testing.assert_allclose(run.events["tick"], 0.3 * np.arange(1, 7), atol=1e-9)
    root = np.sqrt(25.0 - 2 * 9.81)
    heights = (5.0 - root) / 9.81, (5.0 + root) / 9.81
    np.testing.assert_allclose(run.events["height"], heights, atol=1e-9)
    assert "lands" in repr(run)


# ------------------------------------------------------------ bad input


@pytest.mark.filterwarnings("ignore:.*too long for this motion")
def test_a_run_that_drifts_says_so() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 20.0)
    message = (
        r"robot 'four_bar': \|Φ\| reaches .* with stabilize='none'; 'project' or a"
    )
    with pytest.warns(ModelWarning, match=message):
        robot.simulate(q, qd, dt=0.01, duration=0.5, stabilize="none")


def test_a_state_that_blows_up_keeps_what_came_before(arm: Robot) -> None:
    robot = arm.add_force(JointDamper(arm.joint_names[0], 1e5))
    q, qd = start(arm)
    message = r"the state is not finite from t = 0\.\d+ s on; a shorter dt may help"
    with pytest.warns(RuntimeWarning, match=message):
        run = robot.simulate(q, qd, dt=1e-3, duration=0.5)
    assert np.isfinite(run.q[:3]).all()
    assert list(run.diverged) == [0]


def test_an_adaptive_run_that_cannot_go_on_keeps_what_came_before(arm: Robot) -> None:
    def torque(time: Any) -> Any:
        return np.array([1.0, 0.0]) / (0.05 - time) ** 2

    q, qd = start(arm)
    with pytest.warns(RuntimeWarning, match=r"not finite from t = 0\.05\d* s on"):
        run = arm.simulate(q, qd, torque, duration=0.1, integrator="adaptive")
    assert np.isfinite(run.q[:49]).all()
    assert not np.isfinite(run.q[60:]).any()
    assert not np.isfinite(run.energy[60:]).any()


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"dt": 0.0}, ArgumentError, "dt is 0.0; expected a positive number of seconds"),
    ({"dt": -1e-3}, ArgumentError, "dt is -0.001; expected a positive number"),
    ({"dt": np.nan}, ArgumentError, "dt is nan; expected a positive number of"),
    ({"qd": [np.nan, 0.0]}, ShapeError, "qd is .*nan.*; expected 2 finite numbers"),
    ({"tau": [np.nan, 0.0]}, ArgumentError, r"tau has nan at \(0,\); expected numbers"),
    ({"tau": np.zeros(3)}, ShapeError, r"tau has shape \(3,\); expected \(2,\), \(ste"),
    (
        {"tau": np.zeros((7, 2)), "duration": 0.01},
        ArgumentError,
        r"steps is 10; tau has 7 of shape \(7, 2\)",
    ),
    ({"duration": 0.0}, ArgumentError, "duration is 0.0; expected a positive number"),
    (
        {"duration": 1.5e-3},
        ArgumentError,
        "duration is 0.0015 s, which is 1.5 steps of dt = 0.001 s; expected a whole",
    ),
    ({"integrator": "x"}, ArgumentError, "integrator is 'x'; possible: 'semi_implicit"),
    ({"stabilize": "x"}, ArgumentError, "stabilize is 'x'; possible: 'none', 'baumg"),
    (
        {"policy": lambda q, target: q - target},
        ArgumentError,
        "policy asks for 'target', which is not given; pass inputs={'target': ...}",
    ),
    (
        {"tau": lambda t: t},
        ArgumentError,
        "tau asks for 't', which is not given; pass inputs={'t': ...}, or memory= with",
    ),
    ({"policy": lambda q: float(q[0])}, TraceError, "a symbol is not a number yet"),
    ({"tau": lambda time: [time]}, ArgumentError, r"tau returns shape \(1,\); expect"),
    (
        {"events": {"hit": lambda z: z}},
        ArgumentError,
        "event 'hit' asks for 'z', which is not given",
    ),
    (
        {"events": {"hit": lambda q: q}},
        ArgumentError,
        r"event 'hit' returns shape \(2,\); expected \(\)",
    ),
    (
        {"record": {"hand": lambda q: ROBOT.pose(q, "hand")}},
        ramidyn.UnknownName,
        "no frame 'hand' in robot 'pendulum'. All 3: 'link0'",
    ),
    ({"record": ["torque"]}, ArgumentError, "record has 'torque'; possible: 'qdd', 't"),
    (
        {"policy": lambda q: q, "controller": lambda _t, q, _qd: q},
        ArgumentError,
        "joint forces are given by policy and by controller; pass one of them",
    ),
    (
        {"controller": lambda _t, _q, _qd: [1.0]},
        ArgumentError,
        r"controller returned \[1.0\] at t = 0 s; expected \(2,\) finite numbers",
    ),
    (
        {"controller": lambda _t, q, _qd: q, "control_dt": 1.5e-3},
        ArgumentError,
        "control_dt is 0.0015 s, which is 1.5 steps of dt",
    ),
    (
        {"controller": lambda _t, q, _qd: np.nan * q},
        ArgumentError,
        r"controller returned array.* at t = 0 s; expected \(2,\) finite numbers",
    ),
    ({"controller": 5}, ArgumentError, r"controller is 5; expected a function of \(ti"),
    (
        {"controller": lambda q: q},
        ArgumentError,
        r"controller: too many positional arguments; expected a function of \(time, q,",
    ),
    ({"control_dt": 0.01}, ArgumentError, "control_dt is given without a controller"),
    ({"events": [1]}, ArgumentError, r"events is \[1\]; expected a dictionary of func"),
    ({"events": {"hit": 1}}, ArgumentError, "events has 'hit': 1; expected a function"),
    ({"q": "here"}, ShapeError, "q is 'here'; expected real numbers"),
    (
        {"inputs": {"x": np.zeros((2, 10, 1))}, "policy": lambda x: x},
        ShapeError,
        r"x has shape \(2, 10, 1\); expected a number, \(n,\), \(steps, n\); for",
    ),
    (
        {"parameters": {"gravity": np.zeros((5, 3))}},
        ShapeError,
        r"parameters has 'gravity' of shape \(5, 3\); expected \(3,\)$",
    ),
    ({"damping": "x"}, ArgumentError, "damping is 'x'; expected a number, 0 or more"),
    ({"duration": 10**400}, ArgumentError, r"duration is 10+\.\.\. .* expected a pos"),
    ({"rtol": 1e-6}, ArgumentError, "rtol is for integrator='adaptive', and integrat"),
    (
        {"rtol": 0.0, "integrator": "adaptive"},
        ArgumentError,
        "rtol is 0.0; expected a number between 0 and 1",
    ),
    (
        {"times": [0.2, 0.1], "integrator": "adaptive"},
        ArgumentError,
        r"times is \[0.2, 0.1\]; expected increasing numbers from start = 0 on",
    ),
    (
        {"times": [0.1], "duration": 1.0, "integrator": "adaptive"},
        ArgumentError,
        "duration and times are both given; pass one of them",
    ),
]
ROBOT = built(Joint.revolute((0, 1, 0)), Joint.revolute((1, 0, 0)))


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_bad_input_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ROBOT.simulate(**{"q": [0.1, 0.2], **options})


def test_one_state_is_simulated_and_batches_are_rolled_out() -> None:
    message = r"q has shape \(3, 2\); simulate takes one state of shape \(2,\); rollout"
    with pytest.raises(ShapeError, match=message):
        ROBOT.simulate(np.zeros((3, 2)))


def test_a_missing_scipy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    original: Any = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("scipy"):
            raise ImportError(name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    message = "integrator='adaptive' needs scipy: pip install scipy"
    with pytest.raises(ArgumentError, match=message):
        ROBOT.simulate([0.1, 0.2], integrator="adaptive")


@pytest.mark.parametrize(
    "options",
    [
        {"integrator": "rk4"},
        {"integrator": "adaptive"},
        {"controller": lambda _t, _q, qd: -qd},
    ],
    ids=["fixed", "adaptive", "controller"],
)
@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_an_interrupt_is_answered_at_once(options: dict[str, Any]) -> None:
    ROBOT.simulate([0.1, 0.2], duration=0.01, **options)  # compiled before the clock
    asked: list[float] = []

    def interrupt() -> None:
        asked.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ROBOT.simulate([0.1, 0.2], duration=1e5, every=10**5, **options)
    assert time.perf_counter() - asked[0] < 2.0  # a loaded machine; milliseconds else


def test_a_run_without_callbacks_enters_native_code_as_often_however_long_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = [0]
    original = LoopCall.run

    def counted(*arguments: Any) -> Any:
        calls[0] += 1
        return original(*arguments)

    monkeypatch.setattr(LoopCall, "run", counted)
    monkeypatch.setattr(CompiledStep, "is_examined", lambda *_: False)
    found: list[int] = []
    for duration in (1.0, 20.0):
        calls[0] = 0
        ROBOT.simulate([0.1, 0.2], dt=1e-3, duration=duration, every=10)
        found.append(calls[0])
    assert found[0] == found[1] > 0


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_events_that_never_happen_have_no_times(arm: Robot, integrator: str) -> None:
    q, qd = np.zeros(2), np.array([1.0, 0.0])
    run = arm.simulate(
        q,
        qd,
        duration=0.02,
        integrator=integrator,
        events={"never": lambda q: q[0] + 10.0, "at the start": lambda q: q[0]},
    )
    assert {name: x.shape for name, x in run.events.items()} == {
        "never": (0,),
        "at the start": (0,),
    }


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_inputs_may_have_the_names_that_a_step_uses_inside(
    arm: Robot, integrator: str
) -> None:
    def policy(qd: Any, start: Any, count: Any, y: Any, w: Any = 2.0) -> Any:
        return start + count * qd + y * w

    inputs = {"start": np.array([0.5, 0.0]), "count": -0.1, "y": np.array([0.0, 0.2])}
    q, qd = start(arm)
    options: dict[str, Any] = {"duration": 0.02, "integrator": integrator}
    run = arm.simulate(
        q, qd, policy=policy, inputs=inputs, record="tau", start=7.0, **options
    )
    expected = inputs["start"] - 0.1 * run.qd + 2.0 * inputs["y"]
    np.testing.assert_allclose(run.tau, expected, atol=1e-14)


def test_a_function_is_not_given_what_it_did_not_ask_for() -> None:
    robot, (q, qd) = four_bar(), Planar("four_bar").state(0.3, 1.0)

    def spread(q: Any, w: Any = 3.0, x: Any = 4.0, count: Any = 5.0) -> Any:
        return q[0] + w + x + count

    for integrator in ("rk4", "adaptive"):
        run = robot.simulate(
            q,
            qd,
            duration=0.01,
            integrator=integrator,
            stabilize="partition",
            record={"spread": spread},
        )
        np.testing.assert_allclose(run.spread, run.q[:, 0] + 12.0, atol=1e-14)
