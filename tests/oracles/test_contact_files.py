"""Robots of files that stand, fall and stop, beside MuJoCo."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import ModelWarning
from ramidyn.robot import Robot
from support.references import needs_shared_robots, path_of

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = pytest.mark.oracle

PASSED = 2e-6
"""[m, rad] by which contacts overlap and limits are passed, at most twice `OVERLAP`"""


def load(source: str | Path, **options: Any) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return ramidyn.load(source, **{"conventions": "mujoco"} | options)


def foot(name: str, x: float, y: float) -> str:
    return f'<geom name="{name}" type="sphere" size=".03" pos="{x} {y} -.2"/>'


TABLE = f"""<mujoco model="table">
  <option timestep="0.0005" cone="elliptic" tolerance="1e-12" iterations="100"/>
  <default><geom friction=".6" margin=".002" density="0"/></default>
  <worldbody><geom name="floor" type="plane" size="1 1 1" euler="6 -4 0"/>
  <body name="table" pos="0 0 .26" euler="6 -4 0"><freejoint/>
    <inertial pos=".05 .02 .1" mass="3" diaginertia=".1 .1 .1"/>
    {foot("a", 0.3, 0.0)}{foot("b", -0.2, 0.25)}{foot("c", -0.2, -0.25)}
  </body></worldbody></mujoco>"""


def test_a_table_on_three_feet_presses_on_the_floor_as_in_mujoco() -> None:
    """Normal forces of three feet are unique, on a tilted floor too."""
    model = mujoco.MjModel.from_xml_string(TABLE)
    data = mujoco.MjData(model)
    for _ in range(4000):
        mujoco.mj_step(model, data)
    force, theirs = np.zeros(6), {}
    for k in range(data.ncon):
        contact = data.contact[k]
        mujoco.mj_contactForce(model, data, k, force)
        theirs[model.geom(contact.geom[1]).name] = force[0]

    robot = load(TABLE, contacts=True)
    run = robot.rollout(
        robot.keyframes["qpos0"], dt=2e-3, steps=1000, record=["contact_forces"]
    )
    normal = np.array(robot.contacts[0].normal)  # type: ignore[union-attr]
    forces = run.recorded["contact_forces"][-1]
    assert [c.name for c in robot.contacts] == ["a", "b", "c"]
    ours = forces @ normal
    np.testing.assert_allclose(ours, [theirs[n] for n in "abc"], rtol=2e-3)
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, 3 * 9.81], atol=1e-8)
    np.testing.assert_allclose(run.q[-1, 2], data.qpos[2], atol=1e-3)  # with margins
    assert np.abs(run.qd[-1]).max() < 1e-9  # it sticks,
    assert np.abs(data.qvel).max() > 1e-4  # and theirs, which is soft, creeps


@needs_shared_robots
def test_a_panda_stops_at_its_limits() -> None:
    options: dict[str, Any] = {"conventions": "pinocchio", "mimic": "reduce"}
    robot = load(path_of("panda"), hard_limits=True, **options)
    rng = np.random.default_rng(3)
    q = np.tile(robot.clamp(), (8, 1))
    tau = 60.0 * rng.choice([-1.0, 1.0], size=(8, robot.nv))
    run = robot.rollout(q, np.zeros((8, robot.nv)), tau[:, None], dt=1e-3, steps=1500)
    lower, upper = robot.limits.lower, robot.limits.upper
    assert (run.q >= lower - PASSED).all()
    assert (run.q <= upper + PASSED).all()
    at_stop = (run.q[:, -1] < lower + 1e-4) | (run.q[:, -1] > upper - 1e-4)
    assert at_stop.sum() > 20  # most joints are pressed against a stop


def humanoid() -> Path:
    gymnasium: Any = pytest.importorskip("gymnasium", reason="gymnasium is absent")
    return Path(gymnasium.__file__).parent / "envs/mujoco/assets/humanoid.xml"


@pytest.mark.slow
def test_a_humanoid_falls_on_its_floor_and_lies_there() -> None:
    """It would fall to z = -44 m in these three seconds."""
    robot = load(
        humanoid(), passive=True, actuators=True, contacts=True, hard_limits=True
    )
    run = robot.rollout(
        robot.clamp(robot.keyframes["qpos0"]),  # its knees start beyond their limits
        dt=3e-3,
        steps=1000,
        inputs={"control": np.zeros(17)},
        record=["contact_forces", "contact_residual"],
        every=20,
    )
    heights = robot.pose(np.ascontiguousarray(run.q), "torso")[:, 2, 3]
    assert heights[0] == pytest.approx(1.4)
    assert 0.05 < heights[-1] < 0.3
    total = run.recorded["contact_forces"][-1].sum(axis=0)
    np.testing.assert_allclose(total[2], robot.mass * 9.81, rtol=0.01)
    assert np.quantile(run.recorded["contact_residual"], 0.95) < 1e-6
    limits = robot.limits
    assert (run.q >= limits.lower - 1e-5).all()
    assert (run.q <= limits.upper + 1e-5).all()
