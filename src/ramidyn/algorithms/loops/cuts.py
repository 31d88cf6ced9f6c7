"""Loops as cut joints of a tree: the bodies they join, where, and their rows.

A cut joint joins a frame A, fixed to body a, to a frame B, fixed to body b. It acts
along z of A, as joints of the tree do, and lets B move in A as a joint of its type
would; the rest are its rows. A body may be the world: then the cut holds a foot, or a
point of contact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from ramidyn.description.description import LoopDescription
from ramidyn.description.loop_types import ROWS, check_single, check_type
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError, unknown_name
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT

ORIGIN = Pose.identity()


@final
@dataclass(frozen=True, slots=True, eq=False)
class CutJoint:
    """One loop on a tree."""

    name: str
    type: str
    a: int = ROOT
    b: int = ROOT
    T_a: Pose = ORIGIN
    """frame A in the frame of tree body a"""
    T_b: Pose = ORIGIN
    coupled: tuple[int, ...] = ()
    """coupling: the bodies of the dependent joint and of those that it follows"""
    coefficients: tuple[float, ...] = ()
    length: float = math.nan
    as_rows: bool = False
    """it is never a cluster"""

    @property
    def rows(self) -> tuple[str, ...]:
        """What each of its rows holds."""
        return ROWS[self.type]


def cuts_of(model: Model) -> tuple[CutJoint, ...]:
    """Return the loops of a model on its tree."""
    seen: set[str] = set()
    for name in (loop.name for loop in model.loops):
        if name in seen:
            raise ModelError(f"two loops of robot {model.name!r} are called {name!r}")
        seen.add(name)
    return tuple(_cut(model, loop) for loop in model.loops)


def row_names(model: Model) -> tuple[str, ...]:
    """Return a name for every row: its loop, and what it constrains."""
    return tuple(f"{cut.name}.{row}" for cut in cuts_of(model) for row in cut.rows)


def _cut(model: Model, loop: LoopDescription) -> CutJoint:
    check_type(f"loop {loop.name!r}", loop.type)
    if loop.type == "coupling":
        coupled = tuple(_joint_body(model, loop, name) for name in loop.joints)
        return CutJoint(
            loop.name,
            loop.type,
            coupled=coupled,
            coefficients=loop.coefficients,
            as_rows=loop.as_rows,
        )
    (a, T_a), (b, T_b) = (
        _end(model, loop, body, T)
        for body, T in (
            (loop.body_a, loop.placement_a),
            (loop.body_b, loop.placement_b),
        )
    )
    if a == b:
        ends = f"{loop.body_a or 'world'!r} and {loop.body_b or 'world'!r}"
        raise ModelError(
            f"loop {loop.name!r} joins {ends}, which do not move relative to each "
            "other; expected bodies with a joint between them"
        )
    return CutJoint(
        loop.name,
        loop.type,
        a,
        b,
        T_a,
        T_b,
        length=loop.length,
        as_rows=loop.as_rows,
    )


def _end(
    model: Model, loop: LoopDescription, body: str | None, placement: Pose
) -> tuple[int, Pose]:
    if body is None:
        return ROOT, placement
    if body not in model.frames:
        owner = f"robot {model.name!r}, for loop {loop.name!r}"
        raise unknown_name("body", body, owner, model.body_names)
    frame = model.frames[body]
    return frame.body, frame.placement @ placement


def _joint_body(model: Model, loop: LoopDescription, name: str) -> int:
    for i, body in enumerate(model.tree.bodies):
        if body.joint.name == name:
            check_single(f"loop {loop.name!r}", name, body.joint.type.name)
            return i
    raise ModelError(f"loop {loop.name!r} couples joint {name!r}, which does not move")
