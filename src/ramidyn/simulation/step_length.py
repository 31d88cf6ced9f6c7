"""Warn if fixed steps are too long for a motion.

Short parts of the run, spread over it, are run again with half the step, as one batch.
What they differ by, in the norm of the kinetic energy, is the error of a part; that of
the run is as many times larger as the run is longer. Where τ is held, as by a policy,
half the step would hold it shorter: there the balance of energy and work tells.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ramidyn.compiler import compile
from ramidyn.concurrency import made_once
from ramidyn.description.pose import Array
from ramidyn.function import Function
from ramidyn.quantities.momentum_energy import kinetic_energy
from ramidyn.simulation.rollout import CompiledStep
from ramidyn.simulation.run import Run

if TYPE_CHECKING:
    from ramidyn.robot import Robot

PARTS = 8
"""a batch of so many takes hardly longer than one"""
LENGTH = 1 / 50
"""of a part, in lengths of the run"""
SLOW = 1e-3
"""[m/s]: errors of a motion that is slower do not matter"""
TOLERANCES = {"rk4": (1e-4, 4), "semi_implicit_euler": (0.05, 1), "implicit": (0.05, 1)}
"""the error of velocities up to which steps are short enough, and the order"""


def warn_of_long_steps(
    compiled: CompiledStep,
    values: Mapping[str, Any],
    run: Run,
    every: int,
    is_held: bool,
) -> None:
    """Warn if the steps of a run, recorded every so many, are too long."""
    o = compiled.step.options
    if is_held:
        error = imbalance(compiled, run)
    else:
        error = estimated_error(compiled, values, run, every)
    tolerance, order = TOLERANCES[o.integrator]
    if not error > tolerance:
        return
    dt = float(values["dt"])
    better = shorter(dt * (tolerance / error) ** (1 / order))
    other = "'adaptive'" if o.integrator == "rk4" else "'rk4' or 'adaptive'"
    warnings.warn(
        f"robot {compiled.step.robot.name!r}: dt = {dt:g} s is too long for this "
        f"motion: velocities are off by about {min(error, 1.0):.2g} of the largest at "
        f"the end; use dt={better:g} or integrator={other}",
        RuntimeWarning,
        stacklevel=5,
    )


def estimated_error(
    compiled: CompiledStep, values: Mapping[str, Any], run: Run, every: int
) -> float:
    """Return the error of q̇ at the end of a run, relative to the fastest motion."""
    step, robot = compiled.step, compiled.step.robot
    rows = len(run.times) - (1 if step.options.until is None else 2)
    if rows < 1:
        return 0.0
    length = max(1, round(LENGTH * rows))
    first = np.unique(np.linspace(0, rows - length, PARTS).astype(int))
    count = length * every
    again: dict[str, Any] = {
        **values,
        "q": run.q[first],
        "qd": run.qd[first],
        "dt": values["dt"] / 2,
        "start": run.times[first],
    }
    for name in step.per_step:
        value = values.get(name)
        if value is not None and value.ndim > 1 and value.shape[0] > 1:
            parts = [value[k * every : k * every + count] for k in first]
            again[name] = np.repeat(parts, 2, axis=1)
    half = compiled.run(again, 2 * count, 2 * count)
    last = first + length
    off = kinetic(robot)(run.q[last], half.qd[:, -1] - run.qd[last])
    errors: Array = np.sqrt(np.abs(off) / fastest(robot, run))
    return float(np.mean(errors)) * rows / length


def imbalance(compiled: CompiledStep, run: Run) -> float:
    """Return the change of energy that no work explains, relative likewise."""
    robot = compiled.step.robot
    works = ["work", "element_work"] if robot.model.forces else ["work"]
    if not {"energy", *works} <= set(run.recorded):
        return 0.0
    balance: Array = run.recorded["energy"] - sum(run.recorded[n] for n in works)
    return float(np.ptp(balance)) / fastest(robot, run)


def fastest(robot: Robot, run: Run) -> float:
    """Return the largest kinetic energy of a run, at least that of a slow motion."""
    some = np.unique(np.linspace(0, len(run.times) - 1, 64).astype(int))
    found: Array = kinetic(robot)(run.q[some], run.qd[some])
    mass = sum(robot.model.masses.values())
    return max(float(np.max(found)), mass / 2 * SLOW**2)


def kinetic(robot: Robot) -> Function:
    """Return the compiled kinetic energy."""
    return made_once(robot.__dict__, "_kinetic", lambda: compile(kinetic_energy, robot))


def shorter(dt: float) -> float:
    """Return the next shorter step of 1, 2 or 5 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10(dt))
    return max(k for k in (1, 2, 5) if k * unit <= dt * (1 + 1e-9)) * unit
