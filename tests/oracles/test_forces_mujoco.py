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
    control = rng.normal(scale=3.0, size=model.nu)
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


LINK = '<inertial mass="4" pos="1 0 0" diaginertia=".1 .2 .2"/>'
MOTOR = '<motor joint="j" gear="2"/>'


def arm(
    first: str = "", second: str = "", *, rest: str, on_body: str = "", option: str = ""
) -> str:
    """Return an arm of two joints, j and k, with words for each of its parts."""
    return f"""<mujoco>{option}<worldbody>
      <body name="a" {on_body}><joint name="j" axis="0 1 0" {first}/>{LINK}
        <body name="b" pos="1 0 0" {on_body}><joint name="k" axis="0 1 0" {second}/>
          {LINK}</body></body></worldbody>{rest}</mujoco>"""


def tendon(words: str, actuators: str) -> str:
    return f"""<tendon><fixed name="t" {words}><joint joint="j" coef="2"/>
      <joint joint="k" coef="-.5"/></fixed></tendon><actuator>{actuators}</actuator>"""


PULL = '<motor name="m" tendon="t" gear="3"/>'
SMALL_RANGE = 'actuatorfrcrange="-.1 .2"'
COMPENSATED = 'actuatorgravcomp="true"'
LIMITED_TENDON = f'{SMALL_RANGE} actuatorfrclimited="true"'
LIMITED_MODELS = {
    "joints pulled by a tendon": arm(
        SMALL_RANGE, SMALL_RANGE, rest=tendon("", PULL + MOTOR)
    ),
    "a tendon": arm(rest=tendon(LIMITED_TENDON, PULL)),
    "a tendon pulled by three": arm(
        rest=tendon(
            LIMITED_TENDON,
            PULL
            + '<position tendon="t" kp="9" forcerange="-.05 .05"/>'
            + '<motor tendon="t" gear="-2"/>',
        )
    ),
    "a tendon by default": arm(rest=tendon(SMALL_RANGE, PULL)),
    "a range without zero": arm(
        second='actuatorfrcrange="1 2"', rest=f"<actuator>{MOTOR}</actuator>"
    ),
    "compensation within ranges": arm(
        f'{COMPENSATED} actuatorfrcrange="-1 1"',
        f'{COMPENSATED} actuatorfrcrange="-3 50"',
        on_body='gravcomp="1.1"',
        rest=f"<actuator>{MOTOR}</actuator>",
    ),
    "compensation of one joint by actuators": arm(
        f'{COMPENSATED} actuatorfrcrange="-1 1"',
        SMALL_RANGE,
        on_body='gravcomp="1"',
        rest=f"<actuator>{MOTOR}</actuator>",
    ),
    "compensation without an actuator": arm(
        COMPENSATED, on_body='gravcomp="1"', rest=""
    ),
    "compensation, actuation disabled": arm(
        COMPENSATED,
        on_body='gravcomp="1"',
        rest=f"<actuator>{MOTOR}</actuator>",
        option='<option><flag actuation="disable"/></option>',
    ),
    "compensation, springs and dampers disabled": arm(
        COMPENSATED,
        on_body='gravcomp="1"',
        rest=f"<actuator>{MOTOR}</actuator>",
        option='<option><flag spring="disable" damper="disable"/></option>',
    ),
    "negative compensation on all bodies": arm(on_body='gravcomp="-1"', rest=""),
}


@pytest.mark.parametrize("name", LIMITED_MODELS)
def test_limits_and_compensation_by_actuators_are_mujocos(
    name: str, rng: np.random.Generator
) -> None:
    text = LIMITED_MODELS[name]
    robot = load(text)
    for _ in range(5):
        assert_forces_are_mujocos(robot, mujoco.MjModel.from_xml_string(text), rng)


def test_forces_of_random_models_are_mujocos() -> None:
    assert_random_models_agree(range(RANDOM))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 300, 20))
def test_forces_of_many_random_models_are_mujocos(first: int) -> None:
    assert_random_models_agree(range(first, first + 20))
