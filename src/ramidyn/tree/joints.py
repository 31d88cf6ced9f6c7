"""The joints of a Tree: each has a type, and a place in q and q̇."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from ramidyn.description.description import Limits
from ramidyn.description.joint_interface import Entries, SimpleJoint
from ramidyn.description.pose import Array
from ramidyn.spatial.frames import Tag
from ramidyn.spatial.transform import Step
from ramidyn.spatial.vector3 import vec
from ramidyn.spatial.vectors import Motion


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
    stiffness: float = 0.0
    spring_reference: float = 0.0
    limits: Limits | None = None
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
