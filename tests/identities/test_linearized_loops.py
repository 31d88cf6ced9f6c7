"""A and B of a step with loops: the derivatives of one step of a rollout.

Directions keep the loops closed: q moves along them, and q̇ turns with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.catalog import paper_robots as robots
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.mechanism.constraints.rank import rank_of
from ramidyn.mechanism.projection import project
from ramidyn.robot import Robot
from support.loops import as_robot, closed_state
from support.paths import SHARED_ROBOTS
from support.planar import Planar, four_bar, parallelogram, swung

pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")

DT = 0.01
STEP = 1e-4
CLOSE = 1e-9
"""of differences of fourth order, over the largest entry"""
DIFFERENCES = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))

State = tuple[Any, Any]
Made = tuple[Callable[[], Robot], Callable[[Robot], State]]
SMALL: dict[str, Made] = {
    "a pin": (four_bar, lambda _: Planar("four_bar").state(0.3, 2.0)),
    "a crank too many": (parallelogram, lambda robot: swung(robot, 0.4, 1.3)),
}
LARGE: dict[str, Made] = {
    "gripper": (
        lambda: ramidyn.load(SHARED_ROBOTS / "robotiq_2f85_v4/2f85.xml"),
        closed_state,
    ),
    "car": (lambda: as_robot(robots.hmmwv("general")), closed_state),
}
FAST = {
    ("a pin", "semi_implicit_euler"),
    ("a pin", "rk4"),
    ("a crank too many", "semi_implicit_euler"),
}
STEPS = [
    pytest.param(
        name,
        integrator,
        marks=[] if (name, integrator) in FAST else [pytest.mark.slow],
    )
    for name in (*SMALL, *LARGE)
    for integrator in ("semi_implicit_euler", "rk4")
]


def made(name: str) -> tuple[Robot, Array, Array, Array]:
    build, state = {**SMALL, **LARGE}[name]
    robot = build()
    q, qd = state(robot)
    return robot, q, qd, np.random.default_rng(0).normal(size=robot.nv)


def directions(robot: Robot, q: Array) -> Array:
    """Return (mobility, nv): what keeps the loops closed."""
    rank = rank_of(robot.model, robot.conventions)
    J = np.asarray(robot.constraint_jacobian(q))
    return np.linalg.svd(J / rank.sizes[:, None])[2][rank.of(J) :]


def difference(f: Callable[[float], Array]) -> Array:
    """Return df/dt at 0."""
    return np.sum([w / STEP * f(k * STEP) for k, w in DIFFERENCES], axis=0)


def assert_close(found: Array, expected: Array, tolerance: float = CLOSE) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def rolled(robot: Robot, tau: Array, **options: Any) -> Callable[[Array, Array], State]:
    """Return what takes a state to that after some steps."""

    def moved(q: Array, qd: Array, more: Array | float = 0.0) -> State:
        run = robot.rollout(q, qd, tau + more, DT, **options)
        return run.q[-1], run.qd[-1]

    return moved


def changes(
    robot: Robot, moved: Callable[..., State], q: Array, qd: Array, v: Array
) -> tuple[Array, Array]:
    """Return δx along a direction of q that keeps loops closed, and what becomes of it.

    They change as x does, q in its tangent space.
    """
    end, _ = moved(q, qd)

    def start(t: float) -> State:
        return project(robot, robot.integrate(q, v, t), qd)

    def before(t: float) -> Array:
        q0, qd0 = start(t)
        return np.concatenate([robot.difference(q, q0), qd0])

    def after(t: float) -> Array:
        q1, qd1 = moved(*start(t))
        return np.concatenate([robot.difference(end, q1), qd1])

    return difference(before), difference(after)


@pytest.mark.parametrize("stabilize", ["project", "baumgarte", "none"])
@pytest.mark.parametrize(("name", "integrator"), STEPS)
def test_a_linearized_step_is_the_derivative_of_a_rollout(
    name: str, integrator: str, stabilize: str
) -> None:
    if name == "car" and (integrator, stabilize) != ("semi_implicit_euler", "project"):
        pytest.skip("compiles for minutes")
    robot, q, qd, tau = made(name)
    options = {"integrator": integrator, "stabilize": stabilize, "rate": 7.0}
    A, B = robot.linearize(q, qd, tau, DT, **options)
    moved, n = rolled(robot, tau, steps=1, **options), robot.nv
    end, _ = moved(q, qd)

    def after(qd: Array, more: Array) -> Array:
        q1, qd1 = moved(q, qd, more)
        return np.concatenate([robot.difference(end, q1), qd1])

    for v in directions(robot, q)[:3]:
        before, then = changes(robot, moved, q, qd, v)
        assert_close(A @ before, then)
        along = difference(lambda t, v=v: after(qd + t * v, 0.0 * tau))
        assert_close(A[:, n:] @ v, along)
    for k in (0, n - 1):
        push = np.eye(n)[k]
        along = difference(lambda t, push=push: after(qd, t * push))
        assert_close(B[:, k], along)


@pytest.mark.parametrize("name", SMALL)
def test_linearized_steps_compose_to_the_derivative_of_a_longer_rollout(
    name: str,
) -> None:
    robot, q, qd, tau = made(name)
    run = robot.rollout(q, qd, tau, DT, steps=6)
    A, _ = robot.linearize(run.q[:-1], run.qd[:-1], np.tile(tau, (6, 1)), DT)
    product = np.linalg.multi_dot(A[::-1])
    (v, *_) = directions(robot, q)
    before, after = changes(robot, rolled(robot, tau, steps=6), q, qd, v)
    assert_close(product @ before, after)


@pytest.mark.parametrize("name", SMALL)
def test_a_projected_step_stays_where_the_loops_are_closed(name: str) -> None:
    robot, q, qd, tau = made(name)
    q, qd = robot.project(q, qd)
    dt = 1e-4  # a projection leaves what is of higher order in dt
    A, B = robot.linearize(q, qd, tau, dt)
    run = robot.rollout(q, qd, tau, dt, steps=1)
    n, turning = robot.nv, ramidyn.derivative(ramidyn.constraint_jacobian, "q")
    dJ = ramidyn.compile(turning, robot)
    J, along = np.asarray(robot.constraint_jacobian(q)), directions(robot, q).T
    turned = np.einsum("rkc,k->rc", dJ(q), qd) @ along
    kept = np.hstack(
        [
            np.vstack([along, -np.linalg.pinv(J) @ turned]),
            np.vstack([0.0 * along, along]),
        ]
    )
    J = np.asarray(robot.constraint_jacobian(run.q[-1]))
    for changed in (A @ kept, B):
        dq, dqd = changed[:n], changed[n:]
        assert_close(J @ dq, 0.0 * (J @ dq))
        turned = np.einsum("rkc,k->rc", dJ(run.q[-1]), run.qd[-1]) @ dq
        assert_close(J @ dqd, -turned)


def test_trees_have_nothing_to_stabilize() -> None:
    robot = ramidyn.robots.chain(2)
    state: Sequence[Any] = ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], DT)
    plain = robot.linearize(*state)
    for x, y in zip(robot.linearize(*state, stabilize="none"), plain, strict=True):
        np.testing.assert_array_equal(x, y)


def test_linearizing_knows_its_options() -> None:
    robot, q, qd, tau = made("a pin")
    with pytest.raises(
        ArgumentError, match="stabilize is 'partition'; possible: 'none', 'baumgarte'"
    ):
        robot.linearize(q, qd, tau, DT, stabilize="partition")
    with pytest.raises(ArgumentError, match=r"rate is -1\.0; expected a number, 0 or"):
        robot.linearize(q, qd, tau, DT, stabilize="baumgarte", rate=-1.0)
    with pytest.raises(ArgumentError, match="integrator is 'implicit'; possible: "):
        robot.linearize(q, qd, tau, DT, integrator="implicit")
