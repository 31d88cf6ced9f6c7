from __future__ import annotations

import copy
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.conventions import Conventions
from ramidyn.description.pose import Pose
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    ShapeError,
    UnknownName,
)
from ramidyn.loading import load
from ramidyn.robot import Robot
from support.close import assert_close
from support.every_joint import every_joint
from support.robot_poses import poses
from support.urdf import INERTIA, joint, links, robot

BOX = '<geom type="box" size=".1 .2 .3" pos=".1 0 .2"/>'
WALKER = f"""
<mujoco model="walker"><option gravity="0 0 -3"><flag contact="disable"/></option>
<worldbody>
  <body name="torso" pos="0 0 1.3" quat="1 0 0 1"><freejoint name="free"/>{BOX}
    <site name="imu" pos="0 0 .1"/>
    <body name="thigh" pos="0 .1 -.2">
      <joint name="hip_x" axis="1 0 0" pos="0 0 .1" ref="10"/>
      <joint name="hip_y" axis="0 1 0" pos="0 .1 0"/>
      <joint name="hip_z" axis="0 0 1"/>{BOX}
      <body name="shin" pos="0 0 -.4"><joint name="knee" type="ball"/>{BOX}</body>
    </body>
    <body name="tail"><joint name="tail" axis="0 1 0" ref="5"/>{BOX}</body>
  </body></worldbody>
  <equality><joint name="gear" joint1="tail" joint2="hip_z" polycoef=".1 2 0 3"/>
  </equality>
  <keyframe><key name="squat" qpos="0 0 1 1 0 0 0 .1 .2 .3 1 0 0 0 .4"/></keyframe>
</mujoco>
"""

MASS = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
FOLLOW = '<mimic joint="z" multiplier="-2" offset="0.5"/>'
ARM = robot(
    *(f'<link name="{name}">{MASS}</link>' for name in "abcd"),
    joint("z", "a", "b"),
    joint("y", "a", "c", '<limit lower="0" upper="1" effort="1" velocity="1"/>'),
    joint("x", "c", "d", FOLLOW, "continuous"),
)


def assert_same_poses(ours: Any, theirs: Any, names: Any) -> None:
    for name in names:
        np.testing.assert_allclose(ours[name][0], theirs[name][0], atol=1e-13)
        np.testing.assert_allclose(ours[name][1], theirs[name][1], atol=1e-13)


# ------------------------------------------------------------ what a robot is


def load_walker(**options: Any) -> Robot:
    return load(WALKER, conventions="pinocchio", **options)


def test_robot_tells_its_sizes_and_names() -> None:
    r = load(ARM, mimic="reduce")
    assert (r.name, r.nq, r.nv) == ("r", 2, 2)
    assert r.joint_names == ("y", "z")
    assert r.body_names == ("a", "c", "d", "b")
    assert r.frame_names == ("a", "c", "d", "b", "world")
    assert r.masses == dict.fromkeys("abcd", 1.0)
    assert r.mass == 3.0
    assert r.gravity == (0.0, 0.0, -9.81)
    assert r.tree.parents == (-1, 0, -1)


def test_robot_does_not_change() -> None:
    r = load(ARM, mimic="reduce")
    with pytest.raises(AttributeError, match="a Robot is immutable: 'name'"):
        r.name = "other"  # type: ignore[misc]
    r.masses["a"] = 7.0
    assert r.masses["a"] == 1.0


