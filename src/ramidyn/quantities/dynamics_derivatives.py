"""Derivatives of the dynamics, in the caller's coordinates.

    inverse dynamics    ∂τ/∂q, ∂τ/∂q̇, M
    forward dynamics    ∂q̈/∂q = −M⁻¹ ∂τ/∂q,  ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇,  M⁻¹

at the same q, q̇ and q̈, ∂/∂q in the tangent space of the robot's conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ramidyn.description.conventions import Conventions
from ramidyn.errors import ArgumentError
from ramidyn.quantities.external import external_shape
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import quantity
from ramidyn.tree.model import Model
from ramidyn.tree.singular import check_dynamics

if TYPE_CHECKING:
    from ramidyn.algorithms.matrix_layout import Layout

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
    further_inputs=external_shape,
    has_forces=True,
    returns="derivatives of the joint forces, and M",
)
def inverse_dynamics_derivatives(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    packed: bool = False,
) -> dict[str, Any]:
    """∂τ/∂q, ∂τ/∂q̇ and M."""
    from ramidyn.algorithms.matrix_layout import derivatives_layout
    from ramidyn.quantities.derivative_rows import by_name, torque_rows

    rows = torque_rows(context, algorithm, (external, expressed_in))
    dense = by_name(rows, ("dtau_dq", "dtau_dqd", "M"), context.model.nv)
    if not packed:
        return dense
    layout = derivatives_layout(context.model)
    return _packed(context.model, dense, layout, "on different branches")


def _packed(
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


@quantity(
    "q",
    "qd",
    "tau",
    algorithms=("forward", "reverse", "idsva"),
    possible=algorithms,
    further_inputs=external_shape,
    has_forces=True,
    returns="derivatives of the accelerations",
)
def forward_dynamics_derivatives(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    packed: bool = False,
) -> dict[str, Any]:
    """∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ."""
    from ramidyn.algorithms.matrix_layout import forward_derivatives_layout
    from ramidyn.quantities.derivative_rows import acceleration_rows, by_name

    model = context.model
    _, rows = acceleration_rows(context, algorithm, (external, expressed_in))
    dense = by_name(rows, ("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), model.nv)
    if not packed:
        return dense
    layout = forward_derivatives_layout(model)
    return _packed(model, dense, layout, "of different trees")


@quantity(
    "q",
    "qd",
    "tau",
    algorithms=("forward", "reverse", "idsva"),
    possible=algorithms,
    further_inputs=external_shape,
    has_forces=True,
    returns="derivatives of the multipliers of the loops",
)
def loop_forces_derivatives(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
) -> dict[str, Any]:
    """∂λ/∂q, ∂λ/∂q̇ and ∂λ/∂τ."""
    from ramidyn.mechanism.constraints.rows import needed_cuts
    from ramidyn.quantities.derivative_rows import by_name, with_loops

    check_dynamics(context.model)
    needed_cuts(context)
    found = with_loops(context, algorithm, (external, expressed_in))
    names = ("dlambda_dq", "dlambda_dqd", "dlambda_dtau")
    return by_name(found.multipliers(), names, context.model.nv)
