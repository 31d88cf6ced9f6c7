"""Frames of bodies and joints: where they are put, and their transforms over symbols.

A joint whose axis is z does not care how its body's frame is turned about z or shifted
along it. Between two such axes there is always

    P = screw_z(γ, b) · screw_x(α, a) · screw_z(θ, d)

so for one child of each body the frame can take up (γ, b): that child is a DH node and
costs two screws instead of three. Real robots have frames where much is zero already:
each frame takes the cheapest of a few places, the one in the file among them. Frames
of floating, spherical and planar joints stay: their velocities are the user's.

The frame of a joint has the axes of the body that it moves, as the file gives them, at
the joint's origin: for URDF the frame of the child link. It moves with that body. Where
a body has several joints, or a joint is made of several of the tree, each has the axes
of the body as the joints before it and itself have turned them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, final

from ramidyn.description.constants import (
    AHEAD,
    EXACT,
    Direction,
    Rows,
    Three,
    angle_of,
    direction_of,
    norm,
    total,
    turned_back,
)
from ramidyn.description.editing import WORLD, frame_of
from ramidyn.description.joint_types import Axial
from ramidyn.description.pose import Pose
from ramidyn.spatial.transform import Rotate, Shift, Step, Transform, Turn
from ramidyn.spatial.vector3 import IDENTITY, ZERO3, Mat, Vec
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.tree import ROOT, Tree, TreeBody, TreeJoint, nonzeros

if TYPE_CHECKING:
    from ramidyn.tree.model import Model


SMALLEST_SINE = 0.01
"""Below it b and d would be a hundred times the distances in the file: digits lost."""


@final
@dataclass(frozen=True, slots=True)
class Screws:
    """A pose as three screws: about z, about the new x, about the new z."""

    gamma: Direction
    b: float
    alpha: Direction
    a: float
    theta: Direction
    d: float
    turned: Direction | None = None
    """parallel axes: the turn about the last one that is left without γ"""

    @property
    def is_parallel(self) -> bool:
        """Return whether the first and the last axis are parallel."""
        return self.turned is not None

    @property
    def is_usable(self) -> bool:
        """Return whether the common normal is well defined: axes differ enough."""
        return self.is_parallel or abs(self.alpha[1]) > SMALLEST_SINE


def screws(T: Pose) -> Screws:
    """Return the screws of a pose; parallel axes have b = 0, common ones γ = 0 too."""
    R, (px, py, pz) = T.rows, T.origin
    x, y, z = R[0][2], R[1][2], R[2][2]
    if x == 0.0 and y == 0.0:
        return _parallel_screws(R, T.origin)
    # z_child = Rz(γ) Rx(α) z = (sin α sin γ, −sin α cos γ, cos α)
    gamma = direction_of(-y, x)
    if gamma[0] < 0.0:
        gamma = -gamma[0], -gamma[1]  # the common normal has two ends
    cg, sg = gamma
    alpha = ca, sa = direction_of(z, total(x * sg, -y * cg))
    theta = direction_of(
        total(R[0][0] * cg, R[1][0] * sg), -total(R[0][1] * cg, R[1][1] * sg)
    )
    d = total(px * sg, -py * cg) / sa
    b = total(pz, -d * ca)
    return Screws(gamma, b, alpha, total(px * cg, py * sg), theta, d)


def _parallel_screws(R: Rows, p: Three) -> Screws:
    """Return the screws where z stays z or becomes −z: the common normal is along p."""
    x, y, z = p
    distance = norm((x, y))
    if distance < EXACT:
        distance, x, y = 0.0, 0.0, 0.0
    gamma = direction_of(x, y)
    turned = direction_of(R[0][0], R[1][0])
    if R[2][2] < 0:
        theta, turned = turned_back(gamma, turned), (turned[0], -turned[1])
        return Screws(gamma, 0.0, (-1.0, 0.0), distance, theta, -z, turned)
    return Screws(gamma, 0.0, AHEAD, distance, turned_back(turned, gamma), z, turned)


def screw_z(turn: Direction, distance: float) -> Pose:
    """Return a turn about z and a shift along it."""
    c, s = turn
    R = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    return Pose.of(R, (0.0, 0.0, distance))


def place_frames(tree: Tree) -> tuple[Tree, tuple[Pose, ...]]:
    """Return the tree with frames placed, and the pose of each new frame in the old."""
    costs = _Costs(tree)
    moves: list[Pose] = []
    bodies = list(tree.bodies)
    for i, p in tree:
        above = Pose.identity() if p == ROOT else moves[p].inverse()
        placement = above @ bodies[i].placement
        A = _cheapest_move(tree, i, placement, costs)
        moves.append(A)
        inertia = bodies[i].inertia.seen_from(A.inverse())
        bodies[i] = replace(bodies[i], placement=placement @ A, inertia=inertia)
    return Tree(tuple(bodies), tree.gravity), tuple(moves)


def _cheapest_move(tree: Tree, i: int, placement: Pose, costs: _Costs) -> Pose:
    """Return the move of frame i that makes its transform and its children's cheapest.

    Costs are whole numbers, so that ties are exact; they go to the first: a frame that
    need not move stays.
    """
    body = tree.bodies[i]
    if not isinstance(body.joint.type, Axial):
        return Pose.identity()

    def cost(A: Pose) -> float:
        total = costs.transform(i, placement @ A)
        back = A.inverse()
        for c in tree.children[i]:
            total += costs.transform(c, back @ tree.bodies[c].placement)
        inertia = body.inertia.seen_from(back)
        return total + PARAMETER * nonzeros(inertia, is_moving=True)

    return min(_moves(tree, i, placement), key=cost)


def _moves(tree: Tree, i: int, placement: Pose) -> list[Pose]:
    """Return the possible moves: stay, suit the body itself, or one of its children."""
    own = screws(placement)
    hx, hy, _ = tree.bodies[i].inertia.h
    moves = [Pose.identity()]
    if own.is_usable:
        c, s = own.theta
        moves += [screw_z((c, -s), -own.d), screw_z(AHEAD, -own.d)]
        if norm((hx, hy)) > EXACT:
            moves.append(screw_z(direction_of(hx, hy), -own.d))
    for c in tree.children[i]:
        to = screws(tree.bodies[c].placement)
        if not (isinstance(tree.bodies[c].joint.type, Axial) and to.is_usable):
            continue
        # Parallel axes leave b free: take it to cancel this body's own shift.
        b = to.b if not to.is_parallel else -own.d if own.is_usable else 0.0
        moves.append(screw_z(to.gamma, b))
    return moves


# What a step costs in ABA and RNEA together, and in CRBA for each body beyond it.
TURN, TURN_BEYOND, SHIFT, SHIFT_BEYOND = 78.0, 6.0, 40.0, 4.0
TURN_OF_ROOT = 8.0
"""nothing goes on to the world, and only gravity comes from there"""
OFFSET = 1.0
"""an angle that is added to q"""
PARAMETER = 12.0
"""a number of a body's inertia that is not zero"""


