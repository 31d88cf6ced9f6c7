"""The closed loops of a robot; add one to a robot.

See `assembly` for closed configurations, `projection` for states that are nearly
consistent, `mobility` for degrees of freedom and actuation, and `simulation` for
motion.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast, final

import numpy.typing as npt

from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.compiler import program_of
from ramidyn.description.builder_checks import Placement, checked_pose
from ramidyn.description.editing import frame_of
from ramidyn.description.loop_types import (
    ROWS,
    check_given,
    check_single,
    check_type,
    coupling,
    cut_joint,
    free_name,
)
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    ShapeError,
    flag_of,
    is_among,
    one_of,
    unknown_name,
)
from ramidyn.mechanism.assembly import assemble
from ramidyn.mechanism.constraints.rank import CLOSED, rank_of
from ramidyn.mechanism.state_arrays import normalized
from ramidyn.quantities.frames import pose
from ramidyn.symbolic.interpreter import evaluate

if TYPE_CHECKING:
    from ramidyn.robot import Robot

# ------------------------------------------------------------ loops of a robot


@final
@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """One loop of a robot: what it connects, and its constraint rows."""

    name: str
    type: str
    body_a: str
    """a body, or "world"; "" for a coupling"""
    body_b: str
    joints: tuple[str, ...]
    """joints of a coupling"""
    rows: range
    """its rows of Φ and J"""
    holds: tuple[str, ...]
    """what each row constrains: positions "px", "py", "pz" and rotations "rx", "ry",
    "rz" along the axes of the cut's frame on a, an angle "u", a distance "d", a
    coupling "c" """


def loops_of(robot: Robot) -> tuple[Loop, ...]:
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
    placement_a: Placement | None = None,
    placement_b: Placement | None = None,
    name: str | None = None,
    length: float | None = None,
    joints: Sequence[str] | None = None,
    coefficients: Sequence[float] | None = None,
    q: npt.ArrayLike | None = None,
    check: bool = True,
) -> Robot:
    """Return the robot with one more loop; see `Robot.add_loop`."""
    at = robot.neutral() if q is None else normalized(robot, "q", q)
    if name is not None and not (isinstance(cast(object, name), str) and name):
        raise ArgumentError(f"name is {name!r}; expected the name of a loop")
    said = f"loop {name!r}: joint" if name else "joint"
    type_ = check_type(said, joint)
    names = [x.name for x in robot.model.loops]
    label = name or free_name(type_, names)
    what = f"loop {label!r}"
    if label in names:
        raise ModelError(f"{what} already exists in robot {robot.name!r}")
    of_cut = (body_a, body_b, placement_a, placement_b, length)
    of_coupling = {"joints": joints, "coefficients": coefficients}
    check_given(what, type_, of_cut, of_coupling)
    if type_ == "coupling":
        new = coupling(what, label, joints, coefficients)
        for n in new.joints:
            check_single(what, n, robot.model.joint(n).type)
    else:
        ends = _body(robot, what, body_a), _body(robot, what, body_b)
        T_a, T_b = (
            None if x is None else checked_pose(f"{what}: {which}", x, ShapeError)
            for which, x in (("placement_a", placement_a), ("placement_b", placement_b))
        )
        new = cut_joint(
            what, label, type_, ends, T_a, T_b, length, partial(_pose, robot, at)
        )
    description = replace(robot.description, loops=(*robot.model.loops, new))
    closed = type(robot).from_description(
        description,
        conventions=robot.conventions,
        joint_order=robot.joint_order,
        mimic=robot.mimic,
    )
    cuts_of(closed.model)
    if flag_of("check", check):
        check_loops(closed, robot, at)
    return closed


def pinned_frame(
    robot: Robot, frame: str, q: npt.ArrayLike, joint: str
) -> tuple[str | None, Pose, Pose]:
    """Return the body of a frame to pin, and its poses at q: in the world, in it."""
    body, T_body_frame = frame_of(robot.description, frame)
    kinds = [n for n in ROWS if n not in ("distance", "coupling")]
    one_of("pin: joint", joint, kinds)
    T_world_body = _pose(robot, normalized(robot, "q", q), body)
    return body, T_world_body @ T_body_frame, T_body_frame


def check_loops(
    robot: Robot, before: Robot | None = None, q: Array | None = None
) -> None:
    """Raise ModelError if no closed configuration is found; warn about redundant rows.

    Args:
        robot: the robot.
        before: the robot without its last loop, if only that one is new.
        q: where to start; neutral by default.
    """
    rank = rank_of(robot.placed_model, robot.conventions)
    last = loops_of(robot)[-1]
    if rank.q is None:
        try:
            assemble(robot, q)
        except ModelError as error:
            raise ModelError(
                f"loop {last.name!r} cannot be closed: {error}; check=False adds it "
                "anyway"
            ) from None
    if rank.closed > CLOSED:
        warnings.warn(
            f"loop {last.name!r}: the loops of robot {robot.name!r} close only to "
            f"within {rank.closed:.1e}, probably because placements are rounded; rows "
            "redundant to that tolerance are treated as redundant",
            ModelWarning,
            stacklevel=4,
        )
    known = 0
    if before is not None and before.model.loops:
        known = rank_of(before.placed_model, before.conventions).rank
    new = min(max(rank.rank - known, 0), len(last.rows))
    left = rank.rows - len(rank.dropped)
    if rank.q is not None and (rank.rank < left or new == 0):
        warnings.warn(
            f"loop {last.name!r} is redundant: only {new} of its {len(last.rows)} "
            f"rows are independent of the others (rank {rank.rank} of {rank.rows} "
            f"rows of robot {robot.name!r}); its multipliers are not unique",
            ModelWarning,
            stacklevel=4,
        )


def _body(robot: Robot, what: str, name: str | None) -> str | None:
    if name is None or is_among(name, ("world",)):
        return None
    if not is_among(name, robot.body_names):
        known = (*robot.body_names, "world")
        owner = f"robot {robot.name!r}, for {what}"
        raise unknown_name("body", str(name), owner, known)
    return name


def _pose(robot: Robot, q: Array, body: str | None) -> Pose:
    program = program_of(pose(body or "world"), robot)
    (T,) = evaluate(program, {"q": q}).values()
    return Pose(T[:3, :3], T[:3, 3])
