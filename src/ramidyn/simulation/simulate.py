"""Simulate a robot: one state, a duration, and what to record.

Fixed steps are those of a rollout, compiled (`rollout.py`); `adaptive.py` has steps of
any length, and `controlled.py` calls a Python function between native steps.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.concurrency import made_once
from ramidyn.description.forces.inputs import force_inputs
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelWarning, ShapeError
from ramidyn.mechanism.states import ADMISSIBLE, check_closed, normalized, rank, vector
from ramidyn.simulation.adaptive import Equations, integrate
from ramidyn.simulation.controlled import (
    Controller,
    controlled,
    controlled_tau,
    has_rows,
)
from ramidyn.simulation.events import check_events, events_of_rows
from ramidyn.simulation.rollout import (
    check_functions,
    checked_dt,
    checked_numbers,
    checked_steps,
    compiled_step,
    input_shapes,
    kept,
    one_of,
    recorded,
    warn_of_divergence,
)
from ramidyn.simulation.run import Run, selected_rows
from ramidyn.simulation.step_length import warn_of_long_steps
from ramidyn.simulation.traced_step import (
    INTEGRATORS,
    STABILIZE,
    Step,
    StepOptions,
    Traced,
)

if TYPE_CHECKING:
    from ramidyn.robot import Robot

Record = Sequence[str] | Mapping[str, str | Traced]


@final
@dataclass(frozen=True, slots=True)
class Task:
    """A simulation whose arguments have been checked."""

    robot: Robot
    options: StepOptions
    values: dict[str, Any]
    """all inputs, dt and the time at the start among them"""
    steps: int
    every: int
    controller: Controller | None
    period: int
    """steps between calls of the controller"""
    events: Mapping[str, Traced]


def simulate(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None,
    tau: npt.ArrayLike | Traced | None,
    dt: float,
    *,
    duration: float | None,
    integrator: str,
    policy: Traced | None,
    controller: Controller | None,
    control_dt: float | None,
    inputs: Mapping[str, npt.ArrayLike],
    record: Record | None,
    every: int,
    until: Traced | None,
    events: Mapping[str, Traced],
    parameters: Mapping[str, npt.ArrayLike],
    stabilize: str,
    rate: float,
    damping: float | None,
    times: npt.ArrayLike | None,
    rtol: float | None,
    atol: float | None,
    start: float,
) -> Run:
    """Simulate a robot; see `Robot.simulate`."""
    given = {name: checked_numbers(name, value) for name, value in inputs.items()}
    changed = {name: checked_numbers(name, x) for name, x in parameters.items()}
    check_one_source(tau, policy, controller)
    check_force_inputs(robot, given)
    check_one_state(robot, q)
    values: dict[str, Any] = {"q": normalized(robot, "q", q)}
    values["qd"] = vector("qd", np.zeros(robot.nv) if qd is None else qd, robot.nv)
    if controller is not None:
        values["tau"] = np.zeros(robot.nv)
    elif tau is not None and not callable(tau):
        values["tau"] = checked_tau(robot, tau)
    values |= {**given, **changed, "dt": checked_dt(dt), "start": float(start)}
    count = steps_of(duration, values["dt"], values.get("tau"), given)
    steps = checked_steps(count, values.get("tau"), given, every)
    one_of("integrator", integrator, (*INTEGRATORS, "adaptive"))
    only_adaptive = {"times": times, "rtol": rtol, "atol": atol}
    for name, value in only_adaptive.items():
        if value is not None and integrator != "adaptive":
            raise ArgumentError(
                f"{name} is for integrator='adaptive', and integrator is "
                f"{integrator!r}; run.at(times) gives states between steps"
            )
    if times is not None and duration is not None:
        raise ArgumentError("duration and times are both given; pass one of them")
    options = StepOptions(
        integrator=integrator,
        stabilize=one_of("stabilize", stabilize, STABILIZE),
        rate=float(rate),
        policy=tau if callable(tau) else policy,
        has_tau="tau" in values,
        record=recorded(usual_records(robot) if record is None else record, robot),
        total=(),
        until=until,
        restart=False,
        inputs=input_shapes(given),
        parameters=tuple(changed),
        dtype="float64",
        threads=1,
        is_held=not callable(tau),
        damping=damping,
    )
    check_functions(options)
    constants = {n: x for n, x in given.items() if x.ndim < 2} | changed
    check_events(events, dict.fromkeys(["q", "qd", "time", *constants]))
    if robot.model.loops:
        check_closed(robot, values["q"], values["qd"])
    else:
        options = replace(options, stabilize="none", damping=None)
    period = (
        1 if control_dt is None else steps_in("control_dt", control_dt, values["dt"])
    )
    task = Task(robot, options, values, steps, every, controller, period, events)
    if integrator == "adaptive":
        limits = tolerance("rtol", rtol, 1e-9), tolerance("atol", atol, 1e-10)
        run = adaptive_run(task, checked_times(task, times), limits)
    else:
        run = fixed_run(task)
        if events:
            run = replace(run, events=events_of_rows(run, events, constants))
    warn_of_divergence(robot, run)
    warn_of_open_loops(robot, run, stabilize)
    return run


def fixed_run(task: Task) -> Run:
    """Return the run of steps of the same length, in native code."""
    compiled = compiled_step(task.robot, task.options)
    if task.controller is None:
        run = compiled.run(task.values, task.steps, task.every)
    else:
        run = controlled(
            compiled, task.values, task.steps, task.every, task.controller, task.period
        )
    if task.options.until is not None:
        end = int(np.searchsorted(run.times, float(run.totals["ended"])))
        run = selected_rows(run, slice(0, end + 1))
    is_held = task.controller is not None or (
        task.options.policy is not None and task.options.is_held
    )
    if np.isfinite(run.qd[-1]).all():
        warn_of_long_steps(compiled, task.values, run, task.every, is_held)
    return run


def adaptive_run(task: Task, times: Array, limits: tuple[float, float]) -> Run:
    """Return the run of steps as long as tolerances allow."""
    names = [n for n in ("tau", *dict(task.options.inputs)) if n in task.values]
    timed = {n: task.values[n] for n in names if has_rows(task.values[n])}
    values = {**task.values, **{n: x[0] for n, x in timed.items()}}
    values |= {n: x[0] for n, x in values.items() if n in names and x.ndim > 1}
    unit = 1 if timed else task.period

    def hold(tick: int, time: float, q: Array, qd: Array) -> dict[str, Array]:
        k = tick * unit
        held = {n: x[min(k, task.steps - 1)] for n, x in timed.items()}
        if task.controller is not None and k % task.period == 0:
            held["tau"] = controlled_tau(task.robot, task.controller, time, q, qd)
        return held

    is_held = bool(timed) or task.controller is not None
    equations = equations_of(task)
    return integrate(
        equations,
        values,
        times,
        limits,
        unit * task.values["dt"] if is_held else None,
        hold if is_held else None,
    )


def equations_of(task: Task) -> Equations:
    """Return the compiled equations of motion; the last few are kept."""
    key = task.options, tuple(task.events.items())
    known: OrderedDict[Any, Equations] = made_once(
        task.robot.__dict__, "_equations", OrderedDict[Any, Equations]
    )
    return kept(
        known, key, lambda: Equations(Step(task.robot, task.options), task.events)
    )


# What users give, checked before anything is compiled.


def check_one_state(robot: Robot, q: npt.ArrayLike) -> None:
    """Raise ShapeError for a batch of states."""
    shape = np.asarray(q, dtype=object).shape
    if len(shape) > 1:
        raise ShapeError(
            f"q has shape {shape}; simulate takes one state of shape "
            f"({robot.nq},); rollout takes a batch"
        )


def check_one_source(tau: object, policy: object, controller: object) -> None:
    """Raise ArgumentError if joint forces come from more than one function."""
    given = {"policy": policy is not None, "controller": controller is not None}
    given |= {"tau": tau is not None and (callable(tau) or controller is not None)}
    sources = [name for name, is_given in given.items() if is_given]
    if len(sources) > 1:
        raise ArgumentError(
            f"joint forces are given by {' and by '.join(sources)}; pass one of them"
        )


def check_force_inputs(robot: Robot, given: Mapping[str, Array]) -> None:
    """Raise ArgumentError if forces of the robot have inputs that are not given."""
    wanted = [n for n in force_inputs(robot.model.forces) if n != "time"]
    missing = [name for name in wanted if name not in given]
    if missing:
        raise ArgumentError(
            f"robot {robot.name!r} has forces that need {missing[0]!r}; pass "
            f"inputs={{{missing[0]!r}: ...}}"
        )


def usual_records(robot: Robot) -> list[str]:
    """Return what is recorded unless the user says otherwise."""
    names = ["energy", "work"]
    names += ["element_work"] if robot.model.forces else []
    return names + (["residual"] if robot.model.loops else [])


def steps_of(
    duration: object, dt: float, tau: Array | None, inputs: Mapping[str, Array]
) -> int | None:
    """Return the number of steps of a duration; None if τ or inputs have one."""
    if duration is None:
        arrays = [x for x in (tau, *inputs.values()) if x is not None]
        if any(has_rows(x) for x in arrays):
            return None
        duration = 1.0
    return steps_in("duration", duration, dt)


def steps_in(what: str, value: object, dt: float) -> int:
    """Return how many steps a time is long."""
    if not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
        raise ArgumentError(
            f"{what} is {value!r}; expected a positive number of seconds"
        )
    count = float(value) / dt
    steps = round(count)
    if steps < 1 or abs(count - steps) > 1e-6 * steps:
        raise ArgumentError(
            f"{what} is {value!r} s, which is {count:.6g} steps of dt = {dt!r} s; "
            "expected a whole number"
        )
    return steps


def checked_tau(robot: Robot, tau: npt.ArrayLike) -> Array:
    """Return joint forces, of all steps or of each one."""
    array = checked_numbers("tau", tau)
    if array.ndim > 2 or array.shape[-1:] != (robot.nv,):
        nv = robot.nv
        raise ShapeError(
            f"tau has shape {array.shape}; expected ({nv},), (steps, {nv}), or a "
            "function such as lambda time: ..."
        )
    return array


def checked_times(task: Task, times: npt.ArrayLike | None) -> Array:
    """Return the times of the rows of an adaptive run."""
    start, dt = task.values["start"], task.values["dt"]
    if times is None:
        return start + dt * task.every * np.arange(task.steps // task.every + 1)
    array = checked_numbers("times", times).astype(float)
    is_usable = array.ndim == 1 and len(array) > 0 and array[-1] > start <= array[0]
    if not is_usable or not (np.diff(array) > 0.0).all():
        raise ArgumentError(
            f"times is {times!r}; expected increasing numbers from start = {start:g} on"
        )
    return array


def tolerance(name: str, value: float | None, usual: float) -> float:
    """Return a tolerance of adaptive steps."""
    if value is None:
        return usual
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{name} is {value!r}; expected a number between 0 and 1")
    return float(value)


def warn_of_open_loops(robot: Robot, run: Run, stabilize: str) -> None:
    """Warn of loops that opened."""
    residual = run.recorded.get("residual")
    if residual is None or not np.isfinite(residual).any():
        return
    worst = float(np.nanmax(residual))
    if worst <= ADMISSIBLE or worst <= rank(robot).closed:
        return
    warnings.warn(
        f"robot {robot.name!r}: |Φ| reaches {worst:.3g} with stabilize={stabilize!r}; "
        "'project' or a smaller dt keeps it closed",
        ModelWarning,
        stacklevel=4,
    )
