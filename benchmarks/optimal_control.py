"""Gradients of rollouts, and plans of least cost.

    python benchmarks/optimal_control.py [--quick] [--json]

Gradients: 100 semi-implicit steps of chains, 512 states, joint forces per step; the
gradient of a cost by them and by the initial state, in times of the rollout with the
cost, one core, processor time. Beside it the same gradient by PyTorch around our step
(`ramidyn.to_torch`), of the smallest chain; results agree before anything is timed.

Plans: an arm with 7 joints, 50 steps; time of an iteration, of one problem and of 256.

Control: the same arm in a closed loop, a new plan each millisecond with one iteration.

The promises: a rollout with its gradient takes at most 4 times as long as the rollout,
and is 50 times as fast as PyTorch around our step.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import options, report

import ramidyn

SIZES = (7, 18, 35)
STEPS, DT = 100, 1e-3
MOST, FASTER = 4.0, 50.0
"""promised: times of the rollout, times as fast as PyTorch"""


def shortest(run: Callable[[], object], repeats: int) -> float:
    """Return the shortest processor time of several runs."""
    run()
    found: list[float] = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        found.append(time.process_time() - begin)
    return min(found)


def cost(q: Any, qd: Any, tau: Any) -> Any:
    """Return the cost of a step."""
    return q @ q + 0.1 * (qd @ qd) + 0.01 * (tau @ tau)


def torch_gradient(robot: Any, q: Any, qd: Any, tau: Any) -> Any:
    """Return the same gradient by a loop of PyTorch around our dynamics."""
    import torch  # noqa: PLC0415  an extra

    dynamics = ramidyn.to_torch(robot.forward_dynamics)
    x, v, u = (torch.tensor(a, requires_grad=True) for a in (q, qd, tau))
    position, velocity, total = x, v, 0.0
    for k in range(tau.shape[1]):
        now = (position**2).sum() + 0.1 * (velocity**2).sum()
        total = total + now + 0.01 * (u[:, k] ** 2).sum()
        velocity = velocity + DT * dynamics(position, velocity, u[:, k])
        position = position + DT * velocity
    total.backward()  # type: ignore[union-attr]
    return u.grad


def gradients(joints: int, batch: int, repeats: int, is_compared: bool) -> Any:
    """Return times of a rollout, and of one with its gradient."""
    robot, rng = ramidyn.robots.chain(joints), np.random.default_rng(0)
    q, qd = 0.1 * rng.normal(size=(2, batch, joints))
    tau = 0.1 * rng.normal(size=(batch, STEPS, joints))
    plain: Any = {"total": {"cost": cost}}
    asked: Any = {**plain, "gradient_of": "cost", "wrt": ("q", "qd", "tau")}
    out = robot.rollout(q, qd, tau, DT, **plain)

    def run(given: Any) -> Any:
        return robot.rollout(q, qd, tau, DT, out=out, **given)

    rollout = shortest(lambda: run(plain), repeats)
    both = shortest(lambda: run(asked), repeats)
    found = {"joints": joints, "batch": batch, "rollout": 1e3 * rollout}
    found |= {"gradient": 1e3 * both, "ratio": both / rollout}
    if is_compared:
        theirs, ours = torch_gradient(robot, q, qd, tau), run(asked).gradients["tau"]
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
        seconds = shortest(lambda: torch_gradient(robot, q, qd, tau), 1)
        found |= {"pytorch": 1e3 * seconds, "times_pytorch": seconds / both}
    return found


def planner(steps: int = 50, dt: float = 0.01) -> Any:
    """Return the planner of an arm with seven joints."""

    def running(q: Any, qd: Any, tau: Any, goal: Any) -> Any:
        e = q - goal
        return dt * (10.0 * (e @ e) + 0.1 * (qd @ qd) + 1e-3 * (tau @ tau))

    def final(q: Any, qd: Any, goal: Any) -> Any:
        return 100.0 * (q - goal) @ (q - goal) + qd @ qd

    robot = ramidyn.robots.chain(7)
    return ramidyn.control.ILQR(robot, steps, dt, running, final, inputs={"goal": 7})


def plans(batch: int | None, repeats: int) -> dict[str, Any]:
    """Return the time of an iteration of a problem."""
    plan, rng = planner(), np.random.default_rng(0)
    q = 0.2 * rng.normal(size=7 if batch is None else (batch, 7))
    hold = plan.robot.gravity_forces(q)
    tau = np.repeat(np.expand_dims(hold, -2), plan.steps, axis=-2)
    goal = np.full(7, 0.3)
    found = plan(q, tau=tau, goal=goal)
    seconds = shortest(lambda: plan(q, tau=tau, goal=goal), repeats)
    return {
        "problems": batch or 1,
        "iterations": found.iterations,
        "converged": int(np.sum(found.converged)),
        "microseconds": 1e6 * seconds / found.iterations / (batch or 1),
    }


def closed_loop(periods: int) -> dict[str, Any]:
    """Return how long plans take in a loop, by the clock."""
    plan = planner(30)
    q, qd, tau = np.zeros(7), np.zeros(7), None
    seconds: list[float] = []
    for k in range(periods):
        goal = np.full(7, 0.3 * np.sin(1e-3 * k))
        begin = time.perf_counter()
        found = plan(q, qd, tau, goal=goal, iterations=1)
        seconds.append(time.perf_counter() - begin)
        run = plan.robot.rollout(q, qd, found.tau[0], 1e-3, steps=1)
        q, qd, tau = run.q[-1], run.qd[-1], found.tau
    parts = np.percentile(1e6 * np.array(seconds[10:]), [50, 90, 99, 100])
    edges = np.array([0, 250, 500, 750, 1000, 2000, np.inf])
    counts = np.histogram(1e6 * np.array(seconds[10:]), edges)[0]
    error = float(np.abs(q - goal).max())
    names = ("median", "90", "99", "most")
    return {
        **dict(zip(names, parts.tolist(), strict=True)),
        "histogram": dict(zip(map(str, edges[1:]), counts.tolist(), strict=True)),
        "error": error,
    }


def main() -> None:
    chosen = options(__doc__).parse_args()
    quick = chosen.quick
    warnings.simplefilter("ignore", RuntimeWarning)
    batch, repeats = (64, 2) if quick else (512, 10)
    sizes = SIZES[:1] if quick else SIZES
    found: dict[str, Any] = {"gradients": [], "plans": []}
    for n in sizes:
        r = gradients(n, batch, repeats, n == SIZES[0])
        found["gradients"].append(r)
        if not chosen.json:
            print(
                f"chain of {n}, {batch} states, {STEPS} steps: {r['rollout']:.1f} ms, "
                f"with its gradient {r['gradient']:.1f} ms: {r['ratio']:.2f} x "
                f"({MOST:g} promised)",
                flush=True,
            )
            if "pytorch" in r:
                print(
                    f"  PyTorch around our step: {r['pytorch']:.0f} ms, "
                    f"{r['times_pytorch']:.0f} x ({FASTER:g} promised)"
                )
    for problems in (None, 16 if quick else 256):
        r = plans(problems, repeats)
        found["plans"].append(r)
        if not chosen.json:
            print(
                f"iLQR, 7 joints, 50 steps, {r['problems']} problems: "
                f"{r['microseconds']:.0f} us an iteration and problem "
                f"({r['iterations']} iterations, {r['converged']} converged)",
                flush=True,
            )
    r = found["control"] = closed_loop(100 if quick else 3000)
    if not chosen.json:
        print(
            f"control in a closed loop: {r['median']:.0f} us a plan (median), "
            f"{r['99']:.0f} (99 %), {r['most']:.0f} (all); up to us: {r['histogram']}"
        )
    report(found, chosen.json, "torch")


if __name__ == "__main__":
    main()
