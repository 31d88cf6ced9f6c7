"""How run and compile time grow with the robot: chains, binary trees and swarms.

    python benchmarks/growth.py [--quick] [--json] [--plot FOLDER]

ABA, unrolled, of 10 to 1,000 bodies: seconds to trace and compile, microseconds per
state in a batch. LTDL of the stand-alone factorization, with its count D1 + 2 D2. The
promises: both times of ABA grow no faster than bodies^1.15; LTDL's as its count.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import best, options, report

import ramidyn
from ramidyn.catalog import paper_robots as robots
from ramidyn.explain.shape import TreeShape, family

SLOPE = 1.15
BATCH = 512
SIZES = {
    "chain": (10, 30, 100, 300, 1000),
    "binary tree": (15, 31, 127, 255, 1023),
    "swarm": (12, 30, 102, 300, 999),
}
QUICK = {"chain": (10, 20), "binary tree": (7, 15), "swarm": (6, 12)}
ARM = 3
"""bodies of one robot of the swarm"""


def robot_of(name: str, n: int) -> ramidyn.Robot:
    """Return a robot of n bodies."""
    if name == "swarm":
        arm = as_robot(robots.chain(ARM, "general"))
        whole = arm
        for k in range(1, n // ARM):
            whole = whole.attach(arm, "world", prefix=f"r{k}_")
        return whole
    make = {"chain": robots.chain, "binary tree": robots.binary_tree}[name]
    return as_robot(make(n, "general"))


def as_robot(made: Any) -> ramidyn.Robot:
    """Return the robot of a function of `ramidyn.robots`."""
    is_robot = isinstance(made, ramidyn.Robot)
    return made if is_robot else ramidyn.Robot.from_description(made)


def measured_aba(name: str, n: int, seconds: float) -> dict[str, Any]:
    """Return the times of forward dynamics by ABA."""
    robot = robot_of(name, n)
    start = time.perf_counter()
    f = ramidyn.compile(ramidyn.forward_dynamics(algorithm="aba"), robot)
    f.prepare(single=False)
    compiled = time.perf_counter() - start
    q = robot.random_configuration(0, BATCH)
    qd, tau = np.random.default_rng(0).normal(size=(2, BATCH, robot.nv))
    out = f(q, qd, tau)
    run = best(lambda: f(q, qd, tau, out=out), seconds) / BATCH
    return {"n": n, "operations": f.ops.total, "compile": compiled, "run": run}


def measured_ltdl(name: str, n: int, seconds: float) -> dict[str, Any]:
    """Return the time of a factorization, and its count."""
    if name == "swarm":
        parents = [-1 if k % ARM == 0 else k - 1 for k in range(n)]
    else:
        parents = list(family(name, n))
    shape = TreeShape(tuple(parents))
    pattern = shape.pattern
    H = np.where(pattern, 0.01, 0.0) + np.diag(np.full(n, 1.0 + 0.02 * n))
    one = ramidyn.linalg.TreeMatrix.from_dense(H, parents).values
    batch = max(1, min(1024, 2_000_000 // len(one)))
    matrix = ramidyn.linalg.TreeMatrix(tuple(parents), np.tile(one, (batch, 1)))
    run = best(lambda: ramidyn.linalg.ltdl(matrix, check=False), seconds) / batch
    return {"n": n, "count": shape.factor_cost, "run": run}


def slope(x: list[float], y: list[float]) -> float:
    """Return the exponent of y in x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def plot(rows: dict[str, Any], folder: Path) -> None:
    """Draw the three times over the number of bodies."""
    import matplotlib as mpl  # noqa: PLC0415  for pictures alone

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for name, found in rows.items():
        n = [r["n"] for r in found["aba"]]
        axes[0].plot(n, [r["compile"] for r in found["aba"]], "o-", label=name)
        axes[1].plot(n, [1e6 * r["run"] for r in found["aba"]], "o-", label=name)
        counts = [r["count"] for r in found["ltdl"]]
        axes[2].plot(counts, [1e6 * r["run"] for r in found["ltdl"]], "o-", label=name)
    titles = ("ABA: trace and compile [s]", "ABA: run, by state [µs]", "LTDL: run [µs]")
    for a, title in zip(axes, titles, strict=True):
        a.set(xscale="log", yscale="log", title=title, xlabel="bodies")
        a.grid(color="#e4e4e0", linewidth=0.6)
        a.spines[["top", "right"]].set_visible(False)
    axes[2].set_xlabel("D1 + 2 D2")
    axes[0].legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "growth.png", dpi=100)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--plot", metavar="FOLDER", type=Path)
    args = parser.parse_args()
    os.environ["RAMIDYN_CACHE_DIR"] = "off"
    seconds = 0.02 if args.quick else 0.5
    rows: dict[str, Any] = {}
    for name, sizes in (QUICK if args.quick else SIZES).items():
        measured_aba(name, sizes[0], 0.0)
        aba = []
        for n in sizes:
            aba.append(measured_aba(name, n, seconds))
            if not args.json:
                r = aba[-1]
                print(
                    f"{name} of {n}: {r['operations']:,} operations, compiled in "
                    f"{r['compile']:.2f} s, {1e6 * r['run']:.3f} µs a state",
                    flush=True,
                )
        ltdl = [measured_ltdl(name, n, seconds) for n in sizes]
        n = [float(r["n"]) for r in aba]
        rows[name] = {
            "aba": aba,
            "ltdl": ltdl,
            "compile_slope": slope(n, [r["compile"] for r in aba]),
            "run_slope": slope(n, [r["run"] for r in aba]),
        }
    report({"rows": rows}, args.json)
    if args.plot:
        plot(rows, args.plot)
    if args.json:
        return
    for name, found in rows.items():
        a, b = found["compile_slope"], found["run_slope"]
        print(f"{name}: ABA compiles as n^{a:.2f}, runs as n^{b:.2f} (at most {SLOPE})")
        times = [f"{1e9 * r['run'] / max(r['count'], 1):.2f}" for r in found["ltdl"]]
        print(f"{name}: LTDL, ns by operation of D1 + 2 D2: {', '.join(times)}")


if __name__ == "__main__":
    main()
