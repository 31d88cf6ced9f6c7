"""Gradients of rollouts, and plans of least cost.

    python benchmarks/optimal_control.py [--quick] [--json] [--crocoddyl FOLDER]

Gradients: 100 semi-implicit steps of chains, 512 states, joint forces per step; the
gradient of a cost by them and by the initial state, in times of the rollout with the
cost, one core, processor time, in turns.

The same gradient by loops of PyTorch and JAX (a compiled lax.scan) around our dynamics
(`ramidyn.to_torch`, `ramidyn.to_jax`), one thread, the shortest by the clock, in turns,
of 1 to 512 states of the smallest and the largest chain. Their parts are native code of
ours, so with many states it takes most of their time: "native" is the time of the
forward dynamics of each step, and once more with its gradient, called with NumPy
arrays. Results agree before anything is timed.

Plans: a Panda arm, and a Go2 with pinned feet, 50 steps; processor time of an
iteration, of one problem and of a batch. With --crocoddyl FOLDER beside Crocoddyl
(FDDP, one thread), which needs another version of Pinocchio: its environment is made in
that folder. Both begin with the same motion; their optima are compared.

Control: the same arm in a closed loop, a new plan each millisecond with one iteration,
and how long the plans took by the clock (with real-time priority where allowed).

The promises: a rollout with its gradient takes at most 4 times as long as the rollout,
and that of one small arm is 50 times as fast as PyTorch around our step. An iteration
is 3 times as fast as Crocoddyl's, 8 times in a batch; both find the same optimum.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import options, report
from robots import files

import ramidyn

SIZES = (7, 18, 35)
STEPS, DT = 100, 1e-3
MOST = 4.0
"""promised: times of the rollout"""
ONE, MANY, SAME = 3.0, 8.0, 1e-6
"""promised: times as fast as Crocoddyl, in a batch; how far optima are apart"""
CROCODDYL = ("crocoddyl==3.2.1", "pin==4.0.0")


def shortest(
    run: Callable[[], object],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Return the shortest time of several runs."""
    run()
    found: list[float] = []
    for _ in range(repeats):
        begin = clock()
        run()
        found.append(clock() - begin)
    return min(found)


def cost(q: Any, qd: Any, tau: Any) -> Any:
    """Return the cost of a step."""
    return q @ q + 0.1 * (qd @ qd) + 0.01 * (tau @ tau)


def torch_gradient(robot: Any, q: Any, qd: Any, tau: Any) -> Callable[[], Any]:
    """Return a loop of PyTorch around our dynamics: the gradient by tau."""
    import torch  # noqa: PLC0415  an extra

    torch.set_num_threads(1)
    dynamics = ramidyn.to_torch(robot.forward_dynamics)

    def gradient() -> Any:
        x, v, u = (torch.tensor(a, requires_grad=True) for a in (q, qd, tau))
        position, velocity, total = x, v, torch.zeros(())
        for k in range(tau.shape[1]):
            now = (position**2).sum() + 0.1 * (velocity**2).sum()
            total = total + now + 0.01 * (u[:, k] ** 2).sum()
            velocity = velocity + DT * dynamics(position, velocity, u[:, k])
            position = position + DT * velocity
        total.backward()
        return u.grad

    return gradient


