"""Plans are optimal: gradients by rollouts, LQR and batches agree with them."""

from __future__ import annotations

import ctypes
import math
import warnings
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import control
from ramidyn.backend.runtime.memory_layout import Kernel
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

DT, STEPS = 0.02, 15
GOAL = np.array([0.4, -0.3, 0.2])


@pytest.fixture(autouse=True)
def long_steps() -> Any:
    with warnings.catch_warnings():  # motions that are not resolved serve as well
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def cost(q: Any, qd: Any, tau: Any, goal: Any) -> Any:
    e = q - goal
    return DT * (10.0 * (e @ e) + 0.1 * (qd @ qd) + 1e-2 * (tau @ tau))


def final(q: Any, qd: Any, goal: Any) -> Any:
    e = q - goal
    return 20.0 * (e @ e) + qd @ qd


@pytest.fixture(scope="module")
def robot() -> Any:
    return ramidyn.robots.chain(3)


@pytest.fixture(scope="module")
def planner(robot: Any) -> Any:
    return control.ILQR(robot, STEPS, DT, cost, final, inputs={"goal": 3})


def gradient(robot: Any, plan: Any, q: Any) -> Any:
    """Return the gradient of all costs by tau, by the rollout's reverse pass."""
    last = {"q": np.zeros_like(plan.q), "qd": np.zeros_like(plan.qd)}
    last["q"][-1] = 40.0 * (plan.q[-1] - GOAL)
    last["qd"][-1] = 2.0 * plan.qd[-1]
    run = robot.rollout(
        q,
        None,
        plan.tau,
        DT,
        inputs={"goal": GOAL},
        total={"cost": cost},
        gradient_of={"cost": 1.0, **last},
        wrt="tau",
    )
    np.testing.assert_allclose(run.q, plan.q, atol=1e-9)
    e = plan.q[-1] - GOAL
    total = run.cost + 20.0 * e @ e + plan.qd[-1] @ plan.qd[-1]
    assert plan.cost == pytest.approx(total, rel=1e-9)
    return run.gradients["tau"]


def test_the_gradient_of_a_plan_is_zero(robot: Any, planner: Any) -> None:
    q, reports = np.array([0.1, 0.2, -0.1]), []
    plan = planner(q, goal=GOAL, report=lambda k, costs: reports.append((k, costs)))
    assert plan.converged
    assert plan.q.shape == (STEPS + 1, 3)
    assert plan.gains.shape == (STEPS, 3, 6)
    assert [k for k, _ in reports] == list(range(1, plan.iterations + 1))
    assert (np.diff(plan.costs) <= 0.0).all()
    assert np.abs(gradient(robot, plan, q)).max() < 1e-5


def test_a_batch_gives_the_plans_of_its_problems(
    planner: Any, rng: np.random.Generator
) -> None:
    q = 0.3 * rng.normal(size=(5, 3))
    plans = planner(q, goal=GOAL)
    assert plans.converged.all()
    for k in range(5):
        one = planner(q[k], goal=GOAL)
        assert one.cost == pytest.approx(plans.cost[k], rel=1e-7)
        np.testing.assert_allclose(one.tau, plans.tau[k], atol=1e-3)


def test_iterations_take_no_memory() -> None:
    planner = control.ILQR(
        ramidyn.robots.chain(6), 64, DT, lambda q, tau: q @ q + 0.01 * tau @ tau
    )
    q, asked = np.zeros((3, 6)), []
    planner(q, iterations=1)
    allocate = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(
        lambda size: asked.append(size) or 0
    )
    kept = planner._idle[-1].blocks(1)[0].kept
    kernels = [x.block for x in kept if hasattr(x, "run") and hasattr(x, "block")]
    assert max(x[Kernel.BYTES] * x[Kernel.TILES] for x in kernels) > 2**16
    before = [x[Kernel.MALLOC] for x in kernels]
    try:
        for x in kernels:
            x[Kernel.MALLOC] = ctypes.cast(allocate, ctypes.c_void_p).value
        planner(q, iterations=3)
    finally:
        for x, address in zip(kernels, before, strict=True):
            x[Kernel.MALLOC] = address
    assert not asked


def test_a_plan_that_begins_at_the_optimum_ends_at_once(planner: Any) -> None:
    plan = planner(np.zeros(3), goal=GOAL)
    again = planner(np.zeros(3), tau=plan.tau, goal=GOAL)
    assert again.iterations <= 2
    assert again.cost == pytest.approx(plan.cost, rel=1e-9)
    np.testing.assert_array_equal(plan.shifted(2)[:-2], plan.tau[2:])
    np.testing.assert_array_equal(plan.shifted(2)[-2:], plan.tau[[-1, -1]])
    with pytest.raises(ramidyn.ArgumentError, match="steps is 15; expected 0 to 14"):
        plan.shifted(STEPS)


