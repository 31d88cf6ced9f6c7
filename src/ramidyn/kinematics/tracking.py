"""Targets that move: one configuration for each time step, from the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ramidyn.compiler import compile
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.function import Function
from ramidyn.kinematics import quantities
from ramidyn.kinematics.goals import KINDS, describe, row_count
from ramidyn.kinematics.inverse_kinematics import (
    Key,
    Targets,
    checked_targets,
    fixed_names,
    inverse_kinematics,
    solver_of,
    structure_of,
    terms_of,
    value_at,
)
from ramidyn.kinematics.solver import KinematicSolution, Solver
from ramidyn.mechanism.state_arrays import normalized, state_rows
from ramidyn.simulation.scan import scan
from ramidyn.tracing.context import finite_number
from ramidyn.tracing.quantity import Quantity

if TYPE_CHECKING:
    from ramidyn.robot import Robot

UNLIMITED = 1e9
"""[rad/s, m/s] in place of infinity"""


def track(
    robot: Robot,
    targets: Targets,
    q_start: npt.ArrayLike | None = None,
    *,
    dt: float,
    constraints: Targets | Iterable[Key] = (),
    fixed: Iterable[str] = (),
    weights: Mapping[Key, npt.ArrayLike] | None = None,
    velocity_limits: npt.ArrayLike | None = None,
    smoothness: float = 0.0,
    iterations: int = 3,
    tolerance: float | tuple[float, float] = (1e-4, 1e-3),
    threads: int = 1,
) -> KinematicSolution:
    """Return configurations along trajectories; see `Robot.track`."""
    if not isinstance(targets, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"targets is {targets!r}; expected a dictionary, such as "
            "{'hand': poses of the hand}"
        )
    dt = finite_number("dt", dt, "a time step in seconds, more than 0", lambda x: x > 0)
    smoothness = finite_number("smoothness", smoothness, "0 or more", lambda x: x >= 0)
    if not isinstance(iterations, int) or iterations < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"iterations is {iterations!r}; expected 1 or more")
    names = fixed_names(fixed)
    solver, scale = solver_of(robot, targets, constraints, names, weights, threads)
    given = list(targets.values())
    is_held = not isinstance(constraints, Mapping)
    if not is_held:
        given += cast("Targets", constraints).values()
    clips, length, arrays = _clips(solver, given)
    start = _start(
        robot, solver, q_start, arrays, constraints, weights, clips, tolerance
    )
    if is_held:
        first = len(solver.structure.goals)
        held = [value_at(robot, start, g) for g in solver.goals[first:]]
        more, _ = checked_targets(solver, held, first)
        for x in more:
            arrays.append(np.array(np.broadcast_to(x[:, None], _long(x, length))))
    return _follow(
        solver,
        start if clips is not None else start[0],
        arrays if clips is not None else [x[0] for x in arrays],
        scale,
        (dt, _velocities(robot, velocity_limits), smoothness),
        iterations,
        length,
        solver.tolerance(tolerance),
    )


def kinematic_step(
    robot: Robot,
    goals: Key | Iterable[Key],
    *,
    constraints: Iterable[Key] = (),
    fixed: Iterable[str] = (),
    weights: Mapping[Key, npt.ArrayLike] | None = None,
    iterations: int = 1,
) -> Quantity:
    """Return one step of differential inverse kinematics, to be compiled or exported.

    It is a quantity for `ramidyn.compile`, `export_c` and `export_library`, and one
    step of `Robot.track`. Its inputs are ``q``; ``target0``, ``target1``, ... of the
    goals and then of the constraints; ``dt`` [s]; ``velocity_limits``, (nv,) [rad/s,
    m/s]; and ``smoothness``, the weight of standing still. Its outputs are ``q`` after
    the step, within limits, and ``qd``, the velocity that leads there. Compiled, it may
    be called by policies and in kernels.

    Args:
        robot: the robot that moves.
        goals: what should be reached; see `Robot.inverse_kinematics`.
        constraints: goals that hold exactly.
        fixed: names of joints that do not move.
        weights: of goals, constants of the code.
        iterations: how many, from q.

    >>> import numpy as np, ramidyn
    >>> robot = ramidyn.robots.chain(6)
    >>> tip = ramidyn.tasks.Task("body5", "position")
    >>> quantity = ramidyn.tasks.kinematic_step(robot, tip, iterations=3)
    >>> step = ramidyn.compile(quantity, robot)
    >>> q = np.full(6, 0.3)
    >>> target = robot.pose(q, "body5")[:3, 3] + [0.0, 0.0, 0.001]
    >>> after = step(q, target, 0.01, np.full(6, 3.0), 0.0)
    >>> bool(np.linalg.norm(robot.pose(after.q, "body5")[:3, 3] - target) < 1e-5)
    True
    """
    if not hasattr(robot, "model"):
        raise ArgumentError(f"robot is {robot!r}; expected a Robot")
    if not isinstance(goals, (str, *KINDS, Iterable)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"goals is {goals!r}; expected a goal or a list of goals")
    if not (weights is None or isinstance(weights, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"weights is {weights!r}; expected a dictionary by goal")
    given = (goals,) if isinstance(goals, (str, *KINDS)) else tuple(goals)
    if not isinstance(iterations, int) or iterations < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"iterations is {iterations!r}; expected 1 or more")
    terms, scales = terms_of(robot, given, weights or {})
    rest = iter([] if scales is None else scales.tolist())
    constant = tuple(
        replace(t, constants=tuple(islice(rest, row_count(t.goal, robot.model))))
        if t.is_weighted
        else t
        for t in terms
    )
    hard, names = tuple(constraints), fixed_names(fixed)
    structure = structure_of(robot, constant, hard, names)
    return quantities.kinematic_step(structure=structure, iterations=iterations)


def _long(x: Array, length: int) -> tuple[int, ...]:
    return (x.shape[0], length, *x.shape[1:])


def _clips(solver: Solver, given: list[Any]) -> tuple[int | None, int, list[Array]]:
    """Return the number of clips, of frames, and targets (clips, frames, ...).

    None is one clip without an axis of its own.
    """
    found: list[tuple[Array, int]] = []
    for goal, shape, value in zip(solver.goals, solver.shapes, given, strict=False):
        if shape is None:
            continue
        x = np.asarray(value, dtype=float)
        is_whole = shape == (3,) and x.shape[-2:] == (4, 4)
        own = 2 if is_whole else len(shape)
        axes = x.ndim - own
        if axes not in (0, 1, 2):
            raise ShapeError(
                f"target of {describe(goal)} has shape {x.shape}; expected "
                f"{shape}, with an axis for time in front, and one for clips"
            )
        flat = np.reshape(x, (-1, *x.shape[axes:]))
        checked, _ = checked_targets(solver, [flat], solver.goals.index(goal))
        found.append((np.reshape(checked[0], (*x.shape[:axes], *shape)), axes))
    frames = {x.shape[axes - 1] for x, axes in found if axes}
    clips = {x.shape[0] for x, axes in found if axes == 2}
    if len(frames) != 1 or len(clips) > 1:
        raise ShapeError(
            f"targets have {sorted(frames)} frames and {sorted(clips)} clips; expected "
            "one number of frames, and of clips, in all targets that have such an axis"
        )
    (length,), n = frames, clips.pop() if clips else 1
    out: list[Array] = []
    for x, axes in found:
        core = x.shape[axes:]
        out.append(np.array(np.broadcast_to(x, (n, length, *core))))
    return (n if any(axes == 2 for _, axes in found) else None), length, out


def _start(
    robot: Robot,
    solver: Solver,
    q_start: Any,
    arrays: list[Array],
    constraints: Any,
    weights: Any,
    clips: int | None,
    tolerance: Any,
) -> Array:
    """Return where each clip starts, (clips, nq): given, or solved for frame 0."""
    n = clips or 1
    if q_start is not None:
        if np.ndim(q_start) < 2:
            rows = normalized(robot, "q_start", q_start)[None]
        else:
            rows = robot.normalize(state_rows("q_start", q_start, robot.nq))
        if len(rows) not in (1, n):
            raise ShapeError(
                f"q_start has {len(rows)} rows; expected one, or one for each of {n} "
                "clips"
            )
        return np.array(np.broadcast_to(rows, (n, robot.nq)))
    count = len(solver.structure.goals)
    values = [x[:, 0] for x in arrays]
    places = iter(values)
    all_values = [next(places) if shape else None for shape in solver.shapes]
    first = dict(zip(solver.keys, all_values[:count], strict=True))
    if isinstance(constraints, Mapping):
        hard = dict(zip(cast("Targets", constraints), all_values[count:], strict=True))
    else:
        hard = constraints
    found = inverse_kinematics(
        robot,
        first,
        constraints=hard,
        fixed=solver.structure.fixed,
        weights=weights,
        tolerance=tolerance,
        threads=solver.threads,
    )
    return np.array(np.broadcast_to(found.q, (n, robot.nq)))


def _velocities(robot: Robot, given: Any) -> Array:
    limits = robot.limits.velocity if given is None else given
    try:
        x = np.array(np.broadcast_to(np.asarray(limits, dtype=float), (robot.nv,)))
    except (TypeError, ValueError):
        x = np.full(robot.nv, np.nan)
    if not (x > 0.0).all():
        raise ShapeError(
            f"velocity_limits is {given!r}; expected {robot.nv} numbers, more than 0"
        )
    return np.minimum(x, UNLIMITED)


def _follow(
    solver: Solver,
    start: Array,
    targets: list[Array],
    weights: Array | None,
    numbers: tuple[float, Array, float],
    iterations: int,
    length: int,
    tolerances: Array,
) -> KinematicSolution:
    """Run the steps in native code, and evaluate what they reach."""
    step = compiled_step(solver, iterations)
    names = [f"target{k}" for k, s in enumerate(solver.shapes) if s is not None]
    run = scan(step, carry=("q",), length=length, per_step=names, record=("q",))
    further = [] if weights is None else [weights]
    q: Array = run(start, *targets, *further, *numbers).q
    flat: Array = np.reshape(q, (-1, q.shape[-1]))
    axes = q.ndim - 1
    further = [*(np.reshape(x, (-1, *x.shape[axes:])) for x in targets), *further]
    found = solver.judge(flat, further, tolerances)
    shape = q.shape[:-1]
    count = np.full(shape, iterations)
    return KinematicSolution(
        q,
        np.reshape(found.success, shape),
        count,
        np.ones(shape, int),
        np.reshape(found.parts, (*shape, -1)),
        np.reshape(found.gap, shape),
        solver,
    )


def compiled_step(solver: Solver, iterations: int) -> Function:
    """Return the compiled time step; it is kept."""
    if iterations not in solver.steps:
        wanted = quantities.kinematic_step(
            structure=solver.structure, iterations=iterations
        )
        solver.steps[iterations] = compile(wanted, solver.robot, threads=solver.threads)
    return solver.steps[iterations]
