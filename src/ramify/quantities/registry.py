"""The quantities that users see, by name."""

from __future__ import annotations

from ramify.quantities import (
    closed_loops,
    configuration,
    dynamics,
    dynamics_derivatives,
    frames,
    identification,
    mass_matrix,
    momentum_energy,
    operational,
    reactions,
    steps,
)
from ramify.quantities.quantity import Quantity

QUANTITIES: dict[str, Quantity] = {
    q.name: q
    for q in (
        dynamics.inverse_dynamics,
        dynamics.forward_dynamics,
        dynamics.bias_forces,
        dynamics.gravity_forces,
        reactions.joint_wrenches,
        dynamics_derivatives.inverse_dynamics_derivatives,
        dynamics_derivatives.forward_dynamics_derivatives,
        steps.linearize,
        steps.integrate_derivatives,
        steps.difference_derivatives,
        mass_matrix.mass_matrix,
        mass_matrix.mass_matrix_csr,
        mass_matrix.mass_matrix_factor,
        mass_matrix.mass_matrix_inverse,
        mass_matrix.mass_matrix_solve,
        mass_matrix.coriolis_matrix,
        frames.pose,
        frames.velocity,
        frames.acceleration,
        frames.jacobian,
        frames.jacobian_dot_times_qd,
        configuration.configuration_rate,
        momentum_energy.center_of_mass,
        momentum_energy.center_of_mass_jacobian,
        momentum_energy.centroidal_momentum,
        momentum_energy.centroidal_momentum_matrix,
        momentum_energy.kinetic_energy,
        momentum_energy.potential_energy,
        identification.regressor,
        identification.energy_regressor,
        operational.operational_inertia,
        operational.operational_inertia_inverse,
        operational.dynamically_consistent_inverse,
        operational.null_space_projector,
        operational.task_jacobian,
        operational.task_bias,
        operational.task_acceleration,
        closed_loops.constraint_residual,
        closed_loops.constraint_jacobian,
        closed_loops.constraint_bias,
        closed_loops.loop_forces,
        reactions.loop_wrenches,
        dynamics_derivatives.loop_forces_derivatives,
        closed_loops.constrained_operational_inertia_inverse,
    )
}
"""In the order in which they are listed to users."""
