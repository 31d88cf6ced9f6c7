"""Derivatives of the dynamics, in the caller's coordinates.

    inverse dynamics    ∂τ/∂q, ∂τ/∂q̇, M
    forward dynamics    ∂q̈/∂q = −M⁻¹ ∂τ/∂q,  ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇,  M⁻¹

at the same q, q̇ and q̈, ∂/∂q in the tangent space of the robot's conventions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramify.algorithms.crba import TreeEntries
from ramify.algorithms.idsva import CommonFrame
from ramify.algorithms.ltdl import Diagonal, DofVector, ltdl, solve
from ramify.algorithms.minv import minv_ltdl
from ramify.errors import ArgumentError
from ramify.model.conventions import Conventions
from ramify.model.model import Model
from ramify.model.singular import check_dynamics
from ramify.model.tree import Tree
from ramify.quantities import dynamics
from ramify.quantities.context import Context, array, zeros
from ramify.quantities.directions import seeds
from ramify.quantities.mass_matrix import (
    LOOPS_INSTEAD,
    check_factor,
    sparse_mass_matrix,
    sparse_rows,
)
from ramify.quantities.quantity import quantity
from ramify.spatial.vector3 import ONE, ZERO
from ramify.symbolic.column_loop import map_columns
from ramify.symbolic.derivatives import Row, forward, reverse
from ramify.symbolic.expr import Expr, has_loop
from ramify.symbolic.jacobians import matrix

STATE = ("q", "qd", "qdd")
UNROLLED = 8
"""degrees of freedom up to which all solves are straight-line code"""
COUNTED = 12
"""degrees of freedom up to which derivatives of programs can be the cheapest: their
cost grows by that of inverse dynamics with each column, and idsva's by its entries"""


def algorithms(model: Model, _conventions: Conventions, **_: Any) -> tuple[str, ...]:
    """Return the algorithms that are worth counting."""
    if model.nv > COUNTED:
        return ("idsva",)
    return ("forward", "reverse", "idsva")


@quantity(
    "q",
    "qd",
    "qdd",
    algorithms=("forward", "reverse", "idsva"),
    possible=algorithms,
    further_inputs=dynamics.external_shape,
    returns="derivatives of the joint forces, and M",
)
def inverse_dynamics_derivatives(
    context: Context, algorithm: str = "auto", external: tuple[str, ...] = ()
) -> dict[str, Any]:
    """∂τ/∂q, ∂τ/∂q̇ and M."""
    nv = context.model.nv
    directions = seeds(context, STATE)
    if algorithm == "idsva":
        frame = CommonFrame(context.dynamics_tree, context.q, context.qd)
        rows = _by_tree(context, frame, directions, external)
    else:
        rows = _by_program(context, directions, external, algorithm)
    names = ("dtau_dq", "dtau_dqd", "M")
    return {n: matrix(rows, k * nv, nv) for k, n in enumerate(names)}


@quantity(
    "q",
    "qd",
    "tau",
    algorithms=("forward", "reverse", "idsva"),
    possible=algorithms,
    further_inputs=dynamics.external_shape,
    returns="derivatives of the accelerations, and M^-1",
)
def forward_dynamics_derivatives(
    context: Context, algorithm: str = "auto", external: tuple[str, ...] = ()
) -> dict[str, Any]:
    """∂q̈/∂q, ∂q̈/∂q̇ and M⁻¹."""
    model, inputs = context.model, context.inputs
    if model.loops:
        raise ArgumentError(
            f"forward_dynamics_derivatives: robot {model.name!r} has loops; use "
            "ramify.derivative(ramify.forward_dynamics, wrt=...)"
        )
    check_dynamics(model)
    check_factor(model, LOOPS_INSTEAD)
    tree, n = context.dynamics_tree, model.nv
    if algorithm == "idsva":
        frame = CommonFrame(tree, context.q, context.qd)
        M, parents, order = sparse_rows(context, _with_rotors(tree, frame.M))
        forces = dynamics.external_forces(context, external, "local")
        still = context.coordinates.acceleration(zeros(n), context.qd)
        _, _, tau = frame.forces(still, context.gravity, forces)
        bias = context.coordinates.row([tau[k] for k in range(len(tau))])
    else:
        frame = None
        M, parents, order = sparse_mass_matrix(context)
        bias = dynamics.bias_forces(external=external).of(context)
    L, D = ltdl(M, parents)
    b = {k: inputs["tau"][v] - bias[v] for k, v in enumerate(order)}
    x = solve(L, D, b, parents)
    qdd = zeros(n)
    for k, v in enumerate(order):
        qdd[v] = x[k]
    there = context.with_inputs(qdd=qdd)
    # q̈ is held: what it does is asked for.
    directions = {**seeds(context, STATE[:2]), **{e: {} for e in qdd}}
    if frame is not None:
        rows = _by_tree(there, frame, directions, external)
    else:
        rows = _by_program(there, directions, external, algorithm)
    columns = [[-rows[v].get(c, ZERO) for c in range(2 * n)] for v in order]
    found: list[Row] = [{} for _ in range(n)]
    if context.rolls and n > UNROLLED and not has_loop():
        for k, v in enumerate(order):
            columns[k] += [ONE if v == c else ZERO for c in range(n)]
        solved = _rolled(L, D, parents, columns)
    else:
        solved = _unrolled(L, D, parents, columns)
        for (i, j), value in minv_ltdl(L, D, parents).items():
            found[order[i]][2 * n + order[j]] = value
            found[order[j]][2 * n + order[i]] = value
    for v, row in zip(order, solved, strict=True):
        found[v].update(enumerate(row))
    names = ("dqdd_dq", "dqdd_dqd", "M_inverse")
    return {name: matrix(found, k * n, n) for k, name in enumerate(names)}


