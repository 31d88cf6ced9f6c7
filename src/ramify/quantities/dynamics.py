"""Forces, accelerations and the mass matrix, in the caller's coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramify.algorithms.aba import aba
from ramify.algorithms.crba import TreeEntries, crba
from ramify.algorithms.crba_root import crba_root
from ramify.algorithms.ltdl import (
    MOST_OPERATIONS,
    elimination_parents,
    filled,
    ltdl,
    operations,
    solve,
)
from ramify.algorithms.rnea import rnea
from ramify.errors import CompileError, ModelError, UnknownName
from ramify.model.assembly import Model
from ramify.model.motion import fixed_steps
from ramify.model.singular import check_dynamics
from ramify.model.tree import depths
from ramify.quantities.base import Context, Quantity, array, zeros
from ramify.spatial.transform import Transform
from ramify.spatial.vectors import Force
from ramify.symbolic.expr import Expr, const
from ramify.symbolic.program import reachable


def external_shape(
    model: Model, external: Sequence[str] = (), **_: Any
) -> dict[str, tuple[int, ...]]:
    """Return the input for forces on named frames: one 6-vector each."""
    for name in external:
        model.frame(name)
    return {"external": (len(external), 6)} if external else {}


def external_forces(context: Context, frames: Sequence[str]) -> dict[int, Force]:
    """Return the force on each body, from 6-vectors on frames in their own axes."""
    forces: dict[int, Force] = {}
    for name, given in zip(frames, context.inputs["external"], strict=True):
        frame = context.model.frame(name)
        n, f = context.halves(given)
        X = Transform(fixed_steps(frame.placement), context.tree.name(frame.body))
        force = X.back(Force(n, f))
        forces[frame.body] = forces.get(frame.body, Force.zero()) + force
    return forces


def _inverse_dynamics(context: Context, external: Sequence[str] = ()) -> Any:
    forces = external_forces(context, external) if external else None
    tau = rnea(
        context.dynamics_tree,
        context.q,
        context.qd,
        context.qdd,
        context.gravity,
        forces,
    )
    return array(context.coordinates.force(tau, context.inputs["qdd"]))


def _bias_forces(context: Context, external: Sequence[str] = ()) -> Any:
    still = zeros(context.model.nv)
    qdd = context.coordinates.acceleration(still, context.qd)
    forces = external_forces(context, external) if external else None
    tree = context.dynamics_tree
    tau = rnea(tree, context.q, context.qd, qdd, context.gravity, forces)
    return array(context.coordinates.force(tau, still))


def _gravity_forces(context: Context) -> Any:
    still = zeros(context.model.nv)
    rest = context.coordinates.velocity(still)
    tau = rnea(context.dynamics_tree, context.q, rest, rest, context.gravity)
    return array(context.coordinates.force(tau, still))


def public_matrix(context: Context, M: TreeEntries) -> list[list[Expr]]:
    """Return Pᵀ M P, symmetric, of a matrix over the tree's degrees of freedom."""
    P, n = context.coordinates.P, context.model.nv
    half: list[dict[int, Expr]] = [{} for _ in P]
    for (i, j), value in M.items():
        for row, column in {(i, j), (j, i)}:
            for b, p in P[column].items():
                half[row][b] = half[row].get(b, const(0.0)) + value * p
    out = [zeros(n) for _ in range(n)]
    for k, row in enumerate(half):
        for a, p in P[k].items():
            for b, value in row.items():
                if b <= a:
                    out[a][b] = out[a][b] + p * value
    for a in range(n):
        for b in range(a):
            out[b][a] = out[a][b]
    return out


CRBA = {"crba": crba, "crba_root": crba_root}


def tree_mass_matrix(context: Context, algorithm: str = "auto") -> TreeEntries:
    """Return M along the tree, by the algorithm that takes fewer operations here."""
    if algorithm != "auto":
        if algorithm not in CRBA:
            raise UnknownName(
                f"algorithm is {algorithm!r}; possible: 'auto', 'crba', 'crba_root'"
            )
        return CRBA[algorithm](context.dynamics_tree, context.q)
    # Both are traced; what the other needs alone is dead code.
    made = [f(context.dynamics_tree, context.q) for f in CRBA.values()]
    return min(made, key=lambda M: len(reachable(tuple(M.values()))))


def _mass_matrix(context: Context, algorithm: str = "auto") -> Any:
    return array(public_matrix(context, tree_mass_matrix(context, algorithm)))


