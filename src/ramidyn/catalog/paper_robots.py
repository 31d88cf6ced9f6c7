"""The robots of the papers, and trees of any shape, as functions.

Each takes ``geometry="general"`` (random placements, axes and physical inertias from
``seed``, so that no operation is saved by a special value) or ``"plain"`` (round
numbers and axes along x, y, z, so that many are). In general geometry the frame of a
floating base lies on the axis of its first child's joint, z along it, where the
child's own frame is cheapest: the frame of a free body can be chosen freely, and
Featherstone (2005, §5) chooses it so, because the transform from the base to this child
is then a pure rotation. The vehicle is plain by default, and in a module of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from ramidyn.catalog import vehicle
from ramidyn.catalog.general_geometry import (
    check_geometry,
    standing_on,
    with_general_geometry,
    with_geometry,
)
from ramidyn.description.builder import Body, Inertia, Joint
from ramidyn.description.constants import Array
from ramidyn.description.description import (
    Description,
)
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError, unknown_name
from ramidyn.robot_builder import RobotBuilder

JOINTS = (
    *("revolute", "prismatic", "helical", "cylindrical", "universal"),
    *("planar", "spherical", "floating", "fixed"),
)
"""what ``random_tree`` can choose from"""

X, Y, Z = np.eye(3)


# ------------------------------------------------------------ trees by their shape


def featherstone_tree1(
    geometry: str = "general", seed: int = 0, *, expanded: bool = False
) -> Description:
    """Return Tree 1 of Featherstone (2005, Fig. 1): a binary tree of seven bodies.

    With ``expanded`` its joints 1, 2 and 6 have 2, 2 and 3 degrees of freedom, as in
    Fig. 2. Bodies are numbered as in the paper, from 1.
    """
    parents = (-1, 0, 0, 1, 1, 2, 2)
    builder = _revolute_tree("featherstone_tree1", parents, first=1)
    description = builder.description()
    if expanded:
        more = {0: Joint.universal(), 1: Joint.universal(), 5: Joint.spherical()}
        bodies = list(description.bodies)
        for i, joint in more.items():
            name = bodies[i].joints[0].name
            bodies[i] = replace(bodies[i], joints=(replace(joint.details, name=name),))
        description = replace(description, bodies=tuple(bodies))
    return with_geometry(description, geometry, seed)


def chain(n: int, geometry: str = "general", seed: int = 0) -> Description:
    """Return a chain of n bodies on revolute joints."""
    parents = range(-1, _at_least(1, "n", n) - 1)
    return with_geometry(_revolute_tree("chain", parents).description(), geometry, seed)


def chain_with_side_branches(
    n: int, geometry: str = "general", seed: int = 0
) -> Description:
    """Return a chain of n/2 bodies, each with one more body on it (Fig. 4a)."""
    if _at_least(2, "n", n) % 2:
        raise ModelError(f"n is {n}; a chain with side branches needs an even number")
    parents: list[int] = []
    for i in range(0, n, 2):
        parents += [i - 2 if i else -1, i]  # along the chain, then the branch
    builder = _revolute_tree("chain_with_side_branches", parents)
    return with_geometry(builder.description(), geometry, seed)


def binary_tree(n: int, geometry: str = "general", seed: int = 0) -> Description:
    """Return a balanced binary tree of n = 2ᵐ − 1 bodies (Fig. 4b)."""
    if (_at_least(1, "n", n) + 1) & n:
        m = n.bit_length()
        raise ModelError(
            f"n is {n}; a balanced binary tree needs 2^m - 1, such as "
            f"{2 ** (m - 1) - 1} or {2**m - 1}"
        )
    parents = [(i - 1) // 2 if i else -1 for i in range(n)]
    builder = _revolute_tree("binary_tree", parents)
    return with_geometry(builder.description(), geometry, seed)


def square_grid(n: int, geometry: str = "general", seed: int = 0) -> Description:
    """Return a spanning tree of a grid of n = m² bodies, root in a corner (Fig. 4c).

    Each body on one edge of the grid carries a row of bodies: every path to the root is
    a shortest path.
    """
    m = math.isqrt(_at_least(1, "n", n))
    if m * m != n:
        raise ModelError(
            f"n is {n}; a square grid needs a square, such as {m * m} or {(m + 1) ** 2}"
        )
    parents = [i - 1 if i % m else i - m for i in range(n)]
    parents[0] = -1
    builder = _revolute_tree("square_grid", parents)
    return with_geometry(builder.description(), geometry, seed)


def _revolute_tree(name: str, parents: Sequence[int], first: int = 0) -> RobotBuilder:
    """Return a tree of equal bodies, each 0.2 m further, siblings 0.1 m apart."""
    builder = RobotBuilder(name)
    link = Inertia.from_capsule(1.0, radius=0.03, length=0.14, at=(0, 0, 0.1))
    children = dict.fromkeys(range(-1, len(parents)), 0)
    depth = {-1: 0}
    for i, p in enumerate(parents):
        depth[i] = depth[p] + 1
        joint = Joint.revolute((Z, Y, X)[depth[p] % 3], name=f"joint{i + first}")
        at = (0.1 * children[p], 0.0, 0.2 if depth[p] else 0.0)
        children[p] += 1
        above = "world" if p < 0 else f"body{p + first}"
        builder.add(Body(f"body{i + first}", link), above, joint, at)
    return builder


# ------------------------------------------------------------ humanoids

Triple = tuple[float, float, float]


class _Link(NamedTuple):
    """A link of a limb: a box on a revolute joint."""

    name: str
    axis: Array
    mass: float
    size: Triple
    center: Triple = (0, 0, 0)
    """of the box, in the link's frame"""
    offset: Triple = (0, 0, 0)
    """of the link's frame in that of the link before"""


