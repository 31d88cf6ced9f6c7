"""Contacts, hard limits and dry friction that a file asks for."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.contacts import (
    ContactBox,
    ContactCapsule,
    ContactPoints,
    ContactSphere,
    DryFriction,
    HardLimit,
)
from ramidyn.description.pose import Pose
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    TraceError,
    UnknownName,
)
from ramidyn.forces import JointFriction
from ramidyn.robot import Robot
from support.close import assert_close


def load(text: str, **options: Any) -> tuple[Robot, list[str]]:
    """Return a robot and the lines of its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = ramidyn.load(text, **{"conventions": "mujoco"} | options)
    prefix = f"{robot.name}: "
    return robot, [line.removeprefix(prefix) for line in robot.warnings]


def mjcf(geoms: str, floor: str = "", rest: str = "") -> str:
    """Return a free body with geoms above a floor."""
    return f"""<mujoco model="thing"><worldbody>
      <geom name="floor" type="plane" size="1 1 1" {floor}/>
      <body name="b"><freejoint name="root"/>{geoms}</body>
      </worldbody>{rest}</mujoco>"""


BALL = '<geom name="ball" size=".1" pos="1 2 3"/>'


def test_spheres_capsules_and_boxes_touch_the_floor_of_an_mjcf() -> None:
    robot, lines = load(
        mjcf(
            BALL
            + '<geom name="rod" type="capsule" size=".05" fromto="0 0 0 0 .4 0"/>'
            + '<geom name="box" type="box" size=".1 .2 .3" euler="0 0 90"/>',
            'pos="0 0 -1"',
        ),
        contacts=True,
    )
    assert lines == []
    ball, rod, box = robot.contacts
    assert isinstance(ball, ContactSphere)
    assert (ball.frame, ball.radius, ball.center) == ("b", 0.1, (1.0, 2.0, 3.0))
    assert (ball.friction, ball.offset) == (1.0, -1.0)
    assert isinstance(rod, ContactCapsule)
    assert (rod.radius, rod.half_length) == (0.05, 0.2)
    assert_close(rod.center, (0.0, 0.2, 0.0))
    assert_close(np.abs(rod.axis), (0.0, 1.0, 0.0))
    assert isinstance(box, ContactBox)
    assert isinstance(box.placement, Pose)
    assert_close(box.size, (0.2, 0.4, 0.6))
    assert_close(box.placement.R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_a_tilted_floor_on_a_fixed_body_is_a_plane() -> None:
    text = f"""<mujoco><compiler angle="radian"/><worldbody>
      <body name="stand" pos="0 0 2"><geom type="plane" size="1 1 1" pos="0 0 1"
        euler="0 0.3 0"/></body>
      <body name="b"><freejoint/>{BALL}</body></worldbody></mujoco>"""
    (ball,) = load(text, contacts=True)[0].contacts
    assert isinstance(ball, ContactSphere)
    assert_close(ball.normal, (math.sin(0.3), 0.0, math.cos(0.3)))
    assert_close(ball.offset, 3.0 * math.cos(0.3))


def only(text: str, **options: Any) -> Any:
    (contact,) = load(text, contacts=True, **options)[0].contacts
    return contact


def test_numbers_of_geoms_are_combined_like_in_mujoco() -> None:
    """Friction is the larger, margins add up; priority decides alone."""
    ball = BALL.replace("/>", ' friction=".3" condim="1" margin=".02"/>')
    assert only(mjcf(ball, 'friction=".2" condim="1"')).friction == 0.0
    assert only(mjcf(ball, 'friction=".2"')).friction == 0.3
    assert only(mjcf(ball, 'friction=".2" priority="1"')).friction == 0.2
    assert only(mjcf(ball, 'margin=".03"')).offset == pytest.approx(0.05)
    pair = '<contact><pair geom1="ball" geom2="floor" friction=".7 .8"/></contact>'
    assert only(mjcf(ball, 'contype="0" conaffinity="0"', pair)).friction == 0.7


def test_masks_and_exclusions_are_respected() -> None:
    ball = BALL.replace("/>", ' contype="2" conaffinity="4"/>')
    none = "no shape of the file can touch the ground"
    assert load(mjcf(ball), contacts=True)[1] == [none]
    assert only(mjcf(ball, 'contype="4"')).name == "ball"
    excluded = '<contact><exclude body1="world" body2="b"/></contact>'
    assert load(mjcf(BALL, rest=excluded), contacts=True)[1] == [none]
    option = '<option><flag contact="disable"/></option>'
    robot, lines = load(mjcf(BALL, rest=option), contacts=True)
    assert (robot.contacts, lines) == (
        *((),),
        ["the file switches contacts off (<flag>); none are taken"],
    )


def test_what_is_not_taken_is_named() -> None:
    text = mjcf(
        BALL.replace("/>", ' condim="6"/>')
        + '<geom name="can" type="cylinder" size=".1 .1"/><geom type="ellipsoid" '
        'size=".1 .1 .2"/><body name="arm"><joint/><geom name="egg" type="ellipsoid" '
        'size=".1 .1 .2"/><body name="hand"><joint/><geom name="tip" size=".1"/></body>'
        "</body>",
        rest="",
    ).replace("<body", '<geom name="rock" size="1"/><body', 1)
    robot, lines = load(text, contacts=True)
    assert [c.name for c in robot.contacts] == ["ball", "tip"]
    assert lines == [
        "1 shape ('rock') of the world cannot be touched: only planes can; ground= "
        "takes a function of x and y",
        "contacts between bodies of the robot are not taken, of 4 geoms ('ball', "
        "'can', 'geom of b' and 1 more); add contacts.SpherePair where they matter",
        "contacts are not taken of 1 cylinder ('can'), 2 ellipsoids ('b_geom2', "
        "'egg'): only spheres, capsules, boxes and the corners of meshes that you name "
        "touch the ground; name the shapes you need in contacts=[...]",
        "friction of 1 shape ('ball') resists sliding only, and alike in all "
        "directions: torsional and rolling friction are not taken",
    ]
    assert load(text, contacts=False)[1] == []


NOT_TAKEN = "contacts are not taken of 1 cylinder ('can')"


def test_meshes_that_are_named_touch_at_their_corners() -> None:
    """Of a box, these are its corners; a mesh may be scaled, turned and moved."""
    corners = 0.5 * np.array(list(itertools.product((-1, 1), repeat=3)))
    inside = np.array([[0.1, 0.2, 0.3], [0.0, 0.0, 0.5], [0.0, 0.5, 0.5]])
    text = " ".join(f"{x:g}" for x in np.concatenate([corners, inside]).ravel())
    mesh = f'<asset><mesh name="m" vertex="{text}" scale="1 2 3"/></asset>'
    geom = '<geom name="hull" type="mesh" mesh="m" pos="1 0 0" euler="0 0 90"/>'
    robot, lines = load(mjcf(geom, rest=mesh), contacts=["hull"])
    (hull,) = robot.contacts
    assert isinstance(hull, ContactPoints)
    assert lines == []
    expected = corners * [1, 2, 3] @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [1, 0, 0]
    given = np.array(hull.points)
    assert len(given) >= 8
    for x in expected:
        assert np.abs(given - x).max(axis=1).min() < 1e-6
    assert load(mjcf(geom, rest=mesh), contacts=True)[0].contacts == ()
    with pytest.raises(ModelError, match=r"needs the corners of its mesh: mesh 'sole"):
        load(URDF_MESH, contacts=["foot"], ground=0.0, root="floating")


URDF_MESH = """<robot name="r"><link name="foot"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><collision>
  <geometry><mesh filename="sole.stl"/></geometry></collision></link></robot>"""


def test_shapes_can_be_chosen_by_their_names_or_those_of_their_bodies() -> None:
    text = mjcf(BALL + '<geom name="can" type="cylinder" size=".1 .1"/>')
    for wanted in (["ball"], ["b"], "ball", ("ball", "b")):
        robot, lines = load(text, contacts=wanted)
        assert [c.name for c in robot.contacts] == ["ball"]
        assert [line[:44] for line in lines] == (
            [] if wanted in (["ball"], "ball") else [NOT_TAKEN]
        )
    with pytest.raises(
        ModelError,
        match=r"'can' in contacts has 1 cylinder \('can'\); contacts",
    ):
        load(text, contacts=["can"])
    text = text.replace('name="ball"', 'name="ball" contype="0" conaffinity="0"')
    with pytest.raises(ModelError, match=r"has 1 sphere \('ball'\), which cannot"):
        load(text, contacts=["ball"])
    with pytest.raises(UnknownName, match="no collision shape or body 'foot' in robot"):
        load(text, contacts=["foot"])
    with pytest.raises(ArgumentError, match=r"contacts is \[{}\]; expected a list of"):
        load(text, contacts=[{}])


@pytest.mark.parametrize(
    ("attribute", "match"),
    [
        ('friction="-0.5"', "friction=-0.5; expected 0 or more"),
        ('condim="2"', "condim=2; expected 1, 3, 4 or 6"),
    ],
)
def test_numbers_that_cannot_be_are_refused(attribute: str, match: str) -> None:
    with pytest.raises(ModelError, match=f"geom 'ball': {match}"):
        load(mjcf(BALL.replace("/>", f" {attribute}/>")), contacts=True)


def test_a_geom_that_cannot_be_read_is_named() -> None:
    text = mjcf(BALL + '<geom name="hill" type="hfield" hfield="h" mass="0"/>')
    robot, lines = load(text, contacts=True)
    assert [c.name for c in robot.contacts] == ["ball"]
    assert lines[-1].endswith("(its contacts are not taken)")


URDF = """<robot name="thing"><link name="base"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  <collision><origin xyz="0 0 1"/><geometry><sphere radius="0.1"/></geometry>
  </collision><collision><geometry><box size="1 2 3"/></geometry></collision></link>
  <link name="arm"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="2" velocity="1" effort="1"/>
  <dynamics friction="0.3" damping="0.1"/></joint></robot>"""


def test_a_urdf_needs_ground_and_has_friction_1() -> None:
    options: dict[str, Any] = {"root": "floating", "passive": False}
    with pytest.raises(ModelError, match=r"the file has no plane .*; pass gro"):
        load(URDF, contacts=True, **options)
    ball, box = load(URDF, contacts=True, ground=-0.5, **options)[0].contacts
    assert (ball.name, box.name) == ("base_collision0", "base_collision1")
    assert isinstance(ball, ContactSphere)
    assert (ball.friction, ball.offset, ball.center) == (1.0, -0.5, (0.0, 0.0, 1.0))
    # On a fixed root, the shapes are part of the world.
    robot, lines = load(URDF, contacts=True, ground=0.0, passive=False)
    assert robot.contacts == ()
    assert lines[-1] == "no shape of the file can touch the ground"


@pytest.mark.parametrize("tag", ["<mu1>0.7</mu1>", '<mu1 value="0.7"/>'])
def test_friction_of_a_urdf_may_be_in_a_tag_of_gazebo(tag: str) -> None:
    options: dict[str, Any] = {"root": "floating", "passive": False, "ground": 0.0}
    gazebo = f'<gazebo reference="base">{tag}</gazebo></robot>'
    robot, _ = load(URDF.replace("</robot>", gazebo), contacts=True, **options)
    assert [c.friction for c in robot.contacts] == [0.7, 0.7]  # type: ignore[union-attr]
    with pytest.raises(ModelError, match=r"mu1 is -0\.7; expected 0 or more"):
        load(
            URDF.replace("</robot>", gazebo.replace("0.7", "-0.7")),
            contacts=True,
            **options,
        )


def hills(x: Any, y: Any) -> Any:
    return 0.1 * x * y


def test_ground_is_a_height_or_a_function() -> None:
    assert only(mjcf(BALL, 'pos="0 0 3"'), ground=1.0).offset == 1.0
    assert only(mjcf(BALL), ground=hills).height is hills
    with pytest.raises(ArgumentError, match="ground is given, but no contacts"):
        load(mjcf(BALL), ground=0.0)
    with pytest.raises(TraceError, match="a symbol is not a number yet"):
        load(mjcf(BALL), contacts=True, ground=lambda x, _: math.sin(x))
    with pytest.raises(ArgumentError, match="ground is 'low'; expected a height"):
        load(mjcf(BALL), contacts=True, ground="low")


def test_an_sdf_has_friction_and_restitution() -> None:
    text = """<sdf version="1.9"><model name="m"><link name="ball"><inertial><mass>1
      </mass></inertial><collision name="c"><geometry><sphere><radius>0.1</radius>
      </sphere></geometry><surface><friction><ode><mu>0.4</mu></ode></friction><bounce>
      <restitution_coefficient>0.6</restitution_coefficient><threshold>0.01</threshold>
      </bounce></surface></collision></link></model></sdf>"""
    ball = only(text, ground=0.0)
    assert (ball.name, ball.friction, ball.restitution) == ("c", 0.4, 0.6)
    assert only(text.replace("0.01<", "1e5<"), ground=0.0).restitution == 0.0
    _, lines = load(text.replace("0.4<", "-1<"), contacts=True, ground=0.0)
    assert any("mu is -1; expected 0 or more (its contacts" in line for line in lines)


def test_hard_limits_are_taken_on_request() -> None:
    robot, _ = load(URDF, hard_limits=True)
    assert robot.contacts == (HardLimit("elbow", -1.0, 2.0, name="elbow_limit"),)
    plain, _ = load(URDF)
    assert plain.contacts == ()
    assert plain.add_hard_limits().contacts == robot.contacts
    same = URDF.replace('upper="2"', 'upper="-1"')
    assert load(same, hard_limits=True, passive=False)[1] == [
        "hard limits of 1 joint ('elbow') are not taken: lower and upper are the same"
    ]


def test_limits_of_tendons_are_named() -> None:
    text = """<mujoco model="m"><worldbody><body><joint name="hinge"/>
      <geom size=".1"/></body></worldbody><tendon><fixed name="t" range="0 1">
      <joint joint="hinge" coef="1"/></fixed></tendon></mujoco>"""
    assert load(text, hard_limits=True)[1] == [
        "not supported: limits of 1 tendon ('t'); load with hard_limits=False to "
        "decline"
    ]
    assert load(text)[1] == []


def test_dry_friction_takes_the_place_of_smooth_friction() -> None:
    robot, lines = load(URDF, passive=True, dry_friction=True)
    assert robot.contacts == (DryFriction("elbow", 0.3, name="elbow_dry_friction"),)
    assert not any(isinstance(f, JointFriction) for f in robot.forces)
    assert len(robot.forces) == 1
    assert lines == []
    smooth, _ = load(URDF, passive=True)
    assert any(isinstance(f, JointFriction) for f in smooth.forces)
    assert load(URDF)[1] == [
        "2 passive forces in the file do not act: damping of 1 joint ('elbow'), "
        "friction of 1 joint ('elbow'); load with passive=True to take them "
        "(dry_friction=True takes friction as rigid), passive=False to decline"
    ]
    assert "friction" not in load(URDF, dry_friction=True)[1][0]


def test_dry_friction_of_tendons_is_named() -> None:
    hinge = '<joint name="hinge" frictionloss=".2"/><geom size=".1"/>'
    text = f"""<mujoco model="m"><worldbody><body>{hinge}</body></worldbody>
      <tendon><fixed name="t" frictionloss=".1"><joint joint="hinge" coef="1"/></fixed>
      </tendon></mujoco>"""
    robot, lines = load(text, dry_friction=True, passive=True)
    assert [c.name for c in robot.contacts] == ["hinge_dry_friction"]
    assert lines == [
        "dry friction of 1 tendon ('t') is not taken: passive=True takes it as a force"
    ]


def test_names_of_contacts_and_forces_stay_distinct() -> None:
    ball = BALL.replace('"ball"', '"motor"')
    motor = '<actuator><motor name="motor" joint="root" gear="0 0 1 0 0 0"/></actuator>'
    robot, _ = load(mjcf(ball, rest=motor), contacts=True, actuators=True)
    assert (robot.forces[0].name, robot.contacts[0].name) == ("motor", "motor_")


def test_too_many_shapes_are_refused() -> None:
    geom = '<geom name="g{}" type="box" size=".1 .1 .1"/>'
    text = mjcf("".join(geom.format(k) for k in range(20)))
    with pytest.raises(ModelError, match=r"would have 160 contact candidates .* at mo"):
        load(text, contacts=True)
    assert len(load(text, contacts=["g1", "g7"])[0].contacts) == 2