def test_limits_hold_and_the_projected_gradient_is_zero(robot: Any) -> None:
    limits = np.array([-4.0, -3.0, 0.0]), np.array([4.0, 3.0, 0.0])
    limited = control.ILQR(
        robot, STEPS, DT, cost, final, inputs={"goal": 3}, limits=limits
    )
    q = np.array([0.1, 0.2, -0.1])
    plan = limited(q, goal=GOAL, tolerance=1e-13, iterations=300)
    assert (plan.tau >= limits[0]).all()
    assert (plan.tau <= limits[1]).all()
    assert not plan.tau[:, 2].any()
    assert (np.abs(plan.tau[:, :2]) == limits[1][:2]).any()
    slope = gradient(robot, plan, q)
    step = np.clip(plan.tau - slope, *limits) - plan.tau
    assert np.abs(step).max() < 1e-2 * np.abs(slope).max()


def test_multiple_shooting_closes_defects_and_finds_the_same_plan(
    robot: Any, planner: Any, rng: np.random.Generator
) -> None:
    multiple = control.ILQR(
        robot, STEPS, DT, cost, final, inputs={"goal": 3}, shooting="multiple"
    )
    q = np.array([0.1, 0.2, -0.1])
    expected = planner(q, goal=GOAL, tolerance=1e-13)
    guess = np.linspace(q, GOAL, STEPS + 1), rng.normal(size=(STEPS + 1, 3))
    first = multiple(q, goal=GOAL, guess=guess, iterations=0)
    np.testing.assert_allclose(first.q, guess[0], atol=1e-12)
    np.testing.assert_allclose(first.qd[1:], guess[1][1:], atol=1e-12)
    for begin in ({}, {"guess": guess}):
        plan = multiple(q, goal=GOAL, tolerance=1e-13, **begin)
        assert plan.converged
        assert plan.defect < 1e-9
        assert plan.cost == pytest.approx(expected.cost, rel=1e-9)
        np.testing.assert_allclose(plan.tau, expected.tau, atol=1e-4)
        assert np.abs(gradient(robot, plan, q)).max() < 1e-4
    batch = multiple(np.stack([q, q]), goal=GOAL, tolerance=1e-13)
    np.testing.assert_allclose(batch.cost, expected.cost, rtol=1e-9)
    with pytest.raises(ramidyn.ArgumentError, match="guess is given, but the motion"):
        planner(q, goal=GOAL, guess=guess)
    with pytest.raises(ramidyn.ShapeError, match=r"guess of q has shape \(2, 3\)"):
        multiple(q, goal=GOAL, guess=(np.zeros((2, 3)), guess[1]))


@pytest.mark.slow
@pytest.mark.parametrize("stabilize", ["none", "project"])
def test_loops_stay_closed_and_the_gradient_is_zero(stabilize: str) -> None:
    robot = ramidyn.robots.chain(4)
    q = np.array([0.3, 0.5, -0.9, 0.4])
    robot = robot.pin("body3", q, joint="point_on_line")
    assert robot.loops

    def running(qd: Any, tau: Any) -> Any:
        return DT * (0.1 * (qd @ qd) + 1e-2 * (tau @ tau))

    def end(q: Any, qd: Any) -> Any:
        return 20.0 * (q[0] - 0.6) * (q[0] - 0.6) + qd @ qd

    planner = control.ILQR(robot, STEPS, DT, running, end, stabilize=stabilize)
    hold = np.repeat(robot.gravity_forces(q)[None], STEPS, axis=0)
    plan = planner(q, tau=hold, tolerance=1e-13)
    assert plan.converged
    assert plan.cost < 0.5 * plan.costs[0]
    last = {"q": np.zeros_like(plan.q), "qd": np.zeros_like(plan.qd)}
    last["q"][-1, 0] = 40.0 * (plan.q[-1, 0] - 0.6)
    last["qd"][-1] = 2.0 * plan.qd[-1]
    run = robot.rollout(
        q,
        None,
        plan.tau,
        DT,
        stabilize=stabilize,
        total={"cost": running},
        gradient_of={"cost": 1.0, **last},
        wrt="tau",
    )
    np.testing.assert_allclose(run.q, plan.q, atol=1e-9)
    assert np.abs(run.gradients["tau"]).max() < 1e-5
    if stabilize == "project":
        assert np.abs(robot.constraint_residual(plan.q)).max() < 1e-9


