"""Poses, velocities, accelerations and Jacobians are derivatives of each other."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.catalog.paper_robots import chain
from ramidyn.compiler import count, program_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, UnknownName
from ramidyn.quantities.frames import (
    acceleration,
    jacobian,
    jacobian_dot_times_qd,
    pose,
    velocity,
)
from ramidyn.quantities.momentum_energy import center_of_mass
from ramidyn.robot import Robot
from ramidyn.tracing.context import EXPRESSED_IN
from support.close import assert_close
from support.states import (
    angular,
    case,
    linear,
    rate,
    six,
    value,
)


@pytest.fixture
def frame(robot: Robot) -> str:
    """The frame that the most bodies support."""
    depths, frames = robot.tree.depths, robot.model.frames.values()
    moving = [f for f in frames if f.body >= 0]
    return max(moving, key=lambda f: depths[f.body]).name


def velocity_of_pose(robot: Robot, T: Array, Td: Array, expressed_in: str) -> Array:
    """The spatial velocity of a frame at T, which changes by Td per second."""
    R, p, Rd, pd = T[:3, :3], T[:3, 3], Td[:3, :3], Td[:3, 3]
    W = Rd @ R.T
    w = np.array([W[2, 1], W[0, 2], W[1, 0]])
    if expressed_in == "local":
        return six(robot, R.T @ w, R.T @ pd)
    if expressed_in == "world":
        return six(robot, w, pd - np.cross(w, p))
    return six(robot, w, pd)


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_velocity_is_the_rate_of_the_pose(
    robot: Robot, frame: str, now: dict[str, Array], expressed_in: str
) -> None:
    T = value(robot, pose(frame), **now)
    Td = rate(robot, pose(frame), q=now["q"], qd=now["qd"])
    expected = velocity_of_pose(robot, T, Td, expressed_in)
    assert_close(value(robot, velocity(frame, expressed_in), **now), expected)


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_jacobian_is_the_derivative_of_the_pose(
    robot: Robot, frame: str, now: dict[str, Array], expressed_in: str
) -> None:
    J = value(robot, jacobian(frame, expressed_in), **now)
    T = value(robot, pose(frame), **now)
    columns = [
        velocity_of_pose(
            robot, T, rate(robot, pose(frame), q=now["q"], qd=e), expressed_in
        )
        for e in np.eye(robot.nv)
    ]
    assert_close(J, np.stack(columns, axis=-1))


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_jacobian_times_qd_is_the_velocity(
    robot: Robot, frame: str, now: dict[str, Array], expressed_in: str
) -> None:
    J = value(robot, jacobian(frame, expressed_in), **now)
    v = value(robot, velocity(frame, expressed_in), **now)
    assert_close(J @ now["qd"], v)


def kind_of_rate(expressed_in: str) -> str:
    """The acceleration that is the rate of the velocity's components."""
    return "classical" if expressed_in == "local_world_aligned" else "spatial"


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_acceleration_is_the_rate_of_the_velocity(
    robot: Robot, frame: str, now: dict[str, Array], expressed_in: str
) -> None:
    a = acceleration(frame, kind_of_rate(expressed_in), expressed_in)
    expected = rate(robot, velocity(frame, expressed_in), **now)
    assert_close(value(robot, a, **now), expected)


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_classical_acceleration_has_the_centripetal_part(
    robot: Robot, frame: str, now: dict[str, Array], expressed_in: str
) -> None:
    spatial = value(robot, acceleration(frame, "spatial", expressed_in), **now)
    v = value(robot, velocity(frame, expressed_in), **now)
    w_cross_v = np.cross(angular(robot, v), linear(robot, v))
    expected = spatial + six(robot, np.zeros(3), w_cross_v)
    a = value(robot, acceleration(frame, "classical", expressed_in), **now)
    assert_close(a, expected)


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_jacobian_dot_times_qd_is_that_of_the_jacobian(
    robot: Robot, frame: str, now: dict[str, Array], expressed_in: str
) -> None:
    Jd = rate(robot, jacobian(frame, expressed_in), q=now["q"], qd=now["qd"])
    ours = value(robot, jacobian_dot_times_qd(frame, None, expressed_in), **now)
    assert_close(ours, Jd @ now["qd"])


