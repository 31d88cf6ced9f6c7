"""Forces that files ask for: taken on request, and named in one warning otherwise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ramidyn
from ramidyn import forces
from ramidyn.errors import ArgumentError, ModelError, ModelWarning

LINK = '<inertial mass="1" pos=".1 0 0" diaginertia=".1 .2 .2"/>'
MODEL = f"""<mujoco model="arm"><worldbody>
  <body name="a" gravcomp=".5"><joint name="j" stiffness="3" springref="20" damping=".2"
    frictionloss=".1"/>{LINK}
    <body name="b"><joint name="k" actuatorfrcrange="-2 3"/>{LINK}</body></body>
</worldbody>
<tendon><fixed name="t" stiffness="1" damping=".3" armature="2" springlength="0 .1">
    <joint joint="j" coef="2"/><joint joint="k" coef="-1"/></fixed>
  <spatial name="s" stiffness="4"><site site="x"/><site site="y"/></spatial></tendon>
<actuator><motor name="m" joint="j" gear="5" ctrlrange="-1 1" armature=".1"/>
  <position name="p" joint="k" kp="7" kv="2" forcerange="-4 4"/>
  <velocity name="v" tendon="t" kv="6"/>
  <general name="g" joint="k" gainprm="2" biastype="affine" biasprm="1 -3 -4"/>
  <damper name="d" joint="k" kv="3" ctrlrange="0 1"/>
  <intvelocity name="i" joint="k" actrange="-1 1"/><muscle name="u" tendon="t"/>
