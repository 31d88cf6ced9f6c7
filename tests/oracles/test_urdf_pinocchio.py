"""The URDF parser against Pinocchio's, on every real URDF at hand."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import numpy as np
import pytest

from ramidyn.description.description import Description
from ramidyn.description.formats.urdf import parse_urdf
from ramidyn.description.formats.xml import read_source
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ModelError
from support.kinematics import body_poses, merged_inertias, random_coordinates
from support.paths import SHARED_ROBOTS

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.oracle


def example_robots() -> list[Path]:
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(f.locate())).resolve() for f in files if f.suffix == ".urdf")


URDFS = [*sorted(SHARED_ROBOTS.glob("*/*.urdf")), *example_robots()]


def label(path: Path) -> str:
    return "/".join((path.parents[0].name, path.name))


def pinocchio_model(path: Path) -> pin.Model | None:
    """The model on a free root, so that the root link's inertia counts; or None."""
    try:
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    except ValueError:
        return None


def pinocchio_q(model: pin.Model, q: dict[str, Array], T_world_root: Pose) -> Array:
    """The same configuration in Pinocchio's coordinates."""
    x = pin.neutral(model)
    x[:7] = pin.SE3ToXYZQUAT(pin.SE3(T_world_root.R, T_world_root.p))
    for i in range(2, model.njoints):
        values, joint = q[model.names[i]], model.joints[i]
        angle = values[-1]
        if (joint.nq, joint.nv) == (1, 1):
            part = values
        elif (joint.nq, joint.nv) == (2, 1):
            part = [np.cos(angle), np.sin(angle)]
        elif (joint.nq, joint.nv) == (4, 3):
            part = [*values[:2], np.cos(angle), np.sin(angle)]
        else:
            assert (joint.nq, joint.nv) == (7, 6)
            part = [*values[:3], *values[4:], values[3]]
        x[joint.idx_q : joint.idx_q + joint.nq] = part
    return x


def assert_same_poses(
    robot: Description, model: pin.Model, rng: np.random.Generator
) -> None:
    data = model.createData()
    for _ in range(3):
        q = random_coordinates(robot, rng)
        root = Pose.from_quaternion(
            rng.normal(size=4), rng.normal(size=3), order="wxyz"
        )
        pin.framesForwardKinematics(model, data, pinocchio_q(model, q, root))
        for name, T in body_poses(robot, q, root).items():
            theirs = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
            np.testing.assert_allclose(T.R, theirs.rotation, atol=1e-10, err_msg=name)
            np.testing.assert_allclose(
                T.p, theirs.translation, rtol=1e-10, atol=1e-10, err_msg=name
            )


def assert_same_inertias(robot: Description, model: pin.Model) -> None:
    ours = merged_inertias(robot)
    by_joint = {
        (b.joints[0].name if b.joints else "root_joint"): ours[b.name]
        for b in robot.bodies
        if b.name in ours
    }
    assert sorted(by_joint) == sorted(list(model.names)[1:])
    for name, theirs in zip(model.names, model.inertias, strict=True):
        if name == "universe":
            continue
        m, mc, I = by_joint[name]
        c = theirs.lever
        about_origin = theirs.inertia + theirs.mass * (
            c @ c * np.eye(3) - np.outer(c, c)
        )
        assert m == pytest.approx(theirs.mass, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(
            mc, theirs.mass * c, rtol=1e-10, atol=1e-10, err_msg=name
        )
        np.testing.assert_allclose(I, about_origin, rtol=1e-9, atol=1e-10, err_msg=name)


@pytest.mark.skipif(not URDFS, reason="no example-robot-data, no shared robots")
@pytest.mark.parametrize("path", URDFS, ids=label)
def test_real_robots_are_read_as_pinocchio_reads_them(
    path: Path, rng: np.random.Generator
) -> None:
    model = pinocchio_model(path)
    text, _ = read_source(path)
    if model is None:
        with pytest.raises(ModelError) as refused:
            parse_urdf(text, path.name)
        print(f"refused by both: {label(path)}: {refused.value}")
        return
    robot = parse_urdf(text, path.name)
    masses = [b.inertial.mass for b in robot.bodies if b.inertial is not None]
    assert sum(masses) == pytest.approx(pin.computeTotalMass(model), rel=1e-10)
    assert_same_poses(robot, model, rng)
    assert_same_inertias(robot, model)
    print(f"loaded, compared: {label(path)}: {len(robot.bodies)} links")


KNOWN_ODDITIES = {
    "anymal_c/anymal.urdf": "link 'hatch': the inertia violates the triangle "
    "inequality",
    "pr2/pr2.urdf": "link 'double_stereo_link': the inertia violates the triangle",
    "minitaur/minitaur.urdf": "unknown element <joint_properties> ignored",
}


@pytest.mark.parametrize("name", KNOWN_ODDITIES)
def test_real_robots_load_with_warnings_that_name_the_oddity(name: str) -> None:
    path = SHARED_ROBOTS / name
    if not path.exists():
        pytest.skip("no shared robots")
    warnings = "\n".join(parse_urdf(path.read_text("utf-8"), path.name).warnings)
    assert re.search(KNOWN_ODDITIES[name], warnings)


def test_husky_is_refused_with_the_joint_and_the_text() -> None:
    path = SHARED_ROBOTS / "husky_bad" / "husky.urdf"
    if not path.exists():
        pytest.skip("no shared robots")
    expected = r"husky.urdf:97: joint 'imu_joint': origin: xyz: cannot read '\$\(optenv"
    with pytest.raises(ModelError, match=expected):
        parse_urdf(path.read_text("utf-8"), path.name)


EVERY_TYPE = """
<robot name="every_type">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>
    <mass value="2"/>
    <inertia ixx="2" iyy="3" izz="4" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial></link>
  <link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="c"/><link name="d"/><link name="e"/>
  <joint name="z_revolute" type="revolute"><parent link="base"/><child link="a"/>
    <origin xyz="1 2 3" rpy="0.1 -0.2 0.3"/><axis xyz="1 2 -3"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="y_continuous" type="continuous"><parent link="a"/><child link="b"/>
    <origin xyz="0 0 1" rpy="1.5707963267948966 0 0"/><axis xyz="0 0.6 0.8"/></joint>
  <joint name="x_prismatic" type="prismatic"><parent link="a"/><child link="c"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="w_planar" type="planar"><parent link="c"/><child link="d"/>
    <origin rpy="0 0.3 0"/><axis xyz="0 0 1"/></joint>
  <joint name="v_floating" type="floating"><parent link="c"/><child link="e"/>
    <origin xyz="0 -1 0"/></joint>
</robot>
"""


def test_every_joint_type_moves_as_in_pinocchio(rng: np.random.Generator) -> None:
    model = pin.buildModelFromXML(EVERY_TYPE, pin.JointModelFreeFlyer())
    robot = parse_urdf(EVERY_TYPE, "every_type.urdf")
    assert_same_poses(robot, model, rng)
    assert_same_inertias(robot, model)