_LEG = (
    _Link("hip_yaw", Z, 1.0, (0.10, 0.10, 0.08)),
    _Link("hip_roll", X, 1.0, (0.10, 0.10, 0.08)),
    _Link("thigh", Y, 5.0, (0.12, 0.12, 0.40), (0, 0, -0.2)),
    _Link("shank", Y, 3.0, (0.10, 0.10, 0.40), (0, 0, -0.2), (0, 0, -0.4)),
    _Link("ankle", Y, 0.5, (0.06, 0.06, 0.06), offset=(0, 0, -0.4)),
    _Link("foot", X, 1.0, (0.24, 0.10, 0.04), (0.04, 0, -0.06)),
)
_ARM = (
    _Link("shoulder_pitch", Y, 0.5, (0.08, 0.08, 0.08)),
    _Link("shoulder_roll", X, 0.5, (0.08, 0.08, 0.08)),
    _Link("upper_arm", Z, 1.5, (0.08, 0.08, 0.28), (0, 0, -0.14)),
    _Link("forearm", Y, 1.0, (0.06, 0.06, 0.24), (0, 0, -0.12), (0, 0, -0.28)),
    _Link("wrist", Z, 0.2, (0.05, 0.05, 0.04), offset=(0, 0, -0.24)),
    _Link("hand", Y, 0.4, (0.04, 0.08, 0.12), (0, 0, -0.06)),
)
_WRIST_ROLL = _Link("wrist_roll", X, 0.2, (0.05, 0.05, 0.04))
_ARM7 = (*_ARM[:-1], _WRIST_ROLL, _ARM[-1])
_HEAD = (
    _Link("neck", Z, 0.5, (0.06, 0.06, 0.06)),
    _Link("neck_roll", X, 0.5, (0.06, 0.06, 0.06), offset=(0, 0, 0.05)),
    _Link("head", Y, 3.0, (0.18, 0.16, 0.22), (0, 0, 0.1), (0, 0, 0.05)),
)
_FINGER = _Link("finger", X, 0.05, (0.02, 0.02, 0.08), (0, 0, -0.04), (0, 0, -0.08))
_FURTHER = _Link("further", X, 0.5, (0.05, 0.05, 0.10), (0, 0, -0.05), (0, 0, -0.1))


