"""Steps and rollouts are MuJoCo's, with contacts, constraints and dampers off."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from ramidyn.cli.arguments import RobotFile
from ramidyn.description.pose import Array
from support.close import assert_close
from support.references import MJCFS, needs_shared_robots, path_of

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
rollout: Any = pytest.importorskip("mujoco.rollout")
peers: Any = importlib.import_module("ramidyn.cli.peers.mujoco_")

pytestmark = [
    pytest.mark.oracle,
    needs_shared_robots,
    pytest.mark.filterwarnings("ignore:.* beyond its .* limit"),
    pytest.mark.filterwarnings("ignore:.* is too long for this motion"),
]

DT = 2e-3
INTEGRATORS = {"semi_implicit_euler": "mjINT_EULER", "rk4": "mjINT_RK4"}
CASES = [
    pytest.param(name, marks=[] if name == "iiwa14" else pytest.mark.slow)
    for name in MJCFS
]


def peer(name: str, integrator: str) -> Any:
    found = peers.load(RobotFile(str(path_of(name))))
    opt = found.model.opt
    opt.timestep = DT
    opt.integrator = getattr(mujoco.mjtIntegrator, INTEGRATORS[integrator])
    opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    found.model.dof_frictionloss[:] = 0.0
    return found


def start(robot: Any, rng: np.random.Generator, batch: int, steps: int) -> Any:
    q = robot.random_configuration(rng, batch=batch)
    qd = 0.3 * rng.normal(size=(batch, robot.nv))
    largest = np.abs(robot.gravity_forces(q)).max()
    tau = 0.1 * largest * rng.normal(size=(batch, steps, robot.nv))
    scale = robot.mass_matrix(q).diagonal(axis1=1, axis2=2).min(axis=0)
    return q, qd, np.clip(tau, -5.0 * scale, 5.0 * scale)  # light fingers turn slowly


def theirs(model: Any, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
    """Return q and q̇ of mujoco.rollout, after each step."""
    spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    first = np.zeros((len(q), size))
    first[:, 1 : 1 + model.nq] = q
    first[:, 1 + model.nq : 1 + model.nq + model.nv] = qd
    data = mujoco.MjData(model)
    state, _ = rollout.rollout(model, data, first, tau, control_spec=spec)
    return (
        state[:, :, 1 : 1 + model.nq],
        state[:, :, 1 + model.nq : 1 + model.nq + model.nv],
    )


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", CASES)
def test_a_step_and_a_hundred_are_those_of_mujoco(
    name: str, integrator: str, rng: np.random.Generator
) -> None:
    found = peer(name, integrator)
    robot = found.robot
    q, qd, tau = start(robot, rng, batch=4, steps=100)
    run = robot.rollout(q, qd, tau, DT, integrator=integrator)
    q1, qd1 = theirs(found.model, q, qd, tau)
    assert_close(run.q[:, 1], q1[:, 0], "q after a step", tolerance=1e-9)
    assert_close(run.qd[:, 1], qd1[:, 0], "qd after a step", tolerance=1e-9)
    assert_close(run.q[:, -1], q1[:, -1], "q after 100 steps", tolerance=1e-6)
    assert_close(run.qd[:, -1], qd1[:, -1], "qd after 100 steps", tolerance=1e-6)