</actuator></mujoco>"""
URDF = f"""<robot name="arm"><link name="base"/><link name="a"><inertial>
  <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><joint name="j" type="continuous"><parent link="base"/><child link="a"/>
  <dynamics damping="0.4" friction="0.2"/></joint></robot>{""}"""


def load(text: str, **options: object) -> tuple[ramidyn.Robot, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        robot = ramidyn.load(text, **options)  # type: ignore[arg-type]
    return robot, [str(w.message) for w in caught]


def test_forces_of_mjcf_become_elements() -> None:
    robot, told = load(MODEL, passive=True, actuators=True)
    spring = np.radians(20.0)
    assert robot.forces == (
        forces.JointSpring("j", 3.0, spring, name="j_spring"),
        forces.JointDamper("j", 0.2, name="j_damping"),
        forces.JointFriction("j", 0.1, name="j_friction"),
        forces.GravityCompensation("a", 0.5, name="a_gravity_compensation"),
        forces.Tendon(
            ("j", "k"), (2.0, -1.0), 1.0, 0.3, rest_length=(0.0, 0.1), name="t"
        ),
        forces.Motor("j", 5.0, control_range=(-1.0, 1.0), armature=0.1, name="m"),
        forces.PositionServo("k", 7.0, 2.0, force_range=(-4.0, 4.0), name="p"),
        forces.VelocityServo(tendon="t", damping=6.0, name="v"),
        forces.GeneralActuator(
            "k", gain=(2.0, 0.0, 0.0), bias=(1.0, -3.0, -4.0), name="g"
        ),
        forces.GeneralActuator(
            "k", gain=(0.0, 0.0, -3.0), control_range=(0.0, 1.0), name="d"
        ),
        forces.ActuatorForceRange("k", -2.0, 3.0, name="k_actuator_range"),
    )
    assert told == [
        "arm: Not supported: armature of tendon 't'; spatial tendon 's' (stiffness); "
        "intvelocity actuator 'i'; muscle actuator 'u'"
    ]
    assert ramidyn.forward_dynamics.input_shapes(robot.model)["control"] == (5,)


def test_forces_that_do_not_act_are_named_in_one_warning() -> None:
    robot, told = load(MODEL)
    assert not robot.forces
    assert told == [
        "arm: forces in the file that do not act: springs of joints 'j'; damping of "
        "joints 'j'; friction of joints 'j'; gravity compensation of bodies 'a'; "
        "tendons 't'; motors 'm'; position servos 'p'; velocity servos 'v'; actuators "
        "'g', 'd' (load with passive=True and actuators=True to take them, False to "
        "decline). Not supported: armature of tendon 't'; spatial tendon 's' "
        "(stiffness); intvelocity actuator 'i'; muscle actuator 'u'"
    ]
    assert load(MODEL, passive=False, actuators=False)[1] == []
    with pytest.raises(ModelError, match=r"arm \(strict\): .*springs of joints 'j'"):
        load(MODEL, strict=True)


def test_actuators_pull_tendons_whose_springs_are_not_taken() -> None:
    robot, told = load(MODEL, passive=False, actuators=True)
    (tendon,) = (f for f in robot.forces if isinstance(f, forces.Tendon))
    assert (tendon.stiffness, tendon.damping) == (0.0, 0.0)
    assert told[0].startswith("arm: Not supported: ")


def test_forces_of_urdf_become_elements() -> None:
    robot, told = load(URDF)
    assert told == [
        "arm: forces in the file that do not act: damping of joints 'j'; friction of "
        "joints 'j' (load with passive=True to take them, False to decline)"
    ]
    robot, told = load(URDF, passive=True)
    assert told == []
    assert [type(f).__name__ for f in robot.forces] == ["JointDamper", "JointFriction"]
    assert load(URDF, passive=False)[1] == []


def test_flags_of_mjcf_switch_forces_off() -> None:
    flags = '<option><flag spring="disable" actuation="disable"/></option><worldbody>'
    robot, _ = load(MODEL.replace("<worldbody>", flags), passive=True, actuators=True)
    kinds = {type(f).__name__ for f in robot.forces}
    assert kinds == {"JointDamper", "JointFriction", "GravityCompensation", "Tendon"}


def test_disabled_groups_of_actuators_do_not_act() -> None:
    text = MODEL.replace("<motor ", '<motor group="3" ').replace(
        "<worldbody>", '<option actuatorgroupdisable="1 3"/><worldbody>'
    )
    robot, told = load(text, passive=False, actuators=True)
    assert "m" not in {f.name for f in robot.forces}
    assert "motor actuator 'm' (its group is disabled)" in told[0]


SERVO = '<actuator><position name="p" joint="{}" kp="3" dampratio="1" gear="{}"/>'
SLIDES = f'<body><joint name="k" type="slide"/><joint type="slide"/>{LINK}</body>'


def servo(joint: str, gear: float, bodies: str, kp: str = "3") -> str:
    actuator = SERVO.format(joint, gear).replace('kp="3"', f'kp="{kp}"')
    return f"""<mujoco model="arm"><worldbody><body><joint name="j"/>{LINK}</body>
      {bodies}</worldbody>{actuator}</actuator></mujoco>"""


@pytest.mark.parametrize("bodies", ['<body><joint name="k"/></body>', SLIDES])
def test_damping_ratio_on_joints_without_inertia_is_refused(bodies: str) -> None:
    text = (
        "arm: servo 'p' has a damping ratio, but it moves joints without inertia; "
        r"give it damping instead \(MJCF: kv instead of dampratio\)"
    )
    with pytest.raises(ModelError, match=text):
        load(servo("k", 1.0, bodies), actuators=True)


def test_damping_ratio_with_a_negative_stiffness_is_refused() -> None:
    with pytest.raises(ModelError, match="a damping ratio, but its stiffness is -2; "):
        load(servo("j", 1.0, "", "-2"), actuators=True)


def test_damping_ratio_does_not_depend_on_bodies_without_inertia_elsewhere() -> None:
    massless = '<body><joint name="k"/></body>'
    given, alone = (
        load(servo("j", 2.0, bodies), actuators=True)[0].forces
        for bodies in (massless, "")
    )
    assert given == alone
    (idle,) = load(servo("j", 0.0, ""), actuators=True)[0].forces
    assert isinstance(idle, forces.PositionServo)
    assert idle.damping == 0.0


def test_gravity_compensation_is_split_among_joints_and_actuators() -> None:
    text = MODEL.replace('name="j"', 'name="j" actuatorgravcomp="true"')
    text = text.replace('name="b"', 'name="b" gravcomp="2"')
    robot, _ = load(text, passive=True, actuators=True)
    found = [f for f in robot.forces if isinstance(f, forces.GravityCompensation)]
    assert found == [
        forces.GravityCompensation("b", 2.0, ("k",), name="b_gravity_compensation"),
        forces.GravityCompensation(
            "a", 0.5, by_actuators=True, name="a_actuator_gravity_compensation"
        ),
        forces.GravityCompensation(
            "b", 2.0, ("j",), True, name="b_actuator_gravity_compensation"
        ),
    ]
    left = robot.lock({"k": 0.0}).forces
    assert [f.name for f in left if isinstance(f, forces.GravityCompensation)] == [
        "a_actuator_gravity_compensation",
        "b_actuator_gravity_compensation",
    ]


def test_range_of_a_tendon_without_zero_is_refused() -> None:
    text = MODEL.replace('name="t"', 'name="t" actuatorfrcrange="1 2"')
    with pytest.raises(ModelError, match=r"actuatorfrcrange excludes 0; expected it"):
        load(text)


@pytest.mark.parametrize("option", ["passive", "actuators"])
def test_option_that_is_not_a_choice_is_refused(option: str) -> None:
    with pytest.raises(ArgumentError, match=f"{option} is 3; possible: True, False, "):
        load(URDF, **{option: 3})
