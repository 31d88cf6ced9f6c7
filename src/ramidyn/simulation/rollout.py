"""Rollouts: many states, many steps, one call; see `Robot.rollout`."""

from __future__ import annotations

import math
import operator
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

import numpy as np
import numpy.typing as npt

from ramidyn.concurrency import made_once
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.function import signature_of
from ramidyn.simulation.run import Run
from ramidyn.simulation.scan import Scan, check_fits, plan_of
from ramidyn.simulation.traced_step import (
    BUILT_IN,
    INTEGRATORS,
    OWN_INPUTS,
    STABILIZE,
    Shapes,
    Step,
    StepOptions,
    Traced,
    wanted_names,
)

if TYPE_CHECKING:
    from ramidyn.robot import Robot

K = TypeVar("K")
V = TypeVar("V")
KEPT = 16
"""compiled steps of a robot that are kept, and lengths of each"""
CHECKED = 2**16
"""entries of an input that are searched for NaN before a run"""


def rollout(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None,
    tau: npt.ArrayLike | None,
    dt: float,
    *,
    steps: int | None,
    integrator: str,
    policy: Traced | None,
    inputs: Mapping[str, npt.ArrayLike],
    record: Sequence[str] | Mapping[str, str | Traced],
    total: Mapping[str, Traced],
    every: int,
    until: Traced | None,
    restart: bool,
    parameters: Mapping[str, npt.ArrayLike],
    stabilize: str,
    rate: float,
    start: float,
    dtype: str,
    threads: int,
    out: Run | None,
) -> Run:
    """Roll states of a robot out; see `Robot.rollout`."""
    given = {name: checked_numbers(name, value) for name, value in inputs.items()}
    changed = {name: checked_numbers(name, x) for name, x in parameters.items()}
    state = {"q": checked_numbers("q", q)}
    state["qd"] = np.zeros(robot.nv) if qd is None else checked_numbers("qd", qd)
    if tau is not None:
        state["tau"] = checked_numbers("tau", tau)
    h, count = checked_dt(dt), checked_steps(steps, state.get("tau"), given, every)
    options = StepOptions(
        one_of("integrator", integrator, INTEGRATORS),
        one_of("stabilize", stabilize, STABILIZE) if robot.model.loops else "none",
        float(rate),
        policy,
        tau is not None,
        recorded(record, robot),
        tuple(total.items()),
        until,
        restart,
        input_shapes(given),
        tuple(changed),
        dtype,
        threads,
    )
    check_functions(options)
    if options.integrator == "implicit" and robot.model.loops:
        raise ArgumentError(
            f"robot {robot.name!r} has loops, which 'implicit' does not support; use "
            "'semi_implicit_euler' or 'rk4'"
        )
    compiled = compiled_step(robot, options)
    values = {**state, **given, **changed, "dt": h, "start": float(start)}
    run = compiled.run(values, count, every, out)
    warn_of_divergence(robot, run)
    return run


