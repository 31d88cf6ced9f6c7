"""A joint type is one class: one that a test defines works everywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.coordinates.coordinates import configuration_labels, velocity_labels
from ramidyn.description.description import JointDescription
from ramidyn.description.joint_types import (
    JOINT_TYPES,
    Column,
    Entries,
    Labels,
    SimpleJoint,
    joint_type,
)
from ramidyn.description.pose import Array, Pose, frame_with_z
from ramidyn.errors import ArgumentError, ModelError, UnsupportedJoint
from ramidyn.forces import JointSpring
from ramidyn.robot import Robot
from ramidyn.spatial.transform import Shift, Step
from support.close import assert_close
from support.every_joint import every_joint

SRC = Path(ramidyn.__file__).parent


@final
@dataclass(frozen=True, slots=True)
class Table(SimpleJoint):
    """Shifts along x and y, without a turn."""

    name: ClassVar[str] = "table"
    coordinates: ClassVar[Labels] = (("x", "m"), ("y", "m"))
    velocities: ClassVar[Labels] = (("x", "m"), ("y", "m"))

    def pose(self, axis: Array, q: Array) -> Pose:
        return Pose.at(np.array(frame_with_z(axis))[:, :2] @ q)

    def steps(self, q: Entries) -> tuple[Step, ...]:
        return Shift(0, q[0]), Shift(1, q[1])

    def columns(self) -> tuple[Column, ...]:
        return (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Robot:
    """A pendulum on a table."""
    monkeypatch.setitem(JOINT_TYPES, "table", Table())
    return pendulum(Joint("table", JointDescription("", "table")))


def pendulum(*joints: Joint) -> Robot:
    builder = RobotBuilder("pendulum")
    box = Inertia.from_box(2.0, (0.1, 0.2, 0.3))
    builder.add(Body("slab", box), "world", joints, (0.1, 0.2, 0.3))
    arm = Joint.revolute((0, 1, 0), name="hinge")
    ball = Inertia.from_sphere(1.0, 0.1, at=(0, 0, -0.5))
    builder.add(Body("arm", ball), "slab", arm)
    return Robot.from_description(builder.description())


@pytest.fixture
def slides() -> Robot:
    """The same of joints that Ramidyn has."""
    return pendulum(Joint.prismatic((1, 0, 0), name="x"), Joint.prismatic((0, 1, 0)))


def test_a_type_of_ones_own_moves_as_its_class_says(
    table: Robot, slides: Robot, rng: np.random.Generator
) -> None:
    q, qd, tau = rng.normal(size=(3, 3))
    assert (table.nq, table.nv) == (3, 3)
    expected = slides.forward_dynamics(q, qd, tau)
    assert_close(table.forward_dynamics(q, qd, tau), expected)
    assert_close(table.inverse_dynamics(q, qd, expected), tau)
    assert_close(table.mass_matrix(q), slides.mass_matrix(q))
    assert_close(table.pose(q, "arm"), slides.pose(q, "arm"))
    assert_close(table.jacobian(q, "arm"), slides.jacobian(q, "arm"))


def test_a_type_of_ones_own_has_configurations(
    table: Robot, rng: np.random.Generator
) -> None:
    q, v = table.random_configuration(rng), rng.normal(size=3)
    assert_close(table.neutral(), np.zeros(3))
    assert_close(table.integrate(q, v), q + v)
    assert_close(table.difference(q, q + v), v)
    assert_close(table.configuration_rate(q, v), v)
    assert_close(table.normalize(q), q)


def test_a_type_of_ones_own_has_labels(table: Robot) -> None:
    c = table.conventions
    labels = [x.name for x in configuration_labels(table.model, c)]
    assert labels == ["slab_joint x", "slab_joint y", "hinge"]
    units = [x.unit for x in velocity_labels(table.model, c)]
    assert units == ["m/s", "m/s", "rad/s"]


def test_a_type_of_ones_own_can_be_locked_and_sprung(
    table: Robot, rng: np.random.Generator
) -> None:
    q = table.random_configuration(rng)
    locked = table.lock({"slab_joint": q[:2]})
    assert_close(locked.pose(q[2:], "arm"), table.pose(q, "arm"))
    sprung = table.add_force(JointSpring("slab_joint", 3.0))
    rest = (q, np.zeros(3), np.zeros(3))
    held = sprung.inverse_dynamics(*rest) - table.inverse_dynamics(*rest)
    assert_close(held, np.array([*(3.0 * q[:2]), 0.0]))
    with pytest.raises(ArgumentError, match=r"\(table\) has 2 coordinates"):
        table.add_force(JointSpring("slab_joint", 3.0, reference=(1.0,)))


def test_a_body_without_inertia_on_a_new_type_is_found(table: Robot) -> None:
    bodies = table.description.bodies[:1]
    empty = replace(table.description, bodies=(replace(bodies[0], inertial=None),))
    robot = Robot.from_description(empty)
    with pytest.raises(ModelError, match="no inertia resists joint 'slab_joint'"):
        robot.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))


def test_an_unknown_type_raises() -> None:
    description = every_joint().description
    body = description.bodies[1]
    odd = replace(body.joints[0], type="ratchet")
    bodies = (description.bodies[0], replace(body, joints=(odd,)))
    expected = (
        "joint 'revolute_joint' is 'ratchet'; supported: revolute, prismatic, helical, "
        "cylindrical, universal, planar, spherical, floating, fixed"
    )
    with pytest.raises(UnsupportedJoint, match=re.escape(expected)):
        Robot.from_description(replace(description, bodies=bodies))
    with pytest.raises(UnsupportedJoint, match=re.escape(expected)):
        joint_type("revolute_joint", "ratchet")


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_parts_have_the_sizes_of_the_whole(name: str) -> None:
    type_ = JOINT_TYPES[name]
    parts = [part for part, _ in type_.parts(JointDescription("j", name))]
    assert type_.nq == sum(part.nq for part in parts) == len(type_.neutral)
    assert type_.nv == sum(len(part.columns()) for part in parts)
    assert all(part.nv == len(part.columns()) for part in parts)


NAMES = "|".join(JOINT_TYPES)
ROOMS = ("tree", "coordinates", "algorithms", "tracing", "quantities", "mechanism")


def test_no_room_above_compares_names_of_types() -> None:
    """A new type is one class and its parsers: nobody else asks for its name."""
    asked = re.compile(rf'(==|!=|in|case)\s*\(?\s*"({NAMES})"')
    for room in (*ROOMS, "view", "export", "control", "simulation"):
        for path in (SRC / room).rglob("*.py"):
            found = asked.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(SRC)}: {found and found[0]}"
