"""Derivatives of the dynamics, in the caller's coordinates.

    inverse dynamics    ∂τ/∂q, ∂τ/∂q̇, M
    forward dynamics    ∂q̈/∂q = −M⁻¹ ∂τ/∂q,  ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇,  M⁻¹

at the same q, q̇ and q̈, ∂/∂q in the tangent space of the robot's conventions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramidyn.description.conventions import Conventions
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Quantity, quantity
from ramidyn.tree.model import Model

COUNTED = 12
"""degrees of freedom up to which derivatives of programs can be the cheapest: their
cost grows by that of inverse dynamics with each column, and idsva's by its entries"""


def algorithms(model: Model, _conventions: Conventions, **_: Any) -> tuple[str, ...]:
    """Return the algorithms that are worth counting."""
    if model.nv > COUNTED:
        return ("idsva",)
    return ("forward", "reverse", "idsva")


def _of_dynamics(
    *inputs: str, returns: str
) -> Callable[[Callable[..., Any]], Quantity]:
    """Declare derivatives of the dynamics."""
    return quantity(
        *inputs,
        algorithms=("forward", "reverse", "idsva"),
        possible=algorithms,
        has_forces=True,
        returns=returns,
    )


@_of_dynamics("q", "qd", "qdd", returns="derivatives of the joint forces, and M")
def inverse_dynamics_derivatives(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    packed: bool = False,
) -> dict[str, Any]:
    """∂τ/∂q, ∂τ/∂q̇ and M."""
    given = external, expressed_in
    return _rows().torque_derivatives(context, algorithm, given, packed)


@_of_dynamics("q", "qd", "tau", returns="derivatives of the accelerations")
def forward_dynamics_derivatives(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    packed: bool = False,
) -> dict[str, Any]:
    """∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ."""
    given = external, expressed_in
    return _rows().acceleration_derivatives(context, algorithm, given, packed)


@_of_dynamics("q", "qd", "tau", returns="derivatives of the multipliers of the loops")
def loop_forces_derivatives(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
) -> dict[str, Any]:
    """∂λ/∂q, ∂λ/∂q̇ and ∂λ/∂τ."""
    given = external, expressed_in
    return _rows().multiplier_derivatives(context, algorithm, given)


def _rows() -> Any:
    """Return the module that traces: code from the cache does not import it."""
    from ramidyn.quantities import derivative_rows

    return derivative_rows
