"""integrate, difference, neutral, normalize: as in Pinocchio, and as in MuJoCo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.loading import load
from ramidyn.robot import Robot

pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio, the oracle, is absent")
pytestmark = pytest.mark.oracle

INERTIA = Inertia.from_box(2.0, (0.1, 0.2, 0.3), at=(0.05, -0.02, 0.01))
AXIS = np.array([0.48, 0.6, 0.64])
AXIS2 = np.cross(AXIS, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(AXIS, [0, 0, 1]))
PITCH = 0.2

JOINTS = {
    "revolute": (Joint.revolute(AXIS), lambda: pin.JointModelRevoluteUnaligned(AXIS)),
    "prismatic": (
        Joint.prismatic(AXIS),
        lambda: pin.JointModelPrismaticUnaligned(AXIS),
    ),
    "helical": (
        Joint.helical(PITCH, AXIS),
        lambda: pin.JointModelHelicalUnaligned(AXIS, PITCH),
    ),
    "universal": (
        Joint.universal(AXIS, AXIS2),
        lambda: pin.JointModelUniversal(AXIS, AXIS2),
    ),
    "planar": (Joint.planar(), pin.JointModelPlanar),
    "spherical": (Joint.spherical(), pin.JointModelSpherical),
    "floating": (Joint.floating(), pin.JointModelFreeFlyer),
}


def one_joint(type_: str) -> Robot:
    builder = RobotBuilder("one")
    builder.add(Body("body", INERTIA), joint=JOINTS[type_][0])
    return Robot.from_description(builder.description())


def pin_one_joint(type_: str) -> Any:
    model = pin.Model()
    joint = model.addJoint(0, JOINTS[type_][1](), pin.SE3.Identity(), "body_joint")
    own = pin.Inertia(INERTIA.mass, INERTIA.com, INERTIA.matrix)
    model.appendBodyToJoint(joint, own, pin.SE3.Identity())
    return model


def pin_q(type_: str, q: Any) -> Any:
    """Our configuration in Pinocchio's coordinates, where an angle may be a pair."""
    if type_ == "planar":
        return np.array([*q[:2], np.cos(q[2]), np.sin(q[2])])
    return np.asarray(q)


def assert_same_q(type_: str, ours: Any, theirs: Any, atol: float = 1e-12) -> None:
    ours = pin_q(type_, ours)
    if type_ in ("spherical", "floating"):  # q and −q are one orientation
        assert np.linalg.norm(ours[-4:]) == pytest.approx(1.0, abs=1e-14)
        theirs = np.array(theirs)
        theirs[-4:] *= np.sign(ours[-4:] @ theirs[-4:])
    np.testing.assert_allclose(ours, theirs, atol=atol, rtol=1e-12)


@pytest.mark.parametrize("type_", JOINTS)
@pytest.mark.parametrize("size", [0.0, 1e-170, 1e-9, 1e-4, 0.03, 0.2, 1.0, 3.0, 20.0])
def test_integrate_follows_pinocchio(
    type_: str, size: float, rng: np.random.Generator
) -> None:
    robot, model = one_joint(type_), pin_one_joint(type_)
    q = robot.random_configuration(rng, batch=9)
    v = size * rng.normal(size=(9, robot.nv))
    batch = robot.integrate(q, v, 0.5)
    for k in range(9):
        ours = robot.integrate(q[k], v[k], 0.5)
        np.testing.assert_allclose(ours, batch[k], atol=1e-14, rtol=1e-14)
        theirs = pin.integrate(model, pin_q(type_, q[k]), 0.5 * v[k])
        assert_same_q(type_, ours, theirs, 1e-12 * max(1.0, size))


@pytest.mark.parametrize("type_", JOINTS)
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.03, 0.2, 1.0, 1.7])
def test_difference_follows_pinocchio(
    type_: str, size: float, rng: np.random.Generator
) -> None:
    robot, model = one_joint(type_), pin_one_joint(type_)
    q0 = robot.random_configuration(rng, batch=9)
    v = size * rng.uniform(-1.0, 1.0, size=(9, robot.nv))
    q1 = robot.integrate(q0, v)
    ours = robot.difference(q0, q1)
    np.testing.assert_allclose(ours, v, atol=3e-15 + 1e-14 * size, rtol=1e-8)
    for k in range(9):
        a, b = pin_q(type_, q0[k]), pin_q(type_, q1[k])
        np.testing.assert_allclose(ours[k], pin.difference(model, a, b), atol=1e-9)


@pytest.mark.parametrize("type_", JOINTS)
def test_neutral_and_normalize_follow_pinocchio(
    type_: str, rng: np.random.Generator
) -> None:
    robot, model = one_joint(type_), pin_one_joint(type_)
    assert_same_q(type_, robot.neutral(), pin.neutral(model))
    q = robot.random_configuration(rng)
    scaled = q.copy()
    if type_ in ("spherical", "floating"):
        scaled[-4:] *= 3.7
    theirs = pin.normalize(model, pin_q(type_, scaled))
    assert_same_q(type_, robot.normalize(scaled), theirs)


@pytest.mark.parametrize("type_", JOINTS)
def test_forward_dynamics_follows_pinocchio(
    type_: str, rng: np.random.Generator
) -> None:
    robot, model = one_joint(type_), pin_one_joint(type_)
    q = robot.random_configuration(rng)
    qd, tau = rng.normal(size=(2, robot.nv))
    data = model.createData()
    theirs = pin.aba(model, data, pin_q(type_, q), qd, tau)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), theirs, rtol=1e-9)


