"""Derivatives of steps: of integrate, of difference, and of a time step.

    q₁ = q ⊕ q̇ dt        v = q₁ ⊖ q₀        x⁺ = f(x, τ) with x = (q, q̇)

Changes of q, before and after a step, are in the tangent space where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

from ramidyn.algorithms.integrators import (
    INTEGRATORS,
    StepState,
    check_loops,
    integrators_of,
    project,
    stabilizations_of,
)
from ramidyn.coordinates.configurations import (
    differences,
    integrated,
    tangent_rate,
    velocity_of,
)
from ramidyn.mechanism.constraints.rows import Rows, rows_of
from ramidyn.quantities.derivative_rows import acceleration_rows
from ramidyn.quantities.directions import seeds
from ramidyn.quantities.dynamics_derivatives import forward_dynamics_derivatives
from ramidyn.quantities.loop_derivatives import closing_derivatives
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import inner
from ramidyn.symbolic.derivatives import Row, forward, known
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.jacobians import matrix
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.options import one_of
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.model import Model


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
    rows = _tangents(context, reached, seeds(context, ("q", "qd")), 2 * n)
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
    checks={
        "integrator": partial(
            one_of, "integrator", possible=integrators_of("linearize")
        ),
        "stabilize": partial(
            one_of, "stabilize", possible=stabilizations_of("linearize")
        ),
    },
)
def linearize(
    context: Context,
    integrator: str = "semi_implicit_euler",
    stabilize: str = "project",
    rate: float = 20.0,
) -> dict[str, Any]:
    """A and B of δx⁺ = A δx + B δτ."""
    n, has_loops = context.model.nv, bool(context.model.loops)
    if has_loops:
        check_loops(context.model.name, "linearize", integrator, stabilize)
    moving = _Moving(context, rate if has_loops and stabilize == "baumgarte" else 0.0)
    step = INTEGRATORS[integrator].step
    assert step is not None
    end, _ = step(moving, context.inputs)
    if has_loops and stabilize == "project":
        end = project(moving, end)
    rows = [*moving.tangents(end["q"]), *forward(list(end["qd"]), moving.along)]
    return {"A": matrix(rows, 0, 2 * n), "B": matrix(rows, 2 * n, n)}


@final
class _Moving:
    """A time step, and how what it computes changes along q, q̇ and τ at its start.

    Args:
        context: the start of the step.
        rate: of Baumgarte's stabilization.
    """

    def __init__(self, context: Context, rate: float) -> None:
        self.context, self.rate = context, rate
        self.along: dict[Expr, Row] = dict(seeds(context, ("q", "qd", "tau")))

    def acceleration(self, state: StepState) -> Any:
        """Return q̈ at a state; its changes join ``along``."""
        context, n = self.context, self.context.model.nv
        algorithm = context.algorithm_of(forward_dynamics_derivatives)
        there = context.with_inputs(q=state["q"], qd=state["qd"])
        qdd, rows = acceleration_rows(there, algorithm, rate=self.rate)
        if state is context.inputs:
            self.along.update(known(qdd, rows))
            return array(qdd)
        torques: list[Row] = [{2 * n + k: ONE} for k in range(n)]
        velocities = forward(list(state["qd"]), self.along)
        self._add(qdd, rows, [*self.tangents(state["q"]), *velocities, *torques])
        return array(qdd)

    def tangent_rate(self, u: Any, qd: Any) -> Any:
        """Return q̇ at q ⊕ u as du/dt."""
        return array(tangent_rate(self.context.model, self.context.conventions, u, qd))

    def reach(
        self, start: StepState, rate: Any, h: Any, qd: Any
    ) -> tuple[StepState, Any]:
        """Return the state with q̇ at q ⊕ u, and u = h rate."""
        return {**start, "q": self._moved_q(start["q"], rate, h), "qd": qd}, h * rate

    def displace(self, state: StepState, u: Any) -> StepState:
        """Return the state at q ⊕ u."""
        return {**state, "q": self._moved_q(state["q"], u, ONE)}

    def residual(self, state: StepState) -> Any:
        """Return Φ."""
        return array(self._rows(state).residual)

    def loop_rates(self, state: StepState) -> Any:
        """Return J q̇."""
        return array([inner(row, state["qd"]) for row in self._rows(state).J])

    def correction(self, state: StepState, x: Any) -> Any:
        """Return the least v with J v = −x; its changes join ``along``."""
        found = closing_derivatives(self.context.with_inputs(q=state["q"]), list(x))
        changes = [*self.tangents(state["q"]), *forward(list(x), self.along)]
        self._add(found.qdd, found.accelerations(), changes)
        return array(found.qdd)

    def tangents(self, q: Sequence[Expr]) -> list[Row]:
        """Return how a configuration changes, in its tangent space."""
        return _tangents(self.context, q, self.along, 3 * self.context.model.nv)

    def _moved_q(self, q: Any, v: Any, dt: Expr) -> Any:
        return array(integrated(self.context.model, self.context.conventions, q, v, dt))

    def _rows(self, state: StepState) -> Rows:
        there = self.context.with_inputs(q=state["q"])
        return rows_of(there, with_velocities=False)

    def _add(
        self, found: Sequence[Expr], rows: Sequence[Row], changes: Sequence[Row]
    ) -> None:
        """Add how values change that depend on a state, which changes itself."""
        chained = [_chained(row, changes) for row in rows]
        self.along.update(known(found, chained))


def _chained(row: Row, changes: Sequence[Row]) -> Row:
    """Return the row times the matrix of changes."""
    out: Row = {}
    for k, value in row.items():
        for c, x in changes[k].items():
            out[c] = out[c] + value * x if c in out else value * x
    return out


def _tangents(
    context: Context, q: Sequence[Expr], along: Mapping[Expr, Row], columns: int
) -> list[Row]:
    """Return how a configuration changes, in its tangent space."""
    model, rows = context.model, forward(list(q), along)
    found: list[Row] = [{} for _ in range(model.nv)]
    for c in range(columns):
        rate = [row.get(c, ZERO) for row in rows]
        for k, x in enumerate(velocity_of(model, context.conventions, q, rate)):
            if not x.is_zero:
                found[k][c] = x
    return found
