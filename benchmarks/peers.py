"""How fast dynamics are compared with every installed library, in one run.

    python benchmarks/peers.py [--quick] [--json] [--robots panda,talos]

Pinocchio and MuJoCo always; Drake, CasADi (adam's mass matrix as generated C, made with
-O3 where there is a compiler) and JAX (adam's mass matrix, jitted, in double precision)
where they are installed: pip install drake 'adam-robotics[casadi,jax]'.

One core, the same random states, results compared before they are timed (1e-9 of the
largest entry; 1e-6 of libraries that round differently). Median and spread over runs of
a call from Python; ours returns a new array, and a batch of ours writes to one that is
there. Excluded: loading, compiling and jitting (shown separately).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from machine import options, report
from others import OTHERS, Candidate, NotCompared
from robots import sources

from ramidyn.cli.arguments import RobotFile
from ramidyn.cli.bench_ import answer_error
from ramidyn.cli.peers import PeerError, State, peer
from ramidyn.cli.selfcheck import state_of
from ramidyn.compiler import compile
from ramidyn.quantities import dynamics, mass_matrix

QUANTITIES = {
    "inverse_dynamics": dynamics.inverse_dynamics,
    "mass_matrix": mass_matrix.mass_matrix,
    "forward_dynamics": dynamics.forward_dynamics,
}
BATCH = 1024


@dataclass(frozen=True)
class Time:
    """Median and spread (half of the middle 50%) of a call [s]."""

    median: float
    spread: float

    def __str__(self) -> str:
        return f"{1e6 * self.median:8.2f} ± {1e6 * self.spread:.2f}"


def timed(run: Callable[[], Any], seconds: float) -> Time:
    """Return the time of a call, over loops of about a millisecond."""
    run()
    start = time.perf_counter()
    run()
    n = max(1, int(1e-3 / max(time.perf_counter() - start, 1e-7)))
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 5:
        start = time.perf_counter()
        for _ in range(n):
            run()
        found.append((time.perf_counter() - start) / n)
    low, median, high = np.quantile(found, [0.25, 0.5, 0.75])
    return Time(float(median), float(high - low) / 2)


def ours(source: RobotFile, name: str, seconds: float) -> dict[str, Any]:
    """Return our times: one call, and a state of a batch."""
    robot = source.load(mimic="independent")
    start = time.perf_counter()
    f = compile(QUANTITIES[name], robot).prepare()
    made = time.perf_counter() - start
    s = state_of(robot, BATCH, np.random.default_rng(0))
    inputs = [getattr(s, v.name) for v in f.program.inputs]
    one = [np.ascontiguousarray(x[0]) for x in inputs]
    out = f(*inputs)
    batch = timed(partial(f, *inputs, out=out), seconds)
    return {
        "one call": timed(partial(f, *one), seconds),
        "in a batch": Time(batch.median / BATCH, batch.spread / BATCH),
        "made in": made,
    }


def known(source: RobotFile, name: str, seconds: float) -> dict[str, Any]:
    """Return the times of Pinocchio and MuJoCo."""
    found: dict[str, Any] = {}
    for other in ("pinocchio", "mujoco"):
        try:
            library = peer(other, source)
        except (PeerError, ImportError) as reason:
            found[other] = str(reason)
            continue
        state = state_of(library.robot, 8, np.random.default_rng(0))
        error = answer_error(library, name, state)
        assert error < 1e-9, (other, name, error)
        call = library.caller(name, state[0])
        found[other] = timed(call, seconds) if call else "has no such call"
    return found


def further(
    source: RobotFile, name: str, candidate: Candidate, seconds: float
) -> Time | str:
    """Return the time of a library that may be installed, or why there is none."""
    robot = source.load(mimic="independent")
    few: State = state_of(robot, 4, np.random.default_rng(0))
    try:
        call = candidate.make(source, robot, name)
        expected = compile(QUANTITIES[name], robot)
        want = expected(*(getattr(few, v.name) for v in expected.program.inputs))
        got = np.array([call(few[k]) for k in range(len(few))])
        error = np.abs(got - want).max() / np.abs(want).max()
        if not error < candidate.agreement:
            return f"differs by {error:.0e}"
        return timed(lambda: call(few[0]), seconds)
    except NotCompared as reason:
        return str(reason)
    except ImportError:
        return "not installed"
    except Exception as reason:  # whatever another library raises
        return f"{type(reason).__name__}: {str(reason).splitlines()[0][:80]}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--robots", default="panda,talos", help="by name")
    args = parser.parse_args()
    seconds = 0.02 if args.quick else 0.5
    rows: list[dict[str, Any]] = []
    for robot, source in sources(args.robots.split(",")).items():
        for name in QUANTITIES:
            mine = ours(source, name, seconds)
            made = mine.pop("made in")
            times: dict[str, Any] = {f"ramidyn, {k}": t for k, t in mine.items()}
            times |= known(source, name, seconds)
            for candidate in OTHERS:
                times[candidate.name] = further(source, name, candidate, seconds)
            rows.append(
                {"robot": robot, "quantity": name, "made": made, "times": times}
            )
            if not args.json:
                print(f"{robot}, {name} (compiled in {made:.2f} s), µs:")
                for library, found in times.items():
                    print(f"  {library:22} {found}", flush=True)
    plain = [
        {**r, "times": {k: getattr(t, "median", t) for k, t in r["times"].items()}}
        for r in rows
    ]
    packages = ("pin", "mujoco", "drake", "casadi", "jax", "adam-robotics")
    report({"rows": plain}, args.json, *packages)


if __name__ == "__main__":
    main()
