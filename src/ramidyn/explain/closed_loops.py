"""A mechanism with loops: its graph, spanning tree, cuts, and the steps of Alg-S.

What Negrut, Serban & Potra (1997) show for one vehicle in Figs. 3 and 4 and Tables 1 to
5, for any robot: the cut joints, the renumbering of Lemma 2, the nonzeros of T (Lemma
3), and the operations of each step, beside those of Gaussian elimination.
"""

# ruff: noqa: N803  the paper's letters

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.loops.counting import (
    STEPS,
    input_sizes,
    joint_formulation_counts,
    loopwise_counts,
    steps_up_to,
)
from ramidyn.algorithms.loops.cuts import CutJoint, cuts_of
from ramidyn.errors import printable
from ramidyn.kernels import kernel
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops
from ramidyn.tree.tree import ROOT, ancestors, renumbering, sparsity_pattern

MEANING = {
    "1": "M = LᵀDL",
    "2": "Lᵀ z = Q",
    "3.1": "Lᵀ T = Jᵀ",
    "3.2": "r = −γ − Tᵀ D⁻¹ z",
    "3.3": "G = Tᵀ D⁻¹ T",
    "3.4": "G λ = r",
    "3.5": "y = z + T λ",
    "4": "L q̈ = D⁻¹ y",
}
"""the steps of Alg-S, as we take them"""
BATCH = 2048
DURATION = 0.5
"""[s] of timing all steps"""


