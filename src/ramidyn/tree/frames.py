"""The frames of joints: transforms over symbols as axial steps, and poses as data.

The frame of a joint has the axes of the body that it moves, as the file gives them, at
the joint's origin: for URDF the frame of the child link. It moves with that body. Where
a body has several joints, or a joint is made of several of the tree, each has the axes
of the body as the joints before it and itself have turned them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import final

from ramidyn.description.constants import AHEAD, Direction, Three, angle_of
from ramidyn.description.editing import WORLD, frame_of
from ramidyn.description.joint_types import Axial
from ramidyn.description.pose import Pose
from ramidyn.spatial.transform import Rotate, Shift, Step, Transform, Turn
from ramidyn.spatial.vector3 import IDENTITY, ZERO3, Mat, Vec
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.frame_placement import screws
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT, Tree, TreeBody, TreeJoint


def transform(tree: Tree, i: int, q: tuple[Expr, ...]) -> Transform:
    """Return X from the frame of i's parent to that of i, for joint coordinates q."""
    body = tree.bodies[i]
    return Transform(_steps(body, q), tree.name(body.parent), body.name)


def _steps(body: TreeBody, q: tuple[Expr, ...]) -> tuple[Step, ...]:
    joint = body.joint
    if body.steps is not None:
        return (*body.steps, *joint.steps(q))
    if not isinstance(joint.type, Axial):
        return (*fixed_steps(body.placement), *joint.steps(q))
    s = screws(body.placement)
    last = partial(_last_screw, joint, joint.type, q=q[0])
    if s.turned is not None:  # two shifts cost less than a turn and one
        x, y, _ = _shifts(body.placement.origin)
        return _clean(x, y, _turn(0, s.alpha), *last(s.turned, s.d))
    if not s.is_usable:
        lead = (*_shifts(body.placement.origin), _turn(2, s.gamma), _turn(0, s.alpha))
        return _clean(*lead, *last(s.theta, 0.0))
    lead = (_turn(2, s.gamma), _shift(2, s.b), _turn(0, s.alpha), _shift(0, s.a))
    return _clean(*lead, *last(s.theta, s.d))


def _last_screw(
    joint: TreeJoint, screw: Axial, theta: Direction, d: float, q: Expr
) -> tuple[Step, ...]:
    """Return the screw about z: the placement's and the joint's in one."""
    if screw.turns:
        angle = q + (angle_of(theta) - joint.reference)
        turn = Turn(2, angle.cos(), angle.sin())
    else:
        turn = _turn(2, theta)
    return turn, Shift(2, (q - joint.reference) * screw.advance + d)


def fixed_steps(T: Pose) -> tuple[Step, ...]:
    """Return the steps of a constant pose: shifts along the outer axes, then turns."""
    s = screws(T)
    first, last = (s.gamma, s.theta) if s.turned is None else (AHEAD, s.turned)
    turns = (_turn(2, first), _turn(0, s.alpha), _turn(2, last))
    return _clean(*_shifts(T.origin), *turns)


def position(X: Transform) -> Vec:
    """Return where the origin of the last frame is, in the first."""
    return X.point_back(ZERO3)


def rotation(X: Transform) -> Mat:
    """Return R: free vectors of the last frame in coordinates of the first."""
    return Mat(map(X.rotate_back, IDENTITY)).T


def _clean(*steps: Step) -> tuple[Step, ...]:
    """Leave out the steps that do nothing."""
    return tuple(s for s in steps if not _is_nothing(s))


def _is_nothing(step: Step) -> bool:
    if isinstance(step, Rotate):
        return False
    if isinstance(step, Shift):
        return step.d.is_zero
    return step.s.is_zero and step.c.value == 1.0


def _turn(axis: int, turn: Direction) -> Turn:
    return Turn(axis, const(turn[0]), const(turn[1]))


def _shift(axis: int, distance: float) -> Shift:
    return Shift(axis, const(distance))


def _shifts(p: Three) -> tuple[Shift, ...]:
    return tuple(_shift(k, x) for k, x in enumerate(p))


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


@final
@dataclass(frozen=True, slots=True, eq=False)
class NamedFrame:
    """A frame by name: see `Robot.frame`."""

    name: str
    body: str
    """the body that it is fixed to, or "world" """
    placement: Pose
    """its pose in that body's frame"""
    joint: str | None
    """the last joint that moves it; None where nothing does"""


def named_frame(model: Model, name: str) -> NamedFrame:
    """Return the frame of that name."""
    found = model.frame(str(name))
    assert model.description is not None
    body, placement = frame_of(model.description, found.name)
    joint = None if found.body == ROOT else model.tree.bodies[found.body].joint.name
    return NamedFrame(found.name, body or WORLD, placement, joint)
