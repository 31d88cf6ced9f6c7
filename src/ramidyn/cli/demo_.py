"""``ramidyn demo``: compile, check and time a built-in humanoid."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from ramidyn.cli.arguments import RobotFile
from ramidyn.cli.check_ import own_rows
from ramidyn.cli.info_ import show_robot
from ramidyn.cli.screen import (
    best_of,
    call_time,
    console,
    json_option,
    machine_line,
    paragraph,
    print_json,
    progress,
    table,
)
from ramidyn.cli.selfcheck import errors_of, state_of
from ramidyn.compilation import Request
from ramidyn.function import Function
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import Choice
from ramidyn.view.blocks import seconds

QUANTITIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
BATCH = 4096


@click.command("demo")
@click.option("--quick", is_flag=True, help="Shorter timing.")
@json_option
def command(quick: bool, as_json: bool) -> None:
    """Compile a humanoid, check it and time it; no file needed."""
    duration = 0.05 if quick else 0.5
    robot = RobotFile("humanoid30").load()
    rows: list[dict[str, Any]] = []
    with progress(2 * len(QUANTITIES) + 1) as step:
        for name in QUANTITIES:
            step(f"compiling {name}")
            f: Function = getattr(robot, name).prepare()
            rows.append(_count_operations(name, f))
        step("checking")
        checks = own_rows(errors_of(robot, 64, np.random.default_rng(0)))
        for row in rows:
            step(f"timing {row['name']}")
            row.update(_time_calls(robot, row["name"], duration))
    (choice,) = Request(forward_dynamics, robot).choose().choices
    ok = all(c.holds for c in checks)
    if as_json:
        found = {c.quantity: c.error for c in checks}
        data = {"robot": robot.name, "nv": robot.nv, "rows": rows, "errors": found}
        print_json({**data, "machine": machine_line(), "ok": ok})
    else:
        _show(robot, rows, choice)
        for c in checks:
            mark = "[green]ok[/]" if c.holds else "[bold red]WRONG[/]"
            console().print(f"  {mark}  {c.quantity}, error {c.error:.0e}")
        paragraph(f"\n{machine_line()}", "dim")
        console().print(
            "Next: ramidyn info, check, bench or explain, with a URDF or MJCF file."
        )
    if not ok:
        raise SystemExit(1)


def _count_operations(name: str, f: Function) -> dict[str, Any]:
    ops = f.ops
    return {
        "name": name,
        "mul": ops.mul + ops.div,
        "add": ops.add,
        "compile_seconds": f.compile_seconds,
        "cached": f.cached,
    }


def _time_calls(robot: Robot, name: str, duration: float) -> dict[str, float]:
    f: Function = getattr(robot, name)
    s = state_of(robot, BATCH, np.random.default_rng(0))
    inputs = [getattr(s, v.name) for v in f.program.inputs]
    one = [np.ascontiguousarray(x[0]) for x in inputs]
    out_one, out = f(*one), f(*inputs)
    batch = best_of(lambda: f(*inputs, out=out), duration)
    return {
        "call_seconds": call_time(lambda: f(*one, out=out_one), duration),
        "state_seconds": batch / BATCH,
    }


def _show(robot: Robot, rows: list[dict[str, Any]], choice: Choice) -> None:
    out = console()
    show_robot(robot)
    out.print()
    shown = [
        (
            r["name"],
            f"{r['mul']:,}",
            f"{r['add']:,}",
            "from cache" if r["cached"] else seconds(r["compile_seconds"]),
            seconds(r["call_seconds"]),
            seconds(r["state_seconds"]),
            f"{1e-6 / r['state_seconds']:.2f} M/s",
        )
        for r in rows
    ]
    columns = ("quantity", "mul", "add", "compiled in", "one call")
    columns = (*columns, "a state, batch of 4,096", "states")
    out.print(table("Compiled for this robot, one core", columns, shown))
    costs = ", ".join(f"{k} {v:,}" for k, v in choice.traced.items())
    paragraph(
        f"\nForward dynamics by {choice.algorithm}: the cheapest by count (as traced, "
        f"{costs}; in units of one multiplication)."
    )
