"""Center of mass, momentum and energy."""

from __future__ import annotations

from typing import Any

from ramidyn.algorithms import momentum_energy
from ramidyn.algorithms.momentum_energy import Momenta
from ramidyn.quantities.applied import elastic_energy
from ramidyn.quantities.frames import public_rows, translations
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import quantity


@quantity("q", returns="center of mass [m]")
def center_of_mass(context: Context) -> Any:
    """The center of mass in the world."""
    return array(momentum_energy.center_of_mass(context.tree, context.q))


@quantity("q", returns="Jacobian of the center of mass")
def center_of_mass_jacobian(context: Context) -> Any:
    """The velocity of the center of mass per q̇."""
    found = momentum_energy.center_of_mass_jacobian(context.tree, context.q)
    rows = _momentum_rows(context, found)
    return rows[:3] if context.conventions.order == "linear_first" else rows[3:]


@quantity("q", "qd", returns="momentum [kg m/s, kg m^2/s]")
def centroidal_momentum(context: Context) -> Any:
    """h about the center of mass, in world axes."""
    h = momentum_energy.centroidal_momentum(
        context.tree, context.q, context.qd, context.dynamics_tree
    )
    return array(context.six(h.n, h.f))


@quantity("q", returns="A of h = A qd")
def centroidal_momentum_matrix(context: Context) -> Any:
    """A of h = A q̇."""
    found = momentum_energy.centroidal_momentum_matrix(context.tree, context.q)
    return _momentum_rows(context, found)


@quantity("q", "qd", returns="kinetic energy [J]")
def kinetic_energy(context: Context) -> Any:
    """½ q̇ᵀ M q̇."""
    return momentum_energy.kinetic_energy(context.dynamics_tree, context.q, context.qd)


@quantity("q", returns="potential energy [J]")
def potential_energy(context: Context) -> Any:
    """−Σ m c · g, and the energy stored in force elements."""
    V = momentum_energy.potential_energy(context.tree, context.q, context.gravity)
    return V + elastic_energy.of(context) if context.model.forces else V


def _momentum_rows(context: Context, found: Momenta) -> Any:
    columns = {k: (F.n, F.f) for k, F in found.A.items()}
    known = {}
    if len(context.tree.roots) == 1:
        known = translations(context, found.parent_axes, found.masses)
    return public_rows(context, columns, known)