CONTINUOUS = """
<robot name="wheel"><link name="a"/>
  <link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/>
    <axis xyz="0 0.6 0.8"/></joint></robot>
"""


def test_continuous_joint_is_a_circle_as_in_pinocchio(rng: np.random.Generator) -> None:
    robot, model = load(CONTINUOUS), pin.buildModelFromXML(CONTINUOUS)
    for _ in range(9):
        a, b = rng.uniform(-7.0, 7.0, size=2)
        there, here = ([np.cos(x), np.sin(x)] for x in (b, a))
        theirs = pin.difference(model, np.array(here), np.array(there))
        np.testing.assert_allclose(robot.difference([a], [b]), theirs, atol=1e-12)
        c = robot.integrate([a], [b])[0]
        theirs = pin.integrate(model, np.array(here), np.array([b]))
        np.testing.assert_allclose([np.cos(c), np.sin(c)], theirs, atol=1e-12)


# ------------------------------------------------------------ near half a turn


@pytest.mark.parametrize("short", [0.0, 1e-14, 1e-8, 1e-5, 1e-3])
def test_difference_is_accurate_near_half_a_turn(
    short: float, rng: np.random.Generator
) -> None:
    robot = one_joint("floating")
    q0 = robot.random_configuration(rng, batch=20)
    axis = rng.normal(size=(20, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    v = np.concatenate([rng.normal(size=(20, 3)), (np.pi - short) * axis], axis=1)
    q1 = robot.integrate(q0, v)
    back = robot.difference(q0, q1)
    sign = np.sign(np.sum(back[:, 3:] * axis, axis=1, keepdims=True))
    np.testing.assert_allclose(sign * back[:, 3:], v[:, 3:], atol=1e-13)
    again = robot.integrate(q0, back)
    dot = np.sign(np.sum(again[:, 3:] * q1[:, 3:], axis=1, keepdims=True))
    again[:, 3:] *= dot
    np.testing.assert_allclose(again, q1, atol=1e-13)


def test_difference_is_accurate_where_nothing_moves(rng: np.random.Generator) -> None:
    robot = one_joint("floating")
    q = robot.random_configuration(rng, batch=50)
    np.testing.assert_allclose(robot.difference(q, q), 0.0, atol=1e-15)
    flipped = q.copy()
    flipped[:, 3:] *= -1
    np.testing.assert_allclose(robot.difference(q, flipped), 0.0, atol=1e-15)


# ------------------------------------------------------------ MuJoCo

ALL_OF_MUJOCO = """
<mujoco><option><flag contact="disable"/></option><worldbody>
  <body name="a" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/>
    <body name="b" pos="0 0 .4" quat="1 2 3 4"><joint type="ball" pos=".1 0 0"/>
      <geom type="box" size=".1 .2 .3"/>
      <body name="c"><joint type="hinge" axis="1 2 3" ref="30"/>
        <joint type="slide" axis="0 1 1"/>
        <geom type="box" size=".1 .2 .3" pos=".1 .2 .3"/></body></body></body>
</worldbody></mujoco>
"""


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.1, 1.0, 5.0])
def test_mujoco_conventions_integrate_and_differentiate_as_mujoco(
    size: float, rng: np.random.Generator
) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(ALL_OF_MUJOCO)
    robot = load(ALL_OF_MUJOCO, conventions="mujoco")
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    np.testing.assert_allclose(robot.keyframes["qpos0"], model.qpos0, atol=1e-15)
    q0 = robot.random_configuration(rng, batch=9)
    v = size * rng.normal(size=(9, robot.nv))
    q1 = robot.integrate(q0, v, 0.3)
    for k in range(9):
        theirs = q0[k].copy()
        mujoco.mj_integratePos(model, theirs, v[k], 0.3)
        np.testing.assert_allclose(q1[k], theirs, atol=1e-13, rtol=1e-13)
        difference = np.zeros(model.nv)
        mujoco.mj_differentiatePos(model, difference, 1.0, q0[k], theirs)
        ours = robot.difference(q0[k], theirs)
        np.testing.assert_allclose(
            ours, difference, atol=1e-8 if size < 1e-3 else 1e-12
        )
        left = robot.difference(robot.integrate(q0[k], ours), theirs)
        np.testing.assert_allclose(left, 0.0, atol=1e-13)
    scaled = 2.5 * q0[0]
    theirs = scaled.copy()
    mujoco.mj_normalizeQuat(model, theirs)
    np.testing.assert_allclose(robot.normalize(scaled), theirs, atol=1e-14)


def test_forward_dynamics_of_mujoco_conventions_is_mujocos(
    rng: np.random.Generator,
) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(ALL_OF_MUJOCO)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    robot = load(ALL_OF_MUJOCO, conventions="mujoco")
    q = robot.random_configuration(rng)
    qd, tau = rng.normal(size=(2, robot.nv))
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.qfrc_applied = q, qd, tau
    mujoco.mj_forward(model, data)
    ours = robot.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(ours, data.qacc, rtol=1e-9, atol=1e-9)
    # The same motion in Pinocchio's conventions, and converted back.
    other = robot.with_conventions("pinocchio")
    p, pd = robot.convert_q(q, to="pinocchio"), robot.convert_qd(q, qd, to="pinocchio")
    acceleration = other.forward_dynamics(
        p, pd, robot.convert_tau(q, tau, to="pinocchio")
    )
    back = robot.convert_qdd(p, pd, acceleration, from_="pinocchio")
    np.testing.assert_allclose(back, data.qacc, rtol=1e-9, atol=1e-9)
