"""The shared robots and their reference values, in the terms of those files.

The references leave rotor inertia out, take mimic joints as free, give the angles of
continuous joints as ``theta``, and have the Earth's gravity whatever the file says.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ramidyn.description.formats.parse import parse
from ramidyn.description.pose import Array
from ramidyn.robot import Robot
from support.paths import SHARED_ROBOTS
from support.states import with_joints

TOLERANCE = 1e-9
"""what the references promise: they come from several engines"""
FILES = {
    "anymal_c": "anymal.urdf",
    "robotiq_2f85_v4": "2f85.xml",
    "shadow_hand": "right_hand.xml",
    "tiago": "tiago_motor.xml",
}
URDFS = ("anymal_c", "baxter", "minitaur", "panda", "pr2")
MJCFS = (
    *("cassie", "g1_with_hands", "humanoid", "iiwa14", "pendula", "robot_soccer_kit"),
    *("robotiq_2f85_v4", "shadow_hand", "tiago"),
)
MOCAP = {"pendula": ("body19", "body20")}
"""bodies that stand still, and that the reference counts with the moving ones"""
Reference = dict[str, Array]
needs_shared_robots = pytest.mark.skipif(
    not SHARED_ROBOTS.is_dir(), reason=f"no shared robots in {SHARED_ROBOTS}"
)


def path_of(name: str) -> Path:
    suffix = "urdf" if name in URDFS else "xml"
    return SHARED_ROBOTS / name / FILES.get(name, f"{name}.{suffix}")


@functools.cache
def loaded(name: str) -> tuple[Robot, Reference]:
    reference = dict(np.load(SHARED_ROBOTS / name / "reference.npz"))
    is_urdf = name in URDFS
    description = with_joints(parse(path_of(name)), lambda _: {"armature": 0.0})
    robot = Robot.from_description(
        replace(description, gravity=(0.0, 0.0, -9.81)),
        root="floating" if "root_joint" in reference["joint_names"] else None,
        conventions="pinocchio" if is_urdf else "mujoco",
        mimic="independent",
    )
    q = reference["q"]
    if is_urdf:
        is_free = "root_joint" in reference["joint_names"]
        base, angles = (7, 1) if is_free else (0, 0)
        q = np.hstack([q[:, :base], reference["theta"][:, angles:]])
    return robot, {**reference, "q": q, "qd": reference["v"]}
