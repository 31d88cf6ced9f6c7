"""Poses, velocities, accelerations and Jacobians of frames.

``expressed_in`` names the coordinates of a frame's motion, as in Pinocchio:

    "local"                 the frame's own axes, at its origin
    "world"                 world axes, at the world's origin
    "local_world_aligned"   world axes, at the frame's origin
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ramidyn.algorithms import jacobian as jacobians
from ramidyn.algorithms import kinematics
from ramidyn.algorithms.jacobian import Columns
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.errors import one_of
from ramidyn.spatial.vector3 import ONE, ZERO, ZERO3, Mat, Vec
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tracing.context import KINDS, Context, array, zeros
from ramidyn.tracing.quantity import quantity
from ramidyn.tree.model import Frame

JACOBIANS: dict[str, Callable[..., Columns]] = {
    "local": jacobians.local_jacobian,
    "world": jacobians.world_jacobian,
    "local_world_aligned": jacobians.aligned_jacobian,
}


@quantity("q", returns="homogeneous transform [-, m]")
def pose(context: Context, frame: str) -> Any:
    """T of a frame in the world."""
    R, p = kinematics.pose(context.tree, context.q, context.model.frame(frame))
    rows = [[*row, x] for row, x in zip(R, p, strict=True)]
    return array([*rows, [ZERO, ZERO, ZERO, ONE]])


@quantity("q", "qd", returns="velocity of the frame [m/s, rad/s]")
def velocity(context: Context, frame: str, expressed_in: str = "local") -> Any:
    """v of a frame."""
    f = context.model.frame(frame)
    v = kinematics.velocity(context.tree, context.q, context.qd, f)
    return _six(context, _expressed_motion(context, f, expressed_in, v))


@quantity("q", "qd", "qdd", returns="acceleration of the frame [m/s^2, rad/s^2]")
def acceleration(
    context: Context, frame: str, kind: str = "classical", expressed_in: str = "local"
) -> Any:
    """a of a frame."""
    return _frame_acceleration(context, context.qdd, frame, kind, expressed_in)


@quantity("q", "qd", returns="Jd qd [m/s^2, rad/s^2]")
def jacobian_dot_times_qd(
    context: Context,
    frame: str,
    kind: str | None = None,
    expressed_in: str = "local",
) -> Any:
    """J̇ q̇ of a frame; without ``kind``, what is the rate of v = J q̇ itself."""
    if kind is None:
        kind = "classical" if expressed_in == "local_world_aligned" else "spatial"
    still = context.coordinates.acceleration(zeros(context.model.nv), context.qd)
    return _frame_acceleration(context, still, frame, kind, expressed_in)


@quantity("q", returns="Jacobian of the frame")
def jacobian(context: Context, frame: str, expressed_in: str = "local") -> Any:
    """J of a frame: v = J q̇."""
    f = context.model.frame(frame)
    found = JACOBIANS[expressed_in](context.tree, context.q, f)
    columns = {k: (m.w, m.v) for k, m in found.J.items()}
    return public_rows(context, columns, translations(context, found.parent_axes, {}))


def _frame_acceleration(
    context: Context, qdd: JointVector, frame: str, kind: str, expressed_in: str
) -> Any:
    one_of("kind", kind, KINDS)
    f = context.model.frame(frame)
    tree, q, qd = context.tree, context.q, context.qd
    if kind == "classical" and expressed_in != "world":
        a = kinematics.classical_acceleration(tree, q, qd, qdd, f)
        return _six(context, _expressed_motion(context, f, expressed_in, a))
    a = kinematics.spatial_acceleration(tree, q, qd, qdd, f)
    a = _expressed_motion(context, f, expressed_in, a)
    if kind == "classical":
        v = kinematics.velocity(tree, q, qd, f)
        a = kinematics.classical(a, _expressed_motion(context, f, expressed_in, v))
    return _six(context, a)


def _expressed_motion(
    context: Context, frame: Frame, expressed_in: str, m: Motion
) -> Motion:
    """Return a motion that is given in a frame's own coordinates in others."""
    if expressed_in == "local":
        return m
    X = kinematics.to_frame(context.tree, context.q, frame)
    if expressed_in == "world":
        return X.inverse(m)
    return Motion(X.rotate_back(m.w), X.rotate_back(m.v))


def _six(context: Context, m: Motion) -> Any:
    return array(context.six(m.w, m.v))


def translations(
    context: Context, parent_axes: Mapping[int, Mat], masses: Mapping[int, Expr]
) -> dict[int, tuple[Vec, Vec]]:
    """Return the columns that are already in the caller's coordinates, by entry of q̇.

    Where a floating joint's linear q̇ is along the axes of its parent, these columns
    are those axes: what P would turn into the body's axes never has to be turned back.
    """
    known: dict[int, tuple[Vec, Vec]] = {}
    for i, entries in world_linear(context).items():
        if i in parent_axes:
            for k, axis in zip(entries, parent_axes[i].T, strict=True):
                known[k] = ZERO3, axis * masses.get(i, ONE)
    return known


def world_linear(context: Context) -> dict[int, range]:
    """Return the places in q̇ of linear parts along the parent's axes, by body."""
    c = context.conventions
    if c.floating_velocity == "body":
        return {}
    skip = 0 if c.order == "linear_first" else 3
    return {
        i: range(b.joint.v_index + skip, b.joint.v_index + skip + 3)
        for i, b in enumerate(context.tree.bodies)
        if b.joint.type.is_free
    }


def public_rows(
    context: Context,
    columns: Mapping[int, tuple[Vec, Vec]],
    known: Mapping[int, tuple[Vec, Vec]],
) -> Any:
    """Return the matrix of (angular, linear) columns, in the caller's q̇ and order."""
    dofs = range(len(context.coordinates.P))
    halves: list[list[list[Expr]]] = []
    for half in range(2):
        rows: list[list[Expr]] = []
        for r in range(3):
            x = [columns[k][half][r] if k in columns else ZERO for k in dofs]
            row = context.coordinates.row(x)
            for k, column in known.items():
                row[k] = column[half][r]
            rows.append(row)
        halves.append(rows)
    return array(context.six(*halves))  # type: ignore[arg-type]
