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
    NEWTON_STEPS,
    StepState,
    check_loops,
    integrators_of,
    project,
    stabilizations_of,
)
from ramidyn.coordinates.configurations import (
    differences,
    integrated_q,
    tangent_rate,
    velocity_of,
)
from ramidyn.errors import ModelError, one_of
from ramidyn.mechanism.constraints.samples import ConstraintRows, rows_of
from ramidyn.quantities.derivative_rows import (
    Change,
    acceleration_change,
    acceleration_rows,
)
from ramidyn.quantities.directions import seeds
from ramidyn.quantities.dynamics_derivatives import forward_dynamics_derivatives
from ramidyn.quantities.loop_derivatives import closing_derivatives
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.calls import traced_function
from ramidyn.symbolic.dense import add_multiples, dot, inner
from ramidyn.symbolic.derivatives import Row, forward
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.jacobians import matrix
from ramidyn.symbolic.linear_steps import (
    UNROLLED,
    LinearSteps,
    linear_steps,
    map_linear,
    map_steps,
)
from ramidyn.symbolic.seeds import held_seeds, known_seeds
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.model import Model

Columns = Sequence[Sequence[Expr]]


def _time_step(_model: Model, **_: Any) -> Shapes:
    return {"dt": ()}


def _two_configurations(model: Model, **_: Any) -> Shapes:
    return {"q0": (model.nq,), "q1": (model.nq,)}


@quantity("q", "qd", further_inputs=_time_step, returns="derivatives of integrate")
def integrate_derivatives(context: Context) -> dict[str, Any]:
    """∂q₁/∂q and ∂q₁/∂q̇."""
    q, qd, n = context.inputs["q"], context.inputs["qd"], context.model.nv
    dt = context.inputs["dt"]
    reached = integrated_q(context.model, context.conventions, q, qd, dt)
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
    if context.model.contacts:
        raise ModelError(
            f"robot {context.model.name!r} has contacts, hard limits or dry friction, "
            "whose impulses linearize does not differentiate; remove them, or use "
            "compliant contacts (ramidyn.forces)"
        )
    how = INTEGRATORS[integrator]
    step = how.step
    assert step is not None
    baumgarte = rate if has_loops and stabilize == "baumgarte" else 0.0
    dynamics = _Dynamics(context, baumgarte, how.stages)

    def changes(columns: Columns) -> list[Row]:
        """Return the derivatives of the end of the step by q, q̇, τ and ``first``."""
        moving = _MovingStep(context, dynamics, columns)
        end, _ = step(moving, context.inputs)
        if has_loops and stabilize == "project":
            end = project(moving, end)
        return [*moving.tangents(end["q"]), *moving.changes(list(end["qd"]))]

    units = [[ONE if r == c else ZERO for r in range(3 * n)] for c in range(3 * n)]
    first = dynamics.first_changes(units)
    columns = [[*u, *(row[c] for row in first)] for c, u in enumerate(units)]
    # One stage of a tree is a few operations for each entry; others are a loop.
    if how.stages == 1 and (n <= UNROLLED or not has_loops):
        rows = changes(columns)
    else:
        found = map_linear(
            lambda column: [row.get(0, ZERO) for row in changes([column])], columns
        )
        rows = [dict(enumerate(row)) for row in found]
    return {"A": matrix(rows, 0, 2 * n), "B": matrix(rows, 2 * n, n)}


