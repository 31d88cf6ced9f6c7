"""The compiled step of a robot, and its time loops."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ramidyn.backend.calls.result_memory import empty
from ramidyn.backend.runtime.memory_layout import LARGE
from ramidyn.concurrency import kept, made_once
from ramidyn.description.pose import Array
from ramidyn.errors import ShapeError
from ramidyn.function import signature_of
from ramidyn.simulation.gradients import Gradient, differentiable_step
from ramidyn.simulation.ready_run import ReadyRun, layout_of
from ramidyn.simulation.run import Run
from ramidyn.simulation.scan import Scan, check_fits, plan_of
from ramidyn.simulation.scan_derivatives import ScanJvp, ScanVjp
from ramidyn.simulation.state import COUNT, ENDED, START, RunState
from ramidyn.simulation.traced_step import StepOptions, TracedStep

if TYPE_CHECKING:
    from ramidyn.robot import Robot


@final
class CompiledStep:
    """The compiled step of some options, and its time loops."""

    def __init__(self, step: TracedStep) -> None:
        self.step = step
        self.runs: Counter[float] = Counter()
        """so far, by dt"""
        self.advice: dict[float, str] = {}
        """instead of a dt that is too long; to find it takes longer than a run"""
        self._kind: np.dtype[Any] = np.dtype(step.options.dtype)
        self._times: tuple[tuple[float, ...], Array] | None = None
        """of the last run"""
        self._ready: OrderedDict[tuple[object, ...], list[ReadyRun]] = OrderedDict()
        """runs that no thread is in, by what they depend on"""
        self._scans: OrderedDict[tuple[int, int], Scan] = OrderedDict()
        self._changes: OrderedDict[tuple[object, ...], ScanJvp] = OrderedDict()
        self._gradients: OrderedDict[tuple[object, ...], ScanVjp] = OrderedDict()

    @cached_property
    def function(self) -> Any:
        """The step as a compiled function."""
        return self.step.compiled()

    @cached_property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the step's outputs by their names."""
        return dict(signature_of(self.function).outputs)

    @cached_property
    def _first(self) -> dict[str, Any]:
        """What the state of the first step is, unless it is given."""
        return {e.name: e.first for e in self.step.state if e.first is not None}

    def is_examined(self, dt: float) -> bool:
        """Count a run; return whether it is the 1st, 2nd, 4th, ... of its dt.

        To examine the states of a run takes as long as a short one.
        """
        self.runs[dt] += 1
        return self.runs[dt].bit_count() == 1

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
        gradient: Gradient | None = None,
    ) -> Run:
        """Run all steps and return what was recorded, in the arrays of ``out``."""
        given = self.first_inputs(values)
        inputs = [given[n] for n in self.step.shapes]
        if gradient is not None:
            return self._run_with_gradient(given, inputs, steps, every, out, gradient)
        key = steps, every, *[layout_of(x, self._kind) for x in inputs]
        pool = self._ready.get(key)
        if pool is None:
            pool = kept(self._ready, key, list[ReadyRun])
        ready = pool.pop() if pool else ReadyRun(self, inputs, steps, every)
        arrays = self._results(ready.records, ready.size, out)
        last = {n: np.empty(s, self._kind) for n, s in ready.finals.items()}
        if out is None:
            ready.run(inputs, arrays, last)
        else:
            ready.run_into(inputs, arrays, last)
        if ready.is_small and None not in key:
            pool.append(ready)
        times = self.times(given, steps // every + 1, every)
        return self.finished(given, times, arrays, last, is_whole=True)

    def _run_with_gradient(
        self,
        given: Mapping[str, Any],
        inputs: Sequence[Any],
        steps: int,
        every: int,
        out: Run | None,
        gradient: Gradient,
    ) -> Run:
        """Run all steps, and back again."""
        step, rows = self.step, steps // every + 1
        arrays: dict[str, Array] = {}
        last: dict[str, Array] = {}

        def allocate(batch: int | None) -> dict[str, Array]:
            lead = () if batch is None else (batch,)
            shapes = {n: (*lead, rows, *self.outputs[n]) for n in step.recorded}
            size = sum(map(math.prod, shapes.values())) * self._kind.itemsize
            arrays.update(self._results(shapes, size, out))
            for name in step.carry.values():
                last[name] = np.empty((*lead, *self.outputs[name]), self._kind)
            body = (slice(None),) * len(lead)
            return {n: a[(*body, slice(0, -1))] for n, a in arrays.items()} | last

        backward = self.vjp(steps, every, gradient)
        weights = [gradient.of[n] for n in backward.of]
        _, found = backward.run(inputs, weights, allocate)
        gradients, times = gradient.by_name(step, found), self.times(given, rows, every)
        return self.finished(given, times, arrays, last, gradients=gradients)

    def _results(
        self, shapes: Mapping[str, tuple[int, ...]], size: int, out: Run | None
    ) -> dict[str, Array]:
        """Return the arrays of what is recorded: new ones, or those of a run."""
        kind = self._kind
        if out is not None:
            return arrays_of(out, shapes, kind)
        if size < LARGE:
            return {n: np.empty(s, kind) for n, s in shapes.items()}
        check_fits(self.function.name, size)
        return {n: empty(s, kind) for n, s in shapes.items()}

    def times(self, given: Mapping[str, Any], rows: int, every: int) -> Array:
        """Return the times of all rows; those of the first state if they differ."""
        begin, count = first_number(given[START]), first_number(given[COUNT])
        key = begin, count, given["dt"], rows, every
        known = self._times
        if known is None or known[0] != key:
            times = begin + given["dt"] * (count + every * np.arange(rows))
            self._times = known = key, times
        return np.array(known[1])

    def vjp(self, length: int, every: int, gradient: Gradient) -> ScanVjp:
        """Return the time loop of so many steps, with its gradient."""
        wrt, of = gradient.inputs(self.step), tuple(gradient.of)
        return kept(
            self._gradients,
            (length, every, wrt, of),
            lambda: ScanVjp(
                self.scan(length, every),
                wrt,
                of,
                lambda: differentiable_step(self.step),
            ),
        )

    def changes(
        self,
        values: Mapping[str, Any],
        steps: int,
        every: int,
        tangents: Mapping[str, Array],
    ) -> dict[str, Array]:
        """Return how q, q̇ and totals change with the inputs."""
        step, given = self.step, self.first_inputs(values)
        first = {e.before: e.name for e in step.restarted if e.name in tangents}
        moved = {**tangents, **{n: tangents[name] for n, name in first.items()}}
        forward = kept(
            self._changes,
            (steps, every, tuple(moved)),
            lambda: ScanJvp(self.scan(steps, every), tuple(moved)),
        )
        found = forward.changes([given[n] for n in step.shapes], moved)
        rows = {
            n: np.concatenate([found[n], found[f"next {n}"][..., None, :]], axis=-2)
            for n in ("q", "qd")
        }
        return rows | {n: found[f"next sum {n}"] for n, _ in step.options.total}

    def first_inputs(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all inputs of the first step."""
        step = self.step
        given = {**self._first, **values}
        return {e.before: given[e.name] for e in step.restarted} | given

    def finished(
        self,
        given: Mapping[str, Any],
        times: Array,
        arrays: dict[str, Array],
        last: Mapping[str, Array],
        is_whole: bool = False,
        gradients: Mapping[str, Array] | None = None,
    ) -> Run:
        """Return the run of all rows; the last of q and q̇ is written here.

        So is that of what else is recorded, unless all of it ``is_whole``.
        """
        o = self.step.options
        for name in ("q", "qd"):
            arrays[name][..., -1, :] = last[f"next {name}"]
        if o.record and not is_whole:
            self._record_last(given, arrays, last)
        totals = {n: last[f"next sum {n}"] for n, _ in o.total}
        if o.until is not None:
            totals["ended"] = last[f"next {ENDED}"]
        further = {n: arrays[n] for n, _ in o.record}
        robot, q, qd = self.step.robot, arrays["q"], arrays["qd"]
        end = self._end(given, last, q.shape)
        return Run(robot, times, q, qd, further, totals, {}, end, gradients or {})

    def _end(
        self,
        given: Mapping[str, Any],
        last: Mapping[str, Array],
        shape: tuple[int, ...],
    ) -> RunState:
        """Return the state after the last step."""
        step = self.step
        values = {e.name: last[e.after] for e in step.state}
        for e in step.restarted:
            whole = np.asarray(given[e.before], dtype=step.options.dtype)
            values[e.before] = np.broadcast_to(whole, (*shape[:-2], *e.shape))
        return RunState(values, first_number(given[START]), float(given["dt"]))

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
            core = len(step.shapes[name])
            if name in here and np.ndim(here[name]) > core:
                whole, inner = np.asarray(here[name]), (slice(None),) * core
                here[name] = whole[(..., slice(-1, None), *inner)]
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


def first_number(value: Any) -> float:
    """Return a number, or the first of an array."""
    return value if type(value) is float else float(np.ravel(value)[0])


def compiled_step(robot: Robot, options: StepOptions) -> CompiledStep:
    """Return the compiled step of some options; the last few are kept."""
    known: OrderedDict[StepOptions, CompiledStep] = made_once(
        robot.__dict__, "_rollouts", OrderedDict[StepOptions, CompiledStep]
    )
    return kept(known, options, lambda: CompiledStep(TracedStep(robot, options)))
