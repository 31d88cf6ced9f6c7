"""The SDF files of example-robot-data (five of Cassie) against MJCF and Pinocchio.

The five differ from MuJoCo Menagerie's Cassie in a few numbers, which are named here;
their angles are rounded to 1e-4 rad.
"""

from __future__ import annotations

import importlib.metadata
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import ramidyn
from ramidyn.description.description import (
    BodyDescription,
    Description,
    JointDescription,
)
from ramidyn.description.formats.parse import parse
from ramidyn.description.formats.sdf import parse_sdf
from ramidyn.description.pose import Array, Pose
from support.kinematics import SIZES, body_poses, random_coordinates
from support.paths import SHARED_ROBOTS

pytestmark = pytest.mark.oracle


def files() -> list[Path]:
    try:
        found = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(f.locate())).resolve() for f in found if f.suffix == ".sdf")


FILES = files()
MJCF = SHARED_ROBOTS / "cassie" / "cassie.xml"
OTHER_ANGLES = {
    **{f"{side}-plantar-rod": 0.11 for side in ("left", "right")},
    "right-foot": 0.021,  # 1.3635 rad in place of 1.3439
}
"""links that stand otherwise than in MJCF, and by how much [rad]"""

if not FILES or not MJCF.exists():
    pytest.skip("no example-robot-data, no shared robots", allow_module_level=True)
every_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)


def rest(description: Description) -> dict[str, Array]:
    """The coordinates at which every body is at its placement."""
    q: dict[str, Array] = {}
    for body in description.bodies:
        for j in body.joints:
            size = SIZES[j.type]
            turns = j.type in ("spherical", "floating")
            q[j.name] = np.eye(size)[-4] if turns else np.full(size, j.reference)
    return q


@pytest.fixture(scope="module")
def mjcf() -> Description:
    return parse(MJCF)


def in_mjcf(mjcf: Description) -> dict[str, BodyDescription]:
    return {b.name.removeprefix("cassie-"): b for b in mjcf.bodies}


def read(path: Path) -> Description:
    return parse_sdf(path.read_text(), path.name)


def test_there_are_five_files() -> None:
    assert len(FILES) == 5


@every_file
def test_masses_and_inertias_are_those_of_the_mjcf(
    path: Path, mjcf: Description
) -> None:
    theirs = in_mjcf(mjcf)
    compared = 0
    for body in read(path).bodies:
        ours, other = body.inertial, theirs.get(body.name)
        assert ours is not None
        if other is None:  # rotors, which the MJCF has as armature
            assert body.name.endswith("-reference")
            continue
        assert other.inertial is not None
        com = other.inertial.com
        if body.name == "right-hip-roll":  # mirrored in SDF, not in MJCF
            com = com * [1, -1, 1]
        assert ours.mass == other.inertial.mass
        np.testing.assert_array_equal(ours.com, com, err_msg=body.name)
        np.testing.assert_allclose(
            ours.inertia, other.inertial.inertia, atol=1e-17, err_msg=body.name
        )
        compared += 1
    assert compared == (25 if path.stem == "cassie" else 23)


@every_file
def test_links_stand_where_the_mjcf_has_them(path: Path, mjcf: Description) -> None:
    description = read(path)
    T_ours = body_poses(description, rest(description))
    T_theirs = {
        name.removeprefix("cassie-"): T
        for name, T in body_poses(mjcf, rest(mjcf)).items()
    }
    for name, T in T_ours.items():
        if name not in T_theirs:
            continue
        ours = T_ours["pelvis"].inverse() @ T
        theirs = T_theirs["pelvis"].inverse() @ T_theirs[name]
        np.testing.assert_allclose(ours.p, theirs.p, atol=2e-4, err_msg=name)
        tolerance = OTHER_ANGLES.get(name, 1e-3)
        np.testing.assert_allclose(ours.R, theirs.R, atol=tolerance, err_msg=name)


@every_file
def test_the_mechanism_is_that_of_the_file(path: Path) -> None:
    description = read(path)
    joints = {e.get("name", ""): e for e in ET.parse(path).getroot().iter("joint")}
    in_tree = {j.name for b in description.bodies for j in b.joints}
    assert in_tree - {"root_joint"} | {l.name for l in description.loops} == set(joints)
    couplings = [l for l in description.loops if l.type == "coupling"]
    assert len(couplings) == (10 if path.stem == "cassie" else 0)
    for loop in couplings:
        ratio = float(joints[loop.name].findtext("gearbox_ratio", ""))
        assert loop.coefficients == (0.0, -ratio)  # equal axes throughout
        assert loop.joints[0].endswith("-op")
        assert loop.joints[1].endswith("-ip")


