"""Rollouts: many states, many steps, one call; see `Robot.rollout`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ramidyn.errors import ArgumentError
from ramidyn.simulation.arguments import repeated_arguments
from ramidyn.simulation.compiled_step import compiled_step
from ramidyn.simulation.gradients import checked_gradient, checked_tangents
from ramidyn.simulation.run import Run
from ramidyn.simulation.run_warnings import (
    warn_of_divergence,
    warn_of_overlaps,
    warn_of_passed_limits,
)
from ramidyn.simulation.step_length import warn_of_long_steps

if TYPE_CHECKING:
    from ramidyn.robot import Robot


def rollout(
    robot: Robot,
    *state: Any,
    gradient_of: object,
    wrt: object,
    tangents: object,
    out: Run | None,
    **options: Any,
) -> Run:
    """Roll states of a robot out; see `Robot.rollout`."""
    if out is not None and not isinstance(out, Run):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"out is {out!r}; expected a Run, as rollout returns")
    # There is no derivative by a table.
    options["has_tables"] = gradient_of is None and tangents is None
    arguments = repeated_arguments(robot, "rollout", state, options)
    compiled = compiled_step(robot, arguments.options)
    gradient = checked_gradient(arguments, compiled.step, gradient_of, wrt)
    steps, every = arguments.steps, arguments.every
    run = compiled.run(arguments.values, steps, every, out, gradient)
    if tangents is not None:
        moved = checked_tangents(robot, compiled.step, tangents)
        changes = compiled.changes(arguments.values, steps, every, moved)
        run = replace(run, tangents=changes)
    warn_of_divergence(run, arguments.options.integrator)
    is_examined = compiled.is_examined(arguments.values["dt"])
    if is_examined:
        warn_of_long_steps(compiled, arguments, run)
        warn_of_overlaps(run, arguments.values)
    warn_of_passed_limits(run, is_examined)
    return run
