"""MJCF files as MuJoCo compiles them: the shared robots, and all in PyPI wheels."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from ramidyn.description.description import Description
from ramidyn.description.formats.mjcf.parse import parse_mjcf
from ramidyn.description.formats.read import read_source
from ramidyn.errors import Error
from support.close import assert_close
from support.kinematics import body_poses
from support.mujoco_agreement import (
    NOT_COMPILED,
    assert_agrees,
    compiled,
    joints,
    mujoco,
    refusal_of,
    split,
)
from support.paths import SHARED_ROBOTS
from support.real_robots import wheel_mjcfs
from support.references import MJCFS, MOCAP, needs_shared_robots, path_of

pytestmark = pytest.mark.oracle


def load(path: Path) -> Description:
    text, _ = read_source(path)
    return parse_mjcf(text, path.name, path.parent)


# ------------------------------------------------------------ the shared robots


def is_moving(description: Description) -> dict[str | None, bool]:
    moving: dict[str | None, bool] = {None: False}
    for body in description.bodies:
        moving[body.name] = bool(body.joints) or moving[body.parent]
    return moving


@needs_shared_robots
@pytest.mark.parametrize("name", MJCFS)
def test_shared_robot_has_the_reference_poses_and_masses(name: str) -> None:
    robot = load(path_of(name))
    reference = np.load(SHARED_ROBOTS / name / "reference.npz")
    for ours, theirs in (
        ([b.name for b in robot.bodies], reference["body_names"]),
        ([j.name for j in joints(robot)], reference["joint_names"]),
    ):
        assert len(ours) == len(theirs)
        pairs = zip(ours, map(str, theirs), strict=True)
        assert all(a == b or b.startswith("unnamed_") for a, b in pairs)
    moving = is_moving(robot) | dict.fromkeys(MOCAP.get(name, ()), True)
    masses = [
        (b.name, b.inertial)
        for b in robot.bodies
        if b.inertial is not None and moving[b.name]
    ]
    total = sum(inertial.mass for _, inertial in masses)
    assert_close(total, reference["total_mass"], "total mass")
    for s, qpos in enumerate(reference["q"]):
        poses = body_poses(robot, split(robot, qpos))
        com = sum(i.mass * poses[n].apply(i.com) for n, i in masses) / total
        assert_close(com, reference["com"][s], "center of mass")
        positions = [poses[b.name].p for b in robot.bodies]
        assert_close(positions, reference["body_pos"][s], "positions")
        rotations = np.array([poses[b.name].R for b in robot.bodies])
        theirs = reference["body_rot"][s].reshape(rotations.shape)
        assert_close(rotations, theirs, "rotations")
    armature = np.concatenate(
        [
            np.full({"floating": 6, "spherical": 3}.get(j.type, 1), j.armature)
            for j in joints(robot)
        ]
    )
    assert_close(armature, reference["armature"], "armature")


@needs_shared_robots
@pytest.mark.parametrize("name", ["cassie", "robotiq_2f85_v4"])
def test_shared_loops_close_at_their_reference_states(name: str) -> None:
    path = SHARED_ROBOTS / name / "reference_loops.npz"
    robot = load(path_of(name))
    cuts = [loop for loop in robot.loops if loop.type == "spherical"]
    assert cuts
    for qpos in np.load(path)["q"]:
        poses = body_poses(robot, split(robot, qpos))
        for loop in cuts:
            assert loop.body_a is not None
            assert loop.body_b is not None
            a = poses[loop.body_a].apply(loop.placement_a.p)
            b = poses[loop.body_b].apply(loop.placement_b.p)
            assert_close(a, b, loop.name)


# ------------------------------------------------------------ the wheels


MODELS = wheel_mjcfs()


@pytest.mark.parametrize("model", MODELS)
def test_wheel_model_loads_as_mujoco_compiles_it(model: str) -> None:
    path = MODELS[model]
    refusal = refusal_of(path)
    if refusal is not None:
        with pytest.raises(Error, match=refusal):
            load(path)
        return
    description = load(path)
    spec = mujoco.MjSpec.from_file(str(path))
    if model in NOT_COMPILED:
        with pytest.raises(ValueError, match=NOT_COMPILED[model]):
            compiled(spec)
        for ours, theirs in zip(description.bodies, spec.bodies[1:], strict=True):
            assert theirs.name in ("", ours.name)
        return
    rng = np.random.default_rng(zlib.crc32(model.encode()))
    assert_agrees(description, compiled(spec), rng)


def test_most_wheel_models_must_load() -> None:
    if len(MODELS) < 40:
        pytest.skip("mujoco-mjx, dm-control or gymnasium are not installed")
    due = [model for model, path in MODELS.items() if refusal_of(path) is None]
    assert len(due) > 0.6 * len(MODELS)
