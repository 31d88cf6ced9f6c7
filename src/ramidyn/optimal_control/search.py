"""A search for plans in native code: its kernels, its arrays and its blocks."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, final

import numpy as np

from ramidyn.backend.calls.runnable import run_all
from ramidyn.backend.planning.blocks import (
    KNOT,
    SUMS,
    Copy,
    KernelCall,
    Recursion,
    RiccatiSizes,
    Search,
    knot_word,
)
from ramidyn.backend.runtime.memory_layout import LINE, WORD, Kernel, Words, words
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


def _at(axes: str, arrays: Mapping[str, Array]) -> dict[str, Where]:
    """Return arrays with the same first axes."""
    return {name: (array, axes) for name, array in arrays.items()}


@final
class PlanningKernels:
    """What is compiled for a problem."""

    def __init__(self, problem: PlanningProblem, steps: int) -> None:
        robot, inputs = problem.robot, dict(problem.inputs)
        nq, nv, sizes = robot.nq, robot.nv, problem.sizes
        self.problem, self.steps = problem, steps
        self._memory: list[Array] = []

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
        outputs = dict(compilation_of(self.derivatives).outputs)
        varying = outputs["lxx"][0] if "lxx" in outputs else 0
        self.begin, self.iterate = functions(replace(sizes, varying=varying))

    def keep_memory(self, kernel: Words) -> None:
        """Give a kernel memory for the workspaces of all its tiles."""
        # One to spare: see `run_groups`.
        size = (kernel[Kernel.TILES] + 1) * kernel[Kernel.BYTES] + LINE
        if kernel[Kernel.KEPT_BYTES] < size:
            memory = np.zeros(-(-size // WORD))
            self._memory.append(memory)  # as long as the kernel
            kernel[Kernel.KEPT] = memory.ctypes.data
            kernel[Kernel.KEPT_BYTES] = size


def functions(sizes: RiccatiSizes) -> tuple[Any, Any]:
    """Return ``begin`` and ``iterate`` for problems of a size."""
    from ramidyn.backend.llvm.build import load_functions  # noqa: PLC0415 (llvmlite only where used)

    names, write = ["begin", "iterate"], partial(_iteration_ir, sizes)
    begin, iterate = load_functions(write, names, f"planning {sizes!r}")
    return Run(begin), Run(iterate)


def _iteration_ir(sizes: RiccatiSizes) -> str:
    from ramidyn.backend.planning.iteration_code import emit  # noqa: PLC0415  not from the cache

    return str(emit(sizes).llvm)


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
        self.failed, self.kept = words([0]), list[object]()
        self.scratch = np.zeros(sizes.scratch_size)
        knots = dict(compilation_of(kernels.derivatives).outputs)
        knots["policy"] = (sizes.m, sizes.nx)
        self.local = {n: np.zeros((steps, *shape)) for n, shape in knots.items()}
        rows = {"q": robot.nq, "qd": robot.nv, "tau": robot.nv}
        self.tried = {n: np.zeros((GROUP, steps, x)) for n, x in rows.items()}
        self.reached = {n: np.zeros((GROUP, rows[n])) for n in ("q", "qd")}
        self.costs = {n: np.zeros(GROUP) for n in ("total", "last")}
        found = dict.fromkeys(Search, 0)
        found |= {Search.STEPS: steps, Search.LENGTHS: GROUP}
        found[Search.IS_BATCH] = space.batch > 1
        found |= self._calls() | self._tables()
        found[Search.RECURSION] = self._recursion()
        self.block: Words = words([found[w] for w in Search])

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

    def _calls(self) -> dict[Search, int]:
        """Return the addresses of all calls."""
        space, kernels, call = self.space, self.space.kernels, self._call
        numbers, sums = _at("g", space.state), self._of_scratch("sums")
        one, group = (_at(axis, space.inputs) for axis in "pg")
        after = {"q_next": space.q[:, 1:], "qd_next": space.qd[:, 1:]}
        motion = {"q": space.q, "qd": space.qd, "tau": space.tau, **after}
        end = _at("p", {"q": space.q[:, -1], "qd": space.qd[:, -1]})
        known = {n: sums[k:] for k, n in enumerate((*SUMS, "failed_recursion"))}
        given = {**numbers, **_at("", {**known, "tolerance": space.tolerance})}
        reached, costs = _at("s", self.reached), _at("s", self.costs)
        each = _at("s", {n: x[:, None] for n, x in self.costs.items()})
        lengths = np.array(STEP_LENGTHS)
        value = _at("", {"V": self._of_scratch("V")})
        return {
            Search.DERIVATIVES: call(
                kernels.derivatives, {**_at("ps", motion), **one}, _at("s", self.local)
            ),
            Search.END: call(kernels.end, {**end, **one}, value),
            Search.DECIDE: call(kernels.decide, given, numbers),
            Search.FIRST_ROLLOUT: self._rollout("g", (np.zeros(1), "")),
            Search.ROLLOUT: self._rollout("g", (np.ones(1), "")),
            Search.ROLLOUT_LENGTHS: self._rollout("p", (lengths, "s")),
            Search.FINAL_COST: call(kernels.last_cost, {**reached, **group}, costs),
            Search.FINAL_LENGTHS: call(kernels.last_cost, {**reached, **one}, costs),
            Search.TAKE_FIRST: call(kernels.take_first, each, numbers),
            Search.TAKE_FULL: call(kernels.take_full, {**numbers, **each}, numbers),
            Search.TAKE_BEST: call(
                kernels.take_best, {**numbers, **_at("", self.costs)}, numbers
            ),
        }

    def _tables(self) -> dict[Search, int]:
        """Return the addresses of numbers and of copies."""
        space, local = self.space, self.local
        motion = {"q": space.q[:, 1:], "qd": space.qd[:, 1:], "tau": space.tau}
        found = {
            Search.SUMS: self._of_scratch("sums").ctypes.data,
            Search.DONE: space.state["done"].ctypes.data,
            Search.GOES: space.state["goes"].ctypes.data,
            Search.ROW: space.state["row"].ctypes.data,
            Search.IS_SOUND: space.state["sound"].ctypes.data,
            Search.DAMPING: space.state["damping"].ctypes.data,
        }
        copies = {
            Search.MOTION: [(x, self.tried[n]) for n, x in motion.items()],
            Search.POLICY: [(space.policy, local["policy"][None])],
            Search.GAPS: [(space.gap, local[n][None]) for n in local if n == "gap"],
        }
        for word, pairs in copies.items():
            found |= {word: self._copies(pairs), Search(word + 1): len(pairs)}
        return found

    def _copies(self, pairs: Sequence[tuple[Array, Array]]) -> int:
        """Return the address of copies from what was tried to problems."""
        entries: list[int] = []
        for target, source in pairs:
            row = {
                Copy.TARGET: target.ctypes.data,
                Copy.PER_PROBLEM: target.strides[0],
                Copy.SOURCE: source.ctypes.data,
                Copy.PER_ROW: source.strides[0],
                Copy.BYTES: source[0].nbytes,
            }
            entries += [row[w] for w in Copy]
        return self._keep(words(entries))

    def _keep(self, block: Words) -> int:
        self.kept.append(block)
        return ctypes.addressof(block)

    def _recursion(self) -> int:
        """Return the address of the block of the Riccati recursion."""
        kernels, of = self.space.kernels, self._of_scratch
        block = words([0] * (len(Recursion) + 2 * len(KNOT)))
        block[Recursion.STEPS] = kernels.steps
        block[Recursion.SCRATCH] = self.scratch.ctypes.data
        constants = {n: x[None] for n, x in kernels.problem.constants.items()}
        for name, array in {**constants, **self.local}.items():
            block[knot_word(name)] = array.ctypes.data
            block[knot_word(name) + 1] = array.strides[0] * (len(array) > 1)
        if kernels.box is not None:
            given = _at("", {n: of(n) for n in ("Quu", "Qu", "damping")})
            # what counts problems elsewhere counts knots here
            given |= _at("p", {n: self.local[n] for n in ("low", "high")})
            found = _at("", {n: of(n) for n in ("k", "free")})
            block[Recursion.BOX] = self._call(kernels.box, given, found)
        return self._keep(block)

    def _rollout(self, axis: str, length: Where) -> int:
        """Return the call of rollouts of a group, or of all step lengths."""
        space, made = self.space, self.space.kernels.rollout
        old = {"q_old": space.q, "qd_old": space.qd, "tau_old": space.tau}
        old |= {"policy": space.policy, "gap": space.gap}
        first = {"q": space.q[:, 0], "qd": space.qd[:, 0], **space.inputs}
        given = {**_at(axis + "t", old), **_at(axis, first), "length": length}
        given["total"] = (np.zeros(1), "")
        scanned, steps = made.native_loop()
        ports = [given[n] for n in made.signature.input_names]
        ports += [(self.tried[n], "st") for n in ("q", "qd", "tau")]
        ports += [(x, "s") for x in (*self.reached.values(), self.costs["total"])]
        self.kept += [scanned, *ports]
        return self._bound(scanned.block, self._keep(steps), ports)

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
        self.space.kernels.keep_memory(kernel)
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
        assert len(block) == len(KernelCall)
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
