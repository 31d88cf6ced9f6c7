"""Armature acts on q̇ as the conventions have it: in MuJoCo's way and Pinocchio's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ramidyn.loading import load
from ramidyn.quantities import dynamics, mass_matrix
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.robot import Robot
from support.close import assert_close
from support.states import value

pytestmark = pytest.mark.oracle

close = functools.partial(assert_close, tolerance=1e-12)
JOINTS = {
    "free": '<joint type="free" armature=".5"/>',
    "ball": '<joint type="ball" armature=".5" pos=".1 .2 .3"/>',
    "slide": '<joint type="slide" axis="1 2 3" armature=".5"/>',
    "hinge": '<joint axis="1 2 3" pos=".1 .2 .3" armature=".5"/>',
}
MODEL = """<mujoco><option><flag contact="disable"/></option><worldbody>
  <body pos="1 2 3">{}
  <geom type="box" size=".1 .2 .3" pos=".1 0 .2" mass="1"/>
  <body pos="0 0 1"><joint axis="0 1 1" armature=".2"/><geom size=".1" mass="2"/></body>
</body></worldbody></mujoco>"""


def state_of(robot: Robot, rng: np.random.Generator) -> dict[str, Any]:
    qd, qdd, tau = rng.normal(size=(3, robot.nv))
    return {"q": robot.random_configuration(rng), "qd": qd, "qdd": qdd, "tau": tau}


@pytest.mark.parametrize("joint", JOINTS)
def test_armature_acts_as_in_mujoco(joint: str, rng: np.random.Generator) -> None:
    mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
    text = MODEL.format(JOINTS[joint])
    robot = load(text, conventions="mujoco")
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    x = state_of(robot, rng)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = x["q"], x["qd"], x["tau"]
    mujoco.mj_forward(model, data)
    close(value(robot, dynamics.bias_forces, **x), data.qfrc_bias)
    for algorithm in ("aba", "ltdl"):
        ours = value(robot, forward_dynamics(algorithm=algorithm), **x)
        close(ours, data.qacc_smooth)
    C = value(robot, mass_matrix.coriolis_matrix, **x)
    g = value(robot, dynamics.gravity_forces, **x)
    close(C @ x["qd"] + g, data.qfrc_bias)
    data.qacc[:] = x["qdd"]
    mujoco.mj_inverse(model, data)
    close(value(robot, dynamics.inverse_dynamics, **x), data.qfrc_inverse)


@pytest.mark.parametrize("joint", JOINTS)
def test_armature_acts_as_in_pinocchio(joint: str, rng: np.random.Generator) -> None:
    pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio is absent")
    text = MODEL.format(JOINTS[joint])
    robot, bare = (
        load(x, conventions="pinocchio")
        for x in (text, text.replace("armature", "margin"))
    )
    x = state_of(robot, rng)
    armature = np.full(robot.nv, 0.5)
    armature[-1] = 0.2
    model: Any = pin.buildModelFromXML(
        '<robot name="r"><link name="l"/></robot>', pin.JointModelFreeFlyer()
    )
    model.inertias[1] = pin.Inertia.Random()
    model.armature[:] = 0.5
    data = model.createData()
    q, v, a = pin.neutral(model), rng.normal(size=6), rng.normal(size=6)
    tau = pin.rnea(model, data, q, v, a).copy()
    model.armature[:] = 0.0
    # What theirs does, on a free flyer too, ours does on every joint.
    close(tau - pin.rnea(model, data, q, v, a), 0.5 * a)
    ours, without = (value(r, dynamics.inverse_dynamics, **x) for r in (robot, bare))
    close(ours - without, armature * x["qdd"])
    for algorithm in ("aba", "ltdl"):
        forward = forward_dynamics(algorithm=algorithm)
        again = value(robot, forward, **(x | {"tau": ours}))
        np.testing.assert_allclose(again, x["qdd"], atol=1e-9)


def test_loop_algorithms_agree_on_a_free_body_with_armature(
    rng: np.random.Generator,
) -> None:
    text = MODEL.format(JOINTS["free"]).replace('<body pos="1', '<body name="b" pos="1')
    loop = '<equality><connect body1="b" anchor=".1 .2 .3"/></equality></mujoco>'
    robot = load(text.replace("</mujoco>", loop), conventions="mujoco")
    x = state_of(robot, rng)
    found = [
        value(robot, forward_dynamics(algorithm=algorithm), **x)
        for algorithm in ("joint_formulation", "loopwise", "constrained_aba")
    ]
    close(found[1], found[0])
    close(found[2], found[0])
