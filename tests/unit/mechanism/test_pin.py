"""Frames held in the world: where they are at q, and the force of the ground."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    ShapeError,
    UnknownName,
)
from ramidyn.robot import Robot

SOLE = Pose.from_rpy((0.2, 0.4, -0.1), (0.1, 0.0, -0.4))
WEIGHT = 9.81 * 3.0


def hopper() -> RobotBuilder:
    builder = RobotBuilder("hopper")
    builder.add(Body("trunk", Inertia.from_box(2, (0.2, 0.3, 0.4))), "world", FREE)
    leg = Body("leg", Inertia.from_box(1, (0.1, 0.1, 0.4)), frames={"sole": SOLE})
    builder.add(leg, "trunk", Joint.revolute((0, 1, 0), name="hip"), (0, 0.1, -0.2))
    return builder


FREE = Joint.floating(name="free")


def somewhere(robot: Robot) -> Array:
    return robot.random_configuration(3)


def residual(robot: Robot, q: Array) -> float:
    return float(np.abs(robot.constraint_residual(q)).max())


@pytest.mark.parametrize("joint", ["weld", "spherical", "point_on_plane"])
def test_a_pinned_frame_is_held_where_it_is(joint: str) -> None:
    robot = hopper().robot()
    q = somewhere(robot)
    pinned = robot.pin("sole", q, joint=joint)
    (loop,) = pinned.loops
    assert (loop.name, loop.type) == ("sole", joint)
    assert (loop.body_a, loop.body_b) == ("world", "leg")
    assert residual(pinned, q) < 1e-14
    assert residual(pinned, pinned.neutral()) > 0.01
    assert residual(robot.pin("leg", q, joint=joint, name="x"), q) < 1e-14


def test_feet_are_pinned_one_by_one() -> None:
    robot = hopper().robot()
    q = robot.neutral()
    both = robot.pin("sole", q).pin("trunk", q, joint="spherical", check=False)
    assert [loop.name for loop in both.loops] == ["sole", "trunk"]
    with pytest.raises(ModelError, match="loop 'sole' already exists in robot"):
        both.pin("sole", q)


def test_a_warning_of_a_pin_names_the_line_of_the_call() -> None:
    robot = hopper().robot()
    q = robot.neutral()
    with pytest.warns(ModelWarning, match="loop 'trunk' is redundant: only 1") as told:
        robot.pin("sole", q).pin("trunk", q)
    assert told[0].filename == __file__


def held(robot: Robot, q: Array, **options: Any) -> Array:
    zero = np.zeros(robot.nv)
    return robot.loop_wrenches(
        q, zero, zero, expressed_in="local_world_aligned", **options
    )


def test_the_ground_carries_the_weight_of_the_robot() -> None:
    robot = hopper().robot().lock({"hip": 0.3})
    q = somewhere(robot)
    pinned = robot.pin("sole", q)
    assert np.allclose(pinned.forward_dynamics(q, np.zeros(6), np.zeros(6)), 0)
    (w,) = held(pinned, q)
    np.testing.assert_allclose(w[:3], [0, 0, WEIGHT], atol=1e-9)
    ((on_world, on_foot),) = held(pinned, q, on="both")
    np.testing.assert_array_equal(on_foot, w)
    np.testing.assert_allclose(on_world[:3], -w[:3], atol=1e-9)


@pytest.mark.parametrize("ends", [("world", "trunk"), ("trunk", "world")])
def test_loop_wrenches_act_on_the_robot_whichever_body_the_world_is(
    ends: tuple[str, str],
) -> None:
    builder = RobotBuilder("ball")
    builder.add(Body("trunk", Inertia.from_sphere(3, 0.1)), "world", FREE)
    robot = builder.robot().add_loop(*ends)
    q, zero = robot.neutral(), np.zeros(6)
    (w,) = held(robot, q)
    np.testing.assert_allclose(w, [0, 0, WEIGHT, 0, 0, 0], atol=1e-9)
    sign = 1 if ends[1] == "trunk" else -1  # λ is the force on body b
    found = robot.loop_forces(q, zero, zero)
    np.testing.assert_allclose(found, [0, 0, sign * WEIGHT], atol=1e-9)


def test_on_is_robot_or_both() -> None:
    robot = hopper().robot()
    with pytest.raises(ArgumentError, match="on is 'a'; possible: 'robot', 'both'"):
        held(robot.pin("sole", robot.neutral()), robot.neutral(), on="a")


def test_a_loop_is_closed_at_the_given_configuration() -> None:
    robot = hopper().robot()
    q = somewhere(robot)
    at_q, at_neutral = (robot.add_loop("world", "leg", q=x) for x in (q, None))
    assert residual(at_q, q) < 1e-14
    assert residual(at_neutral, robot.neutral()) < 1e-14
    assert residual(at_neutral, q) > 0.01
    rod = {"joint": "distance", "placement_b": (0.0, 0.0, 0.1)}
    long = robot.add_loop("world", "leg", q=q, **rod)
    assert residual(long, q) < 1e-14
    assert residual(long, robot.neutral()) > 0.01


def test_a_builder_returns_its_robot() -> None:
    builder = hopper()
    expected = Robot.from_description(builder.description(), conventions="mujoco")
    robot = builder.robot(conventions="mujoco")
    assert robot.fingerprint == expected.fingerprint
    assert builder.robot(root="fixed").nq == 1


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("sol", None), {}, UnknownName, "no body or frame 'sol' in robot 'hopper'"),
        (("sole", [1, 2]), {}, ShapeError, "q is [1, 2]; expected 8 finite numbers"),
        (
            ("sole", None),
            {"joint": "distance"},
            ArgumentError,
            "pin: joint is 'distance'; possible: 'weld', 'revolute', 'prismatic', ",
        ),
        (("world", None), {}, ModelError, "loop 'world' joins 'world' to itself"),
        (("sole", None), {"name": 5}, ArgumentError, "name is 5; expected the name"),
    ],
)
def test_what_cannot_be_pinned_is_named(
    arguments: Any, options: Any, error: type[Exception], message: str
) -> None:
    robot = hopper().robot()
    frame, q = arguments
    with pytest.raises(error, match=re.escape(message)):
        robot.pin(frame, robot.neutral() if q is None else q, **options)
