"""Derivatives of steps: of integrate, of difference, and of a time step.

    q₁ = q ⊕ q̇ dt        v = q₁ ⊖ q₀        x⁺ = f(x, τ) with x = (q, q̇)

Changes of q, before and after a step, are in the tangent space where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramify.errors import ArgumentError
from ramify.model.configurations import differences, integrated, tangent_rate
from ramify.model.coordinate_rates import velocity_of
from ramify.model.model import Model
from ramify.quantities.chooser import algorithm_of
from ramify.quantities.context import Context
from ramify.quantities.directions import seeds
from ramify.quantities.dynamics_derivatives import (
    acceleration_rows,
    forward_dynamics_derivatives,
)
from ramify.quantities.options import CHECKS, one_of
from ramify.quantities.quantity import Shapes, quantity
from ramify.spatial.vector3 import ONE, ZERO
from ramify.symbolic.derivatives import Row, forward
from ramify.symbolic.expr import Expr
from ramify.symbolic.jacobians import matrix

INTEGRATORS = ("semi_implicit_euler", "rk4")
CHECKS["integrator"] = lambda x: one_of("integrator", x, INTEGRATORS)


def _time_step(_model: Model, **_: Any) -> Shapes:
    return {"dt": ()}


def _two_configurations(model: Model, **_: Any) -> Shapes:
    return {"q0": (model.nq,), "q1": (model.nq,)}


@quantity("q", "qd", further_inputs=_time_step, returns="derivatives of integrate")
def integrate_derivatives(context: Context) -> dict[str, Any]:
    """∂q₁/∂q and ∂q₁/∂q̇."""
    q, qd, n = context.inputs["q"], context.inputs["qd"], context.model.nv
    dt = context.inputs["dt"]
    reached = integrated(context.model, context.conventions, q, qd, dt)
    rows = _moved(context, reached, seeds(context, ("q", "qd")), 2 * n)
    return {"dq1_dq": matrix(rows, 0, n), "dq1_dqd": matrix(rows, n, n)}


@quantity(further_inputs=_two_configurations, returns="derivatives of difference")
def difference_derivatives(context: Context) -> dict[str, Any]:
    """∂v/∂q₀ and ∂v/∂q₁."""
    n, (q0, q1) = context.model.nv, (context.inputs["q0"], context.inputs["q1"])
    v = differences(context.model, context.conventions, q0, q1)
    along = dict(seeds(context.with_inputs(q=q0), ("q",)))
    for e, row in seeds(context.with_inputs(q=q1), ("q",)).items():
        along[e] = {n + k: rate for k, rate in row.items()}
    rows = forward(v, along)
    return {"dv_dq0": matrix(rows, 0, n), "dv_dq1": matrix(rows, n, n)}


@quantity(
    "q",
    "qd",
    "tau",
    further_inputs=_time_step,
    has_forces=True,
    returns="A and B of a time step",
)
def linearize(
    context: Context, integrator: str = "semi_implicit_euler"
) -> dict[str, Any]:
    """A and B of δx⁺ = A δx + B δτ."""
    if context.model.loops:
        raise ArgumentError(
            f"linearize: robot {context.model.name!r} has loops; only trees can be "
            "linearized"
        )
    step = _euler if integrator == "semi_implicit_euler" else _rk4
    n = context.model.nv
    q1, qd1, along = step(context, context.inputs["dt"])
    rows = [*_moved(context, q1, along, 3 * n), *forward(qd1, along)]
    return {"A": matrix(rows, 0, 2 * n), "B": matrix(rows, 2 * n, n)}


Step = tuple[list[Expr], list[Expr], Mapping[Expr, Row]]
"""q and q̇ after a step, and the changes of what they are made of"""


def _euler(context: Context, dt: Expr) -> Step:
    along = dict(seeds(context, ("q", "qd", "tau")))
    qdd = _accelerated(context, along)
    qd1 = _plus(context.inputs["qd"], dt, qdd)
    q, model = context.inputs["q"], context.model
    return integrated(model, context.conventions, q, qd1, dt), qd1, along


def _rk4(context: Context, dt: Expr) -> Step:
    """The classical method of Runge and Kutta, in the tangent space of q."""
    along = dict(seeds(context, ("q", "qd", "tau")))
    model, conventions = context.model, context.conventions
    q, qd = context.inputs["q"], context.inputs["qd"]
    rates: list[Sequence[Expr]] = [qd]
    a = [_accelerated(context, along)]
    for h in (0.5 * dt, 0.5 * dt, dt):
        there = context.with_inputs(
            q=integrated(model, conventions, q, rates[-1], h), qd=_plus(qd, h, a[-1])
        )
        u, v = [h * x for x in rates[-1]], there.inputs["qd"]
        rates.append(tangent_rate(model, conventions, u, v))
        a.append(_accelerated(there, along, context))
    mean_v, mean_a = _mean(rates), _mean(a)
    return (
        integrated(model, conventions, q, mean_v, dt),
        _plus(qd, dt, mean_a),
        along,
    )


def _mean(x: Sequence[Sequence[Expr]]) -> list[Expr]:
    """Return (x₁ + 2 x₂ + 2 x₃ + x₄) / 6."""
    return [(a + d + (b + c) * 2.0) * (1 / 6) for a, b, c, d in zip(*x, strict=True)]


def _plus(x: Sequence[Expr], h: Expr, rate: Sequence[Expr]) -> list[Expr]:
    return [a + h * b for a, b in zip(x, rate, strict=True)]


def _accelerated(
    there: Context, along: dict[Expr, Row], start: Context | None = None
) -> list[Expr]:
    """Return q̈ at a state; its changes join ``along``.

    Args:
        there: the state.
        along: how nodes change along q, q̇ and τ at the start of the step.
        start: the context of the start, where ``there`` is another one.
    """
    n = there.model.nv
    algorithm = algorithm_of(
        forward_dynamics_derivatives, there.model, there.conventions
    )
    qdd, rows = acceleration_rows(there.with_inputs(), algorithm)
    if start is not None:
        state = [
            *_moved(start, there.inputs["q"], along, 3 * n),
            *forward(list(there.inputs["qd"]), along),
            *({2 * n + k: ONE} for k in range(n)),
        ]
        rows = [_chained(row, state) for row in rows]
    along.update(zip(qdd, rows, strict=True))
    return qdd


def _chained(row: Row, changes: Sequence[Row]) -> Row:
    """Return the row times the matrix of changes."""
    out: Row = {}
    for k, value in row.items():
        for c, x in changes[k].items():
            out[c] = out[c] + value * x if c in out else value * x
    return out


def _moved(
    context: Context, q: Sequence[Expr], along: Mapping[Expr, Row], columns: int
) -> list[Row]:
    """Return how a configuration changes, in its tangent space."""
    model, rows = context.model, forward(list(q), along)
    found: list[Row] = [{} for _ in range(model.nv)]
    for c in range(columns):
        rate = [row.get(c, ZERO) for row in rows]
        for k, x in enumerate(velocity_of(model, context.conventions, q, rate)):
            if x is not ZERO:
                found[k][c] = x
    return found