@final
@dataclass(frozen=True, slots=True)
class CutLoop:
    """A joint that was cut to leave a tree."""

    name: str
    type: str
    bodies: tuple[str, str]
    rows: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoops:
    """The loops of a mechanism, and what solving for them costs; print it."""

    robot: str
    edges: tuple[tuple[str, str, str], ...]
    """of the spanning tree: parent, body, kind of joint"""
    cuts: tuple[CutLoop, ...]
    parents: tuple[int, ...]
    """of the degrees of freedom"""
    columns: tuple[tuple[int, ...], ...]
    """degrees of freedom where each row of J is not zero"""
    order: tuple[str, ...]
    """bodies renumbered by Lemma 2, leaves first"""
    steps: dict[str, Ops]
    """of Alg-S by name, and the total"""
    loopwise: Ops
    """the same solution loop by loop, as we compile it where that is cheaper"""

    @property
    def n(self) -> int:
        """Degrees of freedom of the tree."""
        return len(self.parents)

    @property
    def m(self) -> int:
        """Rows of constraints."""
        return len(self.columns)

    @property
    def gauss(self) -> int:
        """Operations of Gaussian elimination of all n + m equations."""
        n = self.n + self.m
        return 2 * (n * (n - 1) * (2 * n - 1) // 6 + n * (n - 1)) + n * (n + 1) // 2

    @property
    def reached(self) -> tuple[tuple[int, ...], ...]:
        """Nonzeros of each column of T: the ancestors of a row's own (Lemma 3)."""
        return tuple(
            tuple(sorted({i for k in row for i in (k, *ancestors(self.parents, k))}))
            for row in self.columns
        )

    def pattern(self) -> npt.NDArray[np.bool_]:
        """Return where [M Jᵀ; J 0] can be nonzero, (n + m, n + m)."""
        n = self.n
        found = np.zeros((n + self.m, n + self.m), dtype=bool)
        found[:n, :n] = sparsity_pattern(self.parents)
        for r, row in enumerate(self.columns):
            found[n + r, list(row)] = found[list(row), n + r] = True
        return found

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return the steps with their operations: name, meaning, m, a, d."""
        return [
            (f"step {s}", MEANING[s], f"{o.mul:,}", f"{o.add:,}", f"{o.div:,}")
            for s, o in self.steps.items()
            if s in MEANING
        ]

    def __str__(self) -> str:
        entries = sum(map(len, self.reached))
        lines = [
            f"{self.robot}: {len(self.edges)} bodies, {self.n} coordinates, "
            f"{len(self.cuts)} cuts with {self.m} rows",
            "cut joints:",
            *(
                f"  {c.name} ({c.type}, {c.rows} row{'s' * (c.rows > 1)}): "
                f"{c.bodies[0]} - {c.bodies[1]}"
                for c in self.cuts
            ),
            f"renumbered, leaves first: {', '.join(self.order)}",
            f"T has {entries} nonzeros of {self.n * self.m}",
            *(
                f"  {name:9} {meaning:22} {m:>7}m {a:>7}a {d:>5}d"
                for name, meaning, m, a, d in self.rows()
            ),
            f"all {self.steps['Total'].total:,}, loop by loop {self.loopwise.total:,}, "
            f"Gauss {self.gauss:,} operations",
        ]
        return printable("\n".join(lines))


def explain_loops(robot: Robot) -> ClosedLoops:
    """Return the loops of a robot, and what solving for them costs by step."""
    tree = robot.tree
    parents = tree.dof_parents
    columns = columns_of(robot)
    cuts = [
        CutLoop(cut.name, cut.type, _bodies(robot, cut), len(cut.rows))
        for cut in cuts_of(robot.model)
    ]
    edges = tuple(
        (
            "world" if p == ROOT else tree.name(p),
            tree.name(i),
            tree.bodies[i].joint.type.name,
        )
        for i, p in tree
    )
    return ClosedLoops(
        robot.name,
        edges,
        tuple(cuts),
        tuple(parents),
        tuple(map(tuple, columns)),
        tuple(tree.name(i) for i in renumbering(tree.parents)),
        joint_formulation_counts(parents, columns),
        loopwise_counts(parents, columns),
    )


def columns_of(robot: Robot) -> list[list[int]]:
    """Return the degrees of freedom of each row of J, by the topology alone."""
    tree = robot.tree
    columns: list[list[int]] = []
    for cut in cuts_of(robot.model):
        path = set(_support(robot, cut.a)) ^ set(_support(robot, cut.b))
        path |= set(cut.coupled)
        row = sorted(k for i in path for k in tree.dofs[i])
        columns += [row] * len(cut.rows)
    return columns


def _support(robot: Robot, body: int) -> tuple[int, ...]:
    return () if body == ROOT else robot.tree.support(body)


def _bodies(robot: Robot, cut: CutJoint) -> tuple[str, str]:
    ends = cut.coupled if cut.coupled else (cut.a, cut.b)
    first, last = ends[0], ends[-1]
    return robot.tree.name(first), robot.tree.name(last)


def step_times(
    found: ClosedLoops, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the time of each step of Alg-S [s], compiled, one state of a batch.

    The first steps are compiled together, then one more, and so on: a step takes the
    difference, which is noisy for short ones (and never below zero).
    """
    rng = np.random.default_rng(0)
    sizes = input_sizes(found.parents, found.columns)
    inputs = {
        name: rng.uniform(-0.1, 0.1, size=(BATCH, n)) for name, n in sizes.items()
    }
    at = 0
    for k in range(found.n):
        inputs["M"][:, at] += found.n
        at += 1 + len(tuple(ancestors(found.parents, k)))
    inputs["J"] += 1.0
    runs: list[Callable[[], object]] = []
    for last in range(len(STEPS)):
        run = steps_up_to(last, found.parents, found.columns)

        def traced(M: Any, J: Any, Q: Any, gamma: Any, run: Any = run) -> Any:
            return np.array(run(M, J, Q, gamma), dtype=object)

        f = kernel(traced, sizes, name=f"steps_to_{last}")
        out = f(*inputs.values())

        def again(f: Any = f, out: Any = out) -> None:
            f(*inputs.values(), out=out)

        runs.append(again)
    totals = _shortest(runs, clock)
    before = [0.0, *totals[:-1]]
    found_times = [max(b - a, 0.0) / BATCH for a, b in zip(before, totals, strict=True)]
    return {**dict(zip(STEPS, found_times, strict=True)), "Total": totals[-1] / BATCH}


def _shortest(
    runs: Sequence[Callable[[], object]], clock: Callable[[], float]
) -> list[float]:
    """Return the shortest time of each; they take turns, so all see the same load."""
    shortest, end = [float("inf")] * len(runs), clock() + DURATION
    while clock() < end or float("inf") in shortest:
        for k, run in enumerate(runs):
            start = clock()
            run()
            shortest[k] = min(shortest[k], clock() - start)
    return shortest
