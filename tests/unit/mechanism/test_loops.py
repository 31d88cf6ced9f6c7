"""Loops added to a robot: what they hold, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Joint, RobotBuilder
from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import compile
from ramidyn.description.pose import Pose
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    ShapeError,
    UnknownName,
    UnsupportedJoint,
)
from ramidyn.mechanism.loops import add_loop
from ramidyn.mechanism.loops import loops_of as loops
from ramidyn.quantities.closed_loops import constraint_residual, loop_forces
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.robot import Robot
from support.loops import as_robot, value
from support.planar import four_bar, open_bars, parallelogram, pin_at, rod


def bars(**changes: Any) -> Robot:
    options = {
        "joint": "revolute",
        "placement_a": pin_at(0.3),
        "placement_b": pin_at(0.25),
        "name": "pin",
        **changes,
    }
    a, b = options.pop("bodies", ("coupler", "rocker"))
    return add_loop(options.pop("robot", None) or open_bars(), a, b, **options)


def test_a_loop_says_what_it_holds() -> None:
    robot = bars()
    (loop,) = loops(robot)
    assert (loop.name, loop.type, loop.body_a, loop.body_b) == (
        "pin",
        "revolute",
        "coupler",
        "rocker",
    )
    assert loop.rows == range(5)
    assert loop.holds == ("px", "py", "pz", "rx", "ry")
    assert not open_bars().model.loops


def test_a_loop_without_a_second_placement_is_closed_at_neutral() -> None:
    tree = as_robot(robots.random_tree(6, 3, ["revolute"], massless=0.0))
    robot = add_loop(tree, "body5", "world", joint="spherical", check=False)
    residual = compile(constraint_residual, robot)(robot.neutral())
    np.testing.assert_allclose(residual, 0.0, atol=1e-13)
    assert loops(robot)[0].name == "spherical0"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"bodies": ("couple", "rocker")},
            UnknownName,
            "no body 'couple' in robot 'four_bar', for loop 'pin'. Close: 'coupler'.",
        ),
        (
            {"bodies": ("rocker", "rocker")},
            ModelError,
            "loop 'pin' joins 'rocker' to itself",
        ),
        (
            {"bodies": (None, "world")},
            ModelError,
            "loop 'pin' joins 'world' to itself",
        ),
        (
            {"joint": "hinge"},
            UnsupportedJoint,
            "loop 'pin': joint is 'hinge'; a loop can be closed by: weld, revolute, pr",
        ),
        (
            {"joint": "distance", "placement_b": None},
            ModelError,
            "loop 'pin': a 'distance' loop needs placement_b for its other end",
        ),
        (
            {"joint": "distance", "length": -1.0},
            ModelError,
            "loop 'pin': length is -1; expected more than 0",
        ),
        (
            {"length": 1.0},
            ModelError,
            "loop 'pin': only a 'distance' loop has a length",
        ),
        (
            {"placement_a": (1, 2)},
            ShapeError,
            "loop 'pin': placement_a is (1, 2); expected a position of 3 finite",
        ),
        (
            {"placement_a": (0, float("nan"), 0)},
            ShapeError,
            "loop 'pin': placement_a is (0, nan, 0); expected a position of 3 finite",
        ),
        (
            {"placement_b": Pose(2 * np.eye(3), np.zeros(3))},
            ShapeError,
            "loop 'pin': placement_b: R is not a rotation matrix",
        ),
        (
            {"joints": ("crank_joint",)},
            ModelError,
            "loop 'pin': only a coupling has joints",
        ),
        (
            {"coefficients": (0, 2)},
            ModelError,
            "loop 'pin': only a coupling has coefficients",
        ),
        (
            {"joint": "coupling", "joints": ("crank_joint",)},
            ModelError,
            "loop 'pin': a coupling has joints and coefficients; it has no bodies, pla",
        ),
    ],
)
def test_bad_loops_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        bars(**changes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"joints": ("crank_joint", "x")},
            UnknownName,
            "no joint 'x' in robot 'four_bar'.",
        ),
        (
            {"joints": ()},
            ModelError,
            "loop 'gear': joints is (); a coupling needs one joint or more",
        ),
        (
            {
                "joints": ("crank_joint", "coupler_joint", "rocker_joint"),
                "coefficients": (0, 1),
            },
            ModelError,
            "loop 'gear': coefficients is (0, 1); a coupling of 3 joints needs 3 "
            "numbers: c_0, and one for each joint that the first follows",
        ),
        (
            {"joints": ("crank_joint", "crank_joint")},
            ModelError,
            "loop 'gear' couples joint 'crank_joint' to itself",
        ),
        (
            {"joints": ("crank_joint",), "coefficients": (0, float("nan"))},
            ModelError,
            "loop 'gear': coefficients is (0, nan); expected finite numbers",
        ),
    ],
)
def test_bad_couplings_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        add_loop(open_bars(), joint="coupling", name="gear", **changes)


def test_a_joint_of_two_coordinates_is_not_coupled() -> None:
    b = RobotBuilder("arm")
    b.add(Body("a", rod(1.0, 0.1)), "world", Joint.universal(name="two"))
    message = "loop 'coupling0' couples joint 'two', which is universal; expected a jo"
    with pytest.raises(ModelError, match=message):
        add_loop(as_robot(b.description()), joint="coupling", joints=["two"])


def test_a_loop_that_cannot_close_says_by_how_much() -> None:
    message = (
        r"loop 'far' cannot be closed: no closed configuration found from 20 starts: "
        r"the best has \|Φ\| = [0-9.]+, at loop '(pin|far)' \(row 'p[xyz]'\), where J "
        r"has "
        r"rank \d+ of 6 rows; check=False adds it anyway"
    )
    with pytest.raises(ModelError, match=message):
        add_loop(
            four_bar("spherical"),
            "rocker",
            "world",
            placement_a=(0.25, 0, 0),
            placement_b=(5.0, 0, 0),
            name="far",
        )


def test_two_loops_of_one_name_are_refused() -> None:
    with pytest.raises(
        ModelError, match="loop 'pin' already exists in robot 'four_bar'"
    ):
        bars(robot=four_bar())


def test_bodies_fixed_to_each_other_are_refused() -> None:
    b = RobotBuilder("arm")
    b.add(Body("a", rod(1.0, 0.1)), "world", Joint.revolute((0, 1, 0)))
    b.add(Body("b", rod(1.0, 0.1)), "a")
    message = "loop 'weld0' joins 'a' and 'b', which do not move relative to each other"
    with pytest.raises(ModelError, match=message):
        add_loop(as_robot(b.description()), "a", "b", joint="weld")


def test_a_redundant_loop_warns_with_its_rank() -> None:
    hmmwv = as_robot(robots.hmmwv("general"))
    first = hmmwv.description.loops[0]
    message = (
        r"loop 'again' is redundant: only 0 of its 3 rows are independent of the "
        r"others "
        r"\(rank 16 of 19 rows of robot 'hmmwv'\); its multipliers are not unique"
    )
    with pytest.warns(ModelWarning, match=message):
        add_loop(
            hmmwv,
            first.body_a,
            first.body_b,
            placement_a=first.placement_a,
            placement_b=first.placement_b,
            name="again",
        )


def test_redundant_rows_cannot_be_solved_without_damping() -> None:
    message = (
        "loop 'pin2' is redundant: only 1 of its 5 rows are independent of the others"
    )
    with pytest.warns(ModelWarning, match=message):
        robot = parallelogram()
    message = "'parallelogram': damping is 0, but of 10 rows of its loops only 3 are"
    with pytest.raises(ModelError, match=message):
        value(forward_dynamics(damping=0.0), robot, q=0, qd=0, tau=0)


def test_articulated_bodies_need_independent_rows() -> None:
    with pytest.warns(ModelWarning, match="is redundant"):
        robot = parallelogram()
    message = (
        "'constrained_aba' cannot be used, because robot 'parallelogram' has rows that "
        "depend on others; possible: 'auto', 'joint_formulation', 'loop"
    )
    with pytest.raises(ModelError, match=message):
        compile(loop_forces(algorithm="constrained_aba"), robot)


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
def test_algorithms_of_trees_are_refused_on_loops(algorithm: str) -> None:
    message = (
        f"algorithm '{algorithm}' cannot be used, because robot 'four_bar' has closed "
        "loops; possible: 'auto', 'joint_formulation', 'loopwise', 'constrained_aba', "
        "'cluster_aba', 'cluster_ltdl', 'proximal'"
    )
    with pytest.raises(ArgumentError, match=message):
        compile(forward_dynamics(algorithm=algorithm), four_bar())


@pytest.mark.parametrize("damping", [0.0, 1e-6])
def test_damping_of_loops_is_refused_on_trees(damping: float) -> None:
    message = (
        f"damping is {damping:g}, but robot 'four_bar' has no loops; damping applies "
        f"to "
        "loop constraints only: leave it out"
    )
    with pytest.raises(ArgumentError, match=message):
        compile(forward_dynamics(damping=damping), open_bars())


def test_unknown_options_are_refused() -> None:
    robot = four_bar()
    message = "algorithm is 'lu'; possible: 'auto', 'joint_formulation', 'loopwise', "
    with pytest.raises(ArgumentError, match=message):
        compile(loop_forces(algorithm="lu"), robot)
    with pytest.raises(
        ArgumentError, match=re.escape("damping is 2; expected a number in")
    ):
        compile(loop_forces(damping=2), robot)
    with pytest.raises(
        ModelError, match=r"robot 'four_bar' has no loops; add one with robot\.add_loop"
    ):
        compile(loop_forces, open_bars())
