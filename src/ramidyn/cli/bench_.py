"""``ramidyn bench``: time calls and batches, with ratios from a single run."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import click
import numpy as np

from ramidyn.cli.arguments import RobotFile, robot_argument
from ramidyn.cli.peers import Peer, PeerError, State, names_in, peer
from ramidyn.cli.screen import (
    best_of,
    call_time,
    console,
    json_option,
    machine_line,
    paragraph,
    print_json,
    progress,
    show_warnings,
    table,
)
from ramidyn.cli.selfcheck import relative, state_of
from ramidyn.compiler import compile
from ramidyn.errors import ModelError
from ramidyn.quantities import dynamics, mass_matrix
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import Quantity
from ramidyn.view.blocks import seconds

STEPS, DT = 50, 1e-3
"""of rollouts"""
QUANTITIES = (
    dynamics.inverse_dynamics,
    mass_matrix.mass_matrix,
    dynamics.forward_dynamics,
)


@click.command("bench")
@robot_argument
@click.option("--against", help="pinocchio,mujoco (default: those installed).")
@click.option("--batch", default=4096, show_default=True, help="Batch size.")
@click.option("--quick", is_flag=True, help="Shorter timing.")
@json_option
def command(
    robot: str,
    against: str | None,
    batch: int,
    quick: bool,
    as_json: bool,
    **options: str,
) -> None:
    """Time calls and batches on one core, against Pinocchio and MuJoCo.

    One state per call from Python, with a new result each time; a batch in one call,
    its outputs allocated beforehand, where the others need a loop in Python; and
    semi-implicit steps of a rollout. All in one run; results are compared first.
    """
    duration = 0.05 if quick else 0.5
    source = RobotFile(robot, **{**options, "mimic": "independent"})
    ours = source.tree()
    first = first_answer(source)
    others, unread = _peers(source, names_in(against, source))
    rows: list[dict[str, Any]] = []
    size = max(batch, 1)
    timings = {q.name: partial(_row, q.name, ours, others, size) for q in QUANTITIES}
    timings["rollout, a step"] = partial(_rollout_row, ours, others, size)
    with progress(len(timings)) as step:
        for name, timing in timings.items():
            step(f"timing {name}")
            try:
                rows.append(timing(duration))
            except ModelError as error:
                unread[name] = str(error)
    data = {"robot": ours.name, "nv": ours.nv, "batch": batch, "first_answer": first}
    packages = ("pin", "mujoco")
    if as_json:
        machine = machine_line(*packages)
        print_json({**data, "rows": rows, "unread": unread, "machine": machine})
        return
    show_warnings(ours.warnings)
    _show(ours, rows, [p.name for p in others], batch)
    for name, reason in unread.items():
        paragraph(f"{name}: {reason}", "yellow")
    paragraph(
        f"\nfirst answer (load, trace, compile {first['quantity']}, one state): "
        f"{seconds(first['cold'])} cold, {seconds(first['warm'])} from the cache"
    )
    paragraph(machine_line(*packages), "dim")


def _peers(source: RobotFile, names: list[str]) -> tuple[list[Peer], dict[str, str]]:
    found: list[Peer] = []
    unread: dict[str, str] = {}
    for name in names:
        try:
            found.append(peer(name, source))
        except PeerError as error:
            unread[name] = str(error)
    return found, unread


@contextmanager
def cache_in(folder: str) -> Generator[None]:
    """Keep compiled code in another folder for a while."""
    before = os.environ.get("RAMIDYN_CACHE_DIR")
    os.environ["RAMIDYN_CACHE_DIR"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["RAMIDYN_CACHE_DIR"]
        else:
            os.environ["RAMIDYN_CACHE_DIR"] = before


def first_answer(source: RobotFile) -> dict[str, Any]:
    """Return the seconds from a file to the first result, cold and from the cache.

    Of forward dynamics; of inverse dynamics where the mass matrix is singular.
    """
    try:
        return _first(source, dynamics.forward_dynamics)
    except ModelError:
        return _first(source, dynamics.inverse_dynamics)


def _first(source: RobotFile, quantity: Quantity) -> dict[str, Any]:
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder, cache_in(folder):
        for _ in range(2):
            start = time.perf_counter()
            robot = source.tree()
            f = compile(quantity, robot)
            f(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
            times.append(time.perf_counter() - start)
    return {"quantity": quantity.name, "cold": times[0], "warm": times[1]}


def _row(
    name: str, robot: Robot, others: list[Peer], batch: int, duration: float
) -> dict[str, Any]:
    s = state_of(robot, batch, np.random.default_rng(0))
    row: dict[str, Any] = {"quantity": name, **our_times(robot, name, s, duration)}
    for other in others:
        state = state_of(other.robot, 8, np.random.default_rng(0))
        error = answer_error(other, name, state)
        time_ = peer_time(other, name, state[0], duration)
        if time_ is not None:
            row[other.name] = {"call": time_, "error": error}
    return row


def _rollout_row(
    robot: Robot, others: list[Peer], batch: int, duration: float
) -> dict[str, Any]:
    """Return the time of a step, of one state and of a batch."""

    def step_time(s: State, steps: int) -> float:
        tau = np.repeat(s.tau[:, None], steps, axis=1)
        run = robot.rollout(s.q, s.qd, tau, DT)
        call = partial(robot.rollout, s.q, s.qd, tau, DT, out=run)
        return best_of(call, duration) / (len(s) * steps)

    rng = np.random.default_rng(0)
    row: dict[str, Any] = {
        "quantity": "rollout, a step",
        "call": step_time(state_of(robot, 1, rng), 4 * STEPS),
        "state": step_time(state_of(robot, batch, rng), STEPS),
    }
    for other in others:
        s = state_of(other.robot, 8, np.random.default_rng(0))
        roll = other.roller(s, STEPS, DT)
        if roll is not None:
            tau = np.repeat(s.tau[:, None], STEPS, axis=1)
            ours = other.robot.rollout(s.q, s.qd, tau, DT)
            error = relative(ours.q[:, 1:], roll(tau))
            time_ = best_of(partial(roll, tau), duration) / (len(s) * STEPS)
            row[other.name] = {"call": time_, "error": error}
    return row


def our_times(
    robot: Robot, name: str, s: State, duration: float, dtype: str = "float64"
) -> dict[str, float]:
    """Return the time of one call, with a new result, and of one state in a batch."""
    quantity = {q.name: q for q in QUANTITIES}[name]
    f = compile(quantity, robot, dtype=dtype)
    names = [v.name for v in f.program.inputs]
    inputs = [np.ascontiguousarray(getattr(s, n), dtype=dtype) for n in names]
    one = [np.ascontiguousarray(x[0]) for x in inputs]
    out = f(*inputs)
    return {
        "call": call_time(partial(f, *one), duration),
        "state": best_of(partial(f, *inputs, out=out), duration) / len(s),
    }


def _show(robot: Robot, rows: list[dict[str, Any]], names: list[str], n: int) -> None:
    columns = ["quantity", "one call", f"a state of {n:,}"]
    for name in names:
        columns += [name, "call x", "batch x", "error"]
    shown: list[list[str]] = []
    for r in rows:
        cells = [r["quantity"], seconds(r["call"]), seconds(r["state"])]
        for name in names:
            if name in r:
                other = r[name]["call"]
                cells += [seconds(other), f"{other / r['call']:.1f}"]
                cells += [f"{other / r['state']:.0f}", f"{r[name]['error']:.0e}"]
            else:
                cells += ["-"] * 4
        shown.append(cells)
    title = f"{robot.name}: nv {robot.nv}, one core, float64"
    console().print(table(title, columns, shown))
    if names:
        console().print("x: how many times faster Ramidyn is in this run")


# ------------------------------------------------------------ times of other libraries


def answer_error(other: Peer, name: str, state: State) -> float:
    """Return how far apart we are on some states, by the largest entry."""
    answer = next(a for a in other.answers(()) if a.quantity.name == name)
    f = compile(answer.quantity, other.robot)
    ours = f(*(getattr(state, v.name) for v in f.program.inputs))
    theirs = np.array([answer.theirs(state[k]) for k in range(len(state))])
    return relative(ours, theirs)


def peer_time(other: Peer, name: str, state: State, duration: float) -> float | None:
    """Return the time of one call of another library, from Python."""
    call = other.caller(name, state)
    return None if call is None else call_time(call, duration)
