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


UNSUPPORTED = (
    "arm: not supported: armature of 1 tendon ('t'); load with passive=False to "
    "decline",
    "arm: not supported: 1 spatial tendon with stiffness ('s'); load with "
    "passive=False to decline",
    "arm: not supported: 1 intvelocity actuator ('i'); load with actuators=False to "
    "decline",
    "arm: not supported: 1 muscle actuator ('u'); load with actuators=False to decline",
)
PASSIVE = (
    "arm: 5 passive forces in the file do not act: springs of 1 joint ('j'), damping "
    "of 1 joint ('j'), friction of 1 joint ('j'), gravity compensation of 1 body "
    "('a'), 1 tendon ('t'); load with passive=True to take them (dry_friction=True "
    "takes friction as rigid), passive=False to decline"
)
ACTUATORS = (
    "arm: 5 forces of actuators in the file do not act: 1 motor ('m'), 1 position "
    "servo ('p'), 1 velocity servo ('v'), 2 general actuators ('g', 'd'); load with "
    "actuators=True to take them, actuators=False to decline"
)


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
    assert told == ["\n".join(UNSUPPORTED)]
    assert ramidyn.forward_dynamics.input_shapes(robot.model)["control"] == (5,)


def test_forces_that_do_not_act_are_named_in_one_warning() -> None:
    robot, told = load(MODEL)
    assert not robot.forces
    assert robot.warnings == (PASSIVE, ACTUATORS, *UNSUPPORTED)
    assert told == ["\n".join(robot.warnings)]
    with pytest.raises(ModelError, match=r"arm \(strict\): .*springs of 1 joint "):
        load(MODEL, strict=True)


ANSWERS = {
    "none": ({"passive": False, "actuators": False}, ()),
    "passive": ({"passive": False}, (ACTUATORS, *UNSUPPORTED[2:])),
    "actuators": ({"actuators": False}, (PASSIVE, *UNSUPPORTED[:2])),
    "taken": ({"actuators": True, "passive": False}, UNSUPPORTED[2:]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answered_option_has_no_line_in_the_warning(name: str) -> None:
    options, lines = ANSWERS[name]
    assert load(MODEL, **options)[0].warnings == lines


def test_many_names_of_a_kind_are_counted() -> None:
    bodies = "".join(
        f'<body><joint name="j{k}" damping="1"/>{LINK}</body>' for k in range(5)
    )
    motors = "".join(f'<muscle name="m{k}" joint="j0"/>' for k in range(12))
    text = f"""<mujoco model="arm"><worldbody>{bodies}</worldbody>
      <actuator>{motors}</actuator></mujoco>"""
    assert load(text)[0].warnings == (
        "arm: 5 passive forces in the file do not act: damping of 5 joints ('j0', "
        "'j1', 'j2' and 2 more); load with passive=True to take them, passive=False to "
        "decline",
        "arm: not supported: 12 muscle actuators ('m0', 'm1', 'm2', 'm3', 'm4', 'm5', "
        "'m6', 'm7' and 4 more); load with actuators=False to decline",
    )


def test_actuators_pull_tendons_whose_springs_are_not_taken() -> None:
    robot, told = load(MODEL, passive=False, actuators=True)
    (tendon,) = (f for f in robot.forces if isinstance(f, forces.Tendon))
    assert (tendon.stiffness, tendon.damping) == (0.0, 0.0)
    assert told[0].startswith("arm: not supported: ")


def test_forces_of_urdf_become_elements() -> None:
    robot, told = load(URDF)
    assert told == [
        "arm: 2 passive forces in the file do not act: damping of 1 joint ('j'), "
        "friction of 1 joint ('j'); load with passive=True to take them "
        "(dry_friction=True takes friction as rigid), passive=False to decline"
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
    assert "arm: in a disabled group: 1 actuator ('m'); load with actu" in told[0]


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


@pytest.mark.parametrize("option", ["passive", "actuators", "contacts"])
def test_option_that_is_not_a_choice_is_refused(option: str) -> None:
    with pytest.raises(ArgumentError, match=f"{option} is 3; possible: True, False, "):
        load(URDF, **{option: 3})


BALL = '<geom name="{}" size=".1"/>'


def touching(bodies: str, rest: str = "") -> ramidyn.Robot:
    text = f"""<mujoco model="arm"><worldbody>{BALL.format("floor")}{bodies}</worldbody>
      {rest}</mujoco>"""
    return load(text, conventions="pinocchio")[0]


def test_geoms_that_can_touch_are_named_unless_declined() -> None:
    body = f'<body name="b"><freejoint/>{BALL.format("foot")}<geom size="1"/></body>'
    robot = touching(body)
    assert robot.warnings == (
        "arm: 3 geoms can touch others in MuJoCo, but contacts in the file do not act: "
        "'floor', 'foot', 'geom of b'; load with contacts=True to take those with its "
        "planes (or ground=), contacts=False to decline",
    )
    text = f"<mujoco><worldbody>{BALL}{body}</worldbody></mujoco>"
    assert load(text, contacts=False, conventions="mujoco")[1] == []
    for flag in ("contact", "constraint"):
        option = f'<option><flag {flag}="disable"/></option>'
        assert touching(body, option).warnings == ()
