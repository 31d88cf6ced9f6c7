"""Quaternions of any length in qpos, as MuJoCo takes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from ramidyn.loading import load
from support.close import assert_close
from support.mujoco_agreement import mujoco

pytestmark = pytest.mark.oracle

TREE = """
<mujoco><option gravity="1 2 -9"/><worldbody>
  <body name="base"><freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 .2"/>
    <body name="arm" pos=".3 .1 0" euler="10 20 30">
      <joint name="shoulder" type="ball"/><geom type="box" size=".1 .3 .1" mass="2"/>
      <body name="hand" pos="0 .5 0">
        <joint name="elbow" axis="1 1 0"/><geom type="box" size=".1 .1 .2" mass="1"/>
      </body>
    </body>
  </body>
  <body name="bob" pos="2 0 0"><joint type="ball"/>
    <geom type="box" size=".1 .2 .1" pos="0 0 .4"/>
  </body>
</worldbody></mujoco>
"""


@pytest.mark.parametrize("seed", range(5))
def test_mujoco_agrees_at_quaternions_of_any_length(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(TREE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ours, about geoms
        robot = load(TREE, conventions="mujoco")
    data = mujoco.MjData(model)
    q: Any = rng.normal(size=model.nq) * rng.uniform(0.3, 3.0)
    data.qpos, data.qvel, data.qacc = q, *rng.normal(size=(2, model.nv))
    qd, qdd = data.qvel.copy(), data.qacc.copy()
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_crb(model, data)
    mujoco.mj_comVel(model, data)
    dense, bias, inverse = np.zeros((model.nv, model.nv)), *np.zeros((2, model.nv))
    mujoco.mj_fullM(model, data, dense)
    mujoco.mj_rne(model, data, 0, bias)
    mujoco.mj_rne(model, data, 1, inverse)
    assert_close(robot.mass_matrix(q), dense, "M")
    assert_close(robot.bias_forces(q, qd), bias, "bias")
    assert_close(robot.inverse_dynamics(q, qd, qdd), inverse, "inverse dynamics")
    assert_close(robot.forward_dynamics(q, qd, inverse), qdd, "forward dynamics")
    assert_close(robot.pose(q, "hand")[:3, 3], data.body("hand").xpos, "hand")
    turned = data.body("hand").xmat.reshape(3, 3)
    assert_close(robot.pose(q, "hand")[:3, :3], turned, "orientation of the hand")
    moved = q.copy()
    mujoco.mj_integratePos(model, moved, qd, 0.3)
    assert_close(robot.integrate(q, qd, 0.3), robot.normalize(moved), "integrated")
    change, other = np.zeros(model.nv), rng.normal(size=model.nq)
    mujoco.mj_normalizeQuat(model, other)
    mujoco.mj_differentiatePos(model, change, 1.0, robot.normalize(q), other)
    assert_close(robot.difference(q, 1.7 * other)[3:6], change[3:6], "difference")
