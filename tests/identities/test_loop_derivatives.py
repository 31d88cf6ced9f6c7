"""Derivatives of dynamics with loops: the conditions that they obey, and differences.

What M q̈ + h = τ + Jᵀ λ and J q̈ + γ = 0 say of derivatives holds along every direction;
where rows are redundant, along those that keep the loops closed: q moves along them,
and q̇ turns with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.catalog import paper_robots as robots
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError
from ramidyn.mechanism.constraints.rank import rank_of
from ramidyn.mechanism.projection import project
from ramidyn.robot import Robot
from support import complex_step
from support.loops import as_robot, closed_state, program, value
from support.paths import SHARED_ROBOTS
from support.planar import Planar, four_bar, parallelogram, swung
from support.states import q_rate

pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")

EXACT = 1e-10
"""of what rounding leaves, over the largest term"""
ROUNDED = {"toddlerbot": 1e-7}
"""of a file whose loops close only to the digits that it has, and are damped for it"""
STEP = 1e-4
CLOSE = 1e-6
"""of differences of fourth order, over the largest entry"""

DERIVATIVES = (ramidyn.forward_dynamics_derivatives, ramidyn.loop_forces_derivatives)
DYNAMICS = (ramidyn.forward_dynamics, ramidyn.loop_forces)
TERMS = (ramidyn.inverse_dynamics, ramidyn.constraint_jacobian, ramidyn.constraint_bias)


def shared(name: str) -> Robot:
    return ramidyn.load(SHARED_ROBOTS / name)


def bars(_: Robot) -> tuple[Any, Any]:
    return Planar("four_bar").state(0.3, 2.0)


def cranks(robot: Robot) -> tuple[Any, Any]:
    return swung(robot, 0.4, 1.3)


Made = tuple[Callable[[], Robot], Callable[[Robot], tuple[Any, Any]]]
SMALL: dict[str, Made] = {
    "a pin": (four_bar, bars),
    "a ball": (lambda: four_bar("spherical"), bars),
    "a crank too many": (parallelogram, cranks),
}
LARGE: dict[str, Made] = {
    "three cranks too many": (lambda: parallelogram(5), cranks),
    "gripper": (lambda: shared("robotiq_2f85_v4/2f85.xml"), closed_state),
    "car": (lambda: as_robot(robots.hmmwv("general")), closed_state),
    "cassie": (lambda: shared("cassie/cassie.xml"), closed_state),
    "toddlerbot": (lambda: shared("toddlerbot_2xc/toddlerbot_2xc.xml"), closed_state),
}
CASES = [*SMALL, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]


@dataclass(frozen=True)
class Case:
    robot: Robot
    state: dict[str, Array]
    found: dict[str, Array]
    along: Array
    """(nv, mobility): directions that keep the loops closed"""


@cache
def made(name: str) -> Case:
    build, state = {**SMALL, **LARGE}[name]
    robot = build()
    q, qd = state(robot)
    tau = np.random.default_rng(0).normal(size=robot.nv)
    inputs = {"q": np.asarray(q), "qd": np.asarray(qd), "tau": tau}
    found = value(DERIVATIVES, robot, **inputs)
    rank = rank_of(robot.model, robot.conventions)
    J = value(ramidyn.constraint_jacobian, robot, q=q)
    directions = np.linalg.svd(J / rank.sizes[:, None])[2]
    return Case(robot, inputs, found, directions[rank.of(J) :].T)


def assert_close(found: Array, expected: Array, tolerance: float) -> None:
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def steps(robot: Robot, of: Any, inputs: dict[str, Array], wrt: str) -> dict[str, Any]:
    """Return dy/dx by complex steps, in the tangent space for q."""
    directions = np.eye(robot.nv)
    if wrt == "q":
        directions = np.stack([q_rate(robot, inputs["q"], e) for e in directions])
    moved = complex_step.directional(program(robot, *of), inputs, {wrt: directions})
    return {
        n: np.moveaxis(np.broadcast_to(x, (robot.nv, *x.shape[-k:])), 0, -1)
        for (n, x), k in zip(moved.items(), (1, 2, 1), strict=False)
    }


@pytest.mark.parametrize("name", CASES)
def test_derivatives_obey_the_conditions_of_the_dynamics(name: str) -> None:
    case = made(name)
    robot, state, found = case.robot, case.state, case.found
    qdd, multipliers = value(DYNAMICS, robot, **state).values()
    here = {"q": state["q"], "qd": state["qd"], "qdd": qdd}
    J = value(ramidyn.constraint_jacobian, robot, q=state["q"])
    M = value(ramidyn.mass_matrix, robot, q=state["q"])
    rank = rank_of(robot.model, robot.conventions)
    by_q, by_qd = (steps(robot, TERMS, here, wrt).values() for wrt in ("q", "qd"))
    dID, dJ, dgamma = by_q
    q = case.along
    turned = np.einsum("rkc,k->rc", dJ, state["qd"]) @ q
    qd = -np.linalg.pinv(J, rcond=rank.tolerance) @ turned
    still = np.zeros((robot.nv, robot.nv))
    moves = [
        np.vstack([q, qd, 0.0 * q]),
        np.vstack([0.0 * q, q, 0.0 * q]),
        np.vstack([still, still, np.eye(robot.nv)]),
    ]
    force = np.einsum("rkc,r->kc", dJ, multipliers) - dID
    opening = np.einsum("rkc,k->rc", dJ, qdd) + dgamma
    dID, _, dgamma = by_qd
    force = np.hstack([force, -dID, np.eye(robot.nv)])
    opening = np.hstack([opening, dgamma, np.zeros((len(J), robot.nv))])
    dqdd, dlambda = (
        np.hstack([found[f"d{y}_d{x}"] for x in state]) for y in ("qdd", "lambda")
    )
    F, exact = rank.filter(J), ROUNDED.get(name, EXACT)
    for along in moves:
        pushes = force @ along + J.T @ dlambda @ along
        scale = np.abs(force).max() + np.abs(M).max() * np.abs(dqdd).max()
        assert_close(M @ dqdd @ along / scale, pushes / scale, exact)
        scale = np.abs(opening).max() + np.abs(J).max() * np.abs(dqdd).max()
        left = F @ (J @ dqdd + opening) @ along
        assert_close(left / scale, 0.0 * left, exact)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_differences_along_the_constraint(name: str) -> None:
    case = made(name)
    robot, state, found = case.robot, case.state, case.found
    for v in case.along.T[:3]:
        total = {"qdd": 0.0, "lambda": 0.0}
        dq, dqd = np.zeros(robot.nv), np.zeros(robot.nv)
        for k, weight in ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12)):
            start = robot.integrate(state["q"], v, k * STEP)
            q, qd = project(robot, start, state["qd"])
            dq += weight / STEP * robot.difference(state["q"], q)
            dqd += weight / STEP * qd
            there = value(DYNAMICS, robot, q=q, qd=qd, tau=state["tau"]).values()
            for n, x in zip(total, there, strict=True):
                total[n] = total[n] + weight / STEP * x
        for n, x in total.items():
            change = found[f"d{n}_dq"] @ dq + found[f"d{n}_dqd"] @ dqd
            assert_close(change, np.asarray(x), CLOSE)


@pytest.mark.parametrize("wrt", ["qd", "tau"])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_by_velocities_and_forces_are_those_of_complex_steps(
    name: str, wrt: str
) -> None:
    case = made(name)
    along = np.eye(case.robot.nv) if wrt == "tau" else case.along
    traced = program(case.robot, *DYNAMICS)
    moved = complex_step.directional(traced, case.state, {wrt: along.T}).values()
    exact = ROUNDED.get(name, EXACT)
    for y, x in zip(("qdd", "lambda"), moved, strict=True):
        assert_close(case.found[f"d{y}_d{wrt}"] @ along, x.T, exact)


@pytest.mark.parametrize("algorithm", ["forward", "reverse", "idsva"])
def test_with_independent_rows_they_hold_along_every_direction(algorithm: str) -> None:
    robot, state = made("a pin").robot, dict(made("a pin").state)
    options = {"external": ("coupler",), "expressed_in": "local_world_aligned"}
    state["external"] = np.random.default_rng(2).normal(size=(1, 6))
    of = [one(algorithm=algorithm, **options) for one in DERIVATIVES]
    found = value(of, robot, **state)
    for wrt in ("q", "qd", "tau"):
        directions = {wrt: np.eye(robot.nv)}
        for y, one in zip(("qdd", "lambda"), DYNAMICS, strict=True):
            traced = program(robot, one(**options))
            (x,) = complex_step.directional(traced, state, directions).values()
            assert_close(found[f"d{y}_d{wrt}"], x.T, EXACT)


def test_derivatives_of_a_flat_parallelogram_are_not_plausible() -> None:
    """Two ways lead on from there, so q̈ has no derivative: 1e10 and more, or NaN."""
    robot = parallelogram(2)
    q, qd = swung(robot, -np.pi / 2, 0.0)
    assert robot.mobility(q).rank < robot.mobility(swung(robot, 0.4, 0.0)[0]).rank
    found = value(DERIVATIVES, robot, q=q, qd=qd, tau=np.ones(robot.nv))
    for name in ("dqdd_dq", "dlambda_dq"):
        assert not np.abs(found[name]).max() < 1e10


def test_methods_return_what_quantities_are() -> None:
    case = made("a pin")
    found = [
        *case.robot.forward_dynamics_derivatives(*case.state.values()),
        *case.robot.loop_forces_derivatives(*case.state.values()),
    ]
    for x, expected in zip(found, case.found.values(), strict=True):
        assert_close(x, expected, EXACT)


def test_multipliers_need_loops() -> None:
    robot = ramidyn.robots.chain(2)
    with pytest.raises(ModelError, match="has no loops; add one with"):
        robot.loop_forces_derivatives([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])


def test_differentiating_the_dynamics_with_loops_gives_their_derivatives() -> None:
    robot = four_bar()
    q, qd = bars(robot)
    tau = np.array([0.3, -0.2, 0.5])
    dq, dqd, dtau = robot.forward_dynamics_derivatives(q, qd, tau)
    for wrt, expected in (("q", dq), ("qd", dqd), ("tau", dtau)):
        f = ramidyn.compile(
            ramidyn.derivative(ramidyn.forward_dynamics, wrt=wrt), robot
        )
        np.testing.assert_allclose(f(q, qd, tau), expected, atol=1e-9)
    x = np.array([1.0, -2.0, 0.5])
    forward = ramidyn.compile(ramidyn.jvp(ramidyn.forward_dynamics, wrt="q"), robot)
    backward = ramidyn.compile(ramidyn.vjp(ramidyn.forward_dynamics, wrt="q"), robot)
    np.testing.assert_allclose(forward(q, qd, tau, x)[-1], dq @ x, atol=1e-8)
    np.testing.assert_allclose(backward(q, qd, tau, x)[-1], x @ dq, atol=1e-8)