def test_step_lengths_without_a_finite_cost_are_dropped(robot: Any) -> None:
    def far(q: Any) -> Any:  # infinite where q[0] is beyond 0.25
        return (q - GOAL) @ (q - GOAL) - 1e-3 * ramidyn.math.log(0.25 - q[0])

    plan = control.ILQR(robot, STEPS, DT, lambda tau: 1e-7 * tau @ tau, far)(
        np.zeros(3)
    )
    assert np.isfinite(plan.costs).all()
    assert np.isfinite(plan.tau).all()
    assert plan.cost < plan.costs[0]
    assert plan.q[-1, 0] < 0.25


def slider() -> Any:
    builder = RobotBuilder("slider", gravity=(0.0, 0.0, 0.0))
    box = Inertia.from_box(2.0, (0.1, 0.1, 0.1))
    builder.add(Body("cart", box), "world", Joint.prismatic((1, 0, 0)))
    return builder.robot()


def test_a_linear_robot_needs_one_iteration() -> None:
    plan = control.ILQR(
        slider(),
        STEPS,
        DT,
        lambda q, qd, tau: q @ q + 0.3 * qd @ qd + 0.05 * tau @ tau,
        lambda q, qd: 7.0 * q @ q + 2.0 * q[0] * qd[0] + qd @ qd,
    )([1.0], [0.5])
    A = np.array([[1.0, DT], [0.0, 1.0]])
    B = np.array([[DT * DT / 2.0], [DT / 2.0]])
    V = np.array([[14.0, 2.0], [2.0, 2.0]])
    gains = []
    for _ in range(STEPS):
        Quu = 0.1 + B.T @ V @ B
        gains.append(-np.linalg.solve(Quu, B.T @ V @ A))
        V = np.diag([2.0, 0.6]) + A.T @ V @ A + A.T @ V @ B @ gains[-1]
    x = np.array([1.0, 0.5])
    assert plan.cost == pytest.approx(0.5 * x @ V @ x, rel=1e-12)
    np.testing.assert_allclose(plan.gains[:, :], gains[::-1], atol=1e-12)
    assert plan.costs[1] == pytest.approx(plan.cost, rel=1e-12)


@pytest.mark.slow
def test_a_floating_base_needs_no_dense_matrices() -> None:
    builder = RobotBuilder("swimmer")
    box = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.0, 0.02, 0.1))
    builder.add(Body("base", box), "world", Joint.floating())
    for name, axis in (("left", (1, 0, 0)), ("right", (0, 1, 0))):
        builder.add(Body(name, box), "base", Joint.revolute(axis), (0.0, 0.1, 0.0))
    robot = builder.robot()
    change = 0.2 - 0.05 * np.arange(8)
    q = robot.integrate(robot.neutral(), change, 1.0)

    def running(q: Any, qd: Any, tau: Any) -> Any:
        return DT * (q[:3] @ q[:3] + q[7:] @ q[7:] + 0.1 * (qd @ qd) + tau @ tau)

    planner = control.ILQR(robot, STEPS, DT, running)
    assert planner._problem.sizes.block >= 6
    plan = planner(q, 0.3 * change, tolerance=1e-13)
    assert plan.converged
    run = robot.rollout(
        q,
        0.3 * change,
        plan.tau,
        DT,
        total={"cost": running},
        gradient_of="cost",
        wrt="tau",
    )
    np.testing.assert_allclose(run.q, plan.q, atol=1e-9)
    assert np.abs(run.gradients["tau"]).max() < 1e-5


