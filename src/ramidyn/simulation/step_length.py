"""Warn if fixed steps are too long for a motion.

Short parts of the run, spread over its time and its states, are run again with half the
step, as one batch; those of one state one by one, by the code that is compiled already.
What they differ by, in the norm of the kinetic energy, is the error of a part; that of
the run is as many times larger as the run is longer. Where τ is held, as by a policy,
half the step would hold it shorter: there the balance of energy and work tells.
The warning recommends only what passes the same test.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.integrators import INTEGRATORS, integrators_of
from ramidyn.compiler import compile
from ramidyn.concurrency import made_once
from ramidyn.description.pose import Array
from ramidyn.function import Function
from ramidyn.quantities.momentum_energy import kinetic_energy
from ramidyn.simulation.adaptive import Equations, can_finish
from ramidyn.simulation.arguments import CheckedArguments
from ramidyn.simulation.compiled_step import CompiledStep, compiled_step
from ramidyn.simulation.run import Run
from ramidyn.simulation.state import START
from ramidyn.simulation.traced_step import StepOptions, TracedStep

if TYPE_CHECKING:
    from ramidyn.robot import Robot

PARTS = 8
"""a batch of so many takes hardly longer than one"""
LENGTH = 1 / 50
"""of a part, in lengths of the run"""
SLOW = 1e-3
"""[m/s]: errors of a motion that is slower do not matter"""
ROUNDING = 1e5
"""times the rounding of numbers: errors that are smaller may come from there"""
SHORTEST = 1 / 200
"""of the step, that a shorter one is looked for"""
STEPS = 20
"""adaptive steps in place of one that may be needed, before others are recommended"""


def warn_of_long_steps(
    compiled: CompiledStep, arguments: CheckedArguments, run: Run
) -> None:
    """Warn if the steps of a run are too long."""
    robot, is_held = arguments.robot, arguments.is_held
    if not robot.nv or robot.model.contacts:  # impacts part motions that begin alike
        return
    parts = None if is_held else parts_of(compiled, arguments, run)
    if parts is not None:
        error = parts.error(compiled)
    else:
        error = imbalance(compiled.step, run) if is_held else 0.0
    if not error > tolerance(compiled):
        return
    dt = float(arguments.values["dt"])
    advice = compiled.advice.get(dt)
    if advice is None:
        advice = compiled.advice[dt] = advice_for(compiled, arguments, parts, error)
    warnings.warn(
        f"robot {robot.name!r}: dt = {dt:g} s is too long for this motion: velocities "
        f"are off by about {min(error, 1.0):.1g} of the largest at the end; {advice}",
        RuntimeWarning,
        stacklevel=4,
    )


def tolerance(compiled: CompiledStep) -> float:
    """Return the relative error of velocities up to which steps are short enough."""
    o = compiled.step.options
    rounding = ROUNDING * float(np.finfo(np.dtype(o.dtype)).eps)
    return max(INTEGRATORS[o.integrator].tolerance, rounding)


def advice_for(
    compiled: CompiledStep,
    arguments: CheckedArguments,
    parts: Parts | None,
    error: float,
) -> str:
    """Return what to use instead: what passes the test that this run did not."""
    o, dt, limit = arguments.options, float(arguments.values["dt"]), tolerance(compiled)
    order, shortest = INTEGRATORS[o.integrator].order, SHORTEST * dt
    better = shorter(dt * (limit / error) ** (1 / order))
    if parts is None:
        return f"use dt={better:g}"
    while better >= shortest and parts.error(compiled, round(dt / better)) > limit:
        better = shorter(better / 2)
    ways = [f"dt={better:g}"] if better >= shortest else []
    loops = o.stabilize if arguments.robot.model.loops else None
    others = [
        repr(name)
        for name in integrators_of(arguments.method, loops)
        if is_better(name, compiled, parts, error)
    ]
    if others:
        ways.append(f"integrator={' or '.join(others)}")
    if not ways:
        return f"steps of {shortest:g} s are too long as well: some force is very stiff"
    return f"use {' or '.join(ways)}"


def is_better(name: str, compiled: CompiledStep, parts: Parts, error: float) -> bool:
    """Return whether another integrator passes the test with the same dt."""
    robot, o, other = compiled.step.robot, compiled.step.options, INTEGRATORS[name]
    if other.order <= INTEGRATORS[o.integrator].order and not (
        other.is_for_stiff_forces and robot.model.forces and name != o.integrator
    ):
        return False
    options = replace(o, integrator=name)
    if other.step is None:
        return find_spec("scipy") is not None and parts.is_adaptable(options)
    candidate = compiled_step(robot, options)
    return parts.error(candidate) <= min(tolerance(candidate), error)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Short parts of a run: where they begin, and where the run took them."""

    step: CompiledStep
    values: dict[str, Any]
    """the inputs at their starts, as a batch"""
    per_step: tuple[str, ...]
    """those of the inputs that have a row for each step"""
    is_batch: bool
    """whether the run was one"""
    count: int
    """steps of each"""
    q: Array
    """where the run took them"""
    qd: Array
    energies: Array
    """the largest kinetic energy of the run of each"""
    share: float
    """of the run that each of them is"""

    def error(self, compiled: CompiledStep, refine: int = 1) -> float:
        """Return the error of q̇ at the end of the run, relative to its fastest motion.

        It is that of ``compiled`` with steps that are ``refine`` times shorter.
        """
        is_known = compiled is self.step and refine == 1
        qd = self.qd if is_known else self.velocities(compiled, refine)
        with np.errstate(all="ignore"):  # parts that diverge are infinitely wrong
            change = self.velocities(compiled, 2 * refine) - qd
            off: Array = kinetic(compiled.step.robot)(self.q, change)
            error = float(np.mean(np.sqrt(np.abs(off) / self.energies))) / self.share
        return error if math.isfinite(error) else math.inf

    def velocities(self, compiled: CompiledStep, refine: int) -> Array:
        """Return q̇ at the ends of the parts, by shorter steps."""
        values = {**self.values, "dt": self.values["dt"] / refine}
        for name in self.per_step:
            values[name] = np.repeat(values[name], refine, axis=1)
        steps = self.count * refine
        if self.is_batch:
            return compiled.run(values, steps, steps).qd[:, -1].astype(float)
        ends = [
            compiled.run(values | self._part(values, k), steps, steps).qd[-1]
            for k in range(len(self.q))
        ]
        return np.array(ends, dtype=float)

    def _part(self, values: dict[str, Any], k: int) -> dict[str, Any]:
        """Return the inputs of one part that differ from those of others."""
        return {n: values[n][k] for n in ("q", "qd", START, *self.per_step)}

    def is_adaptable(self, options: StepOptions) -> bool:
        """Return whether adaptive steps come to the end of the last part.

        Very stiff forces make them too short for that.
        """
        robot, values = self.step.step.robot, dict(self.values)
        if not robot.model.forces and options.is_held:
            return True
        values |= self._part(values, -1)
        for name, core in options.inputs:
            values[name] = np.reshape(values[name], (-1, *core))[0]
        if "tau" in values:
            values["tau"] = np.reshape(values["tau"], (-1, robot.nv))[0]
        equations = Equations(TracedStep(robot, options), {})
        end = values[START] + self.count * values["dt"]
        return can_finish(equations, values, end, STEPS * self.count)


