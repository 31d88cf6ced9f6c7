"""Compare a Description with what MuJoCo's own compiler made of the same model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn.description.description import Description, JointDescription
from ramidyn.description.pose import Array, Pose
from support.close import TOLERANCE, assert_close
from support.kinematics import SIZES, body_poses, random_coordinates

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")

TYPES = ("floating", "spherical", "prismatic", "revolute")
"""MuJoCo's numbers of the joint types"""
MESH_TOLERANCE = 1e-6
NOT_COMPILED = {
    "mujoco/mjx/test_data/actuator/arm26.xml": "Lengthrange computation did not conv",
    "mujoco/mjx/test_data/constraints.xml": "in tendon 1, wrap 1 must be slide or hi",
    "dm_control/mjcf/test_assets/test_model.xml": "mass and inertia of moving bodies",
}
"""wheels' models that load, and what MuJoCo says as it does not compile them"""


def refusal_of(path: Path) -> str | None:
    """Return the words that must refuse a file, None if it must load: MuJoCo's view."""
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except ValueError:
        return r"^\S+\.xml:\d+: "
    bodies = spec.bodies[1:]
    if not bodies:
        return "no body in the model"
    shapes = [g for b in bodies if not b.explicitinertial for g in b.geoms]
    meshes = [g for g in shapes if g.type == mujoco.mjtGeom.mjGEOM_MESH]
    has_mass = any((g.density if np.isnan(g.mass) else g.mass) > 0 for g in meshes)
    return _mesh_refusal(path, spec) if has_mass else None


def _mesh_refusal(path: Path, spec: Any) -> str | None:
    """Return the words for a mesh that is missing or outside of the model's tree."""
    for mesh in spec.meshes:
        if not mesh.file:
            continue  # its vertices are in the model
        file = (path.parent / spec.meshdir / mesh.file).resolve()
        if not file.is_relative_to(path.parent.parent.resolve()):
            return "leads outside"
        if not file.is_file():
            return "takes its inertia from mesh geom .* no such file"
    return None


def compiled(spec: Any) -> Any:
    """Return MuJoCo's model, jointless bodies kept apart as ours are."""
    spec.compiler.fusestatic = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own: deprecated words, singular M
        return spec.compile()


def without_meshes(path: Path) -> Any:
    """Return MuJoCo's model with balls in the place of meshes, which are not here."""
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in spec.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            geom.type, geom.meshname, geom.size = (
                mujoco.mjtGeom.mjGEOM_SPHERE,
                "",
                [0.1, 0, 0],
            )
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    for texture in list(spec.textures):
        spec.delete(texture)
    for material in list(spec.materials):
        material.textures = [""] * len(material.textures)
    return spec.compile()


def assert_agrees(
    description: Description, model: Any, rng: np.random.Generator
) -> None:
    """Check bodies, inertias, joints and, at random coordinates, all poses."""
    assert model.nbody == len(description.bodies) + 1
    index = {body.name: i for i, body in enumerate(description.bodies, 1)}
    for i, body in enumerate(description.bodies, 1):
        assert model.body(i).name in ("", body.name)
        assert model.body_parentid[i] == (index[body.parent] if body.parent else 0)
        assert_close(body.gravity_compensation, model.body_gravcomp[i], body.name)
    assert_inertias_agree(description, model)
    assert_joints_agree(description, model)
    assert_poses_agree(description, model, rng)


def assert_inertias_agree(description: Description, model: Any) -> None:
    # MuJoCo finds the principal axes of a mesh to fewer digits than we do.
    tolerance = MESH_TOLERANCE if model.nmesh else TOLERANCE
    for i, body in enumerate(description.bodies, 1):
        what = f"inertia of {body.name}"
        if body.inertial is None:
            assert model.body_mass[i] == 0 or model.body_weldid[i] == 0, what
            continue
        R = Pose.from_quaternion(model.body_iquat[i], order="wxyz").R
        assert_close(body.inertial.mass, model.body_mass[i], what, tolerance=tolerance)
        theirs = R @ np.diag(model.body_inertia[i]) @ R.T
        assert_close(body.inertial.inertia, theirs, what, tolerance=tolerance)
        if body.inertial.mass:
            assert_close(
                body.inertial.com, model.body_ipos[i], what, tolerance=tolerance
            )


def joints(description: Description) -> list[JointDescription]:
    return [joint for body in description.bodies for joint in body.joints]


def assert_joints_agree(description: Description, model: Any) -> None:
    ours = joints(description)
    assert len(ours) == model.njnt
    for i, joint in enumerate(ours):
        dof, qpos = model.jnt_dofadr[i], model.jnt_qposadr[i]
        assert model.joint(i).name in ("", joint.name)
        assert joint.type == TYPES[model.jnt_type[i]], joint.name
        assert_close(joint.position, model.jnt_pos[i], joint.name)
        assert_close(joint.armature, model.dof_armature[dof], joint.name)
        assert_close(joint.friction, model.dof_frictionloss[dof], joint.name)
        if joint.type in ("revolute", "prismatic"):
            assert_close(joint.axis, model.jnt_axis[i], joint.name)
            assert_close(joint.reference, model.qpos0[qpos], joint.name)
            assert_close(joint.spring_reference, model.qpos_spring[qpos], joint.name)
            assert_limits_agree(joint, model, i)
    theirs = split(description, model.qpos0)
    for name, q in split(description, description.keyframes["qpos0"]).items():
        sign = np.ones(len(q))
        sign[-4:] *= 1.0 if len(q) < 4 or q[-4:] @ theirs[name][-4:] > 0 else -1.0
        assert_close(q, sign * theirs[name], f"qpos0 of {name}")


def assert_limits_agree(joint: JointDescription, model: Any, i: int) -> None:
    lower, upper = model.jnt_range[i] if model.jnt_limited[i] else (-np.inf, np.inf)
    ours = joint.limits
    if ours is None:
        assert not model.jnt_limited[i], joint.name
        assert not model.jnt_actfrclimited[i], joint.name
        return
    np.testing.assert_allclose([*ours.lower, *ours.upper], [lower, upper], rtol=1e-12)
    if model.jnt_actfrclimited[i]:
        assert_close(ours.effort, [np.abs(model.jnt_actfrcrange[i]).max()], joint.name)


def assert_poses_agree(
    description: Description, model: Any, rng: np.random.Generator
) -> None:
    q = random_coordinates(description, rng)
    data = mujoco.MjData(model)
    if q:
        data.qpos[:] = np.concatenate([q[joint.name] for joint in joints(description)])
    mujoco.mj_kinematics(model, data)
    poses = body_poses(description, q)
    for i, body in enumerate(description.bodies, 1):
        assert_close(poses[body.name].p, data.xpos[i], body.name)
        assert_close(poses[body.name].R.ravel(), data.xmat[i], body.name)
    sites = [model.site(i).name for i in range(model.nsite)]
    for frame in description.frames:
        T = Pose.identity() if frame.body is None else poses[frame.body]
        is_renamed = frame.name not in sites
        site = data.site(frame.name.removesuffix("_site" if is_renamed else ""))
        assert_close((T @ frame.placement).p, site.xpos, frame.name)
        assert_close((T @ frame.placement).R.ravel(), site.xmat, frame.name)


def split(description: Description, qpos: Array) -> dict[str, Array]:
    """Return qpos by joint."""
    q: dict[str, Array] = {}
    at = 0
    for joint in joints(description):
        q[joint.name] = qpos[at : at + SIZES[joint.type]]
        at += SIZES[joint.type]
    assert at == len(qpos)
    return q