@pytest.mark.slow
def test_quaternions_have_tangent_spaces() -> None:
    builder = RobotBuilder("top")
    box = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.0, 0.02, 0.1))
    builder.add(Body("top", box), "world", Joint.spherical())
    robot = builder.robot()
    assert robot.nq == 4
    q = robot.integrate(robot.neutral(), np.array([0.4, -0.2, 0.3]), 1.0)

    def upright(q: Any, qd: Any) -> Any:
        z = robot.pose(q, "top")[:3, 2]
        return 5.0 * (1.0 - z[2]) + 0.1 * (qd @ qd)

    plan = control.ILQR(robot, STEPS, DT, lambda tau: 0.01 * tau @ tau, upright)(q)
    assert plan.converged
    np.testing.assert_allclose(np.linalg.norm(plan.q, axis=1), 1.0, atol=1e-9)
    assert plan.cost < 0.5 * plan.costs[0]
    # No torque near the planned ones does better.
    rng = np.random.default_rng(0)
    for _ in range(10):
        tau = plan.tau + 1e-3 * rng.normal(size=plan.tau.shape)
        run = robot.rollout(q, None, tau, DT)
        last = run.qd[-1] @ run.qd[-1]
        z = robot.pose(run.q[-1], "top")[2, 2]
        there = 0.01 * np.sum(tau**2) + 5.0 * (1.0 - z) + 0.1 * last
        assert there > plan.cost


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps is 0; expected 1 or more"),
        ({"dt": -1.0}, "dt is -1.0; expected a positive number"),
        ({"cost": 3.0}, "cost is 3.0; expected a function"),
        ({"cost": lambda x: x}, "cost asks for 'x', which is not given; pass inputs="),
        ({"cost": lambda x: x}, "or name one of q, qd, tau"),
        ({"cost": lambda q: q}, r"cost returns shape \(3,\); expected \(\)"),
        ({"cost": lambda q: math.sqrt(q[0])}, "a symbol is not a number yet"),
        ({"final_cost": lambda tau: tau[0]}, "final_cost asks for 'tau', which is not"),
        ({"inputs": {"q": 3}}, "inputs has 'q', which costs are given"),
        ({"limits": (1.0, -1.0)}, "least tau above the largest"),
        ({"limits": (-1.0, np.nan)}, "limits is .*; expected numbers, or infinity"),
        ({"cost": lambda q: "cheap"}, "cost returns 'cheap'; expected numbers"),  # noqa: ARG005
        ({"limits": 3.0}, r"limits is 3.0; expected two arrays \(3,\)"),
        ({"limits": (0.0, 0.0)}, "limits fixes every entry of tau"),
        ({"shooting": "some"}, "shooting is 'some'; expected one of 'single', 'mult"),
        ({"stabilize": "x"}, "stabilize is 'x'; expected one of 'none', 'baumgarte'"),
        ({"threads": 0}, "threads is 0; expected 1 or more"),
    ],
)
def test_bad_problems_are_refused(robot: Any, options: Any, message: str) -> None:
    given = {"steps": 2, "dt": DT, "cost": lambda q: q @ q, **options}
    with pytest.raises(ramidyn.Error, match=message):
        control.ILQR(robot, **given)


def test_bad_states_are_refused(planner: Any) -> None:
    with pytest.raises(
        ramidyn.ShapeError, match=r"q has shape \(2,\); expected \(3,\)"
    ):
        planner(np.zeros(2), goal=GOAL)
    with pytest.raises(
        ramidyn.ArgumentError, match="inputs of costs are none; expected"
    ):
        planner(np.zeros(3))
    with pytest.raises(
        ramidyn.ArgumentError, match=r"qd has nan at \(0,\); expected numbers"
    ):
        planner(np.zeros(3), np.full(3, np.nan), goal=GOAL)
    with pytest.raises(ramidyn.ShapeError, match=r"tau has shape \(14, 3\); expected"):
        planner(np.zeros(3), tau=np.zeros((STEPS - 1, 3)), goal=GOAL)
    for options, message in (
        ({"iterations": -1}, "iterations is -1; expected 0 or more"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
        ({"damping": np.nan}, "damping has nan"),
        ({"damping": -1.0}, "damping is -1.0; expected 0 or more"),
        ({"report": 3}, "report is 3; expected a function"),
    ):
        with pytest.raises(ramidyn.ArgumentError, match=message):
            planner(np.zeros(3), goal=GOAL, **options)
    assert planner(np.zeros((0, 3)), goal=GOAL).tau.shape == (0, STEPS, 3)
    with pytest.raises(ramidyn.ShapeError, match="batch sizes differ: q 2, goal 4"):
        planner(np.zeros((2, 3)), goal=np.zeros((4, 3)))
    with pytest.raises(ramidyn.ArgumentError, match="first motion of problem 1 is not"):
        planner(np.array([[0.0] * 3, [1e200] * 3]), goal=GOAL)


def test_robots_that_cannot_be_planned_for_are_refused() -> None:
    limit = ramidyn.contacts.HardLimit("joint0", -1.0, 1.0)
    robot = ramidyn.robots.chain(2).add_contact(limit)
    with pytest.raises(ramidyn.ModelError, match="has rigid contacts, hard limits"):
        control.ILQR(robot, 2, DT, lambda q: q @ q)
