"""Rollouts: many states, many steps, one call; see `Robot.rollout`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy.typing as npt

from ramidyn.errors import ArgumentError
from ramidyn.simulation.arguments import Record, check_arguments
from ramidyn.simulation.compiled_step import compiled_step
from ramidyn.simulation.run import Run
from ramidyn.simulation.run_warnings import warn_of_divergence, warn_of_passed_limits
from ramidyn.simulation.step_length import warn_of_long_steps
from ramidyn.simulation.traced_step import Traced

if TYPE_CHECKING:
    from ramidyn.robot import Robot


def rollout(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None,
    tau: npt.ArrayLike | None,
    dt: float,
    *,
    steps: int | None,
    integrator: str,
    policy: Traced | None,
    inputs: Mapping[str, npt.ArrayLike] | None,
    record: Record,
    total: Mapping[str, Traced] | None,
    every: int,
    until: Traced | None,
    restart: bool,
    parameters: Mapping[str, npt.ArrayLike] | None,
    stabilize: str,
    rate: float,
    start: float,
    dtype: str,
    threads: int,
    out: Run | None,
) -> Run:
    """Roll states of a robot out; see `Robot.rollout`."""
    if out is not None and not isinstance(out, Run):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"out is {out!r}; expected a Run, as rollout returns")
    arguments = check_arguments(
        robot,
        "rollout",
        q,
        qd,
        tau,
        dt,
        steps=steps,
        integrator=integrator,
        policy=policy,
        inputs=inputs,
        record=record,
        total=total,
        every=every,
        until=until,
        restart=restart,
        parameters=parameters,
        stabilize=stabilize,
        rate=rate,
        start=start,
        dtype=dtype,
        threads=threads,
    )
    compiled = compiled_step(robot, arguments.options)
    run = compiled.run(arguments.values, arguments.steps, every, out)
    warn_of_divergence(run, integrator)
    runs = compiled.runs
    runs[dt] += 1
    if runs[dt].bit_count() == 1:  # the 1st, 2nd, 4th, ...: it takes as long as a call
        warn_of_long_steps(compiled, arguments, run)
    warn_of_passed_limits(run)
    return run
