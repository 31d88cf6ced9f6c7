"""Joint forces and accelerations, in the caller's coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramify.algorithms.aba import aba
from ramify.algorithms.forces.applied import Applied
from ramify.algorithms.loops import ALGORITHMS, BY_NAME_ONLY
from ramify.algorithms.rnea import rnea
from ramify.errors import ArgumentError
from ramify.model.conventions import Conventions
from ramify.model.model import Model
from ramify.model.singular import check_dynamics
from ramify.quantities.applied import acting_forces
from ramify.quantities.context import Context, array, zeros
from ramify.quantities.external import external_forces, external_shape
from ramify.quantities.mass_matrix import (
    CRBA,
    LOOPS_INSTEAD,
    MassSolver,
    check_factor,
    check_tree_algorithm,
    factored_trees,
    sparse_mass_matrix,
)
from ramify.quantities.quantity import quantity
from ramify.symbolic.expr import Expr


@quantity(
    "q",
    "qd",
    "qdd",
    further_inputs=external_shape,
    has_forces=True,
    returns="joint forces [N m, N]",
)
def inverse_dynamics(
    context: Context, external: tuple[str, ...] = (), expressed_in: str = "local"
) -> Any:
    """τ = M q̈ + C + g − τ_applied."""
    applied = acting_forces(context, external, expressed_in)
    return array(_newton_euler(context, context.inputs["qdd"], applied))


def _newton_euler(
    context: Context, qdd: Sequence[Expr], applied: Applied
) -> list[Expr]:
    """Return M q̈ + C + g less what is applied."""
    moved = context.coordinates.acceleration(qdd, context.qd)
    tree, gravity = context.dynamics_tree, context.gravity
    tau = rnea(tree, context.q, context.qd, moved, gravity, applied.bodies)
    return context.coordinates.force(applied.taken_from(tau), qdd)


@quantity(
    "q",
    "qd",
    further_inputs=external_shape,
    returns="joint forces at zero acceleration [N m, N]",
)
def bias_forces(
    context: Context, external: tuple[str, ...] = (), expressed_in: str = "local"
) -> Any:
    """C + g."""
    forces = Applied(bodies=external_forces(context, external, expressed_in) or {})
    return array(_newton_euler(context, zeros(context.model.nv), forces))


@quantity("q", returns="joint forces at rest [N m, N]")
def gravity_forces(context: Context) -> Any:
    """g."""
    still = zeros(context.model.nv)
    rest = context.coordinates.velocity(still)
    tau = rnea(context.dynamics_tree, context.q, rest, rest, context.gravity)
    return array(context.coordinates.force(tau, still))


def possible(model: Model, conventions: Conventions, **options: Any) -> tuple[str, ...]:
    """Return the algorithms of forward dynamics that a robot allows."""
    if model.loops:
        from ramify.quantities import closed_loops  # noqa: PLC0415  where there are loops

        return closed_loops.possible(model, conventions, **options)
    return factored_trees(model)


@quantity(
    "q",
    "qd",
    "tau",
    algorithms=("aba", "ltdl", *ALGORITHMS),
    possible=possible,
    by_name_only=(*CRBA, *BY_NAME_ONLY),
    further_inputs=external_shape,
    has_forces=True,
    returns="accelerations [rad/s^2, m/s^2]",
)
def forward_dynamics(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    damping: float | None = None,
) -> Any:
    """q̈ = M⁻¹ (τ + τ_applied − C − g), with all loops closed."""
    model = context.model
    check_dynamics(model)
    applied = acting_forces(context, external, expressed_in)
    if model.loops:
        from ramify.quantities import closed_loops  # noqa: PLC0415  where there are loops

        qdd, _ = closed_loops.constrained(context, algorithm, damping, applied)
        return array(qdd)
    if damping is not None:
        raise ArgumentError(
            f"damping is {damping:g}, but robot {model.name!r} has no loops; damping "
            "applies to loop constraints only: leave it out"
        )
    check_tree_algorithm("forward_dynamics", algorithm, model, tuple(CRBA))
    if algorithm == "aba":
        return array(articulated(context, applied))
    by_aba = "use algorithm='aba'"
    check_factor(model, LOOPS_INSTEAD if model.mimics else by_aba)
    chosen = "auto" if algorithm == "ltdl" else algorithm
    return array(factored(context, applied, chosen)[0])


def articulated(context: Context, applied: Applied) -> list[Expr]:
    """Return q̈ by articulated bodies."""
    coordinates, qd = context.coordinates, context.qd
    tau = applied.added_to(coordinates.tree_force(context.inputs["tau"], qd))
    tree, gravity = context.dynamics_tree, context.gravity
    qdd = aba(tree, context.q, qd, tau, gravity, applied.bodies)
    return list(coordinates.public_acceleration(qdd, qd))


def response(context: Context, force: Sequence[Expr]) -> list[Expr]:
    """Return M⁻¹ times a force, by the same articulated bodies as q̈."""
    at_rest = context.with_inputs(
        qd=zeros(context.model.nv), tau=force, gravity=zeros(3)
    )
    return articulated(at_rest, Applied())


def factored(
    context: Context, applied: Applied, algorithm: str = "auto"
) -> tuple[list[Expr], MassSolver]:
    """Return q̈ by the factor of M, and the factor; ``algorithm`` is that of M."""
    bias = _newton_euler(context, zeros(context.model.nv), applied)
    solver = MassSolver(*sparse_mass_matrix(context, algorithm))
    tau = context.inputs["tau"]
    return solver.solved([tau[v] - bias[v] for v in range(len(bias))]), solver
