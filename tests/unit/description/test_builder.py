"""Robots written in Python: inertias, joints, bodies, loops, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.builder import neutral_poses
from ramidyn.description.description import Description, Mimic
from ramidyn.description.pose import Array, Pose, frame_with_z
from ramidyn.errors import Error, ModelError, UnknownName
from ramidyn.tree.model import build_model
from ramidyn.tree.tree import BodyInertia
from ramidyn.version import fingerprint

CLOSE = 1e-13  # a handful of roundings

TILTED = Pose.from_rpy((0.3, -0.5, 1.1), (0.1, 0.2, -0.3))

# ------------------------------------------------------------ inertias


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("inertia", "geom"),
    [
        (Inertia.from_box(2.0, (0.2, 0.4, 0.6)), 'type="box" size=".1 .2 .3"'),
        (Inertia.from_sphere(2.0, 0.3), 'type="sphere" size=".3"'),
        (Inertia.from_cylinder(2.0, 0.1, 0.5), 'type="cylinder" size=".1 .25"'),
        (Inertia.from_capsule(2.0, 0.1, 0.5), 'type="capsule" size=".1 .25"'),
        (
            Inertia.from_ellipsoid(2.0, (0.1, 0.2, 0.3)),
            'type="ellipsoid" size=".1 .2 .3"',
        ),
    ],
)
def test_shapes_have_the_inertia_of_mujocos_geoms(inertia: Inertia, geom: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><geom {geom} mass="2"/></body></worldbody></mujoco>'
    )
    R = Pose.from_quaternion(model.body_iquat[1], order="wxyz").R
    expected = R @ np.diag(model.body_inertia[1]) @ R.T
    assert inertia.mass == model.body_mass[1]
    np.testing.assert_allclose(inertia.matrix, expected, atol=CLOSE)
    np.testing.assert_array_equal(inertia.com, np.zeros(3))


@pytest.mark.parametrize(
    ("flat", "shape"),
    [
        (Inertia.from_capsule(1.0, 0.0, 0.6), Inertia.from_cylinder(1.0, 0.0, 0.6)),
        (Inertia.from_capsule(1.0, 0.2, 0.0), Inertia.from_sphere(1.0, 0.2)),
        (Inertia.from_ellipsoid(1.0, (0.2,) * 3), Inertia.from_sphere(1.0, 0.2)),
        (Inertia.from_box(1.0, (0, 0, 0)), Inertia.from_point(1.0)),
        (Inertia.from_box(1.0, (0, 0, 0.6)), Inertia.from_cylinder(1.0, 0.0, 0.6)),
    ],
)
def test_shapes_meet_in_their_limits(flat: Inertia, shape: Inertia) -> None:
    np.testing.assert_allclose(flat.matrix, shape.matrix, atol=CLOSE)


def about_origin(inertia: Inertia) -> BodyInertia:
    return BodyInertia.of(inertia.mass, inertia.com, inertia.matrix)


def assert_same(left: BodyInertia, right: BodyInertia) -> None:
    assert left.m == pytest.approx(right.m, abs=CLOSE)
    np.testing.assert_allclose(left.h, right.h, atol=CLOSE)
    np.testing.assert_allclose(left.I, right.I, atol=CLOSE)


MADE: dict[str, Callable[..., Inertia]] = {
    "box": lambda **at: Inertia.from_box(2.0, (0.2, 0.4, 0.6), **at),
    "sphere": lambda **at: Inertia.from_sphere(2.0, 0.3, **at),
    "cylinder": lambda **at: Inertia.from_cylinder(2.0, 0.1, 0.5, **at),
    "capsule": lambda **at: Inertia.from_capsule(2.0, 0.1, 0.5, **at),
    "ellipsoid": lambda **at: Inertia.from_ellipsoid(2.0, (0.1, 0.2, 0.3), **at),
    "matrix": lambda **at: Inertia.from_matrix(
        2.0, (0.1, 0.2, 0.3), [[2, 0.1, 0.2], [0.1, 2.5, 0.3], [0.2, 0.3, 3]], **at
    ),
}


@pytest.mark.parametrize("shape", MADE)
def test_an_inertia_at_a_pose_is_the_inertia_seen_from_there(shape: str) -> None:
    make = MADE[shape]
    assert_same(about_origin(make(at=TILTED)), about_origin(make()).seen_from(TILTED))
    shifted = about_origin(make()).seen_from(Pose.at((0.1, 0.2, 0.3)))
    assert_same(about_origin(make(at=(0.1, 0.2, 0.3))), shifted)


def test_an_inertia_is_the_sum_of_its_parts() -> None:
    box = Inertia.from_box(2.0, (0.2, 0.4, 0.6), at=TILTED)
    ball = Inertia.from_sphere(1.0, 0.2, at=(1, 0, 0))
    point = Inertia.from_point(0.5, at=(0, 0, 1))
    parts = about_origin(box) + about_origin(ball) + about_origin(point)
    assert_same(about_origin(box + ball + point), parts)


def test_two_half_boxes_are_a_box() -> None:
    halves = Inertia.from_box(1.0, (0.2, 0.2, 0.3), at=(0, 0, -0.15))
    halves += Inertia.from_box(1.0, (0.2, 0.2, 0.3), at=(0, 0, 0.15))
    whole = Inertia.from_box(2.0, (0.2, 0.2, 0.6))
    assert_same(about_origin(halves), about_origin(whole))


def test_inertias_without_mass_add_up() -> None:
    nothing = Inertia.from_point(0.0) + Inertia.from_point(0.0, at=(1, 2, 3))
    assert nothing.mass == 0
    assert not nothing.matrix.any()


def test_an_inertia_goes_to_the_description_as_it_is() -> None:
    box = Inertia.from_box(2.0, (0.2, 0.4, 0.6), at=TILTED)
    given = box.inertial()
    assert given.mass == 2.0
    assert given.com is box.com
    assert given.inertia is box.matrix


# ------------------------------------------------------------ robots


def arm() -> RobotBuilder:
    builder = RobotBuilder("arm")
    link = Body("link", Inertia.from_sphere(1.0, 0.1), frames={"elbow": (0, 0, 0.4)})
    builder.add(link, joint=Joint.revolute((0, 0, 2), name="shoulder"))
    return builder


def only_joint(joint: Joint) -> Description:
    builder = RobotBuilder("r")
    builder.add(Body("b", Inertia.from_sphere(1.0, 0.1)), joint=joint)
    return builder.description()


def test_a_body_hangs_on_its_parent_where_it_was_placed() -> None:
    builder = arm()
    hand = builder.add(Body("hand"), "link", Joint.prismatic((1, 0, 0)), TILTED)
    tool = builder.add(Body("tool"), hand, placement=(0, 0, 0.1))
    link, given, fixed = builder.description().bodies
    assert (link.parent, given.parent, fixed.parent) == (None, "link", "hand")
    np.testing.assert_array_equal(given.placement.R, TILTED.R)
    np.testing.assert_array_equal(fixed.placement.p, (0, 0, 0.1))
    np.testing.assert_array_equal(link.joints[0].axis, (0, 0, 1))
    assert [j.name for j in given.joints] == ["hand_joint"]
    assert fixed.joints == ()
    assert repr(tool) == "Body('tool', no mass)"


def test_a_fixed_joint_keeps_its_name() -> None:
    builder = arm()
    builder.add(Body("tool"), "link", Joint.fixed("flange"))
    builder.add(Body("camera"), "link", Joint.fixed())
    names = [b.fixed_joint for b in builder.description().bodies]
    assert names == [None, "flange", "camera_joint"]


def test_several_joints_act_in_their_order() -> None:
    builder = RobotBuilder("r")
    axes = np.eye(3)
    ball = Inertia.from_sphere(1.0, 0.1)
    builder.add(Body("b", ball), joint=[Joint.revolute(a) for a in axes])
    description = builder.description()
    (body,) = description.bodies
    assert [j.name for j in body.joints] == ["b_joint", "b_joint2", "b_joint3"]
    np.testing.assert_array_equal([j.axis for j in body.joints], axes)
    assert build_model(description).nv == 3


def test_frames_are_fixed_to_their_bodies() -> None:
    builder = arm()
    builder.add_frame("tip", "link", TILTED)
    builder.add_frame("table", "world", (1, 0, 0))
    model = build_model(builder.description())
    assert {"elbow", "tip", "table", "link", "world"} == set(model.frames)
    assert model.frame("tip").body == 0
    assert model.frame("table").body == -1
    np.testing.assert_allclose(model.frame("elbow").placement.p, (0, 0, 0.4))


def test_gravity_is_the_robots_own() -> None:
    builder = RobotBuilder("r", gravity=(0, 0, -1.62))
    builder.add(Body("b"))
    assert builder.description().gravity == (0, 0, -1.62)


@pytest.mark.parametrize(
    ("joint", "type_", "nq", "nv"),
    [
        (Joint.revolute(), "revolute", 1, 1),
        (Joint.prismatic(), "prismatic", 1, 1),
        (Joint.helical(0.1), "helical", 1, 1),
        (Joint.cylindrical(), "cylindrical", 2, 2),
        (Joint.universal(), "universal", 2, 2),
        (Joint.planar(), "planar", 3, 3),
        (Joint.spherical(), "spherical", 4, 3),
        (Joint.floating(), "floating", 7, 6),
    ],
)
def test_every_joint_type_can_be_built(
    joint: Joint, type_: str, nq: int, nv: int
) -> None:
    model = build_model(only_joint(joint))
    assert [j.type for j in model.joints] == [type_]
    assert (model.nq, model.nv) == (nq, nv)


def test_a_joint_has_what_it_was_given() -> None:
    joint = Joint.helical(
        0.02,
        (0, 3, 4),
        name="screw",
        limits=(-1, math.inf),
        velocity=2,
        effort=30,
        armature=0.1,
        damping=0.2,
        friction=0.3,
        stiffness=0.4,
        position=(1, 2, 3),
    )
    (given,) = only_joint(joint).bodies[0].joints
    assert (given.name, given.pitch) == ("screw", 0.02)
    np.testing.assert_allclose(given.axis, (0, 0.6, 0.8), atol=CLOSE)
    np.testing.assert_array_equal(given.position, (1, 2, 3))
    numbers = (given.armature, given.damping, given.friction, given.stiffness)
    assert numbers == (0.1, 0.2, 0.3, 0.4)
    assert given.limits is not None
    assert (given.limits.lower, given.limits.upper) == ((-1,), (math.inf,))
    assert (given.limits.velocity, given.limits.effort) == ((2,), (30,))
    assert repr(joint) == "Joint(helical 'screw')"
    assert repr(Joint.planar()) == "Joint(planar)"


def test_a_joint_of_several_coordinates_has_limits_for_each() -> None:
    joint = Joint.universal(limits=[(-1, 1), (-2, 2)], velocity=3)
    (given,) = only_joint(joint).bodies[0].joints
    assert given.limits is not None
    assert given.limits.lower == (-1, -2)
    assert given.limits.upper == (1, 2)
    assert given.limits.velocity == (3, 3)
    (given,) = only_joint(Joint.planar(effort=5)).bodies[0].joints
    assert given.limits is not None
    assert given.limits.upper == (math.inf,) * 3


@pytest.mark.parametrize(
    ("mimic", "expected"),
    [
        ("shoulder", Mimic("shoulder")),
        (("shoulder", -1), Mimic("shoulder", -1.0)),
        (("shoulder", 2, 0.5), Mimic("shoulder", 2.0, 0.5)),
    ],
)
def test_a_joint_can_follow_another(
    mimic: str | tuple[str, float], expected: Mimic
) -> None:
    builder = arm()
    ball = Inertia.from_sphere(1.0, 0.1)
    builder.add(Body("finger", ball), "link", Joint.revolute(mimic=mimic))
    description = builder.description()
    assert description.bodies[1].joints[0].mimic == expected
    assert build_model(description).nv == 1


def test_placements_may_be_matrices() -> None:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = TILTED.R, TILTED.p

    def built(placement: Any) -> Description:
        builder = arm()
        solid = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=placement)
        hand = Body("hand", solid, frames={"palm": placement})
        builder.add(hand, "link", Joint.prismatic(), placement)
        builder.add_frame("grip", hand, placement)
        builder.add_loop(
            "link",
            "hand",
            joint="weld",
            placement_a=placement,
            placement_b=placement,
            name="weld",
        )
        return builder.description()

    expected = fingerprint(built(TILTED))
    assert expected is not None
    for given in (matrix, matrix.tolist()):
        assert fingerprint(built(given)) == expected
    matrix[3, 3] = 2.0
    with pytest.raises(ModelError, match=r"placement is array.*or its .4, 4. matrix"):
        arm().add(Body("hand"), placement=matrix)


def test_a_loop_closes_where_the_bodies_stand() -> None:
    builder = arm()
    builder.add(Body("left"), "link", Joint.revolute(), TILTED)
    builder.add(Body("right"), "world", Joint.revolute(), (0, 1, 0))
    builder.add_loop("left", "right", joint="weld", placement_a=TILTED, name="weld")
    builder.add_loop(
        "left",
        "world",
        joint="distance",
        placement_a=(0, 0, 1),
        placement_b=(3, 0, 0),
        name="rod",
    )
    builder.add_loop("left", "right", joint="revolute", placement_b=TILTED, name="cut")
    builder.add_loop(
        "left", "right", joint="distance", placement_b=(1, 0, 0), length=2, name="bar"
    )
    description = builder.description()
    weld, rod, cut, bar = description.loops
    T_world = neutral_poses(description.bodies)
    a, b = T_world["left"] @ weld.placement_a, T_world["right"] @ weld.placement_b
    np.testing.assert_allclose(a.R, b.R, atol=CLOSE)
    np.testing.assert_allclose(a.p, b.p, atol=CLOSE)
    ends = T_world["left"].apply((0, 0, 1)) - np.array([3.0, 0, 0])
    assert rod.body_b is None
    assert rod.length == pytest.approx(np.linalg.norm(ends), abs=CLOSE)
    np.testing.assert_array_equal(cut.placement_b.p, TILTED.p)
    assert math.isnan(cut.length)
    assert bar.length == 2


@pytest.mark.parametrize("make", [Inertia.from_cylinder, Inertia.from_capsule])
@pytest.mark.parametrize("at", [(0.1, 0.2, 0.3), TILTED])
def test_the_axis_of_a_round_shape_may_point_anywhere(
    make: Callable[..., Inertia], at: Any
) -> None:
    pose = at if isinstance(at, Pose) else Pose.at(at)
    for axis in ((1, 0, 0), (0, -2, 0), (0.3, 0.4, -0.5)):
        found = make(2.0, 0.1, 0.7, at=at, axis=axis)
        R = Pose.of(frame_with_z(np.array(axis, dtype=float)), (0, 0, 0)).R
        expected = make(2.0, 0.1, 0.7, at=pose @ Pose(R, np.zeros(3)))
        np.testing.assert_allclose(found.matrix, expected.matrix, atol=CLOSE)
        np.testing.assert_allclose(found.com, pose.p, atol=CLOSE)
        along = pose.R @ (np.array(axis) / np.linalg.norm(axis))
        least = np.linalg.eigh(found.matrix)[1][:, 0]
        assert abs(along @ least) == pytest.approx(1)
    message = r"axis is \(0, 0, 0\); expected a nonzero direction"
    with pytest.raises(ModelError, match=message):
        make(2.0, 0.1, 0.7, axis=(0, 0, 0))


# ------------------------------------------------------------ nothing can change


def test_what_was_built_does_not_change() -> None:
    size = np.array([1.0, 1.0, 1.0])
    box = Inertia.from_box(1.0, size, at=size)
    builder = arm()
    frames: dict[str, Pose] = {}
    body = builder.add(Body("box", box, frames), "link", placement=size)
    before = builder.description()
    size[:] = frames["new"] = 7.0  # type: ignore[assignment]
    builder.add(Body("more"), body)
    assert len(before.bodies) == 2
    assert dict(body.frames) == {}
    np.testing.assert_array_equal(before.bodies[1].placement.p, (1, 1, 1))
    np.testing.assert_array_equal(box.com, (1, 1, 1))


@pytest.mark.parametrize(
    "array",
    [
        Inertia.from_box(1.0, (1, 1, 1)).matrix,
        Inertia.from_box(1.0, (1, 1, 1)).com,
        Joint.revolute((0, 1, 0)).details.axis,
        Joint.revolute((0, 3, 4)).details.axis,
    ],
)
def test_arrays_cannot_be_written_to(array: Array) -> None:
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


def test_bodies_cannot_be_written_to() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Body("b").name = "c"  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        Body("b").frames["f"] = TILTED  # type: ignore[index]


# ------------------------------------------------------------ what is refused

INERTIA = np.diag([1.0, 1.0, 1.0])

BAD_INERTIAS: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Inertia.from_box(-1, (1, 1, 1)),
        "Inertia.from_box: mass is -1; expected 0 or more",
    ),
    (
        lambda: Inertia.from_sphere(math.nan, 1),
        "Inertia.from_sphere: mass is nan; expected a finite number",
    ),
    (
        lambda: Inertia.from_cylinder(1, math.inf, 1),
        "Inertia.from_cylinder: radius is inf; expected a finite number",
    ),
    (
        lambda: Inertia.from_capsule(1, 1, "long"),  # type: ignore[arg-type]
        "Inertia.from_capsule: length is 'long'; expected a number",
    ),
    (
        lambda: Inertia.from_box(1, (1, 2)),
        "Inertia.from_box: size is (1, 2); expected 3 numbers",
    ),
    (
        lambda: Inertia.from_box(1, (1, -2, 3)),
        "Inertia.from_box: size is (1, -2, 3); expected 0 or more",
    ),
    (
        lambda: Inertia.from_ellipsoid(1, (1, math.nan, 3)),
        "Inertia.from_ellipsoid: radii is (1, nan, 3); expected finite numbers",
    ),
    (
        lambda: Inertia.from_point(1, at=(1, 2, "z")),  # type: ignore[arg-type]
        "Inertia.from_point: at is (1, 2, 'z'); expected a position of 3 finite "
        "numbers, a Pose, or its (4, 4) matrix",
    ),
    (
        lambda: Inertia.from_sphere(1, 1, at=Pose(2 * np.eye(3), np.zeros(3))),
        "Inertia.from_sphere: at: R is not a rotation matrix",
    ),
    (
        lambda: Inertia.from_sphere(1, 1, at=Pose(-np.eye(3), np.zeros(3))),
        "Inertia.from_sphere: at: R is not a rotation matrix",
    ),
    (
        lambda: Inertia.from_matrix(-1, (0, 0, 0), INERTIA),
        "Inertia: mass is -1; expected 0 or more",
    ),
    (
        lambda: Inertia(1, np.zeros(2), INERTIA),
        "Inertia: com is array([0., 0.]); expected 3 numbers",
    ),
    (
        lambda: Inertia.from_matrix(1, (0, 0, 0), [[1, 0], [0, 1]]),
        "Inertia: matrix is [[1, 0], [0, 1]]; expected 3 x 3 numbers",
    ),
    (
        lambda: Inertia.from_matrix(
            1, (0, 0, 0), [[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]
        ),
        "Inertia: matrix is [[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]; expected a "
        "symmetric one",
    ),
    (
        lambda: Inertia.from_matrix(1, (0, 0, 0), np.diag([-1, 2, 3])),
        "Inertia: matrix has the eigenvalues -1, 2, 3 kg m²; none may be negative",
    ),
    (
        lambda: Inertia.from_matrix(1, (0, 0, 0), np.diag([1, 2, 4])),
        "Inertia: matrix has the eigenvalues 1, 2, 4 kg m²; the sum of any two must "
        "be at least the third",
    ),
]

BAD_JOINTS: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Joint.revolute((0, 0, 0)),
        "Joint.revolute: axis is (0, 0, 0); expected a nonzero direction",
    ),
    (
        lambda: Joint.planar((0, 0, 0), name="slab"),
        "Joint.planar 'slab': normal is (0, 0, 0); expected a nonzero direction",
    ),
    (
        lambda: Joint.prismatic((0, 0, math.inf)),
        "Joint.prismatic: axis is (0, 0, inf); expected finite numbers",
    ),
    (
        lambda: Joint.universal((0, 0, 1), (0, 0, -1)),
        "Joint.universal: axis and axis2 are parallel; expected two directions",
    ),
    (
        lambda: Joint.universal(axis2=(0, 0, 0)),
        "Joint.universal: axis2 is (0, 0, 0); expected a nonzero direction",
    ),
    (
        lambda: Joint.helical(math.nan),
        "Joint.helical: pitch is nan; expected a finite number",
    ),
    (
        lambda: Joint.revolute(limits=(1, -1), name="elbow"),
        "Joint.revolute 'elbow': limits are (1, -1); expected lower <= upper",
    ),
    (
        lambda: Joint.revolute(limits=(1, math.nan)),
        "Joint.revolute: limits is (1, nan); expected finite numbers",
    ),
    (
        lambda: Joint.cylindrical(limits=(1, 2)),
        "Joint.cylindrical: limits is (1, 2); expected 2 x 2 numbers",
    ),
    (
        lambda: Joint.spherical(limits=(1, 2)),
        "Joint.spherical: a spherical joint cannot have limits",
    ),
    (
        lambda: Joint.revolute(armature=-1),
        "Joint.revolute: armature is -1; expected 0 or more",
    ),
    (
        lambda: Joint.revolute(velocity=-1),
        "Joint.revolute: velocity is -1; expected 0 or more",
    ),
    (
        lambda: Joint.floating(mimic="other"),
        "Joint.floating cannot mimic; only a joint with one coordinate can: "
        "revolute, prismatic or helical",
    ),
    (
        lambda: Joint.revolute(mimic=3),  # type: ignore[arg-type]
        "Joint.revolute: mimic is 3; expected the name of a joint, or (name, "
        "multiplier, offset)",
    ),
    (
        lambda: Joint.revolute(mimic=("other", math.nan)),
        "Joint.revolute: mimic is nan; expected a finite number",
    ),
    (
        lambda: Joint.revolute(name=3),  # type: ignore[arg-type]
        "a joint is called 3; expected a name",
    ),
]

BAD_ROBOTS: list[tuple[Callable[[], object], str]] = [
    (lambda: RobotBuilder(""), "a robot is called ''; expected a name"),
    (
        lambda: RobotBuilder("r", gravity=(0, 0)),
        "robot 'r': gravity is (0, 0); expected 3 numbers",
    ),
    (
        lambda: RobotBuilder("r").description(),
        "robot 'r' has no bodies; add one first",
    ),
    (
        lambda: Body("world"),
        "a body is called 'world'; that name is reserved",
    ),
    (
        lambda: Body("b", 3.0),  # type: ignore[arg-type]
        "body 'b': inertia is 3.0; expected type Inertia",
    ),
    (
        lambda: Body("b", frames={"": (0, 0, 0)}),
        "body 'b': a frame is called ''; expected a name",
    ),
    (
        lambda: Body("b", frames={"b": (0, 0, 0)}),
        "body 'b' has a frame of the same name",
    ),
    (
        lambda: Body("b", frames={"tip": (0, 0)}),
        "body 'b': frame 'tip' is (0, 0); expected a position of 3 finite "
        "numbers, a Pose, or its (4, 4) matrix",
    ),
    (
        lambda: arm().add("hand"),  # type: ignore[arg-type]
        "body is 'hand'; expected type Body",
    ),
    (
        lambda: arm().add(Body("link")),
        "robot 'arm' already has a body or frame 'link'",
    ),
    (
        lambda: arm().add(Body("elbow")),
        "robot 'arm' already has a body or frame 'elbow'",
    ),
    (
        lambda: arm().add_frame("link", "world"),
        "robot 'arm' already has a body or frame 'link'",
    ),
    (
        lambda: arm().add(Body("b", frames={"link": (0, 0, 0)})),
        "robot 'arm' already has a body or frame 'link'",
    ),
    (
        lambda: arm().add(Body("b"), None),  # type: ignore[arg-type]
        "None is not a body; expected a Body or its name",
    ),
    (
        lambda: arm().add(Body("b"), "link", Joint.revolute(name="shoulder")),
        "body 'b': robot 'arm' already has a joint 'shoulder'",
    ),
    (
        lambda: arm().add(Body("b"), joint=[Joint.revolute(name="j")] * 2),
        "body 'b': robot 'arm' already has a joint 'j'",
    ),
    (
        lambda: arm().add(Body("b"), joint=[Joint.revolute(), Joint.fixed()]),
        "body 'b': a fixed joint must be its only joint",
    ),
    (
        lambda: arm().add(Body("b"), joint=["revolute"]),  # type: ignore[list-item]
        "body 'b': joint is 'revolute'; expected type Joint",
    ),
    (
        lambda: arm().add(Body("b"), placement=(0, 0, math.nan)),
        "body 'b': placement is (0, 0, nan); expected a position of 3 finite "
        "numbers, a Pose, or its (4, 4) matrix",
    ),
    (
        lambda: arm().add_loop("link", "link", joint="weld", name="loop"),
        "loop 'loop' joins 'link' to itself",
    ),
    (
        lambda: arm().add_loop("world", "world", joint="weld", name="loop"),
        "loop 'loop' joins 'world' to itself",
    ),
    (
        lambda: arm().add_loop("link", "world", joint="distance", name="rod"),
        "loop 'rod': a 'distance' loop needs placement_b for its other end",
    ),
    (
        lambda: arm().add_loop(
            "link", "world", joint="distance", placement_b=(0, 0, 0), name="rod"
        ),
        "loop 'rod': length is 0; expected more than 0",
    ),
    (
        lambda: arm().add_loop("link", "world", joint="weld", length=1.0, name="loop"),
        "loop 'loop': only a 'distance' loop has a length",
    ),
    (
        lambda: arm().add_loop("link", "world", joint="sphere", name="loop"),
        "loop 'loop': joint is 'sphere'; a loop can be closed by: weld, revolute, "
        "prismatic, universal, cylindrical, spherical, planar, point_on_line, "
        "point_on_plane, distance, coupling. Close: 'spherical'.",
    ),
    (
        lambda: arm().add_loop("link", 5, joint="weld", name="loop"),  # type: ignore[arg-type]
        "5 is not a body, for loop 'loop'; expected a Body or its name",
    ),
    (
        lambda: arm().add_loop(
            "link", "world", joint="weld", placement_a=(0, math.nan, 0), name="loop"
        ),
        "loop 'loop': placement_a is (0, nan, 0); expected a position of 3 finite "
        "numbers, a Pose, or its (4, 4) matrix",
    ),
    (
        lambda: arm().add_loop(
            "link", "world", joint="weld", joints=("shoulder",), name="loop"
        ),
        "loop 'loop': only a coupling has joints",
    ),
    (
        lambda: arm().add_loop(
            "link", "world", joint="weld", coefficients=(0, 2), name="loop"
        ),
        "loop 'loop': only a coupling has coefficients",
    ),
    (
        lambda: arm().add_loop(
            joint="coupling", placement_a=(0, 0, 1), joints=("shoulder",), name="gear"
        ),
        "loop 'gear': a coupling has joints and coefficients; it has no bodies, "
        "placements or length",
    ),
    (
        lambda: arm().add_loop(
            "link", joint="coupling", joints=("shoulder",), name="gear"
        ),
        "loop 'gear': a coupling has joints and coefficients; it has no bodies, "
        "placements or length",
    ),
    (
        lambda: arm().add_loop(
            joint="coupling", joints=("shoulder", "shoulder"), name="gear"
        ),
        "loop 'gear' couples joint 'shoulder' to itself",
    ),
    (
        lambda: arm().add_loop(
            joint="coupling", joints=["shoulder"], coefficients=(), name="hold"
        ),
        "loop 'hold': coefficients is empty; expected finite numbers",
    ),
    (
        lambda: arm().add_loop(
            joint="coupling", joints=["shoulder"], coefficients="x", name="hold"
        ),  # type: ignore[arg-type]
        "loop 'hold': coefficients is 'x'; expected finite numbers",
    ),
]


@pytest.mark.parametrize(
    ("build", "message"),
    BAD_INERTIAS + BAD_JOINTS + BAD_ROBOTS,
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_bad_input_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        build()


def followed(of: str) -> Description:
    builder = arm()
    builder.add(Body("finger"), "link", Joint.revolute(mimic=of))
    return builder.description()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: arm().add(Body("hand"), "lnk"),
            "no body 'lnk' in robot 'arm'. Close: 'link'. All 2: 'world', 'link'.",
        ),
        (
            lambda: arm().add(Body("hand"), Body("other")),
            "no body 'other' in robot 'arm'. All 2: 'world', 'link'.",
        ),
        (
            lambda: arm().add_loop("lnk", "world", joint="weld", name="loop"),
            "no body 'lnk' in robot 'arm', for loop 'loop'. Close: 'link'. All 2: "
            "'world', 'link'.",
        ),
        (
            lambda: arm().add_loop(joint="coupling", joints=("shulder",), name="gear"),
            "no moving joint 'shulder' in robot 'arm', for loop 'gear'. Close: "
            "'shoulder'. All 1: 'shoulder'.",
        ),
        (
            lambda: Joint.revolute(limit=(0, 1)),  # type: ignore[call-arg]
            "no option 'limit' in Joint.revolute. Close: 'limits', 'mimic'. All 10: "
            "'name', 'limits', 'velocity', 'effort', 'armature', 'damping', "
            "'friction', 'stiffness', 'position', 'mimic'.",
        ),
        (
            lambda: followed("sholder"),
            "no moving joint 'sholder' in robot 'arm', for the mimic of "
            "'finger_joint'. Close: 'shoulder'. All 2: 'shoulder', 'finger_joint'.",
        ),
    ],
)
def test_an_unknown_name_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(UnknownName, match=f"^{re.escape(message)}$"):
        build()


def test_a_loop_has_a_name_of_its_own() -> None:
    builder = arm()
    builder.add_loop("link", "world", joint="weld", name="loop")
    with pytest.raises(
        ModelError, match=r"^loop 'loop' already exists in robot 'arm'$"
    ):
        builder.add_loop("link", "world", joint="weld", name="loop")


def test_a_refused_body_leaves_no_trace() -> None:
    builder = arm()
    with pytest.raises(Error):
        builder.add(Body("hand"), "link", Joint.revolute(), (0, 0, math.nan))
    assert len(builder.description().bodies) == 1
    builder.add(Body("hand"), "link", Joint.revolute())
