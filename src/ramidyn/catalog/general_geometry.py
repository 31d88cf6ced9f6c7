"""General geometry and inertia for a tree: random placements, axes and masses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ramidyn.description.builder import neutral_poses
from ramidyn.description.constants import Array, dot, norm, times
from ramidyn.description.description import (
    BodyDescription,
    Description,
    Inertial,
    JointDescription,
    LoopDescription,
)
from ramidyn.description.pose import Pose
from ramidyn.errors import ArgumentError
from ramidyn.tree.frames import place_frames
from ramidyn.tree.model import build_model

GEOMETRIES = ("general", "plain")
Z = np.eye(3)[2]


def with_geometry(description: Description, geometry: str, seed: int) -> Description:
    """Return a tree with "plain" geometry, as it is, or "general" by a seed."""
    check_geometry(geometry)
    if geometry == "plain":
        return description
    return with_general_geometry(description, np.random.default_rng(seed))


def check_geometry(geometry: str) -> None:
    """Raise ArgumentError for a geometry that is not known."""
    if geometry not in GEOMETRIES:
        raise ArgumentError(f"geometry is {geometry!r}; possible: 'general', 'plain'")


def with_general_geometry(
    description: Description, rng: np.random.Generator, moves_base_frames: bool = True
) -> Description:
    """Return the same tree with general geometry and inertia, of about the same size.

    Unless told otherwise, the frame of a floating base on the world moves to the joint
    of its first child.
    """
    bodies: list[BodyDescription] = []
    bases: set[str | None] = set()
    """floating bases whose first child is still to come"""
    first_children: list[str] = []
    for body in description.bodies:
        placement = random_pose(rng, body.placement)
        joints = tuple(_random_joint(rng, j) for j in body.joints)
        if not moves_base_frames:
            joints = tuple(_with_random_anchor(rng, j) for j in joints)
        if moves_base_frames and body.parent in bases and joints:
            bases.discard(body.parent)
            first_children.append(body.name)
            placement = Pose.identity()
            joints = (replace(joints[0], axis=Z), *joints[1:])
        if moves_base_frames and [j.type for j in joints] == ["floating"]:
            bases.add(body.name)
            placement = Pose.identity()
        inertial = (
            None if body.inertial is None else random_inertial(rng, body.inertial)
        )
        new = replace(body, placement=placement, joints=joints, inertial=inertial)
        bodies.append(new)
    frames = [
        replace(f, placement=random_pose(rng, f.placement)) for f in description.frames
    ]
    if moves_base_frames:
        bodies = _with_base_frames(bodies, first_children)
    poses = neutral_poses(bodies)
    loops = [_random_loop(rng, loop, poses) for loop in description.loops]
    return replace(
        description, bodies=tuple(bodies), frames=tuple(frames), loops=tuple(loops)
    )


def _with_base_frames(
    bodies: list[BodyDescription], first_children: list[str]
) -> list[BodyDescription]:
    """Put the frames of bases where their first child's frame is cheapest."""
    tree = build_model(Description("general", tuple(bodies))).tree
    moves = place_frames(tree)[1]
    at = {b.name: moves[i].inverse() for i, b in enumerate(tree.bodies)}
    return [
        replace(b, placement=at[b.name]) if b.name in first_children else b
        for b in bodies
    ]


def random_pose(rng: np.random.Generator, pose: Pose) -> Pose:
    """Return any rotation, and a position about as far as before, 5 cm at least."""
    size = max(norm(pose.origin), 0.05)
    return Pose.from_quaternion(
        rng.normal(size=4), rng.normal(size=3) * size / 3**0.5, order="wxyz"
    )


def _random_joint(
    rng: np.random.Generator, joint: JointDescription
) -> JointDescription:
    if joint.type == "planar":
        return joint  # its x and y are defined for the normal z only
    axis, other = random_rotation(rng)[:2]
    return replace(
        joint,
        axis=axis,
        axis2=None if joint.axis2 is None else other,
        pitch=joint.pitch * rng.uniform(0.5, 1.5),
    )


def _with_random_anchor(
    rng: np.random.Generator, joint: JointDescription
) -> JointDescription:
    if joint.type == "floating":
        return joint  # its coordinates are those of the body's own frame
    return replace(joint, position=0.1 * rng.normal(size=3))


def random_rotation(rng: np.random.Generator) -> Array:
    """Return a random rotation matrix."""
    return Pose.from_quaternion(rng.normal(size=4), order="wxyz").R


def random_inertial(rng: np.random.Generator, inertial: Inertial) -> Inertial:
    """Return the inertia of some random distribution of about the same mass and size.

    With Σ the covariance of the mass, I = tr(Σ) 1 − Σ: positive definite and within
    the triangle inequality for every Σ > 0.
    """
    mass = inertial.mass * rng.uniform(0.5, 1.5)
    size = math.sqrt(np.trace(inertial.inertia) / 6 / inertial.mass)
    spread = size * rng.normal(size=(3, 3))
    rows = spread.tolist()
    spread = np.array([[dot(a, b) for b in rows] for a in rows])
    covariance = spread / 3 + 0.1 * size * size * np.eye(3)
    inertia = mass * (np.trace(covariance) * np.eye(3) - covariance)
    return Inertial(mass, size * rng.normal(size=3), inertia)


def _random_loop(
    rng: np.random.Generator, loop: LoopDescription, poses: dict[str | None, Pose]
) -> LoopDescription:
    """Return the loop at other places of its bodies, closed with all joints at zero."""
    cut_a = random_pose(rng, loop.placement_a)
    cut_in_world = poses[loop.body_a] @ cut_a
    if loop.type != "distance":
        cut_b = poses[loop.body_b].inverse() @ cut_in_world
        return replace(loop, placement_a=cut_a, placement_b=cut_b)
    cut_b = random_pose(rng, loop.placement_b)
    rod = poses[loop.body_b].apply(cut_b.p) - cut_in_world.p
    length = norm(rod.tolist())
    return replace(loop, placement_a=cut_a, placement_b=cut_b, length=length)


def standing_on(name: str, description: Description) -> Description:
    """Return the robot with the body of that name fixed to the world.

    The joints on the way to the former root are reversed and keep their coordinates:
    T_parent_child = P J(q) gives T_child_parent = P⁻¹ · P J(−q) P⁻¹, a joint whose
    axis and position are those of J seen from the parent, the axis reversed.
    """
    bodies = {b.name: b for b in description.bodies}
    child = bodies.pop(name)
    turned = [replace(child, parent=None, placement=Pose.identity(), joints=())]
    while child.parent is not None:
        there = child.placement
        joints = tuple(
            replace(
                j,
                axis=0.0 - np.array(times(there.rows, j.axis.tolist())),
                position=there.apply(j.position),
            )
            for j in reversed(child.joints)
        )
        back, parent = there.inverse(), bodies.pop(child.parent)
        turned.append(replace(parent, parent=child.name, placement=back, joints=joints))
        child = parent
    return replace(description, bodies=(*turned, *bodies.values()))
