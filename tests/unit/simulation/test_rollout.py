"""Rollouts are steps of forward dynamics and integrate, recorded as asked."""

from __future__ import annotations

import cProfile
import math
import pickle
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import ShapeError, TraceError
from ramidyn.algorithms.integrators import project
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.concurrency import KEPT, kept
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.robot import Robot
from ramidyn.simulation.traced_step import StepOptions, TracedStep
from support.planar import Planar, four_bar

INERTIA = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.2))
DT = 5e-3


def built(*joints: Any, **options: Any) -> Robot:
    builder, parent = RobotBuilder("pendulum"), "world"
    for k, joint in enumerate(joints):
        builder.add(Body(f"link{k}", INERTIA), parent, joint, (0.1, 0.2, 0.3))
        parent = f"link{k}"
    return Robot.from_description(builder.description(), **options)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return built(Joint.revolute((0, 1, 0)), Joint.revolute((1, 0, 0)))


@pytest.fixture
def start(robot: Robot, rng: np.random.Generator) -> tuple[Array, Array]:
    return robot.random_configuration(rng, batch=6), rng.normal(size=(6, robot.nv))


def by_hand(robot: Robot, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
    """Return the states of semi-implicit steps, called one by one."""
    found = [(q, qd)]
    for k in range(tau.shape[-2]):
        qd = qd + DT * robot.forward_dynamics(q, qd, tau[..., k, :])
        q = robot.integrate(q, qd, DT)
        found.append((q, qd))
    states, rates = zip(*found, strict=True)
    return np.stack(states, -2), np.stack(rates, -2)


def test_a_rollout_is_its_steps_one_by_one(
    robot: Robot, start: tuple[Array, Array], rng: np.random.Generator
) -> None:
    q, qd = start
    tau = rng.normal(size=(6, 10, 2))
    expected = by_hand(robot, q, qd, tau)
    run = robot.rollout(q, qd, tau, DT)
    assert run.q.shape == run.qd.shape == (6, 11, 2)
    np.testing.assert_allclose(run.times, DT * np.arange(11))
    np.testing.assert_allclose(run.q, expected[0], atol=1e-13)
    np.testing.assert_allclose(run.qd, expected[1], atol=1e-12)
    one = robot.rollout(q[2], qd[2], tau[2], DT)
    np.testing.assert_allclose(one.q, expected[0][2], atol=1e-13)
    rarely = robot.rollout(q, qd, tau, DT, every=5, start=2.0)
    np.testing.assert_array_equal(rarely.q, run.q[:, ::5])
    np.testing.assert_allclose(rarely.times, [2.0, 2.0 + 5 * DT, 2.0 + 10 * DT])
    held = robot.rollout(q, qd, tau[:, :1], DT, steps=10)
    again = by_hand(robot, q, qd, np.repeat(tau[:, :1], 10, 1))
    np.testing.assert_allclose(held.q, again[0], atol=1e-13)
    rest = robot.rollout(q, dt=DT, steps=3)
    still = by_hand(robot, q, 0.0 * qd, np.zeros((6, 3, 2)))
    np.testing.assert_allclose(rest.q, still[0], atol=1e-13)
    single = robot.rollout(q, qd, tau, DT, dtype="float32", threads=2)
    assert single.q.dtype == np.float32
    np.testing.assert_allclose(single.q, run.q, atol=1e-4)


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_halving_the_step_shows_the_order_of_the_integrator(conventions: str) -> None:
    robot = built(Joint.floating(), Joint.spherical(), conventions=conventions)
    q = robot.random_configuration(np.random.default_rng(5))
    qd = np.random.default_rng(6).normal(size=robot.nv)

    def end(integrator: str, steps: int) -> Array:
        dt = 0.4 / steps
        run = robot.rollout(
            q, qd, dt=dt, steps=steps, integrator=integrator, every=steps
        )
        return np.concatenate([run.q[-1], run.qd[-1]])

    exact = end("rk4", 512)
    for integrator, order in (("semi_implicit_euler", 1), ("rk4", 4)):
        errors = [np.abs(end(integrator, n) - exact).max() for n in (32, 64)]
        assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_a_free_motion_keeps_energy_and_momentum() -> None:
    robot = built(Joint.floating(), Joint.revolute((1, 1, 0)))
    rng = np.random.default_rng(3)
    q, qd = robot.random_configuration(rng, batch=3), rng.normal(size=(3, robot.nv))
    run = robot.rollout(
        q,
        qd,
        dt=2e-3,
        steps=200,
        integrator="rk4",
        record={"energy": "energy", "momentum": robot.centroidal_momentum},
        parameters={"gravity": np.zeros(3)},
        every=20,
    )
    assert run.energy.shape == (3, 11)
    assert run.momentum.shape == (3, 11, 6)
    assert np.ptp(run.energy, axis=1).max() < 1e-9
    assert np.ptp(run.momentum, axis=1).max() < 1e-8


def test_what_is_recorded_belongs_to_the_state_of_its_row(
    robot: Robot, start: tuple[Array, Array], rng: np.random.Generator
) -> None:
    q, qd = start
    tau = rng.normal(size=(12, 2))
    run = robot.rollout(
        q,
        qd,
        tau,
        DT,
        every=3,
        record={
            "qdd": "qdd",
            "tau": "tau",
            "energy": "energy",
            "tip": lambda q: robot.pose(q, "link1")[:3, 3],
            "clock": lambda time, scale: scale * time,
        },
        inputs={"scale": 2.0},
    )
    rows = np.vstack([tau[::3], tau[-1:]])
    np.testing.assert_array_equal(run.tau, np.broadcast_to(rows, (6, 5, 2)))
    for k in range(5):
        x, v = run.q[:, k], run.qd[:, k]
        energy = robot.kinetic_energy(x, v) + robot.potential_energy(x)
        np.testing.assert_allclose(run.energy[:, k], energy, atol=1e-12)
        found = robot.pose(x, "link1")[:, :3, 3]
        np.testing.assert_allclose(run.tip[:, k], found, atol=1e-13)
        qdd = robot.forward_dynamics(x, v, rows[k])
        np.testing.assert_allclose(run.qdd[:, k], qdd, atol=1e-10)
    np.testing.assert_allclose(run.clock, np.broadcast_to(2 * run.times, (6, 5)))


def pd(q: Any, qd: Any, target: Any, kp: float = 30.0) -> Any:
    return kp * (target - q) - 2.0 * qd


def effort(tau: Any, dt: Any) -> Any:
    return dt * (tau @ tau)


def test_a_policy_is_sampled_at_the_start_of_each_step(
    robot: Robot, start: tuple[Array, Array], rng: np.random.Generator
) -> None:
    q, qd = start
    targets = rng.normal(size=(6, 8, 2))
    options: dict[str, Any] = {"policy": pd, "inputs": {"target": targets}}
    run = robot.rollout(
        q, qd, dt=DT, record=("tau",), total={"cost": effort}, **options
    )
    for k in range(8):
        tau = pd(run.q[:, k], run.qd[:, k], targets[:, k])
        np.testing.assert_allclose(run.tau[:, k], tau, atol=1e-12)
    held = robot.rollout(q, qd, run.tau[:, :-1], DT)
    np.testing.assert_allclose(held.q, run.q, atol=1e-13)
    cost = DT * (run.tau[:, :-1] ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(run.cost, cost, rtol=1e-12)


def low(q: Any) -> Any:
    return q[0] < -0.5


def test_a_condition_ends_a_state_or_starts_it_again(robot: Robot) -> None:
    q = np.array([[0.0, 0.1], [0.2, 0.0], [0.4, 0.0]])
    qd = np.array([[-3.0, 0.0], [-20.0, 0.5], [0.0, 0.0]])
    free = robot.rollout(q, qd, dt=DT, steps=60)
    run = robot.rollout(q, qd, dt=DT, steps=60, until=low)
    for k in range(3):
        over = np.flatnonzero(free.q[k, 1:, 0] < -0.5) + 1
        end = int(over[0]) if len(over) else 60
        np.testing.assert_array_equal(run.q[k, : end + 1], free.q[k, : end + 1])
        assert (run.q[k, end:] == run.q[k, end]).all()
        expected = free.times[end] if len(over) else math.inf
        assert run.ended[k] == pytest.approx(expected)
    assert run.ended[1] < run.ended[0] < 0.3
    again = robot.rollout(q, qd, dt=DT, steps=60, until=low, restart=True)
    period = round(float(run.ended[1]) / DT)
    np.testing.assert_allclose(again.q[1, period : 2 * period], free.q[1, :period])
    assert again.ended[1] == 60 // period


def test_each_state_may_have_its_own_parameters(
    robot: Robot, start: tuple[Array, Array]
) -> None:
    q, qd = start
    gravity = np.array([[0.0, 0.0, -g] for g in range(6)])
    run = robot.rollout(q, qd, dt=DT, steps=5, parameters={"gravity": gravity})
    dynamics = ramidyn.compile(ramidyn.forward_dynamics, robot, parameters=["gravity"])
    for _ in range(5):
        qd = qd + DT * dynamics(q, qd, np.zeros(2), gravity)
        q = robot.integrate(q, qd, DT)
    np.testing.assert_allclose(run.q[:, -1], q, atol=1e-13)


def test_a_state_that_blows_up_is_named_and_leaves_the_others(
    robot: Robot, start: tuple[Array, Array]
) -> None:
    q, qd = start
    tau = np.zeros((6, 10, 2))
    expected = robot.rollout(q, qd, tau, DT)
    tau[4, 6:] = 1e308
    message = (
        r"robot 'pendulum': state 4 is not finite from t = 0.035 s on; a shorter dt"
    )
    with pytest.warns(RuntimeWarning, match=message):
        run = robot.rollout(q, qd, tau, DT)
    assert run.diverged.tolist() == [4]
    assert "; 1 diverged" in repr(run)
    rest = [0, 1, 2, 3, 5]
    np.testing.assert_array_equal(run.q[rest], expected.q[rest])
    np.testing.assert_array_equal(run.q[4, :7], expected.q[4, :7])


CLOSED = {"project": 1e-13, "partition": 1e-13, "baumgarte": 1e-9, "none": 1e-7}
"""|Φ| [m, rad] of a four-bar after 300 steps of 1 ms"""


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("bad", [0, 5, 10])
def test_no_lane_sees_the_divergence_of_another(
    lanes: int, bad: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_LANES", str(lanes))
    robot = built(Joint.floating(), Joint.spherical())
    rng = np.random.default_rng(lanes)
    q = robot.random_configuration(rng, batch=11)
    qd = rng.normal(size=(11, robot.nv))
    expected = robot.rollout(q, qd, dt=DT, steps=20, integrator="rk4")
    worse = qd.copy()
    worse[bad] = 1e200
    with pytest.warns(RuntimeWarning, match=f"state {bad} is not finite from t = 0.00"):
        run = robot.rollout(q, worse, dt=DT, steps=20, integrator="rk4")
    rest = [k for k in range(11) if k != bad]
    assert run.diverged.tolist() == [bad]
    np.testing.assert_array_equal(run.q[rest], expected.q[rest])
    np.testing.assert_array_equal(run.qd[rest], expected.qd[rest])


@pytest.mark.parametrize("stabilize", CLOSED)
def test_loops_stay_closed_in_rollouts(stabilize: str) -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    run = robot.rollout(
        q,
        qd,
        dt=1e-3,
        steps=300,
        integrator="rk4",
        stabilize=stabilize,
        record=("energy", "residual"),
        every=30,
    )
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()
    assert run.residual.max() < CLOSED[stabilize]


def test_a_projection_leaves_consistent_states_as_they_are() -> None:
    robot, known = four_bar(), Planar("four_bar")
    step = TracedStep(robot, StepOptions("semi_implicit_euler", "project", 0.0))

    def projected(q: Any, qd: Any) -> dict[str, Any]:
        end = project(step, {"q": q, "qd": qd})
        return {"q": end["q"], "qd": end["qd"]}

    close = ramidyn.kernel(projected, {"q": robot.nq, "qd": robot.nv})
    states = [known.state(0.1 * k, 1.0) for k in range(40)]
    q, qd = (np.stack(x) for x in zip(*states, strict=True))
    q[::2] += 1e-4  # of these, loops are open
    qd[1::4] += 0.1  # and of these only their rates
    found = close(q, qd)
    np.testing.assert_array_equal(found.q[3::4], q[3::4])
    np.testing.assert_array_equal(found.qd[3::4], qd[3::4])
    np.testing.assert_array_equal(found.q[1::4], q[1::4])
    J = robot.constraint_jacobian(found.q)
    assert np.abs(np.einsum("bij,bj->bi", J, found.qd)[1::4]).max() < 1e-13
    phi = np.array([robot.constraint_residual(x) for x in found.q])
    assert np.abs(phi).max() < 1e-13
    alone = close(q[:1], qd[:1])
    np.testing.assert_array_equal(alone.q, found.q[:1])
    np.testing.assert_array_equal(alone.qd, found.qd[:1])


def test_independent_velocities_are_chosen_anew_as_a_crank_turns() -> None:
    """No partition is good for a whole turn; energy tells if one was kept too long."""
    robot, known = four_bar(), Planar("four_bar")
    starts = known.state(0.3, 12.0), known.state(2.0, -11.0)
    q, qd = (np.stack(x) for x in zip(*starts, strict=True))
    run = robot.rollout(
        q,
        qd,
        dt=5e-4,
        steps=2400,
        integrator="rk4",
        stabilize="partition",
        record=("energy", "residual"),
        every=40,
    )
    assert (np.ptp(run.q[..., 0], axis=1) > 2 * np.pi).all()
    assert np.ptp(run.energy, axis=1).max() < 1e-7
    assert run.residual.max() < 1e-13
    J = robot.constraint_jacobian(run.q[0])
    assert np.abs(np.einsum("rij,rj->ri", J, run.qd[0])).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("stabilize", ["project", "partition", "none"])
def test_loops_keep_the_order_of_the_integrator(stabilize: str) -> None:
    """With spherical joints, some of whose velocities are dependent."""
    robot = ramidyn.robots.hmmwv("plain", suspension=True)
    qd = np.random.default_rng(0).normal(size=robot.nv)
    q, qd = robot.project(robot.neutral(), qd)

    def end(steps: int, stabilize: str) -> Array:
        dt = 0.2 / steps
        how = {"integrator": "rk4", "stabilize": stabilize, "every": steps}
        run = robot.rollout(q, qd, dt=dt, steps=steps, **how)
        return np.concatenate([run.q[-1], run.qd[-1]])

    exact = end(1600, "project")
    errors = [np.abs(end(n, stabilize) - exact).max() for n in (50, 100)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.15)


def test_a_run_prints_in_one_line_and_says_what_it_has(robot: Robot) -> None:
    run = robot.rollout(np.zeros((4, 2)), dt=DT, steps=10, record=("tau",))
    assert repr(run) == (
        "Run of pendulum: 4 states, t = 0 to 0.05 s in 11 rows, nq 2, nv 2; tau"
    )
    assert {"times", "q", "qd", "tau"} <= set(dir(run))
    with pytest.raises(AttributeError, match="no 'energy'; it has times, q, qd, tau"):
        run.energy  # noqa: B018
    assert repr(robot.rollout([0.1, 0.2], dt=DT, steps=5)).startswith(
        "Run of pendulum: t"
    )


def test_a_run_knows_its_robot_and_can_be_pickled(robot: Robot) -> None:
    run = robot.rollout([0.1, 0.2], dt=DT, steps=5, record="energy")
    assert run.robot is robot
    back = pickle.loads(pickle.dumps(run))
    assert repr(back) == repr(run)
    np.testing.assert_array_equal(back.energy, run.energy)
    np.testing.assert_array_equal(
        back.robot.pose(run.q, "link1"), robot.pose(run.q, "link1")
    )


def test_a_step_is_compiled_once_and_the_oldest_is_forgotten(robot: Robot) -> None:
    robot.rollout(np.zeros(2), dt=DT, steps=3)
    known = robot.__dict__["_rollouts"]
    before = len(known)
    robot.rollout(np.ones((3, 2)), dt=2 * DT, steps=4, start=1.0)
    assert len(known) == before
    table: Any = type(known)()
    for k in range(KEPT + 3):
        assert kept(table, k, lambda k=k: 2 * k) == 2 * k
    assert kept(table, 5, lambda: -1) == 10
    assert list(table)[-1] == 5
    assert len(table) == KEPT


def test_a_run_may_be_written_to_the_arrays_of_another(robot: Robot) -> None:
    first = robot.rollout(np.zeros((4, 2)), dt=DT, steps=10, record=("tau",))
    expected = robot.rollout(np.ones((4, 2)), dt=DT, steps=10)
    found = robot.rollout(np.ones((4, 2)), dt=DT, steps=10, out=first)
    assert found.q is first.q
    assert found.qd is first.qd
    np.testing.assert_array_equal(found.q, expected.q)
    message = r"out has float64 of \(4, 11, 2\) for q; expected float64 of \(4, 6, 2\)"
    with pytest.raises(ShapeError, match=message):
        robot.rollout(np.ones((4, 2)), dt=DT, steps=5, out=first)
    with pytest.raises(ShapeError, match="out has nothing for tau; expected float64"):
        robot.rollout(np.ones((4, 2)), dt=DT, steps=10, record=("tau",), out=found)


def test_forces_of_the_robot_act_in_rollouts(robot: Robot) -> None:
    """They are evaluated inside a step, and know the time."""
    damped = robot.add_force(ramidyn.forces.JointDamper("link0_joint", damping=0.3))
    q, qd = np.array([0.3, 0.2]), np.array([2.0, 0.0])
    run = damped.rollout(q, qd, dt=1e-3, steps=200, integrator="rk4", record="energy")
    loss = 0.3 * run.qd[:, 0] ** 2
    work = np.concatenate([[0.0], np.cumsum(0.5 * (loss[1:] + loss[:-1]) * 1e-3)])
    np.testing.assert_allclose(run.energy + work, run.energy[0], atol=1e-5)
    assert run.energy[-1] < run.energy[0] - 0.05


def stiff_pd(q: Any, qd: Any) -> Any:
    return -3e4 * q - 2e3 * qd


def test_implicit_steps_solve_their_linear_equations() -> None:
    """By hand for a joint of constant inertia; stable where others are not."""
    robot = built(Joint.prismatic((1, 0, 0)))
    spring = ramidyn.forces.JointSpring("link0_joint", stiffness=4e4)
    damper = ramidyn.forces.JointDamper("link0_joint", damping=50.0)
    robot = robot.add_force(spring).add_force(damper)
    m, k, d = 1.0, 4e4 + 3e4, 50.0 + 2e3
    run = robot.rollout(
        [0.1], [1.0], dt=0.01, steps=50, integrator="implicit", policy=stiff_pd
    )
    x, v = 0.1, 1.0
    for row in range(51):
        assert run.q[row, 0] == pytest.approx(x, abs=1e-12)
        v += 0.01 * (-k * x - d * v - 0.01 * k * v) / (m + 0.01 * d + 1e-4 * k)
        x += 0.01 * v
    assert abs(run.q[-1, 0]) < 1e-6


def test_implicit_steps_are_of_order_one_with_coupled_joints() -> None:
    robot = built(Joint.spherical(), Joint.revolute((1, 0, 0)))
    q = robot.random_configuration(np.random.default_rng(1))

    def drag(qd: Any) -> Any:
        return -0.5 * qd - 0.2 * qd[::-1]

    def end(steps: int, integrator: str) -> Array:
        run = robot.rollout(
            q,
            np.ones(4),
            dt=0.2 / steps,
            steps=steps,
            integrator=integrator,
            policy=drag,
        )
        return np.concatenate([run.q[-1], run.qd[-1]])

    exact = end(20000, "semi_implicit_euler")
    errors = [np.abs(end(n, "implicit") - exact).max() for n in (50, 100)]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)


def test_implicit_steps_are_for_trees() -> None:
    message = (
        "has loops, which 'implicit' does not support with stabilize='project'; use "
        "'semi_implicit_euler' or 'rk4'"
    )
    with pytest.raises(ArgumentError, match=message):
        four_bar().rollout(np.zeros(3), steps=3, integrator="implicit")


def test_results_that_do_not_fit_are_refused(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ramidyn.simulation.scan.available_memory", lambda: 10**8)
    with pytest.raises(ArgumentError, match=r"'rollout of pendulum' take 3\.2 GB, and"):
        robot.rollout(np.zeros((100, 2)), dt=DT, steps=10**6)


def pd_default(q: Any, target: Any = 0.0) -> Any:
    return target - q


def untraceable(q: Any) -> Any:
    return np.linalg.inv(np.outer(q, q)) @ q


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        (
            {"dt": 0.0},
            ArgumentError,
            "dt is 0.0; expected a positive number of",
        ),
        ({"dt": math.nan}, ArgumentError, "dt is nan; expected a positive number"),
        ({"q": [0.0, math.nan]}, ArgumentError, r"q has nan at \(1,\); expected numb"),
        ({"q": "here"}, ShapeError, "q is 'here'; expected real numbers"),
        (
            {"q": np.zeros(3)},
            ShapeError,
            r"q has shape \(3,\); kernel 'rollout of pend",
        ),
        ({"tau": np.zeros((4, 2))}, ArgumentError, r"steps is 5; tau has 4 of shape"),
        ({"steps": None}, ArgumentError, r"steps is missing; pass steps=, or tau of"),
        ({"steps": 0}, ArgumentError, "steps is 0, every 1; expected integers of 1"),
        ({"every": 2}, ArgumentError, "steps is 5; expected a multiple of every, w"),
        ({"integrator": "x"}, ArgumentError, "integrator is 'x'; possible: 'semi_im"),
        ({"record": "speed"}, ArgumentError, "record has 'speed'; possible: 'qdd', "),
        ({"record": "residual"}, ArgumentError, "record has 'residual'; possible:"),
        ({"record": {"q": "tau"}}, ArgumentError, "record has the name 'q'; choose an"),
        (
            {"inputs": {"tau": 1.0}},
            ArgumentError,
            "inputs has 'tau'; expected a name",
        ),
        ({"policy": pd}, ArgumentError, "policy asks for 'target', which is not giv"),
        ({"until": pd}, ArgumentError, r"until asks for 'target', .* one of q, qd, d"),
        ({"total": {"cost": pd}}, ArgumentError, "cost asks for 'target', which is"),
        ({"policy": lambda q: q[:1]}, ArgumentError, r"policy returns shape \(1,\); e"),
        (
            {"policy": untraceable},
            TraceError,
            "policy cannot be traced: .* use ramidyn",
        ),
        ({"total": {"cost": lambda q: q}}, ArgumentError, r"total 'cost' returns sha"),
        ({"until": lambda q: q}, ArgumentError, "until returns .* expected a conditi"),
        ({"parameters": {"x": 1.0}}, ArgumentError, "unknown parameter 'x'; possible"),
        (
            {"parameters": {"gravty": np.zeros(3)}},
            ArgumentError,
            r"unknown parameter 'gravty' \(did you mean 'gravity'\?\); possible",
        ),
        (
            {"parameters": {"gravity": np.zeros((1, 5, 3))}},
            ShapeError,
            r"parameters has 'gravity' of shape \(1, 5, 3\); expected \(3,\) or \(bat",
        ),
        (
            {"policy": pd_default, "inputs": {"targt": np.zeros(2)}},
            ArgumentError,
            r"inputs has 'targt' \(did you mean 'target'\?\), which no function and no "
            "force of robot 'pendulum' takes; they take: external, target",
        ),
        (
            {"inputs": {"target": 1.0}},
            ArgumentError,
            "inputs has 'target', which no function .* takes; they take: external",
        ),
        (
            {"record": "enrgy"},
            ArgumentError,
            r"record has 'enrgy' \(did you mean 'energy'\?\); possible: 'qdd'",
        ),
        ({"record": 5}, ArgumentError, "record is 5; expected a list of names, or a d"),
        ({"record": [5]}, ArgumentError, r"record is \[5\]; expected a list of names"),
        ({"inputs": [1.0]}, ArgumentError, r"inputs is \[1.0\]; expected a dictionary"),
        ({"inputs": np.ones(3)}, ArgumentError, "inputs is array.*; expected a dict"),
        ({"inputs": {1: 1.0}}, ArgumentError, "inputs is {1: 1.0}; expected a diction"),
        ({"parameters": 5}, ArgumentError, "parameters is 5; expected a dictionary of"),
        ({"total": "cost"}, ArgumentError, "total is 'cost'; expected a dictionary of"),
        ({"total": {"cost": 5}}, ArgumentError, "total has 'cost': 5; expected a func"),
        ({"total": {"q": pd}}, ArgumentError, "total has the name 'q'; choose another"),
        (
            {"total": {"speed": lambda qd: qd[0]}, "record": {"speed": lambda qd: qd}},
            ArgumentError,
            "record and total both have 'speed'",
        ),
        ({"policy": 5}, ArgumentError, "policy is 5; expected a function with named p"),
        ({"until": "x"}, ArgumentError, "until is 'x'; expected a function with named"),
        ({"restart": True}, ArgumentError, "restart needs until, the condition"),
        ({"restart": 1}, ArgumentError, "restart is 1; possible: True, False"),
        ({"out": 5}, ArgumentError, "out is 5; expected a Run, as rollout returns"),
        ({"rate": None}, ArgumentError, "rate is None; expected a number, 0 or more"),
        ({"start": [1, 2]}, ArgumentError, r"start is \[1, 2\]; expected a number of"),
        (
            {"dt": 10**400},
            ArgumentError,
            r"dt is 10+\.\.\. .* expected a positive numb",
        ),
        ({"dt": True}, ArgumentError, "dt is True; expected a positive number of sec"),
        ({"steps": 10**40}, ArgumentError, "steps is 10+, every 1; expected integers"),
        ({"integrator": np.ones(2)}, ArgumentError, "integrator is array.*; possible:"),
        ({"stabilize": "x"}, ArgumentError, "stabilize is 'x'; possible: 'none', 'ba"),
        ({"dtype": [1]}, ArgumentError, r"dtype is \[1\]; possible: float64, float32"),
        ({"threads": None}, ArgumentError, "threads is None; expected 1 or more"),
    ],
)
def test_bad_input_is_refused_before_anything_is_compiled(
    robot: Robot, changed: dict[str, Any], error: type[Exception], message: str
) -> None:
    options = {"q": np.zeros(2), "dt": DT, "steps": 5, **changed}
    with pytest.raises(error, match=message):
        robot.rollout(**options)


def test_loops_take_only_ways_to_stabilize_that_exist() -> None:
    message = "stabilize is 'x'; possible: 'none', 'baumgarte', 'project', 'parti"
    with pytest.raises(ArgumentError, match=message):
        four_bar().rollout(np.zeros(3), steps=3, stabilize="x")


@pytest.mark.parametrize("stabilize", ["project", "partition"])
def test_newton_steps_that_close_loops_are_recorded(stabilize: str) -> None:
    robot, known = four_bar(), Planar("four_bar")
    states = [known.state(0.3, v) for v in (0.0, 3.0, 30.0)]
    q, qd = (np.array(x) for x in zip(*states, strict=True))
    options: dict[str, Any] = {"stabilize": stabilize, "steps": 3, "dt": 1e-3}
    record = ["closing_steps", "residual"]
    run = robot.rollout(q, qd, record=record, **options)
    plain = robot.rollout(q, qd, **options)
    np.testing.assert_array_equal(run.q, plain.q)
    steps = run.closing_steps
    assert steps.shape == (3, 4)
    np.testing.assert_array_equal(steps, np.round(steps))
    assert (steps >= 0).all()
    assert (steps[0] < steps[2]).all()  # a faster state opens its loops further
    assert (run.residual < 1e-13).all()


@pytest.mark.parametrize("stabilize", ["none", "baumgarte"])
def test_newton_steps_are_recorded_only_where_there_are_some(stabilize: str) -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    message = r"record has 'closing_steps'.*; possible: 'qdd', 'tau', 'energy', 'residu"
    with pytest.raises(ArgumentError, match=message):
        robot.rollout(q, qd, steps=2, stabilize=stabilize, record="closing_steps")
    with pytest.raises(ArgumentError, match=message):
        robot.simulate(
            q, qd, duration=0.1, integrator="adaptive", record="closing_steps"
        )


def test_calls_that_differ_in_their_numbers_give_their_own_results(
    start: tuple[Array, Array], rng: np.random.Generator
) -> None:
    q, qd = start
    tau = rng.normal(size=(6, 4, 2))
    joints = Joint.revolute((0, 1, 0)), Joint.revolute((1, 0, 0))
    repeated = built(*joints)
    for scale in (1.0, 0.5, -1.0):
        x, v, u = scale * q, scale * qd, scale * tau
        for call in (
            lambda r, x=x, v=v, u=u: r.rollout(x, v, u, DT),
            lambda r, x=x, v=v: r.rollout(x, v, dt=DT, steps=3),
            lambda r, x=x, v=v: r.rollout(x, v, dt=2 * DT, steps=3, start=1.0),
            lambda r, x=x, v=v, u=u: r.simulate(x[0], v[0], u[0], DT),
            lambda r, x=x, v=v: r.simulate(x[0], v[0], dt=DT, duration=4 * DT),
            lambda r, x=x: r.simulate(
                x[0], dt=DT, duration=4 * DT, controller=lambda _, q, __: -q
            ),
        ):
            run, fresh = call(repeated), call(built(*joints))
            np.testing.assert_array_equal(run.times, fresh.times)
            np.testing.assert_array_equal(run.q, fresh.q)
            np.testing.assert_array_equal(run.qd, fresh.qd)


def test_arguments_are_checked_in_every_call(robot: Robot) -> None:
    q, qd, far = np.zeros(2), np.zeros(2), np.full(2, np.inf)
    for _ in range(3):
        robot.rollout(q, qd, dt=DT, steps=2)
        robot.rollout(q, qd, np.zeros((2, 2)), dt=DT)
    for wrong, message in (
        (lambda: robot.rollout(q * np.nan, qd, dt=DT, steps=2), "q has nan"),
        (lambda: robot.rollout(np.zeros(3), qd, dt=DT, steps=2), "q has shape"),
        (lambda: robot.rollout(q, qd, dt=DT, steps=2.0), "expected integers"),
        (lambda: robot.rollout(q, qd, dt=-DT, steps=2), "dt is"),
        (
            lambda: robot.rollout(q, qd, far, dt=DT, steps=2),
            "tau has inf",
        ),
    ):
        for _ in range(2):
            with pytest.raises((ArgumentError, ShapeError), match=message):
                wrong()


def test_inputs_in_a_dictionary_are_read_in_every_call(robot: Robot) -> None:
    inputs = {"push": np.array([0.1, 0.2])}

    def policy(push: Any) -> Any:
        return push

    ends: list[Array] = []
    for factor in (1.0, 2.0):
        inputs["push"] = factor * np.array([0.1, 0.2])
        run = robot.rollout(np.zeros(2), dt=DT, steps=2, policy=policy, inputs=inputs)
        ends.append(run.qd[1])
    assert not np.allclose(ends[0], ends[1])


def test_a_short_rollout_takes_few_calls_of_python(robot: Robot) -> None:
    q, qd = np.zeros(2), np.zeros(2)
    for _ in range(5):  # later ones are examined less often
        robot.rollout(q, qd, dt=DT, steps=2)
    with cProfile.Profile() as profile:
        robot.rollout(q, qd, dt=DT, steps=2)
    assert sum(entry.callcount for entry in profile.getstats()) < 450


def test_options_in_dictionaries_are_read_in_each_call() -> None:
    """Only calls that differ in nothing but the numbers of states are checked once."""
    robot = ramidyn.robots.chain(2)
    q, inputs = np.array([0.3, -0.2]), {"w": 1.0}
    total: dict[str, Any] = {"a": lambda q, w: w * (q @ q)}

    def run() -> Any:
        return robot.rollout(q, dt=0.01, steps=2, total=total, inputs=inputs).totals

    first = run()
    inputs["w"] = 2.0
    total["b"] = lambda q: 3.0 * (q @ q)
    second = run()
    assert list(first) == ["a"]
    np.testing.assert_allclose(second["a"], 2.0 * first["a"])
    np.testing.assert_allclose(second["b"], 3.0 * first["a"])