def test_robot_can_be_pickled_and_copied(rng: np.random.Generator) -> None:
    r = load(WALKER, conventions="mujoco")
    q, qd = r.random_configuration(rng), rng.normal(size=r.nv)
    expected = r.integrate(q, qd), r.bias_forces(q, qd)
    for twin in (pickle.loads(pickle.dumps(r)), copy.copy(r), copy.deepcopy(r)):
        assert twin.conventions == r.conventions
        np.testing.assert_array_equal(twin.integrate(q, qd), expected[0])
        np.testing.assert_array_equal(twin.bias_forces(q, qd), expected[1])
        assert str(twin) == str(r)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("forward_dynamics", {"algorithm": "ltdl"}),
        ("jacobian", {"frame": "d", "expressed_in": "world"}),
        ("integrate", {"dt": 0.5}),
        ("convert_q", {"to": "mujoco"}),
    ],
)
def test_a_method_is_pickled_with_its_options(
    name: str, options: dict[str, Any], rng: np.random.Generator
) -> None:
    method = getattr(load(ARM, mimic="reduce"), name)
    twin = pickle.loads(pickle.dumps(method))
    state = [n for n in ("q", "qd", "tau") if n in twin.__signature__.parameters]
    given = {**dict(zip(state, rng.normal(size=(3, 2)), strict=False)), **options}
    np.testing.assert_array_equal(twin(**given), method(**given))
    assert twin.__doc__ == method.__doc__


def test_only_the_joint_of_the_root_is_put_first() -> None:
    r = load(ARM, mimic="reduce", joint_order=["z", "y"])
    hand = load(
        robot(
            *(f'<link name="{name}">{MASS}</link>' for name in "ef"),
            joint("root_joint_of_hand", "e", "f"),
        )
    )
    more = r.attach(hand, "d").with_root("floating")
    assert more.joint_names == ("root_joint", "z", "y", "root_joint_of_hand")


def test_print_draws_the_tree() -> None:
    assert str(load_walker()).splitlines() == [
        "walker: 4 bodies, 6 joints, nq 15, nv 13, 192 kg moving, gravity (0, 0, -3) "
        "m/s²",
        "conventions pinocchio: quaternions xyzw, floating velocity in body axes, "
        "linear first",
        "joint order: siblings in file order",
        "world",
        "└─ torso       48 kg  free floating q[0:7] v[0:6]",
        "   ├─ thigh    48 kg  hip_x revolute q[7] v[6], hip_y revolute q[8] v[7], "
        "hip_z revolute q[9] v[8]",
        "   │  └─ shin  48 kg  knee spherical q[10:14] v[9:12]",
        "   └─ tail     48 kg  tail revolute q[14] v[12]",
        "loop gear coupling: tail = f(hip_z) (cluster)",
    ]
    assert repr(load(WALKER, conventions="mujoco")) == (
        "Robot('walker': 4 bodies, 6 joints, nq 15, nv 13, 1 loop; mujoco)"
    )


def test_print_shows_mimic_and_fixed() -> None:
    text = str(load(ARM, mimic="reduce").lock({"y": 0.5}))
    assert "└╌ c     1 kg  fixed" in text
    assert "└─ d  1 kg  x continuous = -2 z +0.5" in text
    mujoco = str(load(ARM, mimic="reduce", conventions="mujoco"))
    assert "linear in world axes, angular in body axes" in mujoco


def test_long_chains_print() -> None:
    builder = RobotBuilder("chain")
    parent = "world"
    for k in range(300):
        name = f"b{k}"
        builder.add(Body(name, Inertia.from_sphere(1, 0.1)), parent, Joint.revolute())
        parent = name
    lines = str(Robot.from_description(builder.description())).splitlines()
    assert len(lines) == 304
    assert max(map(len, lines)) < 200


