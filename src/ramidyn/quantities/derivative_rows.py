"""Derivatives of the dynamics row by row: by recursion over the tree, or of programs.

    τ = ID(q, q̇, q̈)        ∂q̈ = M⁻¹ (∂τ − ∂ID)        at the same q, q̇ and q̈

A row holds the derivatives of one entry along q, q̇ and q̈ (or τ), one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ramidyn.algorithms.idsva import CommonFrame
from ramidyn.algorithms.kinematics import seen_force
from ramidyn.algorithms.ltdl import TreeEntries, solve
from ramidyn.algorithms.matrix_layout import (
    Layout,
    derivatives_layout,
    forward_derivatives_layout,
    tree_roots,
)
from ramidyn.algorithms.minv import minv_ltdl
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.errors import ArgumentError
from ramidyn.mechanism.constraints.samples import needed_cuts
from ramidyn.quantities.applied import acting_forces
from ramidyn.quantities.directions import seeds
from ramidyn.quantities.dynamics import inverse_dynamics
from ramidyn.quantities.equation_of_motion import factored_acceleration
from ramidyn.quantities.frames import world_linear
from ramidyn.quantities.mass_matrix import (
    LOOPS_INSTEAD,
    MassSolver,
    check_factor,
    solved_columns,
    sparse_rows,
)
from ramidyn.spatial.vector3 import ONE, ZERO, Vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.dense import total
from ramidyn.symbolic.derivatives import Row, forward, reverse
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.jacobians import matrix
from ramidyn.symbolic.linear_steps import UNROLLED
from ramidyn.symbolic.seeds import held_seeds
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tree.model import Model
from ramidyn.tree.singular import check_dynamics
from ramidyn.tree.tree import ROOT, Tree

if TYPE_CHECKING:
    from ramidyn.quantities.loop_derivatives import LoopDerivatives

STATE = ("q", "qd", "qdd")
External = tuple[tuple[str, ...], str]
"""frames with external forces, and what these are expressed in"""
NO_FORCES: External = ((), "local")
Change = Callable[[Sequence[Expr]], list[Expr]]
"""a linear function of a column"""


def torque_derivatives(
    context: Context, algorithm: str, given: External, packed: bool
) -> dict[str, Any]:
    """Return ∂τ/∂q, ∂τ/∂q̇ and M."""
    rows = _torque_rows(context, seeds(context, STATE), given, algorithm)
    dense = _by_name(rows, ("dtau_dq", "dtau_dqd", "M"), context.model.nv)
    if not packed:
        return dense
    layout = derivatives_layout(context.model)
    return _packed_entries(context.model, dense, layout, "on different branches")


def acceleration_derivatives(
    context: Context, algorithm: str, given: External, packed: bool
) -> dict[str, Any]:
    """Return ∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ."""
    model = context.model
    _, rows = acceleration_rows(context, algorithm, given)
    dense = _by_name(rows, ("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), model.nv)
    if not packed:
        return dense
    layout = forward_derivatives_layout(model)
    return _packed_entries(model, dense, layout, "of different trees")


def multiplier_derivatives(
    context: Context, algorithm: str, given: External
) -> dict[str, Any]:
    """Return ∂λ/∂q, ∂λ/∂q̇ and ∂λ/∂τ."""
    check_dynamics(context.model)
    needed_cuts(context)
    found = _with_loops(context, algorithm, given)
    names = ("dlambda_dq", "dlambda_dqd", "dlambda_dtau")
    return _by_name(found.multipliers(), names, context.model.nv)


def _by_name(rows: Sequence[Row], names: Sequence[str], n: int) -> dict[str, Any]:
    """Return matrices with n columns each, which stand side by side in rows."""
    return {name: matrix(rows, k * n, n) for k, name in enumerate(names)}


def _packed_entries(
    model: Model, dense: Mapping[str, Any], layout: Layout, separate: str
) -> dict[str, Any]:
    """Return the entries of a layout; ArgumentError if others are not zero."""
    pairs, n = layout.pairs(), range(model.nv)
    inside = set(pairs)
    others = [(i, j) for i in n for j in n if (i, j) not in inside]
    for A in dense.values():
        for i, j in others:
            if not A[i, j].is_zero:
                raise ArgumentError(
                    f"packed is True, but forces of robot {model.name!r} couple joints "
                    f"{separate}; leave packed out"
                )
    return {name: array([A[i, j] for i, j in pairs]) for name, A in dense.items()}


def _torque_rows(
    context: Context, directions: Mapping[Expr, Row], given: External, algorithm: str
) -> list[Row]:
    if algorithm != "idsva":
        return _by_program(context, directions, given, algorithm)
    frame = CommonFrame(context.dynamics_tree, context.q, context.qd)
    return _by_tree(context, frame, directions, given)


def acceleration_rows(
    context: Context,
    algorithm: str,
    given: External = NO_FORCES,
    rate: float = 0.0,
    factor: Expr = ONE,
) -> tuple[list[Expr], list[Row]]:
    """Return q̈ and its derivatives along q, q̇ and τ, one after another.

    Args:
        context: the state.
        algorithm: of the derivatives of τ.
        given: external forces.
        rate: that of Baumgarte's stabilization, for robots with loops.
        factor: what the derivatives are multiplied by: the pivots of M take it.
    """
    model = context.model
    check_dynamics(model)
    if model.loops:
        constrained = _with_loops(context, algorithm, given, rate)
        return constrained.qdd, _scaled(constrained.accelerations(), factor)
    qdd, rows, solver, known = _torques_at_rest(context, algorithm, given)
    found = _solved_rows(solver, rows, factor)
    for row, more in zip(found, known, strict=True):
        for c, x in more.items():
            row[c] = row.get(c, ZERO) + x * factor
    return qdd, found


def _solved_rows(solver: MassSolver, rows: Sequence[Row], factor: Expr) -> list[Row]:
    """Return −M⁻¹ times 2 n columns, and behind them M⁻¹, all times a factor."""
    n, order = len(rows), solver.order
    columns: list[dict[int, Expr]] = [{} for _ in range(2 * n)]
    for k, v in enumerate(order):
        for c, x in rows[v].items():
            if not x.is_zero:
                columns[c][k] = -x
    found: list[Row] = [{} for _ in range(n)]
    names = [*range(2 * n), *(2 * n + v for v in order)]
    if n > UNROLLED:
        columns += [{k: ONE} for k in range(n)]
        solved, factor = solved_columns(solver, columns, factor, 2 * n), ONE
    else:
        inverse = minv_ltdl(solver.L, solver.D, solver.parents)
        for (i, j), value in inverse.items():
            found[order[i]][names[2 * n + j]] = value
            found[order[j]][names[2 * n + i]] = value
        solved = _unrolled_product(solver, columns)
    root = tree_roots(solver.parents)
    reached = [{root[k] for k in b} for b in columns]
    for k, (v, row) in enumerate(zip(order, solved, strict=True)):
        solution = zip(names, row, reached, strict=False)
        found[v].update((c, x) for c, x, roots in solution if root[k] in roots)
    return _scaled(found, factor)


def _scaled(rows: list[Row], factor: Expr) -> list[Row]:
    return [{c: x * factor for c, x in row.items()} for row in rows]


def acceleration_change(
    context: Context, algorithm: str, rate: float = 0.0
) -> tuple[list[Expr], Change]:
    """Return q̈, and how it changes with q, q̇ and τ, whose changes are a column.

    δq̈ = M⁻¹ (δτ − ∂ID/∂q δq − ∂ID/∂q̇ δq̇)
    """
    model = context.model
    check_dynamics(model)
    if model.loops:
        constrained = _with_loops(context, algorithm, NO_FORCES, rate)
        return constrained.qdd, constrained.change
    qdd, rows, solver, known = _torques_at_rest(context, algorithm, NO_FORCES)
    n = model.nv

    def change(column: Sequence[Expr]) -> list[Expr]:
        force = list(column[2 * n :])
        for v, row in enumerate(rows):
            for c, x in row.items():
                force[v] = force[v] - x * column[c]
        found = solver.solved(force)
        return [
            total((x, *(z * column[c] for c, z in row.items())))
            for x, row in zip(found, known, strict=True)
        ]

    return qdd, change


def _torques_at_rest(
    context: Context, algorithm: str, given: External
) -> tuple[list[Expr], list[Row], MassSolver, list[Row]]:
    """Return q̈, the derivatives of τ along q and q̇ at that q̈, and the factor of M.

    And derivatives of q̈ that are known: those of τ are without what causes them.
    """
    check_factor(context.model, LOOPS_INSTEAD)
    frame = None
    if algorithm == "idsva":
        frame = CommonFrame(context.dynamics_tree, context.q, context.qd)
        qdd, solver = _factored_acceleration(context, frame, given)
    else:
        qdd, solver = factored_acceleration(context, acting_forces(context, *given))
    there = context.with_inputs(qdd=qdd)
    # q̈ is held constant here: its derivatives are solved for.
    directions = {**seeds(context, STATE[:2]), **held_seeds(qdd)}
    known: list[Row] = [{} for _ in qdd]
    if frame is None:
        return qdd, _by_program(there, directions, given, algorithm), solver, known
    skipped: tuple[set[int], set[int]] = set(), set()
    for i, parent in frame.tree:
        is_base = frame.tree.bodies[i].joint.type.is_free and parent == ROOT
        if is_base and i not in world_linear(context):
            _add_base_motions(context, frame, i, known, skipped)
    return qdd, _by_tree(there, frame, directions, given, skipped), solver, known


def _add_base_motions(
    context: Context,
    frame: CommonFrame,
    i: int,
    known: Sequence[Row],
    skipped: tuple[set[int], set[int]],
) -> None:
    """Add how q̈ changes with the pose and the linear velocity of a floating base."""
    dofs = frame.tree.dofs[i]
    (place,) = zip(*(context.coordinates.P[k] for k in dofs), strict=True)
    for d, motions in enumerate(frame.base_motions(i, context.gravity)):
        skipped[d].update(motions)
        for k, z in motions.items():
            c = d * context.model.nv + place[k - dofs[0]]
            for v, x in zip(place, (*z.w, *z.v), strict=True):
                if not x.is_zero:
                    known[v][c] = -x


def _with_loops(
    context: Context, algorithm: str, given: External, rate: float = 0.0
) -> LoopDerivatives:
    """Return the derivatives of a robot with loops."""
    from ramidyn.quantities.loop_derivatives import loop_derivatives  # noqa: PLC0415  where there are loops

    def rows_there(there: Context, directions: Mapping[Expr, Row]) -> list[Row]:
        return _torque_rows(there, directions, given, algorithm)

    applied = acting_forces(context, *given)
    return loop_derivatives(context, applied, rows_there, rate)


def _factored_acceleration(
    context: Context, frame: CommonFrame, given: External
) -> tuple[list[Expr], MassSolver]:
    """Return q̈ and the factor of M, from what `idsva` has anyway."""
    tree, coordinates = context.dynamics_tree, context.coordinates
    M = dict(frame.M)
    for i, body in enumerate(tree.bodies):
        for k in tree.dofs[i]:
            for y, g in frame.clusters.coordinates(k).items():
                M[y, y] = M[y, y] + g * g * body.joint.armature
    solver = MassSolver(*sparse_rows(context, M))
    still = coordinates.acceleration(zeros(context.model.nv), context.qd)
    applied = acting_forces(context, *given)
    _, _, found = frame.forces(still, context.gravity, applied.bodies)
    bias = applied.taken_from(_by_body(tree, found))
    row = coordinates.row([x for i, _ in tree for x in bias[i]])
    tau = context.inputs["tau"]
    return solver.solved([tau[v] - x for v, x in enumerate(row)]), solver


def _unrolled_product(
    solver: MassSolver, columns: Sequence[Mapping[int, Expr]]
) -> list[list[Expr]]:
    """Return M⁻¹ times a matrix, rows in the solver's order, as straight-line code."""
    L, D, parents = solver.L, solver.D, solver.parents
    n = len(parents)
    solved = [
        solve(L, D, {k: b.get(k, ZERO) for k in range(n)}, parents) for b in columns
    ]
    return [[x[k] for x in solved] for k in range(n)]


