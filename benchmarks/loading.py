"""How long loading takes: file to Robot, compared with Pinocchio in the same run.

    python benchmarks/loading.py [--quick] [--json]

The promises: a URDF of 100 links in at most 3 times what Pinocchio takes, or 50 ms;
80,000 bodies in at most 10 s, and 8,000 in 1 s (with --quick, these only). Times are
the least of several runs, of processor time; of large robots, of one run.
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

from ramidyn.errors import Error
from ramidyn.loading import load

MOST_RATIO, MOST_MILLISECONDS = 3.0, 50.0
MILLISECONDS_PER_BODY = 10_000 / 80_000
BODY = """<body name="b{k}" pos="0.1 0 0.2"><joint name="j{k}" axis="0 1 0"/>
<geom size=".1"/>"""
LINK = """<link name="l{k}"><inertial><origin xyz="0 0 {z}"/><mass value="1.5"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
"""
JOINT = """<joint name="j{k}" type="revolute"><parent link="l{p}"/><child link="l{k}"/>
<origin xyz="0.1 0 {z}" rpy="0.1 0.2 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
"""


def chain(n: int, children: int = 1) -> str:
    """Return the URDF of a chain of n links, or of a tree with so many children."""
    links = [LINK.format(k=k, z=0.1 * k) for k in range(n)]
    joints = [JOINT.format(k=k, p=(k - 1) // children, z=0.01 * k) for k in range(1, n)]
    return '<robot name="chain">' + "".join(links + joints) + "</robot>"


def arms(n: int, links: int) -> str:
    """Return the MJCF of n bodies, in arms of so many links."""
    bodies = [
        "".join(BODY.format(k=k) for k in range(first, min(n, first + links)))
        + "</body>" * (min(n, first + links) - first)
        for first in range(0, n, links)
    ]
    return f"<mujoco><worldbody>{''.join(bodies)}</worldbody></mujoco>"


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
        "ramidyn_ms": a,
        "pinocchio_ms": b,
        "ratio": a / b,
        "kept": a <= max(MOST_RATIO * b, MOST_MILLISECONDS),
    }


def large(name: str, text: str, bodies: int) -> dict:
    """Return the row of a robot that only Ramidyn loads."""
    taken = milliseconds(lambda: load(text), 1)
    return {
        "robot": name,
        "links": bodies,
        "ramidyn_ms": taken,
        "pinocchio_ms": None,
        "ratio": None,
        "kept": taken <= MILLISECONDS_PER_BODY * bodies,
    }


def large_rows(n: int) -> list[dict]:
    """Return the rows of large robots: long and bushy ones, in both formats."""
    return [
        large("URDF chain", chain(n), n),
        large("URDF tree", chain(n, children=3), n),
        large("MJCF arms of 100", arms(n, 100), n),
        large("MJCF arms of 1", arms(n, 1), n),
    ]


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
    return out + large_rows(8_000) + ([] if quick else large_rows(80_000))


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
    print(f"{'robot':<28}{'links':>6}{'ramidyn':>10}{'pinocchio':>11}{'ratio':>7}")
    for r in table:
        peer = ""
        if r["ratio"] is not None:
            peer = f"{r['pinocchio_ms']:>8.1f} ms{r['ratio']:>7.1f}"
        print(
            f"{r['robot']:<28}{r['links']:>6}{r['ramidyn_ms']:>7.1f} ms{peer}"
            f"{'' if r['kept'] else '  BROKEN PROMISE'}"
        )
    if not options.quick:  # a quick run shows that it works, on whatever machine
        raise SystemExit(0 if all(r["kept"] for r in table) else 1)


if __name__ == "__main__":
    main()
