"""Steps of any length, as the tolerances ask: scipy's DOP853, compiled equations.

y = (q, q̇, work) is integrated as a vector, with q̇'s image dq/dt = Q(q) q̇, and corrected
after every step: quaternions are scaled to length one, loops are closed. Rows between
steps come from the method's own interpolation, of order seven, corrected likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, final

import numpy as np

from ramidyn.algorithms.integrators import project
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.function import Function, ProgressLine, compilation_of
from ramidyn.kernels import kernel
from ramidyn.quantities.closed_loops import dependent_velocities
from ramidyn.quantities.directions import configuration_rate
from ramidyn.simulation.events import (
    crossings,
    event_value,
    first_times,
    zeros_between,
)
from ramidyn.simulation.run import Run
from ramidyn.simulation.state import COUNT, START, RunState
from ramidyn.simulation.traced_step import (
    DEPENDENT,
    STORED,
    Traced,
    TracedStep,
    called,
    checked_condition,
)
from ramidyn.symbolic import functions as symbolic

LONGEST = 10
"""a step is at most so many times dt long: rows between its ends stay as exact"""
SAMPLES = 8
"""states of a step at which events are looked for"""

TOLERANCES = {"rtol": 1e-9, "atol": 1e-10}
"""by default"""
STATE = "state y"
"""not a name that a function can ask for"""

Hold = Callable[[int, float, Array, Array], Mapping[str, Array]]
"""the inputs that are held from a tick on: of its number, the time, q and q̇"""


@final
class Equations:
    """The motion of a robot as dy/dt = f(t, y), compiled."""

    def __init__(self, step: TracedStep, events: Mapping[str, Traced]) -> None:
        self.step, self.events = step, events
        self.robot = step.robot
        self.nq, self.nv = self.robot.nq, self.robot.nv
        o = step.options
        further = ["tau", *dict(o.inputs), *o.parameters]
        n = self.nq + self.nv + len(step.integrals)
        self.shapes: dict[str, tuple[int, ...]] = {STATE: (n,), "time": (), "dt": ()}
        self.shapes |= {n: s for n, s in step.shapes.items() if n in further}
        self.is_led = o.stabilize == "partition"
        if self.is_led:
            self.shapes[DEPENDENT] = (self.nv,)

    @cached_property
    def rate(self) -> Function:
        """(y, ...) -> dy/dt."""
        step = self.step

        def rate(*values: Any) -> Any:
            known = self._known(values)
            raw = {**known, "q": known[STATE][: self.nq]}
            if self.is_led:
                known = raw = project(step, known)
            parts = [step.evaluated(configuration_rate, raw)]
            parts.append(step.evaluated(step.dynamics, known))
            powers = [
                step.working_force(name, known) @ known["qd"] for name in step.integrals
            ]
            return np.concatenate([*parts, np.array(powers, dtype=object)])

        return self._kernel(rate, "motion")

    @cached_property
    def corrected(self) -> Function:
        """(y, ...) -> the nearest consistent y."""

        def corrected(*values: Any) -> Any:
            known = self._known(values)
            works = known[STATE][self.nq + self.nv :]
            if self.step.options.stabilize in ("project", "partition"):
                known = project(self.step, known)
            return np.concatenate([known["q"], known["qd"], works])

        return self._kernel(corrected, "correction")

    @cached_property
    def dependent(self) -> Function:
        """(q, ...) -> 1 for each dependent velocity of "partition", 0 for others."""
        return self.step.function(dependent_velocities)

    @cached_property
    def records(self) -> Function:
        """(y, ...) -> what is recorded."""
        step = self.step

        def records(*values: Any) -> dict[str, Any]:
            known = self._known(values)
            known["qdd"] = step.evaluated(step.dynamics, known)
            known |= step.sensed(known, is_of_motion=False)
            wanted = step.options.record
            return {name: step.record_of(name, what, known) for name, what in wanted}

        return self._kernel(records, "records")

    @cached_property
    def watched(self) -> Function:
        """(y, ...) -> values of the events, and 1 if the motion has ended, else 0."""
        until = self.step.options.until

        def watched(*values: Any) -> Any:
            known = self._known(values)
            known["qdd"] = self.step.evaluated(self.step.dynamics, known)
            found = [event_value(n, event, known) for n, event in self.events.items()]
            is_over: Any = 0.0
            if until is not None:
                condition = checked_condition(called("until", until, known))
                is_over = symbolic.where(condition, 1.0, 0.0)
            return np.array([*found, is_over], dtype=object)

        return self._kernel(watched, "events")

    def _known(self, values: Any) -> dict[str, Any]:
        known = dict(zip(self.shapes, values, strict=True))
        y, nq, nv = known[STATE], self.nq, self.nv
        known |= {"q": self.robot.normalize(y[:nq]), "qd": y[nq : nq + nv]}
        known[STORED] = 0.0  # what is recorded begins with zero in the end
        for k, name in enumerate(self.step.integrals):
            known[f"integral {name}"] = y[nq + nv + k]
        known |= self.step.sensed(known, is_of_motion=True)
        return known | self.step.actions(known)

    def _kernel(self, function: Traced, what: str) -> Function:
        return kernel(function, self.shapes, name=f"{what} of {self.robot.name}")


@final
class HeldMotion:
    """The equations with all other inputs known, as scipy calls them."""

    def __init__(self, equations: Equations, values: Mapping[str, Any]) -> None:
        self.equations = equations
        self.values = dict(values)
        self.names = [n for n in equations.shapes if n not in (STATE, "time")]
        self.begin(first_state(equations, values))

    def hold(self, values: Mapping[str, Array]) -> None:
        """Set inputs that are held from now on."""
        self.values = {**self.values, **values}
        self.further = [np.asarray(self.values[n], dtype=float) for n in self.names]

    def begin(self, y: Array) -> None:
        """Begin a step: with "partition", choose independent velocities."""
        e = self.equations
        if e.is_led:
            known = {**self.values, "q": y[: e.nq]}
            names = [name for name, _ in compilation_of(e.dependent).inputs]
            self.values = {**known, DEPENDENT: e.dependent(*[known[n] for n in names])}
        self.hold({})

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt."""
        return self.equations.rate(y, t, *self.further)

    def corrected(self, t: Any, y: Array) -> Array:
        """Return consistent states close to the integrator's."""
        return self.equations.corrected(y, t, *self.further)

    def watched(self, t: Any, y: Array) -> Array:
        """Return the values of the events, and whether the motion has ended."""
        return self.equations.watched(y, t, *self.further)


