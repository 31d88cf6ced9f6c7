"""One loop said in four ways: add_loop, the builder, URDF and, where it can, MJCF."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.loop_types import ROWS
from ramidyn.description.pose import Pose
from ramidyn.errors import UnsupportedJoint
from ramidyn.loading import load
from ramidyn.mechanism.loops import add_loop
from ramidyn.mechanism.loops import loops_of as loops
from ramidyn.quantities.closed_loops import (
    constraint_bias,
    constraint_jacobian,
    constraint_residual,
)
from ramidyn.robot import Robot
from support.loops import as_robot, value
from support.pages import REPOSITORY

RPY_A, RPY_B = (0.3, -0.2, 0.5), (-0.1, 0.4, 0.2)
XYZ_A, XYZ_B = (0.1, 0.2, -0.1), (-0.2, 0.1, 0.3)
CUT_A, CUT_B = Pose.from_rpy(RPY_A, XYZ_A), Pose.from_rpy(RPY_B, XYZ_B)
LENGTH, C = 0.7, (0.1, 2.0, -0.5)
PARENTS = {"upper": "base", "lower": "upper", "other": "base"}
AXES = {"upper": (0, 1, 0), "lower": (0, 0, 1), "other": (1, 0, 0)}
AT = (0.3, 0.1, 0.2)
EPS = 1e-14
"""the doors differ by the roundings of a rotation matrix"""

CLOSED_BY = [(t, "other") for t in ROWS] + [
    (t, "world") for t in ROWS if t != "coupling"
]


def builder() -> RobotBuilder:
    b = RobotBuilder("arms")
    b.add(Body("base", Inertia.from_sphere(1.0, 0.1)))
    for n, parent in PARENTS.items():
        joint = Joint.revolute(AXES[n], name=f"{n}_joint")
        b.add(Body(n, Inertia.from_sphere(1.0, 0.1)), parent, joint, AT)
    return b


def by_add_loop(type_: str, b: str) -> Robot:
    options: dict[str, Any] = {"joint": type_, "name": "cut", "check": False}
    robot = as_robot(builder().description())
    if type_ == "coupling":
        joints = ("lower_joint", "other_joint")
        return add_loop(robot, joints=joints, coefficients=C, **options)
    if type_ == "distance":
        options["length"] = LENGTH
    return add_loop(robot, "lower", b, placement_a=CUT_A, placement_b=CUT_B, **options)


def by_builder(type_: str, b: str) -> Robot:
    made = builder()
    if type_ == "coupling":
        joints = ("lower_joint", "other_joint")
        made.add_loop(joint=type_, joints=joints, coefficients=C, name="cut")
    else:
        length = LENGTH if type_ == "distance" else None
        made.add_loop(
            "lower",
            b,
            joint=type_,
            placement_a=CUT_A,
            placement_b=CUT_B,
            length=length,
            name="cut",
        )
    return as_robot(made.description())


def by_urdf(type_: str, b: str) -> Robot:
    return load(
        f'<robot name="arms">{URDF_TREE}{urdf_loop(type_, b)}</robot>',
        joint_order="file",
    )


def words(numbers: Any) -> str:
    return " ".join(map(str, numbers))


def urdf_loop(type_: str, b: str) -> str:
    if type_ == "coupling":
        return (
            '<loop name="cut" type="coupling" joint="lower_joint" '
            f'follows="other_joint" coefficients="{words(C)}"/>'
        )
    length = f'length="{LENGTH}"' if type_ == "distance" else ""
    return (
        f'<loop name="cut" type="{type_}" {length}>'
        f'<body_a link="lower" xyz="{words(XYZ_A)}" rpy="{words(RPY_A)}"/>'
        f'<body_b link="{b}" xyz="{words(XYZ_B)}" rpy="{words(RPY_B)}"/></loop>'
    )


BALL = (
    '<inertial><mass value="1"/><inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" '
    'iyz="0" izz="0.004"/></inertial>'
)
URDF_TREE = f'<link name="base">{BALL}</link>' + "".join(
    f'<link name="{n}">{BALL}</link><joint name="{n}_joint" type="continuous">'
    f'<parent link="{p}"/><child link="{n}"/><origin xyz="{words(AT)}"/>'
    f'<axis xyz="{words(AXES[n])}"/></joint>'
    for n, p in PARENTS.items()
)


def constraints(robot: Robot) -> tuple[Any, ...]:
    assert robot.joint_names == ("upper_joint", "lower_joint", "other_joint")
    q, qd = np.array([0.4, -0.7, 1.1]), np.array([0.3, 0.8, -0.5])
    return (
        value(constraint_residual, robot, q=q),
        value(constraint_jacobian, robot, q=q),
        value(constraint_bias, robot, q=q, qd=qd),
    )


@pytest.mark.parametrize("door", [by_builder, by_urdf])
@pytest.mark.parametrize(("type_", "b"), CLOSED_BY)
def test_every_door_gives_the_same_loop(
    type_: str, b: str, door: Callable[[str, str], Robot]
) -> None:
    first, second = by_add_loop(type_, b), door(type_, b)
    (one,), (other,) = loops(first), loops(second)
    names = ("name", "type", "body_a", "body_b", "joints", "rows", "holds")
    assert [getattr(one, n) for n in names] == [getattr(other, n) for n in names]
    assert one.holds == ROWS[type_]
    assert one.body_b == ("" if type_ == "coupling" else b)
    for ours, theirs in zip(constraints(first), constraints(second), strict=True):
        assert np.abs(ours).max() > 0.01  # a state that tells loops apart
        np.testing.assert_allclose(ours, theirs, atol=EPS)


MJCF = """<mujoco model="arms"><compiler angle="radian" eulerseq="XYZ"/>
  <worldbody>
  <body name="base">{ball}
    <body name="upper" pos="{at}"><joint name="upper_joint" axis="0 1 0"/>{ball}
      <body name="lower" pos="{at}"><joint name="lower_joint" axis="0 0 1"/>{ball}
        <site name="a" pos="{a}" euler="{ea}"/></body></body>
    <body name="other" pos="{at}"><joint name="other_joint" axis="1 0 0"/>{ball}
      <site name="b" pos="{b}" euler="{eb}"/></body></body>
  </worldbody><equality>{loop}</equality></mujoco>"""
"""XYZ in capitals: about axes that stay, as URDF's roll, pitch and yaw"""


