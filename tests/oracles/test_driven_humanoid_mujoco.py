"""A humanoid driven at random through its own motors: forces are MuJoCo's."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.forces import Motor

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = pytest.mark.oracle

STEPS, DT, EXACT = 120, 1e-3, 1e-9


def file_of_gymnasium() -> Path:
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        pytest.skip("gymnasium, which has the file, is absent")
    return Path(found.origin).parent / "envs" / "mujoco" / "assets" / "humanoid.xml"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
def test_motors_of_gymnasiums_humanoid_are_mujocos() -> None:
    path = file_of_gymnasium()
    robot = ramidyn.load(path, conventions="mujoco", actuators=True, passive=True)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    motors = [f.name for f in robot.forces if isinstance(f, Motor)]
    assert len(motors) == theirs.nu == 17

    def flail(random: Any) -> Any:
        return {"control": random.uniform(theirs.nu, -0.8, 0.8)}  # limits are ±0.4

    def of_motors(q: Any, qd: Any, control: Any) -> Any:
        return robot.applied_forces(q, qd, control, forces=motors)

    run = robot.rollout(
        data.qpos,
        dt=DT,
        steps=STEPS,
        seed=5,
        policy=flail,
        record={"control": "control", "driven": of_motors},
    )
    assert (np.abs(run.control) > 0.4).any()
    assert np.abs(run.qd[-1]).max() > 1.0
    for k in range(0, STEPS, 7):
        data.qpos, data.qvel, data.ctrl = run.q[k], run.qd[k], run.control[k]
        mujoco.mj_forward(theirs, data)
        np.testing.assert_allclose(run.driven[k], data.qfrc_actuator, atol=EXACT)
