"""What a motion keeps: energy, momentum, and the balance of energy and work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array
from ramidyn.forces import JointDamper, JointSpring, Motor, PointSpring
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run
from support.planar import Planar, four_bar

Start = tuple[Robot, Array, Array]
INERTIA = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.05, 0.2))


def free(gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> Start:
    """Return three bodies in the air, on a ball joint and on a hinge."""
    b = RobotBuilder("free", gravity=gravity)
    b.add(Body("base", INERTIA), "world", Joint.floating())
    b.add(Body("arm", INERTIA), "base", Joint.spherical(), (0.2, 0.1, 0.0))
    hinge = Joint.revolute((0, 1, 0), name="hinge")
    b.add(Body("hand", INERTIA), "arm", hinge, (0.3, 0, 0.1))
    robot = Robot.from_description(b.description())
    q = robot.normalize(robot.random_configuration(rng=0))
    return robot, q, 3.0 * np.random.default_rng(1).normal(size=robot.nv)


def linkage() -> Start:
    return four_bar(), *Planar("four_bar").state(0.3, 12.0)


def damped(start: Callable[[], Start]) -> Start:
    """Return a robot with springs, dampers and a motor."""
    robot, q, qd = start()
    name = robot.joint_names[-1]
    for force in (JointSpring(name, 5.0), JointDamper(name, 0.2)):
        robot = robot.add_force(force)
    body = robot.body_names[-1]
    spring = PointSpring("world", body, 20.0, 0.5, 0.1, point_a=(0.3, 0.2, 0.4))
    return robot.add_force(spring), q, qd


STARTS = {"tree": free, "loop": linkage}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("tree", {}),
    "loop, projected": ("loop", {"stabilize": "project"}),
    "loop, partitioned": ("loop", {"stabilize": "partition"}),
    "loop, baumgarte": ("loop", {"stabilize": "baumgarte"}),
}
DAMPED = {name: damped(start) for name, start in STARTS.items()}
FREE = {name: start() for name, start in STARTS.items()}


def balance(run: Run) -> Array:
    """Return the energy that no work explains."""
    return run.energy - run.work - run.recorded.get("element_work", 0.0)


def swing(time: Any, n: int) -> Any:
    return np.array([ramidyn.math.sin(7.0 * time + k) for k in range(n)])


def errors(start: Start, steps: tuple[float, ...], **options: Any) -> list[float]:
    """Return how far the balance is off with each step."""
    robot, q, qd = start
    found: list[float] = []
    for dt in steps:
        run = robot.simulate(q, qd, dt=dt, duration=0.32, **options)
        found.append(float(np.ptp(balance(run)) / np.abs(run.energy).max()))
    return found


@pytest.mark.filterwarnings("ignore:.*too long for this motion")
@pytest.mark.filterwarnings("ignore:.*reaches .* with stabilize='baumgarte'")
@pytest.mark.parametrize("way", WAYS)
def test_energy_is_kept_to_the_fourth_order(way: str) -> None:
    name, options = WAYS[way]
    coarse, fine = errors(FREE[name], (8e-3, 4e-3), **options)
    assert fine < 1e-5
    assert coarse > 12.0 * fine  # 16 of a method of order four


@pytest.mark.filterwarnings("ignore:.*too long for this motion")
@pytest.mark.filterwarnings("ignore:.*reaches .* with stabilize='baumgarte'")
@pytest.mark.parametrize("way", WAYS)
def test_energy_balances_the_work_of_dampers_and_torques(way: str) -> None:
    name, options = WAYS[way]
    robot, _, _ = DAMPED[name]
    options = {**options, "tau": lambda time: swing(time, robot.nv)}
    coarse, fine = errors(DAMPED[name], (8e-3, 4e-3), **options)
    assert fine < 1e-5
    assert coarse > 12.0 * fine
    (exact,) = errors(DAMPED[name], (4e-3,), integrator="adaptive", **options)
    assert exact < 1e-8


@pytest.mark.filterwarnings("ignore:.*too long for this motion")
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit"])
def test_methods_of_order_one_balance_energy_to_that_order(integrator: str) -> None:
    coarse, fine = errors(DAMPED["tree"], (4e-4, 2e-4), integrator=integrator)
    assert 1.7 < coarse / fine < 2.4
    assert fine < 2e-2


def test_held_torques_do_the_work_that_is_recorded() -> None:
    robot, q, qd = DAMPED["tree"]
    robot = robot.add_force(Motor("hinge"), name="motor")
    run = robot.simulate(
        q,
        qd,
        policy=lambda qd: -0.3 * qd,
        dt=1e-3,
        duration=0.3,
        inputs={"control": np.array([0.5])},
    )
    assert np.ptp(balance(run)) < 1e-8 * np.ptp(run.energy)
    assert run.work[-1] < -0.1  # the policy brakes
    again = robot.simulate(
        q,
        qd,
        controller=lambda _t, _q, qd: -0.3 * qd,
        dt=1e-3,
        duration=0.3,
        inputs={"control": np.array([0.5])},
    )
    np.testing.assert_allclose(again.work, run.work, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*too long for this motion")
def test_a_free_system_keeps_its_momentum() -> None:
    robot, q, qd = free((0.0, 0.0, 0.0))
    found: list[float] = []
    for dt in (8e-3, 4e-3):
        run = robot.simulate(q, qd, dt=dt, duration=0.32)
        h = robot.centroidal_momentum(run.q, run.qd)
        found.append(float(np.abs(h - h[0]).max() / np.abs(h[0]).max()))
    assert found[1] < 1e-6
    assert found[0] > 12.0 * found[1]
    run = robot.simulate(q, qd, duration=0.32, integrator="adaptive")
    h = robot.centroidal_momentum(run.q, run.qd)
    np.testing.assert_allclose(h, np.broadcast_to(h[0], h.shape), atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*too long for this motion")
@pytest.mark.parametrize(
    ("integrator", "ratio"), [("rk4", 16.0), ("semi_implicit_euler", 2.0)]
)
def test_motions_converge_with_the_order_of_their_integrator(
    integrator: str, ratio: float
) -> None:
    robot, q, qd = FREE["tree"]
    exact = robot.simulate(q, qd, duration=0.16, integrator="adaptive", rtol=1e-12)
    off = [
        float(np.abs(robot.difference(run.q[-1], exact.q[-1])).max())
        for dt in (4e-3, 2e-3)
        for run in [robot.simulate(q, qd, dt=dt, duration=0.16, integrator=integrator)]
    ]
    assert 0.75 * ratio < off[0] / off[1] < 1.35 * ratio
