"""Warnings of one kind are one warning, with the names."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import ramidyn
from ramidyn.errors import group_warnings
from support.urdf import INERTIA


def test_warnings_that_differ_by_name_become_one() -> None:
    texts = [f"a.urdf:{k}: joint 'j{k}': no limit" for k in range(3)]
    assert group_warnings(texts) == ("a.urdf:0: 3 joints 'j0', 'j1', 'j2': no limit",)


def test_many_names_are_shortened_with_their_number() -> None:
    texts = [f"a.xml:{k}: body 'b{k}': no mass" for k in range(10)]
    (text,) = group_warnings(texts)
    assert text.startswith("a.xml:0: 10 bodies 'b0', 'b1', ")
    assert text.endswith("'b7' and 2 more: no mass")


def test_figures_are_kept_only_where_they_hold_for_all() -> None:
    same = [f"a:{k}: link '{k}': not positive: eigenvalues 1, 2" for k in range(2)]
    assert group_warnings(same) == (
        "a:0: 2 links '0', '1': not positive: eigenvalues 1, 2",
    )
    other = "a:7: link 'x': not positive: eigenvalues 1, 3"
    assert group_warnings([same[0], other]) == ("a:0: 2 links '0', 'x': not positive",)


def test_elements_without_names_are_given_by_line() -> None:
    texts = ["a.xml:4: body: fixed here", "a.xml:9: body: fixed here"]
    assert group_warnings(texts) == ("a.xml:4, 9: body: fixed here",)


def test_other_warnings_stay_as_they_are_and_in_order() -> None:
    texts = ("springs are data", "a.xml:4: body 'x': odd", "a.xml:5: body 'x': even")
    assert group_warnings(texts) == texts


def test_a_robot_warns_once_of_each_kind() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = ramidyn.load(
            '<robot name="r"><link name="a"><odd/></link><link name="b"><odd/></link>'
            '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
            "</robot>"
        )
    (text,) = robot.warnings
    assert text.endswith(" 2 links 'a', 'b': unknown element <odd> ignored")
    assert [str(w.message) for w in caught] == [text]


def test_all_kinds_are_lines_of_one_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = ramidyn.load(
            '<robot name="r"><link name="a"><odd/></link><link name="b"/>'
            '<joint name="j" type="fixed"><parent link="a"/><child link="b"/><even/>'
            "</joint></robot>"
        )
    assert len(robot.warnings) == 2
    assert [str(w.message) for w in caught] == ["\n".join(robot.warnings)]


HAND = (
    '<robot name="hand">'
    + "".join(
        f'<link name="l{k}"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
        for k in range(4)
    )
    + "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/>{mimic}</joint>'
        for k, mimic in enumerate(("", '<mimic joint="j0"/>', '<mimic joint="j1"/>'))
    )
    + "</robot>"
)
ONE = HAND.replace('<mimic joint="j1"/>', "")
LEG = (
    '<mujoco model="leg"><worldbody><body name="a"><freejoint name="root"/>{}'
    '<body name="b"><joint name="hip" type="ball"/>{}</body></body></worldbody>'
    "</mujoco>"
).format(*['<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'] * 2)
HINGE = LEG.replace('<freejoint name="root"/>', "").replace(' type="ball"', "")
QUATERNIONS = (
    "leg: q has quaternions as xyzw, MuJoCo's qpos as wxyz ({}); load with "
    "conventions='mujoco' to use qpos and qvel as they are, conventions='pinocchio' "
    "to keep xyzw"
)


def told(text: str, **options: Any) -> list[str]:
    """Return the lines of the one warning, which the robot keeps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = ramidyn.load(text, **options)
    assert len(caught) <= 1
    lines = str(caught[0].message).splitlines() if caught else []
    assert list(robot.warnings) == lines
    return lines


def test_mimic_joints_are_counted_unless_the_option_is_given() -> None:
    assert told(HAND) == [
        "hand: 2 joints follow others ('j1', 'j2'): nq is 1, not 3; load with "
        "mimic='independent' to keep them in q, mimic='reduce' to leave them out"
    ]
    assert told(ONE, root="floating") == [
        "hand: 1 joint follows another ('j1'): nq is 9, not 10; load with "
        "mimic='independent' to keep it in q, mimic='reduce' to leave it out"
    ]
    assert told(HAND, mimic="reduce") == told(HAND, mimic="independent") == []
    with pytest.raises(ramidyn.ModelError, match=r"\(strict\).* 2 joints follow"):
        ramidyn.load(HAND, strict=True)


@pytest.mark.parametrize(
    ("text", "options", "joints"),
    [
        (LEG, {}, "'root', 'hip'"),
        (LEG, {"root": "fixed"}, "'hip'"),
        (HINGE, {"root": "floating"}, "'root_joint'"),
        (HINGE, {}, None),
        (LEG, {"conventions": "pinocchio"}, None),
        (LEG, {"conventions": "mujoco"}, None),
        (HAND, {"root": "floating", "mimic": "reduce"}, None),
    ],
)
def test_mjcf_with_quaternions_needs_conventions(
    text: str, options: dict[str, Any], joints: str | None
) -> None:
    expected = [] if joints is None else [QUATERNIONS.format(joints)]
    assert told(text, **options) == expected
