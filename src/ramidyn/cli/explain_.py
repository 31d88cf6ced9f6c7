"""``ramidyn explain``: why a robot's code is as fast as it is."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from ramidyn.cli.arguments import (
    RobotFile,
    check_output,
    passive_option,
    robot_argument,
)
from ramidyn.cli.bench_ import QUANTITIES, our_times
from ramidyn.cli.screen import (
    console,
    json_option,
    machine_line,
    paragraph,
    print_json,
    progress,
    show_warnings,
    table,
)
from ramidyn.cli.selfcheck import state_of
from ramidyn.compiler import count
from ramidyn.errors import ModelError
from ramidyn.explain import Explanation, explain, page
from ramidyn.explain.closed_loops import step_times
from ramidyn.explain.crba_cost import CrbaCost
from ramidyn.explain.data import sentence
from ramidyn.explain.page import Timing, arithmetic
from ramidyn.explain.shape import TreeShape, envelope
from ramidyn.output_files import replaceable_file
from ramidyn.robot import Robot

BATCH = 4096
DURATION = 0.2
"""[s] of timing each quantity, as calls and as batches"""


@click.command("explain")
@robot_argument
@passive_option
@click.option("--frames", help="Also count operational inertias: hand,foot.")
@click.option(
    "--html", type=click.Path(dir_okay=False), help="Write a report with pictures."
)
@json_option
def command(
    robot: str, frames: str | None, html: str | None, as_json: bool, **options: str
) -> None:
    """Explain why it is this fast: sparsity, counts, choices.

    Counts are exact, and the same on every machine: multiplications, divisions and
    additions of one evaluation. A robot with loops is explained as its spanning tree,
    then by its cut joints and the steps that solve for them, and by how forward
    dynamics closes them. The report has times, too: for it, the dynamics are compiled
    and timed.
    """
    file = RobotFile(robot, **options)
    if html is not None:
        check_output(html, file.path)
        replaceable_file(html, "an HTML page")
    loaded = file.moving()
    names = [f.strip() for f in (frames or "").split(",") if f.strip()]
    with progress(6 if names else 5) as step:
        explained = explain(loaded, names, step)
    if html is not None:
        opened = explained.robot
        times = {} if explained.loops is None else step_times(explained.loops)
        text = page(explained, _times(opened), machine_line(), times)
        Path(html).write_text(text, encoding="utf-8")
    if as_json:
        print_json(explained.json())
        return
    show_warnings(loaded.warnings)
    _show(explained)
    if html is not None:
        console().print(f"\nreport: {html}", markup=False, soft_wrap=True)


def _times(robot: Robot) -> list[Timing]:
    """Time the dynamics; a quantity that the robot does not allow is left out."""
    found: list[Timing] = []
    with progress(len(QUANTITIES)) as step:
        for quantity in QUANTITIES:
            step(f"timing {quantity.name}")
            try:
                operations = arithmetic(count(quantity, robot))
                state = state_of(robot, BATCH, np.random.default_rng(0))
                timed = our_times(robot, quantity.name, state, DURATION)
            except ModelError:  # a singular mass matrix: no forward dynamics
                continue
            found.append(Timing(quantity.name, operations, **timed))
    return found


def _crba_rows(crba: CrbaCost) -> list[tuple[str, str, str]]:
    """Return the numbers of CRBA's cost analysis that depend on branches."""
    rows: list[tuple[str, str, str]] = []
    for kind, words in CRBA_NODES.items():
        ours, chain = (
            f"{getattr(c, 'D0' + kind)}, {getattr(c, 'D1' + kind)}"
            for c in (crba, crba.chain)
        )
        rows.append((f"D0{kind}, D1{kind}: {words}", ours, chain))
    costs = [f"{c.cost.mul:,}m + {c.cost.add:,}a" for c in (crba, crba.chain)]
    rows.append(("CRBA by formula", costs[0], costs[1]))
    return rows


CRBA_NODES = {"a": "DH nodes", "b": "other nodes", "c": "DH nodes at a floating base"}


def _bounds(s: TreeShape, k: int) -> tuple[str, str]:
    """Return the bounds of D1 (k = 0) or D2, for the robot and for one chain."""
    pairs = (f"{t.bounds['n'][k]:,}, {t.bounds['depth'][k]:,}" for t in (s, s.chain))
    first, last = pairs
    return first, last


def _show(e: Explanation) -> None:
    s, out = e.shape, console()
    rows = [
        ("entries of M that can be nonzero", f"{s.nonzeros:,}", f"{s.n**2:,}"),
        ("D0, of bodies", f"{e.crba.D0:,}", f"{e.crba.chain.D0:,}"),
        ("D1", f"{s.d1:,}", f"{s.chain.d1:,}"),
        ("D2", f"{s.d2:,}", f"{s.chain.d2:,}"),
        *_crba_rows(e.crba),
        ("factor M, D1 + 2 D2", f"{s.factor_cost:,}", f"{s.chain.factor_cost:,}"),
        ("solve, 4 D1 + n", f"{s.solve_cost:,}", f"{s.chain.solve_cost:,}"),
        ("density α; α²", f"{s.density:.2f}; {s.density**2:.2f}", "1; 1"),
        ("longest chain β; β²", f"{s.main_share:.2f}; {s.main_share**2:.2f}", "1; 1"),
        ("factor on 2 threads", f"{s.on_threads(2):,}", f"{s.chain.factor_cost:,}"),
        ("  a thread a branch", f"{s.critical_path:,}", f"{s.chain.factor_cost:,}"),
        ("bounds of D1: by n, by depth", *_bounds(s, 0)),
        ("bounds of D2: by n, by depth", *_bounds(s, 1)),
        ("zeros of M: branch", f"{e.zeros.branch:,}", "0"),
        ("  by joints; by inertias", f"{e.zeros.kinematic}; {e.zeros.inertia}", "-"),
        ("  at neutral q only", f"{e.zeros.coincidental:,}", "-"),
        ("envelope, as numbered", f"{envelope(s.pattern):,}", f"{s.chain.d1:,}"),
        ("envelope, leaves first", f"{envelope(s.permuted):,}", f"{s.chain.d1:,}"),
    ]
    title = f"{e.robot.name}: nv {e.robot.nv}, {len(e.robot.tree)} moving bodies"
    out.print(table(title, ("", "this robot", "one chain"), rows))
    out.print()
    names = [stage.name for stage in e.counts[0].stages]
    counted = [
        (name, *(f"{arithmetic(c.stages[k].ops):,}" for c in e.counts))
        for k, name in enumerate(names)
    ]
    chains = [f"{arithmetic(c.chain):,}" if c.chain else "-" for c in e.counts]
    counted.append(("same bodies, one chain", *chains))
    heads = ("operations after", *(c.name.split(", ")[1] for c in e.counts))
    out.print(table("What each algorithm costs, after each pass", heads, counted))
    out.print()
    for c in e.choices:
        paragraph(f"{c.quantity} by {sentence(c)}")
    for text in filter(None, (e.force_cost, e.closed_loops)):
        paragraph(text)
    if e.loops is not None:
        out.print()
        out.print(str(e.loops), markup=False, highlight=False)
