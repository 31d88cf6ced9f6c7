"""What users get wrong about loops, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Joint, RobotBuilder
from ramidyn.description.description import LoopDescription
from ramidyn.description.pose import Pose
from ramidyn.errors import (
    ArgumentError,
    Error,
    ModelError,
    ModelWarning,
    ShapeError,
    UnknownName,
    UnsupportedJoint,
)
from ramidyn.loading import load
from ramidyn.mechanism.loops import loops_of as loops
from ramidyn.robot import Robot
from support.loops import as_robot
from support.planar import four_bar, open_bars, pin_at, rod

Case = tuple[Callable[[], object], type[Error], str]
Z = np.zeros(3)
NAN = np.full(3, np.nan)


def far() -> Robot:
    """Return bars of which one would have to be 20 times as long."""
    return open_bars().add_loop(
        "rocker",
        "world",
        placement_a=(0.25, 0, 0),
        placement_b=(5.0, 0, 0),
        name="far",
        check=False,
    )


def ball() -> Robot:
    b = RobotBuilder("ball")
    b.add(Body("body", rod(1.0, 0.1)), "world", Joint.spherical(name="socket"))
    b.add(Body("arm", rod(1.0, 0.1)), "body", Joint.revolute((0, 1, 0)), (0.1, 0, 0))
    return as_robot(b.description()).add_loop(
        "world", "arm", joint="point_on_plane", placement_b=(0.1, 0, 0), name="table"
    )


def described(*new: LoopDescription) -> Robot:
    return Robot.from_description(replace(open_bars().description, loops=new))


WELD = LoopDescription("l", "weld", "coupler", "rocker")
OPEN = (
    "no closed configuration found from 20 starts: the best has |Φ| = 4.45, at loop "
    "'far' "
    "(row 'px'), where J has rank 1 of 3 rows"
)
STATES: list[Case] = [
    (lambda: far().assemble(), ModelError, OPEN),
    (lambda: far().mobility(), ModelError, OPEN),
    (
        lambda: far().project(Z),
        ModelError,
        "loop 'far' does not close near q: |Φ| is 4.45 (row 'px'); expected at most 1e-"
        "09; try assemble(q), which searches further",
    ),
    (  # stretched out, where J loses rank: once, the answer was nan
        lambda: four_bar().project(Z),
        ModelError,
        "loop 'pin' does not close near q: |Φ| is 0.15 (row 'px'); expected at most 1e-"
        "09; try assemble(q), which searches further",
    ),
    (
        lambda: far().simulate(Z),
        ModelError,
        "loop 'far' is open at q: |Φ| is 4.45 (row 'px'); expected at most 1e-06",
    ),
    (
        lambda: four_bar().check_state(Z[:2]),
        ShapeError,
        "q has shape (2,); expected (3,) or (batch, 3)",
    ),
    (
        lambda: four_bar().check_state(NAN),
        ModelError,
        "robot 'four_bar': q[0] of joint 'crank_joint' is nan; q[1] of joint ",
    ),
    (
        lambda: four_bar().check_state(four_bar().assemble(), [1.0, 2.0]),
        ShapeError,
        "qd has shape (2,); expected (3,) or (batch, 3)",
    ),
    (
        lambda: four_bar().check_state(four_bar().assemble(), NAN),
        ModelError,
        "robot 'four_bar': qd[0] of joint 'crank_joint' is nan; qd[1] of joint ",
    ),
    (
        lambda: ball().check_state(np.zeros(5)),
        ModelError,
        "robot 'ball': the quaternion q[0:4] of joint 'socket' has length 0; expected "
        "a unit "
        "quaternion (xyzw)",
    ),
    (
        lambda: ball().simulate(np.zeros(5)),
        ModelError,
        "q has a quaternion of zero length at joint 'socket'; expected a nonzero",
    ),
    (
        lambda: ball().project(np.zeros(5)),
        ModelError,
        "q has a quaternion of zero length at joint 'socket'; expected a nonzero",
    ),
    (
        lambda: ball().assemble(np.zeros(5)),
        ModelError,
        "q_guess has a quaternion of zero length at joint 'socket'; expected a nonzero",
    ),
    (
        lambda: ball().assemble(fixed={"socket": np.zeros(4)}),
        ModelError,
        "fixed has a quaternion of zero length at joint 'socket'; expected a nonzero",
    ),
]
ASSEMBLY: list[Case] = [
    (
        lambda: four_bar().assemble(fixed={"crnk_joint": 0.3}),
        UnknownName,
        "no joint 'crnk_joint' in robot 'four_bar'. Close: 'crank_joint'",
    ),
    (
        lambda: four_bar().assemble(fixed="crank_joint"),
        ArgumentError,
        "fixed is 'crank_joint'; expected a list of joint names, or values by name",
    ),
    (
        lambda: four_bar().assemble(fixed=3),
        ArgumentError,
        "fixed is 3; expected a list of joint names, or values by name",
    ),
    (
        lambda: four_bar().assemble(fixed={"crank_joint": np.nan}),
        ShapeError,
        "fixed['crank_joint'] is nan; expected 1 finite number for one state",
    ),
    (
        lambda: four_bar().assemble(fixed={"crank_joint": 0.3, "rocker_joint": -1}),
        ModelError,
        "no closed configuration found from 20 starts with 'crank_joint', "
        "'rocker_joint' held: the best has |Φ| = 0.116, at loop 'pin' (row 'px')",
    ),
    (
        lambda: four_bar().assemble(tolerance=-1.0),
        ArgumentError,
        "tolerance is -1.0; expected more than 0",
    ),
    (
        lambda: open_bars().assemble(),
        ModelError,
        "robot 'four_bar' has no loops; add one with robot.add_loop",
    ),
]
LOOPS: list[Case] = [
    (
        lambda: open_bars().add_loop("crank", "rocker", joint="screw", name="nut"),
        UnsupportedJoint,
        "loop 'nut': joint is 'screw'; a loop can be closed by: weld, revolute, ",
    ),
    (
        lambda: open_bars().add_loop("crank", "rocker", joint=None),
        UnsupportedJoint,
        "joint is None; a loop can be closed by: weld, revolute, ",
    ),
    (
        lambda: open_bars().add_loop("crank", "rocker", name=3),
        ArgumentError,
        "name is 3; expected the name of a loop",
    ),
    (
        lambda: Pose.from_quaternion((0, 0, 0, 0), order="wxyz"),
        ShapeError,
        "the quaternion is (0, 0, 0, 0); expected 4 finite numbers, not all zero",
    ),
    (
        lambda: loops(described(replace(WELD, body_a="couplr"))),
        UnknownName,
        "no body 'couplr' in robot 'four_bar', for loop 'l'. Close: 'coupler'.",
    ),
    (
        lambda: loops(described(replace(WELD, type="hinge"))),
        UnsupportedJoint,
        "loop 'l' is 'hinge'; a loop can be closed by: weld, revolute, ",
    ),
    (
        lambda: loops(described(WELD, WELD)),
        ModelError,
        "two loops of robot 'four_bar' are called 'l'",
    ),
    (
        lambda: four_bar().add_loop(
            "coupler",
            "rocker",
            joint="distance",
            placement_a=pin_at(0.3),
            placement_b=pin_at(0.25),
            length=0.1,
            name="rod",
        ),
        ModelError,
        "loop 'rod' cannot be closed: no closed configuration found from 20 starts: "
        "the "
        "best has |Φ| = 0.05, at loop 'rod' (row 'd'), where J has rank 2 of 6 rows",
    ),
    (
        lambda: held(0.3).add_loop(
            joint="coupling", joints=["crank_joint"], coefficients=[0.5], name="other"
        ),
        ModelError,
        "loop 'other' cannot be closed: no closed configuration found from 20 starts: "
        "the best has |Φ| = 0.1, at loop '",
    ),
]


def held(angle: float) -> Robot:
    return four_bar().add_loop(
        joint="coupling", joints=["crank_joint"], coefficients=[angle], name="hold"
    )


@pytest.mark.parametrize(
    ("act", "error", "message"),
    STATES + ASSEMBLY + LOOPS,
    ids=lambda x: x[:50] if isinstance(x, str) else "",
)
def test_what_is_wrong_is_said(
    act: Callable[[], object], error: type[Error], message: str
) -> None:
    with pytest.raises(error, match="^" + re.escape(message)):
        act()


def test_a_loop_that_says_the_same_again_is_redundant() -> None:
    message = (
        r"loop 'other' is redundant: only 0 of its 1 rows are independent of the "
        r"others "
        r"\(rank 3 of 7 rows of robot 'four_bar'\); its multipliers are not unique"
    )
    with pytest.warns(ModelWarning, match=message):
        held(0.3).add_loop(
            joint="coupling", joints=["crank_joint"], coefficients=[0.3], name="other"
        )


def test_loops_that_cannot_close_have_dynamics_all_the_same() -> None:
    # Row 'py' is zero wherever these bars are, and nothing tells where they would meet.
    qdd = far().forward_dynamics(Z, Z, Z)
    assert np.isfinite(qdd).all()


def test_quaternions_of_a_guess_are_scaled() -> None:
    robot, q = ball(), np.array([0, 0, 0.3, 2.0, 0])
    for found in (robot.assemble(q), robot.project(q)):
        assert np.linalg.norm(found[:4]) == pytest.approx(1.0)


def test_a_file_with_bodies_that_do_not_move_in_each_other_is_told() -> None:
    parts = '<link name="a"/><link name="b"/><joint name="j" type="fixed">'
    parts += '<parent link="a"/><child link="b"/></joint>'
    ends = '<body_a link="a"/><body_b link="b"/>'
    text = f'<robot name="x">{parts}<loop name="l" type="weld">{ends}</loop></robot>'
    message = (
        "loop 'l' joins 'a' and 'b', which do not move relative to each other; exp"
    )
    with pytest.raises(ModelError, match=message):
        loops(load(text))


def test_messages_of_add_loop_point_at_the_caller() -> None:
    with pytest.warns(ModelWarning) as caught:
        held(0.3).add_loop(
            joint="coupling", joints=["crank_joint"], coefficients=[0.3], name="other"
        )
    files: list[Any] = [w.filename for w in caught]
    assert files == [__file__]


def test_a_guess_of_the_wrong_size_is_named() -> None:
    robot = four_bar()
    message = r"^q_guess has shape \(500, 4\); expected \(3,\) or \(batch, 3\)$"
    with pytest.raises(ShapeError, match=message):
        robot.assemble(np.zeros((500, 4)))
    with pytest.raises(ShapeError, match=r"^q_guess is array\(.{,60}\.\.\.; expected"):
        robot.assemble(np.zeros(500))
    with pytest.raises(ShapeError, match=r"^q_guess is \[\[0.*; expected 3 finite"):
        robot.assemble([[0.0, 0.0, 0.0], [0.0]])