@final
class _Dynamics:
    """q̈ and its changes at the stages of a step: called if there are several.

    ``first`` is the first q̈ of several; the change of dt q̈ costs less than that of q̈.

    Args:
        context: the start of the step.
        rate: of Baumgarte's stabilization.
        stages: how often q̈ is evaluated.
    """

    def __init__(self, context: Context, rate: float, stages: int) -> None:
        self.context, self.rate, self.stages = context, rate, stages
        self.algorithm = context.algorithm_of(forward_dynamics_derivatives)
        n = context.model.nv
        if stages > 1:
            size = context.model.nq + n
            self._stage = traced_function(self._linear, size, "linearized dynamics")
            q, qd = context.inputs["q"], context.inputs["qd"]
            self.qdd, self._shared = self._call_stage(q, qd)
            self.first: list[Expr] = self.qdd
        else:
            self._stage, dt = None, context.inputs["dt"]
            found = acceleration_rows(context, self.algorithm, rate=rate, factor=dt)
            self.qdd, self.rows = found
            self.first = [dt * x for x in self.qdd]

    def _linear(self, entries: list[Expr]) -> list[Expr]:
        """Return q̈, and the factors of its change, at a state."""
        nq, n = self.context.model.nq, self.context.model.nv
        there = self.context.with_inputs(q=entries[:nq], qd=entries[nq:])
        qdd, change = acceleration_change(there, self.algorithm, self.rate)
        self.steps: LinearSteps = linear_steps(change, 3 * n)
        return [*qdd, *self.steps.shared]

    def _call_stage(self, q: Any, qd: Any) -> tuple[list[Expr], list[Expr]]:
        assert self._stage is not None
        found, n = self._stage([*q, *qd]), self.context.model.nv
        return found[:n], found[n:]

    def first_changes(self, units: Columns) -> list[list[Expr]]:
        """Return the changes of ``first`` along all directions, by rows."""
        if self._stage is not None:
            return map_steps(self.steps, self._shared, units)
        return [[row.get(c, ZERO) for c in range(len(units))] for row in self.rows]

    def at(self, state: StepState) -> tuple[list[Expr], Change]:
        """Return q̈ at another state, and its change."""
        if self._stage is not None:
            qdd, shared = self._call_stage(state["q"], state["qd"])
            return qdd, lambda column: self.steps.applied(shared, column)
        there = self.context.with_inputs(q=state["q"], qd=state["qd"])
        return acceleration_change(there, self.algorithm, self.rate)


