"""Robots as ``load`` gives them: order, sizes, masses, poses, from file to symbols."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pytest

from ramidyn.errors import Error, ModelError
from ramidyn.loading import load
from ramidyn.robot import Robot
from support.close import assert_close
from support.parameters import some
from support.paths import SHARED_ROBOTS
from support.real_robots import example_urdfs, wheel_mjcfs
from support.references import MJCFS, MOCAP, URDFS, needs_shared_robots, path_of
from support.robot_poses import poses

pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio, the oracle, is absent")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning"),
]


# ------------------------------------------------------------ the shared robots


def public_q(robot: Robot, reference: Any) -> Any:
    """The reference's configurations in our coordinates, angles as angles."""
    if str(json.loads(str(reference["conv"]))["engine"]) == "mujoco":
        return reference["q"]
    names = list(map(str, reference["joint_names"]))
    q = np.zeros((len(reference["q"]), robot.nq))
    for joint in robot.model.joints:
        k = names.index(joint.name)
        start = int(reference["idx_q"][k])
        own = slice(joint.q_index, joint.q_index + joint.nq)
        if joint.nq == 1:
            q[:, own] = reference["theta"][:, [k]]
        else:
            q[:, own] = reference["q"][:, start : start + joint.nq]
    return q


@needs_shared_robots
@pytest.mark.parametrize("name", [*URDFS, *MJCFS])
def test_shared_robot_has_the_reference_order_masses_and_poses(name: str) -> None:
    reference = np.load(SHARED_ROBOTS / name / "reference.npz")
    is_free = "root_joint" in reference["joint_names"]
    is_urdf = name in URDFS
    robot = load(
        path_of(name),
        root="floating" if is_free else None,
        conventions="pinocchio" if is_urdf else "mujoco",
        mimic="independent",
    )
    theirs = [str(n) for n in reference["joint_names"]]
    assert len(theirs) == len(robot.joint_names)
    for a, b in zip(robot.joint_names, theirs, strict=True):
        assert a == b or b.startswith("unnamed_")
    assert robot.nv == reference["v"].shape[1]
    continuous = list(reference["joint_types"]).count("continuous")
    assert robot.nq == reference["q"].shape[1] - continuous
    moving = [
        b
        for b in robot.description.bodies
        if robot.model.frames[b.name].body >= 0 or b.name in MOCAP.get(name, ())
    ]
    total = sum(robot.masses[b.name] for b in moving)
    assert_close(total, reference["total_mass"], "total mass")
    ours = poses(robot, public_q(robot, reference))
    order = [str(n) for n in reference["body_names"]]
    bodies = [b.name for b in robot.description.bodies]
    if all(n in robot.masses for n in order):
        bodies = order
    for k, body in enumerate(bodies):
        p, R = ours[body]
        assert_close(p, reference["body_pos"][:, k], body)
        assert_close(R, reference["body_rot"][:, k].reshape(R.shape), body)
    com = np.zeros((len(reference["q"]), 3))
    for b in moving:
        if b.inertial is not None:
            p, R = ours[b.name]
            com += robot.masses[b.name] / total * (p + R @ b.inertial.com)
    assert_close(com, reference["com"], "center of mass")
    if name not in MOCAP:
        assert_close(robot.mass, reference["total_mass"], "mass of what moves")
        assert_close(ours["com of all"], reference["com"], "center of mass of the tree")


@needs_shared_robots
@pytest.mark.parametrize("name", ["baxter", "panda", "pr2"])
def test_reduced_robot_is_the_full_one_with_its_mimic_joints_following(
    name: str,
) -> None:
    reference = np.load(SHARED_ROBOTS / name / "reference_mimic.npz")
    reduced = load(path_of(name))
    full = load(path_of(name), mimic="independent")
    assert list(reduced.joint_names) == list(reference["independent_joints"])
    assert reduced.nv == reduced.nq == reference["v"].shape[1]
    followers = json.loads(str(reference["mimic"]))
    assert sorted(reduced.model.mimics) == sorted(followers)
    assert_close(reduced.mass, full.mass, "mass")
    q = public_q(reduced, reference)
    ours, theirs = poses(reduced, q), poses(full, public_q(full, reference))
    for frame in full.body_names:
        assert_close(ours[frame][0], theirs[frame][0], frame)
        assert_close(ours[frame][1], theirs[frame][1], frame)
    assert_close(ours["com of all"], theirs["com of all"], "center of mass")
    G = np.zeros((full.nv, reduced.nv))  # d(theta of all joints) / d(q), column wise
    step = np.eye(reduced.nv)
    for joint in full.model.joints:
        of, multiplier, _ = followers.get(joint.name, (joint.name, 1.0, 0.0))
        G[joint.v_index] = multiplier * step[reduced.joint_names.index(of)]
    assert_close(G, reference["G"], "G")
    assert_close(reduced.mass_matrix(q), reference["M"], "mass matrix")
    assert_close(
        reduced.inverse_dynamics(q, reference["v"], reference["a"]),
        reference["rnea"],
        "inverse dynamics",
    )


