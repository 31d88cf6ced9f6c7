"""A kinematic tree: bodies numbered so that parents come first, and its topology.

Parent arrays are 0-based with ROOT = −1 for the world. The expanded arrays have one
entry per degree of freedom: a joint with n of them is a chain of n (Featherstone
2005, §2). D0, D1 and D2 measure the tree; costs of the sparse algorithms follow from
them (§4, §5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from ramidyn.description.constants import (
    ORIGIN,
    Array,
    Symmetric,
    Three,
    clean_position,
    full,
    squares,
    times,
    total,
    turned_inertia,
    upper,
    without_rounding,
)
from ramidyn.description.joint_types import Entries, SimpleJoint
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.transform import Step
from ramidyn.spatial.vector3 import Mat, vec
from ramidyn.spatial.vectors import WORLD, Motion, Tag
from ramidyn.symbolic.expr import const

ROOT = -1


@final
@dataclass(frozen=True, slots=True, eq=False)
class BodyInertia:
    """A rigid-body inertia as numbers, about the body frame's origin."""

    m: float
    h: Three
    """first moment m c"""
    upper: Symmetric
    """of I"""

    @property
    def I(self) -> Array:  # noqa: E743 (the book's letter)
        """(3, 3) about the origin."""
        return full(self.upper)

    @property
    def second_moments(self) -> Three:
        """∫ x² dm, ∫ y² dm and ∫ z² dm."""
        xx, _, _, yy, _, zz = self.upper
        half = (xx + yy + zz) * 0.5
        return half - xx, half - yy, half - zz

    def matrix(self) -> Array:
        """Return the spatial inertia, (6, 6), angular part first."""
        x, y, z = self.h
        h = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.block([[self.I, h], [np.transpose(h), self.m * np.eye(3)]])

    @staticmethod
    def zero() -> BodyInertia:
        """Return the inertia of a body without mass."""
        return BodyInertia(0.0, ORIGIN, (0.0,) * 6)

    @staticmethod
    def of(mass: float, com: Array, inertia: Array) -> BodyInertia:
        """Return the inertia of a mass with ``inertia`` about its center ``com``."""
        x, y, z = c = clean_position(com.tolist())
        own = zip(upper(inertia), squares(c), strict=True)
        I = without_rounding([a + mass * b for a, b in own])
        return BodyInertia(float(mass), (mass * x, mass * y, mass * z), I)

    def __add__(self, other: BodyInertia) -> BodyInertia:
        return _sum(self, other, 1.0)

    def __sub__(self, other: BodyInertia) -> BodyInertia:
        return _sum(self, other, -1.0)

    def seen_from(self, T: Pose) -> BodyInertia:
        """Return this inertia, given in a frame at pose T, in T's outer frame."""
        m, h, own = self.m, times(T.rows, self.h), turned_inertia(self.upper, T.rows)
        if T.origin == ORIGIN:
            return BodyInertia(m, h, own)
        (px, py, pz), (hx, hy, hz), (xx, xy, xz, yy, yz, zz) = T.origin, h, own
        gx, gy, gz = (x * (y + y + m * x) for x, y in zip(T.origin, h, strict=True))
        I = (
            total(xx, gz, gy),
            total(xy, -px * hy, -py * hx, -m * px * py),
            total(xz, -px * hz, -pz * hx, -m * px * pz),
            total(yy, gx, gz),
            total(yz, -py * hz, -pz * hy, -m * py * pz),
            total(zz, gy, gx),
        )
        h = (total(hx, m * px), total(hy, m * py), total(hz, m * pz))
        return BodyInertia(m, h, without_rounding(I, max(map(abs, own))))


def _sum(a: BodyInertia, b: BodyInertia, sign: float) -> BodyInertia:
    """Return a ± b, with zeros for what is left of equal numbers.

    One that is flat then, but for rounding, has ∫ z² dm = 0 to the last digit.
    """
    scale = max(map(abs, (*a.upper, *b.upper)))
    h = tuple(total(x, sign * y) for x, y in zip(a.h, b.h, strict=True))
    I = [x + sign * y for x, y in zip(a.upper, b.upper, strict=True)]
    xx, xy, xz, yy, yz, zz = without_rounding(I, scale)
    if without_rounding([xx + yy - zz], scale) == (0.0,):
        zz = xx + yy
    return BodyInertia(total(a.m, sign * b.m), h, (xx, xy, xz, yy, yz, zz))