@final
class AdaptiveRun:
    """An integration in progress: its rows so far, its events, its end."""

    def __init__(
        self, motion: HeldMotion, times: Array, rtol: float, atol: float, longest: float
    ) -> None:
        self.motion, self.times = motion, times
        self.options = {"rtol": rtol, "atol": atol, "max_step": longest}
        e = motion.equations
        self.is_watched = bool(e.events) or e.step.options.until is not None
        self.start = float(motion.values[START])
        self.rows: list[Array] = []
        self.held: list[dict[str, Any]] = []
        self.events: dict[str, list[float]] = {name: [] for name in e.events}
        self.ended: float | None = None
        self.failed: float | None = None
        self.step_size: float | None = None
        self.progress = ProgressLine(f"simulating {e.robot.name}", "%")

    def over(self, a: float, b: float, y: Array) -> Array:
        """Integrate from a to b, and return the last state."""
        first = None if self.step_size is None else min(self.step_size, b - a)
        self.motion.begin(y)
        make = solver_class()
        rate = self.motion.rate
        solver = make(rate, a, y, b, first_step=first, **self.options)
        while solver.status == "running" and self.ended is None:
            if solver.step() is not None or not np.isfinite(solver.y).all():
                self.failed = float(solver.t)
                break
            self._record(solver)
            solver.y = self.motion.corrected(solver.t, solver.y)
            self.motion.begin(solver.y)
            solver.f = rate(solver.t, solver.y)
            done = (solver.t - self.start) / (self.times[-1] - self.start)
            self.progress.percent(int(1e6 * done), 1_000_000)
        self.step_size = float(solver.h_abs)
        return solver.y

    def _record(self, solver: Any) -> None:
        """Record the rows of a step, and its events."""
        a, b = float(solver.t_old), float(solver.t)
        first = len(self.rows)
        last = int(np.searchsorted(self.times, b, side="right"))
        if first == last and not self.is_watched:
            return
        between = solver.dense_output()

        def state(t: Array) -> Array:
            return self.motion.corrected(t, np.ascontiguousarray(between(t).T))

        if self.is_watched:
            self._watch(np.linspace(a, b, SAMPLES + 1), state)
        if self.ended is not None:
            last = int(np.searchsorted(self.times, self.ended))
            self.times = np.append(self.times[:last], self.ended)
            last += 1
        if first < last:
            self.rows.extend(state(self.times[first:last]))
            self.held.extend([self.motion.values] * (last - first))

    def _watch(self, t: Array, state: Callable[[Array], Array]) -> None:
        """Find the events of a step, which has samples at the times t."""

        def values(t: Array) -> Array:
            return self.motion.watched(t, state(t))

        found = values(t)
        over = np.flatnonzero(found[1:, -1])
        if len(over):
            k = int(over[0])
            ends = t[k : k + 1], t[k + 1 : k + 2]
            self.ended = float(first_times(lambda x: values(x)[:, -1] > 0.0, *ends)[0])
            found = found[: k + 2]
        for k, times in enumerate(self.events.values()):
            i = crossings(found[:, k])

            def value(x: Array, k: int = k) -> Array:
                return values(x)[:, k]

            when = zeros_between(value, t[i], t[i + 1])
            times.extend(when[when <= (np.inf if self.ended is None else self.ended)])

    def result(self) -> Run:
        """Return the rows as a run; those after a failure are not finite."""
        e = self.motion.equations
        y = np.full((len(self.times), *e.shapes[STATE]), np.nan)
        y[: len(self.rows)] = self.rows
        held = self.held + [self.motion.values] * (len(y) - len(self.held))
        recorded: dict[str, Array] = {}
        if e.step.options.record:
            further = [np.array([one[n] for one in held]) for n in self.motion.names]
            found = e.records(y, self.times, *further)
            names = [name for name, _ in e.step.options.record]
            values = [found] if len(names) == 1 else list(found)
            recorded = dict(zip(names, values, strict=True))
        for name, what in e.step.options.record:
            if what == "element_work":  # stored energy counts from the start
                recorded[name] = recorded[name] - recorded[name][0]
        totals: dict[str, Array] = {}
        if e.step.options.until is not None:
            totals["ended"] = np.array(np.inf if self.ended is None else self.ended)
        events = {name: np.array(times) for name, times in self.events.items()}
        q, qd, _ = np.split(y, [e.nq, e.nq + e.nv], axis=1)
        q, qd = np.ascontiguousarray(q), np.ascontiguousarray(qd)
        last = {"q": q[-1], "qd": qd[-1], COUNT: np.array(0.0)}
        end = RunState(last, float(self.times[-1]), float(self.motion.values["dt"]))
        return Run(e.robot, self.times, q, qd, recorded, totals, events, end)


