"""Where a robot is and how it moves: frames, centre of mass, momentum and energy.

``expressed_in`` says in which coordinates a motion of a frame is given, in Pinocchio's
sense:

    "local"                 the frame's own axes, at its origin
    "world"                 world axes, at the world's origin
    "local_world_aligned"   world axes, at the frame's origin
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ramify.algorithms import energy, kinematics, momentum
from ramify.algorithms import jacobian as jacobians
from ramify.algorithms.coriolis import (
    coriolis_in_body_frames,
    coriolis_in_root_frame,
)
from ramify.algorithms.crba import TreeEntries
from ramify.algorithms.jacobian import Columns
from ramify.algorithms.ltdl import ltdl
from ramify.algorithms.minv import minv_aba, minv_ltdl
from ramify.algorithms.momentum import Momenta
from ramify.errors import CompileError, UnknownName
from ramify.model.assembly import Frame
from ramify.model.coordinates import JointVector
from ramify.model.singular import check_dynamics
from ramify.quantities.base import Context, Quantity, array, zeros
from ramify.quantities.dynamics import (
    LOOPS_INSTEAD,
    by_factor_or_not,
    check_factor,
    public_matrix,
    sparse_mass_matrix,
)
from ramify.spatial.vector3 import ONE, ZERO, ZERO3, Mat, Vec
from ramify.spatial.vectors import Motion
from ramify.symbolic.expr import Expr

EXPRESSED_IN = ("local", "world", "local_world_aligned")
KINDS = ("spatial", "classical")

JACOBIANS: dict[str, Callable[..., Columns]] = {
    "local": jacobians.local_jacobian,
    "world": jacobians.world_jacobian,
    "local_world_aligned": jacobians.aligned_jacobian,
}


def pose(frame: str) -> Quantity:
    """Return the quantity T of a frame in the world: (4, 4), homogeneous, of q.

    ``T[:3, :3]`` are the frame's axes in those of the world, ``T[:3, 3]`` is its
    origin [m].
    """
    return Quantity(_name("pose", frame), ("q",), _pose, (("frame", frame),))


def velocity(frame: str, expressed_in: str = "local") -> Quantity:
    """Return the quantity v of a frame: (6,), spatial [m/s, rad/s], of q and qd."""
    _check(expressed_in)
    options = (("frame", frame), ("expressed_in", expressed_in))
    return Quantity(_name("velocity", frame), ("q", "qd"), _velocity, options)


def acceleration(
    frame: str, kind: str = "spatial", expressed_in: str = "local"
) -> Quantity:
    """Return the quantity a of a frame: (6,) [m/s², rad/s²], of q, qd and qdd.

    Args:
        frame: its name.
        kind: "spatial" (the rate of the spatial velocity) or "classical" (the linear
            part is the acceleration of a point: that at the frame's origin, or, in
            "world", of the body's point at the world's origin). Gravity is not in it.
        expressed_in: "local", "world" or "local_world_aligned".
    """
    _check(expressed_in, kind)
    options = (("frame", frame), ("kind", kind), ("expressed_in", expressed_in))
    name = _name("acceleration", frame)
    return Quantity(name, ("q", "qd", "qdd"), _acceleration, options)


def jacobian(frame: str, expressed_in: str = "local") -> Quantity:
    """Return the quantity J of a frame: (6, nv), with v = J q̇, of q."""
    _check(expressed_in)
    options = (("frame", frame), ("expressed_in", expressed_in))
    return Quantity(_name("jacobian", frame), ("q",), _jacobian, options)


def jacobian_dot_times_qd(
    frame: str, kind: str | None = None, expressed_in: str = "local"
) -> Quantity:
    """Return the quantity J̇ q̇ of a frame: (6,), with a = J q̈ + J̇ q̇, of q and qd.

    Args:
        frame: its name.
        kind: of the acceleration a: "spatial", "classical", or None for the one that
            is the rate of v = J q̇ itself: classical in "local_world_aligned", where
            the point moves along, spatial elsewhere.
        expressed_in: "local", "world" or "local_world_aligned".
    """
    _check(expressed_in)
    if kind is None:
        kind = "classical" if expressed_in == "local_world_aligned" else "spatial"
    _check(expressed_in, kind)
    options = (("frame", frame), ("kind", kind), ("expressed_in", expressed_in))
    name = _name("jacobian_dot_times_qd", frame)
    return Quantity(name, ("q", "qd"), _jacobian_dot_times_qd, options)


def _name(word: str, frame: str) -> str:
    """Return a name that can be a field of a named tuple."""
    return re.sub(r"[^0-9A-Za-z_]", "_", f"{word}_{frame}")


def _check(expressed_in: str, kind: str = "spatial") -> None:
    if expressed_in not in EXPRESSED_IN:
        raise UnknownName(
            f"expressed_in is {expressed_in!r}; possible: "
            + ", ".join(map(repr, EXPRESSED_IN))
        )
    if kind not in KINDS:
        raise UnknownName(f"kind is {kind!r}; possible: 'spatial', 'classical'")


def _pose(context: Context, frame: str) -> Any:
    R, p = kinematics.pose(context.tree, context.q, context.model.frame(frame))
    rows = [[*row, x] for row, x in zip(R, p, strict=True)]
    return array([*rows, [ZERO, ZERO, ZERO, ONE]])


def _velocity(context: Context, frame: str, expressed_in: str) -> Any:
    _check(expressed_in)
    f = context.model.frame(frame)
    v = kinematics.velocity(context.tree, context.q, context.qd, f)
    return _six(context, _expressed(context, f, expressed_in, v))


def _acceleration(context: Context, frame: str, kind: str, expressed_in: str) -> Any:
    return _accelerated(context, context.qdd, frame, kind, expressed_in)


def _jacobian_dot_times_qd(
    context: Context, frame: str, kind: str, expressed_in: str
) -> Any:
    still = context.coordinates.acceleration(zeros(context.model.nv), context.qd)
    return _accelerated(context, still, frame, kind, expressed_in)


def _accelerated(
    context: Context, qdd: JointVector, frame: str, kind: str, expressed_in: str
) -> Any:
    _check(expressed_in, kind)
    f = context.model.frame(frame)
    tree, q, qd = context.tree, context.q, context.qd
    if kind == "classical" and expressed_in != "world":
        a = kinematics.classical_acceleration(tree, q, qd, qdd, f)
        return _six(context, _expressed(context, f, expressed_in, a))
    a = kinematics.spatial_acceleration(tree, q, qd, qdd, f)
    a = _expressed(context, f, expressed_in, a)
    if kind == "classical":
        v = kinematics.velocity(tree, q, qd, f)
        a = kinematics.classical(a, _expressed(context, f, expressed_in, v))
    return _six(context, a)


def _expressed(context: Context, frame: Frame, expressed_in: str, m: Motion) -> Motion:
    """Return a motion that is given in a frame's own coordinates in others."""
    if expressed_in == "local":
        return m
    X = kinematics.to_frame(context.tree, context.q, frame)
    if expressed_in == "world":
        return X.inverse(m)
    return Motion(X.rotate_back(m.w), X.rotate_back(m.v))


