"""The quantities that users see, by name, each imported when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from ramidyn.tracing.quantity import Quantity

MODULES: Final = {
    "inverse_dynamics": "dynamics",
    "forward_dynamics": "dynamics",
    "bias_forces": "dynamics",
    "gravity_forces": "dynamics",
    "applied_forces": "applied",
    "joint_wrenches": "reactions",
    "inverse_dynamics_derivatives": "dynamics_derivatives",
    "forward_dynamics_derivatives": "dynamics_derivatives",
    "linearize": "steps",
    "integrate_derivatives": "steps",
    "difference_derivatives": "steps",
    "mass_matrix": "mass_matrix",
    "mass_matrix_csr": "mass_matrix",
    "mass_matrix_factor": "mass_matrix",
    "mass_matrix_inverse": "mass_matrix",
    "mass_matrix_solve": "mass_matrix",
    "coriolis_matrix": "mass_matrix",
    "pose": "frames",
    "velocity": "frames",
    "acceleration": "frames",
    "jacobian": "frames",
    "jacobian_dot_times_qd": "frames",
    "configuration_rate": "directions",
    "center_of_mass": "momentum_energy",
    "center_of_mass_jacobian": "momentum_energy",
    "centroidal_momentum": "momentum_energy",
    "centroidal_momentum_matrix": "momentum_energy",
    "kinetic_energy": "momentum_energy",
    "potential_energy": "momentum_energy",
    "elastic_energy": "applied",
    "regressor": "identification",
    "energy_regressor": "identification",
    "operational_inertia": "operational",
    "operational_inertia_inverse": "operational",
    "dynamically_consistent_inverse": "operational",
    "null_space_projector": "operational",
    "articulated_inertia": "articulated",
    "propagator": "articulated",
    "task_jacobian": "operational",
    "task_bias": "operational",
    "task_acceleration": "operational",
    "constraint_residual": "closed_loops",
    "constraint_jacobian": "closed_loops",
    "constraint_bias": "closed_loops",
    "loop_forces": "closed_loops",
    "loop_wrenches": "reactions",
    "loop_forces_derivatives": "dynamics_derivatives",
    "constrained_operational_inertia_inverse": "closed_loops",
}
"""Which module has each quantity, in the order in which they are listed to users."""


@final
class Registry(Mapping[str, "Quantity"]):
    """Quantities by name: one of them costs the import of its own module only."""

    def __getitem__(self, name: str) -> Quantity:
        return getattr(import_module(f"ramidyn.quantities.{MODULES[name]}"), name)

    def __contains__(self, name: object) -> bool:
        return name in MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


QUANTITIES: Final = Registry()
