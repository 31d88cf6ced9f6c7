"""How long it takes from a file to the first result, cold and from the cache.

    python benchmarks/first_answer.py [--quick] [--json] [--robot talos]

Each run is a new process: load the robot, trace and compile forward dynamics, compute
one state. Importing Ramify and NumPy comes before, and is shown separately.
Cold is an empty cache; warm is the cache of the run before. Python's own bytecode is
there in both, as it is where pip installed Ramify. The promises, for a humanoid of 50
degrees of freedom: 1.5 s cold, 0.1 s warm.
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

COLD, WARM = 1.5, 0.1
RUN = """
import json, sys, time
start = time.perf_counter()
import warnings
import numpy as np
import ramify
from ramify.cli.robots import RobotFile
imported = time.perf_counter()
warnings.simplefilter("ignore")
robot = RobotFile(sys.argv[1], sys.argv[2] or None, mimic="independent").load()
loaded = time.perf_counter()
f = robot.forward_dynamics
traced = time.perf_counter()
zero = np.zeros(robot.nv)
f(robot.neutral(), zero, zero)
done = time.perf_counter()
times = {"import": imported - start, "load": loaded - imported,
         "trace": traced - loaded, "compile": done - traced, "all": done - imported}
print(json.dumps({"nv": robot.nv, "times": times}))
"""


def run(path: str, root: str | None, cache: str, bytecode: str) -> dict[str, Any]:
    """Return the times of one new process."""
    environment = {
        **os.environ,
        "RAMIFY_CACHE_DIR": cache,
        "PYTHONPYCACHEPREFIX": bytecode,
        "PYTHONDONTWRITEBYTECODE": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, path, root or ""],
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
    rows: dict[str, dict[str, float]] = {}
    nv = 0
    with tempfile.TemporaryDirectory() as bytecode:
        run(source.name, source.root, "off", bytecode)  # writes the bytecode
        for _ in range(1 if args.quick else 3):
            with tempfile.TemporaryDirectory() as cache:
                for kind in ("cold", "warm"):
                    made = run(source.name, source.root, cache, bytecode)
                    nv, times = made["nv"], made["times"]
                    if kind not in rows or times["all"] < rows[kind]["all"]:
                        rows[kind] = times
    report({"robot": name, "nv": nv, **rows}, args.json)
    if args.json:
        return
    print(f"{name}, {nv} degrees of freedom, forward dynamics; the best of the runs")
    for kind, bound in (("cold", COLD), ("warm", WARM)):
        t = rows[kind]
        parts = ", ".join(f"{k} {1e3 * t[k]:.0f}" for k in ("load", "trace", "compile"))
        print(f"{kind}: {1e3 * t['all']:.0f} ms ({parts}; promise {1e3 * bound:.0f})")
    print(f"import, before: {1e3 * rows['warm']['import']:.0f} ms")


if __name__ == "__main__":
    main()
