"""Parallel robots: a platform on six legs, and a delta arm."""

from __future__ import annotations

from functools import cache

import numpy as np

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Pose
from ramidyn.robot import Robot

HEIGHT = 0.6
ARM, FOREARM = 0.25, 0.6


def _ring(radius: float, degrees: float) -> tuple[float, float, float]:
    angle = np.deg2rad(degrees)
    return radius * float(np.cos(angle)), radius * float(np.sin(angle)), 0.0


def _turned(degrees: float, at: tuple[float, float, float]) -> Pose:
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return Pose(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), np.array(at))


SIDES = [1 if k % 2 else -1 for k in range(6)]
FEET = np.array([_ring(0.4, 120 * (k // 2) + 15 * s) for k, s in enumerate(SIDES)])
TOPS = np.array([_ring(0.25, 120 * (k // 2) + 45 * s) for k, s in enumerate(SIDES)])
SHORTEST, LONGEST = 0.45, 0.9


@cache
def hexapod() -> Robot:
    """Return a Stewart platform: six legs of limited length."""
    b = RobotBuilder("hexapod")
    plate = Body("platform", Inertia.from_box(5.0, (0.4, 0.4, 0.02)))
    b.add(plate, "world", Joint.floating(name="root"), (0, 0, HEIGHT))
    for k in range(6):
        lower = Body(f"lower{k}", Inertia.from_box(0.5, (0.03, 0.03, 0.3)))
        upper = Body(f"upper{k}", Inertia.from_box(0.5, (0.02, 0.02, 0.3)))
        joint = Joint.universal((1, 0, 0), (0, 1, 0), name=f"foot{k}")
        b.add(lower, "world", joint, tuple(FEET[k]))
        slide = Joint.prismatic((0, 0, 1), name=f"leg{k}", limits=(SHORTEST, LONGEST))
        b.add(upper, lower, slide)
        ends = {"placement_a": (0, 0, 0), "placement_b": tuple(TOPS[k])}
        b.add_loop(upper, plate, joint="spherical", name=f"ball{k}", **ends)  # type: ignore[arg-type]
    return b.robot()


@cache
def delta() -> Robot:
    """Return a delta arm: three motors, each forearm a pair of rods."""
    b = RobotBuilder("delta")
    plate = Body("platform", Inertia.from_box(0.5, (0.1, 0.1, 0.02)))
    b.add(plate, "world", Joint.floating(name="root"), (0, 0, -0.55))
    for k in range(3):
        arm = Body(f"arm{k}", Inertia.from_box(0.5, (ARM, 0.03, 0.03), at=(0.1, 0, 0)))
        joint = Joint.revolute((0, 1, 0), name=f"motor{k}", limits=(-0.6, 1.3))
        b.add(arm, "world", joint, _turned(120 * k, _ring(0.15, 120 * k)))
        hip = _turned(120 * k, (0, 0, 0))
        for side in (-0.05, 0.05):
            on_plate = hip.R @ np.array([0.06, side, 0.0])
            b.add_loop(
                arm,
                plate,
                joint="distance",
                placement_a=(ARM, side, 0.0),
                placement_b=tuple(map(float, on_plate)),  # type: ignore[arg-type]
                name=f"rod{k}{'a' if side < 0 else 'b'}",
                length=FOREARM,
            )
    return b.robot()
