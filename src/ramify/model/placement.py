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

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ramify.model.pose import Array, Pose, quarter_turns_exact
from ramify.model.tree import ROOT, BodyInertia, Tree, nonzeros

AXIAL = ("revolute", "prismatic", "helical")
SMALLEST_SINE = 0.01
"""Below it b and d would be a hundred times the distances in the file: digits lost."""
ROUNDING = 1e-14
"""What is left of a zero after a few operations, relative to what it came from."""
EXACT = 1e-12
"""Entries of rotations below this are rounding errors of the file's digits."""


@final
@dataclass(frozen=True, slots=True)
class Screws:
    """A pose as three screws: about z, about the new x, about the new z."""

    gamma: float
    b: float
    alpha: float
    a: float
    theta: float
    d: float

    @property
    def is_parallel(self) -> bool:
        """Whether the first and the last axis are parallel."""
        return quarter_turns_exact(self.alpha)[1] == 0.0

    @property
    def turned(self) -> float:
        """Parallel axes: the turn about the last one that is left without γ."""
        return self.theta - self.gamma if self.alpha else self.theta + self.gamma

    @property
    def is_usable(self) -> bool:
        """Whether the common normal is well defined: not where axes almost agree."""
        return self.is_parallel or abs(math.sin(self.alpha)) > SMALLEST_SINE


def screws(T: Pose) -> Screws:
    """Return the screws of a pose; parallel axes have b = 0, common ones γ = 0 too."""
    R = np.where(np.abs(T.R) < EXACT, 0.0, T.R)
    z = R[:, 2]
    sine = math.hypot(z[0], z[1])
    if sine == 0.0:
        return _parallel_screws(R, T.p)
    # z_child = Rz(γ) Rx(α) z = (sin α sin γ, −sin α cos γ, cos α)
    gamma = math.atan2(z[0], -z[1])
    if gamma > math.pi / 2 + EXACT or gamma <= -math.pi / 2 - EXACT:
        gamma += math.pi if gamma < 0 else -math.pi  # the common normal has two ends
    cg, sg = quarter_turns_exact(gamma)
    alpha = math.atan2(z[0] * sg - z[1] * cg, z[2])
    ca, sa = quarter_turns_exact(alpha)
    theta = math.atan2(-(R[0, 1] * cg + R[1, 1] * sg), R[0, 0] * cg + R[1, 0] * sg)
    x, y = T.p[0] * cg + T.p[1] * sg, -T.p[0] * sg + T.p[1] * cg
    d = -y / sa
    scale = float(np.abs(T.p).sum()) + abs(d)
    b, a, d = (_without_rounding(v, scale) for v in (T.p[2] - d * ca, x, d))
    return Screws(gamma, b, alpha, a, theta, d)


def _without_rounding(distance: float, scale: float) -> float:
    """Return 0 for what rounding has left of it."""
    return 0.0 if abs(distance) < ROUNDING * scale else float(distance)


def _parallel_screws(R: Array, p: Array) -> Screws:
    """Return the screws where z stays z or becomes −z: the common normal is along p."""
    distance = math.hypot(p[0], p[1])
    if distance < EXACT:
        distance = 0.0
    gamma = math.atan2(p[1], p[0]) if distance else 0.0
    turned = math.atan2(R[1, 0], R[0, 0])
    if R[2, 2] < 0:
        return Screws(gamma, 0.0, math.pi, distance, gamma - turned, -float(p[2]))
    return Screws(gamma, 0.0, 0.0, distance, turned - gamma, float(p[2]))


