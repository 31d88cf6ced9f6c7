"""Rollouts in native code, beside forward dynamics in a batch and mujoco.rollout.

    python benchmarks/rollouts.py [--quick] [--json] [--readme] [--cassie FILE]
                                  [ROBOT ...]

Semi-implicit steps of 1 ms from random states, joint forces per step, all states
recorded to arrays that are there, one core. MuJoCo steps the same robot in one thread
with contacts, constraints, actuation, springs and dampers off; results are compared
before anything is timed. All in turns in one run, the shortest times kept: processor
time, as a rollout is long enough for other programs to interrupt it; two threads are
compared by the clock.

One robot with loops beside it, 10 s in steps of 1 ms by RK4: the vehicle with springs
and tires by "partition", Cassie (a file of its own) by "project".

The promises: a step takes at most 1.2 times as long as forward dynamics in a batch; it
is 50, 20 and 12 times faster than mujoco.rollout at 7, 18 to 27 and 35 to 50 degrees of
freedom; two threads are 1.7 times as fast as one; one robot with loops runs 50 times
faster than real time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import machine, options, report
from robots import sources

import ramidyn
from ramidyn.cli.peers import PeerError, State, peer
from ramidyn.robot import Robot

ROBOTS = ("xarm7", "go2", "g1")
STEPS, DT = 50, 1e-3
PROMISED = {8: 50.0, 27: 20.0, 50: 12.0}
"""how many times mujoco.rollout, up to so many degrees of freedom"""
REAL_TIME = 50.0
"""how many times faster than real time one robot with loops runs"""
FEW = 64  # states of MuJoCo's rollouts: its time is linear in them


def start(robot: Robot, batch: int) -> tuple[Any, Any, Any]:
    """Return states, and joint forces about those that hold the first one."""
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, batch=batch)
    qd = 0.1 * rng.normal(size=(batch, robot.nv))
    hold = robot.gravity_forces(q)[:, None]
    return q, qd, hold * rng.uniform(0.8, 1.2, size=(batch, STEPS, robot.nv))


def mujoco_peer(source: Any) -> Any:
    """Return MuJoCo with a robot in it, or None."""
    try:
        return peer("mujoco", source)
    except (ImportError, PeerError) as error:
        print(f"no MuJoCo for {source.name}: {error}")
        return None


def measure(name: str, source: Any, batch: int, seconds: float) -> dict[str, Any]:
    """Return microseconds a step, each way."""
    found = mujoco_peer(source)
    robot = source.tree() if found is None else found.robot
    q, qd, tau = start(robot, batch)
    dynamics = ramidyn.compile(ramidyn.forward_dynamics, robot)
    qdd, now = dynamics(q, qd, tau[:, 0]), np.ascontiguousarray(tau[:, 0])
    small = [x.astype(np.float32) for x in (q, qd, tau)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no state diverges
        warnings.filterwarnings("ignore", ".* limit, ", RuntimeWarning)
        run = robot.rollout(q, qd, tau, DT)
        single = robot.rollout(*small, DT, dtype="float32")
    ways: dict[str, tuple[Callable[[], Any], int]] = {
        "forward_dynamics": (lambda: dynamics(q, qd, now, out=qdd), batch),
        "rollout": (lambda: robot.rollout(q, qd, tau, DT, out=run), batch * STEPS),
        "two_threads": (
            lambda: robot.rollout(q, qd, tau, DT, threads=2, out=run),
            batch * STEPS,
        ),
        "float32": (
            lambda: robot.rollout(*small, DT, dtype="float32", out=single),
            batch * STEPS,
        ),
    }
    if found is not None:
        few = np.ascontiguousarray(tau[:FEW])
        state = State(q[:FEW], qd[:FEW], qd[:FEW], tau[:FEW, 0])
        roll: Any = found.roller(state, STEPS, DT)
        np.testing.assert_allclose(roll(few), run.q[:FEW, 1:], atol=1e-6)
        ways["mujoco"] = (lambda: roll(few), FEW * STEPS)
    best, clock = dict.fromkeys(ways, np.inf), dict.fromkeys(ways, np.inf)
    for call, _ in ways.values():
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:  # in turns: others disturb all alike
        for way, (call, evaluations) in ways.items():
            begin, used = time.perf_counter(), time.process_time()
            call()
            used = (time.process_time() - used) / evaluations * 1e6
            passed = (time.perf_counter() - begin) / evaluations * 1e6
            best[way], clock[way] = min(best[way], used), min(clock[way], passed)
    result: dict[str, Any] = {"robot": name, "nv": robot.nv, "batch": batch, **best}
    result["per_dynamics"] = best["rollout"] / best["forward_dynamics"]
    result["threads_ratio"] = clock["rollout"] / clock["two_threads"]
    if "mujoco" in best:
        result["times_mujoco"] = best["mujoco"] / best["rollout"]
        result["promised"] = next(x for n, x in PROMISED.items() if robot.nv <= n)
    return result


def real_time(robot: Robot, stabilize: str, repeats: int, steps: int) -> dict[str, Any]:
    """Return how many times faster than real time a robot with loops runs."""
    options: dict[str, Any] = {"integrator": "rk4", "stabilize": stabilize}
    options |= {"dt": DT, "steps": steps, "every": steps, "record": ("residual",)}
    q, qd = robot.project(robot.neutral()), np.zeros(robot.nv)
    run, best = robot.rollout(q, qd, **options), np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        robot.rollout(q, qd, **options)
        best = min(best, time.perf_counter() - begin)
    return {
        "robot": robot.name,
        "stabilize": stabilize,
        "microseconds": best / steps * 1e6,
        "real_time": steps * DT / best,
        "residual": float(run.residual.max()),
    }


HEAD = """\
| robot | DoF | batch | forward dynamics | rollout, a step | float32 | mujoco.rollout |
|---|---|---|---|---|---|---|"""


def row(r: dict[str, Any]) -> str:
    """Return a result as a row of the table."""
    theirs = "-"
    if "mujoco" in r:
        theirs = f"{r['mujoco']:.2f} ({r['times_mujoco']:.0f} x)"
    return (
        f"| {r['robot']} | {r['nv']} | {r['batch']:,} | {r['forward_dynamics']:.3f} | "
        f"{r['rollout']:.3f} ({r['per_dynamics']:.2f} x) | {r['float32']:.3f} | "
        f"{theirs} |"
    )


def note() -> str:
    """Return what the table is, for README."""
    about = machine("mujoco")
    return (
        "Microseconds of one core per state and step, one run: semi-implicit steps of "
        "1 ms, joint forces per step, all states recorded. In parentheses, a step in "
        "times of forward dynamics, and how many times faster than mujoco.rollout in "
        "one thread with contacts, constraints and actuation off. Results agree within "
        f"1e-6 after {STEPS} steps. {about['cpu']} ({about['target']}, "
        f"{about['lanes']} lanes), mujoco "
        f"{about['versions']['mujoco']}, {about['date']}. Generated by "
        "`python benchmarks/rollouts.py --readme`."
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("robots", nargs="*", default=list(ROBOTS))
    parser.add_argument("--cassie", help="MJCF file of Cassie, to be simulated too")
    parser.add_argument("--readme", action="store_true", help="print README's table")
    chosen = parser.parse_args()
    batches, seconds = ((64,), 0.2) if chosen.quick else ((512, 4096), 10.0)
    results: list[dict[str, Any]] = []
    if not chosen.json:
        print(HEAD)
    for name, source in sources(chosen.robots).items():
        for batch in batches:
            results.append(measure(name, source, batch, seconds))
            if not chosen.json:
                print(row(results[-1]), flush=True)
    mechanisms = [(ramidyn.robots.hmmwv(suspension=True, tires=True), "partition")]
    if chosen.cassie:
        cassie = ramidyn.load(chosen.cassie, passive=True, actuators=False)
        mechanisms.append((cassie, "project"))
    repeats, steps = (1, 100) if chosen.quick else (5, 10_000)
    alone = [real_time(*each, repeats, steps) for each in mechanisms]
    for r in alone if not chosen.json else ():
        print(
            f"{r['robot']}, one state, RK4, {r['stabilize']}: {r['microseconds']:.1f} "
            f"us a step, {r['real_time']:.0f} x real time ({REAL_TIME:g} promised), "
            f"loops closed within {r['residual']:.0e}"
        )
    if chosen.readme:
        print(f"\n{note()}")
        return
    report({"results": results, "one_robot": alone}, chosen.json, "mujoco")
    for r in results if not (chosen.json or chosen.quick) else ():
        speed = f", {r['promised']:g} x MuJoCo promised" if "mujoco" in r else ""
        print(
            f"{r['robot']} {r['batch']}: two threads {r['threads_ratio']:.2f} x, "
            f"1.7 promised; {r['per_dynamics']:.2f} of forward dynamics, 1.2 "
            f"promised{speed}"
        )


if __name__ == "__main__":
    main()