def jax_gradient(robot: Any, q: Any, qd: Any, tau: Any) -> Callable[[], Any]:
    """Return a compiled lax.scan around our dynamics: the gradient by tau."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax  # noqa: PLC0415  an extra

    jax.config.update("jax_enable_x64", True)
    dynamics = ramidyn.to_jax(robot.forward_dynamics)

    def step(state: Any, u: Any) -> Any:
        x, v, total = state
        total = total + (x**2).sum() + 0.1 * (v**2).sum() + 0.01 * (u**2).sum()
        v = v + DT * dynamics(x, v, u)
        return (x + DT * v, v, total), None

    def total(x: Any, v: Any, u: Any) -> Any:
        return jax.lax.scan(step, (x, v, 0.0), u.swapaxes(0, 1))[0][2]

    compiled = jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2)))
    given = [jax.numpy.asarray(a) for a in (q, qd, tau)]
    return lambda: jax.block_until_ready(compiled(*given))[1][2]


def native_steps(robot: Any, q: Any, qd: Any, tau: Any) -> Callable[[], Any]:
    """Return the native parts of such a loop alone, forward and back."""
    wrt, u = ["q", "qd", "tau"], np.array(tau[:, 0])
    dynamics = ramidyn.forward_dynamics
    forward = ramidyn.compile(dynamics, robot)
    back = ramidyn.compile(ramidyn.vjp(dynamics, wrt), robot)
    given, weights = (q, qd, u), np.ones_like(qd)
    first, second = forward(*given), back(*given, weights)

    def run() -> None:
        for _ in range(tau.shape[1]):
            forward(*given, out=first)
            back(*given, weights, out=second)

    return run


OTHERS = {"torch": torch_gradient, "jax": jax_gradient}


def inputs_of(joints: int, batch: int) -> Any:
    """Return a chain, and random q, qd and tau."""
    robot, rng = ramidyn.robots.chain(joints), np.random.default_rng(0)
    q, qd = 0.1 * rng.normal(size=(2, batch, joints))
    return robot, q, qd, 0.1 * rng.normal(size=(batch, STEPS, joints))


PLAIN: Any = {"total": {"cost": cost}}
ASKED: Any = {**PLAIN, "gradient_of": "cost", "wrt": ("q", "qd", "tau")}


def gradients(joints: int, batch: int, repeats: int) -> Any:
    """Return times of a rollout, and of one with its gradient."""
    robot, q, qd, tau = inputs_of(joints, batch)
    out = robot.rollout(q, qd, tau, DT, **PLAIN)
    seconds: dict[str, list[float]] = {"rollout": [], "gradient": []}
    for k in range(repeats + 1):
        for name, given in (("rollout", PLAIN), ("gradient", ASKED)):
            begin = time.process_time()
            robot.rollout(q, qd, tau, DT, out=out, **given)
            if k:
                seconds[name].append(time.process_time() - begin)
    found = {name: 1e3 * float(np.median(x)) for name, x in seconds.items()}
    ratio = found["gradient"] / found["rollout"]
    return {"joints": joints, "batch": batch, **found, "ratio": ratio}


def beside_others(joints: int, batch: int, repeats: int) -> dict[str, float]:
    """Return milliseconds of a gradient: ours, by other loops, their native parts."""
    robot, *given = inputs_of(joints, batch)
    out = robot.rollout(*given, DT, **PLAIN)

    def ours() -> Any:
        return robot.rollout(*given, DT, out=out, **ASKED).gradients["tau"]

    runs = {"ours": ours, "native": native_steps(robot, *given)}
    for name, make in OTHERS.items():
        if importlib.util.find_spec(name) is not None:
            runs[name] = make(robot, *given)
            np.testing.assert_allclose(runs[name](), ours(), rtol=1e-6, atol=1e-9)
    found = {name: shortest(run, 1, time.perf_counter) for name, run in runs.items()}
    for _ in range(3 * repeats):  # in turns: each has its share of a bad moment
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            found[name] = min(found[name], time.perf_counter() - begin)
    return {"joints": joints, "batch": batch} | {n: 1e3 * x for n, x in found.items()}


@dataclass(frozen=True)
class Plans:
    """A planning problem, as both libraries are given it."""

    planner: Any
    q: Any
    tau: Any
    goal: Any
    given: dict[str, Any]
    """what Crocoddyl is told, as JSON"""

    def __call__(self, batch: int | None = None, **options: Any) -> Any:
        """Return plans; those of a batch have the same start."""
        q = self.q if batch is None else np.repeat(self.q[None], batch, axis=0)
        return self.planner(q, tau=self.tau, goal=self.goal, **options)


def squares(
    robot: Any, file: str, q: Any, goal: Any, tau: Any, weights: Any, **given: Any
) -> Plans:
    """Return the problem of least squares of x − goal and of tau."""
    dt, steps, effort = 0.01, 50, 1e-3
    running = np.array(weights)
    final = 10.0 * running

    def change(q: Any, qd: Any, goal: Any) -> Any:
        return np.concatenate([robot.difference(goal, q), qd])

    def cost(q: Any, qd: Any, tau: Any, goal: Any) -> Any:
        e = change(q, qd, goal)
        return dt * (e @ (running * e) + effort * (tau @ tau))

    def final_cost(q: Any, qd: Any, goal: Any) -> Any:
        e = change(q, qd, goal)
        return e @ (final * e)

    is_floating = given.get("floating", False)
    largest = np.full(robot.nv, np.inf)
    largest[: 6 * is_floating] = 0.0  # the base has no motors
    planner = ramidyn.control.ILQR(
        robot,
        steps,
        dt,
        cost,
        final_cost,
        inputs={"goal": robot.nq},
        limits=(-largest, largest),
        stabilize="none",  # as Crocoddyl's contacts without gains
    )
    tau = np.repeat(tau[None], steps, axis=0)
    told = {"urdf": file, "floating": False, "locked": [], "feet": [], **given}
    told |= {"dt": dt, "steps": steps, "effort": effort, "q": q.tolist()}
    told |= {"weights": running.tolist(), "final_weights": final.tolist()}
    told |= {"goal": goal.tolist(), "u": tau[:, 6 * is_floating :].tolist()}
    return Plans(planner, q, tau, goal, told)


def arm() -> Plans | None:
    """Return the problem of a Panda arm with locked fingers."""
    file = files().get("panda_description/panda.urdf")
    if file is None:
        return None
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    robot = ramidyn.load(file, mimic="independent", passive=False)
    robot = robot.lock(dict.fromkeys(fingers, 0.0))
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.3])
    weights, hold = [10.0] * 7 + [0.1] * 7, robot.gravity_forces(q)
    return squares(robot, str(file), q, q + 0.3, hold, weights, locked=fingers)


def quadruped() -> Plans | None:
    """Return the problem of a Go2 that moves its trunk, with pinned feet."""
    file = files().get("go2_description/go2.urdf")
    if file is None:
        return None
    robot = ramidyn.load(file, root="floating", passive=False)
    q = robot.neutral()
    q[2], q[7:] = 0.3, np.tile([0.0, 0.8, -1.5], 4)
    feet = [name for name in robot.frame_names if name.endswith("_foot")]
    axes = "local_world_aligned"
    J = np.vstack([robot.jacobian(q, f, expressed_in=axes)[:3] for f in feet])
    gravity = robot.gravity_forces(q)
    forces = np.linalg.lstsq(J[:, :6].T, gravity[:6], rcond=None)[0]
    hold = gravity - J.T @ forces
    hold[:6] = 0.0
    for foot in feet:
        robot = robot.pin(foot, q, joint="spherical")
    goal = np.array(q)
    goal[[0, 2]] += 0.03, 0.05
    weights = [100.0] * 6 + [1.0] * 12 + [0.1] * 18
    return squares(robot, str(file), q, goal, hold, weights, floating=True, feet=feet)


def crocoddyl_plans(problems: dict[str, Plans], folder: Path, repeats: int) -> Any:
    """Return the plans of Crocoddyl, from an environment that is made if missing."""
    python, mark = folder / "bin" / "python", folder / "is_complete"
    if not mark.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *CROCODDYL]
        subprocess.run(install, check=True)
        mark.touch()
    with tempfile.TemporaryDirectory() as work:
        source, target = Path(work) / "problems.json", Path(work) / "results.json"
        told = {n: {**p.given, "repeats": repeats} for n, p in problems.items()}
        source.write_text(json.dumps(told))
        script = Path(__file__).with_name("crocoddyl_plans.py")
        single = {**os.environ, "OMP_NUM_THREADS": "1"}
        single.pop("PYTHONPATH", None)
        run = [str(python), str(script), str(source), str(target)]
        subprocess.run(run, check=True, env=single)
        return json.loads(target.read_text())


def times_of_plans(plans: Plans, batch: int, repeats: int) -> dict[str, Any]:
    """Return the time of an iteration, of one problem and of a batch."""
    found = plans(tolerance=1e-13)
    one = shortest(lambda: plans(tolerance=1e-13), repeats) / found.iterations
    # All problems of a batch are at work in each of the first iterations.
    few = 3
    many = shortest(lambda: plans(batch, iterations=few), max(2, repeats // 5))
    return {
        "cost": float(found.cost),
        "iterations": found.iterations,
        "converged": bool(found.converged),
        "microseconds": 1e6 * one,
        "batch": batch,
        "microseconds_in_batch": 1e6 * many / few / batch,
    }


def compare(plans: Plans, theirs: dict[str, Any]) -> dict[str, float]:
    """Return how far the optimum is from Crocoddyl's: cost, q and tau."""
    found = plans(tolerance=1e-13)
    q = np.array(theirs["x"])[:, : plans.planner.robot.nq]
    u = np.array(theirs["u"])
    own = found.tau[:, -u.shape[1] :]
    return {
        "cost": abs(found.cost / theirs["cost"] - 1.0),
        "q": float(np.abs(found.q - q).max()),
        "tau": float(np.abs(own - u).max() / np.abs(u).max()),
    }


