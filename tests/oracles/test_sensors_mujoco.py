"""Sensors of MJCF, computed in rollouts: each measures what MuJoCo's does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import ArgumentError, ModelWarning, UnknownName
from ramidyn.policies import Sensor
from ramidyn.robot import Robot

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = pytest.mark.oracle

STEPS, DT, EXACT = 40, 2e-3, 1e-9
XML = """
<mujoco model="sensed">
  <option magnetic="0.1 0.2 -0.3"/>
  <worldbody>
    <body name="base" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="box" size="0.2 0.1 0.05" mass="2" contype="0" conaffinity="0"/>
      <site name="imu" pos="0.1 0.02 0.03" euler="20 30 40"/>
      <body name="upper" pos="0.2 0 0">
        <joint name="shoulder" axis="0 1 0.2" pos="0.01 0 0"/>
        <joint name="twist" axis="1 0 0"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1"
              contype="0" conaffinity="0"/>
        <site name="upper_site" pos="0.05 0.01 0" euler="10 -20 5"/>
        <body name="lower" pos="0.3 0 0">
          <joint name="slide" type="slide" axis="1 0 1"/>
          <geom type="sphere" size="0.05" mass="0.5" contype="0" conaffinity="0"/>
          <site name="tip" pos="0.1 0 0.02" euler="0 60 10"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="drive" joint="shoulder" gear="3" ctrlrange="-1 1" ctrllimited="true"/>
    <motor name="second" joint="shoulder" gear="-2"/>
  </actuator>
  <sensor>
    <gyro name="gyro" site="imu"/>
    <gyro name="short_gyro" site="imu" cutoff="0.4"/>
    <velocimeter name="velocimeter" site="tip"/>
    <accelerometer name="accelerometer" site="imu"/>
    <accelerometer name="tip_acceleration" site="tip"/>
    <magnetometer name="compass" site="tip"/>
    <force name="force" site="upper_site"/>
    <torque name="torque" site="upper_site"/>
    <force name="tip_force" site="tip"/>
    <torque name="tip_torque" site="tip"/>
    <jointpos name="angle" joint="shoulder"/>
    <jointvel name="rate" joint="slide"/>
    <actuatorpos name="length" actuator="drive"/>
    <actuatorvel name="length_rate" actuator="second"/>
    <jointactuatorfrc name="driven" joint="shoulder"/>
    <framepos name="place" objtype="site" objname="tip"/>
    <framequat name="turn" objtype="site" objname="tip"/>
    <framelinvel name="linear" objtype="xbody" objname="lower"/>
    <frameangvel name="angular" objtype="site" objname="tip"/>
  </sensor>
</mujoco>
"""
TEXT = XML.replace(
    "</sensor>", '<touch name="t" site="tip"/><clock name="c"/></sensor>'
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return ramidyn.load(XML, conventions="mujoco", actuators=True)


def drive(random: Any) -> Any:
    return {"control": random.uniform(2, -2.0, 2.0)}


def start(robot: Robot) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    q = robot.random_configuration(rng=4)
    return q, rng.normal(size=robot.nv)


def test_every_sensor_measures_what_mujocos_does(robot: Robot) -> None:
    theirs = mujoco.MjModel.from_xml_string(XML)
    names = [theirs.sensor(k).name for k in range(theirs.nsensor)]
    assert list(robot.sensors) == names
    run = robot.rollout(
        *start(robot),
        dt=DT,
        steps=STEPS,
        policy=drive,
        seed=2,
        record=["control", *names],
    )
    data = mujoco.MjData(theirs)
    for k in range(0, STEPS, 5):
        data.qpos, data.qvel, data.ctrl = run.q[k], run.qd[k], run.control[k]
        mujoco.mj_forward(theirs, data)
        for name in names:
            found, expected = getattr(run, name)[k], data.sensor(name).data
            if name == "turn":  # both signs are the same rotation
                expected = expected * np.sign(expected[0])
            np.testing.assert_allclose(
                np.atleast_1d(found), expected, atol=EXACT, rtol=EXACT, err_msg=name
            )


def test_policies_take_sensors_and_remember_others(robot: Robot) -> None:
    def policy(gyro: Any, angle: Any, felt: Any) -> Any:
        return {"control": np.array([gyro[0] - angle, 0.01 * felt[2]])}

    run = robot.rollout(
        *start(robot),
        dt=DT,
        steps=STEPS,
        policy=policy,
        memory={"felt": np.zeros(3)},
        updates={"felt": lambda accelerometer: accelerometer},
        record=["control", "gyro", "angle", "accelerometer"],
    )
    np.testing.assert_allclose(
        run.control[:, 0], run.gyro[:, 0] - run.angle, atol=1e-12
    )
    last = 0.01 * run.accelerometer[:-1, 2]
    np.testing.assert_allclose(run.control[1:, 1], last, atol=1e-12)
    assert run.control[0, 1] == 0.0


def test_a_robot_at_rest_feels_its_weight() -> None:
    arm = ramidyn.robots.chain(2)
    frame = arm.body_names[-1]
    sensed = arm.add_sensor(Sensor("accelerometer", frame, "imu"))
    q = np.array([0.3, -0.2])
    tau = arm.gravity_forces(q)
    run = sensed.rollout(q, tau=tau, steps=2, record=["imu"])
    R = arm.pose(q, frame)[:3, :3]
    np.testing.assert_allclose(run.imu[0], R.T @ [0, 0, 9.81], atol=1e-9)


def test_sensors_that_are_not_computed_are_named_in_a_warning() -> None:
    message = "2 .*a sensor of this kind is not computed|touch 't'.*not computed"
    with pytest.warns(ModelWarning, match=message):
        loaded = ramidyn.load(TEXT, conventions="mujoco", actuators=True)
    assert "t" not in loaded.sensors
    assert "gyro" in loaded.sensors


def test_bad_sensors_are_refused(robot: Robot) -> None:
    with pytest.raises(
        ArgumentError, match=r"kind is 'giro' \(did you mean 'gyro'\?\)"
    ):
        Sensor("giro", "tip", "g")
    with pytest.raises(ArgumentError, match=r"cutoff is -1.0; expected 0 or more"):
        Sensor("gyro", "tip", "g", cutoff=-1.0)
    with pytest.raises(ArgumentError, match="'gyro' given; expected a sensor"):
        robot.add_sensor("gyro")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="has a sensor 'gyro'; choose another name"):
        robot.add_sensor(Sensor("gyro", "tip", "gyro"))
    with pytest.raises(UnknownName, match="no frame 'top' in robot 'sensed'"):
        robot.add_sensor(Sensor("gyro", "top", "g"))
    with pytest.raises(UnknownName, match="no actuator 'top' in robot 'sensed'"):
        robot.add_sensor(Sensor("actuatorpos", "top", "g"))
    with pytest.raises(ArgumentError, match=r"at joint 'root' with nq = 7; expected a"):
        robot.add_sensor(Sensor("jointpos", "root", "g"))
    message = (
        "policy asks for sensor 'force', which needs accelerations that the policy"
    )
    with pytest.raises(ArgumentError, match=message):
        robot.rollout(*start(robot), steps=1, policy=lambda force: {"control": force})
