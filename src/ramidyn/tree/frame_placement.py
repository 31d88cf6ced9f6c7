"""Put body frames where transforms are cheapest (Featherstone 2005, §5).

A joint whose axis is z does not care how its body's frame is turned about z or shifted
along it. Between two such axes there is always

    P = screw_z(γ, b) · screw_x(α, a) · screw_z(θ, d)

so for one child of each body the frame can take up (γ, b): that child is a DH node and
costs two screws instead of three. Real robots have frames where much is zero already:
each frame takes the cheapest of a few places, the one in the file among them. Frames
of floating, spherical and planar joints stay: their velocities are the user's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from ramidyn.description.constants import (
    AHEAD,
    EXACT,
    Direction,
    Rows,
    Three,
    direction_of,
    norm,
    total,
    turned_back,
)
from ramidyn.description.joint_types import Axial
from ramidyn.description.pose import Pose
from ramidyn.tree.tree import ROOT, Tree, nonzeros

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
        """Whether the first and the last axis are parallel."""
        return self.turned is not None

    @property
    def is_usable(self) -> bool:
        """Whether the common normal is well defined: not where axes almost agree."""
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
        return total + PARAMETER * nonzeros(body.inertia.seen_from(back))

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
OFFSET, OFFSET_OF_SHARED = 1.0, 20.0
"""an angle that is added to q, and to one whose sine several joints share (mimic)"""
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
        joints = [b.joint for b in tree.bodies]
        self.shared = {j.leader for j in joints if j.leader is not None}
        self.shared |= {i for i, j in enumerate(joints) if j.leader is not None}

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
        offset = OFFSET_OF_SHARED if i in self.shared else OFFSET
        if 0.0 in theta:  # sines of x + π/2 are those of x
            offset = 0.0
        if self.bodies[i].parent == ROOT:
            return offset + TURN_OF_ROOT * turns
        beyond = TURN_BEYOND * turns + SHIFT_BEYOND * moved
        return offset + TURN * turns + SHIFT * moved + beyond * self.sizes[i]