@final
class _Costs:
    """About how many operations the frames of a tree cost."""

    def __init__(self, tree: Tree) -> None:
        self.bodies = tree.bodies
        self.sizes = [1] * len(tree)
        """how many bodies each carries, itself included"""
        for i, p in reversed(tree):
            if p != ROOT:
                self.sizes[p] += self.sizes[i]

    def transform(self, i: int, T: Pose) -> float:
        """Return the cost of placing body i at T, with its joint behind it."""
        s, motion = screws(T), self.bodies[i].joint.type
        screw = motion if isinstance(motion, Axial) else None
        theta = s.theta
        if s.turned is not None and screw:
            angles, shifts, theta = [], [*T.origin[:2], s.d], s.turned
        elif s.is_usable and screw:
            angles, shifts = [s.gamma, s.alpha], [s.b, s.a, s.d]
        else:
            angles, shifts = [s.gamma, s.alpha], T.origin
        if screw is None or not screw.turns:
            angles.append(theta)
        turns = sum(0.0 not in x for x in angles)
        moved = sum(x != 0.0 for x in shifts)
        offset = 0.0 if 0.0 in theta else OFFSET  # sines of x + π/2 are those of x
        if self.bodies[i].parent == ROOT:
            return offset + TURN_OF_ROOT * turns
        beyond = TURN_BEYOND * turns + SHIFT_BEYOND * moved
        return offset + TURN * turns + SHIFT * moved + beyond * self.sizes[i]


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
    """Return the origin of the last frame, in the first."""
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