def screw_z(angle: float, distance: float) -> Pose:
    """Return a turn about z and a shift along it."""
    c, s = quarter_turns_exact(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return Pose(R, np.array([0.0, 0.0, distance]))


def place_frames(tree: Tree) -> tuple[Tree, tuple[Pose, ...]]:
    """Return the tree with frames placed, and the pose of each new frame in the old."""
    sizes = [1] * len(tree)
    for i, p in reversed(tree):
        if p != ROOT:
            sizes[p] += sizes[i]
    moves: list[Pose] = []
    bodies = list(tree.bodies)
    for i, p in tree:
        above = Pose.identity() if p == ROOT else moves[p].inverse()
        placement = above @ bodies[i].placement
        A = _cheapest_move(tree, i, placement, sizes)
        moves.append(A)
        inertia = _without_noise(bodies[i].inertia.seen_from(A.inverse()))
        bodies[i] = replace(bodies[i], placement=placement @ A, inertia=inertia)
    return Tree(tuple(bodies), tree.gravity), tuple(moves)


def _cheapest_move(tree: Tree, i: int, placement: Pose, sizes: list[int]) -> Pose:
    """Return the move of frame i that makes its transform and its children's cheapest.

    Ties go to the first: a frame that need not move stays.
    """
    body = tree.bodies[i]
    if body.joint.kind not in AXIAL:
        return Pose.identity()

    def cost(A: Pose) -> float:
        total = transform_cost(placement @ A, body.joint.kind, sizes[i])
        back = A.inverse()
        for c in tree.children[i]:
            child = tree.bodies[c]
            total += transform_cost(back @ child.placement, child.joint.kind, sizes[c])
        inertia = _without_noise(body.inertia.seen_from(back))
        return total + PARAMETER * nonzeros(inertia)

    return min(_moves(tree, i, placement), key=cost)


def _moves(tree: Tree, i: int, placement: Pose) -> list[Pose]:
    """Return the moves to choose from: stay, suit oneself, suit one of the children."""
    own = screws(placement)
    h = tree.bodies[i].inertia.h
    moves = [Pose.identity()]
    if own.is_usable:
        moves += [screw_z(-own.theta, -own.d), screw_z(0.0, -own.d)]
        if math.hypot(h[0], h[1]) > EXACT:
            moves.append(screw_z(math.atan2(h[1], h[0]), -own.d))
    for c in tree.children[i]:
        to = screws(tree.bodies[c].placement)
        if tree.bodies[c].joint.kind not in AXIAL or not to.is_usable:
            continue
        # Parallel axes leave b free: take it to cancel this body's own shift.
        b = to.b if not to.is_parallel else -own.d if own.is_usable else 0.0
        moves.append(screw_z(to.gamma, b))
    return moves


# What a step costs in ABA and RNEA together, and in CRBA for each body beyond it.
TURN, TURN_BEYOND, SHIFT, SHIFT_BEYOND = 78.0, 6.0, 40.0, 4.0
OFFSET, PARAMETER = 1.0, 3.0


def transform_cost(T: Pose, kind: str, bodies: int) -> float:
    """Return about how many operations a placement costs, with its joint behind it."""
    s = screws(T)
    theta = s.theta
    if s.is_parallel and kind in AXIAL:
        angles, shifts, theta = [0.0], [float(T.p[0]), float(T.p[1]), s.d], s.turned
    elif s.is_usable and kind in AXIAL:
        angles, shifts = [s.gamma, s.alpha], [s.b, s.a, s.d]
    else:
        angles, shifts = [s.gamma, s.alpha], [float(x) for x in T.p]
    if kind not in ("revolute", "helical"):
        angles.append(theta)
    turns = sum(0.0 not in quarter_turns_exact(x) for x in angles)
    moved = sum(x != 0.0 for x in shifts)
    offset = OFFSET if theta != 0.0 else 0.0
    beyond = TURN_BEYOND * turns + SHIFT_BEYOND * moved
    return TURN * turns + SHIFT * moved + offset + beyond * bodies


def _without_noise(inertia: BodyInertia) -> BodyInertia:
    """Return the inertia with zeros for what rounding has left in their place."""
    h, A = (
        np.where(np.abs(x) < ROUNDING * np.abs(x).max(), 0.0, x)
        for x in (inertia.h, inertia.I)
    )
    return BodyInertia(inertia.m, h, A)