def test_keyframes_follow_conventions_and_order() -> None:
    plain, other = (
        load_walker(),
        load(WALKER, conventions="mujoco"),
    )
    assert set(plain.keyframes) == {"qpos0", "squat"}
    q = other.keyframes["squat"]
    np.testing.assert_allclose(q[:7], [0, 0, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(
        plain.convert_q(q, from_="mujoco"), plain.keyframes["squat"]
    )
    shuffled = load_walker(
        joint_order=["tail", "knee", "hip_z", "hip_y", "hip_x", "free"]
    )
    squat = shuffled.keyframes["squat"]
    np.testing.assert_allclose(squat[:8], [0.4, 0, 0, 0, 1, 0.3, 0.2, 0.1])
    a, b = (poses(r, r.keyframes["squat"]) for r in (plain, shuffled))
    assert_same_poses(a, b, plain.frame_names)


# ------------------------------------------------------------ loading


@pytest.mark.parametrize(
    ("options", "names", "shown"),
    [
        ({}, "yxz", "siblings in alphabetical order, as in Pinocchio"),
        ({"conventions": Conventions()}, "yxz", "siblings in alphabetical order"),
        ({"conventions": "mujoco"}, "zyx", "siblings in file order"),
        ({"conventions": "featherstone"}, "zyx", "siblings in file order"),
        ({"joint_order": "file"}, "zyx", "siblings in file order"),
        (
            {"joint_order": "alphabetical", "conventions": "mujoco"},
            "yxz",
            "siblings in alphabetical order",
        ),
        ({"joint_order": ["x", "z", "y"]}, "xzy", "as listed"),
    ],
)
def test_joint_order_of_urdf_is_that_of_its_conventions_or_as_asked(
    options: dict[str, Any], names: str, shown: str
) -> None:
    robot = load(ARM, mimic="independent", **options)
    assert robot.joint_names == tuple(names)
    assert f"joint order: {shown}" in str(robot)
    assert robot.add_frame("f", "world").joint_names == tuple(names)
    assert robot.with_conventions("mujoco").joint_names == tuple(names)


def test_joint_order_of_mjcf_is_the_files() -> None:
    names = ("free", "hip_x", "hip_y", "hip_z", "knee", "tail")
    assert load_walker().joint_names == names
    assert load(WALKER, conventions="mujoco").joint_names == names


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_joint_order_permutes_and_nothing_else(
    conventions: str, rng: np.random.Generator
) -> None:
    names = ["tail", "knee", "hip_z", "free", "hip_y", "hip_x"]
    a = load(WALKER, conventions=conventions)
    b = load(WALKER, conventions=conventions, joint_order=names)
    assert list(b.joint_names) == names
    to_q, to_v = np.zeros(a.nq, int), np.zeros(a.nv, int)
    for j in b.model.joints:
        i = a.model.joint(j.name)
        to_q[j.q_index : j.q_index + j.nq] = i.q_index + np.arange(j.nq)
        to_v[j.v_index : j.v_index + j.nv] = i.v_index + np.arange(j.nv)
    q = a.random_configuration(rng)
    qd, tau = rng.normal(size=(2, a.nv))
    ours = b.forward_dynamics(q[to_q], qd[to_v], tau[to_v])
    theirs = a.forward_dynamics(q, qd, tau)[to_v]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b.integrate(q[to_q], qd[to_v]), a.integrate(q, qd)[to_q])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"root": "free"}, ArgumentError, "root is 'free'; possible: fixed, floating"),
        (
            {"conventions": "drake"},
            ArgumentError,
            "unknown conventions 'drake'; possible: 'pi",
        ),
        (
            {"joint_order": "abc"},
            ArgumentError,
            "joint_order is 'abc'; possible: 'auto', 'file'",
        ),
        (
            {"joint_order": 5},
            ArgumentError,
            "joint_order is 5; possible: 'auto', 'file'",
        ),
        ({"joint_order": ["y"]}, ModelError, r"joint_order lacks \['z'\]; it must"),
        ({"joint_order": ["y", "z", "z"]}, ModelError, "names a joint twice"),
        (
            {"joint_order": ["y", "zz"]},
            UnknownName,
            "no joint 'zz' in joint_order. Clo",
        ),
        ({"joint_order": ["x", "y", "z"]}, UnknownName, "no joint 'x' in joint_order"),
        (
            {"mimic": "ignore"},
            ArgumentError,
            "mimic is 'ignore'; possible: 'reduce', 'in",
        ),
        (
            {"gravity": (0, 0)},
            ArgumentError,
            r"gravity is \(0, 0\); expected 3 finite num",
        ),
        ({"gravity": (0, 0, np.nan)}, ArgumentError, "expected 3 finite numbers"),
        ({"gravity": "down"}, ArgumentError, "gravity is 'down'; expected 3 finite"),
        ({"gravity": 9.81}, ArgumentError, "gravity is 9.81; expected 3 finite"),
    ],
)
def test_wrong_options_are_named(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        load(ARM, **options)


def test_gravity_of_the_file_or_the_caller() -> None:
    assert load_walker().gravity == (0.0, 0.0, -3.0)
    assert load(
        WALKER, conventions="pinocchio", gravity=np.array([1, 2, 3])
    ).gravity == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<world/>", "the first element is <world>; expected <robot> .URDF., <mujoco>"),
        ("<robot", "text:1:1: not well-formed XML: unclosed token"),
        ("<!-- a", "text:1:1: not well-formed"),
        ("<!-- <mujoco/> --><?x?>\n<robot", "text:2:1: not well-formed"),
        ("<mujocoinclude/>", "the first element is <mujocoinclude>"),
        ("<1>", "text:1:2: not well-formed"),
    ],
)
def test_what_is_no_robot_is_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(text)


