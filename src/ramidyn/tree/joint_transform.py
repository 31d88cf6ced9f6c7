"""The transform of a joint, placement and motion together, as axial steps."""

from __future__ import annotations

from functools import partial

from ramidyn.description.constants import AHEAD, Direction, Three, angle_of
from ramidyn.description.joint_types import Axial
from ramidyn.description.pose import Pose
from ramidyn.spatial.transform import Rotate, Shift, Step, Transform, Turn
from ramidyn.spatial.vector3 import IDENTITY, ZERO3, Mat, Vec
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.frame_placement import screws
from ramidyn.tree.tree import Tree, TreeBody, TreeJoint


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