def _add_limb(
    builder: RobotBuilder,
    links: Sequence[_Link],
    parent: str,
    at: Triple,
    *,
    side: str = "",
) -> str:
    """Add a chain of links at a place of their parent; return the last one's name.

    The far end of the last one becomes a frame.
    """
    for link in (links[0]._replace(offset=at), *links[1:]):
        name = side + link.name
        inertia = Inertia.from_box(link.mass, link.size, at=link.center)
        joint = Joint.revolute(link.axis, name=f"{name}_joint")
        builder.add(Body(name, inertia), parent, joint, link.offset)
        parent = name
    x, y, z = links[-1].center
    builder.add_frame(f"{parent}_tip", parent, (x, y, 2 * z))
    return parent


def _with_length(links: Sequence[_Link], n: int) -> Sequence[_Link]:
    """Return a limb of n links: some left out, or further ones, before its last."""
    further = [
        _FURTHER._replace(
            name=f"{links[-1].name}_further{k + 1}", axis=(X, Y, Z)[k % 3]
        )
        for k in range(n - len(links))
    ]
    return (*links[: min(n, len(links)) - 1], *further, links[-1])


def humanoid30(geometry: str = "general", seed: int = 0) -> Description:
    """Return the humanoid of Featherstone (2005, Fig. 6): 30 degrees of freedom.

    A floating torso and four limbs of six revolute joints each; 60 kg. In general
    geometry the torso's frame is at the first joint of the left leg, z along its axis,
    so that the transform from the torso to this leg is a pure rotation.
    """
    builder = RobotBuilder("humanoid30")
    torso = Inertia.from_box(28.8, (0.2, 0.3, 0.6), at=(0, 0, 0.3))
    builder.add(Body("torso", torso), joint=Joint.floating(name="base"))
    for side, y in (("left_", 0.1), ("right_", -0.1)):
        _add_limb(builder, _LEG, "torso", (0, y, 0), side=side)
    for side, y in (("left_", 0.2), ("right_", -0.2)):
        _add_limb(builder, _ARM, "torso", (0, y, 0.5), side=side)
    return with_geometry(builder.description(), geometry, seed)


def chain30(geometry: str = "general", seed: int = 0) -> Description:
    """Return the chain equivalent to the humanoid (Featherstone 2005, §6).

    A floating base and 24 revolute joints in a row: 30 degrees of freedom. In general
    geometry the base's frame is at the first joint, z along its axis, so that the
    transform from the base to the first link is a pure rotation.
    """
    builder = RobotBuilder("chain30")
    base = Inertia.from_box(5.0, (0.2, 0.2, 0.2))
    builder.add(Body("base", base), joint=Joint.floating(name="base_joint"))
    link = Inertia.from_capsule(1.0, radius=0.03, length=0.14, at=(0, 0, 0.1))
    parent = "base"
    for i in range(1, 25):
        joint = Joint.revolute((Z, Y, X)[i % 3], name=f"joint{i}")
        builder.add(Body(f"link{i}", link), parent, joint, (0, 0, 0.2))
        parent = f"link{i}"
    return with_geometry(builder.description(), geometry, seed)


