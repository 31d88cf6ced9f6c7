"""Mechanisms: the closed loops of a robot, and robots with one more.

See `closing` for configurations in which loops are closed, `mobility` for how they can
move and what drives them, `simulation` for how they do.
"""

# ruff: noqa: N803, N806  the book's letters: J, N, T_a

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ramify.algorithms.loops.cuts import ROWS, cuts_of
from ramify.closing import assemble, check_state, project
from ramify.compiling import program_of
from ramify.errors import (
    ModelError,
    ModelWarning,
    UnsupportedJoint,
    unknown_name,
)
from ramify.mobility import Mobility, constrained_inverse_dynamics, mobility
from ramify.model.description import LoopDescription
from ramify.model.editing import Placement, pose_of
from ramify.model.pose import Pose
from ramify.quantities.kinematics import pose
from ramify.quantities.redundancy import rank_of
from ramify.robot import Robot
from ramify.simulation import Simulation, simulate
from ramify.symbolic.interpreter import evaluate

__all__ = [
    "Loop",
    "Mobility",
    "Simulation",
    "add_loop",
    "assemble",
    "check_loops",
    "check_state",
    "constrained_inverse_dynamics",
    "loops",
    "mobility",
    "project",
    "simulate",
]

# ------------------------------------------------------------ loops of a robot


@final
@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """One loop of a robot: what it joins, and its rows of the constraints."""

    name: str
    type: str
    body_a: str
    """a body, or "world"; "" for a coupling"""
    body_b: str
    joints: tuple[str, ...]
    """what a coupling couples"""
    rows: range
    """its rows of Φ and J"""
    holds: tuple[str, ...]
    """what each row holds: positions "px", "py", "pz" and turns "rx", "ry", "rz" along
    the axes of the cut's frame on a, an angle "u", a distance "d", a coupling "c" """


def loops(robot: Robot) -> tuple[Loop, ...]:
    """Return the loops of a robot, in the order of the rows of its constraints."""
    found: list[Loop] = []
    start = 0
    for given, cut in zip(robot.model.loops, cuts_of(robot.model), strict=True):
        is_coupling = given.type == "coupling"
        a, b = (
            "" if is_coupling else n or "world" for n in (given.body_a, given.body_b)
        )
        rows = range(start, start + len(cut.rows))
        found.append(Loop(given.name, given.type, a, b, given.joints, rows, cut.rows))
        start = rows.stop
    return tuple(found)


def add_loop(
    robot: Robot,
    body_a: str | None = None,
    body_b: str | None = None,
    *,
    joint: str = "spherical",
    placement_a: Placement = (0.0, 0.0, 0.0),
    placement_b: Placement | None = None,
    name: str | None = None,
    length: float | None = None,
    joints: Sequence[str] = (),
    coefficients: Sequence[float] = (0.0, 1.0),
    check: bool = True,
) -> Robot:
    """Return the robot with one more loop: body b held to body a by a cut joint.

    Args:
        robot: the robot.
        body_a: a body; "world" or None is what does not move.
        body_b: the other.
        joint: what holds them, along z of the frame on a: "weld", "revolute",
            "prismatic", "universal", "cylindrical", "spherical", "planar",
            "point_on_line", "point_on_plane", "distance" (a rod), or "coupling".
        placement_a: the cut's frame in body a.
        placement_b: the cut's frame in body b; by default where it meets the one in a
            with all joints at neutral.
        name: of the loop.
        length: distance: of the rod; by default what it is at neutral.
        joints: coupling: the dependent joint and the one that it follows.
        coefficients: coupling: y = Σ c_k x^k; (0, 2) is a gear.
        check: whether to see that all loops can be closed together.

    Raises:
        ModelError: the loop cannot be, or cannot be closed together with the others.
    """
    if joint not in ROWS:
        raise UnsupportedJoint(
            f"joint is {joint!r}; a loop can be closed by: {', '.join(ROWS)}"
        )
    names = [x.name for x in robot.model.loops]
    label = name or _free_name(joint, names)
    if label in names:
        raise ModelError(f"loop {label!r} is in robot {robot.name!r} already")
    if joint == "coupling":
        new = _coupling(robot, label, joints, coefficients)
    else:
        ends = _body(robot, body_a), _body(robot, body_b)
        if ends[0] == ends[1]:
            raise ModelError(f"loop {label!r} joins {ends[0] or 'world'!r} to itself")
        T_a = pose_of(f"loop {label!r}: placement_a", placement_a)
        T_b = _other_end(robot, label, joint, ends, T_a, placement_b)
        rod = _length(robot, label, joint, ends, (T_a, T_b), length)
        new = LoopDescription(label, joint, *ends, T_a, T_b, length=rod)
    description = replace(robot.description, loops=(*robot.model.loops, new))
    closed = Robot.from_description(
        description,
        conventions=robot.conventions,
        joint_order=robot.joint_order,
        mimic=robot.mimic,
    )
    cuts_of(closed.model)
    if check:
        check_loops(closed, robot)
    return closed


