"""MJCF files as MuJoCo compiles them: the shared robots, and all in PyPI wheels.

``pytest tests/oracles/test_mjcf_mujoco.py -s`` prints what was loaded and compared,
and what was refused and why.
"""

from __future__ import annotations

import functools
import zlib
from pathlib import Path

import numpy as np
import pytest

from ramify.errors import Error
from ramify.model.description import Description
from ramify.model.mjcf import parse_mjcf
from ramify.model.source import read_source
from support.kinematics import body_poses
from support.mujoco_agreement import (
    assert_agrees,
    assert_close,
    compiled,
    joints,
    mujoco,
    split,
)
from support.paths import SHARED_ROBOTS
from support.real_robots import wheel_mjcfs

pytestmark = pytest.mark.oracle

ROBOTS = {
    "cassie": "cassie.xml",
    "g1_with_hands": "g1_with_hands.xml",
    "humanoid": "humanoid.xml",
    "iiwa14": "iiwa14.xml",
    "pendula": "pendula.xml",
    "robot_soccer_kit": "robot_soccer_kit.xml",
    "robotiq_2f85_v4": "2f85.xml",
    "shadow_hand": "right_hand.xml",
    "tiago": "tiago_motor.xml",
}
MOCAP = {"pendula": ("body19", "body20")}
"""bodies that stand still, and that the reference counts with the moving ones"""


def load(path: Path) -> Description:
    text, _ = read_source(path)
    return parse_mjcf(text, path.name, path.parent)


# ------------------------------------------------------------ the shared robots


needs_shared_robots = pytest.mark.skipif(
    not SHARED_ROBOTS.is_dir(), reason=f"no shared robots in {SHARED_ROBOTS}"
)


def is_moving(description: Description) -> dict[str | None, bool]:
    moving: dict[str | None, bool] = {None: False}
    for body in description.bodies:
        moving[body.name] = bool(body.joints) or moving[body.parent]
    return moving


@needs_shared_robots
@pytest.mark.parametrize("name", ROBOTS)
def test_shared_robot_has_the_reference_poses_and_masses(name: str) -> None:
    robot = load(SHARED_ROBOTS / name / ROBOTS[name])
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
        assert_close(com, reference["com"][s], "centre of mass")
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
    robot = load(SHARED_ROBOTS / name / ROBOTS[name])
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


@functools.cache
def verdict(model: str) -> str:
    """Compare one model; return "compared", or who refused it and why."""
    path = MODELS[model]
    try:
        description = load(path)
    except Error as e:
        refusal = str(e)
        if "meshes are never read" in refusal:
            return f"refused: {refusal}"
        if "no body in the model" in refusal:
            assert len(mujoco.MjSpec.from_file(str(path)).bodies) == 1  # the world
            return f"refused: {refusal}"
        with pytest.raises(ValueError, match="Error"):
            compiled(mujoco.MjSpec.from_file(str(path)))
        return f"refused, by MuJoCo too: {refusal}"
    try:
        theirs = compiled(mujoco.MjSpec.from_file(str(path)))
    except ValueError as e:
        return f"loaded, refused by MuJoCo: {' '.join(str(e).split())}"
    assert_agrees(
        description, theirs, np.random.default_rng(zlib.crc32(model.encode()))
    )
    return "compared"


@pytest.mark.parametrize("model", MODELS)
def test_wheel_model_loads_as_mujoco_compiles_it(model: str) -> None:
    assert verdict(model).startswith(("compared", "refused: ", "refused, ", "loaded, "))


@pytest.mark.slow  # every verdict once more, in one process
def test_most_wheel_models_are_compared() -> None:
    if len(MODELS) < 40:
        pytest.skip("mujoco-mjx, dm-control or gymnasium are not installed")
    verdicts = {model: verdict(model) for model in MODELS}
    for start in ("compared", "loaded", "refused"):
        group = [m for m, v in verdicts.items() if v.startswith(start)]
        print(f"\n{start}: {len(group)}")
        for model in group:
            print(f"  {model}  {verdicts[model].removeprefix('compared')}")
    compared = [m for m, v in verdicts.items() if v == "compared"]
    assert len(compared) > 0.6 * len(MODELS)
