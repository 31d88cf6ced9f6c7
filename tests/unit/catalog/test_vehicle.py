"""The plain vehicle: plausible sizes and masses, the same on both sides.

With springs and tires it stands on its wheels.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ramidyn.catalog.paper_robots import hmmwv
from ramidyn.catalog.vehicle import RADIUS
from ramidyn.description.builder import neutral_poses
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError
from ramidyn.quantities.applied import applied_forces
from ramidyn.quantities.closed_loops import constraint_jacobian, constraint_residual
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.quantities.frames import velocity
from ramidyn.robot import Robot
from support.states import value

PLAIN = hmmwv()
POSES = neutral_poses(PLAIN.bodies)
MASSES = {b.name: b.inertial.mass for b in PLAIN.bodies if b.inertial}


def wheel(name: str) -> Array:
    return POSES[f"{name}_wheel"].p


def test_the_plain_vehicle_has_the_size_and_mass_of_the_car() -> None:
    assert sum(MASSES.values()) == pytest.approx(2340.0)
    assert wheel("left_front")[0] - wheel("left_rear")[0] == pytest.approx(3.30)
    assert wheel("left_front")[1] - wheel("right_front")[1] == pytest.approx(1.82)
    assert 0.4 < RADIUS < 0.5
    for part, mass in {"spindle": 30, "wheel": 50, "upper_arm": 6}.items():
        assert MASSES[f"right_rear_{part}"] == mass


@pytest.mark.parametrize("name", [b.name for b in PLAIN.bodies])
def test_the_plain_vehicle_is_symmetric(name: str) -> None:
    swap = {"left": "right", "right": "left"}
    side, _, rest = name.partition("_")
    other = f"{swap[side]}_{rest}" if side in swap else name
    bodies = {b.name: b for b in PLAIN.bodies}
    mirror = np.diag([1.0, -1.0, 1.0])
    np.testing.assert_allclose(POSES[other].p, mirror @ POSES[name].p, atol=1e-15)
    here, there = bodies[name].inertial, bodies[other].inertial
    assert here is not None
    assert there is not None
    assert here.mass == there.mass
    np.testing.assert_allclose(there.com, mirror @ here.com, atol=1e-15)
    turned = mirror @ here.inertia @ mirror
    np.testing.assert_allclose(there.inertia, turned, atol=1e-12)


@pytest.mark.parametrize("loop", PLAIN.loops, ids=lambda x: x.name)
def test_loops_of_the_plain_vehicle_close_exactly_and_alike(loop) -> None:
    a, b = (
        (POSES[body] @ placement).p
        for body, placement in (
            (loop.body_a, loop.placement_a),
            (loop.body_b, loop.placement_b),
        )
    )
    length = np.linalg.norm(b - a)
    if loop.type == "distance":
        assert loop.length == pytest.approx(0.405, abs=1e-12)
        assert length == pytest.approx(loop.length, abs=1e-15)
    else:
        assert length < 1e-15


# ------------------------------------------------------------ with forces


@functools.cache
def car() -> Robot:
    return Robot.from_description(hmmwv(suspension=True, tires=True, steering=True))


WEIGHT = 2340 * 9.81


def on_the_ground(robot: Robot, q: Array, qd: Array) -> Array:
    """Return the force of all tires, in world axes."""
    tires = tuple(f.name for f in robot.forces if f.name.endswith("tire"))
    force = value(robot, applied_forces(forces=tires), q=q, qd=qd)
    return Pose.from_quaternion(q[3:7], order="xyzw").R @ force[:3]


def test_the_car_is_nearly_in_balance_at_neutral() -> None:
    robot = car()
    assert robot.nv == 27 + 4
    q, qd = robot.neutral(), np.zeros(robot.nv)
    assert on_the_ground(robot, q, qd)[2] == pytest.approx(WEIGHT, rel=0.01)
    forward = forward_dynamics(algorithm="loopwise")
    tau, control = np.zeros(robot.nv), np.zeros(1)
    qdd = value(robot, forward, q=q, qd=qd, tau=tau, control=control)
    assert np.abs(qdd[:6]).max() < 0.05
    np.testing.assert_allclose(qdd[[1, 3, 5]], 0.0, atol=1e-9)  # nothing sideways


def test_the_ground_may_rise_below_the_tires() -> None:
    def ground(x, y):  # noqa: ARG001
        return 0.01

    robot = car()
    raised = Robot.from_description(hmmwv(tires=True, ground=ground))
    q, still = raised.neutral(), np.zeros(raised.nv)
    more = on_the_ground(raised, q, still) - on_the_ground(robot, q, still)
    np.testing.assert_allclose(more, [0.0, 0.0, 4 * 380e3 * 0.01], atol=1e-6)
    with pytest.raises(ArgumentError, match="ground is below the tires; pass tires=T"):
        hmmwv(ground=ground)


def test_a_rack_to_the_left_steers_to_the_right() -> None:
    robot = car()
    q = robot.neutral()
    J = value(robot, constraint_jacobian, q=q)
    still = [*range(6), robot.joint("rack_joint").v_index]
    for end in ("left_front", "right_front", "left_rear", "right_rear"):
        still.append(robot.joint(f"{end}_lower").v_index)
        still.append(robot.joint(f"{end}_axle").v_index)
    known = np.zeros(robot.nv)
    known[robot.joint("rack_joint").v_index] = 1.0
    free = [k for k in range(robot.nv) if k not in still]
    known[free] = np.linalg.solve(J[:, free], -J @ known)
    for name in ("left_front_wheel", "right_front_wheel"):
        turn = velocity(name, expressed_in="local_world_aligned")
        assert value(robot, turn, q=q, qd=known)[5] < -1.0
    turn = velocity("left_rear_wheel", expressed_in="local_world_aligned")
    np.testing.assert_allclose(value(robot, turn, q=q, qd=known), 0.0, atol=1e-12)


@pytest.mark.slow
def test_the_car_comes_to_rest_on_its_wheels() -> None:
    integrate = pytest.importorskip("scipy.integrate", reason="needs SciPy")
    robot = car()
    tau, control = np.zeros(robot.nv), np.zeros(1)

    def rate(_: float, y: Array) -> Array:
        q, qd = y[: robot.nq], y[robot.nq :]
        qdd = robot.forward_dynamics(q, qd, tau, control=control)
        return np.concatenate([robot.configuration_rate(q, qd), qdd])

    q = robot.neutral()
    q[2] = 0.05  # dropped
    start = np.concatenate([q, np.zeros(robot.nv)])
    options = {"method": "DOP853", "rtol": 1e-6, "atol": 1e-6}
    run = integrate.solve_ivp(rate, (0.0, 5.0), start, **options)
    q, qd = run.y[: robot.nq, -1], run.y[robot.nq :, -1]
    assert np.abs(qd).max() < 1e-3
    assert np.abs(value(robot, constraint_residual, q=q)).max() < 1e-6
    forces = on_the_ground(robot, q, qd)
    np.testing.assert_allclose(forces, [0.0, 0.0, WEIGHT], atol=1e-4 * WEIGHT)
    assert abs(q[2]) < 0.01  # the ride height it was made for
    assert np.abs(q[3:6]).max() < 0.002
    assert np.abs(q[:2]).max() < 0.02


def test_forces_are_for_the_plain_vehicle() -> None:
    with pytest.raises(ArgumentError, match="need geometry='plain'; leave them out"):
        hmmwv("general", tires=True)
