"""How long loading takes: file to Robot, beside Pinocchio in the same run.

    python benchmarks/loading.py [--quick] [--json]

The promise: a URDF of 100 links in at most 3 times what Pinocchio takes, or 50 ms.
Times are the least of several runs, of processor time.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pinocchio as pin

from ramify.errors import Error
from ramify.loading import load

MOST_RATIO, MOST_MILLISECONDS = 3.0, 50.0
LINK = """<link name="l{k}"><inertial><origin xyz="0 0 {z}"/><mass value="1.5"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
"""
JOINT = """<joint name="j{k}" type="revolute"><parent link="l{p}"/><child link="l{k}"/>
<origin xyz="0.1 0 {z}" rpy="0.1 0.2 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
"""


def chain(n: int) -> str:
    """Return the URDF of a chain of n links."""
    links = [LINK.format(k=k, z=0.1 * k) for k in range(n)]
    joints = [JOINT.format(k=k, p=k - 1, z=0.01 * k) for k in range(1, n)]
    return '<robot name="chain">' + "".join(links + joints) + "</robot>"


def example_robots() -> list[Path]:
    """Return the URDF files of example-robot-data, largest first."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    paths = [Path(str(f.locate())) for f in files if f.suffix == ".urdf"]
    return sorted(paths, key=lambda p: -p.read_text("utf-8").count("<link "))


def milliseconds(f: Callable[[], object], runs: int) -> float:
    """Return the least processor time of several runs."""
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        f()
        least = min(least, time.process_time() - start)
    return 1e3 * least


def measured(name: str, ours: str, theirs: Callable[[], object], runs: int) -> dict:
    """Return one row of the table."""
    robot = load(ours)
    a, b = milliseconds(lambda: load(ours), runs), milliseconds(theirs, runs)
    return {
        "robot": name,
        "links": len(robot.body_names),
        "ramify_ms": a,
        "pinocchio_ms": b,
        "ratio": a / b,
        "kept": a <= max(MOST_RATIO * b, MOST_MILLISECONDS),
    }


def rows(quick: bool) -> list[dict]:
    runs = 5 if quick else 20
    text = chain(100)
    out = [
        measured("chain of 100", text, lambda: pin.buildModelFromXML(text), runs),
    ]
    for path in example_robots()[: 2 if quick else 12]:
        try:
            out.append(
                measured(
                    path.stem,
                    str(path),
                    lambda path=path: pin.buildModelFromUrdf(str(path)),
                    runs,
                )
            )
        except Error as e:
            print(f"{path.stem}: {e}")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer robots and runs")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = rows(options.quick)
    if options.json:
        print(json.dumps(table))
        return
    print(f"{'robot':<28}{'links':>6}{'ramify':>10}{'pinocchio':>11}{'ratio':>7}")
    for r in table:
        print(
            f"{r['robot']:<28}{r['links']:>6}{r['ramify_ms']:>7.1f} ms"
            f"{r['pinocchio_ms']:>8.1f} ms{r['ratio']:>7.1f}"
            f"{'' if r['kept'] else '  BROKEN PROMISE'}"
        )
    raise SystemExit(0 if all(r["kept"] for r in table) else 1)


if __name__ == "__main__":
    main()