def _by_program(
    context: Context,
    directions: Mapping[Expr, Row],
    given: External,
    algorithm: str,
) -> list[Row]:
    """Return the derivatives of τ by differentiating its program."""
    tau: list[Expr] = list(inverse_dynamics(*given).of(context))
    if algorithm == "forward":
        return forward(tau, directions)
    return reverse(tau, [{k: ONE} for k in range(len(tau))], directions)


def _by_tree(
    context: Context,
    frame: CommonFrame,
    directions: Mapping[Expr, Row],
    given: External,
    skipped: tuple[Collection[int], Collection[int]] = ((), ()),
) -> list[Row]:
    """Return the derivatives of τ = Pᵀ τ_tree + A q̈, those of τ_tree by `idsva`.

    Those along some degrees of freedom, of q and of q̇, are left out.
    """
    tree, coordinates = context.dynamics_tree, context.coordinates
    applied = acting_forces(context, *given)
    qd, qdd = context.qd, context.qdd
    d = frame.derivatives(qdd, context.gravity, applied.bodies)
    M = {**frame.M, **{(j, i): value for (i, j), value in frame.M.items()}}
    # The directions of q come first, and P says how the tree moves along them.
    moves: list[tuple[TreeEntries, Sequence[Mapping[int, Expr]], Collection[int]]] = [
        (d.q, coordinates.P, skipped[0]),
        (d.qd, forward([x for i, _ in tree for x in qd[i]], directions), skipped[1]),
        (M, forward([x for i, _ in tree for x in qdd[i]], directions), ()),
    ]
    # Followers have no row: their leaders have it.
    leading = [k for k in d.tau if k in frame.clusters.coordinates(k)]
    rows: dict[int, Row] = {k: {} for k in leading}
    for entries, columns, left_out in moves:
        for (k, j), value in entries.items():
            row = rows[k]
            for c, p in columns[j].items() if j not in left_out else ():
                x = value * p
                row[c] = row[c] + x if c in row else x
    for i, force in applied.bodies.items():
        _add_force(rows, frame, i, forward([*force.n, *force.f], directions))
    known = {**directions, **{d.tau[k]: row for k, row in rows.items()}}
    tau = applied.taken_from(_by_body(tree, d.tau))
    return forward(coordinates.force(tau, context.inputs["qdd"]), known)


def _by_body(tree: Tree, tau: Mapping[int, Expr]) -> JointVector:
    """Return a vector over degrees of freedom by body."""
    return {i: tuple(tau[k] for k in tree.dofs[i]) for i, _ in tree}


def _add_force(
    rows: Mapping[int, Row], frame: CommonFrame, i: int, changes: Sequence[Row]
) -> None:
    """Add what changes of the external force on body i, in its coordinates, do to τ."""
    for c in dict.fromkeys(c for row in changes for c in row):
        x = [row.get(c, ZERO) for row in changes]
        F = seen_force(*frame.poses[i], Force(Vec(x[:3]), Vec(x[3:])))
        for b in frame.tree.support(i):
            for k in frame.tree.dofs[b]:
                x = frame.axes[k].s.dot(F)
                for y, g in frame.clusters.coordinates(k).items():
                    rows[y][c] = rows[y].get(c, ZERO) - x * g
