"""One time step as a traced function: forces, dynamics, integrator, records.

With "partition", entries of q̇ that depend on others are not integrated: they follow
from the loops wherever the forces are evaluated, and at the end of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from ramidyn.algorithms.contact.warm_start import extrapolated, steps_before
from ramidyn.algorithms.integrators import (
    INTEGRATORS,
    StepState,
    project,
    stage_mean,
)
from ramidyn.backend.runtime.memory_layout import TABLE
from ramidyn.compiler import compile
from ramidyn.coordinates.configurations import tangent_rate
from ramidyn.description.sensors import Sensor
from ramidyn.errors import ArgumentError, TraceError
from ramidyn.function import Function, compilation_of
from ramidyn.kernels import kernel
from ramidyn.quantities.applied import applied_forces, elastic_energy
from ramidyn.quantities.closed_loops import (
    constraint_correction,
    constraint_jacobian,
    constraint_residual,
    dependent_correction,
    dependent_velocities,
    stabilized_forward_dynamics,
)
from ramidyn.quantities.contact_step import contact_step, impulse_count
from ramidyn.quantities.directions import configuration_rate
from ramidyn.quantities.dynamics import bias_forces, forward_dynamics
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.quantities.momentum_energy import kinetic_energy, potential_energy
from ramidyn.simulation.actions import (
    EXTERNAL,
    action_shapes,
    actions_by_name,
    checked_shape,
    needed_input,
    policy_actions,
)
from ramidyn.simulation.sensors import measured
from ramidyn.simulation.state import (
    COUNT,
    ENDED,
    SEED,
    START,
    STATE_NUMBER,
    Carried,
)
from ramidyn.symbolic import functions as math
from ramidyn.symbolic.derivatives import forward
from ramidyn.symbolic.expr import const, lift
from ramidyn.symbolic.inline import called as called_program
from ramidyn.symbolic.inline import inline
from ramidyn.symbolic.jacobians import matrix
from ramidyn.symbolic.parameters import parameters_of
from ramidyn.symbolic.random_numbers import Random
from ramidyn.symbolic.repeat import computed_unless, repeat_until
from ramidyn.tracing.quantity import Quantity
from ramidyn.tree.parameters import parameter_shapes

if TYPE_CHECKING:
    from ramidyn.robot import Robot

INTEGRALS = ("work", "element_work")
"""work of τ, and of the robot's force elements beyond the energy that they store"""
CONTACT_RECORDS = {
    "contact_forces": "forces",
    "contact_states": "states",
    "contact_residual": "residual",
}
"""what can be recorded of contacts, and its name in `contact_step`"""
BUILT_IN = (
    *("qdd", "tau", "energy", "residual", "closing_steps"),
    *INTEGRALS,
    *CONTACT_RECORDS,
)
"""what can be recorded by name"""
RANDOM = "random"
OWN_INPUTS = ("q", "qd", "tau", "dt", "time", "qdd", RANDOM)
CLOSED, CLOSED_FLOAT32, MOST_NEWTON_STEPS = 1e-13, 1e-6, 6
"""[m, rad] |Φ| of closed loops, in float64 and in float32; most Newton steps"""
DEPENDENT, CLOSING = "dependent velocities", "closing steps"
"""what a step knows besides, by names that no function can ask for"""
IMPULSES = "contact impulses"
"""of the last steps, the newest first: the next one starts where they point to"""
STORED = "elastic energy at the start"
"""which work does not count"""

Traced = Callable[..., Any]
Shapes = tuple[tuple[str, tuple[int, ...]], ...]


@final
@dataclass(frozen=True, slots=True)
class StepOptions:
    """All that a compiled step depends on."""

    integrator: str
    stabilize: str
    rate: float
    policy: Traced | None = None
    has_tau: bool = True
    record: tuple[tuple[str, str | Traced], ...] = ()
    total: tuple[tuple[str, Traced], ...] = ()
    until: Traced | None = None
    restart: bool = False
    restart_state: Traced | None = None
    """returns where a restart begins; else it begins where the state began"""
    has_random: bool = False
    """whether functions may draw random numbers"""
    inputs: Shapes = ()
    """further inputs, of the policy and other traced functions"""
    external: tuple[str, ...] = ()
    """frames of the wrenches among the inputs"""
    expressed_in: str = "local"
    """the axes of wrenches"""
    sensors: tuple[Sensor, ...] = ()
    """of the robot, that functions and records name"""
    memory: Shapes = ()
    """what functions remember from step to step"""
    updates: tuple[tuple[str, Traced], ...] = ()
    """functions that change it; the policy changes the rest"""
    parameters: tuple[str, ...] = ()
    dtype: str = "float64"
    threads: int = 1
    is_held: bool = True
    """whether the policy's τ is that of the start of the step, or of each stage"""
    damping: float | None = None
    """of the loops' constraints, as in `forward_dynamics`"""