def test_comments_may_come_first() -> None:
    text = "<!-- <mujoco> --> <?xml version='1.0'?> <!-- <sdf/> -->" + ARM
    assert load(text, mimic="reduce").nq == 2


def test_oddities_warn_and_strict_refuses() -> None:
    odd = robot(links("a b"), joint("j", "a", "b"))
    with pytest.warns(ModelWarning, match="body 'b': movable, but with zero inertia"):
        r = load(odd)
    with pytest.raises(ModelError, match=r"r \(strict\): body 'b': movable, but"):
        load(odd, strict=True)
    assert len(r.warnings) == 1


# ------------------------------------------------------------ no inertia


def test_dynamics_names_the_body_without_inertia() -> None:
    with pytest.warns(ModelWarning):
        r = load(robot(links("a b c"), joint("j", "a", "b"), joint("k", "b", "c")))
    assert r.mass_matrix([0.1, 0.2]).tolist() == [[0, 0], [0, 0]]
    message = (
        "singular because no inertia resists joint 'j': bodies 'b', 'c'; give it mass"
    )
    with pytest.raises(ModelError, match=message):
        r.forward_dynamics([0, 0], [0, 0], [0, 0])
    locked = r.lock({"j": 0.0, "k": 0.0})
    assert locked.warnings == ()


