"""Joints, frames and actuators by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ramidyn.errors import ModelError, UnknownName
from ramidyn.loading import load
from support.urdf import INERTIA, joint, robot

pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")

LEG = """<mujoco model="leg"><compiler angle="radian"/>
<default><motor ctrlrange="-2 2"/>
  <default class="servo"><position inheritrange="0.5" forcerange="-7 7"/></default>
</default>
<worldbody><body name="hip"><joint name="ball" type="ball" damping=".3"/>
  <geom size=".1"/><site name="tip" pos="0 0 1"/>
  <body name="shin" pos="0 0 -1"><geom size=".1"/>
    <joint name="knee" axis="0 1 0" range="-1 3" damping=".1" stiffness="4"
      springref=".2" armature=".01" frictionloss=".5"/>
  </body></body></worldbody>
<actuator>
  <motor name="twist" joint="ball" gear="0 5"/>
  <position class="servo" joint="knee"/>
  <motor name="free" joint="knee" gear="3" ctrllimited="false"/>
  <general name="pull" site="tip" gear="1 0 0 0 0 0"/>
</actuator></mujoco>"""

MASS = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
ARM = robot(
    *(f'<link name="{name}">{MASS}</link>' for name in "abcd"),
    joint("z", "a", "b"),
    joint("y", "a", "c", '<limit lower="0" upper="1" effort="1" velocity="1"/>'),
    joint("x", "c", "d", '<mimic joint="z" multiplier="-2"/>', "continuous"),
    '<transmission name="t"><joint name="z"/><actuator name="motor">'
    "<mechanicalReduction>-79.5</mechanicalReduction></actuator></transmission>",
    '<transmission name="u"><joint name="y"/></transmission>',
    '<transmission name="v"><joint name="nowhere"/></transmission>',
)


def test_joint_has_its_place_and_what_the_file_says() -> None:
    leg = load(LEG)
    ball, knee = leg.joint("ball"), leg.joint("knee")
    assert (ball.q_slice, ball.v_slice) == (slice(0, 4), slice(0, 3))
    assert (knee.q_slice, knee.v_slice) == (slice(4, 5), slice(3, 4))
    assert (ball.parent, ball.child) == ("world", "hip")
    assert (knee.parent, knee.child, knee.type) == ("hip", "shin", "revolute")
    assert (ball.damping, ball.limits) == (0.3, None)
    assert (knee.damping, knee.friction, knee.stiffness) == (0.1, 0.5, 4.0)
    assert (knee.spring_reference, knee.armature) == (0.2, 0.01)
    assert knee.limits is not None
    assert (knee.limits.lower, knee.limits.upper) == (-1.0, 3.0)


def test_slices_follow_the_joint_order() -> None:
    leg = load(LEG, joint_order=["knee", "ball"])
    assert leg.joint("ball").q_slice == slice(1, 5)
    q = leg.neutral()
    np.testing.assert_array_equal(q[leg.joint("ball").q_slice], [0, 0, 0, 1])


def test_frame_says_where_it_is_fixed_and_what_moves_it() -> None:
    leg = load(LEG)
    tip = leg.frame("tip")
    assert (tip.name, tip.body, tip.joint) == ("tip", "hip", "ball")
    np.testing.assert_array_equal(tip.placement.p, [0, 0, 1])
    assert leg.frame("shin").placement.is_identity()
    assert (leg.frame("world").body, leg.frame("world").joint) == ("world", None)
    assert load(ARM).frame("a").joint is None


def test_unknown_names_come_with_suggestions() -> None:
    with pytest.raises(UnknownName, match=r"no joint 'nee' in robot 'leg'. Close: 'kn"):
        load(LEG).joint("nee")
    with pytest.raises(
        UnknownName, match=r"no frame 'tp' in robot 'leg'. Close: 'tip'"
    ):
        load(LEG).frame("tp")
    with pytest.raises(UnknownName, match="no frame '5' in robot 'leg'"):
        load(LEG).frame(5)  # type: ignore[arg-type]
    message = (
        r"joint 'x' of robot 'r' mimics another and is not in q; load.*independent"
    )
    with pytest.raises(UnknownName, match=message):
        load(ARM).joint("x")
    assert load(ARM, mimic="independent").joint("x").child == "d"


def test_actuators_of_mjcf_are_data() -> None:
    twist, servo, free, pull = load(LEG).actuators
    assert (twist.name, twist.type, twist.joint) == ("twist", "motor", "ball")
    assert (twist.gear, twist.control_range) == ((0.0, 5.0, 0.0), (-2.0, 2.0))
    assert (servo.name, servo.type, servo.joint) == ("position1", "position", "knee")
    assert (servo.control_range, servo.force_range) == ((-2.0, 2.0), (-7.0, 7.0))
    assert (free.gear, free.control_range) == ((3.0,), (-math.inf, math.inf))
    assert (pull.joint, pull.gear) == (None, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    wrong = LEG.replace('joint="knee" gear="3"', 'joint="kne" gear="3"')
    with pytest.raises(
        ModelError, match="no joint 'kne' in the model; expected 'knee'"
    ):
        load(wrong)


def test_actuators_of_urdf_are_its_transmissions() -> None:
    motor, plain = load(ARM).actuators
    assert (motor.name, motor.joint, motor.gear) == ("motor", "z", (-79.5,))
    assert (plain.name, plain.joint, plain.gear) == ("u", "y", (1.0,))


def test_actuators_follow_edits() -> None:
    leg = load(LEG).lock({"knee": 0.1})
    assert [a.name for a in leg.actuators] == ["twist", "pull"]
    assert load(LEG).with_root("fixed").actuators[0].name == "position1"
    both = load(ARM).attach(load(LEG), "b", prefix="l/")
    assert [a.joint for a in both.actuators][:3] == ["z", "y", "l/ball"]
    assert both.actuators[2].name == "l/twist"
