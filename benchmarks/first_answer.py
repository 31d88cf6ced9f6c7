"""How long it takes from a file to the first result, cold and from the cache.

    python benchmarks/first_answer.py [--quick] [--json] [--robot talos]

Each run is a new process: load the robot, trace and compile forward dynamics or its
derivatives, compute one state. Importing Ramidyn and NumPy comes before, and is shown
separately. Cold is an empty cache; warm is the cache of the run before. Python's own
bytecode is there in both, as it is where pip installed Ramidyn. The promises, for a
humanoid of 50 degrees of freedom: forward dynamics in 1.5 s cold and 0.1 s warm, its
derivatives in 8 s and 0.2 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from machine import options, report
from robots import sources

from ramidyn.cli.arguments import RobotFile

PROMISES = {
    "forward_dynamics": {"cold": 1.5, "warm": 0.1},
    "forward_dynamics_derivatives": {"cold": 8.0, "warm": 0.2},
}
WARM_RUNS = 5
RUN = """
import json, sys, time
import warnings
import numpy as np
start = time.perf_counter()
import ramidyn
imported = time.perf_counter()
from ramidyn.cli.arguments import RobotFile
begin = time.perf_counter()
warnings.simplefilter("ignore")
robot = RobotFile(sys.argv[1], sys.argv[2] or None, mimic="independent").load()
loaded = time.perf_counter()
f = getattr(robot, sys.argv[3])
traced = time.perf_counter()
zero = np.zeros(robot.nv)
f(robot.neutral(), zero, zero)
done = time.perf_counter()
times = {"import": imported - start, "load": loaded - begin,
         "trace": traced - loaded, "compile": done - traced, "all": done - begin}
print(json.dumps({"nv": robot.nv, "times": times}))
"""


def run(source: RobotFile, quantity: str, cache: str, bytecode: str) -> dict[str, Any]:
    """Return the times of one new process."""
    environment = {
        **os.environ,
        "RAMIDYN_CACHE_DIR": cache,
        "PYTHONPYCACHEPREFIX": bytecode,
        "PYTHONDONTWRITEBYTECODE": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, source.name, source.root or "", quantity],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--robot", default="talos")
    args = parser.parse_args()
    found = sources([args.robot]) or sources(["humanoid30"])
    name, source = next(iter(found.items()))
    rows: dict[str, dict[str, dict[str, float]]] = {}
    nv = 0
    with tempfile.TemporaryDirectory() as bytecode:
        run(source, "forward_dynamics", "off", bytecode)  # writes the bytecode
        for quantity in PROMISES:
            best = rows[quantity] = {}
            for _ in range(1 if args.quick else 2):
                with tempfile.TemporaryDirectory() as cache:
                    for kind in ("cold", *["warm"] * (1 if args.quick else WARM_RUNS)):
                        made = run(source, quantity, cache, bytecode)
                        nv, times = made["nv"], made["times"]
                        if kind not in best or times["all"] < best[kind]["all"]:
                            best[kind] = times
    report({"robot": name, "nv": nv, **rows}, args.json)
    if args.json:
        return
    print(f"{name}, {nv} degrees of freedom; the best of the runs [ms]")
    for quantity, best in rows.items():
        print(f"{quantity}:")
        for kind, t in best.items():
            parts = ("load", "trace", "compile")
            shown = ", ".join(f"{k} {1e3 * t[k]:.0f}" for k in parts)
            bound = 1e3 * PROMISES[quantity][kind]
            print(f"  {kind}: {1e3 * t['all']:.0f} ({shown}; promise {bound:.0f})")
    warm = [best["warm"]["import"] for best in rows.values()]
    print(f"importing Ramidyn, before: {1e3 * min(warm):.0f}")


if __name__ == "__main__":
    main()