@final
class _MovingStep:
    """A time step, and how what it computes changes.

    Args:
        context: the start of the step.
        dynamics: q̈ at the stages.
        columns: the changes of q, q̇, τ and what the dynamics has at the start; each is
            one direction.
    """

    def __init__(self, context: Context, dynamics: _Dynamics, columns: Columns) -> None:
        self.context, self.dynamics, self.columns = context, dynamics, columns
        given = [dict(enumerate(column)) for column in columns]
        self.along: dict[Expr, Row] = {
            e: _row([dot(row, column) for column in given])
            for e, row in seeds(context, ("q", "qd", "tau")).items()
        }
        start = [_row([x[k] for x in columns]) for k in range(context.model.nv)]
        self._tangents: dict[tuple[int, ...], list[Row]] = {
            _key(context.inputs["q"]): start
        }
        """of configurations, by their entries"""

    def acceleration(self, state: StepState) -> Any:
        """Return q̈ at a state; its changes join ``along``."""
        n = self.context.model.nv
        if state is self.context.inputs:
            self._add(self.dynamics.first, [x[3 * n :] for x in self.columns])
            return array(self.dynamics.qdd)
        qdd, change = self.dynamics.at(state)
        moved = [*self.tangents(state["q"]), *self.changes(list(state["qd"]))]
        forces = (x[2 * n : 3 * n] for x in self.columns)
        given = zip(self._by_column(moved), forces, strict=True)
        self._add(qdd, [change([*x, *f]) for x, f in given])
        return array(qdd)

    def tangent_rate(self, u: Any, qd: Any) -> Any:
        """Return q̇ at q ⊕ u as du/dt."""
        return array(tangent_rate(self.context.model, self.context.conventions, u, qd))

    def reach(
        self, start: StepState, rate: Any, h: Any, qd: Any
    ) -> tuple[StepState, Any]:
        """Return the state with q̇ at q ⊕ u, and u = h rate."""
        return {**start, "q": self._moved_q(start["q"], rate, h), "qd": qd}, h * rate

    def constrained(
        self, start: StepState, qd: Any, inertia: Any | None
    ) -> tuple[StepState, Any, Any]:
        """Return q̇ as it is: robots with contacts are refused."""
        assert inertia is None
        return start, qd, qd

    def displace(self, state: StepState, u: Any) -> StepState:
        """Return the state at q ⊕ u."""
        return {**state, "q": self._moved_q(state["q"], u, ONE)}

    def closed(self, x: Any, residual: Any, step: Any, further: Any) -> tuple[Any, Any]:
        """Return x after Newton steps; more of them change no digit."""
        for _ in range(NEWTON_STEPS):
            x = step(x, residual(x), None)
        return x, further(x)

    def unless_consistent(self, state: StepState, end: StepState) -> StepState:  # noqa: ARG002
        """Return the end: its derivatives are those of consistent states too."""
        return end

    def residual(self, state: StepState) -> Any:
        """Return Φ."""
        return array(self._rows(state).residual)

    def loop_rates(self, state: StepState) -> Any:
        """Return J q̇."""
        return array([inner(row, state["qd"]) for row in self._rows(state).J])

    def correction(self, state: StepState, x: Any) -> Any:
        """Return the least v with J v = −x; its changes join ``along``."""
        found = closing_derivatives(self.context.with_inputs(q=state["q"]), list(x))
        changes = [*self.tangents(state["q"]), *self.changes(list(x))]
        self._add(found.qdd, [found.change(x) for x in self._by_column(changes)])
        return array(found.qdd)

    def tangents(self, q: Sequence[Expr]) -> list[Row]:
        """Return the change of a configuration, in its tangent space."""
        return self._tangents[_key(q)]

    def changes(self, x: Sequence[Expr]) -> list[Row]:
        """Return the change of values."""
        return forward(x, self.along)

    def _by_column(self, rows: Sequence[Row]) -> list[list[Expr]]:
        """Return changes along each direction."""
        return [[x.get(c, ZERO) for x in rows] for c in range(len(self.columns))]

    def _moved_q(self, q: Any, v: Any, dt: Expr) -> Any:
        """Return q ⊕ v dt; its change is that of q and v times a block a joint."""
        model, conventions = self.context.model, self.context.conventions
        moved = array(integrated_q(model, conventions, q, v, dt))
        rates = [e for e in held_seeds(v) if e.op != "const"]
        along = seeds(self.context.with_inputs(q=q), ("q",))
        along |= {e: {model.nv + k: ONE} for k, e in enumerate(rates)}
        blocks = _tangents(self.context, moved, along, model.nv + len(rates))
        given = [*self.tangents(q), *self.changes(rates)]
        self._tangents[_key(moved)] = rows = [_sum(x, given) for x in blocks]
        if model.loops:  # Φ is a function of q
            for e, row in seeds(self.context.with_inputs(q=moved), ("q",)).items():
                self.along[e] = _sum(row, rows)
        return moved

    def _rows(self, state: StepState) -> ConstraintRows:
        there = self.context.with_inputs(q=state["q"])
        return rows_of(there, with_velocities=False)

    def _add(self, found: Sequence[Expr], changes: Columns) -> None:
        """Add how values change that are solved for, along each direction."""
        rows = [_row([x[k] for x in changes]) for k in range(len(found))]
        self.along.update(known_seeds(found, rows))


def _key(q: Sequence[Expr]) -> tuple[int, ...]:
    return tuple(map(id, q))


def _sum(weights: Row, rows: Sequence[Row]) -> Row:
    """Return the sum of some rows, each times its weight."""
    found: Row = {}
    add_multiples(found, [rows[k] for k in weights], list(weights.values()))
    return found


def _row(entries: Sequence[Expr]) -> Row:
    """Return the entries that are not zero."""
    return {c: x for c, x in enumerate(entries) if not x.is_zero}


def _tangents(
    context: Context, q: Sequence[Expr], along: Mapping[Expr, Row], columns: int
) -> list[Row]:
    """Return the change of a configuration, in its tangent space."""
    model, rows = context.model, forward(list(q), along)
    found: list[Row] = [{} for _ in range(model.nv)]
    for c in range(columns):
        rate = [row.get(c, ZERO) for row in rows]
        for k, x in enumerate(velocity_of(model, context.conventions, q, rate)):
            if not x.is_zero:
                found[k][c] = x
    return found
