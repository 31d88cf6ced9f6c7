"""Fixed steps that are too long for a motion are named, and others are not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array
from ramidyn.forces import JointDamper, JointFriction, JointSpring
from ramidyn.robot import Robot
from ramidyn.simulation.step_length import shorter
from support.planar import Planar, four_bar

Start = tuple[Robot, Array, Array]


def rod(speed: float) -> Start:
    """Return a rod on a ball joint that spins about all of its axes."""
    b = RobotBuilder("rod")
    inertia = Inertia.from_box(1.0, (1.0, 0.02, 0.02), at=(0.5, 0.0, 0.0))
    b.add(Body("rod", inertia), "world", Joint.spherical())
    robot = Robot.from_description(b.description())
    return robot, robot.neutral(), speed * np.array([0.3, 1.0, 0.2])


def linkage(speed: float) -> Start:
    return four_bar(), *Planar("four_bar").state(0.3, speed)


def sprung(stiffness: float) -> Start:
    b = RobotBuilder("sprung")
    inertia = Inertia.from_box(1.0, (1.0, 0.02, 0.02), at=(0.5, 0.0, 0.0))
    b.add(Body("rod", inertia), "world", Joint.revolute((0, 1, 0), name="hinge"))
    robot = Robot.from_description(b.description())
    robot = robot.add_force(JointSpring("hinge", stiffness))
    return robot.add_force(JointDamper("hinge", 1.0)), np.array([0.3]), np.zeros(1)


def humanoid() -> Start:
    robot = ramidyn.robots.humanoid30("plain")
    rng = np.random.default_rng(0)
    return robot, robot.random_configuration(rng), rng.normal(size=robot.nv)


def still() -> Start:
    robot, q, qd = sprung(100.0)
    at_rest = robot.simulate(q, qd, dt=1e-3, duration=20.0, every=20000).q[-1]
    return robot, at_rest, qd


LONG: dict[str, tuple[Callable[[], Start], dict[str, Any]]] = {
    "fast rod": (lambda: rod(600.0), {}),
    "fast rod, first order": (
        lambda: rod(100.0),
        {"integrator": "semi_implicit_euler"},
    ),
    "fast linkage": (lambda: linkage(100.0), {}),
    "fast linkage, partition": (lambda: linkage(100.0), {"stabilize": "partition"}),
    "coarse rows": (lambda: rod(600.0), {"every": 20}),
    "stiff spring": (lambda: sprung(2e5), {}),
}
SHORT: dict[str, tuple[Callable[[], Start], dict[str, Any]]] = {
    "rod": (lambda: rod(50.0), {}),
    "rod, first order": (lambda: rod(5.0), {"integrator": "semi_implicit_euler"}),
    "linkage": (lambda: linkage(5.0), {}),
    "linkage, baumgarte": (lambda: linkage(5.0), {"stabilize": "baumgarte"}),
    "humanoid": (humanoid, {}),
    "humanoid, first order": (humanoid, {"integrator": "implicit"}),
    "spring": (lambda: sprung(1e3), {}),
    "at rest": (still, {}),
    "one row": (lambda: rod(50.0), {"every": 500}),
}


@pytest.mark.parametrize("name", LONG)
def test_steps_that_are_too_long_are_named_with_a_better_one(name: str) -> None:
    make, options = LONG[name]
    robot, q, qd = make()
    with pytest.warns(RuntimeWarning, match="is too long for this motion") as seen:
        run = robot.simulate(q, qd, duration=0.5, **options)
    assert np.isfinite(run.q).all()
    [told] = [str(w.message) for w in seen if "too long" in str(w.message)]
    found = re.search(r"use dt=(\S+) or integrator=", told)
    assert found
    better = float(found[1])
    assert better < 1e-3
    # What it says to use is short enough.
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*too long")
        robot.simulate(q, qd, dt=better, duration=0.5, **options)


@pytest.mark.parametrize("name", SHORT)
def test_ordinary_steps_pass_without_a_word(name: str) -> None:
    make, options = SHORT[name]
    robot, q, qd = make()
    robot.simulate(q, qd, duration=0.5, **options)  # warnings are errors


@pytest.mark.parametrize("name", LONG)
def test_rollouts_warn_as_simulations_do(name: str) -> None:
    make, options = LONG[name]
    robot, q, qd = make()
    options = {"integrator": "rk4", "steps": 500, **options}
    with pytest.warns(RuntimeWarning, match="is too long for this motion") as seen:
        robot.rollout(q, qd, **options)
    assert seen[0].filename == __file__
    assert "adaptive" not in str(seen[0].message)  # rollout does not have it


@pytest.mark.parametrize("name", SHORT)
def test_ordinary_rollouts_pass_without_a_word(name: str) -> None:
    make, options = SHORT[name]
    robot, q, qd = make()
    robot.rollout(q, qd, **{"integrator": "rk4", "steps": 500, **options})


def test_one_fast_state_of_a_batch_is_enough() -> None:
    robot, q, qd = rod(50.0)
    states = np.tile(q, (3, 1)), np.stack([qd, 20.0 * qd, qd])
    tau = np.random.default_rng(0).normal(size=(3, 200, 3))
    with pytest.warns(RuntimeWarning, match="too long"):
        robot.rollout(*states, tau, integrator="rk4")
    robot.rollout(*(x[::2] for x in states), tau[::2], integrator="rk4")


def test_states_that_end_or_start_again_are_not_taken_for_wrong() -> None:
    robot, q, qd = rod(5.0)
    states, speeds = np.tile(q, (4, 1)), np.outer([1.0, 2.0, 0.0, -1.0], qd)
    for restart in (False, True):
        run = robot.rollout(
            states,
            speeds,
            integrator="rk4",
            steps=300,
            until=lambda q: q[3] < 0.9,
            restart=restart,
        )
        assert (np.isfinite(run.ended) & (run.ended > 0)).any()


def stuck(transition: float) -> Start:
    """Return a rod that friction holds against gravity, soon after the start."""
    b = RobotBuilder("stuck")
    inertia = Inertia.from_box(1.0, (1.0, 0.02, 0.02), at=(0.5, 0.0, 0.0))
    b.add(Body("rod", inertia), "world", Joint.revolute((0, 1, 0), name="hinge"))
    robot = Robot.from_description(b.description())
    friction = JointFriction("hinge", 10.0, transition)
    return robot.add_force(friction), np.array([0.0]), np.array([1.0])


def advice(run: Callable[..., Any], *state: Any, **options: Any) -> str:
    with pytest.warns(RuntimeWarning, match="too long") as seen:
        run(*state, **options)
    return str(seen[0].message).partition("at the end; ")[2]


@pytest.mark.parametrize("transition", [1e-3, 1e-6])
@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_only_integrators_that_can_are_recommended(
    integrator: str, transition: float
) -> None:
    pytest.importorskip("scipy")
    robot, *state = stuck(transition)
    told = advice(robot.simulate, *state, duration=1.0, integrator=integrator)
    names = re.findall("'([^']+)'", told)
    assert names == (["implicit", "adaptive"] if transition == 1e-3 else [])
    for name in names:
        robot.simulate(*state, duration=1.0, integrator=name)  # warnings are errors


def test_forces_that_no_step_can_follow_are_named() -> None:
    robot, *state = stuck(1e-6)
    told = advice(robot.rollout, *state, steps=1000, integrator="rk4")
    assert told == "steps of 5e-06 s are too long as well: some force is very stiff"


def test_a_faster_rod_is_not_sent_to_an_integrator_that_fails_too() -> None:
    robot, *state = rod(600.0)
    options: dict[str, Any] = {"steps": 500, "integrator": "semi_implicit_euler"}
    assert "rk4" not in advice(robot.rollout, *state, **options)


def test_the_warning_points_at_the_call() -> None:
    robot, q, qd = rod(600.0)
    with pytest.warns(RuntimeWarning, match="too long") as seen:
        robot.simulate(q, qd, duration=0.1)
    assert seen[0].filename == __file__


def test_the_estimate_is_the_error_of_the_run() -> None:
    robot, q, qd = rod(600.0)
    with pytest.warns(RuntimeWarning, match="too long") as seen:
        run = robot.simulate(q, qd, duration=0.5)
    exact = robot.simulate(q, qd, duration=0.5, dt=1e-4)
    off = robot.kinetic_energy(run.q[-1], run.qd[-1] - exact.qd[-1])
    error = np.sqrt(off / robot.kinetic_energy(q, qd))
    found = re.search(r"off by about (\S+) of the largest", str(seen[0].message))
    assert found
    assert 0.2 * error < float(found[1]) < 5.0 * error


@pytest.mark.parametrize(("speed", "is_named"), [(1500.0, True), (20.0, False)])
def test_runs_under_a_policy_are_judged_by_their_energy(
    speed: float, is_named: bool
) -> None:
    robot, q, qd = rod(speed)

    def policy(qd: Any) -> Any:
        return -1e-3 * qd

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        robot.simulate(q, qd, policy=policy, duration=0.5)
    assert bool(seen) == is_named


def test_steps_are_rounded_down() -> None:
    given = (1e-3, 7.3e-4, 2.1e-4, 1.99e-4, 5e-5)
    assert [shorter(x) for x in given] == pytest.approx([1e-3, 5e-4, 2e-4, 1e-4, 5e-5])
