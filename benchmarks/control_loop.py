"""The control loop of a first-time user, in Ramidyn and in Pinocchio, side by side.

    python benchmarks/control_loop.py [--quick] [--json]

Load a UR10, hold a pose with a PD controller and gravity compensation, simulate with
steps of 1 ms: methods of the robot as they are, no ``out=``, no ``compile``, a Python
float for the time step. The loops take turns in one run and end in the same state. The
promise: at least 2 times faster than the same loop with Pinocchio.

The third loop calls no library: its time is the user's own NumPy arithmetic, which both
others contain. It bounds the ratio.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from machine import machine, options
from robots import files

import ramidyn

ROBOT = "ur_description/ur10_robot.urdf"
PROMISE = 2.0
DT = 1e-3
KP = np.array([1200.0, 1200.0, 200.0, 2.0, 1.0, 0.1])
KD = np.array([240.0, 240.0, 40.0, 0.4, 0.2, 0.01])

State = tuple[Any, Any]


def ramidyn_loop(path: str) -> Callable[[Any, int], State]:
    """Return the loop with Ramidyn: (goal, steps) -> q, qd."""
    robot = ramidyn.load(path)
    start = robot.neutral()

    def run(goal: Any, steps: int) -> State:
        q, qd = start, np.zeros(len(start))
        for _ in range(steps):
            tau = robot.gravity_forces(q) + KP * (goal - q) - KD * qd
            qd += DT * robot.forward_dynamics(q, qd, tau)
            q = robot.integrate(q, qd, DT)
        return q, qd

    return run


def pinocchio_loop(path: str) -> Callable[[Any, int], State]:
    """Return the same loop with Pinocchio."""
    model = pin.buildModelFromUrdf(path)
    data = model.createData()
    start = pin.neutral(model)

    def run(goal: Any, steps: int) -> State:
        q, qd = start, np.zeros(len(start))
        for _ in range(steps):
            gravity = pin.computeGeneralizedGravity(model, data, q)
            tau = gravity + KP * (goal - q) - KD * qd
            qd += DT * pin.aba(model, data, q, qd, tau)
            q = pin.integrate(model, q, qd * DT)
        return q, qd

    return run


def arithmetic_loop() -> Callable[[Any, int], State]:
    """Return the loop without any library: its NumPy arithmetic alone."""
    zeros = np.zeros(len(KP))

    def run(goal: Any, steps: int) -> State:
        q, qd, tau = zeros, np.zeros(len(KP)), zeros
        for _ in range(steps):
            tau = zeros + KP * (goal - q) - KD * qd
            qd += DT * zeros
        return q, tau

    return run


def measure(path: str, quick: bool) -> dict[str, Any]:
    """Return the microseconds of a step of each loop; the loops take turns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loops = {"ramidyn": ramidyn_loop(path), "pinocchio": pinocchio_loop(path)}
    goal = np.full(len(KP), 0.5)
    ends = {name: run(goal, 2000) for name, run in loops.items()}
    np.testing.assert_allclose(ends["ramidyn"][0], goal, atol=1e-3)
    for ours, theirs in zip(ends["ramidyn"], ends["pinocchio"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    loops["arithmetic"] = arithmetic_loop()
    # Many short turns: other programs disturb some of them, for all loops alike.
    rounds, steps = (200, 50) if quick else (2000, 50)
    best = dict.fromkeys(loops, np.inf)
    for _ in range(rounds):
        for name, run in loops.items():
            start = time.perf_counter()
            run(goal, steps)
            best[name] = min(best[name], (time.perf_counter() - start) / steps * 1e6)
    ours, theirs, rest = best["ramidyn"], best["pinocchio"], best["arithmetic"]
    return {
        "microseconds": best,
        "ratio": theirs / ours,
        "bound": theirs / rest,
        "calls_ratio": (theirs - rest) / (ours - rest),
    }


def main() -> None:
    parser = options(__doc__)
    chosen = parser.parse_args()
    path = files().get(ROBOT)
    if path is None:
        parser.error("needs example-robot-data, which has the UR10")
    result = {"robot": ROBOT, **measure(str(path), chosen.quick)}
    result |= {"promise": PROMISE, "kept": result["ratio"] >= PROMISE}
    if chosen.json:
        print(json.dumps({**result, "machine": machine("pin")}, indent=2))
        return
    print(f"{ROBOT}: PD with gravity compensation, one step of 1 ms")
    for loop, microseconds in result["microseconds"].items():
        print(f"  {loop:12s}{microseconds:8.2f} us")
    verdict = "" if chosen.quick else f": {'kept' if result['kept'] else 'NOT kept'}"
    print(f"  {result['ratio']:.2f} x faster; promised {PROMISE:g} x{verdict}")
    print(f"  {result['bound']:.2f} x is possible if calls take no time at all")
    print(f"  without the arithmetic: {result['calls_ratio']:.1f} x faster")


if __name__ == "__main__":
    main()
