"""Native steps between calls of a controller, a Python function of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.function import ProgressLine, signature_of
from ramidyn.simulation.actions import action_shapes, actions_by_name, needed_input
from ramidyn.simulation.arguments import CheckedArguments
from ramidyn.simulation.compiled_step import CompiledStep
from ramidyn.simulation.run import Run, selected_rows
from ramidyn.simulation.state import COUNT, START

FEW = 8
"""steps between calls of a controller that are called one by one: a time loop costs
about as much to begin"""


def controller_actions(
    arguments: CheckedArguments, time: float, q: Array, qd: Array
) -> dict[str, Array]:
    """Return what a controller sets, which may keep what it is given."""
    a, shapes = arguments, action_shapes(arguments.robot.model)
    assert a.controller is not None
    given = a.controller(time, np.array(q), np.array(qd))
    fixed = {*a.given, *dict(a.options.memory)}
    possible = {n: s for n, s in shapes.items() if n not in fixed}
    actions: dict[str, Array] = {}
    for name, value in actions_by_name("controller", given, possible).items():
        shape = shapes[name]
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.full(shape, np.nan)
        if array.shape != shape or not np.isfinite(array).all():
            by_name = f"{name!r}: " if isinstance(given, Mapping) else ""
            raise ArgumentError(
                f"controller returned {by_name}{value!r} at t = {time:.6g} s; expected "
                f"{shape} finite numbers"
            )
        actions[name] = array
    missing = [n for n in possible if n not in {"tau", *actions}]
    if missing:
        raise ArgumentError(needed_input(a.robot.name, missing[0], "controller"))
    return actions


def controlled(compiled: CompiledStep, arguments: CheckedArguments) -> Run:
    """Run all steps, with forces from the controller every so many of them."""
    step, robot, values = compiled.step, compiled.step.robot, arguments.values
    steps, every, period = arguments.steps, arguments.every, arguments.period
    outputs = dict(signature_of(compiled.function).outputs)
    spacing = math.gcd(period, every)  # of the rows that are recorded
    rows = steps // spacing + 1
    arrays = {n: np.empty((rows, *outputs[n])) for n in step.recorded}
    given = compiled.first_inputs(values)
    begin = float(given[COUNT])
    timed = list(arguments.timed)
    progress = ProgressLine(f"simulating {robot.name}", "%")
    last: dict[str, Array] = {}
    advance = called if period <= FEW else scanned
    for done in range(0, steps, period):
        count, row = min(period, steps - done), done // spacing
        time = given[START] + (begin + done) * values["dt"]
        q, qd = np.asarray(given["q"]), np.asarray(given["qd"])
        given |= controller_actions(arguments, time, q, qd)
        given |= {name: values[name][done : done + count] for name in timed}
        now = {n: a[row : row + count // spacing] for n, a in arrays.items()}
        last = advance(compiled, given, timed, now, count, spacing)
        given |= {n: last[source] for n, source in step.carry.items()}
        progress.percent(done + count, steps)
    times = given[START] + values["dt"] * (begin + spacing * np.arange(rows))
    run = compiled.finished(given, times, arrays, last)
    return (
        run
        if spacing == every
        else selected_rows(run, slice(None, None, every // spacing))
    )


def scanned(
    compiled: CompiledStep,
    given: Mapping[str, Any],
    _timed: Sequence[str],
    rows: Mapping[str, Array],
    count: int,
    spacing: int,
) -> dict[str, Array]:
    """Run some steps natively, write their rows, and return the outputs of the last."""
    step, outputs = compiled.step, dict(signature_of(compiled.function).outputs)
    last = {n: np.empty(outputs[n]) for n in step.carry.values()}
    run = compiled.scan(count, spacing)
    run(*[given[n] for n in step.shapes], out={**rows, **last})
    return last


def called(
    compiled: CompiledStep,
    given: Mapping[str, Any],
    timed: Sequence[str],
    rows: Mapping[str, Array],
    count: int,
    spacing: int,
) -> dict[str, Array]:
    """Do the same as `scanned` by calls of the step, each of which costs less."""
    step = compiled.step
    names, now = list(step.shapes), dict(given)
    found: dict[str, Array] = {}
    for k in range(count):
        now |= {name: given[name][k] for name in timed}
        values = compiled.function(*[now[n] for n in names])
        found = dict(zip(compiled.outputs, values, strict=True))
        if k % spacing == 0:
            for name, array in rows.items():
                array[k // spacing] = found[name]
        now |= {n: found[source] for n, source in step.carry.items()}
    return found