@final
@dataclass(frozen=True)
class TracedStep:
    """A step of a robot, to be compiled.

    Inputs are those of ``shapes``; outputs the recorded values at the start of the
    step, and the next values of ``carry``.
    """

    robot: Robot
    options: StepOptions
    acceleration_of: Callable[[StepState], Any] | None = None
    """computes q̈ in place of ``dynamics``"""
    _functions: dict[str, Function] = field(default_factory=dict[str, Function])
    _newton_steps: list[Any] = field(default_factory=list[Any])
    """how many there were wherever the current trace closes loops"""
    _contact: dict[str, Any] = field(default_factory=dict[str, Any])
    """what the current trace knows about its contacts"""
    _remembered: dict[str, Any] = field(default_factory=dict[str, Any])
    """the memory after the step, as far as the policy of the current trace sets it"""
    _policy_frames: list[str] = field(default_factory=list[str])
    """of the wrenches that the policy returns, when it has been traced"""

    @cached_property
    def state(self) -> tuple[Carried, ...]:
        """All that the step hands to the next."""
        o = self.options
        entries = [Carried("q", (self.robot.nq,)), Carried("qd", (self.robot.nv,))]
        entries.append(Carried(COUNT, (), 0.0, is_restarted=False, is_kept=False))
        if o.until is not None:
            ended = 0.0 if o.restart else np.inf
            entries.append(Carried(ENDED, (), ended, is_restarted=False, is_kept=False))
        if o.has_random:
            number = Carried(STATE_NUMBER, is_restarted=False, is_kept=False)
            entries.append(number)
        if self.robot.model.contacts:
            count = impulse_count(self.robot.model)
            shape = steps_before(self.robot.model), count
            entries.append(Carried(IMPULSES, shape, np.zeros(shape)))
        entries += [Carried(name, shape) for name, shape in o.memory]
        sums = [*self.sums, *([STORED] if self.stores_energy else [])]
        entries += [Carried(name, (), 0.0, is_restarted=False) for name in sums]
        return tuple(entries)

    @cached_property
    def restarted(self) -> list[Carried]:
        """Values whose first ones are inputs, to be put back."""
        return [e for e in self.state if e.is_restarted and self.options.restart]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The inputs of the step: names and shapes."""
        o, nv = self.options, self.robot.nv
        # Side by side, as the dynamics read them.
        shapes = {"q": (self.robot.nq,), "qd": (nv,)}
        shapes |= {"tau": (nv,)} if o.has_tau else {}
        shapes |= {e.name: e.shape for e in self.state}
        shapes |= {"dt": (), START: (), **dict(o.inputs)}
        shapes |= {SEED: (3,)} if o.has_random else {}
        shapes |= parameter_shapes(o.parameters, self.robot.model)
        return shapes | {e.before: e.shape for e in self.restarted}

    @property
    def integrals(self) -> list[str]:
        """The built-in records that are integrated over time."""
        return [n for n in INTEGRALS if n in dict(self.options.record).values()]

    @property
    def sums(self) -> list[str]:
        """The inputs that are sums over the steps so far."""
        totals = [f"sum {name}" for name, _ in self.options.total]
        return [f"integral {name}" for name in self.integrals] + totals

    @property
    def stores_energy(self) -> bool:
        """Whether elastic energy is part of what is recorded as work."""
        return "element_work" in self.integrals and bool(self.robot.model.forces)

    @cached_property
    def carry(self) -> dict[str, str]:
        """Which output each carried input is in the next step."""
        return {entry.name: entry.after for entry in self.state}

    @property
    def per_step(self) -> list[str]:
        """Inputs that may have a value for each step."""
        return [n for n in ("tau", *dict(self.options.inputs)) if n in self.shapes]

    @cached_property
    def recorded(self) -> list[str]:
        """Outputs that are recorded."""
        return ["q", "qd", *dict(self.options.record)]

    @property
    def wrenches(self) -> dict[str, Any]:
        """The option of quantities for the external wrenches that act."""
        frames = tuple(self._policy_frames) or self.options.external
        expressed_in = self.options.expressed_in
        return {EXTERNAL: frames, "expressed_in": expressed_in} if frames else {}

    @property
    def dynamics(self) -> Quantity:
        """The robot's forward dynamics, with loops that are stabilized."""
        o = self.options
        if not self.robot.model.loops:
            return forward_dynamics(**self.wrenches)
        rate = o.rate if o.stabilize == "baumgarte" else 0.0
        return stabilized_forward_dynamics(
            rate=rate, damping=o.damping, **self.wrenches
        )

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
            self.traced,
            self.shapes,
            dtype=o.dtype,
            threads=o.threads,
            name=f"rollout of {self.robot.name}",
        )

    def traced(self, *values: Any) -> dict[str, Any]:
        """Return the outputs of the step as symbols."""
        o = self.options
        self._newton_steps.clear()
        self._contact.clear()
        given = dict(zip(self.shapes, values, strict=True))
        q, qd, dt = given["q"], given["qd"], given["dt"]
        known = {n.removeprefix(TABLE): x for n, x in given.items()}
        known["time"] = given[START] + given[COUNT] * dt
        if o.has_random:
            drawn = Random(given[SEED], given[STATE_NUMBER], given[COUNT])
            known[RANDOM] = drawn
        known |= self.sensed(known, is_of_motion=True)
        known |= self.actions(known)
        known["qdd"] = self.acceleration(known)
        known |= self.sensed(known, is_of_motion=False)
        if o.stabilize == "partition":
            known[DEPENDENT] = self.evaluated(dependent_velocities, known)
        advance = INTEGRATORS[o.integrator].step
        assert advance is not None
        end, stages = advance(self, known)
        contact = self._contact
        known |= {n: contact[k] for n, k in CONTACT_RECORDS.items() if k in contact}
        if o.stabilize == "project":
            end = project(self, end)
        known[CLOSING] = sum(self._newton_steps, 0.0)
        if self.stores_energy:
            stored, is_first = self.evaluated(elastic_energy, known), given[COUNT] < 0.5
            known[STORED] = math.where(is_first, stored, given[STORED])
        outputs: dict[str, Any] = {"q": q, "qd": qd}
        for name, what in o.record:
            outputs[name] = self.record_of(name, what, known)
        after = {"q": end["q"], "qd": end["qd"], COUNT: given[COUNT] + 1.0}
        after |= self.remembered(known)
        after |= {STATE_NUMBER: given[STATE_NUMBER]} if o.has_random else {}
        if IMPULSES in given:
            after[IMPULSES] = end[IMPULSES]
        for name, cost in o.total:
            value = checked_shape(f"total {name!r}", called(name, cost, known), ())
            after[f"sum {name}"] = given[f"sum {name}"] + value
        for name in self.integrals:
            power = [self.working_force(name, known) @ v for known, v in stages]
            done = dt * stage_mean(power)
            after[f"integral {name}"] = given[f"integral {name}"] + done
        if self.stores_energy:
            after[STORED] = known[STORED]
        if o.until is not None:
            after = self._ended(given, {**known, **after}, after)
        return outputs | {f"next {name}": value for name, value in after.items()}

    def actions(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return τ and all else that the policy sets, by name."""
        o, model = self.options, self.robot.model
        found: dict[str, Any] = {}
        if o.policy is not None:
            what = "policy" if o.is_held else "tau"
            returned = called(what, o.policy, known)
            asked = parameters_of(o.policy) or ()
            given = {n.removeprefix(TABLE) for n in self.shapes}.difference(asked)
            memory = dict(o.memory) if o.is_held else {}
            given = given.difference(memory)
            found, frames = policy_actions(what, returned, model, given, memory)
            self._policy_frames[:] = frames
            self._remembered.clear()
            self._remembered.update({n: found.pop(n) for n in memory if n in found})
        there = {"tau", *known, *found}
        missing = [n for n in action_shapes(model) if n not in there]
        if missing:
            raise ArgumentError(needed_input(self.robot.name, missing[0], "policy"))
        return {"tau": known.get("tau", np.zeros(self.robot.nv)), **found}

    def sensed(self, known: StepState, is_of_motion: bool) -> dict[str, Any]:
        """Return what sensors measure: those of motion, or those of accelerations."""
        return {
            s.name: measured(self, s, known)
            for s in self.options.sensors
            if s.is_of_motion == is_of_motion
        }

    def remembered(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return the memory after the step, from what is known at its start."""
        o, after = self.options, dict(self._remembered)
        shapes = dict(o.memory)
        for name, update in o.updates:
            if name in after:
                raise ArgumentError(
                    f"memory {name!r} is returned by the policy and is in updates; "
                    "use one of them"
                )
            what = f"update {name!r}"
            after[name] = checked_shape(what, called(what, update, known), shapes[name])
        for name in shapes:
            if name not in after:
                raise ArgumentError(
                    f"memory has {name!r}, which nothing changes; return it from the "
                    f"policy, or pass updates={{{name!r}: ...}}"
                )
        return after

    def working_force(self, name: str, known: StepState) -> Any:
        """Return the joint forces that do the work of an integral."""
        if name == "work":
            return known["tau"]
        force: Any = np.zeros(self.robot.nv)
        if self.robot.model.forces:
            force = self.evaluated(applied_forces, known)
        if self.wrenches:
            bias = self.evaluated(bias_forces, known)
            force = force + bias - self.evaluated(bias_forces(**self.wrenches), known)
        return force

    def record_of(self, name: str, what: str | Traced, known: dict[str, Any]) -> Any:
        """Return what is recorded under a name."""
        if callable(what):
            return called(name, what, known)
        if what == "work":
            return known["integral work"]
        if what == "element_work":
            done = known["integral element_work"]
            if not self.stores_energy:
                return done
            return done + self.evaluated(elastic_energy, known) - known[STORED]
        if what == "energy":
            parts = (kinetic_energy, potential_energy)  # elastic energy is in there
            return sum(self.evaluated(x, known) for x in parts)
        if what in CONTACT_RECORDS:
            return self._contact[CONTACT_RECORDS[what]]
        if what == "residual":
            phi = self.evaluated(constraint_residual, known)
            return _largest(phi)
        return known[CLOSING if what == "closing_steps" else what]

    def _ended(
        self, given: dict[str, Any], known: dict[str, Any], after: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what comes next where the condition has ended states.

        ``ended`` is the time of the end, infinite before, or how many ends there were.
        """
        o = self.options
        assert o.until is not None
        known["time"] = given[START] + after[COUNT] * given["dt"]
        known |= self.sensed(known, is_of_motion=True)
        is_over = checked_condition(called("until", o.until, known))
        if o.restart:
            first = self._restart(known)
            for e in self.restarted:
                begin = first.get(e.name, given[e.before])
                after[e.name] = math.where(is_over, begin, after[e.name])
            after[ENDED] = given[ENDED] + math.where(is_over, 1.0, 0.0)
            return after
        was_over = given[ENDED] <= known["time"]
        for e in self.state:
            if e.is_kept:
                after[e.name] = math.where(was_over, given[e.name], after[e.name])
        now = math.where(is_over, known["time"], given[ENDED])
        after[ENDED] = math.where(was_over, given[ENDED], now)
        return after

    def evaluated(self, quantity: Quantity, known: StepState) -> Any:
        """Return a quantity of what is known, as symbols."""
        (result,) = self.results(quantity, known).values()
        return result

    def _restart(self, known: dict[str, Any]) -> dict[str, Any]:
        """Return what a restart begins with, as far as a function says so."""
        function = self.options.restart_state
        if function is None:
            return {}
        shapes = {"q": (self.robot.nq,), "qd": (self.robot.nv,)}
        shapes |= dict(self.options.memory)
        found = called("restart", function, known)
        if not isinstance(found, Mapping):
            raise ArgumentError(
                f"restart returns {type(found).__name__}; expected a dict with any of "
                f"{', '.join(shapes)}"
            )
        first = actions_by_name("restart", cast("Mapping[Any, Any]", found), shapes)
        return {
            n: checked_shape(f"restart: {n!r}", x, shapes[n]) for n, x in first.items()
        }

    def results(self, quantity: Quantity, known: StepState) -> dict[str, Any]:
        """Return the results of a quantity of what is known, by name, as symbols."""
        compilation = compilation_of(self.function(quantity))
        inputs = {name: known[name] for name, _ in compilation.inputs}
        is_repeated = INTEGRATORS[self.options.integrator].stages > 1
        is_dynamics = quantity == self.dynamics
        do = called_program if is_repeated and is_dynamics else inline
        return dict(do(compilation.traced_for(self.options.dtype), inputs))

    # The equations that integrators evaluate.

    def acceleration(self, state: StepState) -> Any:
        """Return q̈."""
        if "qdd" in state:
            return state["qdd"]
        if self.acceleration_of is not None:
            return self.acceleration_of(state)
        return self.evaluated(self.dynamics, state)

    def tangent_rate(self, u: Any, qd: Any) -> Any:
        """Return q̇ at q ⊕ u as du/dt."""
        model, conventions = self.robot.model, self.robot.conventions
        return np.array(tangent_rate(model, conventions, u, qd))

    def reach(
        self, start: StepState, rate: Any, h: Any, qd: Any
    ) -> tuple[dict[str, Any], Any]:
        """Return the state at q ⊕ u, and u = h rate; with "partition", a closed one.

        Then only the independent entries of u and q̇ are as given: the others follow, u
        by Newton steps.
        """
        there = {name: x for name, x in start.items() if name != "qdd"}
        there |= {"q": self.robot.integrate(start["q"], rate, h), "qd": qd}
        u = h * rate
        if self.options.stabilize == "partition":
            u, there["q"], rows = self._partitioned(start, u)
            there["qd"] = qd + self._dependent(there, rows, rows @ qd)
        there["time"] = start["time"] + h
        if not self.options.is_held:
            there |= self.actions(there)
        return there, u

    def _partitioned(self, start: StepState, u: Any) -> tuple[Any, Any, Any]:
        """Return u with dependent entries that close the loops, q ⊕ u, and J there."""

        def at(u: Any) -> Any:
            return self.robot.integrate(start["q"], u, 1.0)

        def jacobian(q: Any) -> Any:
            return self.evaluated(constraint_jacobian, {**start, "q": q})

        def residual(u: Any) -> Any:
            return self.evaluated(constraint_residual, {**start, "q": at(u)})

        first, n = jacobian(at(u)), self.robot.nq
        varies = np.array([[e.op != "const" for e in row] for row in first])

        def place(u: Any) -> Any:
            q = at(u)
            return np.concatenate([q, jacobian(q)[varies]])

        def rows(there: Any) -> Any:
            found = first.copy()
            found[varies] = there[n:]
            return found

        def newton(u: Any, x: Any, there: Any) -> Any:
            return u + self._dependent(start, rows(there), x)

        u, there = self.closed(u, residual, newton, place)
        return u, there[:n], rows(there)

    def unless_consistent(self, state: StepState, end: StepState) -> dict[str, Any]:
        """Return the state where loops and their rates are closed, else the end."""
        gaps = [*self.residual(state), *self.loop_rates(state)]
        start = {"q": state["q"], "qd": state["qd"], CLOSING: 0.0}
        last = {"q": end["q"], "qd": end["qd"], CLOSING: self._newton_steps.pop()}
        found = computed_unless(_largest(gaps) <= self._tolerance, start, last)
        self._newton_steps.append(found.pop(CLOSING))
        return {**end, **found}

    @property
    def _tolerance(self) -> float:
        """|Φ| of closed loops."""
        return CLOSED if self.options.dtype == "float64" else CLOSED_FLOAT32

    def constrained(
        self, start: StepState, qd: Any, inertia: Any | None
    ) -> tuple[StepState, Any, Any]:
        """Return the state with impulses, q̇ with them, and the rate of q in the step.

        ``inertia`` is what they act on, if that is not M.
        """
        if IMPULSES not in start:
            return start, qd, qd
        history = start[IMPULSES]
        known = {**start, "qd_free": qd, "impulses": extrapolated(history)}
        how = contact_step
        if inertia is not None:
            known["inertia"], how = inertia, contact_step(is_given=True)
        found = self.results(how, known)
        self._contact.update(found)
        # At rest there is nothing to extrapolate but what the solver leaves.
        x, is_moving = found["impulses"], found["sweeps"] > 1.0
        before = [math.where(is_moving, one, x) for one in history[:-1]]
        new = {**start, IMPULSES: np.array([x, *before])}
        return new, found["qd"], found["qd"] + found["u"]

    def linear_forces(self, state: StepState) -> tuple[Any, Any, Any, Any]:
        """Return M, all forces, and K = ∂f_a/∂q and D = ∂f_a/∂q̇ of the applied ones."""
        n, applied = self.robot.nv, np.asarray(state["tau"])
        if self.robot.model.forces:
            applied = applied + self.evaluated(applied_forces, state)
        along: dict[Any, dict[int, Any]] = {
            x: {n + k: const(1.0)} for k, x in enumerate(state["qd"])
        }
        for k, unit in enumerate(np.eye(n)):
            column = self.evaluated(configuration_rate, {**state, "qd": unit})
            for x, value in zip(state["q"], column, strict=True):
                along.setdefault(x, {})[k] = lift(value)
        rows = forward([lift(x) for x in applied], along)
        stiffness, damping = (np.array(matrix(rows, k, n)) for k in (0, n))
        total = applied - self.evaluated(bias_forces(**self.wrenches), state)
        return self.evaluated(mass_matrix, state), total, stiffness, damping

    def closed(
        self,
        x: Any,
        residual: Callable[[Any], Any],
        step: Callable[[Any, Any, Any], Any],
        further: Callable[[Any], Any],
    ) -> tuple[Any, Any]:
        """Return x after Newton steps, as many as each state needs, and what is there.

        A state that is closed already is evaluated once.
        """

        def evaluated(x: Any) -> tuple[Any, ...]:
            return tuple(map(np.asarray, (x, residual(x), further(x))))

        found = repeat_until(
            lambda carry: evaluated(step(*carry)),
            evaluated(x),
            lambda carry: _largest(carry[1]) <= self._tolerance,
            MOST_NEWTON_STEPS,
        )
        self._newton_steps.append(found.steps)
        return found.carry[0], found.carry[2]

    def residual(self, state: StepState) -> Any:
        """Return Φ, with zeros for rounding errors.

        Where J nearly loses rank, correcting them would move q far.
        """
        rounding = 16 * float(np.finfo(np.dtype(self.options.dtype)).eps)
        phi = self.evaluated(constraint_residual, state)
        return np.array([math.where(math.absolute(e) > rounding, e, 0.0) for e in phi])

    def loop_rates(self, state: StepState) -> Any:
        """Return J q̇."""
        return self.evaluated(constraint_jacobian, state) @ state["qd"]

    def correction(self, state: StepState, x: Any) -> Any:
        """Return the least v with J v = −x; with "partition", of dependent q̇ alone."""
        if self.options.stabilize != "partition":
            return self.evaluated(constraint_correction, {**state, "x": x})
        return self._dependent(state, self.evaluated(constraint_jacobian, state), x)

    def _dependent(self, state: StepState, rows: Any, x: Any) -> Any:
        """Return the v of dependent velocities with J v = −x, for the rows of J."""
        model, conventions = self.robot.model, self.robot.conventions
        return dependent_correction(model, conventions, rows, state[DEPENDENT], x)

    def displace(self, state: StepState, u: Any) -> dict[str, Any]:
        """Return the state at q ⊕ u."""
        return {**state, "q": self.robot.integrate(state["q"], u, 1.0)}


def _largest(x: Any) -> Any:
    """Return the largest absolute value."""
    largest: Any = 0.0
    for entry in np.ravel(x):
        largest = math.maximum(largest, math.absolute(entry))
    return largest


def called(
    what: str, function: Traced, known: Mapping[str, Any], has_memory: bool = True
) -> Any:
    """Return a user's function of what it asks for, by name."""
    names = wanted_names(what, function, known, has_memory)
    given = {name: known[name] for name in names}
    if RANDOM in given:
        given[RANDOM] = given[RANDOM].of(what)
    try:
        return function(**given)
    except (TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise TraceError(
            f"{what} cannot be traced: {error}; it is called once with symbols: use "
            "ramidyn.math in place of math and numpy functions"
        ) from error


def wanted_names(
    what: str, function: Traced, known: Mapping[str, Any], has_memory: bool = True
) -> list[str]:
    """Return the parameters of a function that are known; others need defaults."""
    parameters = parameters_of(function) if callable(function) else None
    if parameters is None:
        raise ArgumentError(
            f"{what} is {function!r}; expected a function with named parameters, such "
            "as lambda q: ..."
        )
    missing = [
        n for n, p in parameters.items() if n not in known and p.default is p.empty
    ]
    if RANDOM in missing:
        raise ArgumentError(
            f"{what} asks for random numbers; pass seed=, such as seed=0"
        )
    if missing:
        raise ArgumentError(
            f"{what} asks for {missing[0]!r}, which is not given; pass "
            f"inputs={{{missing[0]!r}: ...}}, "
            f"{'or memory= with its start value, ' * has_memory}or name "
            f"one of {', '.join(known)}"
        )
    return [n for n in parameters if n in known]


def checked_condition(value: Any) -> Any:
    """Return a traced condition."""
    if np.ndim(value) != 0 or isinstance(value, (int, float)):
        raise ArgumentError(
            f"until returns {value!r}; expected a condition, such as q[2] < 0.3"
        )
    return value