SHAPES = {
    "revolute": (Joint.revolute(), Inertia.from_point(1.0, (0, 0, 0.3))),
    "prismatic": (Joint.prismatic(), None),
    "helical": (Joint.helical(0.1), None),
    "spherical": (Joint.spherical(), Inertia.from_point(1.0, (0, 0, 0.3))),
    "planar": (Joint.planar(), Inertia.from_point(1.0, (0, 0.2, 0.3))),
    "floating": (Joint.floating(), Inertia.from_point(1.0, (0, 0.2, 0.3))),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_inertia_that_a_joint_does_not_feel_is_found(kind: str) -> None:
    for extra, is_sound in ((None, False), (Inertia.from_sphere(1, 0.1), True)):
        motion, inertia = SHAPES[kind]
        parts = [x for x in (inertia, extra) if x is not None]
        builder = RobotBuilder("one")
        builder.add(
            Body("b", sum(parts[1:], parts[0]) if parts else None), joint=motion
        )
        r = Robot.from_description(builder.description())
        assert (r.warnings == ()) == is_sound
        if is_sound:
            assert np.isfinite(
                r.forward_dynamics(r.neutral(), np.zeros(r.nv), np.zeros(r.nv))
            ).all()


def test_armature_and_followers_resist() -> None:
    for options, is_sound in (({}, False), ({"armature": 0.1}, True)):
        builder = RobotBuilder("one")
        builder.add(Body("b"), joint=Joint.revolute(**options))
        assert (
            Robot.from_description(builder.description()).warnings == ()
        ) == is_sound
    builder = RobotBuilder("two")
    builder.add(Body("b"), joint=Joint.revolute(name="leader"))
    ball = Inertia.from_sphere(1, 0.1)
    builder.add(Body("c", ball), joint=Joint.revolute(mimic="leader"))
    r = Robot.from_description(builder.description())
    assert r.warnings == ()
    np.testing.assert_allclose(r.forward_dynamics([0], [0], [0.004]), [1.0])


# ------------------------------------------------------------ lock


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
@pytest.mark.parametrize("name", ["free", "hip_x", "hip_y", "knee"])
def test_locked_joint_of_a_file_stays(
    conventions: str, name: str, rng: np.random.Generator
) -> None:
    r = load(WALKER, conventions=conventions)
    assert_locks(r, {name: None}, rng)


def test_several_locked_joints_of_one_body_stay(rng: np.random.Generator) -> None:
    assert_locks(
        load_walker(),
        dict.fromkeys(["hip_x", "hip_y", "tail", "hip_z"]),
        rng,
    )
    names = ["tail", "hip_z", "free", "knee", "hip_y", "hip_x"]
    r = load_walker(joint_order=names)
    assert_locks(r, dict.fromkeys(["hip_x", "knee"]), rng)
    assert r.lock({"free": r.neutral()[2:9]}).joint_names == (*names[:2], *names[3:])


@pytest.mark.parametrize("index", range(8))
def test_every_type_of_joint_can_be_locked(
    index: int, rng: np.random.Generator
) -> None:
    r = every_joint()
    assert_locks(r, {r.joint_names[index]: None}, rng)


def assert_locks(r: Robot, joints: dict[str, Any], rng: np.random.Generator) -> None:
    """Check poses, forces and keyframes of a robot with joints locked at random."""
    q = r.random_configuration(rng)
    gone_q: list[int] = []
    gone_v: list[int] = []
    for name in joints:
        j = r.model.joint(name)
        gone_q += range(j.q_index, j.q_index + j.nq)
        gone_v += range(j.v_index, j.v_index + j.nv)
        joints[name] = q[j.q_index : j.q_index + j.nq]
        if j.nq == 1:
            joints[name] = joints[name][0]
    locked = r.lock(joints)
    assert (locked.nq, locked.nv) == (r.nq - len(gone_q), r.nv - len(gone_v))
    p = np.delete(q, gone_q)
    assert_same_poses(poses(locked, p), poses(r, q), r.body_names)
    qd, qdd = rng.normal(size=(2, r.nv))
    qd[gone_v] = qdd[gone_v] = 0.0
    np.testing.assert_allclose(
        locked.inverse_dynamics(p, np.delete(qd, gone_v), np.delete(qdd, gone_v)),
        np.delete(r.inverse_dynamics(q, qd, qdd), gone_v),
        rtol=1e-9,
        atol=1e-9,
    )
    for key, value in r.keyframes.items():
        np.testing.assert_allclose(locked.keyframes[key], np.delete(value, gone_q))


def test_followers_lock_with_their_leader() -> None:
    r = load(ARM, mimic="reduce")
    locked = r.lock({"z": 0.2})
    assert locked.joint_names == ("y",)
    assert locked.model.mimics == ()
    assert_same_poses(poses(locked, [0.4]), poses(r, [0.4, 0.2]), r.body_names)
    free = load(ARM, mimic="independent").lock({"z": 0.2})
    assert free.joint_names == ("y", "x")


def test_coupling_with_a_locked_joint_keeps_its_sense() -> None:
    r = load_walker().lock({"hip_z": 0.5})
    (loop,) = r.model.loops
    assert loop.joints == ("tail",)
    np.testing.assert_allclose(loop.coefficients, [0.1 + 2 * 0.5 + 3 * 0.5**3])
    assert load_walker().lock({"hip_z": 0.5, "tail": 0.1}).model.loops == ()
    with pytest.raises(ModelError, match="'tail' cannot be locked alone: 'gear' makes"):
        load_walker().lock({"tail": 0.1})


@pytest.mark.parametrize(
    ("joints", "error", "message"),
    [
        ({"zz": 0}, UnknownName, "no joint 'zz' in robot 'r'. Close: 'z'. All 2: 'y'"),
        ({"x": 0}, ModelError, "lock: joint 'x' follows 'z'; lock that one"),
        (
            {"z": (1, 2)},
            ShapeError,
            r"'z' \(revolute\) given \(1, 2\); expected a numb",
        ),
        ({"z": "up"}, ShapeError, "'z' .revolute. given 'up'; expected a number"),
        ({"z": np.nan}, ShapeError, "'z' .revolute. given nan; expected a number"),
        ({5: 1}, UnknownName, "no joint '5'"),
        (["z"], ArgumentError, r"lock: \['z'\] given; expected a dict such as"),
    ],
)
def test_wrong_locks_are_named(joints: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        load(ARM, mimic="reduce").lock(joints)


@pytest.mark.parametrize("length", [1e200, 1e-10, 1e-200])
def test_a_locked_quaternion_may_have_any_length(length: float) -> None:
    q = np.array([0.5, -0.5, 0.5, 0.5])
    expected, found = (load_walker().lock({"knee": k * q}) for k in (1.0, length))
    at = expected.neutral()
    assert_close(found.mass_matrix(at), expected.mass_matrix(at))


def test_zero_quaternion_cannot_be_locked() -> None:
    with pytest.raises(ShapeError, match="'knee' given a zero quaternion"):
        load_walker().lock({"knee": (0, 0, 0, 0)})
    with pytest.raises(
        ShapeError, match=r"'knee' \(spherical\) given 1; expected 4 num"
    ):
        load_walker().lock({"knee": 1})


@pytest.mark.parametrize("mass", [0, 3])
def test_a_link_called_world_is_the_world(mass: int) -> None:
    inertia = f'<inertial><mass value="{mass}"/>{INERTIA}</inertial>' if mass else ""
    named = f'<link name="world">{inertia}</link>'
    text = robot(named, links("a"), joint("j", "world", "a", type_="fixed"))
    drawn = [line.split() for line in str(load(text)).splitlines()[-2:]]
    assert drawn == [["world", "3", "kg"] if mass else ["world"], ["└╌", "a", "fixed"]]
    if mass:
        assert "└─ world" in str(load(text, root="floating"))


# ------------------------------------------------------------ attach, frames


def test_attached_robot_hangs_on_its_frame(rng: np.random.Generator) -> None:
    walker, arm = load_walker(), load(ARM, mimic="reduce")
    placement = Pose.from_rpy((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    both = walker.attach(arm, "imu", placement=placement, prefix="arm/")
    assert both.joint_names == (*walker.joint_names, "arm/y", "arm/z")
    assert both.masses == walker.masses | {f"arm/{n}": 1.0 for n in "abcd"}
    assert both.mass == pytest.approx(walker.mass + 4.0)
    q, p = walker.random_configuration(rng), arm.random_configuration(rng)
    ours = poses(both, np.concatenate([q, p]))
    assert_same_poses(ours, poses(walker, q), walker.frame_names)
    T_world_imu = Pose(*reversed(ours["imu"]))
    theirs = poses(arm, p)
    for name in arm.body_names:
        position, R = theirs[name]
        T = T_world_imu @ placement @ Pose(R, position)
        np.testing.assert_allclose(ours[f"arm/{name}"][0], T.p, atol=1e-13)
        np.testing.assert_allclose(ours[f"arm/{name}"][1], T.R, atol=1e-13)
    squat = both.keyframes["squat"]
    np.testing.assert_allclose(squat, [*walker.keyframes["squat"], 0, 0])


def test_attached_robot_keeps_its_order_and_keyframes() -> None:
    pair = load(
        f"""<mujoco model="pair"><option><flag contact="disable"/></option><worldbody>
        <body name="second"><joint name="z"/>{BOX}</body>
        <body name="first"><joint name="a"/>{BOX}</body></worldbody>
        <keyframe><key name="up" qpos=".1 .2"/></keyframe></mujoco>""",
        joint_order="alphabetical",
    )
    assert pair.joint_names == ("a", "z")
    both = load_walker().attach(pair, "tail")
    assert both.joint_names[-2:] == ("a", "z")
    np.testing.assert_allclose(both.keyframes["up"][-2:], pair.keyframes["up"])
    np.testing.assert_allclose(pair.keyframes["up"], [0.2, 0.1])


def test_attach_keeps_loops_keyframes_and_joint_order() -> None:
    arm = load(ARM, mimic="reduce", joint_order=["y", "z"])
    both = arm.attach(load_walker(), "world", prefix="w_")
    assert both.joint_names[:3] == ("y", "z", "w_free")
    assert [loop.joints for loop in both.model.loops] == [("w_tail", "w_hip_z")]
    assert set(both.keyframes) == {"w_qpos0", "w_squat"}
    assert "w_imu" in both.frame_names
    assert both.model.mimics == ("x",)


def test_description_and_matrix_will_do() -> None:
    builder = RobotBuilder("tool")
    builder.add(Body("tip", Inertia.from_sphere(1, 0.1)))
    T = np.eye(4)
    T[:3, 3] = 1, 2, 3
    r = load(ARM, mimic="reduce").attach(builder.description(), "d", placement=T)
    assert r.model.frames["tip"].body == r.model.frames["d"].body
    assert r.nq == 2


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (
            ("same", "a"),
            {},
            ModelError,
            "both robots have a body or frame 'a' .4 names",
        ),
        (
            ("same", "dd"),
            {"prefix": "x"},
            UnknownName,
            "no body or frame 'dd' in robot",
        ),
        (
            (5, "a"),
            {},
            ArgumentError,
            "attach: int given; expected a Robot or a Descripti",
        ),
        (
            ("same", "a"),
            {"placement": (1, 2)},
            ShapeError,
            r"attach: placement is \(1, 2\); expected a position of 3 finite numbers",
        ),
        (
            ("same", "a"),
            {"placement": 2 * np.eye(4)},
            ShapeError,
            "attach: placement is array",
        ),
        (
            ("same", "a"),
            {"placement": Pose(2 * np.eye(3), np.zeros(3))},
            ShapeError,
            "attach: placement: R is not a rotation matrix",
        ),
        (
            ("same", "a"),
            {"placement": "x"},
            ShapeError,
            "attach: placement is 'x'; exp",
        ),
    ],
)
def test_wrong_attachments_are_named(
    arguments: Any, options: Any, error: Any, message: str
) -> None:
    r = load(ARM, mimic="reduce")
    other, frame = arguments
    with pytest.raises(error, match=message):
        r.attach(r if other == "same" else other, frame, **options)


def test_added_frame_is_fixed_to_its_body(rng: np.random.Generator) -> None:
    r = load_walker().add_frame("toe", "shin", (0, 0, -0.4)).add_frame("nail", "toe")
    q = r.random_configuration(rng)
    p, R = poses(r, q)["shin"]
    np.testing.assert_allclose(poses(r, q)["toe"][0], p + R @ [0, 0, -0.4])
    np.testing.assert_allclose(poses(r, q)["nail"][0], p + R @ [0, 0, -0.4])
    assert r.add_frame("corner", "world", (1, 1, 1)).model.frames["corner"].body == -1
    with pytest.raises(
        ModelError, match="robot 'walker' already has a body or frame 'toe'"
    ):
        r.add_frame("toe", "torso")
    with pytest.raises(
        UnknownName, match=r"no body or frame 'shim' in .* Close: 'shin'"
    ):
        r.add_frame("heel", "shim")
    with pytest.raises(ModelError, match="a frame is called ''; expected a name"):
        r.add_frame("", "shin")


# ------------------------------------------------------------ another root


def test_root_can_float_be_planar_or_be_fixed(rng: np.random.Generator) -> None:
    r = load(ARM, mimic="reduce")
    free = r.with_root("floating")
    assert free.joint_names == ("root_joint", "y", "z")
    assert (free.nq, free.nv) == (9, 8)
    assert free.mass == 4.0
    assert r.with_root("planar").nq == 5
    assert free.with_root("fixed").joint_names == r.joint_names
    q = r.random_configuration(rng)
    assert_same_poses(poses(free, [*free.neutral()[:7], *q]), poses(r, q), r.body_names)
    assert load(ARM, mimic="reduce", root="floating").joint_names == free.joint_names
    assert free.with_root("floating").joint_names == free.joint_names
    order = load(ARM, mimic="reduce", joint_order=["y", "z"])
    assert order.with_root("floating").joint_names == ("root_joint", "y", "z")
    with pytest.raises(
        ArgumentError, match="root is 'loose'; possible: fixed, floating"
    ):
        r.with_root("loose")
    with pytest.raises(ArgumentError, match="root is None; possible: 'fixed'"):
        r.with_root(None)  # type: ignore[arg-type]


def test_root_of_an_mjcf_is_fixed_where_it_stands() -> None:
    free = load(WALKER, conventions="mujoco")
    start = poses(free, free.keyframes["qpos0"])
    for root in ("fixed", "planar"):
        still = free.with_root(root)
        assert_same_poses(poses(still, still.neutral()), start, still.frame_names)
        assert_same_poses(
            poses(still, still.keyframes["qpos0"]), start, still.frame_names
        )
    again = free.with_root("fixed").with_root("floating")
    np.testing.assert_allclose(again.keyframes["qpos0"], free.keyframes["qpos0"])
    assert_same_poses(poses(again, free.keyframes["qpos0"]), start, free.frame_names)


def test_root_needs_one_body_on_the_world() -> None:
    builder = RobotBuilder("two")
    for name in "ab":
        ball = Body(name, Inertia.from_sphere(1, 0.1))
        builder.add(ball, joint=Joint.revolute())
    with pytest.raises(
        ModelError,
        match="needs exactly one body attached to the world; 'two' has 2: 'a'",
    ):
        Robot.from_description(builder.description(), root="floating")


# ------------------------------------------------------------ limits


@pytest.mark.parametrize("name", ["revolute", "prismatic", "helical"])
def test_limits_of_one_degree_of_freedom_are_numbers(name: str) -> None:
    make = partial(Joint.helical, 0.1) if name == "helical" else getattr(Joint, name)
    builder = RobotBuilder("arm")
    builder.add(Body("a"), joint=make(limits=(-1, 2), velocity=3, name="j"))
    builder.add(Body("b"), "a", make(name="k"))
    r = builder.robot()
    found = r.joint("j").limits
    assert found is not None
    assert (found.lower, found.upper, found.velocity) == (-1.0, 2.0, 3.0)
    assert found.effort == np.inf
    assert r.joint("k").limits is None
    assert r.limits.lower.tolist() == [-1, -np.inf]
    assert r.limits.velocity.tolist() == [3, np.inf]


def test_limits_of_several_degrees_of_freedom_are_tuples() -> None:
    builder = RobotBuilder("arm")
    ranges = ((-1, 2), (-3, 4))
    builder.add(Body("a"), joint=Joint.universal(limits=ranges, effort=5, name="j"))
    r = builder.robot()
    found = r.joint("j").limits
    assert found is not None
    assert (found.lower, found.upper) == ((-1.0, -3.0), (2.0, 4.0))
    assert found.effort == (5.0, 5.0)
    assert found.velocity == (np.inf, np.inf)
    assert r.limits.upper.tolist() == [2, 4]


def test_clamp_returns_the_nearest_configuration_within_limits() -> None:
    builder = RobotBuilder("arm")
    builder.add(Body("a"), joint=Joint.floating())
    builder.add(Body("b"), "a", Joint.revolute(limits=(-3.07, -0.07)))
    builder.add(Body("c"), "b", Joint.prismatic(limits=(-1, 2)))
    r = builder.robot()
    within = [0, 0, 0, 0, 0, 0, 1, -0.07, 0]
    assert r.clamp().tolist() == within
    assert r.neutral()[7] == 0
    far = [9, 9, 9, 0, 0, 0.6, 0.8, -4, 9]
    found = r.clamp([within, far])
    assert found.tolist() == [within, [*far[:7], -3.07, 2]]
    with pytest.raises(ShapeError, match=r"q has shape \(2,\); expected \(9,\) or"):
        r.clamp([0, 1])
