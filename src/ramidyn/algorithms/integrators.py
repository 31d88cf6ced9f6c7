"""Integrators: one time step each, and the table of what each one supports.

    semi_implicit_euler    q̇⁺ = q̇ + dt q̈(q, q̇, τ),  q⁺ = q ⊕ dt q̇⁺
    rk4                    Runge and Kutta's method of order four, in the tangent space
                           of q at the start of the step (Munthe-Kaas)
    implicit               (M − dt D − dt² K) Δq̇ = dt (f + dt K q̇),  K = ∂f_a/∂q,
                           D = ∂f_a/∂q̇: f_a are the forces of the robot's elements
                           and of the policy, linear in what a step changes

Contacts, limits and dry friction change q̇⁺ at the end of a step, by impulses that
answer to M, or to the matrix of the implicit step.

Otherwise τ is that of the start of the step, and held. They are written over the
equations of a step (`StepEquations`): those of a rollout are symbols, those of
`linearize` know their derivatives too. A new integrator is a function and an entry of
`INTEGRATORS`; rollout, simulate, linearize and their checks read that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

from ramidyn.errors import ArgumentError
from ramidyn.symbolic.dense import general_solve

StepState = Mapping[str, Any]
"""what is known at one state, by name: q, qd and dt among it, as arrays of symbols"""
Advanced = tuple[StepState, Sequence[tuple[StepState, Any]]]
"""the state after a step; the stages, each with the q̇ that forces there work with"""

NEWTON_STEPS: Final = 2
"""of a projection, where their number is fixed: Φ is left at the cube of what opened"""


class StepEquations(Protocol):
    """The equations of a robot that an explicit step evaluates."""

    def acceleration(self, state: StepState) -> Any:
        """Return q̈."""
        ...

    def reach(
        self, start: StepState, rate: Any, h: Any, qd: Any
    ) -> tuple[StepState, Any]:
        """Return the state with q̇ at q ⊕ u, and u = h rate."""
        ...

    def tangent_rate(self, u: Any, qd: Any) -> Any:
        """Return q̇ at q ⊕ u as du/dt."""
        ...

    def constrained(
        self, start: StepState, qd: Any, inertia: Any | None
    ) -> tuple[StepState, Any, Any]:
        """Return the state with impulses, q̇ with them, and the rate of q in the step.

        ``inertia`` is what they act on, if that is not M.
        """
        ...


class LinearizedForces(StepEquations, Protocol):
    """The equations that an implicit step needs as well."""

    def linear_forces(self, state: StepState) -> tuple[Any, Any, Any, Any]:
        """Return M, all forces f, and the derivatives K and D of the applied ones."""
        ...


class LoopEquations(Protocol):
    """The equations of loops that a projection evaluates."""

    def residual(self, state: StepState) -> Any:
        """Return Φ."""
        ...

    def loop_rates(self, state: StepState) -> Any:
        """Return J q̇."""
        ...

    def correction(self, state: StepState, x: Any) -> Any:
        """Return a v with J v = −x."""
        ...

    def displace(self, state: StepState, u: Any) -> StepState:
        """Return the state at q ⊕ u."""
        ...

    def closed(
        self,
        x: Any,
        residual: Callable[[Any], Any],
        step: Callable[[Any, Any, Any], Any],
        further: Callable[[Any], Any],
    ) -> tuple[Any, Any]:
        """Return x after steps ``x ← step(x, residual(x), further(x))``, and the last.

        Those are evaluated together with the residual.
        """
        ...

    def unless_consistent(self, state: StepState, end: StepState) -> StepState:
        """Return the state where loops and their rates are closed, else the end."""
        ...


def semi_implicit_euler(equations: StepEquations, start: StepState) -> Advanced:
    """Step with the velocity at the end."""
    return _step_with(
        equations, start, start["qd"] + start["dt"] * equations.acceleration(start)
    )


def rk4(equations: StepEquations, start: StepState) -> Advanced:
    """Step by Runge and Kutta's method of order four."""
    qd, dt = start["qd"], start["dt"]
    rates, a, stages = [qd], [equations.acceleration(start)], [(start, qd)]
    for h in (0.5 * dt, 0.5 * dt, dt):
        there, u = equations.reach(start, rates[-1], h, qd + h * a[-1])
        rates.append(equations.tangent_rate(u, there["qd"]))
        a.append(equations.acceleration(there))
        stages.append((there, there["qd"]))
    there, _ = equations.reach(start, stage_mean(rates), dt, qd + dt * stage_mean(a))
    return there, stages


def implicit(equations: LinearizedForces, start: StepState) -> Advanced:
    """Step with forces that follow what the step changes, linearly."""
    qd, dt = start["qd"], start["dt"]
    M, f, K, D = equations.linear_forces(start)
    A = M - dt * D - dt * dt * K
    change = general_solve(A, dt * (f + dt * (K @ qd)))
    return _step_with(equations, start, qd + change, A)