def _unrolled(
    L: TreeEntries, D: Diagonal, parents: Sequence[int], columns: list[list[Expr]]
) -> list[list[Expr]]:
    """Return M⁻¹ times a matrix, by rows, as straight-line code."""
    solved: list[DofVector] = [
        solve(L, D, dict(enumerate(b)), parents)
        for b in map(list, zip(*columns, strict=True))
    ]
    return [[x[k] for x in solved] for k in range(len(parents))]


def _rolled(
    L: TreeEntries, D: Diagonal, parents: Sequence[int], columns: list[list[Expr]]
) -> list[list[Expr]]:
    """Return the same by a loop over the columns."""
    places, n = list(L), len(parents)

    def one(shared: Sequence[Expr], b: Sequence[Expr]) -> Any:
        factor = dict(zip(places, shared, strict=False))
        inverse = dict(enumerate(shared[len(places) :]))
        x = solve(factor, inverse, dict(enumerate(b)), parents, is_inverse=True)
        return array([x[k] for k in range(n)])

    return map_columns(one, [*L.values(), *(ONE / D[k] for k in range(n))], columns)


def _with_rotors(tree: Tree, M: TreeEntries) -> TreeEntries:
    """Return M with the armature of the joints."""
    full = dict(M)
    for i, body in enumerate(tree.bodies):
        for k in tree.dofs[i]:
            full[k, k] = full[k, k] + body.joint.armature
    return full


def _by_program(
    context: Context,
    directions: Mapping[Expr, Row],
    external: tuple[str, ...],
    algorithm: str,
) -> list[Row]:
    """Return the derivatives of τ by differentiating its program."""
    tau: list[Expr] = list(dynamics.inverse_dynamics(external=external).of(context))
    if algorithm == "forward":
        return forward(tau, directions)
    return reverse(tau, [{k: ONE} for k in range(len(tau))], directions)


def _by_tree(
    context: Context,
    frame: CommonFrame,
    directions: Mapping[Expr, Row],
    external: tuple[str, ...],
) -> list[Row]:
    """Return the derivatives of τ = Pᵀ τ_tree + A q̈, those of τ_tree by `idsva`."""
    tree, coordinates = context.dynamics_tree, context.coordinates
    forces = dynamics.external_forces(context, external, "local")
    qd, qdd = context.qd, context.qdd
    d = frame.derivatives(qdd, context.gravity, forces)
    M = {**frame.M, **{(j, i): value for (i, j), value in frame.M.items()}}
    # The directions of q come first, and P says how the tree moves along them.
    moves: list[tuple[TreeEntries, Sequence[Mapping[int, Expr]]]] = [
        (d.q, coordinates.P),
        (d.qd, forward([x for i, _ in tree for x in qd[i]], directions)),
        (M, forward([x for i, _ in tree for x in qdd[i]], directions)),
    ]
    rows: dict[int, Row] = {k: {} for k in d.tau}
    for entries, columns in moves:
        for (k, j), value in entries.items():
            row = rows[k]
            for c, p in columns[j].items():
                x = value * p
                row[c] = row[c] + x if c in row else x
    known = {**directions, **{d.tau[k]: row for k, row in rows.items()}}
    tau = {i: tuple(d.tau[k] for k in tree.dofs[i]) for i, _ in tree}
    return forward(coordinates.force(tau, context.inputs["qdd"]), known)
