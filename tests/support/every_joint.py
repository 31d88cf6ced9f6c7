"""A robot with one joint of every type."""

from __future__ import annotations

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.conventions import Conventions
from ramidyn.robot import Robot


def every_joint(conventions: str | Conventions = "pinocchio") -> Robot:
    """Return a chain of all joint types, with limits and a joint that follows."""
    builder = RobotBuilder("every_joint")
    joints = {
        "floating": Joint.floating(),
        "revolute": Joint.revolute((1, 2, 3), limits=(-1, 2), velocity=3, effort=4),
        "prismatic": Joint.prismatic((0, 1, 0), limits=(0, 0.5)),
        "helical": Joint.helical(0.1),
        "cylindrical": Joint.cylindrical((1, 0, 0), limits=((-1, 1), (0, 0.2))),
        "universal": Joint.universal(),
        "planar": Joint.planar((0, 1, 1)),
        "spherical": Joint.spherical(),
        "follower": Joint.revolute(mimic=("revolute_joint", -2.0, 0.5)),
    }
    parent = "world"
    for name, j in joints.items():
        inertia = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.2))
        builder.add(Body(name, inertia), parent, j, (0.1, 0.2, 0.3))
        parent = name
    return Robot.from_description(builder.description(), conventions=conventions)