@pytest.mark.parametrize(
    ("type_", "loop"),
    [
        ("weld", '<weld name="cut" site1="a" site2="b"/>'),
        ("spherical", '<connect name="cut" site1="a" site2="b"/>'),
        (
            "coupling",
            '<joint name="cut" joint1="lower_joint" joint2="other_joint" '
            f'polycoef="{words(C)} 0 0"/>',
        ),
    ],
)
def test_mjcf_gives_the_same_loop_where_it_has_one(type_: str, loop: str) -> None:
    text = MJCF.format(
        ball='<inertial pos="0 0 0" mass="1" diaginertia="0.004 0.004 0.004"/>',
        at=words(AT),
        a=words(XYZ_A),
        b=words(XYZ_B),
        ea=words(RPY_A),
        eb=words(RPY_B),
        loop=loop,
    )
    robots = by_add_loop(type_, "other"), load(text)
    for ours, theirs in zip(*map(constraints, robots), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=EPS)


@pytest.mark.parametrize("given", ["helical", "screw", "sphericl", "x"])
@pytest.mark.parametrize("door", [by_add_loop, by_builder, by_urdf])
def test_every_door_names_what_can_close_a_loop(
    given: str, door: Callable[[str, str], Robot]
) -> None:
    possible = re.escape(f"is {given!r}; a loop can be closed by: {', '.join(ROWS)}.")
    hint = {
        "x": "$",
        "sphericl": r" Close: 'spherical'\.$",
    }.get(
        given, " A cut cannot express a screw's pitch: make the screw a joint of the "
    )
    with pytest.raises(UnsupportedJoint, match=f"loop 'cut': .*{possible}{hint}"):
        door(given, "other")


def test_the_documentation_lists_every_type() -> None:
    page = (REPOSITORY / "docs" / "closed_loops.md").read_text(encoding="utf-8")
    for type_ in ROWS:
        assert f'"{type_}"' in str(Robot.add_loop.__doc__)
        assert f"`{type_}`" in page


def test_a_builder_takes_the_words_of_a_robot() -> None:
    ours, theirs = (
        inspect.signature(f.add_loop).parameters for f in (RobotBuilder, Robot)
    )
    assert [n for n in theirs if n not in ours] == ["q", "check"]
    assert [n for n in ours if n not in theirs] == []
    for name, parameter in ours.items():
        assert parameter.default == theirs[name].default