@contextmanager
def real_time() -> Generator[bool]:
    """Run before all other processes, as controllers do, where that is allowed."""
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, OSError):
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, *before)


def closed_loop(plans: Plans, periods: int) -> dict[str, Any]:
    """Return how long plans take in a loop of 1 kHz, by the clock."""
    planner, q, qd, tau = plans.planner, plans.q, np.zeros(7), plans.tau
    seconds: list[float] = []
    planner(q, qd, tau, goal=q, iterations=1)
    planner.robot.rollout(q, qd, tau[0], 1e-3, steps=1)
    with real_time() as is_first:
        for k in range(periods):
            goal = plans.q + 0.3 * np.sin(1e-3 * k)
            begin = time.perf_counter()
            found = planner(q, qd, tau, goal=goal, iterations=1)
            seconds.append(time.perf_counter() - begin)
            run = planner.robot.rollout(q, qd, found.tau[0], 1e-3, steps=1)
            q, qd, tau = run.q[-1], run.qd[-1], found.tau
    took = 1e6 * np.array(seconds[10:])
    parts = np.percentile(took, [50, 90, 99, 99.9, 100])
    counts, edges = np.histogram(took, [*range(0, 1001, 100), np.inf])
    names = ("median", "90", "99", "99.9", "most")
    return {
        **dict(zip(names, parts.tolist(), strict=True)),
        "edges": edges[1:].tolist(),
        "counts": counts.tolist(),
        "error": float(np.abs(q - goal).max()),
        "real_time": is_first,
    }