def _forward_dynamics(
    context: Context,
    algorithm: str = "auto",
    external: Sequence[str] = (),
    damping: float | None = None,
) -> Any:
    check_dynamics(context.model)
    forces = external_forces(context, external) if external else None
    if context.model.loops:
        from ramify.quantities.loops import constrained  # noqa: PLC0415  it needs M

        return array(constrained(context, algorithm, damping, forces)[0])
    if damping is not None:
        raise ModelError(
            f"damping is {damping!r}, but robot {context.model.name!r} has no loops; "
            "damping applies to loop constraints only: leave it out"
        )
    if algorithm == "aba":
        if context.model.mimics:
            raise CompileError(
                "forward_dynamics(algorithm='aba') cannot follow mimic joints, which "
                "tie branches together; possible: 'auto', 'ltdl'"
            )
        tau = context.coordinates.tree_force(context.inputs["tau"], context.qd)
        tree = context.dynamics_tree
        qdd = aba(tree, context.q, context.qd, tau, context.gravity, forces)
        return array(context.coordinates.public_acceleration(qdd, context.qd))
    if algorithm != "ltdl":
        raise UnknownName(
            f"algorithm is {algorithm!r}; possible: 'auto', 'aba', 'ltdl'"
        )
    by_aba = "use algorithm='aba'"
    check_factor(context.model, LOOPS_INSTEAD if context.model.mimics else by_aba)
    bias = _bias_forces(context, external)
    M, parents, order = sparse_mass_matrix(context)
    b = {k: context.inputs["tau"][v] - bias[v] for k, v in enumerate(order)}
    L, D = ltdl(M, parents)
    x = solve(L, D, b, parents)
    qdd = zeros(context.model.nv)
    for k, v in enumerate(order):
        qdd[v] = x[k]
    return array(qdd)


def sparse_mass_matrix(
    context: Context, algorithm: str = "auto"
) -> tuple[TreeEntries, tuple[int, ...], tuple[int, ...]]:
    """Return M along a tree, that tree's parents, and where its rows are in q̇.

    The rows are in an order in which parents come first, whatever the order of q̇ is.
    """
    full = public_matrix(context, tree_mass_matrix(context, algorithm))
    order = dof_order(context)
    M: TreeEntries = {}
    for i, a in enumerate(order):
        for j, b in enumerate(order[: i + 1]):
            e = full[a][b]
            if e.op != "const" or e.value != 0.0 or i == j:
                M[i, j] = e
    parents = elimination_parents(M, len(order))
    return filled(M, parents), parents, order


def dof_order(context: Context) -> tuple[int, ...]:
    """Return the entries of q̇ in the order of the tree's bodies."""
    order: list[int] = []
    for b in context.tree.bodies:
        if b.joint.leader is None:
            order.extend(range(b.joint.v_index, b.joint.v_index + b.joint.nv))
    return tuple(order)


def _possible(model: Model) -> tuple[str, ...]:
    """Return the algorithms of forward dynamics; those of loops are chosen there."""
    return () if model.loops else by_factor_or_not(model)


def by_factor_or_not(model: Model) -> tuple[str, ...]:
    """Return which of ABA and LTDL a model without loops allows."""
    if model.mimics:
        return ("ltdl",)
    is_small = operations(model.tree.dof_parents) <= MOST_OPERATIONS
    return ("aba", "ltdl") if is_small else ("aba",)


def check_factor(model: Model, instead: str) -> None:
    """Refuse a factor of M that would take minutes to compile, before it is traced."""
    count = operations(model.tree.dof_parents)
    if count > MOST_OPERATIONS:
        raise CompileError(
            f"the sparse factor of this mass matrix ({model.nv} degrees of freedom, "
            f"up to {max(depths(model.tree.dof_parents))} in a row) takes {count:,} "
            f"operations; more than {MOST_OPERATIONS:,} are not compiled to "
            f"straight-line code. Instead, {instead}"
        )


LOOPS_INSTEAD = (
    "compile ramify.mass_matrix and factor its result with ramify.ltdl(H, parents), "
    "which runs native loops"
)


inverse_dynamics = Quantity(
    "inverse_dynamics", ("q", "qd", "qdd"), _inverse_dynamics, shapes=external_shape
)
bias_forces = Quantity("bias_forces", ("q", "qd"), _bias_forces, shapes=external_shape)
gravity_forces = Quantity("gravity_forces", ("q",), _gravity_forces)
mass_matrix = Quantity(
    "mass_matrix", ("q",), _mass_matrix, algorithms=("crba", "crba_root")
)
forward_dynamics = Quantity(
    "forward_dynamics",
    ("q", "qd", "tau"),
    _forward_dynamics,
    shapes=external_shape,
    algorithms=("aba", "ltdl"),
    possible=_possible,
)
