"""How a configuration changes: dq/dt, for integrators that take q as a plain vector."""

from __future__ import annotations

from typing import Any

from ramidyn.coordinates.configurations import rates
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import quantity


@quantity("q", "qd", returns="time derivative of the entries of q [rad/s, m/s, 1/s]")
def configuration_rate(context: Context) -> Any:
    """dq/dt at velocity q̇."""
    q, qd = context.inputs["q"], context.inputs["qd"]
    return array(rates(context.model, context.conventions, q, qd))