def integrate(
    equations: Equations,
    values: Mapping[str, Any],
    times: Array,
    tolerances: tuple[float, float],
    period: float | None,
    hold: Hold | None,
) -> Run:
    """Integrate from the first of some times to the last; ``hold`` sets the inputs."""
    motion = HeldMotion(equations, values)
    y = first_state(equations, values)
    run = AdaptiveRun(motion, times, *tolerances, LONGEST * float(values["dt"]))
    start, end = float(values[START]), float(times[-1])
    t, tick = start, 0
    while True:
        if hold is not None:
            a, b = equations.nq, equations.nq + equations.nv
            motion.hold(hold(tick, t, y[:a], y[a:b]))
            if run.rows and t - times[len(run.rows) - 1] < 1e-6 * (period or 0.0):
                run.held[-1] = motion.values  # a row at a tick has what is held next
        if tick == 0 and times[0] == start:
            run.rows.append(y)
            run.held.append(motion.values)
        tick, until = tick + 1, end
        if period is not None and start + (tick + 1e-6) * period < end:
            until = start + tick * period
        y, t = run.over(t, until, y), until
        if t == end or run.ended is not None or run.failed is not None:
            return run.result()


def can_finish(
    equations: Equations, values: Mapping[str, Any], end: float, steps: int
) -> bool:
    """Return whether so many steps suffice to a time."""
    motion, y = HeldMotion(equations, values), first_state(equations, values)
    solver = solver_class()(motion.rate, values[START], y, end, **TOLERANCES)
    while solver.status == "running" and steps:
        solver.step()
        steps -= 1
    return bool(solver.status == "finished")


def first_state(equations: Equations, values: Mapping[str, Any]) -> Array:
    """Return y at the start."""
    works = np.zeros(len(equations.step.integrals))
    return np.concatenate([values["q"], values["qd"], works])


def solver_class() -> Any:
    """Return scipy's DOP853."""
    try:
        from scipy.integrate import DOP853  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise ArgumentError(
            "integrator='adaptive' needs scipy: pip install scipy"
        ) from None
    found: Any = DOP853
    return found
