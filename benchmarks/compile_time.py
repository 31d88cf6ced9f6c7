"""How the time to compile grows with the program, and what a warm start takes.

    python benchmarks/compile_time.py [--quick] [--json] [--cassie cassie.xml]

Straight-line programs in steps of a few hundred operations, like those of a sweep over
bodies. The promises: time grows no faster than operations^1.15; a cached kernel of
20,000 operations loads in at most 50 ms and at most 1/10 of its compile time.

Steps of robots, one state, without the cache: what is repeated in them is called, not
written out. The promises: `linearize` with rk4 takes at most twice as long as with
semi-implicit Euler, a step with rk4 at most 1.4 times.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings

import numpy as np
from machine import options, report
from robots import sources

import ramidyn
from ramidyn.cli.arguments import RobotFile
from ramidyn.symbolic.expr import region

SLOPE, LOAD_SECONDS, LOAD_RATIO = 1.15, 0.050, 0.1
LINEARIZED_RATIO, STEP_RATIO = 2.0, 1.4


def program(operations: int):
    """Return a function of about so many operations: rotations and products of six."""

    def steps(x):
        rng = np.random.default_rng(0)
        y, made, k = list(x[:6]), 0, 0
        while made < operations:
            region(f"step {k}")
            c, s = x[6 + k % 6] * 0.1, x[12 + k % 6] * 0.1
            for _ in range(10):
                for i in range(6):
                    j, m = (i + 1) % 6, (i + 2) % 6
                    a, b = rng.uniform(-0.3, 0.3, 2)
                    y[i] = c * y[i] - s * y[j] + a * y[m] + b * (y[i] * y[j])
                    made += 8
            k += 1
        return np.array(y)

    return steps


def compile_once(operations: int) -> tuple[int, float]:
    """Return the operations and the seconds from the Python function to native code."""
    start = time.perf_counter()
    f = ramidyn.kernel(program(operations), {"x": 18}, name=f"steps{operations}")
    f.prepare(single=False)
    return f.ops.total, time.perf_counter() - start


def growth(sizes: list[int]) -> dict[str, object]:
    """Return the time for each size, without the cache, and the slope of its log."""
    os.environ["RAMIDYN_CACHE_DIR"] = "off"
    compile_once(2000)
    rows = [compile_once(n) for n in sizes]
    ops, seconds = np.array(rows).T
    slope = float(np.polyfit(np.log(ops), np.log(seconds), 1)[0])
    return {
        "operations": ops.tolist(),
        "seconds": seconds.tolist(),
        "us_per_operation": (seconds / ops * 1e6).tolist(),
        "slope": slope,
        "kept": slope <= SLOPE,
    }


def warm_start(operations: int) -> dict[str, object]:
    """Return the compile time and, from the cache, the load time of one kernel."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAMIDYN_CACHE_DIR"] = folder
        cold = ramidyn.kernel(program(operations), {"x": 18}).prepare(single=False)
        traced = ramidyn.kernel(program(operations), {"x": 18})
        start = time.perf_counter()
        traced.prepare(single=False)
        load = time.perf_counter() - start
        assert traced.cached
    return {
        "operations": cold.ops.total,
        "compile_seconds": cold.compile_seconds,
        "load_seconds": load,
        "kept": load <= LOAD_SECONDS and load <= LOAD_RATIO * cold.compile_seconds,
    }


def steps_of_robots(names: list[str], cassie: str | None) -> list[dict[str, object]]:
    """Return the compile times of a step and of its derivatives."""
    os.environ["RAMIDYN_CACHE_DIR"] = "off"
    files = sources(names)
    if cassie is not None:
        files["cassie"] = RobotFile(cassie)
    rows: list[dict[str, object]] = []
    for name, file in files.items():
        for integrator in ("semi_implicit_euler", "rk4"):
            seconds = {
                what: compile_step(file, integrator, what)
                for what in ("linearize", "rollout")
            }
            rows.append({"robot": name, "integrator": integrator, **seconds})
    return rows


def compile_step(file: RobotFile, integrator: str, what: str) -> float:
    """Return the seconds from a loaded robot to the first result of one state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = file.load()
        q, zero = robot.neutral(), np.zeros(robot.nv)
        if robot.loops:
            q = robot.assemble(q)
        start = time.perf_counter()
        if what == "linearize":
            robot.linearize(q, zero, zero, 1e-3, integrator=integrator)
        else:
            robot.rollout(q, dt=1e-3, steps=1, integrator=integrator)
        return time.perf_counter() - start


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--cassie", help="an MJCF file of a robot with loops")
    args = parser.parse_args()
    sizes = (
        [5_000, 10_000, 20_000]
        if args.quick
        else [5_000, 20_000, 70_000, 200_000, 700_000]
    )
    robots = ["xarm7"] if args.quick else ["xarm7", "go2", "humanoid30", "talos"]
    result = {
        "growth": growth(sizes),
        "warm_start": warm_start(20_000),
        "steps": steps_of_robots(robots, args.cassie),
    }
    report(result, args.json)
    if args.json:
        return
    g, w = result["growth"], result["warm_start"]
    print(f"{'operations':>12s}{'seconds':>10s}{'us each':>10s}")
    for row in zip(g["operations"], g["seconds"], g["us_per_operation"], strict=True):
        print("{:12,.0f}{:10.2f}{:10.1f}".format(*row))
    print(f"time grows as operations^{g['slope']:.3f} (promise: at most {SLOPE})")
    print(
        f"{w['operations']:,} operations: compiled in {w['compile_seconds']:.2f} s, "
        f"loaded from the cache in {w['load_seconds'] * 1e3:.1f} ms"
    )
    print(f"\n{'robot':12s}{'integrator':>22s}{'linearize':>12s}{'rollout':>10s} [s]")
    for row in result["steps"]:
        print(
            f"{row['robot']:12s}{row['integrator']:>22s}"
            f"{row['linearize']:12.2f}{row['rollout']:10.2f}"
        )
    print(
        f"promises: rk4 at most {LINEARIZED_RATIO} and {STEP_RATIO} times "
        "semi-implicit Euler"
    )


if __name__ == "__main__":
    main()