def parts_of(
    compiled: CompiledStep, arguments: CheckedArguments, run: Run
) -> Parts | None:
    """Return parts of a run; None if no state moves freely for a row."""
    rows = usable_rows(run, arguments.options.restart)
    usable = np.flatnonzero(rows > 0)
    if not len(usable):
        return None
    spread = np.linspace(0.0, 1.0, PARTS)
    states = usable[(spread * (len(usable) - 1)).astype(int)]
    length = max(1, round(LENGTH * float(np.min(rows[states]))))
    first = (spread * (rows[states] - length)).astype(int)
    states, first = np.unique(np.stack([states, first]), axis=1)
    is_batch = run.batch is not None
    q, qd = (x if is_batch else x[None] for x in (run.q, run.qd))
    carried = [e.name for e in compiled.step.state]  # only q and qd are in all rows
    values = {n: x for n, x in arguments.values.items() if n not in carried}
    values |= {"q": q[states, first], "qd": qd[states, first]}
    values[START] = run.times[first]
    begin, count = first * arguments.every, length * arguments.every
    per_step: list[str] = []
    for name in (*compiled.step.per_step, *arguments.options.parameters):
        value = values.get(name)
        if value is None:
            continue
        core = len(compiled.step.shapes[name])
        if value.ndim == core + 2 or (
            name in arguments.options.parameters and value.ndim > core
        ):
            value = value[states]
        elif value.ndim == core + 1 and value.shape[0] > 1:
            value = np.broadcast_to(value, (len(states), *value.shape))
        if value.ndim == core + 2 and value.shape[1] > 1:
            per_step.append(name)
            steps = begin[:, None] + np.arange(count)
            value = value[np.arange(len(states))[:, None], steps]
        values[name] = value
    last = first + length
    return Parts(
        compiled,
        values,
        tuple(per_step),
        is_batch,
        count,
        q[states, last].astype(float),
        qd[states, last].astype(float),
        fastest(arguments.robot, q[states], qd[states]),
        length / float(np.mean(rows[states])),
    )


def usable_rows(run: Run, restart: bool) -> npt.NDArray[np.intp]:
    """Return how many rows of each state there are until it ends; 0 if it diverges."""
    states = 1 if run.batch is None else run.batch
    rows = np.full(states, len(run.times) - 1)
    if "ended" in run.totals:
        ended = np.atleast_1d(run.totals["ended"])
        before = np.searchsorted(run.times, ended) - 1
        rows = np.where(ended > 0, 0, rows) if restart else np.minimum(rows, before)
    rows[run.diverged] = 0
    return rows


def imbalance(step: TracedStep, run: Run) -> float:
    """Return the relative difference between the change of energy and the work."""
    robot, works = step.robot, ["work"]
    works += ["element_work"] if robot.model.forces or step.wrenches else []
    if not {"energy", *works} <= set(run.recorded) or not np.isfinite(run.qd).all():
        return 0.0
    balance: Array = run.recorded["energy"] - sum(run.recorded[n] for n in works)
    states = (x if run.batch is not None else x[None] for x in (run.q, run.qd))
    return float(np.max(np.ptp(balance, axis=-1) / fastest(robot, *states)))


def fastest(robot: Robot, q: Array, qd: Array) -> Array:
    """Return the largest kinetic energies of runs, at least that of a slow motion."""
    last = q.shape[1] - 1
    some = sorted({round(k * last / 63) for k in range(64)})
    flat = [np.reshape(x[:, some], (-1, x.shape[2])).astype(float) for x in (q, qd)]
    found: Array = np.reshape(kinetic(robot)(*flat), (len(q), -1))
    mass = sum(robot.model.masses.values())
    return np.maximum(np.max(found, axis=1), mass / 2 * SLOW**2)


def kinetic(robot: Robot) -> Function:
    """Return the compiled kinetic energy."""
    return made_once(robot.__dict__, "_kinetic", lambda: compile(kinetic_energy, robot))


def shorter(dt: float) -> float:
    """Return the next shorter step of 1, 2 or 5 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10(dt))
    return max(k for k in (1, 2, 5) if k * unit <= dt * (1 + 1e-9)) * unit