@needs_shared_robots
def test_husky_is_refused_by_joint_and_text() -> None:
    expected = r"husky.urdf:97: joint 'imu_joint': origin: xyz: cannot read '\$\(optenv"
    with pytest.raises(ModelError, match=expected):
        load(SHARED_ROBOTS / "husky_bad" / "husky.urdf")


PLANAR = """
<robot name="cart"><link name="a"/><link name="b"><inertial><mass value="2"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="planar"><parent link="a"/><child link="b"/>
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>{}</joint></robot>
"""


@pytest.mark.parametrize("axis", ["", '<axis xyz="0 0 1"/>'])
def test_planar_joint_moves_in_its_xy_plane(axis: str) -> None:
    text = PLANAR.format(axis)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    q = np.array([0.3, -0.4, np.cos(0.7), np.sin(0.7)])
    pin.framesForwardKinematics(model, data, q)
    theirs = data.oMf[model.getFrameId("b")]
    p, R = poses(load(text), [0.3, -0.4, 0.7])["b"]
    assert_close(p, theirs.translation, "position")
    assert_close(R, theirs.rotation, "rotation")


# ------------------------------------------------------------ robots in wheels


EXAMPLES, MODELS = example_urdfs(), wheel_mjcfs()
FIRST = {name.split("/")[0]: name for name in reversed(EXAMPLES)}
"""a robot of each folder; its variants run with --slow"""


@pytest.mark.parametrize("name", some(EXAMPLES, slow={*EXAMPLES} - {*FIRST.values()}))
def test_urdf_of_a_wheel_loads_as_pinocchio_loads_it(name: str) -> None:
    path = EXAMPLES[name]
    try:
        model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    except ValueError:
        with pytest.raises(Error, match=r"^\S+\.urdf:\d+: "):
            load(path)
        return
    robot = load(path, root="floating", mimic="independent")
    assert list(robot.joint_names) == list(model.names)[1:]
    assert robot.nv == model.nv
    assert_close(robot.mass, pin.computeTotalMass(model), "mass")
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    q = robot.random_configuration(rng, batch=2)
    ours = poses(robot, q)
    data = model.createData()
    for k in range(len(q)):
        x = pin.neutral(model)
        for joint, theirs in zip(robot.model.joints, list(model.joints)[1:]):  # noqa: B905
            own = q[k, joint.q_index : joint.q_index + joint.nq]
            if theirs.nq == joint.nq + 1:  # an angle is (cos, sin) there
                own = [*own[:-1], np.cos(own[-1]), np.sin(own[-1])]
            x[theirs.idx_q : theirs.idx_q + theirs.nq] = own
        pin.framesForwardKinematics(model, data, x)
        for body in robot.body_names:
            T = data.oMf[model.getFrameId(body, pin.FrameType.BODY)]
            assert_close(ours[body][0][k], T.translation, body)
            assert_close(ours[body][1][k], T.rotation, body)
        pin.centerOfMass(model, data, x)
        assert_close(ours["com of all"][k], data.com[0], "center of mass")


@pytest.mark.parametrize("name", some(MODELS, slow={*MODELS} - {*[*MODELS][::6]}))
def test_mjcf_of_a_wheel_loads_as_mujoco_loads_it(name: str) -> None:
    agreement: Any = pytest.importorskip("support.mujoco_agreement")
    mujoco, path = agreement.mujoco, MODELS[name]
    refusal = agreement.refusal_of(path)
    if refusal is not None:
        with pytest.raises(Error, match=refusal):
            load(path, conventions="mujoco")
        return
    robot = load(path, conventions="mujoco")
    spec = mujoco.MjSpec.from_file(str(path))
    if name in agreement.NOT_COMPILED:
        assert len(robot.description.bodies) == len(spec.bodies) - 1
        return
    model = agreement.compiled(spec)
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    bodies = [b.name for b in robot.description.bodies]
    moving = [model.body_weldid[i] != 0 for i in range(1, model.nbody)]
    masses = np.array([robot.masses[b] for b in bodies]) * moving
    assert_close(masses, model.body_mass[1:] * moving, "masses")
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    q = robot.random_configuration(rng)
    ours = poses(robot, q)
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    for i, body in enumerate(bodies, 1):
        if model.body_mocapid[i] < 0:
            assert_close(ours[body][0], data.xpos[i], body)
            assert_close(ours[body][1].ravel(), data.xmat[i], body)
    assert_close(robot.keyframes["qpos0"].shape, [model.nq], "qpos0")
