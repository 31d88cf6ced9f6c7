"""Simulate a robot: one state, a duration, and what to record.

Fixed steps are those of a rollout, compiled; `adaptive.py` has steps of any length, and
`controlled.py` calls a Python function between native steps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ramidyn.concurrency import kept, made_once
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.simulation.actions import EXTERNAL
from ramidyn.simulation.adaptive import TOLERANCES, Equations, integrate
from ramidyn.simulation.arguments import (
    CheckedArguments,
    checked_times,
    repeated_arguments,
)
from ramidyn.simulation.compiled_step import CompiledStep, compiled_step
from ramidyn.simulation.controlled import controlled, controller_actions
from ramidyn.simulation.events import events_of_rows
from ramidyn.simulation.run import Run, selected_rows
from ramidyn.simulation.run_warnings import (
    warn_of_divergence,
    warn_of_open_loops,
    warn_of_overlaps,
    warn_of_passed_limits,
)
from ramidyn.simulation.step_length import warn_of_long_steps
from ramidyn.simulation.traced_step import TracedStep
from ramidyn.tracing.context import finite_number
from ramidyn.tree.contact_checks import touch_count

if TYPE_CHECKING:
    from ramidyn.robot import Robot


def simulate(
    robot: Robot,
    *state: Any,
    times: npt.ArrayLike | None,
    rtol: float | None,
    atol: float | None,
    **options: Any,
) -> Run:
    """Simulate a robot; see `Robot.simulate`."""
    if options["record"] is None:
        options["record"] = usual_records(robot, options["inputs"])
    arguments = repeated_arguments(robot, "simulate", state, options)
    integrator, stabilize = arguments.options.integrator, options["stabilize"]
    only_adaptive = {"times": times, "rtol": rtol, "atol": atol}
    for name, value in only_adaptive.items():
        if value is not None and integrator != "adaptive":
            raise ArgumentError(
                f"{name} is for integrator='adaptive', and integrator is "
                f"{integrator!r}; run.at(times) gives states between steps"
            )
    if times is not None and options["duration"] is not None:
        raise ArgumentError("duration and times are both given; pass one of them")
    if integrator == "adaptive":
        limits = tolerance("rtol", rtol), tolerance("atol", atol)
        run = adaptive_run(arguments, checked_times(arguments, times), limits)
    else:
        compiled = compiled_step(robot, arguments.options)
        run = fixed_run(compiled, arguments)
        if compiled.is_examined(arguments.values["dt"]):
            warn_of_long_steps(compiled, arguments, run)
        warn_of_overlaps(run, arguments.values)
        if arguments.events:
            found = events_of_rows(run, arguments.events, arguments.constants)
            run = replace(run, events=found)
    warn_of_divergence(run, integrator)
    warn_of_open_loops(run, stabilize)
    warn_of_passed_limits(run)
    return run


def fixed_run(compiled: CompiledStep, arguments: CheckedArguments) -> Run:
    """Return the run of steps of the same length, in native code."""
    a = arguments
    if a.controller is None:
        run = compiled.run(a.values, a.steps, a.every)
    else:
        run = controlled(compiled, a)
    if a.options.until is not None:
        end = int(np.searchsorted(run.times, float(run.totals["ended"])))
        run = selected_rows(run, slice(0, end + 1))
    return run


def adaptive_run(
    arguments: CheckedArguments, times: Array, limits: tuple[float, float]
) -> Run:
    """Return the run of steps as long as tolerances allow."""
    a = arguments
    timed, values = a.timed, dict(a.values)
    shapes = {"tau": (a.robot.nv,), **dict(a.options.inputs)}
    for name, shape in shapes.items():
        if name in values and np.ndim(values[name]) > len(shape):
            values[name] = values[name][0]
    unit = 1 if timed else a.period

    def hold(tick: int, time: float, q: Array, qd: Array) -> dict[str, Array]:
        k = tick * unit
        held = {n: x[min(k, a.steps - 1)] for n, x in timed.items()}
        if a.controller is not None and k % a.period == 0:
            held |= controller_actions(a, time, q, qd)
        return held

    is_held = bool(timed) or a.controller is not None
    return integrate(
        equations_of(a),
        values,
        times,
        limits,
        unit * a.values["dt"] if is_held else None,
        hold if is_held else None,
    )


def equations_of(arguments: CheckedArguments) -> Equations:
    """Return the compiled equations of motion; the last few are kept."""
    robot, options, events = arguments.robot, arguments.options, arguments.events
    known: OrderedDict[Any, Equations] = made_once(
        robot.__dict__, "_equations", OrderedDict[Any, Equations]
    )
    key = options, tuple(events.items())
    return kept(known, key, lambda: Equations(TracedStep(robot, options), events))


def usual_records(robot: Robot, inputs: object) -> list[str]:
    """Return what is recorded unless the user says otherwise."""
    names = ["energy", "work"]
    has_wrenches = isinstance(inputs, Mapping) and EXTERNAL in inputs
    names += ["element_work"] if robot.model.forces or has_wrenches else []
    names += ["contact_forces"] if touch_count(robot.model) else []
    return names + (["residual"] if robot.model.loops else [])


def tolerance(name: str, value: float | None) -> float:
    """Return a tolerance of adaptive steps."""
    if value is None:
        return TOLERANCES[name]
    return finite_number(
        name, value, "a number between 0 and 1", lambda x: 0.0 < x < 1.0
    )
