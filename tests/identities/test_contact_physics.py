"""Rigid contact, hard limits and dry friction: known motions, each to its order."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np
import pytest

from ramidyn import contacts
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array
from ramidyn.errors import ModelWarning
from ramidyn.robot import Robot

G = 9.81
MU = 0.5
SOLVED = 1e-6
"""[m/s]: sweeps stop when they change velocities by a tenth of it"""


def floating(name: str, inertia: Inertia, **options: Any) -> Robot:
    builder = RobotBuilder(name)
    builder.add(Body(name, inertia), "world", Joint.floating())
    return builder.robot(**options)


@functools.cache
def box() -> Robot:
    """Return a box of 0.4 x 0.3 x 0.2 m on the floor z = 0."""
    plain = floating("box", Inertia.from_box(2.0, (0.4, 0.3, 0.2)))
    shape = contacts.ContactBox("box", (0.4, 0.3, 0.2), friction=MU)
    return plain.add_contact(shape, name="floor")


def tilted(robot: Robot, angle: float, **options: Any) -> Any:
    """Return the run of a box on the floor, in gravity that is tilted by an angle."""
    q = robot.neutral()
    q[2] = 0.1
    g = G * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    return robot.rollout(q, parameters={"gravity": g}, dt=1e-3, **options)


@pytest.mark.parametrize(
    ("share", "dtype", "most"),
    [
        (0.5, "float64", 1e-12),
        (0.9, "float64", 1e-12),
        pytest.param(0.9, "float32", 1e-8, marks=pytest.mark.slow),
    ],
)
def test_box_within_the_cone_does_not_creep(
    share: float, dtype: str, most: float
) -> None:
    run = tilted(box(), math.atan(share * MU), steps=10_000, every=1_000, dtype=dtype)
    assert np.abs(run.qd[1:, :3]).max() < most
    assert abs(run.q[-1, 0]) < 1e-6


def test_box_near_the_edge_of_the_cone_holds_its_place() -> None:
    run = tilted(box(), math.atan(0.99 * MU), steps=10_000, every=10_000)
    assert abs(run.q[-1, 0]) < 1e-8


@pytest.mark.slow
def test_box_beyond_the_cone_slides_by_coulombs_law() -> None:
    angle = math.atan(2.0 * MU)
    run = tilted(box(), angle, steps=1_000, every=1_000, record=["contact_states"])
    a = G * (math.sin(angle) - MU * math.cos(angle))
    assert run.qd[-1, 0] == pytest.approx(a * 1.0, rel=1e-8)
    assert set(run.contact_states[-1]) == {0.0, 2.0}


@pytest.mark.slow
def test_puck_stops_where_friction_takes_its_energy() -> None:
    v, errors = 2.0, []
    q = box().neutral()
    q[2] = 0.1
    for dt in (4e-3, 2e-3, 1e-3):
        steps = round(1.0 / dt)
        qd = np.array([v, 0.0, 0.0, 0.0, 0.0, 0.0])
        run = box().rollout(q, qd, dt=dt, steps=steps, every=steps)
        errors.append(abs(run.q[-1, 0] - v * v / (2.0 * MU * G)))
        assert np.abs(run.qd[-1]).max() < 1e-12
    ratios = np.array(errors[:-1]) / errors[1:]
    np.testing.assert_allclose(ratios, 2.0, rtol=0.1)


def ball(restitution: float, **options: Any) -> Robot:
    plain = floating("ball", Inertia.from_sphere(0.5, 0.1), **options)
    shape = contacts.ContactSphere("ball", 0.1, friction=0.3, restitution=restitution)
    return plain.add_contact(shape, name="floor")


def apexes(dt: float, restitution: float, heights: Array) -> Array:
    """Return how high balls bounce that fall from some heights."""
    robot, steps = ball(restitution), round(1.2 / dt)
    q = np.tile(robot.neutral(), (len(heights), 1))
    q[:, 2] = 0.1 + heights
    run = robot.rollout(q, dt=dt, steps=steps)
    has_landed = np.cumsum(run.qd[..., 2] > 0.0, axis=1) > 0
    return np.where(has_landed, run.q[..., 2], 0.0).max(axis=1) - 0.1


@pytest.mark.slow
def test_ball_bounces_to_the_square_of_its_restitution() -> None:
    heights = np.linspace(0.8, 1.0, 41)
    errors = [
        np.abs(apexes(dt, 0.8, heights) - 0.64 * heights).mean()
        for dt in (4e-3, 2e-3, 1e-3)
    ]
    assert errors[-1] < 2e-3
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 2.0, rtol=0.25)


def test_ball_without_restitution_stays_on_the_floor() -> None:
    robot = ball(0.0)
    q = robot.neutral()
    q[2] = 0.5
    run = robot.rollout(q, dt=1e-3, steps=1_000, record=["contact_forces"])
    assert run.q[:, 2].min() > 0.1 - 1e-9
    assert run.contact_forces[-1, 0] == pytest.approx([0.0, 0.0, 0.5 * G], abs=1e-9)


@pytest.mark.slow
def test_rolling_ball_keeps_rolling() -> None:
    # The velocity of a turning body along its own axes is less exact.
    robot = ball(0.0, conventions="mujoco")
    q = robot.neutral()
    q[2] = 0.1
    qd = np.array([1.0, 0.0, 0.0, 0.0, 10.0, 0.0])  # ω r = v
    run = robot.rollout(q, qd, dt=1e-3, steps=1_000, record=["contact_states"])
    assert run.q[-1, 0] == pytest.approx(1.0, abs=1e-6)
    assert run.q[:, 2] == pytest.approx(0.1, abs=2e-6)
    assert (run.contact_states == 1.0).all()


def cradle(restitution: float) -> Robot:
    """Return three balls on rails along x."""
    builder = RobotBuilder("cradle", (0.0, 0.0, 0.0))
    for k in range(3):
        body = Body(f"ball{k}", Inertia.from_sphere(1.0, 0.05))
        builder.add(body, "world", Joint.prismatic((1, 0, 0)), (0.1 * k, 0.0, 0.0))
    robot = builder.robot()
    for k in range(2):
        pair = contacts.SpherePair(
            f"ball{k}", f"ball{k + 1}", 0.05, 0.05, restitution=restitution
        )
        robot = robot.add_contact(pair, name=f"pair{k}")
    return robot


def test_newtons_cradle_keeps_momentum_and_energy() -> None:
    run = cradle(1.0).rollout([-0.01, 0.0, 0.0], [1.0, 0.0, 0.0], dt=1e-3, steps=50)
    np.testing.assert_allclose(run.qd[-1], [-1 / 3, 2 / 3, 2 / 3], atol=SOLVED)
    assert run.qd[-1].sum() == pytest.approx(1.0, abs=1e-12)
    assert run.qd[-1] @ run.qd[-1] == pytest.approx(1.0, abs=SOLVED)


@pytest.mark.slow
def test_plastic_cradle_keeps_momentum() -> None:
    run = cradle(0.0).rollout([-0.01, 0.0, 0.0], [1.0, 0.0, 0.0], dt=1e-3, steps=50)
    np.testing.assert_allclose(run.qd[-1], 1 / 3, atol=SOLVED)


def test_forces_under_a_table_sum_to_its_weight() -> None:
    table = floating("table", Inertia.from_box(12.0, (1.0, 0.8, 0.05)))
    for k, (x, y) in enumerate([(0.4, 0.3), (0.4, -0.3), (-0.4, 0.3), (-0.4, -0.3)]):
        leg = contacts.ContactPoint("table", (x, y, -0.7), friction=0.6)
        table = table.add_contact(leg, name=f"leg{k}")
    q = table.neutral()
    q[2] = 0.7
    run = table.rollout(q, dt=1e-3, steps=500, every=500, record=["contact_forces"])
    total = run.contact_forces[-1].sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, 12.0 * G], atol=1e-9)
    assert np.abs(run.qd[-1]).max() < 1e-12


def test_overlap_is_taken_apart_without_kinetic_energy() -> None:
    robot = ball(0.0)
    q = robot.neutral()
    q[2] = 0.05  # half a radius deep
    with pytest.warns(ModelWarning, match="'floor' overlaps by 0.05 m at the start"):
        run = robot.rollout(q, dt=1e-3, steps=200)
    assert np.abs(run.qd).max() <= 1e-4  # m/s, for the last micrometer
    assert run.q[-1, 2] == pytest.approx(0.1, abs=1.1e-6)


def pendulum(*elements: Any) -> Robot:
    builder = RobotBuilder("pendulum")
    body = Body("rod", Inertia.from_box(1.0, (0.02, 0.02, 0.5), at=(0, 0, -0.25)))
    builder.add(body, "world", Joint.revolute((0, 1, 0), limits=(-0.6, 0.4)))
    robot = builder.robot()
    for element in elements:
        robot = robot.add_contact(element)
    return robot


def test_hard_limits_are_not_passed() -> None:
    robot = pendulum(contacts.HardLimit("rod_joint"))
    run = robot.rollout([0.0], [8.0], dt=1e-3, steps=2_000)
    assert run.q.max() <= 0.4 + 1.1e-6
    assert run.q.min() >= -0.6 - 1.1e-6
    assert run.q.max() > 0.4 - 1e-7


@pytest.mark.slow
def test_limits_can_be_parameters_of_a_state() -> None:
    robot = pendulum(contacts.HardLimit("rod_joint", name="stop"))
    upper = np.array([0.1, 0.2, 0.3])
    run = robot.rollout(
        np.zeros((3, 1)), np.full((3, 1), 5.0), dt=1e-3, steps=100,
        parameters={"upper:stop": upper},
    )  # fmt: skip
    np.testing.assert_allclose(run.q.max(axis=(1, 2)), upper, atol=2e-6)


@pytest.mark.parametrize(("force", "is_held"), [(1.0, True), (0.1, False)])
def test_dry_friction_holds_a_pendulum(force: float, is_held: bool) -> None:
    robot = pendulum(contacts.DryFriction("rod_joint", force))
    run = robot.rollout([0.3], dt=1e-3, steps=1_000)  # weight: 0.72 N m
    assert (np.abs(run.q - 0.3).max() < 1e-12) == is_held


def test_dry_friction_slows_at_its_force() -> None:
    builder = RobotBuilder("slide", (0.0, 0.0, 0.0))
    body = Body("block", Inertia.from_box(2.0, (0.1, 0.1, 0.1)))
    builder.add(body, "world", Joint.prismatic((1, 0, 0)))
    robot = builder.robot().add_contact(contacts.DryFriction("block_joint", 3.0))
    run = robot.rollout([0.0], [1.0], dt=1e-3, steps=1_000)
    np.testing.assert_allclose(run.qd[500], 1.0 - 1.5 * 0.5, atol=1e-12)
    assert np.abs(run.qd[-1]).max() < 1e-15


@pytest.mark.slow
def test_friction_can_be_a_parameter_of_a_state() -> None:
    q = np.tile(box().neutral(), (2, 1))
    q[:, 2] = 0.1
    qd = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], (2, 1))
    mu = np.array([0.1, 0.3])
    run = box().rollout(
        q, qd, dt=1e-3, steps=200, every=200, parameters={"friction:floor": mu}
    )
    np.testing.assert_allclose(run.qd[:, -1, 0], 1.0 - mu * G * 0.2, rtol=1e-8)


@pytest.mark.slow
def test_ground_can_be_a_function() -> None:
    plain = floating("ball", Inertia.from_sphere(0.5, 0.1))
    slope = math.atan(0.1)
    shape = contacts.ContactSphere("ball", 0.1, height=lambda x, _y: 0.1 * x)
    robot = plain.add_contact(shape)
    q = robot.neutral()
    q[2] = 0.1 / math.cos(slope)
    run = robot.rollout(q, dt=1e-3, steps=500, every=500)
    a = -G * math.sin(slope)
    along = run.qd[-1, 0] * math.cos(slope) + run.qd[-1, 2] * math.sin(slope)
    assert along == pytest.approx(a * 0.5, rel=1e-6)


def chain(links: int) -> Robot:
    """Return a floating chain whose ends and knees are spheres."""
    builder = RobotBuilder("chain")
    parent, joint = "world", Joint.floating()
    for k in range(links):
        body = Body(f"link{k}", Inertia.from_capsule(0.3, 0.02, 0.2, at=(0.1, 0, 0)))
        builder.add(body, parent, joint, (0.0 if k == 0 else 0.2, 0.0, 0.0))
        parent, joint = f"link{k}", Joint.revolute((0, 1, 0))
    robot = builder.robot()
    for k in range(links):
        sphere = contacts.ContactSphere(f"link{k}", 0.02, friction=0.5)
        robot = robot.add_contact(sphere, name=f"knee{k}")
    tip = contacts.ContactSphere(f"link{links - 1}", 0.02, (0.2, 0, 0), friction=0.5)
    return robot.add_contact(tip, name="tip")


def energies(robot: Robot, q: Array, qd: Array) -> Array:
    return robot.kinetic_energy(q, qd) + robot.potential_energy(q)


@pytest.mark.slow
def test_chain_comes_to_rest_on_the_floor_and_gains_no_energy() -> None:
    robot = chain(5)
    q = robot.neutral()
    q[2], q[7:] = 0.3, [0.4, -0.5, 0.6, -0.3]
    run = robot.rollout(q, dt=1e-3, steps=3_000, record=["contact_forces"])
    E = energies(robot, run.q, run.qd)
    assert np.diff(E).max() < 1e-3 * (E[0] - E[-1])
    assert np.abs(run.qd[-1]).max() < 1e-6
    weight = run.contact_forces[-1, :, 2].sum()
    assert weight == pytest.approx(5 * 0.3 * G, rel=1e-4)


@pytest.mark.slow
def test_painleves_rod_does_not_blow_up() -> None:
    robot = floating("rod", Inertia.from_box(1.0, (0.02, 0.02, 1.0)))
    tip = contacts.ContactPoint("rod", (0.0, 0.0, -0.5), friction=3.0)
    robot = robot.add_contact(tip)
    for angle in (0.5, 0.8, 1.1):
        q = robot.neutral()
        q[2] = 0.5 * math.cos(angle)
        q[3:7] = [0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)]
        for speed in (-5.0, 5.0):
            qd = np.array(
                [speed * math.cos(angle), 0, speed * math.sin(angle), 0, 0, 0]
            )
            run = robot.rollout(q, qd, dt=1e-3, steps=300)
            E = energies(robot, run.q, run.qd)
            assert np.isfinite(run.qd).all()
            assert E.max() < E[0] + 1e-6 * abs(E[0])


@pytest.mark.slow
def test_state_does_not_depend_on_its_batch() -> None:
    robot, rng = box(), np.random.default_rng(3)
    q = np.tile(robot.neutral(), (13, 1))
    q[:, 2] = 0.3
    q = robot.integrate(q, rng.normal(size=(13, 6)) * [0, 0, 0, 0.4, 0.4, 0.4], 1.0)
    qd = rng.normal(size=(13, 6))
    qd[5, 4] = 1e300
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        run = robot.rollout(q, qd, dt=1e-3, steps=400, every=100)
    assert not np.isfinite(run.q[5, -1]).all()
    for k in (0, 4, 12):
        alone = robot.rollout(
            q[k : k + 1], qd[k : k + 1], dt=1e-3, steps=400, every=100
        )
        np.testing.assert_allclose(alone.q[0], run.q[k], atol=1e-9)


def test_run_goes_on_where_it_ended() -> None:
    robot = box()
    q = robot.integrate(robot.neutral(), np.array([0, 0, 0.2, 0.3, 0.2, 0]), 1.0)
    whole = robot.rollout(q, dt=1e-3, steps=400, every=200)
    first = robot.rollout(q, dt=1e-3, steps=200, every=200)
    second = robot.rollout(first.end, dt=1e-3, steps=200, every=200)
    np.testing.assert_array_equal(second.q[-1], whole.q[-1])
