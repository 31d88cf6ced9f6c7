"""Derivatives of steps: of integrate, of difference, and of a time step.

    q₁ = q ⊕ q̇ dt        v = q₁ ⊖ q₀        x⁺ = f(x, τ) with x = (q, q̇)

Changes of q, before and after a step, are in the tangent space where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ramidyn.algorithms.loops.joint_formulation import dot
from ramidyn.coordinates.configurations import (
    differences,
    integrated,
    tangent_rate,
    velocity_of,
)
from ramidyn.mechanism.constraints.rows import rows_of
from ramidyn.quantities.closed_loops import NEWTON_STEPS
from ramidyn.quantities.derivative_rows import acceleration_rows
from ramidyn.quantities.directions import seeds
from ramidyn.quantities.dynamics_derivatives import forward_dynamics_derivatives
from ramidyn.quantities.loop_derivatives import closing_derivatives
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.derivatives import Row, forward, known
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.jacobians import matrix
from ramidyn.tracing.chooser import algorithm_of
from ramidyn.tracing.context import Context
from ramidyn.tracing.options import CHECKS, nonnegative, one_of
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.model import Model

INTEGRATORS = ("semi_implicit_euler", "rk4")
STABILIZE = ("none", "baumgarte", "project")
CHECKS["integrator"] = lambda x: one_of("integrator", x, INTEGRATORS)
CHECKS["stabilize"] = lambda x: one_of("stabilize", x, STABILIZE)
CHECKS["rate"] = nonnegative("rate")


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
)
def linearize(
    context: Context,
    integrator: str = "semi_implicit_euler",
    stabilize: str = "project",
    rate: float = 20.0,
) -> dict[str, Any]:
    """A and B of δx⁺ = A δx + B δτ."""
    n, has_loops = context.model.nv, bool(context.model.loops)
    moving = _Moving(context, rate if has_loops and stabilize == "baumgarte" else 0.0)
    step = moving.euler if integrator == "semi_implicit_euler" else moving.rk4
    q1, qd1 = step(context.inputs["dt"])
    if has_loops and stabilize == "project":
        q1, qd1 = moving.closed(q1, qd1)
    rows = [*moving.tangents(q1), *forward(qd1, moving.along)]
    return {"A": matrix(rows, 0, 2 * n), "B": matrix(rows, 2 * n, n)}


State = tuple[list[Expr], list[Expr]]
"""q and q̇"""


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

    def euler(self, dt: Expr) -> State:
        """Return the state after a step, with the new velocity in q."""
        q, qd = self.context.inputs["q"], self.context.inputs["qd"]
        qd1 = _plus(qd, dt, self._accelerated(self.context))
        return self._moved(q, qd1, dt), qd1

    def rk4(self, dt: Expr) -> State:
        """Return the state after Runge and Kutta's step, in the tangent space of q."""
        context, q, qd = (
            self.context,
            self.context.inputs["q"],
            self.context.inputs["qd"],
        )
        rates: list[Sequence[Expr]] = [qd]
        a = [self._accelerated(context)]
        for h in (0.5 * dt, 0.5 * dt, dt):
            there = context.with_inputs(
                q=self._moved(q, rates[-1], h), qd=_plus(qd, h, a[-1])
            )
            u, v = [h * x for x in rates[-1]], there.inputs["qd"]
            rates.append(tangent_rate(context.model, context.conventions, u, v))
            a.append(self._accelerated(there))
        return self._moved(q, _mean(rates), dt), _plus(qd, dt, _mean(a))

    def closed(self, q: list[Expr], qd: list[Expr]) -> State:
        """Return the nearest state with closed loops, by Newton steps with J at q."""
        begin, start = self.context.with_inputs(q=q), self.tangents(q)

        def correction(x: Sequence[Expr]) -> list[Expr]:
            found = closing_derivatives(begin, x)
            changes = [*start, *forward(x, self.along)]
            self._add(found.qdd, found.accelerations(), changes)
            return found.qdd

        there = begin
        for _ in range(NEWTON_STEPS):
            step = correction(rows_of(there, with_velocities=False).residual)
            q = self._moved(q, step, ONE)
            there = begin.with_inputs(q=q)
        J = rows_of(there, with_velocities=False).J
        opened = [dot(dict(enumerate(row)), dict(enumerate(qd))) for row in J]
        return q, _plus(qd, ONE, correction(opened))

    def tangents(self, q: Sequence[Expr]) -> list[Row]:
        """Return how a configuration changes, in its tangent space."""
        return _tangents(self.context, q, self.along, 3 * self.context.model.nv)

    def _moved(self, q: Sequence[Expr], v: Sequence[Expr], dt: Expr) -> list[Expr]:
        return integrated(self.context.model, self.context.conventions, q, v, dt)

    def _accelerated(self, there: Context) -> list[Expr]:
        """Return q̈ at a state; its changes join ``along``."""
        n, is_start = there.model.nv, there is self.context
        algorithm = algorithm_of(
            forward_dynamics_derivatives, there.model, there.conventions
        )
        qdd, rows = acceleration_rows(there.with_inputs(), algorithm, rate=self.rate)
        if is_start:
            self.along.update(known(qdd, rows))
            return qdd
        q, qd = there.inputs["q"], list(there.inputs["qd"])
        torques: list[Row] = [{2 * n + k: ONE} for k in range(n)]
        changes = [*self.tangents(q), *forward(qd, self.along), *torques]
        self._add(qdd, rows, changes)
        return qdd

    def _add(
        self, found: Sequence[Expr], rows: Sequence[Row], changes: Sequence[Row]
    ) -> None:
        """Add how values change that depend on a state, which changes itself."""
        chained = [_chained(row, changes) for row in rows]
        self.along.update(known(found, chained))


def _mean(x: Sequence[Sequence[Expr]]) -> list[Expr]:
    """Return (x₁ + 2 x₂ + 2 x₃ + x₄) / 6."""
    return [(a + d + (b + c) * 2.0) * (1 / 6) for a, b, c, d in zip(*x, strict=True)]


def _plus(x: Sequence[Expr], h: Expr, rate: Sequence[Expr]) -> list[Expr]:
    return [a + h * b for a, b in zip(x, rate, strict=True)]


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
            if x is not ZERO:
                found[k][c] = x
    return found
