"""Passive forces and actuators as MuJoCo has them, and accelerations with them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import forces
from ramidyn.compiler import program_of
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.mujoco_agreement import without_meshes
from support.random_forces import random_forces
from support.references import MJCFS, needs_shared_robots, path_of

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = pytest.mark.oracle

TOLERANCE = 1e-9
SMALL = ("iiwa14", "robotiq_2f85_v4")
RANDOM = 4


def without_friction(robot: Robot) -> Robot:
    """Return a robot without what MuJoCo's constraint solver does."""
    for element in robot.forces:
        if isinstance(element, forces.JointFriction):
            robot = robot.remove_force(element.name)
    return robot


def assert_forces_are_mujocos(
    robot: Robot, model: Any, rng: np.random.Generator, accelerations: bool = True
) -> None:
    """Check applied forces, their energy and accelerations at a random state."""
    model.dof_frictionloss[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    q = robot.random_configuration(rng)
    qd, tau = rng.normal(size=(2, robot.nv))
    control = rng.normal(size=model.nu)
    data.qpos, data.qvel, data.ctrl, data.qfrc_applied = q, qd, control, tau
    mujoco.mj_forward(model, data)
    state = {"q": q, "qd": qd, "tau": tau, "control": control}

    def value(quantity: ramidyn.Quantity) -> Any:
        program = program_of(quantity, robot)
        given = {v.name: state[v.name] for v in program.inputs}
        (found,) = evaluate(program, given).values()
        return found

    total = data.qfrc_passive + data.qfrc_actuator
    assert_close(value(ramidyn.applied_forces), total, tolerance=TOLERANCE)
    springs = [
        f.name
        for f in robot.forces
        if isinstance(f, (forces.JointSpring, forces.Tendon))
    ]
    stored = value(ramidyn.elastic_energy(springs))
    weights = model.body_mass[:, None] * data.xipos
    stored_there = data.energy[0] + (weights @ model.opt.gravity).sum()
    assert_close(stored, stored_there, tolerance=TOLERANCE, least=100.0)
    if accelerations:
        qdd = value(ramidyn.forward_dynamics(algorithm="aba"))
        assert_close(qdd, data.qacc_smooth, tolerance=TOLERANCE)


def load(source: Any) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ramidyn.load(source, passive=True, actuators=True, conventions="mujoco")
    return without_friction(robot)


@needs_shared_robots
@pytest.mark.parametrize(
    "name",
    [n if n in SMALL else pytest.param(n, marks=pytest.mark.slow) for n in MJCFS],
)
def test_forces_of_shared_robots_are_mujocos(
    name: str, rng: np.random.Generator
) -> None:
    robot = load(path_of(name))
    opened = ramidyn.Robot.from_description(_without_loops(robot), conventions="mujoco")
    assert_forces_are_mujocos(opened, without_meshes(path_of(name)), rng)


def _without_loops(robot: Robot) -> Any:
    return replace(robot.description, loops=())


def assert_random_models_agree(seeds: range) -> None:
    for seed in seeds:
        rng = np.random.default_rng(seed)
        text = random_forces(rng)
        model = mujoco.MjModel.from_xml_string(text)
        assert_forces_are_mujocos(load(text), model, rng)


def test_forces_of_random_models_are_mujocos() -> None:
    assert_random_models_agree(range(RANDOM))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 300, 20))
def test_forces_of_many_random_models_are_mujocos(first: int) -> None:
    assert_random_models_agree(range(first, first + 20))