def asimo(
    geometry: str = "general",
    seed: int = 0,
    *,
    arms: int = 2,
    legs: int = 2,
    arm_joints: int = 7,
    leg_joints: int = 6,
    fingers: int = 2,
    finger_joints: int = 1,
    base: str = "floating",
) -> Description:
    """Return ASIMO Next-Generation (Wensing, Featherstone & Orin 2012, Fig. 4).

    A floating upper torso with a head (3 joints), arms (7) ending in hands with two
    parallel fingers (1), and a hip (1) with legs (6): 35 bodies, 40 degrees of freedom.

    Args:
        geometry: "general" or "plain".
        seed: seed of the general geometry.
        arms: number of arms; the paper also has 4.
        legs: number of legs; the paper also has 4.
        arm_joints: joints per arm, including the hand's but not the fingers'.
        leg_joints: joints per leg, including the foot's.
        fingers: fingers per hand; 4 with 3 joints each make the 12-joint hand.
        finger_joints: joints per finger.
        base: "floating", or the foot that stands on the ground: "left_foot" ...
    """
    for word, n in {"arms": arms, "legs": legs, "fingers": fingers}.items():
        _at_least(0, word, n)
    builder = RobotBuilder("asimo")
    torso = Inertia.from_box(15.0, (0.2, 0.3, 0.4), at=(0, 0, 0.2))
    builder.add(Body("torso", torso), joint=Joint.floating(name="base"))
    for side, x, y in _sides(arms):
        arm = _with_length(_ARM7, _at_least(1, "arm_joints", arm_joints))
        hand = _add_limb(builder, arm, "torso", (x, 0.2 * y, 0.35), side=side)
        for k in range(fingers):
            finger = ("forefinger", "thumb")[k] if k < 2 else f"finger{k + 1}"
            links = [
                _FINGER._replace(name=f"{finger}{j + 1 if j else ''}")
                for j in range(_at_least(1, "finger_joints", finger_joints))
            ]
            at = (0, 0.03 - 0.06 * (k % 2), -0.12)
            _add_limb(builder, links, hand, at, side=side)
    _add_limb(builder, _HEAD, "torso", (0, 0, 0.4))
    hip = Inertia.from_box(6.0, (0.15, 0.25, 0.12))
    builder.add(Body("hip", hip), "torso", Joint.revolute(Z, name="waist"))
    for side, x, y in _sides(legs):
        leg = _with_length(_LEG, _at_least(1, "leg_joints", leg_joints))
        _add_limb(builder, leg, "hip", (x, 0.1 * y, -0.1), side=side)
    description = builder.description()
    if base != "floating":
        feet = [f"{side}foot" for side, _, _ in _sides(legs)]
        if base not in feet:
            raise unknown_name("base", base, "asimo", ["floating", *feet])
        description = standing_on(base, description)
    return with_geometry(description, geometry, seed)


