"""What forces of the robot cost, beside the same robot without them.

    python benchmarks/forces.py [--quick] [--json]

    g1_with_hands   all passive forces of its file (damping, friction, springs), in a
                    batch, if the file is there
    hmmwv           four tires and eight spring-dampers, one call, and in a batch

Both are timed in turn in one run, outputs allocated beforehand; the best of several
rounds counts.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from machine import best, best_call, options, report

import ramidyn
from ramidyn import forces
from ramidyn.robot import Robot

SHARED = Path(__file__).resolve().parents[2] / "shared" / "robots"
PROMISES = {"g1_with_hands": ("batch", 1.1), "hmmwv": ("one", 2.0)}
BATCH = 4096
ROUNDS = 7


def g1() -> tuple[Robot, Robot] | None:
    """Return the humanoid without its passive forces, and with them."""
    path = SHARED / "g1_with_hands" / "g1_with_hands.xml"
    if not path.exists():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            ramidyn.load(path, passive=False, actuators=False),
            ramidyn.load(path, passive=True, actuators=False),
        )


def vehicle() -> tuple[Robot, Robot]:
    """Return the vehicle, and the vehicle with its suspension and tires."""
    plain = ramidyn.robots.hmmwv()
    robot = plain
    for side in ("left", "right"):
        for end in ("front", "rear"):
            corner = f"{side}_{end}_"
            y = 0.4 if side == "left" else -0.4
            x = 1.65 if end == "front" else -1.65
            strut = {"point_a": (x, y, 0.6), "point_b": (0.0, 0.5 * y, 0.0)}
            for name, stiffness, damping in (
                ("spring", 8e4, 0.0),
                ("damper", 0.0, 6e3),
            ):
                element = forces.PointSpring(
                    "chassis",
                    f"{corner}lower_arm",
                    stiffness,
                    damping,
                    rest_length=0.6,
                    **strut,
                )
                robot = robot.add_force(element, name=corner + name)
            tire = forces.Tire(f"{corner}wheel", 0.47, 3e5, 2e3, 6e4, 5e4, friction=0.9)
            robot = robot.add_force(tire, name=corner + "tire")
    return plain, robot


def state(robot: Robot, n: int) -> list[Any]:
    """Return states near neutral, a batch or one."""
    rng = np.random.default_rng(0)
    step = 0.05 * rng.normal(size=(n, robot.nv))
    q = robot.integrate(np.tile(robot.neutral(), (n, 1)), step)
    if robot.model.joints[0].type == "floating":
        q[:, 2] += 0.4
    return [q, *rng.normal(size=(2, n, robot.nv))]


def times(pair: tuple[Robot, Robot], seconds: float) -> dict[str, list[float]]:
    """Return µs of forward dynamics, one call and a state of a batch, of both."""
    functions = [r.forward_dynamics for r in pair]
    many = state(pair[0], BATCH)
    one = [np.ascontiguousarray(x[0]) for x in many]
    found: dict[str, list[float]] = {"one": [np.inf] * 2, "batch": [np.inf] * 2}
    outs = [np.empty(pair[0].nv), np.empty((BATCH, pair[0].nv))]
    for _ in range(ROUNDS):
        for k, f in enumerate(functions):
            single = best_call(lambda f=f: f(*one, out=outs[0]), seconds)
            batch = best(lambda f=f: f(*many, out=outs[1]), seconds) / BATCH
            found["one"][k] = min(found["one"][k], 1e6 * single)
            found["batch"][k] = min(found["batch"][k], 1e6 * batch)
    return found


def main() -> None:
    """Print the ratios."""
    parser = options(__doc__ or "")
    args = parser.parse_args()
    seconds = 0.02 if args.quick else 0.3
    result: dict[str, Any] = {}
    for name, pair in (("g1_with_hands", g1()), ("hmmwv", vehicle())):
        if pair is None:
            continue
        counts = [ramidyn.count(ramidyn.forward_dynamics, r).total for r in pair]
        found = times(pair, seconds)
        ratios = {kind: b / a for kind, (a, b) in found.items()}
        result[name] = {"operations": counts, "microseconds": found, "ratio": ratios}
        if args.json:
            continue
        kind, promise = PROMISES[name]
        print(f"{name}: {len(pair[1].forces)} forces; operations {counts}")
        for word, (without, with_) in found.items():
            told = f" (promise: at most {promise})" if word == kind else ""
            print(
                f"  {word:5} {without:8.3f} us without, {with_:8.3f} with: "
                f"{ratios[word]:.2f} x{told}"
            )
    report(result, args.json)


if __name__ == "__main__":
    main()
