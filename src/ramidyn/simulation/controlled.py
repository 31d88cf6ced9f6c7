"""Native steps between calls of a controller, a Python function of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.function import ProgressLine, signature_of
from ramidyn.simulation.arguments import Controller, has_rows
from ramidyn.simulation.compiled_step import CompiledStep
from ramidyn.simulation.run import Run, selected_rows
from ramidyn.simulation.state import COUNT, START

if TYPE_CHECKING:
    from ramidyn.robot import Robot

FEW = 8
"""steps between calls of a controller that are called one by one: a time loop costs
about as much to begin"""


def controlled_tau(
    robot: Robot, controller: Controller, time: float, q: Array, qd: Array
) -> Array:
    """Return the joint forces of a controller, which may keep what it is given."""
    given = controller(time, np.array(q), np.array(qd))
    try:
        tau = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        tau = np.zeros(0)
    if tau.shape != (robot.nv,) or not np.isfinite(tau).all():
        raise ArgumentError(
            f"controller returned {given!r} at t = {time:.6g} s; expected "
            f"({robot.nv},) finite numbers"
        )
    return tau


def controlled(
    compiled: CompiledStep,
    values: Mapping[str, Any],
    steps: int,
    every: int,
    controller: Controller,
    period: int,
) -> Run:
    """Run all steps, with τ from the controller every so many of them."""
    step, robot = compiled.step, compiled.step.robot
    outputs = dict(signature_of(compiled.function).outputs)
    spacing = math.gcd(period, every)  # of the rows that are recorded
    rows = steps // spacing + 1
    arrays = {n: np.empty((rows, *outputs[n])) for n in step.recorded}
    given = compiled.first_inputs(values)
    begin = float(given[COUNT])
    timed = [n for n in step.per_step if n in values and has_rows(values[n])]
    progress = ProgressLine(f"simulating {robot.name}", "%")
    last: dict[str, Array] = {}
    advance = called if period <= FEW else scanned
    for done in range(0, steps, period):
        count, row = min(period, steps - done), done // spacing
        time = given[START] + (begin + done) * values["dt"]
        q, qd = np.asarray(given["q"]), np.asarray(given["qd"])
        given["tau"] = controlled_tau(robot, controller, time, q, qd)
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
