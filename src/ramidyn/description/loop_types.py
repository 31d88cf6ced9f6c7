"""The joint types that can close a loop, and the checks that they share.

A loop is a cut joint between a frame A on body a and a frame B on body b, along z of
A, or a coupling of two joints. `robot.add_loop`, `RobotBuilder.add_loop`, URDF's
``<loop>`` and MJCF's ``<equality>`` all end in a `LoopDescription`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, cast

from ramidyn.description.constants import norm
from ramidyn.description.description import LoopDescription
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError, UnsupportedJoint, is_among

ROWS: dict[str, tuple[str, ...]] = {
    "weld": ("px", "py", "pz", "rx", "ry", "rz"),
    "revolute": ("px", "py", "pz", "rx", "ry"),
    "prismatic": ("px", "py", "rx", "ry", "rz"),
    "universal": ("px", "py", "pz", "u"),
    "cylindrical": ("px", "py", "rx", "ry"),
    "spherical": ("px", "py", "pz"),
    "planar": ("pz", "rx", "ry"),
    "point_on_line": ("px", "py"),
    "point_on_plane": ("pz",),
    "distance": ("d",),
    "coupling": ("c",),
}
"""What each type of cut holds: positions p of B along the axes of A, turns r about
them, the angle u between z of A and x of B, a distance d or a coupling c."""

SCREWS = ("helical", "screw")


def check_type(what: str, given: object) -> str:
    """Return a type of loop, or raise UnsupportedJoint with those that there are."""
    if isinstance(given, str) and given in ROWS:
        return given
    close = (
        difflib.get_close_matches(given, ROWS, n=1) if isinstance(given, str) else []
    )
    hint = f" Close: {close[0]!r}." if close else ""
    if is_among(given, SCREWS):
        hint = (
            " A cut cannot express a screw's pitch: make the screw a joint of the "
            "tree, and cut the loop elsewhere."
        )
    raise UnsupportedJoint(
        f"{what} is {given!r}; a loop can be closed by: {', '.join(ROWS)}.{hint}"
    )


def check_given(
    what: str, type_: str, of_cut: Sequence[object], of_coupling: Mapping[str, object]
) -> None:
    """Raise ModelError for what was given (is not None) and has no meaning here."""
    if type_ == "coupling":
        if any(x is not None for x in of_cut):
            raise ModelError(
                f"{what}: a coupling has joints and coefficients; it has no bodies, "
                "placements or length"
            )
        return
    for name, value in of_coupling.items():
        if value is not None:
            raise ModelError(f"{what}: only a coupling has {name}")


Ends = tuple[str | None, str | None]
"""two bodies; None is the world"""


def cut_joint(
    what: str,
    name: str,
    type_: str,
    ends: Ends,
    cut_a: Pose | None,
    cut_b: Pose | None,
    length: float | None = None,
    body_pose: Callable[[str | None], Pose] = lambda _: Pose.identity(),
) -> LoopDescription:
    """Return the loop of a cut joint.

    Args:
        what: what errors call it.
        name: of the loop.
        type_: one of ROWS, except a coupling.
        ends: the bodies.
        cut_a: the cut's frame in body a; None: its own.
        cut_b: that in body b; None: where it meets the one in a.
        length: of a distance; None: what it is.
        body_pose: the pose of a body in the world where the loop is closed.
    """
    cut_a = Pose.identity() if cut_a is None else cut_a
    if ends[0] == ends[1]:
        raise ModelError(f"{what} joins {ends[0] or 'world'!r} to itself")
    if type_ != "distance":
        if length is not None:
            raise ModelError(f"{what}: only a 'distance' loop has a length")
        if cut_b is None:
            cut_b = body_pose(ends[1]).inverse() @ body_pose(ends[0]) @ cut_a
        return LoopDescription(name, type_, *ends, cut_a, cut_b)
    if cut_b is None:
        raise ModelError(
            f"{what}: a 'distance' loop needs placement_b for its other end"
        )
    if length is None:
        a, b = body_pose(ends[0]).apply(cut_a.p), body_pose(ends[1]).apply(cut_b.p)
        length = norm((a - b).tolist())
    (rod,) = _numbers(f"{what}: length", (length,))
    if rod <= 0:
        raise ModelError(f"{what}: length is {rod:g}; expected more than 0")
    return LoopDescription(name, type_, *ends, cut_a, cut_b, length=rod)


def coupling(
    what: str,
    name: str,
    joints: Sequence[str] | None,
    coefficients: Sequence[float] | None,
) -> LoopDescription:
    """Return the loop y = Σ c_k x^k of the joints y and x, or y = c_0 of one.

    Of more joints, it is y = c_0 + Σ c_k x_k.
    """
    if not joints or isinstance(joints, str):
        raise ModelError(
            f"{what}: joints is {joints!r}; a coupling needs one joint or more"
        )
    if coefficients is None:
        coefficients = (0.0, *(1.0 for _ in joints[1:] or "x"))
    if len(set(joints)) < len(joints):
        raise ModelError(f"{what} couples joint {joints[0]!r} to itself")
    c = _numbers(f"{what}: coefficients", coefficients)
    if not c:
        raise ModelError(f"{what}: coefficients is empty; expected finite numbers")
    if len(joints) > 2 and len(c) != len(joints):
        raise ModelError(
            f"{what}: coefficients is {coefficients!r}; a coupling of {len(joints)} "
            f"joints needs {len(joints)} numbers: c_0, and one for each joint that the "
            "first follows"
        )
    kept = c if len(joints) > 1 else c[:1]
    return LoopDescription(name, "coupling", joints=tuple(joints), coefficients=kept)


def free_name(type_: str, names: Container[str]) -> str:
    """Return a name for a loop that was given none."""
    return next(n for k in count() if (n := f"{type_}{k}") not in names)


def check_single(what: str, joint: str, type_: str) -> None:
    """Raise ModelError unless a coupled joint's type has one coordinate."""
    if joint_type(joint, type_).nq != 1:
        raise ModelError(
            f"{what} couples joint {joint!r}, which is {type_}; expected a joint with "
            "one coordinate"
        )


def _numbers(what: str, given: Iterable[float]) -> tuple[float, ...]:
    try:
        numbers = tuple(float(cast(Any, x)) for x in given)
    except (TypeError, ValueError):
        numbers = (math.nan,)
    if not all(map(math.isfinite, numbers)):
        raise ModelError(f"{what} is {given!r}; expected finite numbers")
    return numbers
