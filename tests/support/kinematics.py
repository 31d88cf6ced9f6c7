"""Forward kinematics and merged inertias of a Description, in plain NumPy.

Slow and obvious, so that it can judge loaders and compiled code.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ramidyn.description.description import (
    BodyDescription,
    Description,
    JointDescription,
)
from ramidyn.description.pose import Array, Pose

SIZES = {
    "revolute": 1,
    "prismatic": 1,
    "helical": 1,
    "cylindrical": 2,
    "universal": 2,
    "planar": 3,
    "spherical": 4,
    "floating": 7,
}
"""Coordinates per joint: angles as angles, quaternions as (w, x, y, z)."""


def joint_motion(joint: JointDescription, q: Array) -> Pose:
    """Return how a joint has moved its body at q, seen from the reference."""
    q = np.asarray(q, dtype=float) - joint.reference
    axis = joint.axis
    if joint.type == "revolute":
        return Pose.from_axis_angle(axis, q[0])
    if joint.type == "prismatic":
        return Pose.at(axis * q[0])
    if joint.type == "helical":
        return Pose.from_axis_angle(axis, q[0], axis * joint.pitch * q[0])
    if joint.type == "cylindrical":
        return Pose.from_axis_angle(axis, q[0], axis * q[1])
    if joint.type == "universal":
        return Pose.from_axis_angle(axis, q[0]) @ Pose.from_axis_angle(
            joint.axis2, q[1]
        )
    if joint.type == "planar":
        assert np.array_equal(axis, [0, 0, 1]), "only the xy plane is defined here"
        return Pose.from_axis_angle(axis, q[2], [q[0], q[1], 0.0])
    q = q + joint.reference
    if joint.type == "spherical":
        return Pose.from_quaternion(q, order="wxyz")
    assert joint.type == "floating", joint.type
    return Pose.from_quaternion(q[3:], q[:3], order="wxyz")


def parent_to_body(body: BodyDescription, q: Mapping[str, Array]) -> Pose:
    """Return T_parent_body at the coordinates of its joints, by name."""
    T = body.placement
    for joint in body.joints:
        there, back = Pose.at(joint.position), Pose.at(-joint.position)
        T = T @ there @ joint_motion(joint, q[joint.name]) @ back
    return T


def body_poses(
    description: Description, q: Mapping[str, Array], T_world_root: Pose | None = None
) -> dict[str, Pose]:
    """Return T_world_body of every body."""
    world = Pose.identity() if T_world_root is None else T_world_root
    poses: dict[str, Pose] = {}
    for body in description.bodies:
        above = world if body.parent is None else poses[body.parent]
        poses[body.name] = above @ parent_to_body(body, q)
    return poses


def random_coordinates(
    description: Description, rng: np.random.Generator
) -> dict[str, Array]:
    """Return coordinates for every joint by name, mimic joints included."""
    q: dict[str, Array] = {}
    for body in description.bodies:
        for joint in body.joints:
            q[joint.name] = rng.uniform(-1.0, 1.0, SIZES[joint.type])
            if joint.type in ("spherical", "floating"):
                q[joint.name][-4:] /= np.linalg.norm(q[joint.name][-4:])
    return q


def merged_inertias(
    description: Description,
) -> dict[str, tuple[float, Array, Array]]:
    """Return (m, m c, I about the origin) of each moving body, fixed ones included.

    The root body counts as moving; all in the frame of the moving body.
    """
    carrier: dict[str, tuple[str, Pose]] = {}
    sums: dict[str, tuple[float, Array, Array]] = {}
    for body in description.bodies:
        if body.parent is None or body.joints:
            carrier[body.name] = body.name, Pose.identity()
            sums[body.name] = 0.0, np.zeros(3), np.zeros((3, 3))
        else:
            name, T = carrier[body.parent]
            carrier[body.name] = name, T @ body.placement
        if body.inertial is None:
            continue
        name, T = carrier[body.name]
        m, c = body.inertial.mass, T.apply(body.inertial.com)
        about_origin = T.R @ body.inertial.inertia @ T.R.T
        about_origin = about_origin + m * (c @ c * np.eye(3) - np.outer(c, c))
        mass, moment, inertia = sums[name]
        sums[name] = mass + m, moment + m * c, inertia + about_origin
    return sums
