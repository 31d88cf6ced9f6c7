"""Blocks: what contacts and joints move by, with as few rows as possible.

    c = C v_b        F → f_b = Cᵀ F        v_b, f_b: velocity of a body, force on it

A body with one or two contacts has the velocities of these points, along their axes. A
body with more has its six velocities, along the axes of the world at its origin; the
velocity of a point follows from them. A joint with a limit or dry friction has one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.contact.touching import Side, Touch
from ramidyn.algorithms.forces.applied import Leg
from ramidyn.algorithms.operational.tasks import End
from ramidyn.spatial.vector3 import ONE, ZERO, ZERO3, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import Entries
from ramidyn.symbolic.expr import Expr


@final
@dataclass(frozen=True, slots=True, eq=False)
class PointBlock:
    """Velocities of a point of a body."""

    first: int
    body: int
    x: Vec
    axes: tuple[Vec, ...]
    """in coordinates of the body"""

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.axes)

    def end(self) -> End:
        """Return the rows C."""
        rows = tuple(Force(self.x.cross(e), e) for e in self.axes)
        return End(self.body, rows, self.first)

    def velocities(self, v: Motion) -> list[Expr]:
        """Return C v."""
        u = v.v + v.w.cross(self.x)
        return [e.dot(u) for e in self.axes]

    def force(self, F: Sequence[Expr]) -> Force:
        """Return Cᵀ F."""
        f = ZERO3
        for e, value in zip(self.axes, F, strict=True):
            f = f + e * value
        return Force(self.x.cross(f), f)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BodyBlock:
    """The six velocities of a body, linear first, along the axes of the world."""

    first: int
    body: int
    leg: Leg
    size: int = 6

    def end(self) -> End:
        """Return the rows C."""
        linear = (Force(ZERO3, e) for e in self.leg.R)
        return End(
            self.body,
            (*linear, *(Force(e, ZERO3) for e in self.leg.R)),
            self.first,
        )

    def velocities(self, v: Motion) -> list[Expr]:
        """Return C v."""
        return [*(self.leg.R @ v.v), *(self.leg.R @ v.w)]

    def force(self, F: Sequence[Expr]) -> Force:
        """Return Cᵀ F."""
        back = self.leg.R.T
        return Force(back @ Vec(F[3:]), back @ Vec(F[:3]))

    def row(self, side: Side, axis: Vec) -> Entries:
        """Return the velocity of a point along an axis of the world as a row."""
        r = self.leg.R @ side.x
        entries = [*axis, *r.cross(axis)]
        return {self.first + k: e for k, e in enumerate(entries) if not e.is_zero}


@final
@dataclass(frozen=True, slots=True, eq=False)
class JointBlock:
    """The velocity of one degree of freedom."""

    first: int
    dof: int
    """its place in q̇"""
    size: int = 1


Block = PointBlock | BodyBlock | JointBlock
MOST_ROWS = 6
"""of points of a body, beyond which its own velocities are fewer"""


@final
class Blocks:
    """The blocks of all contacts and joints of a robot."""

    def __init__(self, touches: Sequence[Touch], dofs: Sequence[int]) -> None:
        self.all: list[Block] = []
        self._points: dict[tuple[int, int], PointBlock] = {}
        self._bodies: dict[int, BodyBlock] = {}
        self._joints: dict[int, JointBlock] = {}
        rows: dict[int, int] = {}
        for touch in touches:
            for side in touch.sides:
                rows[side.body] = rows.get(side.body, 0) + len(touch.axes)
        for k, touch in enumerate(touches):
            for side in touch.sides:
                if rows[side.body] <= MOST_ROWS:
                    axes = tuple(side.leg.R.T @ e for e in touch.axes)
                    block = PointBlock(self.size, side.body, side.x, axes)
                    self._points[k, side.body] = block
                elif side.body not in self._bodies:
                    block = BodyBlock(self.size, side.body, side.leg)
                    self._bodies[side.body] = block
                else:
                    continue
                self.all.append(block)
        for dof in dict.fromkeys(dofs):
            self._joints[dof] = JointBlock(self.size, dof)
            self.all.append(self._joints[dof])

    @property
    def size(self) -> int:
        """The number of rows so far."""
        return sum(block.size for block in self.all)

    @property
    def ranges(self) -> tuple[range, ...]:
        """The places of the rows of each block."""
        return tuple(range(b.first, b.first + b.size) for b in self.all)

    def touch_rows(self, k: int, touch: Touch) -> list[Entries]:
        """Return the velocity of contact k along its axes, as rows over the blocks."""
        found: list[Entries] = []
        for a, axis in enumerate(touch.axes):
            row: Entries = {}
            for sign, side in zip((ONE, -ONE), touch.sides, strict=False):
                point = self._points.get((k, side.body))
                own = (
                    self._bodies[side.body].row(side, axis)
                    if point is None
                    else {point.first + a: ONE}
                )
                for i, e in own.items():
                    row[i] = row.get(i, ZERO) + e * sign
            found.append(row)
        return found

    def joint_row(self, dof: int, sign: Expr) -> Entries:
        """Return the velocity of a degree of freedom as a row."""
        return {self._joints[dof].first: sign}
