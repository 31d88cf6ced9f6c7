"""The equation of motion over symbols: solved for the forces, or for q̈.

M q̈ + C + g = τ + τ_applied
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramidyn.algorithms.aba import aba
from ramidyn.algorithms.forces.applied import Applied
from ramidyn.algorithms.rnea import rnea
from ramidyn.description.conventions import Conventions
from ramidyn.errors import ArgumentError
from ramidyn.quantities.applied import (
    acting_forces,
    external_forces,
    newton_euler,
    reference_forces,
)
from ramidyn.quantities.mass_matrix import (
    CRBA,
    MassSolver,
    check_factor,
    check_tree_algorithm,
    factored_trees,
    sparse_mass_matrix,
)
from ramidyn.symbolic.expr import Expr
from ramidyn.tracing.context import Context, zeros
from ramidyn.tree.model import Model
from ramidyn.tree.singular import check_dynamics


def torques(context: Context, external: Sequence[str], expressed_in: str) -> list[Expr]:
    """Return τ."""
    applied = acting_forces(context, external, expressed_in)
    return newton_euler(context, context.inputs["qdd"], applied)


def bias(context: Context, external: Sequence[str], expressed_in: str) -> list[Expr]:
    """Return C + g, less external forces."""
    forces = Applied(bodies=external_forces(context, external, expressed_in) or {})
    return newton_euler(context, zeros(context.model.nv), forces)


def gravity(context: Context) -> list[Expr]:
    """Return g."""
    still = zeros(context.model.nv)
    rest = context.coordinates.velocity(still)
    tau = rnea(context.dynamics_tree, context.q, rest, rest, context.gravity)
    return context.coordinates.force(tau, still)


def possible(model: Model, conventions: Conventions, **options: Any) -> tuple[str, ...]:
    """Return the algorithms for q̈ that a robot allows."""
    if model.loops:
        return _closed_loops().possible(model, conventions, **options)
    return factored_trees(model)


def _closed_loops() -> Any:
    from ramidyn.quantities import closed_loops  # noqa: PLC0415  where there are loops

    return closed_loops


def accelerations(
    context: Context,
    algorithm: str,
    external: tuple[Sequence[str], str],
    damping: float | None,
) -> list[Expr]:
    """Return q̈ by an algorithm; ``damping`` is for robots with loops only."""
    model = context.model
    check_dynamics(model)
    applied = acting_forces(context, *external)
    if model.loops:
        return _closed_loops().constrained_acceleration(
            context, algorithm, damping, applied
        )[0]
    if damping is not None:
        raise ArgumentError(
            f"damping is {damping:g}, but robot {model.name!r} has no loops; damping "
            "applies to loop constraints only: leave it out"
        )
    check_tree_algorithm("forward_dynamics", algorithm, model, tuple(CRBA))
    if algorithm == "aba":
        return articulated_acceleration(context, applied)
    check_factor(model, "use algorithm='aba'")
    chosen = "auto" if algorithm == "ltdl" else algorithm
    return factored_acceleration(context, applied, chosen)[0]


def articulated_acceleration(context: Context, applied: Applied) -> list[Expr]:
    """Return q̈ by articulated bodies."""
    coordinates, qd = context.coordinates, context.qd
    tau = applied.added_to(coordinates.tree_force(context.inputs["tau"], qd))
    tree, gravity = context.dynamics_tree, context.gravity
    qdd = aba(tree, context.q, qd, tau, gravity, applied.bodies)
    return list(coordinates.public_acceleration(qdd, qd))


def response(
    context: Context, force: Sequence[Expr], applied: Applied | None = None
) -> list[Expr]:
    """Return M⁻¹ times a force, by the same articulated bodies as q̈."""
    at_rest = context.with_inputs(
        qd=zeros(context.model.nv), tau=force, gravity=zeros(3)
    )
    return articulated_acceleration(at_rest, applied or Applied())


def factored_acceleration(
    context: Context, applied: Applied, algorithm: str = "auto"
) -> tuple[list[Expr], MassSolver]:
    """Return q̈ by the factor of M, and the factor; ``algorithm`` is that of M."""
    forces, reference = reference_forces(context, applied)
    solver = MassSolver(*sparse_mass_matrix(context, algorithm))
    given = context.inputs["tau"]
    left = solver.solved([x - y for x, y in zip(given, forces, strict=True)])
    return [x + y for x, y in zip(left, reference, strict=True)], solver