def check_loops(robot: Robot, before: Robot | None = None) -> None:
    """Raise ModelError if no closed configuration is found; warn of redundant rows.

    Args:
        robot: the robot.
        before: the robot without its last loop, where only that one is new.
    """
    rank = rank_of(robot.placed_model, robot.conventions)
    last = loops(robot)[-1]
    if rank.q is None:
        try:
            assemble(robot)
        except ModelError as error:
            raise ModelError(
                f"loop {last.name!r} cannot be closed: {error}; check=False adds it "
                "all the same"
            ) from None
    known = 0
    if before is not None and before.model.loops:
        known = rank_of(before.placed_model, before.conventions).rank
    new = min(max(rank.rank - known, 0), len(last.rows))
    left = rank.rows - len(rank.dropped)
    if rank.q is not None and (rank.rank < left or new == 0):
        warnings.warn(
            f"loop {last.name!r} is redundant: of its {len(last.rows)} rows {new} are "
            f"independent of the others (rank {rank.rank} of {rank.rows} rows of robot "
            f"{robot.name!r}); its multipliers are not unique",
            ModelWarning,
            stacklevel=3,
        )


def _free_name(joint: str, names: Sequence[str]) -> str:
    k = 0
    while f"{joint}{k}" in names:
        k += 1
    return f"{joint}{k}"


def _body(robot: Robot, name: str | None) -> str | None:
    if name is None or name == "world":
        return None
    if name not in robot.body_names:
        known = (*robot.body_names, "world")
        raise unknown_name("body", str(name), f"robot {robot.name!r}", known)
    return name


def _neutral_pose(robot: Robot, body: str | None) -> Pose:
    program = program_of(pose(body or "world"), robot)
    (T,) = evaluate(program, {"q": robot.neutral()}).values()
    return Pose(T[:3, :3], T[:3, 3])


def _other_end(
    robot: Robot,
    label: str,
    joint: str,
    ends: tuple[str | None, str | None],
    T_a: Pose,
    placement_b: Placement | None,
) -> Pose:
    if placement_b is not None:
        return pose_of(f"loop {label!r}: placement_b", placement_b)
    if joint == "distance":
        raise ModelError(f"loop {label!r}: a distance needs placement_b, its other end")
    T_world_a, T_world_b = (_neutral_pose(robot, n) for n in ends)
    return T_world_b.inverse() @ T_world_a @ T_a


def _length(
    robot: Robot,
    label: str,
    joint: str,
    ends: tuple[str | None, str | None],
    cuts: tuple[Pose, Pose],
    length: float | None,
) -> float:
    if joint != "distance":
        if length is not None:
            raise ModelError(f"loop {label!r}: only a distance has a length")
        return math.nan
    if length is None:
        points = [
            _neutral_pose(robot, n).apply(T.p) for n, T in zip(ends, cuts, strict=True)
        ]
        length = float(np.linalg.norm(points[0] - points[1]))
    if not (math.isfinite(length) and length > 0):
        raise ModelError(f"loop {label!r}: length is {length:g}; expected more than 0")
    return float(length)


def _coupling(
    robot: Robot, label: str, joints: Sequence[str], coefficients: Sequence[float]
) -> LoopDescription:
    if isinstance(joints, str) or len(joints) not in (1, 2):
        raise ModelError(
            f"loop {label!r}: joints is {joints!r}; a coupling needs one joint or two"
        )
    for n in joints:
        robot.model.joint(n)
    c = tuple(float(x) for x in coefficients)
    if not c or not all(map(math.isfinite, c)):
        raise ModelError(f"loop {label!r}: coefficients are {coefficients!r}")
    return LoopDescription(
        label,
        "coupling",
        joints=tuple(joints),
        coefficients=c if len(joints) > 1 else c[:1],
    )
