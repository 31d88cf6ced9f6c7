"""Joint forces and accelerations, in the caller's coordinates."""

from __future__ import annotations

from typing import Any

from ramidyn.algorithms.loops import ALGORITHMS, BY_NAME_ONLY
from ramidyn.description.conventions import Conventions
from ramidyn.quantities.external import external_forces, external_shape
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tracing.quantity import quantity
from ramidyn.tree.model import Model
from ramidyn.tree.singular import check_dynamics


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
    from ramidyn.quantities.applied import acting_forces
    from ramidyn.quantities.equation_of_motion import newton_euler

    applied = acting_forces(context, external, expressed_in)
    return array(newton_euler(context, context.inputs["qdd"], applied))


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
    from ramidyn.algorithms.forces.applied import Applied
    from ramidyn.quantities.equation_of_motion import newton_euler

    forces = Applied(bodies=external_forces(context, external, expressed_in) or {})
    return array(newton_euler(context, zeros(context.model.nv), forces))


@quantity("q", returns="joint forces at rest [N m, N]")
def gravity_forces(context: Context) -> Any:
    """g."""
    from ramidyn.algorithms.rnea import rnea

    still = zeros(context.model.nv)
    rest = context.coordinates.velocity(still)
    tau = rnea(context.dynamics_tree, context.q, rest, rest, context.gravity)
    return array(context.coordinates.force(tau, still))


def possible(model: Model, conventions: Conventions, **options: Any) -> tuple[str, ...]:
    """Return the algorithms of forward dynamics that a robot allows."""
    if model.loops:
        from ramidyn.quantities import closed_loops

        return closed_loops.possible(model, conventions, **options)
    from ramidyn.quantities.mass_matrix import factored_trees

    return factored_trees(model)


@quantity(
    "q",
    "qd",
    "tau",
    algorithms=("aba", "ltdl", *ALGORITHMS),
    possible=possible,
    by_name_only=("crba", "crba_root", *BY_NAME_ONLY),
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
    from ramidyn.quantities.applied import acting_forces
    from ramidyn.quantities.equation_of_motion import accelerations

    check_dynamics(context.model)
    applied = acting_forces(context, external, expressed_in)
    return array(accelerations(context, algorithm, applied, damping))
