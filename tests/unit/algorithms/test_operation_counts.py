"""Operation counts, pinned: of the papers' robots beside the published ones, and of
the shared robots after each pass. ``--update-golden --slow`` writes the tables anew."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ramidyn.algorithms.ltdl import ltdl, solve
from ramidyn.catalog.paper_robots import chain30, humanoid30
from ramidyn.quantities import dynamics, mass_matrix
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.chooser import algorithm_of
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Quantity
from ramidyn.tree.model import with_placed_frames
from ramidyn.tree.parameters import regroup
from support.paths import GOLDENS
from support.references import MJCFS, URDFS, loaded, needs_shared_robots

PUBLISHED = {
    ("humanoid30", "inverse_dynamics"): (2275, 1996),
    ("humanoid30", "mass_matrix"): (2475, 2124),
    ("humanoid30", "forward_dynamics(algorithm='aba')"): (5544, 5054),
    ("chain30", "inverse_dynamics"): (2263, 1972),
    ("chain30", "mass_matrix"): (6462, 4419),
    ("chain30", "forward_dynamics(algorithm='aba')"): (5346, 4883),
}
"""Featherstone 2005, section 6: (multiplications and divisions, additions)"""
QUANTITIES = {
    str(q): q
    for q in (
        dynamics.inverse_dynamics,
        mass_matrix.mass_matrix,
        dynamics.forward_dynamics(algorithm="aba"),
    )
}
PAPERS = {"humanoid30": humanoid30, "chain30": chain30}
SHARED_COUNTS = GOLDENS / "counts_robots.txt"
LARGE = ("baxter", "pr2", "g1_with_hands", "shadow_hand", "tiago", "robot_soccer_kit")
"""shared robots that take as long as all others"""


@cache
def stages(robot: Robot, quantity: Quantity) -> dict[str, Ops]:
    """Return the operations as in the file, and after each pass."""
    file, moved = robot.model, with_placed_frames(robot.model)
    variants = {
        "file": (file, file.tree),
        "placed": (moved, moved.tree),
        "regrouped": (moved, regroup(moved.tree, "qd" in quantity.input_shapes(moved))),
    }
    out: dict[str, Ops] = {}
    for name, (model, tree) in variants.items():
        shapes = quantity.input_shapes(model)

        def traced(*symbols, model=model, tree=tree, shapes=shapes):
            inputs = dict(zip(shapes, symbols, strict=True))
            context = Context(model, robot.conventions, inputs, algorithm_of)
            context.__dict__["_trees"] = (model.tree, tree)
            return quantity.of(context)

        program = trace(traced, shapes)
        out[name] = count(program)
    out["simplified"] = count(simplify(program))
    return out


def factor_programs(robot: Robot) -> tuple[Program, Program]:
    """Return LTDL of the mass matrix, and the solution of one system with it."""
    parents = robot.tree.dof_parents
    n = len(parents)

    def entries(H):
        return {
            (i, j): H[i, j]
            for i in range(n)
            for j in range(i + 1)
            if i == j or j in _above(parents, i)
        }

    def factor(H):
        L, D = ltdl(entries(H), parents)
        return [*L.values(), *D.values()]

    def solved(H, b):
        L = entries(H)
        D = {k: L.pop((k, k)) for k in range(n)}
        x = solve(L, D, dict(enumerate(b)), parents)
        return [x[k] for k in range(n)]

    return trace(factor, {"H": (n, n)}), trace(solved, {"H": (n, n), "b": n})


def _above(parents, i: int) -> set[int]:
    out: set[int] = set()
    while (i := parents[i]) >= 0:
        out.add(i)
    return out


@pytest.mark.parametrize(("robot", "quantity"), PUBLISHED)
def test_counts_are_at_or_below_the_published_ones(robot: str, quantity: str) -> None:
    mul, add = PUBLISHED[robot, quantity]
    ops = stages(_paper(robot), QUANTITIES[quantity])["simplified"]
    assert ops.mul + ops.div <= mul
    assert ops.add <= add


def test_ltdl_of_the_humanoid_costs_what_is_published() -> None:
    factor, solved = factor_programs(_paper("humanoid30"))
    ops = count(factor)
    assert (ops.mul + ops.div, ops.add) == (1258, 1039)
    ops = count(solved)
    assert (ops.mul + ops.div, ops.add) == (468, 438)


@cache
def _paper(name: str) -> Robot:
    made = PAPERS[name]("general")
    return made if isinstance(made, Robot) else Robot.from_description(made)


def head() -> list[str]:
    stages = ("file", "placed", "regrouped", "simplified")
    columns = "".join(f"{h:>18s}" for h in stages)
    return [
        "# m = multiplications and divisions, a = additions, after each pass",
        f"{'robot':18s}{'quantity':36s}{columns}",
    ]


def rows(name: str, robot: Robot) -> list[str]:
    """Return a line per quantity: the counts after each pass."""
    lines: list[str] = []
    for label, quantity in QUANTITIES.items():
        counts = stages(robot, quantity)
        cells = [f"{c.mul + c.div}m + {c.add}a" for c in counts.values()]
        row = "".join(f"{cell:>18s}" for cell in cells)
        lines.append(f"{name:18s}{label:36s}{row}")
    ops = count(factor_programs(robot)[0])
    lines.append(f"{name:18s}{'ltdl':36s}{f'{ops.mul + ops.div}m + {ops.add}a':>72s}")
    return lines


def update(golden: Path, robots: dict[str, Robot]) -> None:
    lines = [*head(), *(row for item in robots.items() for row in rows(*item))]
    golden.write_text("\n".join(lines) + "\n", encoding="utf-8")


def pinned(golden: Path, name: str) -> list[str]:
    """Return the lines of a table about one robot."""
    lines = golden.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == head()
    return [line for line in lines if line.split()[0] == name]


@pytest.mark.parametrize("name", PAPERS)
def test_counts_of_the_papers_robots_are_pinned(name: str, update_golden: bool) -> None:
    golden = GOLDENS / "counts_papers.txt"
    if update_golden:
        update(golden, {n: _paper(n) for n in PAPERS})
    assert rows(name, _paper(name)) == pinned(golden, name)


def test_the_counts_have_lines_for_every_shared_robot(update_golden: bool) -> None:
    if update_golden:
        update(SHARED_COUNTS, {n: _tree(n) for n in (*URDFS, *MJCFS)})
    for name in (*URDFS, *MJCFS):
        assert len(pinned(SHARED_COUNTS, name)) == len(QUANTITIES) + 1


@needs_shared_robots
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow if n in LARGE else ())
        for n in (*URDFS, *MJCFS)
    ],
)
def test_counts_of_the_shared_robots_are_pinned(name: str) -> None:
    assert rows(name, _tree(name)) == pinned(SHARED_COUNTS, name)


def _tree(name: str) -> Robot:
    """The shared robot of that name without its loops."""
    robot = loaded(name)[0]
    return Robot(replace(robot.model, loops=()), robot.conventions)


@pytest.mark.parametrize("name", PAPERS)
def test_no_pass_makes_general_robots_dearer(name: str) -> None:
    for quantity in QUANTITIES.values():
        costs = [ops.cost for ops in stages(_paper(name), quantity).values()]
        assert np.all(np.diff(costs) <= 0)
