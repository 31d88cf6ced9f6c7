"""Joint forces and accelerations, in the caller's coordinates."""

from __future__ import annotations

from typing import Any

from ramidyn.algorithms.loops import ALGORITHMS, BY_NAME_ONLY
from ramidyn.description.conventions import Conventions
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import quantity
from ramidyn.tree.model import Model


@quantity(
    "q",
    "qd",
    "qdd",
    has_forces=True,
    returns="joint forces [N m, N]",
)
def inverse_dynamics(
    context: Context, external: tuple[str, ...] = (), expressed_in: str = "local"
) -> Any:
    """τ = M q̈ + C + g − τ_applied."""
    return array(_equations().torques(context, external, expressed_in))


@quantity(
    "q",
    "qd",
    returns="joint forces at zero acceleration [N m, N]",
)
def bias_forces(
    context: Context, external: tuple[str, ...] = (), expressed_in: str = "local"
) -> Any:
    """C + g."""
    return array(_equations().bias(context, external, expressed_in))


@quantity("q", returns="joint forces at rest [N m, N]")
def gravity_forces(context: Context) -> Any:
    """g."""
    return array(_equations().gravity(context))


def possible(model: Model, conventions: Conventions, **options: Any) -> tuple[str, ...]:
    """Return the algorithms of forward dynamics that a robot allows."""
    return _equations().possible(model, conventions, **options)


@quantity(
    "q",
    "qd",
    "tau",
    algorithms=("aba", "ltdl", *ALGORITHMS),
    possible=possible,
    by_name_only=("crba", "crba_root", *BY_NAME_ONLY),
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
    given = external, expressed_in
    return array(_equations().accelerations(context, algorithm, given, damping))


def _equations() -> Any:
    """Return the module that traces: code from the cache does not import it."""
    from ramidyn.quantities import equation_of_motion

    return equation_of_motion
