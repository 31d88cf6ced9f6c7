"""Rigid contacts as data: what they refuse, how they are named, edited and shown."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import contacts, forces
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.contacts import ground_candidates
from ramidyn.errors import (
    ArgumentError,
    Error,
    ModelError,
    ShapeError,
    TraceError,
    UnknownName,
)
from ramidyn.robot import Robot
from ramidyn.tree.contact_checks import robot_candidates, robot_pairs
from ramidyn.tree.parameters import parameter_shapes
from support.close import assert_close


def arm(**options: Any) -> Robot:
    """Return two links, a ball joint, a sliding one and one that follows it."""
    builder = RobotBuilder("arm")
    inertia = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.2))
    joints = {
        "upper": Joint.revolute((0, 1, 0), limits=(-1.0, 2.0)),
        "lower": Joint.revolute((0, 1, 0), friction=0.4),
        "wrist": Joint.spherical(),
        "finger": Joint.prismatic((1, 0, 0), limits=(0.0, 0.1)),
        "thumb": Joint.prismatic((1, 0, 0), mimic=("finger_joint", 1.0, 0.0)),
    }
    parent = "world"
    for name, joint in joints.items():
        builder.add(Body(name, inertia), parent, joint, (0.3, 0.0, 0.1))
        parent = name
    return builder.robot(**options)


ARM = arm()
UPPER, LOWER, WRIST, FINGER = ARM.joint_names

REFUSED: dict[str, tuple[Any, type[Error], str]] = {
    "not a contact": (
        forces.SphereContact("finger", 0.1, 1e5),
        ArgumentError,
        r"add_contact: SphereContact\(.*; expected a contact, such as",
    ),
    "unknown body": (
        contacts.ContactSphere("foot", 0.1),
        UnknownName,
        "no body or frame 'foot' in robot 'arm', for contact 'contact_sphere0'",
    ),
    "unknown joint": (
        contacts.HardLimit("elbow", name="stop"),
        UnknownName,
        "no joint 'elbow' in robot 'arm', for contact 'stop'",
    ),
    "negative friction": (
        contacts.ContactPoint("finger", friction=-0.1),
        ArgumentError,
        "contact 'contact_point0': friction is -0.1; expected 0 or more",
    ),
    "negative force": (
        contacts.DryFriction(UPPER, -1.0),
        ArgumentError,
        "contact 'dry_friction0': force is -1; expected 0 or more",
    ),
    "negative length": (
        contacts.ContactCapsule("finger", 0.1, -0.2),
        ArgumentError,
        "half_length is -0.2; expected 0 or more",
    ),
    "too bouncy": (
        contacts.ContactPoint("finger", restitution=1.2),
        ArgumentError,
        "restitution is 1.2; expected a number from 0 to 1",
    ),
    "not a number": (
        contacts.ContactSphere("finger", math.nan),
        ArgumentError,
        "contact 'contact_sphere0': radius is nan; expected a finite number",
    ),
    "no radius": (
        contacts.ContactSphere("finger", 0.0),
        ArgumentError,
        "radius is 0.0; expected more than 0",
    ),
    "flat box": (
        contacts.ContactBox("finger", (0.1, 0.2, 0.0)),
        ArgumentError,
        r"size is \(0.1, 0.2, 0.0\); expected 3 numbers more than 0",
    ),
    "no points": (
        contacts.ContactPoints("finger"),
        ArgumentError,
        r"contact 'contact_points0': points is \(\); expected one or more",
    ),
    "points that are none": (
        contacts.ContactPoints("finger", points=((0.0, 1.0), 3)),  # type: ignore[arg-type]
        ArgumentError,
        r"points is \(0.0, 1.0\); expected 3 numbers",
    ),
    "no placement": (
        contacts.ContactBox("finger", (0.1, 0.2, 0.3), (0.1, 0.2)),  # type: ignore[arg-type]
        ArgumentError,
        r"contact 'contact_box0': placement is \(0.1, 0.2\); expected a position",
    ),
    "no axis": (
        contacts.ContactCapsule("finger", 0.1, 0.2, axis=(0.0, 0.0, 0.0)),
        ArgumentError,
        r"axis is \(0.0, 0.0, 0.0\); expected a direction",
    ),
    "no normal": (
        contacts.ContactPoint("finger", normal=(0.0, 0.0, 0.0)),
        ArgumentError,
        r"normal is \(0.0, 0.0, 0.0\); expected a direction",
    ),
    "two grounds": (
        contacts.ContactPoint("finger", offset=0.1, height=lambda x, y: x + y),
        ArgumentError,
        "height is given, and normal or offset too; expected one ground",
    ),
    "ground that is not a function": (
        contacts.ContactPoint("finger", height=0.2),  # type: ignore[arg-type]
        ArgumentError,
        "height is 0.2; expected a function of x and y",
    ),
    "ground that cannot be traced": (
        contacts.ContactPoint("finger", height=lambda x, y: math.sin(x) + y, name="c"),
        TraceError,
        "a symbol is not a number yet",
    ),
    "ground that fails": (
        contacts.ContactPoint("finger", height=lambda x: x, name="c"),  # type: ignore[arg-type]
        TraceError,
        r"contact 'c': height\(x, y\) cannot be traced: TypeError",
    ),
    "ground with a wrong shape": (
        contacts.ContactPoint("finger", height=lambda x, y: [x, y], name="c"),
        ShapeError,
        r"contact 'c': height\(x, y\) has shape \(2,\); expected one number",
    ),
    "on the world": (
        contacts.ContactPoint("world"),
        ModelError,
        "'world' is fixed to the world and cannot touch it",
    ),
    "pair on one body": (
        contacts.SpherePair("finger", "finger", 0.1, 0.1),
        ModelError,
        "'finger' and 'finger' are fixed to each other; a contact between them does",
    ),
    "limit of a ball joint": (
        contacts.HardLimit(WRIST, -1.0, 1.0),
        ModelError,
        "joint 'wrist_joint' is spherical; expected a joint with one coordinate",
    ),
    "limit without limits": (
        contacts.HardLimit(LOWER),
        ArgumentError,
        "joint 'lower_joint' has no limits; pass lower or upper",
    ),
    "limits in the wrong order": (
        contacts.HardLimit(UPPER, 1.0, -1.0),
        ArgumentError,
        "lower is 1 and upper is -1; expected lower < upper",
    ),
    "joint that follows": (
        contacts.HardLimit("thumb_joint", 0.0, 1.0),
        ModelError,
        "joint 'thumb_joint' follows another joint; use the one it follows",
    ),
    "friction without friction": (
        contacts.DryFriction(UPPER),
        ArgumentError,
        "joint 'upper_joint' has no friction in its file; pass force",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_touch_is_refused_when_it_is_added(case: str) -> None:
    element, error, match = REFUSED[case]
    with pytest.raises(error, match=match):
        ARM.add_contact(element)


def test_rigid_and_compliant_exclude_each_other() -> None:
    """Whichever comes first."""
    rigid = contacts.ContactSphere("finger", 0.1, name="rigid")
    soft = forces.SphereContact("finger", 0.2, 1e5, name="soft")
    shared = r"already has a contact of 'finger' at \(0.0, 0.0, 0.0\); keep one"
    with pytest.raises(ModelError, match=f"force 'soft': contact 'rigid' {shared}"):
        ARM.add_contact(rigid).add_force(soft)
    with pytest.raises(ModelError, match=f"contact 'rigid': force 'soft' {shared}"):
        ARM.add_force(soft).add_contact(rigid)
    dry = contacts.DryFriction(LOWER, name="dry")
    smooth = forces.JointFriction(LOWER, 0.4, name="smooth")
    shared = "already has friction in joint 'lower_joint'; keep one"
    with pytest.raises(ModelError, match=f"force 'smooth': contact 'dry' {shared}"):
        ARM.add_contact(dry).add_force(smooth)
    with pytest.raises(ModelError, match=f"contact 'dry': force 'smooth' {shared}"):
        ARM.add_force(smooth).add_contact(dry)


def test_a_joint_has_one_hard_limit_and_a_shape_may_touch_two_grounds() -> None:
    limited = ARM.add_contact(contacts.HardLimit(UPPER), name="stop")
    with pytest.raises(ModelError, match="contact 'stop' already has hard limits of"):
        limited.add_contact(contacts.HardLimit(UPPER, -0.5, 0.5))
    wall = contacts.ContactSphere("finger", 0.1, normal=(-2.0, 0.0, 0.0), offset=-1.0)
    cornered = ARM.add_contact(contacts.ContactSphere("finger", 0.1)).add_contact(wall)
    assert cornered.contacts[1].normal == (-1.0, 0.0, 0.0)  # type: ignore[union-attr]


def test_forces_and_contacts_share_their_names() -> None:
    pad = ARM.add_contact(contacts.ContactPoint("finger"), name="pad")
    with pytest.raises(ModelError, match=r"force 'pad' already .* \(a contact\)"):
        pad.add_force(forces.JointDamper(UPPER, 1.0), name="pad")
    with pytest.raises(ModelError, match=r"contact 'pad' already .* 'arm'$"):
        pad.add_contact(contacts.ContactPoint("thumb"), name="pad")


def test_too_many_candidates_are_counted() -> None:
    many = ARM
    for k in range(16):
        many = many.add_contact(
            contacts.ContactBox("finger", (0.1, 0.1, 0.1), (0.1 * k, 0.0, 0.0))
        )
    with pytest.raises(
        ModelError,
        match=r"would have 129 contact candidates .* at most 128 .* solve for 387 "
        r"unknowns coupled by 149,769 numbers; take fewer shapes",
    ):
        many.add_contact(contacts.SpherePair("world", "finger", 0.1, 0.1))


# ------------------------------------------------------------ candidates


def test_a_capsule_is_two_spheres_and_a_box_eight_corners(
    rng: np.random.Generator,
) -> None:
    axis = rng.standard_normal(3)
    turn = rng.standard_normal(4)
    pose = ramidyn.Pose.from_quaternion(turn, (0.1, 0.2, 0.3), order="xyzw")
    robot = ARM.add_contact(
        contacts.ContactCapsule("finger", 0.1, 0.5, (1.0, 2.0, 3.0), tuple(axis)),
        name="c",
    ).add_contact(contacts.ContactBox("thumb", (0.2, 0.4, 0.6), pose), name="b")
    candidates = robot_candidates(robot.model)
    assert [c.name for c in candidates] == [
        *("c[0]", "c[1]"),
        *(f"b[{k}]" for k in range(8)),
    ]
    assert [c.has_radius for c in candidates] == [True] * 2 + [False] * 8
    ends = np.array([c.center for c in candidates[:2]])
    assert_close(ends.mean(axis=0), [1.0, 2.0, 3.0])
    assert_close(ends[0] - ends[1], axis / np.linalg.norm(axis))
    corners = np.array([c.center for c in candidates[2:]])
    local = (corners - pose.p) @ pose.R
    assert len({tuple(x) for x in np.sign(local)}) == 8
    assert_close(np.abs(local), np.tile([0.1, 0.2, 0.3], (8, 1)))


def test_several_points_share_a_name_and_a_friction() -> None:
    points = ((0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1))
    sole = contacts.ContactPoints("finger", points, friction=0.7)  # type: ignore[arg-type]
    robot = ARM.add_contact(sole, name="sole")
    candidates = robot_candidates(robot.model)
    assert [c.name for c in candidates] == ["sole[0]", "sole[1]", "sole[2]"]
    assert tuple(c.center for c in candidates) == points
    assert parameter_shapes(["friction:sole"], robot.model) == {"friction:sole": ()}


def test_points_and_spheres_are_their_own_candidates() -> None:
    point = contacts.ContactPoint("finger", (0.1, 0.2, 0.3), name="p")
    sphere = contacts.ContactSphere("finger", 0.1, (0.4, 0.5, 0.6), name="s")
    (a,), (b,) = ground_candidates(point), ground_candidates(sphere)
    assert (a.name, a.center, a.has_radius) == ("p", (0.1, 0.2, 0.3), False)
    assert (b.name, b.center, b.has_radius) == ("s", (0.4, 0.5, 0.6), True)


# ------------------------------------------------------------ limits and friction


def test_hard_limits_are_those_of_the_file() -> None:
    limits = {c.joint: (c.lower, c.upper) for c in ARM.add_hard_limits().contacts}  # type: ignore[union-attr]
    assert limits == {UPPER: (-1.0, 2.0), FINGER: (0.0, 0.1)}
    once = ARM.add_hard_limits([FINGER])
    assert [c.name for c in once.contacts] == ["finger_joint_limit"]
    assert len(once.add_hard_limits().contacts) == 2
    with pytest.raises(ArgumentError, match="'lower_joint' has no limits; pass lower"):
        ARM.add_hard_limits([LOWER])
    with pytest.raises(ArgumentError, match="joints is 'a'; expected a list of names"):
        ARM.add_hard_limits("a")
    with pytest.raises(ModelError, match="no joint of robot 'chain' has limits; add"):
        ramidyn.robots.chain(2).add_hard_limits()


def test_dry_friction_is_that_of_the_file_or_given() -> None:
    (own,) = ARM.add_dry_friction().contacts
    assert (own.name, own.force) == ("lower_joint_dry_friction", 0.4)  # type: ignore[union-attr]
    given = ARM.add_dry_friction(0.2).contacts
    assert [(c.joint, c.force) for c in given] == [  # type: ignore[union-attr]
        *((UPPER, 0.2), (LOWER, 0.2), (FINGER, 0.2))
    ]
    (ball,) = ARM.add_dry_friction(0.1, [WRIST]).contacts
    assert ball.joint == WRIST  # type: ignore[union-attr]
    with pytest.raises(ModelError, match="has friction in its file; pass force"):
        ramidyn.robots.chain(2).add_dry_friction()


# ------------------------------------------------------------ part of the robot


def touching() -> Robot:
    return (
        ARM.add_contact(contacts.ContactSphere("finger", 0.1, friction=0.8), "foot")
        .add_contact(contacts.SpherePair("world", "lower", 0.1, 0.2), "pair")
        .add_contact(contacts.HardLimit(UPPER), "stop")
        .add_contact(contacts.DryFriction(LOWER), "rub")
    )


def test_contacts_are_printed() -> None:
    text = str(touching())
    assert "contact foot ContactSphere: finger, radius 0.1 m, friction 0.8" in text
    assert "contact stop HardLimit: upper_joint, lower -1 rad, upper 2 rad" in text
    assert "contact rub DryFriction: lower_joint, force 0.4 N m" in text
    assert "4 contacts" in repr(touching())


def test_contacts_change_the_fingerprint_and_are_pickled() -> None:
    robot = touching()
    assert robot.fingerprint != ARM.fingerprint
    assert pickle.loads(pickle.dumps(robot)).contacts == robot.contacts
    assert pickle.loads(pickle.dumps(robot)).fingerprint == robot.fingerprint


def test_contacts_follow_locked_joints() -> None:
    left = touching().lock({UPPER: 0.1, LOWER: 0.2})
    assert [c.name for c in left.contacts] == ["foot", "pair"]
    assert [c.name for c in robot_candidates(left.model)] == ["foot"]
    assert robot_pairs(left.model) == ()  # both ends are fixed to the world
    assert len(robot_pairs(touching().model)) == 1


def test_contacts_follow_names_and_joint_order() -> None:
    both = ARM.attach(touching(), "finger", prefix="b_")
    foot, pair, stop, rub = both.contacts
    assert (foot.name, foot.frame) == ("b_foot", "b_finger")  # type: ignore[union-attr]
    assert (pair.frame_a, pair.frame_b) == ("b_world", "b_lower")  # type: ignore[union-attr]
    assert (stop.joint, rub.joint) == ("b_upper_joint", "b_lower_joint")  # type: ignore[union-attr]
    other = [*ARM.joint_names[::-1]]
    again = Robot.from_description(touching().description, joint_order=other)
    assert again.contacts == touching().contacts
    fixed = touching()
    with pytest.raises(ModelError, match="both robots have a body or frame"):
        fixed.attach(fixed, "finger")


def test_a_joint_with_a_limit_cannot_become_one_that_follows() -> None:
    free = arm(mimic="independent").add_contact(
        contacts.HardLimit("thumb_joint", 0.0, 1.0), name="stop"
    )
    with pytest.raises(ModelError, match="contact 'stop': joint 'thumb_joint' follows"):
        Robot.from_description(free.description)


def test_contacts_can_be_removed() -> None:
    assert [c.name for c in touching().remove_contact("pair").contacts] == [
        *("foot", "stop", "rub")
    ]
    with pytest.raises(UnknownName, match="no contact 'hand' in robot 'arm'"):
        touching().remove_contact("hand")


def test_numbers_of_contacts_are_parameters() -> None:
    names = ["friction:foot", "restitution:pair", "upper:stop", "force:rub"]
    model = touching().model
    assert parameter_shapes(names, model) == dict.fromkeys(names, ())
    with pytest.raises(ArgumentError, match="contact 'rub' has no friction; possible"):
        parameter_shapes(["friction:rub"], model)
    with pytest.raises(UnknownName, match="no force or contact 'hand'"):
        parameter_shapes(["friction:hand"], model)


def test_the_quantities_are_those_of_the_robot_in_the_air() -> None:
    q, v = ARM.neutral(), np.full(ARM.nv, 0.3)
    in_air = ARM.forward_dynamics(q, v, v)
    assert_close(touching().forward_dynamics(q, v, v), in_air)
