"""Tasks at singular configurations: never a finite number that means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.builder import RobotBuilder
from ramidyn.control import OperationalSpace
from ramidyn.description.builder import Body, Joint
from ramidyn.errors import ArgumentError
from ramidyn.loading import load
from ramidyn.robot import Robot
from support.loops import as_robot
from support.paths import SHARED_ROBOTS
from support.planar import UP, rod

TIP = Task("hand", ("x", "z"), "world")
X, Z = (Task("hand", row, "world") for row in "xz")


@pytest.fixture(scope="module")
def arm() -> Robot:
    """Two bars in a plane and a hand at their end."""
    b = RobotBuilder("arm")
    b.add(Body("upper", rod(0.5, 1.0)), "world", Joint.revolute(UP, name="shoulder"))
    elbow = Joint.revolute(UP, name="elbow")
    b.add(Body("fore", rod(0.7, 0.8)), "upper", elbow, (1.0, 0, 0))
    wrist = Joint.revolute(UP, name="wrist")
    b.add(Body("hand", rod(0.1, 0.2)), "fore", wrist, (0.8, 0, 0))
    b.add_frame("tip", "hand", (0.2, 0, 0))
    return as_robot(b.description())


def stretched(count: int) -> np.ndarray:
    q = np.random.default_rng(0).normal(size=(count, 3))
    q[:, 1] = 0.0
    return q


def test_inertia_of_a_stretched_arm_is_not_finite(arm: Robot) -> None:
    q = stretched(50)
    inverse = arm.operational_inertia_inverse(q, [TIP])
    assert (np.linalg.matrix_rank(inverse) == 1).all()
    inertia = arm.operational_inertia(q, [TIP])
    assert not np.isfinite(inertia).all(axis=(1, 2)).any()
    q[:, 1] = 1e-3
    inertia = arm.operational_inertia(q, [TIP])
    inverse = arm.operational_inertia_inverse(q, [TIP])
    np.testing.assert_allclose(inertia @ inverse, [np.eye(2)] * 50, atol=1e-6)


def test_torques_of_a_stretched_arm_are_not_finite_or_damped(arm: Robot) -> None:
    q, rest = stretched(50), np.zeros((50, 3))
    wanted = np.random.default_rng(1).normal(size=(50, 2))
    tau = OperationalSpace(arm, [TIP])(q, rest, wanted)
    assert not np.isfinite(tau).all(axis=1).any()
    for damping in (1e-1, 1e-3, 1e-6):
        control = OperationalSpace(arm, [TIP], damping=damping)
        added = control(q, rest, wanted) - control(q, rest, 0 * wanted)
        assert np.abs(added).max() < 10 / damping


def through_the_singularity(count: int) -> np.ndarray:
    """Elbows from bent one way to bent the other, straight in the middle."""
    q = np.zeros((2 * count + 1, 3))
    q[:, 0], q[:, 2] = 0.4, 0.0
    q[:, 1] = np.linspace(-0.3, 0.3, 2 * count + 1)
    assert q[count, 1] == 0.0
    return q


@pytest.mark.parametrize("levels", [[TIP], [[X], [Z]]], ids=["one level", "two"])
@pytest.mark.parametrize("damping", [1.0, 1e-2, 1e-5, 1e-12])
def test_damping_bounds_task_forces(
    arm: Robot, levels: list[Any], damping: float
) -> None:
    q = through_the_singularity(30)
    rest = np.zeros_like(q)
    control = OperationalSpace(arm, levels, damping=damping, posture=False)
    J = arm.task_jacobian(q, [TIP])
    eigenvalues = np.linalg.eigvalsh(arm.operational_inertia_inverse(q, [TIP]))
    weight = control(q, rest, np.zeros((len(q), 2)))
    for wanted in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        tau = control(q, rest, np.tile(wanted, (len(q), 1)))
        added = tau - weight
        assert np.isfinite(added).all()
        # τ = Jᵀ F and |F| ≤ |ẍ| / μ; one level disturbs the next once more
        bound = np.linalg.norm(J, axis=(1, 2)) / damping
        assert (np.linalg.norm(added, axis=1) <= bound ** len(levels)).all()
        is_regular = eigenvalues[:, 0] > 2 * damping
        qdd = np.linalg.solve(arm.mass_matrix(q), added[..., None])
        moved = (J @ qdd)[..., 0]
        off = np.abs(moved - wanted).max(axis=1)
        assert (off[is_regular] < 1e-9 / eigenvalues[is_regular, 0]).all()


ALIGNED = "local_world_aligned"
SEPARATE = [[Task("tip", "x", ALIGNED)], [Task("tip", "z", ALIGNED)]]


def out_of_reach(arm: Robot, levels: Any, damping: float) -> tuple[float, float, Any]:
    """Return the largest speed and torque of 3 s towards targets, and distances."""
    angles = np.linspace(0.1, 6.1, 7)
    target = 2.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)  # reach: 2.0
    tip = Task("tip", ("x", "z"), ALIGNED)
    control = OperationalSpace(arm, levels, damping=damping, period=1e-3)
    q = np.tile([0.3, 0.5, 0.4], (len(target), 1))
    qd, dt, fastest, strongest = np.zeros_like(q), 1e-3, 0.0, 0.0
    for _ in range(3000):
        x = arm.pose(q, "tip")[:, (0, 2), 3]
        v = (arm.task_jacobian(q, tip) @ qd[..., None])[..., 0]
        tau = control(q, qd, 50.0 * (target - x) - 15.0 * v, -5.0 * qd)
        qd = qd + dt * arm.forward_dynamics(q, qd, tau)
        q = q + dt * qd
        fastest = max(fastest, float(np.abs(qd).max()))
        strongest = max(strongest, float(np.abs(tau).max()))
    return fastest, strongest, np.linalg.norm(target - x, axis=1)


@pytest.mark.parametrize("damping", [0.5, 0.05, 1e-2, 1e-4, 1e-6])
def test_a_target_out_of_reach_straightens_the_arm_and_no_more(
    arm: Robot, damping: float
) -> None:
    tip = Task("tip", ("x", "z"), ALIGNED)
    fastest, strongest, distance = out_of_reach(arm, tip, damping)
    assert fastest < 150.0
    assert strongest < 2e3  # without the period: 2e12 at 1e-6
    np.testing.assert_allclose(distance, 0.3, atol=0.05)


@pytest.mark.parametrize("damping", [0.5, 1e-2, 1e-4, 1e-6])
def test_levels_out_of_reach_stay_bounded(arm: Robot, damping: float) -> None:
    fastest, strongest, distance = out_of_reach(arm, SEPARATE, damping)
    assert fastest < 300.0
    assert strongest < 5e3
    assert (distance < 0.7).all()


@pytest.mark.parametrize("levels", [[TIP], SEPARATE], ids=["one level", "two"])
@pytest.mark.parametrize("damping", [1e-2, 1e-6, 1e-12])
def test_canceling_velocities_changes_them_by_a_tenth_in_a_period(
    arm: Robot, levels: list[Any], damping: float
) -> None:
    rng = np.random.default_rng(3)
    q = rng.normal(size=(200, 3))
    q[:, 1:] *= 10.0 ** rng.uniform(-9, 0, size=(200, 1))
    qd = rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-3, 4, size=(200, 1))
    period = 1e-3
    control = OperationalSpace(arm, levels, damping=damping, period=period)
    forces = control(q, qd, np.zeros((200, 2))) - arm.bias_forces(q, qd)
    M = arm.mass_matrix(q)
    qdd = np.linalg.solve(M, forces[..., None])[..., 0]
    size = lambda x: np.sqrt(np.einsum("bi,bij,bj->b", x, M, x))  # noqa: E731
    assert np.isfinite(forces).all()
    assert (size(qdd) <= len(levels) * 0.1 * size(qd) / period).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
@pytest.mark.skipif(not SHARED_ROBOTS.exists(), reason="no folder of shared robots")
@pytest.mark.parametrize("rows", ["position", "pose"])
@pytest.mark.parametrize("damping", [0.5, 0.05, 1e-2, 1e-4, 1e-6])
def test_an_iiwa_reaches_for_what_is_too_far(rows: str, damping: float) -> None:
    robot = load(SHARED_ROBOTS / "iiwa14" / "iiwa14.xml")
    hand = robot.body_names[-1]
    task = Task(hand, rows, ALIGNED)
    control = OperationalSpace(robot, task, damping=damping, algorithm="sfa")
    away = np.random.default_rng(0).normal(size=(6, 3))
    away[:, 2] = np.abs(away[:, 2])
    target = [0, 0, 0.36] + 1.5 * away / np.linalg.norm(away, axis=1, keepdims=True)
    q = np.tile([0.1, 0.5, 0.2, -1.2, 0.3, 0.8, 0.1], (6, 1))
    qd, dt = np.zeros_like(q), 1e-3
    for _ in range(3000):
        x = robot.pose(q, hand)[:, :3, 3]
        wanted = -15.0 * (robot.task_jacobian(q, task) @ qd[..., None])[..., 0]
        wanted[:, :3] += 50.0 * (target - x)
        tau = control(q, qd, wanted, -5.0 * qd)
        assert np.abs(tau).max() < 1e4
        qd = qd + dt * robot.forward_dynamics(q, qd, tau)
        q = q + dt * qd
    distance = np.linalg.norm(target - x, axis=1)
    assert (distance < 0.8).all()  # the arm is 0.9 m long, and 0.6 m short
    assert np.abs(qd).max() < 30.0


def test_a_period_must_be_a_time(arm: Robot) -> None:
    with pytest.raises(ArgumentError, match="period is -1; expected the period of the"):
        OperationalSpace(arm, TIP, damping=1e-2, period=-1)


def test_diagnostics_name_the_level_that_is_singular(arm: Robot) -> None:
    turn = Task("hand", "ry", "world")
    control = OperationalSpace(arm, [[turn], [TIP]], damping=1e-3)
    straight, bent = (control.diagnostics([0.4, b, b]) for b in (0.0, 0.9))
    assert [level.is_singular for level in straight] == [False, True]
    assert [level.is_singular for level in bent] == [False, False]
    along = np.array(straight[1].direction)  # the arm's own direction, at 0.4 rad
    np.testing.assert_allclose(abs(along @ [np.cos(0.4), np.sin(0.4)]), 1.0, rtol=1e-9)
    assert str(straight[1]).startswith("'hand' (x z): singular, eigenvalues ")
    assert str(bent[0]).startswith("'hand' (ry): regular, eigenvalues ")
    undamped = OperationalSpace(arm, [TIP])
    assert undamped.diagnostics([0.4, 0.0, 0.0])[0].is_singular
    always = OperationalSpace(arm, [[TIP], ["hand"]], damping=1e-3)
    assert str(always.diagnostics([0.4, 0.9, 0.9])[1]).startswith(
        "'hand' (pose): redundant, eigenvalues "
    )