@final
class CompiledStep:
    """The compiled step of some options, and its time loops."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self._scans: OrderedDict[tuple[int, int], Scan] = OrderedDict()

    @cached_property
    def function(self) -> Any:
        """The step as a compiled function."""
        return self.step.compiled()

    @cached_property
    def outputs(self) -> list[str]:
        """The names of the step's outputs."""
        return [name for name, _ in signature_of(self.function).outputs]

    def scan(self, length: int, every: int) -> Scan:
        """Return the time loop of so many steps."""
        return kept(self._scans, (length, every), lambda: self._scan(length, every))

    def _scan(self, length: int, every: int) -> Scan:
        step, function = self.step, self.function
        per_step, record = step.per_step, step.recorded
        plan = plan_of(
            function, step.carry, length, per_step, record, every, from_first=True
        )
        return Scan(function, plan)

    def run(
        self,
        values: Mapping[str, Any],
        steps: int,
        every: int,
        out: Run | None = None,
    ) -> Run:
        """Run all steps and return what was recorded, in the arrays of ``out``."""
        step, kind = self.step, np.dtype(self.step.options.dtype)
        rows = steps // every + 1
        given = self.first_inputs(values)
        arrays: dict[str, Array] = {}
        last: dict[str, Array] = {}
        outputs = dict(signature_of(self.function).outputs)

        def allocate(batch: int | None) -> dict[str, Array]:
            lead = () if batch is None else (batch,)
            shapes = {n: (*lead, rows, *outputs[n]) for n in step.recorded}
            if out is None:
                size = sum(math.prod(s) for s in shapes.values()) * kind.itemsize
                check_fits(self.function.name, size)
                arrays.update({n: np.empty(s, kind) for n, s in shapes.items()})
            else:
                arrays.update(arrays_of(out, shapes, kind))
            last.update(
                {n: np.empty((*lead, *outputs[n]), kind) for n in step.carry.values()}
            )
            body = (slice(None),) * len(lead)
            return {n: a[(*body, slice(0, -1))] for n, a in arrays.items()} | last

        self.scan(steps, every)(*[given[n] for n in step.shapes], out=allocate)
        begin = np.ravel(values["start"])[0]  # states may have starts of their own
        times = begin + values["dt"] * every * np.arange(rows)
        return self.finished(given, times, arrays, last)

    def first_inputs(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all inputs of the first step."""
        o, step = self.step.options, self.step
        given = {**values, "count": 0.0, **{n: 0.0 for n in step.carry if " " in n}}
        if o.until is not None:
            given["ended"] = 0.0 if o.restart else math.inf
        if o.restart:
            given |= {"q_start": values["q"], "qd_start": values["qd"]}
        return given

    def finished(
        self,
        given: Mapping[str, Any],
        times: Array,
        arrays: dict[str, Array],
        last: Mapping[str, Array],
    ) -> Run:
        """Return the run of all recorded rows but the last, which is written here."""
        o = self.step.options
        for name in ("q", "qd"):
            arrays[name][..., -1, :] = last[f"next {name}"]
        if o.record:
            self._record_last(given, arrays, last)
        for name, what in o.record:
            if what == "element_work":  # stored energy counts from the start
                arrays[name] -= arrays[name][..., :1]
        totals = {n: last[f"next sum {n}"] for n, _ in o.total}
        if o.until is not None:
            totals["ended"] = last["next ended"]
        further = {n: arrays[n] for n, _ in o.record}
        return Run(self.step.robot, times, arrays["q"], arrays["qd"], further, totals)

    def _record_last(
        self,
        given: Mapping[str, Any],
        arrays: Mapping[str, Array],
        last: Mapping[str, Array],
    ) -> None:
        """Write the last row of all quantities, with the inputs of the last step."""
        step = self.step
        here = dict(given) | {n: last[source] for n, source in step.carry.items()}
        is_batch = arrays["q"].ndim == 3
        for name in step.per_step:
            if name in here and np.ndim(here[name]) > len(step.shapes[name]):
                here[name] = np.asarray(here[name])[..., -1:, :]
        found = self.scan(1, 1)(*[here[n] for n in step.shapes])
        for name, _ in step.options.record:
            body = (slice(None),) * is_batch
            arrays[name][(*body, -1)] = getattr(found, name)[(*body, 0)]


def arrays_of(
    run: Run, shapes: Mapping[str, tuple[int, ...]], kind: np.dtype[Any]
) -> dict[str, Array]:
    """Return the arrays of an earlier run, which must have been recorded alike."""
    arrays = {"q": run.q, "qd": run.qd, **run.recorded}
    for name, shape in shapes.items():
        found = arrays.get(name)
        if found is None or found.shape != shape or found.dtype != kind:
            given = "nothing" if found is None else f"{found.dtype} of {found.shape}"
            raise ShapeError(f"out has {given} for {name}; expected {kind} of {shape}")
    return {name: arrays[name] for name in shapes}


def compiled_step(robot: Robot, options: StepOptions) -> CompiledStep:
    """Return the compiled step of some options; the last few are kept."""
    known: OrderedDict[StepOptions, CompiledStep] = made_once(
        robot.__dict__, "_rollouts", OrderedDict[StepOptions, CompiledStep]
    )
    return kept(known, options, lambda: CompiledStep(Step(robot, options)))


def kept(known: OrderedDict[K, V], key: K, make: Callable[[], V]) -> V:
    """Return what is known for a key, or make it; the least used is forgotten."""
    found = known.pop(key, None)
    known[key] = make() if found is None else found
    while len(known) > KEPT:
        known.popitem(last=False)
    return known[key]


# What users give, checked before anything is compiled.


def one_of(name: str, value: object, possible: Sequence[str]) -> str:
    """Return one of the possible words."""
    if value not in possible:
        listed = ", ".join(map(repr, possible))
        raise ArgumentError(f"{name} is {value!r}; possible: {listed}")
    return cast(str, value)


def checked_dt(dt: object) -> float:
    """Return the time step as a number."""
    if not isinstance(dt, Real) or not 0.0 < float(dt) < math.inf:
        raise ArgumentError(f"dt is {dt!r}; expected a positive number of seconds")
    return float(dt)


def checked_numbers(name: str, value: npt.ArrayLike) -> Array:
    """Return a value as an array without NaN."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"{name} is not an array: {error}") from error
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{name} is {value!r}; expected real numbers")
    if array.size <= CHECKED and not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ArgumentError(f"{name} has {array[where]} at {where}; expected numbers")
    return array


def checked_steps(
    steps: object, tau: Array | None, inputs: Mapping[str, Array], every: object
) -> int:
    """Return the number of steps: as said, or as the inputs have it."""
    timed = {"tau": tau, **inputs}
    lengths = {
        name: x.shape[-2] for name, x in timed.items() if x is not None and x.ndim > 1
    }
    if steps is None:
        steps = max(lengths.values(), default=None)
        if steps is None:
            raise ArgumentError(
                "steps is missing; pass steps=, or tau of shape (steps, nv)"
            )
    try:
        count = operator.index(cast(Any, steps))
        period = operator.index(cast(Any, every))
    except TypeError:
        count = period = 0
    if count < 1 or period < 1:
        raise ArgumentError(
            f"steps is {steps!r}, every {every!r}; expected integers of 1 or more"
        )
    if count % period:
        raise ArgumentError(
            f"steps is {count}; expected a multiple of every, which is {period}"
        )
    for name, length in lengths.items():
        if length not in (1, count):
            raise ArgumentError(
                f"steps is {count}; {name} has {length} of shape {timed[name].shape}"  # pyright: ignore[reportOptionalMemberAccess]
            )
    return count


def recorded(
    record: Sequence[str] | Mapping[str, str | Traced], robot: Robot
) -> tuple[tuple[str, str | Traced], ...]:
    """Return what is recorded besides q and q̇, by name."""
    if isinstance(record, str):
        record = (record,)
    named = dict(record) if isinstance(record, Mapping) else {n: n for n in record}
    possible = [n for n in BUILT_IN if n != "residual" or robot.model.loops]
    for name, what in named.items():
        if not callable(what) and what not in possible:
            raise ArgumentError(
                f"record has {what!r}; possible: {', '.join(map(repr, possible))}, or "
                "a function by name, such as {'hand': lambda q: robot.pose(q, 'hand')}"
            )
        if not name.isidentifier() or hasattr(Run, name):
            raise ArgumentError(f"record has the name {name!r}; choose another name")
    return tuple(named.items())


def input_shapes(given: Mapping[str, Array]) -> Shapes:
    """Return the shapes of further inputs at one step."""
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for name, array in given.items():
        if name in OWN_INPUTS or array.ndim > 3:
            raise ArgumentError(
                f"inputs has {name!r} of shape {array.shape}; expected a name other "
                f"than {', '.join(OWN_INPUTS)}, and shape (), (n,), (steps, n) or "
                "(batch, steps, n)"
            )
        shapes.append((name, array.shape[-1:]))
    return tuple(shapes)


def check_functions(options: StepOptions) -> None:
    """Raise ArgumentError for a function with an argument that no input provides."""
    o = options
    known = dict.fromkeys(["q", "qd", "dt", "time", *dict(o.inputs), *o.parameters])
    if o.policy is not None:
        what = "policy" if o.is_held else "tau"
        wanted_names(what, o.policy, known | ({"tau": None} if o.has_tau else {}))
    known |= {"tau": None, "qdd": None}
    if o.until is not None:
        wanted_names("until", o.until, known)
    for name, function in (*o.record, *o.total):
        if callable(function):
            wanted_names(name, function, known)


def warn_of_divergence(robot: Robot, run: Run) -> None:
    """Warn of states that are no longer finite."""
    bad = run.diverged
    if not len(bad):
        return
    first = int(bad[0])
    states = np.concatenate([run.q, run.qd], axis=-1)
    rows = np.isfinite(states if run.batch is None else states[first]).all(axis=-1)
    when = run.times[int(np.argmin(rows))]
    which = "the state" if run.batch is None else f"state {first}"
    more = f" ({len(bad):,} of {run.batch:,} states in all)" if len(bad) > 1 else ""
    warnings.warn(
        f"robot {robot.name!r}: {which} is not finite from t = {when:.6g} s on{more}; "
        "a shorter dt may help, see run.diverged",
        RuntimeWarning,
        stacklevel=4,
    )