def _six(context: Context, m: Motion) -> Any:
    return array(context.six(m.w, m.v))


def _jacobian(context: Context, frame: str, expressed_in: str) -> Any:
    _check(expressed_in)
    f = context.model.frame(frame)
    found = JACOBIANS[expressed_in](context.tree, context.q, f)
    columns = {k: (m.w, m.v) for k, m in found.J.items()}
    return _public_rows(context, columns, _translations(context, found.parent_axes, {}))


def _translations(
    context: Context, parent_axes: Mapping[int, Mat], masses: Mapping[int, Expr]
) -> dict[int, tuple[Vec, Vec]]:
    """Return the columns that are already in the caller's coordinates, by entry of q̇.

    Where a floating joint's linear q̇ is along the axes of its parent, these columns
    are those axes: what P would turn into the body's axes never has to be turned back.
    """
    known: dict[int, tuple[Vec, Vec]] = {}
    for i, entries in _world_linear(context).items():
        if i in parent_axes:
            for k, axis in zip(entries, parent_axes[i].T, strict=True):
                known[k] = ZERO3, axis * masses.get(i, ONE)
    return known


def _world_linear(context: Context) -> dict[int, range]:
    """Return where in q̇ the linear parts along the parent's axes are, by body."""
    c = context.conventions
    if c.floating_velocity == "body":
        return {}
    skip = 0 if c.order == "linear_first" else 3
    return {
        i: range(b.joint.v_index + skip, b.joint.v_index + skip + 3)
        for i, b in enumerate(context.tree.bodies)
        if b.joint.kind == "floating"
    }


