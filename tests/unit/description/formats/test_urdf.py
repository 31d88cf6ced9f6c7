"""The URDF parser: what it reads, and what it warns of."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest

from ramidyn.description.description import JointDescription
from ramidyn.description.formats.urdf import parse_urdf
from ramidyn.description.loop_types import ROWS
from ramidyn.description.pose import Pose
from support.urdf import (
    CHAIN,
    LIMIT,
    LOOP,
    joint,
    links,
    one_inertial,
    parse,
)


def one_joint(inner: str = LIMIT, type_: str = "revolute") -> JointDescription:
    """The joint of a robot with two links, which must load without a warning."""
    description = parse(links("a b"), joint("j", "a", "b", inner, type_))
    assert description.warnings == ()
    return description.bodies[1].joints[0]


# ------------------------------------------------------------ what is read


def test_bodies_stand_depth_first_with_siblings_in_file_order() -> None:
    description = parse(
        links("tip z_arm root a_arm"),
        joint("j3", "z_arm", "tip"),
        joint("j2", "root", "z_arm"),
        joint("j1", "root", "a_arm"),
    )
    assert [b.name for b in description.bodies] == ["root", "z_arm", "tip", "a_arm"]
    assert [b.parent for b in description.bodies] == [None, "root", "z_arm", "root"]
    root = description.bodies[0]
    assert root.joints == ()
    assert root.fixed_joint is None
    assert root.placement.is_identity()
    assert (description.name, description.format) == ("r", "urdf")
    assert description.gravity == (0.0, 0.0, -9.81)


@pytest.mark.parametrize(
    ("given_type", "type_"),
    [
        ("revolute", "revolute"),
        ("continuous", "revolute"),
        ("prismatic", "prismatic"),
        ("planar", "planar"),
        ("floating", "floating"),
        ("spherical", "spherical"),
        ("ball", "spherical"),
    ],
)
def test_joint_types(given_type: str, type_: str) -> None:
    found = one_joint(type_=given_type)
    assert found.type == type_
    assert found.is_continuous == (given_type == "continuous")


def test_fixed_joints_are_bodies_without_joints() -> None:
    inner = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 0 0"/>'
    body = parse(links("a b"), joint("weld", "a", "b", inner, "fixed")).bodies[1]
    assert (body.joints, body.fixed_joint, body.parent) == ((), "weld", "a")
    np.testing.assert_array_equal(body.placement.p, [1, 2, 3])
    np.testing.assert_array_equal(body.placement.R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_axes_are_normalized_and_default_to_x() -> None:
    np.testing.assert_array_equal(one_joint().axis, [1, 0, 0])
    np.testing.assert_allclose(
        one_joint(LIMIT + '<axis xyz="0 -30 40"/>').axis, [0, -0.6, 0.8], rtol=1e-15
    )
    assert one_joint(LIMIT + '<axis xyz="1e99 -1e99 3"/>').axis == pytest.approx(
        [math.sqrt(0.5), -math.sqrt(0.5), 0]
    )


def test_limits_and_dynamics_are_kept() -> None:
    found = one_joint(LIMIT + '<dynamics damping="0.5" friction="0.25"/>')
    assert found.limits is not None
    assert (found.limits.lower, found.limits.upper) == ((-1.0,), (2.0,))
    assert (found.limits.velocity, found.limits.effort) == ((3.0,), (4.0,))
    assert (found.damping, found.friction) == (0.5, 0.25)


def test_continuous_joints_have_no_range() -> None:
    limits = one_joint('<limit lower="1" upper="0" effort="9"/>', "continuous").limits
    assert limits is not None
    assert (limits.lower, limits.upper) == ((-math.inf,), (math.inf,))
    assert (limits.velocity, limits.effort) == ((math.inf,), (9.0,))
    assert one_joint("", "continuous").limits is None


def test_one_missing_end_of_a_range_is_zero_as_urdf_says() -> None:
    limits = one_joint('<limit upper="2"/>').limits
    assert limits is not None
    assert (limits.lower, limits.upper) == ((0.0,), (2.0,))


def test_mimic_may_follow_a_mimic() -> None:
    description = parse(
        links("a b c d"),
        joint("j1", "a", "b", LIMIT + '<mimic joint="j2" multiplier="-2" offset="3"/>'),
        joint("j2", "b", "c", LIMIT + '<mimic joint="j3"/>', "prismatic"),
        joint("j3", "c", "d"),
    )
    first, second, third = (b.joints[0].mimic for b in description.bodies[1:])
    assert first is not None
    assert second is not None
    assert third is None
    assert (first.of, first.multiplier, first.offset) == ("j2", -2.0, 3.0)
    assert (second.of, second.multiplier, second.offset) == ("j3", 1.0, 0.0)


def test_rotated_inertials_are_turned_into_the_link() -> None:
    body = one_inertial(
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/>'
    ).bodies[0]
    R = Pose.from_rpy([0.1, 0.2, 0.3]).R
    I = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    assert body.inertial is not None
    assert body.inertial.mass == 2.0
    np.testing.assert_array_equal(body.inertial.com, [1, 2, 3])
    np.testing.assert_allclose(body.inertial.inertia, R @ I @ R.T, rtol=1e-14)
    np.testing.assert_array_equal(body.inertial.inertia, body.inertial.inertia.T)


def test_links_without_inertial_have_none() -> None:
    assert parse(links("a")).bodies[0].inertial is None


def test_what_does_not_move_mass_is_not_read() -> None:
    description = parse(
        '<material name="m"><color rgba="nonsense"/></material>',
        '<link name="a"><visual><origin xyz="nan"/><geometry><mesh filename="no.stl"/>'
        "</geometry></visual><collision><geometry><cylinder/></geometry></collision>"
        "</link>",
        '<gazebo><plugin name="p"/></gazebo><transmission name="t"><joint name="x"/>'
        "</transmission><drake:thing/><unheard_of/>",
    )
    assert len(description.bodies) == 1
    assert description.warnings == ()


def test_a_robot_without_a_name_is_called_by_its_file() -> None:
    assert parse_urdf('<robot><link name="a"/></robot>', "r.urdf").name == "r.urdf"


@pytest.mark.parametrize(
    "type_", [t for t in ROWS if t not in ("distance", "coupling")]
)
def test_loops_are_read(type_: str) -> None:
    (loop,) = parse(CHAIN, LOOP.format(type_)).loops
    assert (loop.name, loop.type) == ("l", type_)
    assert (loop.body_a, loop.body_b) == ("a", "c")
    np.testing.assert_array_equal(loop.placement_a.p, [1, 2, 3])
    np.testing.assert_allclose(loop.placement_b.R, Pose.from_rpy([0, 0, 1]).R)


def test_rods_have_a_length() -> None:
    (loop,) = parse(CHAIN, LOOP.format('distance" length="0.5')).loops
    assert (loop.type, loop.length) == ("distance", 0.5)


def test_a_loop_may_end_on_what_does_not_move() -> None:
    text = LOOP.format("weld").replace('"c"', '"world"')
    (loop,) = parse(CHAIN, text).loops
    assert (loop.body_a, loop.body_b) == ("a", None)


def test_a_link_called_world_is_that_link() -> None:
    text = (CHAIN + LOOP.format("weld")).replace('"c"', '"world"')
    (loop,) = parse(text).loops
    assert loop.body_b == "world"


def test_couplings_are_read() -> None:
    gear = '<loop name="{}" type="coupling" joint="j2" {}/>'
    description = parse(
        CHAIN,
        gear.format("gear", 'follows="j1" coefficients="0 2 0.5"'),
        gear.format("equal", 'follows="j1"'),
        gear.format("held", 'coefficients="0.3"'),
    )
    found = [(x.joints, x.coefficients) for x in description.loops]
    assert found == [
        (("j2", "j1"), (0, 2, 0.5)),
        (("j2", "j1"), (0, 1)),
        (("j2",), (0.3,)),
    ]


def test_a_chain_of_5000_links_needs_no_recursion() -> None:
    names = [f"l{i}" for i in range(5000)]
    joints = (joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(4999))
    description = parse(links(" ".join(names)), *joints)
    assert [b.name for b in description.bodies] == names


def test_every_further_link_takes_the_parser_the_same_number_of_calls() -> None:
    def calls(n: int) -> int:
        names = [f"l{i}" for i in range(n)]
        joints = [joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(n - 1)]
        text, count = links(" ".join(names)), itertools.count()
        sys.setprofile(lambda *_: next(count))
        try:
            parse(text, *joints)
        finally:
            sys.setprofile(None)
        return next(count)

    steps = np.diff([calls(n) for n in (100, 200, 300, 400)])
    assert np.ptp(steps) < 0.02 * steps.mean()


# ------------------------------------------------------------ what is warned of


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            links("a b") + joint("j", "a", "b", ""),
            "r.urdf:2: joint 'j': no <limit>; treated as unlimited",
        ),
        (
            links("a b") + joint("j", "a", "b", '<limit effort="1"/>', "prismatic"),
            "r.urdf:2: joint 'j': limit: neither lower nor upper; treated as unlimited",
        ),
        (
            links("a b") + joint("j", "a", "b", '<mimic joint="x"/>', "fixed"),
            "r.urdf:2: joint 'j': mimic: ignored, because the joint is fixed",
        ),
        (
            links("a b") + joint("j", "a", "b", LIMIT + '<mimic joint="x"/>'),
            "r.urdf:2: joint 'j': mimics a joint that does not exist; treated as "
            "independent: 'j' (no joint 'x' in the file)",
        ),
        (
            links("a b") + joint("j", "a", "b", LIMIT + "<spring/>"),
            "r.urdf:2: joint 'j': unknown element <spring> ignored",
        ),
        (
            links("a b") + joint("j", "a", "b", LIMIT + LIMIT),
            "r.urdf:2: joint 'j': limit: a second <limit>; the first one is used",
        ),
        (
            '<link name="a"><inertial><mass value="1"/></inertial></link>',
            "r.urdf:2: link 'a': inertial: no <inertia>; treated as a point mass",
        ),
        (
            '<link name="a"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="-2" izz="3"/></inertial></link>',
            "r.urdf:2: link 'a': the inertia is not positive semidefinite: eigenvalues "
            "-2, 1, 3 kg m²",
        ),
        (
            '<link name="a"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="4" izz="2"/></inertial></link>',
            "r.urdf:2: link 'a': the inertia violates the triangle inequality (the sum "
            "of two must be at least the third): eigenvalues 1, 2, 4 kg m²",
        ),
    ],
)
def test_oddities_are_warned_of_by_name(text: str, warning: str) -> None:
    assert parse(text).warnings == (warning,)