def nonzeros(inertia: BodyInertia, is_moving: bool) -> int:
    """Return the number of parameters, of ten, that are not zero.

    Three of them are the diagonal of I, or, of a moving body, ∫ x² dm, ∫ y² dm and
    ∫ z² dm if more of these are zero.
    """
    xx, xy, xz, yy, yz, zz = inertia.upper
    others = (inertia.m, *inertia.h, xy, xz, yz)
    diagonals = ((xx, yy, zz), inertia.second_moments)
    return _nonzeros(others) + min(map(_nonzeros, diagonals[: 1 + is_moving]))


def _nonzeros(numbers: Sequence[float]) -> int:
    return sum(x != 0.0 for x in numbers)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TreeJoint:
    """One joint of a Tree, at its place in q and q̇.

    A joint that follows another (mimic) has no place of its own: ``leader`` is the
    body whose joint it follows, with q = multiplier · q_leader + offset.
    """

    name: str
    type: SimpleJoint
    q_index: int
    v_index: int
    reference: float = 0.0
    """the coordinate at which the joint does not move its body (MJCF ``ref``)"""
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    is_continuous: bool = False
    leader: int | None = None
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def nq(self) -> int:
        """The number of its coordinates."""
        return self.type.nq

    @property
    def nv(self) -> int:
        """The number of its degrees of freedom."""
        return self.type.nv

    def steps(self, q: Entries) -> tuple[Step, ...]:
        """Return the steps from the joint's frame on the parent to the body's frame."""
        return self.type.steps(tuple(x - self.reference for x in q))

    def columns(self, frame: Tag) -> tuple[Motion, ...]:
        """Return the motion of each degree of freedom in body coordinates."""
        columns = self.type.columns()
        return tuple(Motion(vec(*s[:3]), vec(*s[3:]), frame) for s in columns)

    def basis(self) -> Array:
        """Return the same in numbers, (6, nv): S."""
        return np.transpose(np.array(self.type.columns()))

    def neutral(self) -> tuple[float, ...]:
        """Return the coordinates at which the body is at its placement."""
        return (self.reference,) if self.nq == 1 else self.type.neutral


@final
@dataclass(frozen=True, slots=True, eq=False)
class TreeBody:
    """A moving body, its joint, and its placement on its parent."""

    name: str
    parent: int
    joint: TreeJoint
    placement: Pose
    """the joint's frame in the parent's frame; the body's own frame at q neutral"""
    inertia: BodyInertia
    extra: RigidInertia | None = None
    """a part of the inertia that is an input of the function traced"""
    steps: tuple[Step, ...] | None = None
    """the placement, where it is an input of the function traced"""

    def rigid_inertia(self) -> RigidInertia:
        """Return the whole inertia, over symbols."""
        I = Mat(vec(*row) for row in self.inertia.I.tolist())
        known = RigidInertia(const(self.inertia.m), vec(*self.inertia.h), I, self.name)
        return known if self.extra is None else known + self.extra

    def columns(self) -> tuple[Motion, ...]:
        """Return S: the motion of each degree of freedom of the joint."""
        return self.joint.columns(self.name)


