"""What memory for new results costs: large batches with and without ``out=``.

    python benchmarks/new_results.py [--quick] [--json]

Mass matrices and derivatives of forward dynamics, by state, one core, in turns, medians
of the time of two calls. "kept": the caller has the last result until the next one is
there, as a loop with ``M = robot.mass_matrix(q)`` does.

The promise: at most 1.3 times the time with ``out=``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import options, report
from robots import sources

import ramidyn
from ramidyn.cli.selfcheck import state_of

MOST = 1.3
QUANTITIES: Any = {
    "mass_matrix": ramidyn.mass_matrix,
    "forward_dynamics_derivatives": ramidyn.forward_dynamics_derivatives,
}


def measured(robot: Any, name: str, batch: int, repeats: int) -> dict[str, Any]:
    """Return microseconds by state."""
    f: Any = ramidyn.compile(QUANTITIES[name], robot)
    state = state_of(robot, batch, np.random.default_rng(0))
    given = [getattr(state, v.name) for v in f.program.inputs]
    out, last = f(*given), [None]

    def keep() -> None:
        last[0] = f(*given)

    runs: dict[str, Callable[[], object]] = {
        "out": lambda: f(*given, out=out),
        "new": lambda: f(*given),
        "kept": keep,
    }
    seconds: dict[str, list[float]] = {n: [] for n in runs}
    for k in range(repeats + 1):
        for way, run in runs.items():
            begin = time.perf_counter()
            run()
            run()
            if k:
                seconds[way].append((time.perf_counter() - begin) / 2 / batch)
    found = {n: 1e6 * float(np.median(x)) for n, x in seconds.items()}
    return {"quantity": name, "batch": batch, **found}


def main() -> None:
    chosen = options(__doc__).parse_args()
    found = sources(["talos"])
    source = found.get("talos")
    robot = ramidyn.robots.humanoid30() if source is None else source.load()
    batches, repeats = ((64,), 2) if chosen.quick else ((512, 4096), 15)
    rows: list[dict[str, Any]] = []
    for name in QUANTITIES:
        for batch in batches:
            r = measured(robot, name, batch, repeats)
            rows.append(r)
            if not chosen.json:
                new, kept = (r[n] / r["out"] for n in ("new", "kept"))
                print(
                    f"{robot.name}, {name}, {batch:,} states: {r['out']:.2f} us with "
                    f"out=, {r['new']:.2f} without ({new:.2f} x, {MOST:g} promised), "
                    f"{r['kept']:.2f} while the last is kept ({kept:.2f} x)",
                    flush=True,
                )
    report({"robot": robot.name, "rows": rows}, chosen.json)


if __name__ == "__main__":
    main()
