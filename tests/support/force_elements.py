"""Force elements of every kind, on robots of the tests of laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ramidyn import forces
from ramidyn.description.forces.element import ForceElement
from ramidyn.robot import Robot

SINGLE = ("revolute", "prismatic", "helical")


def hills(x: Any, y: Any) -> Any:
    """Return a slope: its normal is the same everywhere, so contact stores energy."""
    return 0.3 * x - 0.2 * y + 5.0


def joint_of(robot: Robot, *types: str) -> str:
    """Return the last joint of some types."""
    return [j.name for j in robot.model.joints if j.type in types][-1]


def single(robot: Robot) -> str:
    """Return a joint with one coordinate."""
    return joint_of(robot, *SINGLE)


def ends(robot: Robot) -> tuple[str, str]:
    """Return two bodies on different branches, or at least far apart."""
    tree = robot.tree
    leaves = [i for i, below in enumerate(tree.children) if not below]
    a, b = leaves[0] if len(leaves) > 1 else 0, leaves[-1]
    return tree.bodies[a].name, tree.bodies[b].name


POINTS: dict[str, Any] = {"point_a": (0.1, -0.2, 0.3), "point_b": (-0.2, 0.1, 0.15)}
BUSHING: dict[str, Any] = {
    "stiffness": (3.0, 5.0, 7.0),
    "torsional_stiffness": (1.0, 2.0, 4.0),
    "damping": (0.3, 0.5, 0.7),
    "torsional_damping": (0.1, 0.2, 0.4),
}

ELEMENTS: dict[str, Callable[[Robot], ForceElement]] = {
    "joint spring": lambda r: forces.JointSpring(single(r), 7.0, 0.3),
    "joint damper": lambda r: forces.JointDamper(single(r), 1.5),
    "joint friction": lambda r: forces.JointFriction(single(r), 2.0, 0.1),
    "joint limit": lambda r: forces.JointLimit(
        single(r), 9.0, dissipation=0.4, lower=-0.2, upper=0.1
    ),
    "tendon": lambda r: forces.Tendon(
        tuple(j.name for j in r.model.joints if j.type in SINGLE)[:3],
        (0.5, -1.2, 0.7)[: sum(j.type in SINGLE for j in r.model.joints)],
        stiffness=6.0,
        damping=0.8,
        rest_length=(-0.1, 0.2),
        friction=0.3,
    ),
    "point spring": lambda r: forces.PointSpring(
        *ends(r), stiffness=4.0, damping=0.7, rest_length=0.4, **POINTS
    ),
    "cable to the world": lambda r: forces.PointSpring(
        "world",
        ends(r)[1],
        stiffness=4.0,
        damping=2.7,
        rest_length=0.4,
        one_sided="tension",
        **POINTS,
    ),
    "stop": lambda r: forces.PointSpring(
        *ends(r),
        stiffness=4.0,
        damping=0.2,
        rest_length=40.0,
        one_sided="compression",
        **POINTS,
    ),
    "torsion spring": lambda r: forces.TorsionSpring(*ends(r), 2.0, 0.6),
    "bushing": lambda r: forces.Bushing(*ends(r), **BUSHING),
    "gravity compensation": lambda r: forces.GravityCompensation(ends(r)[1], 0.8),
    "point contact": lambda r: forces.PointContact(
        ends(r)[1],
        20.0,
        dissipation=0.5,
        friction=0.6,
        point=(0.1, 0.2, 0.3),
        normal=(0.1, -0.2, 1.0),
        offset=4.0,
    ),
    "sphere on a slope": lambda r: forces.SphereContact(
        ends(r)[1], 0.3, 20.0, 0.5, friction=0.6, center=(0.1, 0, 0.2), height=hills
    ),
    "tire": lambda r: forces.Tire(
        ends(r)[1],
        0.4,
        stiffness=30.0,
        damping=0.1,
        longitudinal_stiffness=50.0,
        cornering_stiffness=40.0,
        friction=0.9,
        axis=(0.1, 1.0, 0.2),
        offset=4.0,
    ),
}
"""that belong to the robot; what is passive among them never adds energy"""

DRIVEN: dict[str, Callable[[Robot], ForceElement]] = {
    "motor": lambda r: forces.Motor(single(r), gear=3.0, control_range=(-0.5, 0.5)),
    "position servo": lambda r: forces.PositionServo(
        single(r), 5.0, 0.6, gear=2.0, force_range=(-1.0, 1.5)
    ),
    "velocity servo": lambda r: forces.VelocityServo(single(r), 0.7),
    "drag": lambda r: forces.Custom(
        lambda state, wind: {ends(r)[1]: np.concatenate([wind, state.qd[:3]])},
        inputs={"wind": 3},
        expressed_in="local_world_aligned",
    ),
    "bearing": lambda _: forces.Custom(lambda state: -0.3 * state.qd * state.q[0]),
}
"""with inputs of their own, or functions"""


def with_all(robot: Robot) -> Robot:
    """Return a robot with an element of every kind."""
    for name, make in {**ELEMENTS, **DRIVEN}.items():
        robot = robot.add_force(make(robot), name=name)
    return robot