@pytest.mark.parametrize("kind", ["spatial", "classical"])
@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_acceleration_is_J_qdd_and_the_rest(
    robot: Robot, frame: str, now: dict[str, Array], expressed_in: str, kind: str
) -> None:
    J = value(robot, jacobian(frame, expressed_in), **now)
    rest = value(robot, jacobian_dot_times_qd(frame, kind, expressed_in), **now)
    a = value(robot, acceleration(frame, kind, expressed_in), **now)
    assert_close(a, J @ now["qdd"] + rest)


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_jacobian_is_the_constant_zero_off_the_support(
    robot: Robot, frame: str, expressed_in: str
) -> None:
    program = program_of(jacobian(frame, expressed_in), robot)
    support = robot.tree.support(robot.model.frame(frame).body)
    joints = [robot.tree.bodies[i].joint for i in support]
    moving = {k for j in joints for k in range(j.v_index, j.v_index + j.nv)}
    assert 0 < len(moving) < robot.nv
    entries = np.array(program.results, dtype=object).reshape(6, robot.nv)
    for k in set(range(robot.nv)) - moving:
        for e in entries[:, k]:
            assert e.op == "const"
            assert e.value == 0.0


def test_linear_columns_of_a_world_linear_base_are_the_worlds_axes() -> None:
    robot = case("floating_base")
    frame = robot.body_names[-1]
    program = program_of(jacobian(frame, "local_world_aligned"), robot)
    columns = np.array(program.results, dtype=object).reshape(6, robot.nv)[:, 3:6]
    numbers = np.array([[e.value for e in row] for row in columns], dtype=float)
    np.testing.assert_array_equal(numbers, np.eye(6)[:, 3:])


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_the_world_stands_still(
    robot: Robot, now: dict[str, Array], expressed_in: str
) -> None:
    np.testing.assert_array_equal(value(robot, pose("world"), **now), np.eye(4))
    for quantity in (
        velocity("world", expressed_in),
        acceleration("world", "classical", expressed_in),
        acceleration("world", "spatial", expressed_in),
        jacobian("world", expressed_in),
    ):
        assert not value(robot, quantity, **now).any()


@pytest.mark.parametrize("expressed_in", EXPRESSED_IN)
def test_every_further_link_costs_a_jacobian_the_same(expressed_in: str) -> None:
    totals: list[int] = []
    for n in (12, 16, 20, 24):
        robot = Robot.from_description(chain(n))
        quantity = jacobian(robot.body_names[-1], expressed_in)
        totals.append(count(quantity, robot).total)
    steps = np.diff(totals)
    assert steps.min() > 0
    assert np.ptp(steps) < 0.02 * steps.mean()


def test_names_of_quantities_can_be_fields() -> None:
    robot = case("every_joint_type")
    frame = robot.body_names[0]
    together = [jacobian(frame), jacobian(frame, "world"), pose(frame), center_of_mass]
    outputs = [v.name for v in program_of(together, robot).outputs]
    assert len(set(outputs)) == len(together)
    assert all(name.isidentifier() for name in outputs)
    assert jacobian("left-hand/tool 0").name == "jacobian_left_hand_tool_0"


def test_unknown_frames_are_named_with_those_that_are_there() -> None:
    robot = case("every_joint_type")
    near = robot.body_names[0] + "x"
    expected = rf"no frame '{near}' in robot 'random_tree'\. Close: '{near[:-1]}'"
    for quantity in (pose(near), velocity(near), acceleration(near), jacobian(near)):
        with pytest.raises(UnknownName, match=expected):
            program_of(quantity, robot)


def test_unknown_words_are_named_with_those_that_are_possible() -> None:
    expected = r"expressed_in is 'body'; possible: 'local', 'world', 'local_world_al"
    with pytest.raises(ArgumentError, match=expected):
        jacobian("hand", "body")
    with pytest.raises(ArgumentError, match=expected):
        program_of(velocity("body0")(expressed_in="body"), case("forest"))
    with pytest.raises(
        ArgumentError, match=r"kind is 'x'; possible: 'classical', 'spat"
    ):
        acceleration("hand", "x")