def _sides(n: int) -> Iterator[tuple[str, float, float]]:
    """Yield (prefix, x, 1 on the left and −1 on the right) of n limbs."""
    for k in range(n):
        pair = "" if k < 2 else f"{k // 2 + 1}"
        yield f"{('left', 'right')[k % 2]}{pair}_", 0.1 * (k // 2), 1.0 - 2 * (k % 2)


def chang_khatib24(geometry: str = "general", seed: int = 0) -> Description:
    """Return a robot like that of Chang & Khatib (2000, Fig. 2).

    24 links on joints with one degree of freedom, and an operational point on each of
    two hands: frames "left_hand" and "right_hand". The paper does not list the joints;
    here a base that moves on the floor (x, y, turn) carries knee and hip joints (3), a
    waist and chest (2), a head (2) and two arms (7 each).
    """
    builder = RobotBuilder("chang_khatib24")
    plate = Inertia.from_box(10.0, (0.6, 0.5, 0.05))
    builder.add(Body("base_x", plate), joint=Joint.prismatic(X, name="x"))
    builder.add(Body("base_y", plate), "base_x", Joint.prismatic(Y, name="y"))
    base = Inertia.from_cylinder(30.0, 0.25, 0.2, at=(0, 0, 0.1))
    builder.add(Body("base", base), "base_y", Joint.revolute(Z, name="turn"))
    body = (
        _Link("shank", Y, 8.0, (0.14, 0.24, 0.4), (0, 0, 0.2)),
        _Link("thigh", Y, 10.0, (0.16, 0.26, 0.4), (0, 0, 0.2), (0, 0, 0.4)),
        _Link("pelvis", Y, 5.0, (0.16, 0.26, 0.1), (0, 0, 0.05), (0, 0, 0.4)),
        _Link("waist", Z, 3.0, (0.16, 0.26, 0.1), (0, 0, 0.05), (0, 0, 0.1)),
        _Link("chest", X, 15.0, (0.2, 0.3, 0.4), (0, 0, 0.2), (0, 0, 0.1)),
    )
    chest = _add_limb(builder, body, "base", (0, 0, 0.2))
    _add_limb(builder, (_HEAD[0], _HEAD[2]), chest, (0, 0, 0.4))
    arm = (*_ARM7[:-1], _ARM7[-1]._replace(name="palm"))
    for side, y in (("left_", 0.2), ("right_", -0.2)):
        palm = _add_limb(builder, arm, chest, (0, y, 0.35), side=side)
        builder.add_frame(f"{side}hand", palm, (0, 0, -0.1))
    return with_geometry(builder.description(), geometry, seed)


# ------------------------------------------------------------ a vehicle with loops

hmmwv = vehicle.hmmwv
tractor_semitrailer = vehicle.tractor_semitrailer

# ------------------------------------------------------------ random trees


def random_tree(
    n: int,
    rng: np.random.Generator | int = 0,
    joints: Sequence[str] = JOINTS,
    *,
    roots: int = 1,
    massless: float = 0.1,
    geometry: str = "general",
) -> Description:
    """Return a random tree of n bodies; the mass matrix is positive definite.

    Args:
        n: number of bodies, including those on fixed joints.
        rng: a generator, or a seed.
        joints: the joint types to choose from; each occurs before one occurs again.
        roots: number of bodies attached to the world.
        massless: fraction of eligible bodies without mass. Eligible is a body on a
            one-coordinate joint whose first child has mass and such a joint too.
        geometry: "general", or "plain" with axes along x, y, z.
    """
    check_geometry(geometry)
    roots = min(_at_least(1, "roots", roots), _at_least(1, "n", n))
    for type_ in joints:
        if type_ not in JOINTS:
            raise unknown_name("joint type", type_, "random_tree", JOINTS)
    if not joints:
        raise ModelError("random_tree: no joint types to choose from")
    rng = np.random.default_rng(rng)
    parents = [-1 if i < roots else int(rng.integers(i)) for i in range(n)]
    types: list[str] = []
    while len(types) < n:
        types += [str(t) for t in rng.permutation(list(dict.fromkeys(joints)))]
    simple = [t != "fixed" and joint_type("", t).nq == 1 for t in types[:n]]
    first_child = {p: i for i, p in reversed(list(enumerate(parents)))}
    light = [False] * n
    for i in range(n):
        child = first_child.get(i)
        if child is not None and simple[i] and simple[child]:
            on_light = parents[i] >= 0 and light[parents[i]]
            light[i] = not on_light and bool(rng.random() < massless)
    builder = RobotBuilder("random_tree")
    directions: list[Array] = []
    for i, p in enumerate(parents):
        turn = Pose.from_axis_angle(np.eye(3)[rng.integers(3)], math.pi / 2)
        placement = turn @ Pose.at(np.roll((0.1 * (1 + i % 4), 0, 0), rng.integers(3)))
        # Not along the parent's axis: a body without mass needs two directions.
        above = directions[p] if p >= 0 else Z
        free = [e for e in np.eye(3) if abs(above @ turn.R @ e) < 0.5]
        directions.append(free[rng.integers(len(free))])
        box = Inertia.from_box(1.0 + i % 3, (0.1, 0.2, 0.3), at=(0, 0, 0.1 * (i % 2)))
        body = Body(f"body{i}", None if light[i] else box)
        joint = _joint_of(types[i], directions[i], name=f"joint{i}")
        builder.add(body, "world" if p < 0 else f"body{p}", joint, placement)
    description = builder.description()
    if geometry == "plain":
        return description
    return with_general_geometry(description, rng, moves_base_frames=False)


def _joint_of(type_: str, axis: Array, name: str) -> Joint:
    match type_:
        case "revolute" | "prismatic" | "cylindrical":
            return getattr(Joint, type_)(axis, name=name)
        case "helical":
            return Joint.helical(0.1, axis, name=name)
        case "universal":
            return Joint.universal(axis, np.roll(axis, 1), name=name)
        case _:
            return getattr(Joint, type_)(name=name)


def _at_least(least: int, word: str, n: int) -> int:
    if not isinstance(cast(object, n), int) or n < least:
        raise ModelError(f"{word} is {n!r}; expected a whole number, {least} or more")
    return n