def raw_pose(element: ET.Element) -> np.ndarray:
    """The 4 x 4 matrix of a <pose>, by hand: R = Rz(y) Ry(p) Rx(r)."""
    numbers = [float(x) for x in (element.findtext("pose") or "0 " * 6).split()]
    T = np.eye(4)
    T[:3, 3] = numbers[:3]
    for axis, angle in zip((2, 1, 0), numbers[:2:-1], strict=True):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(4)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        T[:3, :3] = T[:3, :3] @ turn[:3, :3]
    return T


@every_file
def test_every_tree_joint_moves_its_link_as_pinocchio_has_it(
    path: Path, rng: np.random.Generator
) -> None:
    """A Pinocchio model put together by hand from the same file."""
    pin = pytest.importorskip("pinocchio")
    description = read(path)
    sdf = ET.parse(path).getroot()
    joints = {e.get("name", ""): e for e in sdf.iter("joint")}
    T_model = {e.get("name", ""): raw_pose(e) for e in sdf.iter("link")}
    model = pin.Model()
    ids, T_joint_link = {None: 0}, {None: np.eye(4)}
    for body in description.bodies:
        (ours,) = body.joints
        at, below = np.eye(4), T_model[body.name]
        if ours.name == "root_joint":
            kind, placement = pin.JointModelFreeFlyer(), np.eye(4)
        else:
            given = joints[ours.name]
            at[:3, 3] = raw_pose(given)[:3, 3]
            axis = np.array([float(x) for x in given.findtext("axis/xyz", "").split()])
            if given.findtext("axis/use_parent_model_frame") == "1":
                axis = below[:3, :3].T @ axis
            else:
                axis = raw_pose(given)[:3, :3] @ axis
            axis /= np.linalg.norm(axis)
            kind = {
                "revolute": pin.JointModelRevoluteUnaligned,
                "prismatic": pin.JointModelPrismaticUnaligned,
                "ball": lambda _: pin.JointModelSpherical(),
            }[given.get("type", "")](axis)
            above = T_model.get(body.parent, np.eye(4))
            placement = T_joint_link[body.parent] @ np.linalg.inv(above) @ below @ at
        ids[body.name] = model.addJoint(
            ids[body.parent], kind, pin.SE3(placement), ours.name
        )
        T_joint_link[body.name] = np.linalg.inv(at)
    q = random_coordinates(description, rng)
    x = pin.neutral(model)
    for i in range(1, model.njoints):
        v, joint = q[model.names[i]], model.joints[i]
        part = v if len(v) == 1 else [*v[:-4], *v[-3:], v[-4]]
        x[joint.idx_q : joint.idx_q + joint.nq] = part
    data = model.createData()
    pin.forwardKinematics(model, data, x)
    for name, T in body_poses(description, q).items():
        theirs = data.oMi[ids[name]].homogeneous @ T_joint_link[name]
        np.testing.assert_allclose(T.p, theirs[:3, 3], atol=1e-12, err_msg=name)
        np.testing.assert_allclose(T.R, theirs[:3, :3], atol=1e-12, err_msg=name)


def leg(description: Description, name: str) -> ramidyn.Robot:
    """The left leg down to the shin, on a fixed pelvis, without rotors."""
    kept = ("pelvis", "left-hip", "left-knee", "left-shin")
    bodies: list[BodyDescription] = []
    for b in description.bodies:
        short = b.name.removeprefix("cassie-")
        if not short.startswith(kept) or short == "left-knee-spring":
            continue
        inertial = b.inertial
        assert inertial is not None
        parts = tuple(
            JointDescription(
                f"{short}_joint", j.type, j.axis, j.position, reference=j.reference
            )
            for j in b.joints
        )
        is_root = short == "pelvis"
        parent = None if is_root else (b.parent or "").removeprefix("cassie-")
        bodies.append(
            BodyDescription(
                short,
                parent,
                Pose.identity() if is_root else b.placement,
                () if is_root else parts,
                inertial,
            )
        )
    robot = Description(name, tuple(bodies))
    return ramidyn.Robot.from_description(robot)


def test_a_leg_has_the_same_dynamics_from_sdf_and_mjcf(
    mjcf: Description, rng: np.random.Generator
) -> None:
    path = next(p for p in FILES if p.stem == "cassie_v2")
    ours, theirs = leg(read(path), "sdf"), leg(mjcf, "mjcf")
    assert ours.nv == theirs.nv == 5
    offset = np.array([0, 0, 0, np.radians(-45), 0])  # the MJCF's knee has a reference
    # The yaw axis of the SDF points down, and is z of the MJCF's body.
    sign = np.array([1, -1, 1, 1, 1])
    q, qd, qdd = rng.uniform(-0.5, 0.5, size=(3, 5))
    tau = ours.inverse_dynamics(sign * q, sign * qd, sign * qdd) * sign
    expected = theirs.inverse_dynamics(q + offset, qd, qdd)
    np.testing.assert_allclose(tau, expected, atol=2e-3 * abs(expected).max())
