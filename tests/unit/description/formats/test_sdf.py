"""The SDF parser: what it reads, and what it warns of."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ramidyn
from ramidyn.description.description import Description, JointDescription
from ramidyn.description.pose import Pose
from support.kinematics import body_poses
from support.sdf import AXIS, INERTIAL, joint, link, links, parse, sdf

HALF_PI = math.pi / 2


def pose(text: str, relative_to: str = "") -> str:
    return f'<pose relative_to="{relative_to}">{text}</pose>'


def one_joint(inner: str = AXIS, type_: str = "revolute") -> JointDescription:
    """The joint of a model on the world, which must load without a warning."""
    description = parse(links("a"), joint("j", "world", "a", inner, type_))
    assert description.warnings == ()
    return description.bodies[0].joints[0]


def placements(description: Description) -> dict[str, Pose]:
    """T_world_body with all joints at zero; floating bodies at the origin."""
    q = {j.name: np.zeros(1) for b in description.bodies for j in b.joints}
    for b in description.bodies:
        for j in b.joints:
            if j.type in ("floating", "spherical"):
                size = 7 if j.type == "floating" else 4
                q[j.name] = np.eye(size)[size - 4]
            elif j.type == "universal":
                q[j.name] = np.zeros(2)
    return body_poses(description, q)


# ------------------------------------------------------------ links and poses


def test_bodies_stand_depth_first_with_siblings_in_file_order() -> None:
    description = parse(
        links("root z tip a"),
        joint("j2", "root", "z"),
        joint("j3", "z", "tip"),
        joint("j1", "root", "a"),
    )
    assert [b.name for b in description.bodies] == ["root", "z", "tip", "a"]
    assert [b.parent for b in description.bodies] == [None, "root", "z", "root"]
    assert (description.name, description.format) == ("m", "sdf")


def test_a_link_that_nothing_holds_floats_from_where_the_file_has_it() -> None:
    description = parse(
        link("a", pose("0 0 1 0 0 0")), "<pose>1 0 0 0 0 1.5707963267948966</pose>"
    )
    (body,) = description.bodies
    assert [j.type for j in body.joints] == ["floating"]
    assert body.placement.is_identity()
    half = math.sqrt(0.5)
    np.testing.assert_allclose(
        description.keyframes["qpos0"], [1, 0, 1, half, 0, 0, half], atol=1e-15
    )


def test_a_floating_root_can_be_fixed_where_the_file_has_it() -> None:
    text = sdf(link("a", pose("0 0 1 0 0 0")), link("b"), joint("j", "a", "b"))
    robot = ramidyn.load(text, root="fixed")
    assert (robot.nq, robot.description.bodies[0].placement.origin) == (1, (0, 0, 1))
    assert ramidyn.load(text).nq == 8


def test_a_static_model_stands_on_the_world() -> None:
    description = parse(links("a b"), joint("j", "a", "b"), "<static>true</static>")
    assert [b.joints == () for b in description.bodies] == [True, False]


def test_poses_relative_to_links_joints_and_frames_are_chained() -> None:
    turn = f"0 0 0 0 0 {HALF_PI}"
    description = parse(
        link("a", pose("1 0 0 0 0 0")),
        link("b", pose("0 2 0 0 0 0", "f")),
        f'<frame name="f" attached_to="a">{pose(turn)}</frame>',
        joint("j", "a", "b", pose("0 0 3 0 0 0", "f") + AXIS),
        link("c", pose("0 0 4 0 0 0", "j")),
        joint("k", "b", "c"),
        '<frame name="g" attached_to="f"><pose relative_to="c">5 0 0 0 0 0</pose>'
        "</frame>",
        "<static>1</static>",
    )
    # By hand: f stands at a and is turned, so that 2 m along its y are −2 m along x.
    T = placements(description)
    np.testing.assert_allclose(T["a"].p, [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(T["b"].p, [-1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(T["c"].p, [1, 0, 7], atol=1e-15)
    # The joint stands 3 m above f; b is turned like f.
    j = description.bodies[1].joints[0]
    np.testing.assert_allclose(j.position, [0, -2, 3], atol=1e-15)
    np.testing.assert_allclose(j.axis, [0, 1, 0], atol=1e-15)
    frames = {f.name: f for f in description.frames}
    assert (frames["f"].body, frames["g"].body) == ("a", "a")
    np.testing.assert_allclose(frames["g"].placement.p, [0, 5, 7], atol=1e-15)


def test_a_frame_attached_to_a_joint_or_to_the_model_moves_with_its_link() -> None:
    description = parse(
        links("a b"),
        joint("j", "a", "b"),
        '<frame name="f" attached_to="j"/>',
        '<frame name="g"/>',
        model='canonical_link="b"',
    )
    assert [f.body for f in description.frames] == ["b", "b"]


def test_joints_may_join_frames() -> None:
    description = parse(
        link("a", pose("1 0 0 0 0 0")),
        link("b", pose("3 0 0 0 0 0")),
        f'<frame name="f" attached_to="b">{pose("0 0 1 0 0 0")}</frame>',
        '<frame name="e" attached_to="a"/>',
        joint("j", "e", "f"),
    )
    assert description.bodies[1].parent == "a"
    np.testing.assert_allclose(description.bodies[1].joints[0].position, [0, 0, 1])


def test_the_placement_frame_of_a_model_is_where_its_pose_says() -> None:
    description = parse(
        link("a", pose("1 0 0 0 0 0")),
        joint("j", "world", "a", "", "fixed"),
        "<pose>0 0 5 0 0 0</pose>",
        model='placement_frame="a"',
    )
    np.testing.assert_allclose(description.bodies[0].placement.p, [0, 0, 5])


@pytest.mark.parametrize(
    "text",
    [
        '<pose degrees="true">1 2 3 0 0 90</pose>',
        '<pose rotation_format="quat_xyzw">1 2 3 0 0 1 1</pose>',
        f"<pose>1 2 3 0 0 {HALF_PI}</pose>",
    ],
)
def test_rotations_are_angles_degrees_or_quaternions(text: str) -> None:
    T = placements(parse(link("a", text), joint("j", "world", "a", "", "fixed")))["a"]
    np.testing.assert_allclose(T.p, [1, 2, 3])
    np.testing.assert_allclose(T.R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_an_inertial_is_turned_into_its_link() -> None:
    inertial = (
        f"<inertial><pose>1 2 3 0 0 {HALF_PI}</pose><mass>4</mass><inertia>"
        "<ixx>3</ixx><iyy>4</iyy><izz>5</izz><ixy>0.5</ixy></inertia></inertial>"
    )
    (body,) = parse(f'<link name="a">{inertial}</link>').bodies
    assert body.inertial is not None
    assert body.inertial.mass == 4
    np.testing.assert_allclose(body.inertial.com, [1, 2, 3])
    I = [[4, -0.5, 0], [-0.5, 3, 0], [0, 0, 5]]
    np.testing.assert_allclose(body.inertial.inertia, I, atol=1e-14)


def test_gravity_is_that_of_the_world() -> None:
    text = '<sdf version="1.7"><world name="w"><gravity>0 0 -1.6</gravity>{}</world>'
    model = f'<model name="m">{links("a")}</model>'
    assert ramidyn.load(text.format(model) + "</sdf>").tree.gravity == (0, 0, -1.6)


# ------------------------------------------------------------ joints


@pytest.mark.parametrize(
    ("given", "type_"),
    [("revolute", "revolute"), ("continuous", "revolute"), ("prismatic", "prismatic")],
)
def test_joint_types_with_one_axis(given: str, type_: str) -> None:
    j = one_joint(AXIS, given)
    assert (j.type, j.is_continuous) == (type_, given == "continuous")
    np.testing.assert_array_equal(j.axis, [0, 1, 0])


def test_a_screw_advances_by_its_pitch_in_a_turn() -> None:
    j = one_joint(f"{AXIS}<screw_thread_pitch>0.5</screw_thread_pitch>", "screw")
    assert j.type == "helical"
    assert j.pitch * 2 * math.pi == pytest.approx(0.5)


@pytest.mark.parametrize("given", ["universal", "revolute2"])
def test_joints_with_two_axes_turn_about_the_first_then_the_second(given: str) -> None:
    second = "<axis2><xyz>1 0 0</xyz><limit><lower>-2</lower></limit></axis2>"
    j = one_joint(AXIS + second, given)
    assert j.type == "universal"
    assert j.axis2 is not None
    np.testing.assert_array_equal([j.axis, j.axis2], [[0, 1, 0], [1, 0, 0]])
    assert j.limits is not None
    assert j.limits.lower == (-math.inf, -2)


def test_ball_and_fixed_joints_need_no_axis() -> None:
    assert one_joint("", "ball").type == "spherical"
    description = parse(links("a b"), joint("j", "a", "b", "", "fixed"))
    assert description.bodies[1].fixed_joint == "j"
    assert description.bodies[1].joints == ()


def test_limits_and_dynamics_are_read() -> None:
    j = one_joint(
        "<axis><xyz>0 0 2</xyz><limit><lower>-1</lower><upper>2</upper>"
        "<velocity>3</velocity><effort>4</effort></limit><dynamics>"
        "<damping>5</damping><friction>6</friction>"
        "<spring_stiffness>7</spring_stiffness><spring_reference>8</spring_reference>"
        "</dynamics></axis>"
    )
    assert j.limits is not None
    assert j.limits.lower + j.limits.upper == (-1, 2)
    assert j.limits.velocity + j.limits.effort == (3, 4)
    assert (j.damping, j.friction, j.stiffness) == (5, 6, 7)
    assert j.spring_reference == 8
    np.testing.assert_array_equal(j.axis, [0, 0, 1])


def test_huge_infinite_and_negative_limits_are_none() -> None:
    j = one_joint(
        "<axis><xyz>0 0 1</xyz><limit><lower>-inf</lower><upper>1e16</upper>"
        "<velocity>-1</velocity><effort>inf</effort></limit></axis>"
    )
    assert j.limits is not None
    assert j.limits.lower + j.limits.upper == (-math.inf, math.inf)
    assert j.limits.velocity + j.limits.effort == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("axis", "version", "expected"),
    [
        ("<xyz>1 0 0</xyz>", "1.9", [0, 0, 1]),  # the joint's own frame
        ('<xyz expressed_in="__model__">1 0 0</xyz>', "1.9", [0, -1, 0]),
        ('<xyz expressed_in="b">1 0 0</xyz>', "1.9", [1, 0, 0]),
        ('<xyz expressed_in="a">0 0 1</xyz>', "1.9", [0, 0, 1]),
        (
            "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>",
            "1.6",
            [0, -1, 0],
        ),
        (
            "<xyz>1 0 0</xyz><use_parent_model_frame>0</use_parent_model_frame>",
            "1.6",
            [0, 0, 1],
        ),
        ("<xyz>1 0 0</xyz>", "1.4", [0, -1, 0]),  # version 1.4: the model's frame
    ],
)
def test_an_axis_is_expressed_in_the_frame_that_the_file_says(
    axis: str, version: str, expected: list[float]
) -> None:
    # b is turned by 90° about z in the model, its joint by −90° about y in b.
    description = parse(
        link("a"),
        link("b", f"<pose>0 0 0 0 0 {HALF_PI}</pose>"),
        joint("j", "a", "b", f"<pose>0 0 0 0 {-HALF_PI} 0</pose><axis>{axis}</axis>"),
        version=version,
    )
    j = description.bodies[1].joints[0]
    np.testing.assert_allclose(j.axis, expected, atol=1e-15)


def test_a_mimic_joint_follows_its_leader() -> None:
    mimic = (
        '<axis><xyz>0 0 1</xyz><mimic joint="j"><multiplier>3</multiplier>'
        "<offset>1</offset><reference>2</reference></mimic></axis>"
    )
    description = parse(
        links("a b c"), joint("j", "a", "b"), joint("k", "b", "c", mimic)
    )
    found = description.bodies[2].joints[0].mimic
    assert found is not None
    assert (found.of, found.multiplier, found.offset) == ("j", 3, -5)


def test_springs_and_damping_act_on_request(rng: np.random.Generator) -> None:
    axis = (
        "<axis><xyz>0 1 0</xyz><dynamics><damping>5</damping><spring_stiffness>7"
        "</spring_stiffness><spring_reference>0.5</spring_reference></dynamics></axis>"
    )
    text = sdf(links("a"), joint("j", "world", "a", axis))
    free, sprung = (ramidyn.load(text, passive=x) for x in (False, True))
    q, qd, qdd = rng.normal(size=(3, 1))
    torque = sprung.inverse_dynamics(q, qd, qdd) - free.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torque, 7 * (q - 0.5) + 5 * qd, rtol=1e-12)


# ------------------------------------------------------------ loops


def test_the_last_joint_of_a_loop_is_cut() -> None:
    description = parse(
        link("a"),
        link("b", pose("1 0 0 0 0 0")),
        link("c", pose("0 0 1 0 0 0")),
        joint("ab", "a", "b"),
        joint("ac", "a", "c"),
        joint("bc", "b", "c", pose("1 0 0 0 0 0") + AXIS),
    )
    assert [b.parent for b in description.bodies] == [None, "a", "a"]
    (loop,) = description.loops
    assert (loop.name, loop.type) == ("bc", "revolute")
    assert (loop.body_a, loop.body_b) == ("b", "c")
    # The cut stands 1 m along x of c, and its z is the axis.
    np.testing.assert_allclose(loop.placement_b.p, [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(loop.placement_a.p, [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(loop.placement_a.R[:, 2], [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("given", "type_"),
    [
        ("fixed", "weld"),
        ("ball", "spherical"),
        ("prismatic", "prismatic"),
        ("universal", "universal"),
    ],
)
def test_every_type_of_joint_closes_a_loop(given: str, type_: str) -> None:
    axes = AXIS + "<axis2><xyz>1 0 0</xyz></axis2>"
    inner = {"fixed": "", "ball": "", "prismatic": AXIS, "universal": axes}[given]
    description = parse(
        links("a b"), joint("j", "a", "b"), joint("k", "world", "a"),
        joint("l", "world", "b", inner, given),
    )  # fmt: skip
    (loop,) = description.loops
    assert (loop.type, loop.body_a, loop.body_b) == (type_, None, "b")
    if given == "universal":
        z, x = loop.placement_a.R[:, 2], loop.placement_b.R[:, 0]
        np.testing.assert_allclose([z, x], [[0, 1, 0], [1, 0, 0]], atol=1e-15)
        assert np.linalg.det(loop.placement_b.R) == pytest.approx(1)


def test_a_link_above_its_own_branch_hangs_on_a_reversed_joint() -> None:
    """Rod b is the parent of both of its joints: the tree reaches it from a child."""
    parts = (
        link("a"),
        link("b", pose("1 0 0 0 0 0")),
        link("c", pose("0 0 2 0 0 0.3")),
        joint("ac", "a", "c"),
        joint("ba", "b", "c", pose("0 1 0 0.2 0 0") + "<axis><xyz>1 0 0</xyz></axis>"),
    )
    description = parse(*parts, "<static>1</static>")
    assert [b.parent for b in description.bodies] == [None, "a", "c"]
    # In the file's sense: c moves by q about the joint's axis, seen from b.
    q = {"ac": np.array([0.4]), "ba": np.array([0.7])}
    T = body_poses(description, q)
    T_b_c = Pose.at([-1, 0, 2]) @ Pose.from_rpy([0, 0, 0.3])
    T_c_j = Pose.from_rpy([0.2, 0, 0], [0, 1, 0])
    turn = Pose.from_axis_angle([1, 0, 0], 0.7)
    expected = T_b_c @ T_c_j @ turn @ T_c_j.inverse()
    found = T["b"].inverse() @ T["c"]
    np.testing.assert_allclose(found.R, expected.R, atol=1e-14)
    np.testing.assert_allclose(found.p, expected.p, atol=1e-14)


def test_a_reversed_universal_joint_has_its_second_angle_first() -> None:
    axes = AXIS + "<axis2><xyz>1 0 0</xyz></axis2>"
    with pytest.warns(ramidyn.ModelWarning, match="q has the angle about axis2 first"):
        robot = ramidyn.load(
            sdf(
                links("a b"),
                joint("k", "world", "a", "", "fixed"),
                joint("j", "b", "a", axes, "universal"),
            )
        )
    q = {"j": np.array([0.3, 0.8])}
    T = body_poses(robot.description, q)
    # The file: a = b · R(axis, 0.8) · R(axis2, 0.3)
    R = Pose.from_axis_angle([0, 1, 0], 0.8) @ Pose.from_axis_angle([1, 0, 0], 0.3)
    np.testing.assert_allclose((T["b"].inverse() @ T["a"]).R, R.R, atol=1e-14)


@pytest.mark.parametrize(("sign", "ratio"), [("", -0.25), ("-", 0.25)])
def test_a_gearbox_couples_two_joints_in_its_reference_body(
    sign: str, ratio: float
) -> None:
    gear = (
        "<gearbox_ratio>0.25</gearbox_ratio>"
        "<gearbox_reference_body>a</gearbox_reference_body>"
        f"{AXIS}<axis2><xyz>0 {sign}1 0</xyz></axis2>"
    )
    description = parse(
        links("a b c"),
        joint("in", "a", "b"),
        joint("out", "a", "c"),
        joint("gear", "b", "c", gear, "gearbox"),
    )
    (loop,) = description.loops
    assert (loop.type, loop.joints) == ("coupling", ("out", "in"))
    assert loop.coefficients == (0, ratio)


# ------------------------------------------------------------ the same robot in URDF


def test_a_robot_has_the_same_dynamics_from_sdf_and_urdf(
    rng: np.random.Generator,
) -> None:
    inertia = '<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.1" ixz="0" iyz="0"/>'
    urdf = (
        '<robot name="m"><link name="a"/><link name="b"><inertial><mass value="2"/>'
        f'<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>{inertia}</inertial></link>'
        '<link name="c"><inertial><mass value="1"/><origin xyz="0 0 0.2"/>'
        f"{inertia}</inertial></link>"
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<origin xyz="1 0 0.5" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/></joint>'
        '<joint name="k" type="continuous"><parent link="b"/><child link="c"/>'
        '<origin xyz="0 0.3 0" rpy="0 0.7 0"/><axis xyz="1 0 0"/></joint></robot>'
    )
    numbers = "<ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz><ixy>0.1</ixy>"
    text = sdf(
        link("a"),
        '<link name="b"><pose relative_to="a">1 0 0.5 0.1 0.2 0.3</pose><inertial>'
        f"<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose><mass>2</mass><inertia>{numbers}"
        "</inertia></inertial></link>",
        '<link name="c"><pose relative_to="k"/><inertial><pose>0 0 0.2 0 0 0</pose>'
        f"<mass>1</mass><inertia>{numbers}</inertia></inertial></link>",
        joint("f", "world", "a", "", "fixed"),
        joint("j", "a", "b", AXIS, "continuous"),
        '<joint name="k" type="continuous"><parent>b</parent><child>c</child>'
        '<pose relative_to="b">0 0.3 0 0 0.7 0</pose>'
        "<axis><xyz>1 0 0</xyz></axis></joint>",
    )
    with pytest.warns(ramidyn.ModelWarning, match="no <inertial>"):
        ramidyn.load(text.replace(f'<link name="a">{INERTIAL}', '<link name="a">'))
    robots = [ramidyn.load(urdf), ramidyn.load(text)]
    q, qd, qdd = rng.normal(size=(3, 2))
    ours, theirs = (r.inverse_dynamics(q, qd, qdd) for r in robots[::-1])
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
