"""A run that continues another equals one run of all steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run

STEPS, HALF = 24, 12


@pytest.fixture(scope="module")
def robot() -> Robot:
    """A chain with a spring, whose elastic energy is part of what is recorded."""
    chain = ramidyn.robots.chain(3)
    spring = ramidyn.forces.JointSpring("joint1", 3.0, 0.4)
    return chain.add_force(spring, name="spring")


@pytest.fixture(scope="module")
def start(robot: Robot) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"q": rng.uniform(-1.0, 1.0, (5, robot.nq)), "qd": rng.normal(size=(5, 3))}


def assert_continues(first: Run, second: Run, whole: Run) -> None:
    """Assert that two runs are the two halves of one, to the bit."""
    for name in ("q", "qd", *whole.recorded):
        halves = getattr(first, name), getattr(second, name)
        joined = np.concatenate([halves[0], halves[1][..., 1:, :]], axis=-2)
        np.testing.assert_array_equal(joined, getattr(whole, name), err_msg=name)
    np.testing.assert_array_equal(second.times, whole.times[HALF:])
    for name, total in whole.totals.items():
        np.testing.assert_array_equal(second.totals[name], total, err_msg=name)
    for name, value in whole.end.values.items():
        np.testing.assert_array_equal(second.end.values[name], value, err_msg=name)


def options(**further: Any) -> dict[str, Any]:
    """Rows of two axes, so that all records have the same form."""

    def height(q: Any, time: Any) -> Any:
        return np.array([q[0] + time])

    records = {"height": height}
    return {"dt": 1e-2, "record": records, "total": {"cost": lambda q: q @ q}} | further


@pytest.mark.parametrize(
    "further",
    [
        {},
        {"integrator": "rk4"},
        {"dtype": "float32"},
        {"until": lambda q: q[0] > 0.2},
        {"until": lambda q: q[0] > 0.2, "restart": True},
        {"policy": lambda q, time: -q * time},
    ],
    ids=["euler", "rk4", "float32", "until", "restart", "policy"],
)
@pytest.mark.filterwarnings("ignore:.*too long:RuntimeWarning")
def test_a_continued_rollout_is_one_rollout(
    robot: Robot, start: dict[str, Any], further: dict[str, Any]
) -> None:
    shared = options(start=0.3, **further)
    whole = robot.rollout(**start, steps=STEPS, **shared)
    first = robot.rollout(**start, steps=HALF, **shared)
    second = robot.rollout(first.end, steps=HALF, **(shared | {"start": 0.0}))
    assert_continues(first, second, whole)
    if further.get("restart"):
        assert whole.ended.max() > first.ended.max() > 0


@pytest.mark.filterwarnings("ignore:.*too long:RuntimeWarning")
def test_work_goes_on_in_a_continued_simulation(robot: Robot) -> None:
    q, qd, brake = np.full(3, 0.3), np.ones(3), {"policy": lambda qd: -0.1 * qd}
    records = ["work", "element_work", "energy"]
    how = {"dt": 1e-2, "integrator": "rk4", "record": records, **brake}
    whole = robot.simulate(q, qd, duration=0.24, **how)
    first = robot.simulate(q, qd, duration=0.12, **how)
    second = robot.simulate(first.end, duration=0.12, **how)
    for name in records:
        joined = np.concatenate([getattr(first, name), getattr(second, name)[1:]])
        np.testing.assert_array_equal(joined, getattr(whole, name), err_msg=name)
    assert whole.element_work[0] == 0.0


@pytest.mark.filterwarnings("ignore:.*too long:RuntimeWarning")
def test_a_controller_goes_on_at_its_time(robot: Robot) -> None:
    times: list[float] = []

    def hold(time: float, q: Any, qd: Any) -> Any:
        times.append(time)
        return -q - 0.1 * qd

    how = {"dt": 1e-2, "integrator": "rk4", "controller": hold, "control_dt": 0.04}
    first = robot.simulate(np.full(3, 0.3), duration=0.12, **how)
    second = robot.simulate(first.end, duration=0.12, **how)
    np.testing.assert_allclose(times, 0.04 * np.arange(6))
    np.testing.assert_allclose(second.times, 0.12 + 1e-2 * np.arange(13))


def test_steps_of_another_length_go_on_at_the_same_time(
    robot: Robot, start: dict[str, Any]
) -> None:
    first = robot.rollout(**start, dt=1e-3, steps=HALF)
    second = robot.rollout(first.end, dt=5e-4, steps=4)
    np.testing.assert_allclose(second.times, 0.012 + 5e-4 * np.arange(5))
    np.testing.assert_array_equal(second.q[:, 0], first.q[:, -1])
    assert second.end.time == pytest.approx(0.014)


def test_an_adaptive_run_is_continued(robot: Robot) -> None:
    first = robot.simulate(np.full(3, 0.3), duration=0.1, integrator="adaptive")
    second = robot.simulate(first.end, duration=0.1, integrator="adaptive")
    assert second.times[0] == pytest.approx(0.1)
    np.testing.assert_array_equal(second.q[0], first.q[-1])


def test_files_keep_the_end(robot: Robot, start: dict[str, Any], tmp_path: Any) -> None:
    run = robot.rollout(**start, steps=HALF, **options())
    run.save(tmp_path / "run.npz")
    again = Run.load(tmp_path / "run.npz", robot)
    for name, value in run.end.values.items():
        np.testing.assert_array_equal(again.end.values[name], value, err_msg=name)
    assert (again.end.start, again.end.dt) == (run.end.start, run.end.dt)


def test_one_state_of_a_batch_is_continued(robot: Robot, start: dict[str, Any]) -> None:
    run = robot.rollout(**start, dt=1e-3, steps=HALF)
    both = robot.rollout(run.end, dt=1e-3, steps=4)
    alone = robot.rollout(run[3].end, dt=1e-3, steps=4)
    np.testing.assert_allclose(alone.q, both.q[3], rtol=0, atol=1e-14)
    assert repr(run.end) == "RunState: 5 states at t = 0.012 s; q, qd"


def test_what_the_state_has_is_not_given_twice(
    robot: Robot, start: dict[str, Any]
) -> None:
    end = robot.rollout(**start, dt=1e-3, steps=HALF).end
    with pytest.raises(ArgumentError, match="qd is given, and q is the end of a run"):
        robot.rollout(end, np.zeros(3), steps=1)
    with pytest.raises(ArgumentError, match="start is given, and q is the end of a"):
        robot.rollout(end, steps=1, start=2.0)
    with pytest.raises(ShapeError, match=r"q is the end of 5 motions; simulate contin"):
        robot.simulate(end)
    with pytest.raises(ArgumentError, match="end of a run with nq = 3, nv = 3; robot"):
        ramidyn.robots.chain(4).rollout(end, steps=1)
