"""Named configurations of SRDF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import ArgumentError, ModelError, ModelWarning
from support.urdf import INERTIA, joint

LINKS = "".join(
    f'<link name="{n}"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
    for n in "abcdef"
)
MIMIC = '<mimic joint="{}" multiplier="{}" offset="{}"/>'
ARM = f"""<robot name="arm">{LINKS}{joint("hip", "a", "b")}{joint("knee", "b", "c")}
  {joint("left", "c", "d", MIMIC.format("knee", 2, 0.5), "continuous")}
  {joint("right", "d", "e", MIMIC.format("left", -1, 0), "continuous")}
  {joint("tip", "e", "f", "", "fixed")}</robot>"""
STATES = """<robot name="arm"><group name="leg"><joint name="hip"/></group>
  <group_state name="ready" group="leg">
    <joint name="knee" value="0.3"/><joint name="hip" value=" -0.2 "/></group_state>
  <group_state name="bent" group="leg"><joint name="knee" value="1"/></group_state>
  <disable_collisions link1="a" link2="b" reason="Adjacent"/></robot>"""


def states(*inner: str) -> str:
    return f'<robot name="arm">{"".join(inner)}</robot>'


def state(name: str, group: str, **values: object) -> str:
    joints = (f'<joint name="{n}" value="{v}"/>' for n, v in values.items())
    return f'<group_state name="{name}" group="{group}">{"".join(joints)}</group_state>'


def keyframes(srdf: Any, **options: Any) -> dict[str, list[float]]:
    robot = ramidyn.load(ARM, srdf=srdf, **{"mimic": "reduce", **options})
    return {name: q.tolist() for name, q in robot.keyframes.items()}


def test_states_are_keyframes_in_the_order_of_q() -> None:
    assert keyframes(STATES) == {"ready": [-0.2, 0.3], "bent": [0.0, 1.0]}
    turned = keyframes(STATES, joint_order=["knee", "hip"])
    assert turned == {"ready": [0.3, -0.2], "bent": [1.0, 0.0]}
    assert ramidyn.load(ARM, mimic="reduce").keyframes == {}


def test_joints_that_follow_others_follow_in_states() -> None:
    found = keyframes(STATES, mimic="independent")["bent"]
    np.testing.assert_allclose(found, [0, 1, 2.5, -2.5])
    given = states(state("x", "leg", left=1))
    assert keyframes(given, mimic="independent")["x"] == [0, 0, 1, -1]


def test_a_floating_joint_has_its_quaternion_last_in_the_file() -> None:
    urdf = f'<robot name="r">{LINKS[: len(LINKS) // 3]}' + joint(
        "free", "a", "b", "", "floating"
    )
    srdf = states(state("x", "all", free="1 2 3 0.6 0 0 0.8"))
    for conventions, expected in (
        ("pinocchio", [1, 2, 3, 0.6, 0, 0, 0.8]),
        ("mujoco", [1, 2, 3, 0.8, 0.6, 0, 0]),
    ):
        robot = ramidyn.load(urdf + "</robot>", srdf=srdf, conventions=conventions)
        np.testing.assert_allclose(robot.keyframes["x"], expected)


def test_states_of_one_name_carry_their_groups() -> None:
    text = states(state("home", "leg", knee=1), state("home", "foot", hip=0.5))
    assert keyframes(text) == {"leg/home": [0, 1], "foot/home": [0.5, 0]}
    again = states(*[state("home", "leg", knee=1)] * 2)
    with pytest.raises(ModelError, match=r"^srdf:1: .*: a second state 'leg/home'$"):
        keyframes(again)


@pytest.mark.parametrize("name", ["arm.urdf", "arm.v2.urdf"])
def test_the_file_beside_the_robot_is_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(ARM)
    path.with_suffix(".srdf").write_text(STATES)
    robot = ramidyn.load(path, srdf=True, mimic="reduce")
    assert set(robot.keyframes) == {"ready", "bent"}
    given = ramidyn.load(path, srdf=path.with_suffix(".srdf"), mimic="reduce")
    assert set(given.keyframes) == {"ready", "bent"}
    path.with_suffix(".srdf").unlink()
    with pytest.raises(ModelError, match=r"\.srdf: no such file"):
        ramidyn.load(path, srdf=True)


def test_joints_that_do_not_move_are_named() -> None:
    text = states(state("x", "leg", tip=0, wheel=1, knee=0.5))
    with pytest.warns(ModelWarning) as told:
        assert keyframes(text) == {"x": [0, 0.5]}
    assert str(told[0].message) == (
        "srdf:1: 2 joints 'tip', 'wheel': not a moving joint of 'arm'; ignored"
    )


@pytest.mark.parametrize(
    ("srdf", "error", "message"),
    [
        ("<sdf/>", ModelError, "srdf: the first element is <sdf>; expected <robot>"),
        (True, ArgumentError, "srdf is True, but the robot is given as text; pass"),
        (5, ArgumentError, "srdf is 5; expected a path, XML text, True or False"),
        (states(state("x", "leg", knee="1 2")), ModelError, "has 2 numbers; expected"),
        (states('<group_state group="leg"/>'), ModelError, "group_state.*'name'"),
    ],
)
def test_wrong_files_are_named(srdf: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        keyframes(srdf)
