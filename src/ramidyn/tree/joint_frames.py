"""The frames of joints as users know them.

The frame of a joint has the axes of the body that it moves, as the file gives them, at
the joint's origin: for URDF the frame of the child link. It moves with that body. Where
a body has several joints, or a joint is made of several of the tree, each has the axes
of the body as the joints before it and itself have turned them.
"""

from __future__ import annotations

from ramidyn.description.pose import Pose
from ramidyn.tree.model import Model


def joint_frames(model: Model) -> tuple[Pose, ...]:
    """Return the frame of each body's joint, in the tree's frame of that body."""
    assert model.description is not None
    origins = {
        joint.name: Pose.at(joint.position)
        for body in model.description.bodies
        for joint in body.joints
    }
    bodies = model.tree.bodies
    T: Pose | None = None
    found: list[Pose] = []
    for i in reversed(range(len(bodies))):
        name = bodies[i].name
        if name in model.frames and model.frames[name].body == i:
            T = model.frames[name].placement
        else:  # between joints of one body: the next one carries that body
            assert T is not None
            T = bodies[i + 1].placement @ T
        found.append(T @ origins[bodies[i].joint.name])
    return tuple(reversed(found))