def _step_with(
    equations: StepEquations, start: StepState, qd1: Any, inertia: Any | None = None
) -> Advanced:
    """Return the state that is reached with the velocity at the end of the step."""
    start, qd1, rate = equations.constrained(start, qd1, inertia)
    there, _ = equations.reach(start, rate, start["dt"], qd1)
    return there, [(start, 0.5 * (start["qd"] + there["qd"]))]


def stage_mean(x: Sequence[Any]) -> Any:
    """Return (x₁ + 2 x₂ + 2 x₃ + x₄) / 6, or the only one."""
    if len(x) == 1:
        return x[0]
    return (x[0] + x[3] + 2.0 * (x[1] + x[2])) * (1 / 6)


def project(equations: LoopEquations, state: StepState) -> StepState:
    """Return a state with closed loops, by Newton steps with J where they begin."""

    def at(q: Any) -> StepState:
        return {**state, "q": q}

    q, rates = equations.closed(
        state["q"],
        lambda q: equations.residual(at(q)),
        lambda q, x, _: equations.displace(at(q), equations.correction(state, x))["q"],
        lambda q: equations.loop_rates(at(q)),
    )
    end = {**at(q), "qd": state["qd"] + equations.correction(state, rates)}
    return equations.unless_consistent(state, end)


# What there is, and what supports what.


METHODS: Final = ("rollout", "simulate", "linearize")
STABILIZATIONS: Final = {
    "none": METHODS,
    "baumgarte": METHODS,
    "project": METHODS,
    "partition": METHODS[:2],
}
"""how loops are kept closed, and the methods of Robot that can"""


@final
@dataclass(frozen=True, slots=True)
class Integrator:
    """What an integrator is, and what it supports."""

    step: Callable[[Any, StepState], Advanced] | None
    """None: steps of any length, by scipy"""
    order: int
    tolerance: float
    """relative error of q̇ at the end of a run from which its steps are too long"""
    methods: tuple[str, ...] = METHODS
    """the methods of Robot that take it"""
    stabilizations: tuple[str, ...] = tuple(STABILIZATIONS)
    """what it supports on robots with loops; nothing: trees only"""
    is_for_stiff_forces: bool = False
    stages: int = 1
    """how often a step evaluates the dynamics"""
    has_contacts: bool = False
    """whether a step ends with velocities that obey contacts and limits"""


INTEGRATORS: Final = {
    "semi_implicit_euler": Integrator(semi_implicit_euler, 1, 0.05, has_contacts=True),
    "rk4": Integrator(rk4, 4, 1e-4, stages=4),
    "implicit": Integrator(
        implicit,
        1,
        0.05,
        METHODS[:2],
        (),
        is_for_stiff_forces=True,
        has_contacts=True,
    ),
    "adaptive": Integrator(None, 8, 1e-4, ("simulate",)),
}


def integrators_of(method: str, stabilize: str | None = None) -> list[str]:
    """Return the integrators of a method; with a stabilization, those for loops."""
    return [
        name
        for name, i in INTEGRATORS.items()
        if method in i.methods and (stabilize is None or stabilize in i.stabilizations)
    ]


def stabilizations_of(method: str) -> list[str]:
    """Return the stabilizations that a method of Robot has."""
    return [name for name, methods in STABILIZATIONS.items() if method in methods]


def check_loops(robot: str, method: str, integrator: str, stabilize: str) -> None:
    """Raise ArgumentError if an integrator does not support loops kept closed so."""
    possible = integrators_of(method, stabilize)
    if integrator not in possible:
        raise ArgumentError(
            f"robot {robot!r} has loops, which {integrator!r} does not support with "
            f"stabilize={stabilize!r}; use {' or '.join(map(repr, possible))}"
        )


def check_contacts(robot: str, integrator: str, stabilize: str | None) -> None:
    """Raise ArgumentError if a step cannot have contacts, limits or dry friction.

    ``stabilize`` is None for a robot without loops.
    """
    if not INTEGRATORS[integrator].has_contacts:
        possible = [n for n, i in INTEGRATORS.items() if i.has_contacts]
        raise ArgumentError(
            f"robot {robot!r} has contacts, hard limits or dry friction, which "
            f"{integrator!r} does not support: velocities jump at impacts, and its "
            f"order needs smooth motion; use {' or '.join(map(repr, possible))}"
        )
    if stabilize == "partition":
        raise ArgumentError(
            f"robot {robot!r} has loops and contacts, which stabilize='partition' does "
            "not support: impulses change dependent velocities too; use 'project'"
        )