def histogram(found: dict[str, Any]) -> str:
    """Return the latencies as lines of text."""
    total = sum(found["counts"])
    lines = [
        f"  up to {edge:5.0f} us {count:6d} {'#' * round(60 * count / total)}"
        for edge, count in zip(found["edges"], found["counts"], strict=True)
        if count
    ]
    return "\n".join(lines)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--crocoddyl",
        type=Path,
        metavar="FOLDER",
        help="compare with Crocoddyl; its environment is made in this folder",
    )
    chosen = parser.parse_args()
    quick = chosen.quick
    warnings.simplefilter("ignore", RuntimeWarning)
    batch, repeats = (64, 2) if quick else (512, 10)
    sizes = SIZES[:1] if quick else SIZES
    found: dict[str, Any] = {"gradients": [], "others": [], "plans": {}}
    for n in sizes:
        r = gradients(n, batch, repeats)
        found["gradients"].append(r)
        if not chosen.json:
            print(
                f"chain of {n}, {batch} states, {STEPS} steps: {r['rollout']:.1f} ms, "
                f"with its gradient {r['gradient']:.1f} ms: {r['ratio']:.2f} x "
                f"({MOST:g} promised)",
                flush=True,
            )
    for n in (sizes[0], sizes[-1])[: 1 if quick else 2]:
        for states in (1, 8) if quick else (1, 8, 64, 512):
            r = beside_others(n, states, repeats)
            found["others"].append(r)
            if not chosen.json:
                times = ", ".join(
                    f"{name} {r[name]:.2f} ms ({r[name] / r['ours']:.1f} x)"
                    for name in ("native", *OTHERS)
                    if name in r
                )
                print(
                    f"  {n} joints, {states} states: ours {r['ours']:.2f} ms, {times}"
                )
    made = {"panda": arm(), "go2": None if quick else quadruped()}
    problems = {name: p for name, p in made.items() if p is not None}
    theirs: Any = {}
    if chosen.crocoddyl:
        theirs = crocoddyl_plans(problems, chosen.crocoddyl, repeats)
    for name, problem in problems.items():
        r = times_of_plans(problem, 16 if quick else 256, repeats)
        found["plans"][name] = r
        lines = [
            f"iLQR of {name}, 50 steps: {r['microseconds']:.0f} us an iteration of one "
            f"problem, {r['microseconds_in_batch']:.0f} of one in {r['batch']} "
            f"({r['iterations']} iterations)"
        ]
        if name in theirs:
            r["crocoddyl"] = theirs[name]["microseconds"]
            r["apart"] = compare(problem, theirs[name])
            one, many = (
                r["crocoddyl"] / r[k] for k in ("microseconds", "microseconds_in_batch")
            )
            apart = ", ".join(f"{k} {x:.1e}" for k, x in r["apart"].items())
            lines.append(
                f"  Crocoddyl {r['crocoddyl']:.0f} us: {one:.1f} x ({ONE:g} promised), "
                f"in a batch {many:.1f} x ({MANY:g} promised); optima apart: {apart}"
            )
            assert max(r["apart"].values()) < SAME, apart
        if not chosen.json:
            print("\n".join(lines), flush=True)
    if "panda" in problems:
        r = closed_loop(problems["panda"], 100 if quick else 5000)
        found["control"] = r
        if not chosen.json:
            print(
                f"control in a closed loop{' of real time' * r['real_time']}: "
                f"{r['median']:.0f} us a plan (median), "
                f"{r['99']:.0f} (99 %), {r['99.9']:.0f} (99.9 %), {r['most']:.0f} (all)"
            )
            print(histogram(r))
    report(found, chosen.json, *OTHERS)


if __name__ == "__main__":
    main()