@final
@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies in regular numbering: ``parents[i] < i``."""

    bodies: tuple[TreeBody, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    parents: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        parents = tuple(b.parent for b in self.bodies)
        check_parents(parents)
        object.__setattr__(self, "parents", parents)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield (body, parent), parents first."""
        return iter(enumerate(self.parents))

    def __reversed__(self) -> Iterator[tuple[int, int]]:
        """Yield (body, parent), children first."""
        return ((i, self.parents[i]) for i in range(len(self) - 1, -1, -1))

    def __len__(self) -> int:
        return len(self.bodies)

    def name(self, i: int) -> str:
        """Return the name of body i: the tag of what is in its coordinates."""
        return WORLD if i == ROOT else self.bodies[i].name

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each body."""
        out: list[list[int]] = [[] for _ in self.parents]
        for i, p in self:
            if p != ROOT:
                out[p].append(i)
        return tuple(map(tuple, out))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The bodies attached to the world."""
        return tuple(i for i, p in self if p == ROOT)

    def ancestors(self, i: int) -> Iterator[int]:
        """Yield the parent of i, its parent, and so on."""
        return ancestors(self.parents, i)

    def support(self, i: int) -> tuple[int, ...]:
        """Return the bodies on the way from the world to i, i included, in order."""
        return (*reversed(tuple(self.ancestors(i))), i) if i != ROOT else ()

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """The number of bodies on the way from the world to each, itself included."""
        return depths(self.parents)

    def common_ancestor(self, i: int, j: int) -> int:
        """Return the nearest common ancestor (i itself counts), or ROOT."""
        above = {ROOT, *self.support(i)}
        while j not in above:
            j = self.parents[j]
        return j

    @cached_property
    def dofs(self) -> tuple[tuple[int, ...], ...]:
        """The degrees of freedom of each body's joint, in the tree's own order."""
        out: list[tuple[int, ...]] = []
        n = 0
        for b in self.bodies:
            out.append(tuple(range(n, n + b.joint.nv)))
            n += b.joint.nv
        return tuple(out)

    @cached_property
    def dof_parents(self) -> tuple[int, ...]:
        """The expanded parent array: one entry per degree of freedom."""
        out: list[int] = []
        for i, p in self:
            above = p
            while above != ROOT and not self.dofs[above]:
                above = self.parents[above]
            last = ROOT if above == ROOT else self.dofs[above][-1]
            for k in self.dofs[i]:
                out.append(last)
                last = k
        return tuple(out)


def check_parents(parents: Sequence[int]) -> None:
    """Raise ModelError unless ``ROOT <= parents[i] < i`` for all i."""
    for i, p in enumerate(parents):
        if not ROOT <= p < i:
            raise ModelError(
                f"parents[{i}] is {p}; a regular numbering needs -1 (the world) or a "
                f"body before {i}"
            )


def ancestors(parents: Sequence[int], i: int) -> Iterator[int]:
    """Yield the parent of i, its parent, and so on to below ROOT."""
    i = parents[i]
    while i != ROOT:
        yield i
        i = parents[i]


def depths(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the number of nodes between the world and each, itself included."""
    out: list[int] = []
    for p in parents:
        out.append(1 if p == ROOT else out[p] + 1)
    return tuple(out)


def D0(parents: Sequence[int]) -> int:
    """Return the number of nodes not attached to the world."""
    return sum(p != ROOT for p in parents)


def D1(parents: Sequence[int]) -> int:
    """Return Σ (dᵢ − 1): the nonzeros of M below its diagonal."""
    return sum(d - 1 for d in depths(parents))


def D2(parents: Sequence[int]) -> int:
    """Return Σ dᵢ (dᵢ − 1) / 2: the multiplications of the LTL factorization."""
    return sum(d * (d - 1) // 2 for d in depths(parents))


def sparsity_pattern(parents: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return the entries of M that may be nonzero: one index an ancestor's."""
    n = len(parents)
    pattern = np.eye(n, dtype=bool)
    for i in range(n):
        for j in ancestors(parents, i):
            pattern[i, j] = pattern[j, i] = True
    return pattern


def depth_first(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the nodes in depth-first order: a regular numbering of the same tree."""
    check_parents(parents)
    return tuple(reversed(renumbering(parents)))


def renumbering(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the bodies in an order in which descendants come before ancestors.

    In this order Cholesky's method, M = L Lᵀ, fills no zero of a tree's mass matrix
    (Negrut, Serban & Potra 1997, Lemma 2; the paper's b, with b[i] the body at place
    i). Bodies of one limb stay together. Bodies may be numbered in any way, ROOT is the
    parent of those that have none.

    >>> from ramidyn.linalg import renumbering
    >>> renumbering((-1, 0, 0, 1))
    (2, 3, 1, 0)
    """
    n = len(parents)
    below: list[list[int]] = [[] for _ in range(n + 1)]
    for i, p in enumerate(parents):
        if not ROOT <= p < n:
            raise ModelError(
                f"parents[{i}] is {p}; expected {ROOT}, or a body from 0 to {n - 1}"
            )
        below[p].append(i)
    order: list[int] = []
    stack = list(reversed(below[ROOT]))
    while stack:
        i = stack.pop()
        order.append(i)
        stack.extend(reversed(below[i]))
    if len(order) < n:
        lost = min(set(range(n)) - set(order))
        raise ModelError(f"body {lost} is its own ancestor; expected a tree")
    return tuple(reversed(order))
