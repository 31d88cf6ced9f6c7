"""A search for plans in native code: its kernels, its arrays and its blocks."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from ramidyn.backend.calls.runnable import run_all
from ramidyn.backend.llvm.build import load_functions
from ramidyn.backend.planning.iteration_code import Call, Copy, Search, emit
from ramidyn.backend.planning.riccati_code import (
    KNOT,
    SUMS,
    Recursion,
    RiccatiSizes,
    knot_word,
)
from ramidyn.backend.runtime.memory_layout import Words, words
from ramidyn.description.pose import Array
from ramidyn.function import Function, calls_of, compilation_of
from ramidyn.kernels import kernel
from ramidyn.optimal_control.decisions import (
    STATE,
    STEP_LENGTHS,
    decide,
    take_best,
    take_first,
)
from ramidyn.optimal_control.problem import PlanningProblem
from ramidyn.simulation.scan import Scan, scan

GROUP = len(STEP_LENGTHS)
"""problems whose motions are rolled out side by side"""
Run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
Where = tuple[Array, str]
"""an array, and what its first axes are: p problems, s states of a kernel, t time, g
problems that are states"""


@final
class PlanningKernels:
    """What is compiled for a problem."""

    def __init__(self, problem: PlanningProblem, steps: int) -> None:
        robot, inputs = problem.robot, dict(problem.inputs)
        nq, nv, sizes = robot.nq, robot.nv, problem.sizes
        self.problem, self.steps = problem, steps

        def made(what: str, f: Any, shapes: Mapping[str, Any]) -> Function:
            order = list(shapes)

            def by_name(*values: Any) -> Any:
                return f(dict(zip(order, values, strict=True)))

            return kernel(by_name, shapes, name=f"{what} of {robot.name}")

        state = {"q": nq, "qd": nv}
        after = {"q_next": nq, "qd_next": nv} if sizes.has_gaps else {}
        knot = {**state, "tau": nv, **inputs, **after}
        self.derivatives = made("derivatives", problem.derivatives, knot)
        last = {**state, **inputs}
        self.end = made("final value", problem.end, last)
        self.last_cost = made("final cost", problem.last_cost, last)
        per_step = {"q_old": nq, "qd_old": nv, "tau_old": nv}
        per_step |= {"policy": (sizes.m, sizes.nx)}
        per_step |= {"gap": sizes.n} if sizes.has_gaps else {}
        step = made(
            "step",
            problem.step,
            {**state, "total": (), **per_step, "length": (), **inputs},
        )
        self.rollout: Scan = scan(
            step,
            carry=("q", "qd", "total"),
            per_step=tuple(per_step),
            length=steps,
            record=("q", "qd", "tau"),
        )
        self.box: Function | None = None
        if sizes.has_limits:
            m = sizes.m
            shapes = {"Quu": (m, sizes.nu), "Qu": m, "damping": (), "low": m, "high": m}
            self.box = made("limits", problem.box, shapes)
        numbers: dict[str, Any] = dict.fromkeys(STATE, ())
        given = dict.fromkeys((*SUMS, "failed_recursion", "tolerance"), ())
        self.decide = made("decision", decide, {**numbers, **given})
        tried = {"total": GROUP, "last": GROUP}
        best = partial(take_best, lengths=STEP_LENGTHS, is_last=True)
        self.take_best = made("choice", best, {**numbers, **tried})
        tried = {"total": 1, "last": 1}
        full = partial(take_best, lengths=(1.0,), is_last=False)
        self.take_full = made("choice of one", full, {**numbers, **tried})
        self.take_first = made("first choice", take_first, tried)
        self.begin, self.iterate = functions(sizes)


def functions(sizes: RiccatiSizes) -> tuple[Any, Any]:
    """Return ``begin`` and ``iterate`` for problems of a size."""
    begin, iterate = load_functions(
        lambda: str(emit(sizes).llvm), ["begin", "iterate"], f"planning {sizes!r}"
    )
    return Run(begin), Run(iterate)


@final
class Workspace:
    """The arrays of a batch of problems."""

    def __init__(self, kernels: PlanningKernels, batch: int) -> None:
        problem, steps = kernels.problem, kernels.steps
        robot, sizes = problem.robot, problem.sizes
        self.kernels, self.batch = kernels, batch
        self.state = {name: np.zeros(batch) for name in STATE}
        self.tolerance = np.zeros(1)
        self.q = np.zeros((batch, steps + 1, robot.nq))
        self.qd = np.zeros((batch, steps + 1, robot.nv))
        self.tau = np.zeros((batch, steps, robot.nv))
        self.policy = np.zeros((batch, steps, sizes.m, sizes.nx))
        self.gap = np.zeros((batch, steps, sizes.n))
        self.inputs = {
            name: np.zeros((batch, *shape)) for name, shape in problem.inputs.items()
        }
        self._blocks = [_Blocks(self)]

    def blocks(self, threads: int) -> list[_Blocks]:
        """Return the blocks of threads, made when they are asked for."""
        while len(self._blocks) < threads:
            self._blocks.append(_Blocks(self))
        return self._blocks[:threads]

    def groups(self) -> list[tuple[int, int]]:
        """Return the first problem and the number of problems of each group."""
        return [(k, min(GROUP, self.batch - k)) for k in range(0, self.batch, GROUP)]


@final
class _Blocks:
    """What one thread needs: memory for one group, and the blocks of a search."""

    def __init__(self, space: Workspace) -> None:
        kernels, self.space = space.kernels, space
        problem, steps = kernels.problem, kernels.steps
        robot, sizes = problem.robot, problem.sizes
        self.failed = words([0])
        self.scratch = np.zeros(sizes.scratch_size)
        knots = dict(compilation_of(kernels.derivatives).outputs)
        self.local = {n: np.zeros((steps, *shape)) for n, shape in knots.items()}
        self.local["policy"] = np.zeros((steps, sizes.m, sizes.nx))
        self.tried = {
            "q": np.zeros((GROUP, steps, robot.nq)),
            "qd": np.zeros((GROUP, steps, robot.nv)),
            "tau": np.zeros((GROUP, steps, robot.nv)),
        }
        self.last = {
            "q": np.zeros((GROUP, robot.nq)),
            "qd": np.zeros((GROUP, robot.nv)),
            "total": np.zeros(GROUP),
            "last": np.zeros(GROUP),
        }
        self.kept: list[object] = []
        self.block: Words = self._search_block()

    def run(self, function: Any, first: int, count: int) -> None:
        """Run ``begin`` or ``iterate``."""
        function(ctypes.addressof(self.block), first, count)
        if self.failed[0]:
            self.failed[0] = 0
            raise MemoryError

    def _of_scratch(self, name: str) -> Array:
        place, shape = self.space.kernels.problem.sizes.scratch[name]
        entries = self.scratch[place // 8 :][: int(np.prod(shape))]
        return np.reshape(entries, shape)

    def _search_block(self) -> Words:
        space, kernels = self.space, self.space.kernels
        m = kernels.problem.sizes.m
        numbers: dict[str, Where] = {n: (x, "g") for n, x in space.state.items()}
        inputs: dict[str, Where] = {n: (x, "p") for n, x in space.inputs.items()}
        grouped: dict[str, Where] = {n: (x, "g") for n, x in space.inputs.items()}
        sums = self._of_scratch("sums")
        found = dict.fromkeys(Search, 0)
        found[Search.STEPS] = kernels.steps
        found[Search.LENGTHS] = GROUP
        found[Search.SUMS] = sums.ctypes.data
        knots: dict[str, Where] = {
            "q": (space.q, "ps"),
            "qd": (space.qd, "ps"),
            "tau": (space.tau, "ps"),
            "q_next": (space.q[:, 1:], "ps"),
            "qd_next": (space.qd[:, 1:], "ps"),
        }
        local: dict[str, Where] = {n: (x, "s") for n, x in self.local.items()}
        found[Search.DERIVATIVES] = self._call(
            kernels.derivatives, {**knots, **inputs}, local
        )
        end: dict[str, Where] = {
            "q": (space.q[:, -1], "p"),
            "qd": (space.qd[:, -1], "p"),
        }
        value: dict[str, Where] = {"V": (self._of_scratch("V"), "")}
        found[Search.END] = self._call(kernels.end, {**end, **inputs}, value)
        summed: dict[str, Where] = {
            n: (sums[k:], "") for k, n in enumerate((*SUMS, "failed_recursion"))
        }
        given = {**numbers, **summed, "tolerance": (space.tolerance, "")}
        found[Search.DECIDE] = self._call(kernels.decide, given, numbers)
        first = np.zeros(1)
        full, lengths = np.ones(1), np.array(STEP_LENGTHS)
        rollouts = (
            (Search.FIRST_ROLLOUT, "g", grouped, (first, "")),
            (Search.ROLLOUT, "g", grouped, (full, "")),
            (Search.ROLLOUT_LENGTHS, "p", inputs, (lengths, "s")),
        )
        for word, axis, own, length in rollouts:
            found[word] = self._rollout(axis, own, length)
        reached: dict[str, Where] = {n: (x, "s") for n, x in self.last.items()}
        ends = ((Search.FINAL_COST, grouped), (Search.FINAL_LENGTHS, inputs))
        for word, own in ends:
            found[word] = self._call(kernels.last_cost, {**reached, **own}, reached)
        together: dict[str, Where] = {n: (self.last[n], "") for n in ("total", "last")}
        each: dict[str, Where] = {
            n: (self.last[n][:, None], "s") for n in ("total", "last")
        }
        takes = (
            (Search.TAKE_BEST, kernels.take_best, together),
            (Search.TAKE_FULL, kernels.take_full, each),
            (Search.TAKE_FIRST, kernels.take_first, each),
        )
        for word, function, tried in takes:
            found[word] = self._call(function, {**numbers, **tried}, numbers)
        found[Search.RECURSION] = self._recursion(m)
        pairs = {
            Search.DONE: "done",
            Search.GOES: "goes",
            Search.ROW: "row",
            Search.IS_SOUND: "sound",
            Search.DAMPING: "damping",
        }
        for word, name in pairs.items():
            found[word] = space.state[name].ctypes.data
        motion = [
            (space.q[:, 1:], self.tried["q"]),
            (space.qd[:, 1:], self.tried["qd"]),
            (space.tau, self.tried["tau"]),
        ]
        policy = [(space.policy, self.local["policy"][None])]
        gaps: list[tuple[Array, Array]] = []
        if kernels.problem.has_gaps:
            gaps.append((space.gap, self.local["gap"][None]))
        tables = ((Search.MOTION, motion), (Search.POLICY, policy), (Search.GAPS, gaps))
        for word, copies in tables:
            found[word] = self._copies(copies)
            found[Search(word + 1)] = len(copies)
        return words([found[w] for w in Search])

    def _copies(self, pairs: Sequence[tuple[Array, Array]]) -> int:
        """Return the address of copies from what was tried to problems."""
        entries: list[int] = []
        for target, source in pairs:
            row = dict.fromkeys(Copy, 0)
            row[Copy.TARGET] = target.ctypes.data
            row[Copy.PER_PROBLEM] = target.strides[0]
            row[Copy.SOURCE] = source.ctypes.data
            row[Copy.PER_ROW] = source.strides[0]
            row[Copy.BYTES] = source[0].nbytes
            entries += [row[w] for w in Copy]
        return self._keep(words(entries))

    def _keep(self, block: Words) -> int:
        self.kept.append(block)
        return ctypes.addressof(block)

    def _recursion(self, m: int) -> int:
        """Return the address of the block of the Riccati recursion."""
        space, problem = self.space, self.space.kernels.problem
        block = words([0] * (len(Recursion) + 2 * len(KNOT)))
        block[Recursion.STEPS] = space.kernels.steps
        block[Recursion.SCRATCH] = self.scratch.ctypes.data
        for name in KNOT:
            if name in self.local:
                array, pace = self.local[name], self.local[name].strides[0]
            elif name in problem.constants:
                array, pace = np.ascontiguousarray(problem.constants[name]), 0
                self.kept.append(array)
            else:
                continue
            block[knot_word(name)] = array.ctypes.data
            block[knot_word(name) + 1] = pace
        if space.kernels.box is not None:
            # the number of a "problem" is that of a knot here
            given: dict[str, Where] = {
                "Quu": (self._of_scratch("Quu"), ""),
                "Qu": (self._of_scratch("Qu"), ""),
                "damping": (self._of_scratch("damping"), ""),
                "low": (self.local["low"], "p"),
                "high": (self.local["high"], "p"),
            }
            found: dict[str, Where] = {
                n: (self._of_scratch(n)[:m], "") for n in ("k", "free")
            }
            block[Recursion.BOX] = self._call(space.kernels.box, given, found)
        return self._keep(block)

    def _rollout(self, axis: str, own: Mapping[str, Where], length: Where) -> int:
        """Return the call of rollouts of a group, or of all step lengths."""
        space, made = self.space, self.space.kernels.rollout
        time = axis + "t"
        given: dict[str, Where] = {
            "q": (space.q[:, 0], axis),
            "qd": (space.qd[:, 0], axis),
            "total": (np.zeros(1), ""),
            "q_old": (space.q, time),
            "qd_old": (space.qd, time),
            "tau_old": (space.tau, time),
            "policy": (space.policy, time),
            "gap": (space.gap, time),
            "length": length,
            **own,
        }
        scanned, steps = made.native_loop()
        inputs = [given[n] for n in made.signature.input_names]
        records: list[Where] = [(self.tried[n], "st") for n in ("q", "qd", "tau")]
        finals: list[Where] = [(self.last[n], "s") for n in ("q", "qd", "total")]
        self.kept += [steps, scanned, *inputs]
        ports = [*inputs, *records, *finals]
        return self._bound(scanned.block, ctypes.addressof(steps), ports)

    def _call(
        self, function: Function, given: Mapping[str, Where], found: Mapping[str, Where]
    ) -> int:
        """Return the address of a call."""
        calls = calls_of(compilation_of(function))
        loaded = calls.loaded("batch")
        ports = [given[n] for n in calls.signature.input_names]
        ports += [found[n] for n in calls.signature.output_names]
        self.kept += [calls, loaded, *ports]
        return self._bound(loaded.block, 0, ports)

    def _bound(self, kernel: Words, loop: int, ports: Sequence[Where]) -> int:
        """Return the address of a call: a kernel, its time loop and its arrays."""
        template: list[int] = []
        offsets: list[int] = []
        for array, axes in ports:
            steps = dict(zip(axes, array.strides, strict=False))
            lane = steps.get("s", steps.get("g", 0))
            template += [array.ctypes.data, 8, lane, steps.get("t", 0)]
            offsets.append(steps.get("p", steps.get("g", 0)))
        views = [0] * len(template)
        addresses = (self._keep(words(x)) for x in (template, offsets, views))
        failed = ctypes.addressof(self.failed)
        block = [ctypes.addressof(kernel), loop, len(ports), *addresses, failed]
        assert len(block) == len(Call)
        return self._keep(words(block))


def run_groups(
    space: Workspace, function: Any, groups: Sequence[tuple[int, int]], threads: int
) -> None:
    """Run a native function on groups of problems, on several threads."""
    blocks = space.blocks(max(1, min(threads, len(groups))))
    stop: list[None] = []

    def work(k: int) -> None:
        for first, count in groups[k :: len(blocks)]:
            if stop:
                return
            blocks[k].run(function, first, count)

    run_all([partial(work, k) for k in range(len(blocks))], stop)
