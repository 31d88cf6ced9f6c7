"""One time step as a traced function: forces, dynamics, integrator, records.

    semi_implicit_euler    q̇⁺ = q̇ + dt q̈(q, q̇, τ),  q⁺ = q ⊕ dt q̇⁺
    rk4                    Runge and Kutta's method of order four, in the tangent space
                           of q at the start of the step (Munthe-Kaas)
    implicit               (M − dt D − dt² K) Δq̇ = dt (f + dt K q̇),  K = ∂f_a/∂q,
                           D = ∂f_a/∂q̇: f_a are the forces of the robot's elements
                           and of the policy, linear in what a step changes

Otherwise τ is that of the start of the step, and held. With "partition", entries of q̇
that depend on others are not integrated: they follow from the loops wherever the forces
are evaluated, and at the end of the step.
"""

# ruff: noqa: N803, N806  the book's letters: M, D, K

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ramidyn.compiler import compile, kernel
from ramidyn.coordinates.configurations import tangent_rate
from ramidyn.errors import ArgumentError, TraceError
from ramidyn.function import Function, compilation_of
from ramidyn.quantities.applied import applied_forces, elastic_energy
from ramidyn.quantities.closed_loops import (
    NEWTON_STEPS,
    constraint_correction,
    constraint_jacobian,
    constraint_residual,
    dependent_correction,
    dependent_velocities,
    stabilized_forward_dynamics,
)
from ramidyn.quantities.configuration import configuration_rate
from ramidyn.quantities.dynamics import bias_forces, forward_dynamics
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.quantities.momentum_energy import kinetic_energy, potential_energy
from ramidyn.symbolic import functions as math
from ramidyn.symbolic.derivatives import forward
from ramidyn.symbolic.expr import const, lift
from ramidyn.symbolic.jacobians import matrix
from ramidyn.symbolic.parameters import parameters_of
from ramidyn.tracing.quantity import Quantity

if TYPE_CHECKING:
    from ramidyn.robot import Robot

INTEGRATORS = ("semi_implicit_euler", "rk4", "implicit")
STABILIZE = ("none", "baumgarte", "project", "partition")
INTEGRALS = ("work", "element_work")
"""work of τ, and of the robot's force elements beyond the energy that they store"""
BUILT_IN = ("qdd", "tau", "energy", "residual", *INTEGRALS)
"""what can be recorded by name"""
OWN_INPUTS = ("q", "qd", "tau", "dt", "time")

Traced = Callable[..., Any]
Shapes = tuple[tuple[str, tuple[int, ...]], ...]
Stepped = tuple[Any, Any, list[tuple[dict[str, Any], Any]]]
"""q and q̇ after a step; of each stage, what is known, and the q̇ to do work with"""


@final
@dataclass(frozen=True, slots=True)
class StepOptions:
    """All that a compiled step depends on."""

    integrator: str
    stabilize: str
    rate: float
    policy: Traced | None
    has_tau: bool
    record: tuple[tuple[str, str | Traced], ...]
    total: tuple[tuple[str, Traced], ...]
    until: Traced | None
    restart: bool
    inputs: Shapes
    """further inputs, of the policy and other traced functions"""
    parameters: tuple[str, ...]
    dtype: str
    threads: int
    is_held: bool = True
    """whether the policy's τ is that of the start of the step, or of each stage"""
    damping: float | None = None
    """of the loops' constraints, as in `forward_dynamics`"""