def _public_rows(
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


def _center_of_mass(context: Context) -> Any:
    return array(momentum.center_of_mass(context.tree, context.q))


def _center_of_mass_jacobian(context: Context) -> Any:
    found = momentum.center_of_mass_jacobian(context.tree, context.q)
    rows = _momentum_rows(context, found)
    return rows[:3] if context.conventions.order == "linear_first" else rows[3:]


def _centroidal_momentum(context: Context) -> Any:
    h = momentum.centroidal_momentum(
        context.tree, context.q, context.qd, context.dynamics_tree
    )
    return array(context.six(h.n, h.f))


def _centroidal_momentum_matrix(context: Context) -> Any:
    found = momentum.centroidal_momentum_matrix(context.tree, context.q)
    return _momentum_rows(context, found)


def _momentum_rows(context: Context, found: Momenta) -> Any:
    columns = {k: (F.n, F.f) for k, F in found.A.items()}
    known = {}
    if len(context.tree.roots) == 1:
        known = _translations(context, found.parent_axes, found.masses)
    return _public_rows(context, columns, known)


def _kinetic_energy(context: Context) -> Any:
    return energy.kinetic_energy(context.dynamics_tree, context.q, context.qd)


def _potential_energy(context: Context) -> Any:
    return energy.potential_energy(context.tree, context.q, context.gravity)


CORIOLIS: dict[str, Callable[..., TreeEntries]] = {
    "body_frames": coriolis_in_body_frames,
    "root_frame": coriolis_in_root_frame,
}


def _coriolis_matrix(context: Context, algorithm: str = "auto") -> Any:
    if algorithm not in CORIOLIS:
        possible = ", ".join(map(repr, ("auto", *CORIOLIS)))
        raise UnknownName(f"algorithm is {algorithm!r}; possible: {possible}")
    tree = context.dynamics_tree
    still = {k for i in _world_linear(context) for k in tree.dofs[i][3:]}
    C = CORIOLIS[algorithm](tree, context.q, context.qd, still)
    return array(_congruent(context, C))


def _congruent(context: Context, C: TreeEntries) -> list[list[Expr]]:
    """Return Pᵀ C P of any matrix over the tree's degrees of freedom."""
    dofs = range(len(context.coordinates.P))
    row = context.coordinates.row
    half = [row([C.get((i, j), ZERO) for j in dofs]) for i in dofs]
    columns = [row([half[i][b] for i in dofs]) for b in range(context.model.nv)]
    return [list(r) for r in zip(*columns, strict=True)]


def _mass_matrix_inverse(context: Context, algorithm: str = "auto") -> Any:
    check_dynamics(context.model)
    if algorithm == "aba":
        if context.model.mimics:
            raise CompileError(
                f"algorithm is 'aba', but joint {context.model.mimics[0]!r} follows "
                "another, which ties branches together; possible: 'auto', 'ltdl'"
            )
        found = minv_aba(context.dynamics_tree, context.q)
        return array(public_matrix(context, found))
    if algorithm != "ltdl":
        raise UnknownName(
            f"algorithm is {algorithm!r}; possible: 'auto', 'aba', 'ltdl'"
        )
    by_aba = "use algorithm='aba'"
    check_factor(context.model, LOOPS_INSTEAD if context.model.mimics else by_aba)
    M, parents, order = sparse_mass_matrix(context)
    L, D = ltdl(M, parents)
    n = context.model.nv
    out = [zeros(n) for _ in range(n)]
    for (i, j), value in minv_ltdl(L, D, parents).items():
        out[order[i]][order[j]] = out[order[j]][order[i]] = value
    return array(out)


center_of_mass = Quantity("center_of_mass", ("q",), _center_of_mass)
center_of_mass_jacobian = Quantity(
    "center_of_mass_jacobian", ("q",), _center_of_mass_jacobian
)
centroidal_momentum = Quantity("centroidal_momentum", ("q", "qd"), _centroidal_momentum)
centroidal_momentum_matrix = Quantity(
    "centroidal_momentum_matrix", ("q",), _centroidal_momentum_matrix
)
kinetic_energy = Quantity("kinetic_energy", ("q", "qd"), _kinetic_energy)
potential_energy = Quantity("potential_energy", ("q",), _potential_energy)
coriolis_matrix = Quantity(
    "coriolis_matrix", ("q", "qd"), _coriolis_matrix, algorithms=tuple(CORIOLIS)
)
mass_matrix_inverse = Quantity(
    "mass_matrix_inverse",
    ("q",),
    _mass_matrix_inverse,
    algorithms=("aba", "ltdl"),
    possible=by_factor_or_not,
)
