"""Tasks at singular configurations: never a finite number that means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify
from ramify.algorithms.operational.tasks import Task
from ramify.builder import RobotBuilder
from ramify.control import OperationalSpace
from ramify.model.builder import Body, Joint
from ramify.robot import Robot
from support.loops import as_robot
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


@pytest.mark.parametrize("damping", [1.0, 0.05, 1e-2])
def test_a_target_out_of_reach_straightens_the_arm_and_no_more(
    arm: Robot, damping: float
) -> None:
    angles = np.linspace(0.1, 6.1, 7)
    target = 2.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)  # reach: 2.0
    tip = ramify.tasks.Task("tip", ("x", "z"), "local_world_aligned")
    control = OperationalSpace(arm, tip, damping=damping)
    q = np.tile([0.3, 0.5, 0.4], (len(target), 1))
    qd, dt, fastest = np.zeros_like(q), 1e-3, 0.0
    for _ in range(3000):
        x = arm.pose(q, "tip")[:, (0, 2), 3]
        v = (arm.task_jacobian(q, tip) @ qd[..., None])[..., 0]
        tau = control(q, qd, 50.0 * (target - x) - 15.0 * v, -5.0 * qd)
        qd = qd + dt * arm.forward_dynamics(q, qd, tau)
        q = q + dt * qd
        fastest = max(fastest, float(np.abs(qd).max()))
    assert fastest < 300.0
    distance = np.linalg.norm(target - x, axis=1)
    np.testing.assert_allclose(distance, 0.3, atol=0.05)


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