@final
@dataclass(frozen=True)
class Step:
    """A step of a robot, to be compiled.

    Inputs are those of ``shapes``; outputs the recorded values at the start of the
    step, and the next values of ``carry``.
    """

    robot: Robot
    options: StepOptions
    _functions: dict[str, Function] = field(default_factory=dict[str, Function])

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The inputs of the step: names and shapes."""
        o, nq, nv = self.options, self.robot.nq, self.robot.nv
        shapes: dict[str, tuple[int, ...]] = {"q": (nq,), "qd": (nv,), "count": ()}
        if o.has_tau:
            shapes["tau"] = (nv,)
        shapes |= {"dt": (), "start": (), **dict(o.inputs)}
        known = compilation_of(self.dynamics).inputs
        shapes |= {n: s for n, s in known if n in o.parameters}
        if o.until is not None:
            shapes["ended"] = ()
        if o.restart:
            shapes |= {"q_start": (nq,), "qd_start": (nv,)}
        shapes |= {f"integral {name}": () for name in self.integrals}
        return shapes | {f"sum {name}": () for name, _ in o.total}

    @property
    def integrals(self) -> list[str]:
        """The built-in records that are integrated over time."""
        return [n for n in INTEGRALS if n in dict(self.options.record).values()]

    @property
    def carry(self) -> dict[str, str]:
        """Which output each carried input is in the next step."""
        own = ["q", "qd", "count"]
        own += [n for n in self.shapes if n == "ended" or " " in n]
        return {name: f"next {name}" for name in own}

    @property
    def per_step(self) -> list[str]:
        """Inputs that may have a value for each step."""
        return [n for n in ("tau", *dict(self.options.inputs)) if n in self.shapes]

    @property
    def recorded(self) -> list[str]:
        """Outputs that are recorded."""
        return ["q", "qd", *dict(self.options.record)]

    @cached_property
    def dynamics(self) -> Function:
        """The robot's forward dynamics, with loops that are stabilized."""
        o = self.options
        if self.robot.model.loops:
            rate = o.rate if o.stabilize == "baumgarte" else 0.0
            quantity = stabilized_forward_dynamics(rate=rate, damping=o.damping)
            return self.function(quantity)
        return self.function(forward_dynamics)

    def function(self, quantity: Quantity) -> Function:
        """Return the compiled function of a quantity, with the parameters as inputs."""
        name = repr(quantity)
        if name not in self._functions:
            made = compile(quantity, self.robot, parameters=self.options.parameters)
            self._functions[name] = made
        return self._functions[name]

    def compiled(self) -> Function:
        """Return the step as one kernel."""
        o = self.options
        return kernel(
            self._traced,
            self.shapes,
            dtype=o.dtype,
            threads=o.threads,
            name=f"rollout of {self.robot.name}",
        )

    def _traced(self, *values: Any) -> dict[str, Any]:
        """Return the outputs of the step as symbols."""
        o = self.options
        given = dict(zip(self.shapes, values, strict=True))
        q, qd, dt = given["q"], given["qd"], given["dt"]
        known = {**given, "time": given["start"] + given["count"] * dt}
        if o.policy is not None:
            known["tau"] = self.policy_tau(known)
        else:
            known.setdefault("tau", np.zeros(self.robot.nv))
        known["qdd"] = self.evaluated(self.dynamics, known)
        if o.stabilize == "partition":
            known["w"] = self.evaluated(self.function(dependent_velocities), known)
        ways = {"rk4": self._rk4, "implicit": self._implicit}
        q1, qd1, stages = ways.get(o.integrator, self._euler)(known)
        if o.stabilize == "project":
            q1, qd1 = self.projected(q1, qd1, known)
        outputs: dict[str, Any] = {"q": q, "qd": qd}
        for name, what in o.record:
            outputs[name] = self.record_of(name, what, known)
        after = {"q": q1, "qd": qd1, "count": given["count"] + 1.0}
        for name, cost in o.total:
            value = checked_shape(f"total {name!r}", called(name, cost, known), ())
            after[f"sum {name}"] = given[f"sum {name}"] + value
        for name in self.integrals:
            power = [self.working_force(name, known) @ v for known, v in stages]
            mean = _mean(power) if len(power) == 4 else power[0]
            after[f"integral {name}"] = given[f"integral {name}"] + dt * mean
        if o.until is not None:
            after = self._ended(given, {**known, **after}, after)
        return outputs | {f"next {name}": value for name, value in after.items()}

    def policy_tau(self, known: dict[str, Any]) -> Any:
        """Return τ of the policy."""
        assert self.options.policy is not None
        what = "policy" if self.options.is_held else "tau"
        tau = called(what, self.options.policy, known)
        return checked_shape(what, tau, (self.robot.nv,))

    def working_force(self, name: str, known: dict[str, Any]) -> Any:
        """Return the joint forces that do the work of an integral."""
        if name == "work":
            return known["tau"]
        if not self.robot.model.forces:
            return np.zeros(self.robot.nv)
        return self.evaluated(self.function(applied_forces), known)

    def record_of(self, name: str, what: str | Traced, known: dict[str, Any]) -> Any:
        """Return what is recorded under a name."""
        if callable(what):
            return called(name, what, known)
        if what == "work":
            return known["integral work"]
        if what == "element_work":
            done = known["integral element_work"]
            if not self.robot.model.forces:
                return done
            return done + self.evaluated(self.function(elastic_energy), known)
        if what == "energy":
            parts = (kinetic_energy, potential_energy)  # elastic energy is in there
            return sum(self.evaluated(self.function(x), known) for x in parts)
        if what == "residual":
            phi = self.evaluated(self.function(constraint_residual), known)
            return _largest(phi)
        return known[what]

    def _ended(
        self, given: dict[str, Any], known: dict[str, Any], after: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what comes next where the condition has ended states.

        ``ended`` is the time of the end, infinite before, or how many ends there were.
        """
        o = self.options
        assert o.until is not None
        known["time"] = given["start"] + after["count"] * given["dt"]
        is_over = checked_condition(called("until", o.until, known))
        if o.restart:
            after["q"] = math.where(is_over, given["q_start"], after["q"])
            after["qd"] = math.where(is_over, given["qd_start"], after["qd"])
            after["ended"] = given["ended"] + math.where(is_over, 1.0, 0.0)
            return after
        was_over = given["ended"] <= known["time"]
        count = after.pop("count")
        after = {n: math.where(was_over, given[n], value) for n, value in after.items()}
        now = math.where(is_over, known["time"], given["ended"])
        after["ended"] = math.where(was_over, given["ended"], now)
        return {**after, "count": count}

    def evaluated(self, function: Function, known: Mapping[str, Any]) -> Any:
        """Return a function of what is known, as symbols."""
        names = [name for name, _ in compilation_of(function).inputs]
        missing = [name for name in names if name not in known]
        if missing:
            raise ArgumentError(
                f"robot {self.robot.name!r} has forces that need {missing[0]!r}; pass "
                f"inputs={{{missing[0]!r}: ...}}"
            )
        return function(*[known[name] for name in names])

    def _euler(self, known: dict[str, Any]) -> Stepped:
        return self._moved(known, known["qd"] + known["dt"] * known["qdd"])

    def _moved(self, known: dict[str, Any], qd1: Any) -> Stepped:
        """Return the state that is reached with the velocity at its end."""
        there, _ = self._reached(known, qd1, known["dt"], qd1)
        return there["q"], there["qd"], [(known, 0.5 * (known["qd"] + there["qd"]))]

    def _implicit(self, known: dict[str, Any]) -> Stepped:
        q, qd, dt, n = known["q"], known["qd"], known["dt"], self.robot.nv
        applied = np.asarray(known["tau"])
        if self.robot.model.forces:
            applied = applied + self.evaluated(self.function(applied_forces), known)
        along: dict[Any, dict[int, Any]] = {
            x: {n + k: const(1.0)} for k, x in enumerate(qd)
        }
        rate = self.function(configuration_rate)
        for k, unit in enumerate(np.eye(n)):
            column: Any = self.evaluated(rate, {**known, "qd": unit})
            for x, value in zip(q, column, strict=True):
                along.setdefault(x, {})[k] = lift(value)
        rows = forward([lift(x) for x in applied], along)
        K, D = (np.array(matrix(rows, start, n)) for start in (0, n))
        M = self.evaluated(self.function(mass_matrix), known)
        bias = self.evaluated(self.function(bias_forces), known)
        change = _solved(
            M - dt * D - dt * dt * K, dt * (applied - bias + dt * (K @ qd))
        )
        return self._moved(known, qd + change)

    def _rk4(self, known: dict[str, Any]) -> Stepped:
        qd, dt = known["qd"], known["dt"]
        model, conventions = self.robot.model, self.robot.conventions
        rates, a, stages = [qd], [known["qdd"]], [(known, qd)]
        for h in (0.5 * dt, 0.5 * dt, dt):
            there, u = self._reached(known, rates[-1], h, qd + h * a[-1])
            there["time"] = known["time"] + h
            rates.append(np.array(tangent_rate(model, conventions, u, there["qd"])))
            if not self.options.is_held:
                there["tau"] = self.policy_tau(there)
            a.append(self.evaluated(self.dynamics, there))
            stages.append((there, there["qd"]))
        there, _ = self._reached(known, _mean(rates), dt, qd + dt * _mean(a))
        return there["q"], there["qd"], stages

    def _reached(
        self, known: dict[str, Any], rate: Any, h: Any, qd: Any
    ) -> tuple[dict[str, Any], Any]:
        """Return the state at q ⊕ u, and u = h rate; with "partition", a closed one.

        Then only the independent entries of u and q̇ are as given: the others follow, u
        by Newton steps with J where they begin.
        """
        there = {**known, "q": self.robot.integrate(known["q"], rate, h), "qd": qd}
        u = h * rate
        if self.options.stabilize != "partition":
            return there, u
        residual = self.function(constraint_residual)
        correction = self.function(dependent_correction)
        begin = dict(there)
        for _ in range(NEWTON_STEPS):
            begin["x"] = self.evaluated(residual, there)
            u = u + self.evaluated(correction, begin)
            there["q"] = self.robot.integrate(known["q"], u, 1.0)
        there["x"] = self._loop_rates(there)
        there["qd"] = qd + self.evaluated(correction, there)
        return there, u

    def projected(self, q: Any, qd: Any, known: dict[str, Any]) -> tuple[Any, Any]:
        """Return a state with closed loops, by Newton steps with J at q.

        The nearest one, or with "partition" that of the same independent velocities.
        """
        is_led = self.options.stabilize == "partition"
        closing = dependent_correction if is_led else constraint_correction
        residual, correction = (
            self.function(constraint_residual),
            self.function(closing),
        )
        begin, there = {**known, "q": q}, {**known, "q": q, "qd": qd}
        for _ in range(NEWTON_STEPS):
            begin["x"] = self._above_rounding(self.evaluated(residual, there))
            step = self.evaluated(correction, begin)
            there["q"] = self.robot.integrate(there["q"], step, 1.0)
        begin["x"] = self._loop_rates(there)
        return there["q"], qd + self.evaluated(correction, begin)

    def _above_rounding(self, x: Any) -> Any:
        """Return Φ, with zeros for rounding errors.

        Where J nearly loses rank, correcting them would move q far.
        """
        rounding = 16 * float(np.finfo(np.dtype(self.options.dtype)).eps)
        return np.array([math.where(math.absolute(e) > rounding, e, 0.0) for e in x])

    def _loop_rates(self, known: dict[str, Any]) -> Any:
        """Return J q̇."""
        return self.evaluated(self.function(constraint_jacobian), known) @ known["qd"]


def _solved(A: Any, b: Any) -> Any:
    """Return x of A x = b, from the last row to the first: branches stay sparse."""
    A, b, n = A.copy(), b.copy(), len(b)
    for k in reversed(range(n)):
        inverse = 1.0 / A[k, k]
        for i in range(k):
            if not _is_zero(A[i, k]):
                factor = A[i, k] * inverse
                A[i, :k] = A[i, :k] - factor * A[k, :k]
                b[i] = b[i] - factor * b[k]
    x = b.copy()
    for k in range(n):
        x[k] = (b[k] - A[k, :k] @ x[:k]) / A[k, k] if k else b[k] / A[k, k]
    return x


def _is_zero(x: Any) -> bool:
    e = lift(x)
    return e.op == "const" and e.value == 0.0


def _mean(x: Sequence[Any]) -> Any:
    """Return (x₁ + 2 x₂ + 2 x₃ + x₄) / 6."""
    return (x[0] + x[3] + 2.0 * (x[1] + x[2])) * (1 / 6)


def _largest(x: Any) -> Any:
    """Return the largest absolute value."""
    largest: Any = 0.0
    for entry in np.ravel(x):
        largest = math.maximum(largest, math.absolute(entry))
    return largest


def called(what: str, function: Traced, known: Mapping[str, Any]) -> Any:
    """Return a user's function of what it asks for, by name."""
    names = wanted_names(what, function, known)
    try:
        return function(**{name: known[name] for name in names})
    except (TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise TraceError(
            f"{what} cannot be traced: {error}; it is called once with symbols: use "
            "ramidyn.math in place of math and numpy functions"
        ) from error


def wanted_names(what: str, function: Traced, known: Mapping[str, Any]) -> list[str]:
    """Return the parameters of a function that are known; others need defaults."""
    parameters = parameters_of(function)
    if parameters is None:
        raise ArgumentError(f"{what} is {function!r}; its parameters are not known")
    missing = [
        n for n, p in parameters.items() if n not in known and p.default is p.empty
    ]
    if missing:
        raise ArgumentError(
            f"{what} asks for {missing[0]!r}, which is not given; pass "
            f"inputs={{{missing[0]!r}: ...}} or name one of {', '.join(known)}"
        )
    return [n for n in parameters if n in known]


def checked_shape(what: str, value: Any, shape: tuple[int, ...]) -> Any:
    """Return a traced value of the shape that is expected."""
    array = np.asarray(value, dtype=object)
    if array.shape != shape:
        raise ArgumentError(f"{what} returns shape {array.shape}; expected {shape}")
    return array if shape else array[()]


def checked_condition(value: Any) -> Any:
    """Return a traced condition."""
    if np.ndim(value) != 0 or isinstance(value, (int, float)):
        raise ArgumentError(
            f"until returns {value!r}; expected a condition, such as q[2] < 0.3"
        )
    return value
