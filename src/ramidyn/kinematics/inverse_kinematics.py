"""Inverse kinematics: the arguments of a call, checked and made ready for a solver."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.concurrency import made_once
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.function import CallOptions
from ramidyn.kinematics.goals import (
    KINDS,
    CenterOfMass,
    Direction,
    Goal,
    Posture,
    RelativePose,
    Residual,
    describe,
    frames_of,
    parts_of,
    posture_entries,
    row_count,
)
from ramidyn.kinematics.solver import Given, Key, KinematicSolution, Solver
from ramidyn.kinematics.structure import Structure, Term
from ramidyn.mechanism.state_arrays import (
    normalized,
    state_rows,
    vector,
    with_unit_quaternions,
)

if TYPE_CHECKING:
    from ramidyn.robot import Robot

Targets = Mapping[Key, npt.ArrayLike | None]
ORTHOGONAL = 1e-6
"""largest entry of R Rᵀ − 1 in a target"""
POSTURE = 1e-3
"""weight of a posture"""


def inverse_kinematics(
    robot: Robot,
    targets: Targets,
    q_guess: npt.ArrayLike | None = None,
    *,
    constraints: Targets | Iterable[Key] = (),
    fixed: Mapping[str, npt.ArrayLike] | Iterable[str] = (),
    weights: Mapping[Key, npt.ArrayLike] | None = None,
    tolerance: float | tuple[float, float] = (1e-4, 1e-3),
    starts: int = 100,
    rng: np.random.Generator | int = 0,
    threads: int = 1,
) -> KinematicSolution:
    """Return configurations that reach targets; see `Robot.inverse_kinematics`."""
    if not isinstance(targets, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"targets is {targets!r}; expected a dictionary, such as "
            "{'hand': pose of the hand}"
        )
    if not isinstance(starts, int) or starts < 1 or isinstance(starts, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"starts is {starts!r}; expected an integer, 1 or more")
    names = fixed_names(fixed)
    solver, scale = solver_of(robot, targets, constraints, names, weights, threads)
    batch, guess = _guess(robot, solver, q_guess)
    if isinstance(fixed, Mapping):
        values = cast("Mapping[str, npt.ArrayLike]", fixed)
        batch, guess = _with_values(robot, guess, batch, values)
    given: list[Any] = list(targets.values())
    if isinstance(constraints, Mapping):
        given += cast("Targets", constraints).values()
    else:
        first = len(solver.structure.goals)
        given += [value_at(robot, guess, g) for g in solver.goals[first:]]
    arrays, is_batched = checked_targets(solver, given)
    sizes = {len(x) for x, b in zip(arrays, is_batched, strict=True) if b}
    if batch:
        sizes.add(len(guess))
    if len(sizes) > 1:
        raise ShapeError(
            f"batch sizes differ: {', '.join(map(str, sorted(sizes)))}; expected one "
            "size for all targets and guesses that have a batch axis"
        )
    tolerances = solver.tolerance(tolerance)
    origin = solver.origin(rng)
    checked = Given(arrays, is_batched, scale)
    if not sizes:
        return solver.solve_one(guess, checked, tolerances, starts, origin)
    (n,) = sizes
    rows = np.array(np.broadcast_to(guess, (n, robot.nq)))
    return solver.solve_batch(rows, checked, tolerances, starts, origin)


def fixed_names(fixed: Any) -> tuple[str, ...]:
    """Return the names of joints that do not move."""
    if isinstance(fixed, str) or not isinstance(fixed, Iterable):
        raise ArgumentError(
            f"fixed is {fixed!r}; expected a list of joint names, or values by name"
        )
    return tuple(cast("Iterable[str]", fixed))


def _goal(key: Any) -> Goal:
    if isinstance(key, str):
        return Task(key)
    if isinstance(key, KINDS):
        return key
    raise ArgumentError(
        f"{key!r} is not a goal; expected the name of a frame, or a Task, Direction, "
        "RelativePose, CenterOfMass, Posture or Residual of ramidyn.tasks"
    )


def solver_of(
    robot: Robot,
    targets: Targets,
    constraints: Any,
    fixed: tuple[str, ...],
    weights: Mapping[Key, npt.ArrayLike] | None,
    threads: int,
) -> tuple[Solver, Array | None]:
    """Return the solver of a structure, and the weights of its rows."""
    keys, hard = tuple(targets), tuple(constraints)
    # Kept by the robot: solvers hold the robot, and are collected with it.
    known: dict[Any, Solver] = made_once(robot.__dict__, "_kinematic_solvers", dict)
    plain = (keys, hard, fixed, threads)
    if not weights and type(threads) is int and plain in known:
        found = known[plain]
        return found, found.default_weights
    CallOptions.checked("float64", None, threads, "batch_first")
    for key in weights or {}:
        if key not in keys:
            raise ArgumentError(
                f"weights has {key!r}, which is not one of the targets: "
                + ", ".join(map(repr, keys))
            )
    goals, scales = terms_of(robot, keys, weights or {})
    whole = (keys, goals, hard, fixed, threads)
    found = known.get(whole)
    if found is None:
        structure = structure_of(robot, goals, hard, fixed)
        found = known[whole] = Solver(robot, keys, structure, threads)
    if not weights:
        found.default_weights = scales
        known[plain] = found
    return found, scales


def structure_of(
    robot: Robot, goals: tuple[Term, ...], hard: tuple[Key, ...], fixed: tuple[str, ...]
) -> Structure:
    """Return the structure of a problem, its names checked."""
    equations = tuple(Term(_goal(key)) for key in hard)
    _check_names(robot, [t.goal for t in (*goals, *equations)], fixed)
    loops: tuple[int, ...] = ()
    if robot.model.loops:
        from ramidyn.mechanism.states import rank  # noqa: PLC0415  only with loops

        found = rank(robot)
        loops = tuple(r for r in range(found.rows) if r not in found.dropped)
    return Structure(goals, equations, fixed, loops)


def terms_of(
    robot: Robot, keys: tuple[Key, ...], weights: Mapping[Key, npt.ArrayLike]
) -> tuple[tuple[Term, ...], Array | None]:
    """Return the goals, and the weights of rows that have any."""
    terms: list[Term] = []
    scales: list[Array] = []
    for key in keys:
        goal = _goal(key)
        given: Any = weights.get(key, POSTURE if isinstance(goal, Posture) else None)
        if given is None:
            terms.append(Term(goal))
            continue
        own = _row_weights(robot, goal, key, given)
        parts = parts_of(goal, robot.model)
        is_uniform = all(np.ptp(own[list(part.rows)]) == 0.0 for part in parts)
        terms.append(Term(goal, True, is_uniform))
        scales.append(own)
    return tuple(terms), np.concatenate(scales) if scales else None


def _row_weights(robot: Robot, goal: Goal, key: Key, given: Any) -> Array:
    """Return a weight for each row of a goal."""
    parts, rows = parts_of(goal, robot.model), row_count(goal, robot.model)
    try:
        w = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        w = np.full(0, np.nan)
    if w.shape not in ((), (len(parts),), (rows,)) or not (
        np.isfinite(w).all() and (w >= 0.0).all()
    ):
        raise ArgumentError(
            f"weight of {key!r} is {given!r}; expected a number, {len(parts)} for its "
            f"parts, or {rows} for its rows; 0 or more"
        )
    if w.shape == (len(parts),):
        out = np.empty(rows)
        for x, part in zip(w, parts, strict=True):
            out[list(part.rows)] = x
        return out
    return np.array(np.broadcast_to(w, (rows,)))


def _check_names(robot: Robot, goals: list[Goal], fixed: tuple[str, ...]) -> None:
    """Raise an error if a frame or joint does not exist, or nothing may move."""
    for goal in goals:
        for name in frames_of(goal):
            robot.model.frame(name)
        if isinstance(goal, Posture):
            posture_entries(goal, robot.model)
    moving = {j.name for j in robot.model.joints} - {
        robot.model.joint(name).name for name in fixed
    }
    if not moving:
        raise ArgumentError(f"all joints of robot {robot.name!r} are fixed")
    if not any(not isinstance(goal, Posture) for goal in goals):
        raise ArgumentError("targets has no goal besides a Posture; expected one")


# ------------------------------------------------------------ configurations


def _guess(robot: Robot, solver: Solver, q_guess: Any) -> tuple[bool, Array]:
    """Return whether guesses are a batch, and guesses within limits."""
    if q_guess is None:
        return False, solver.guess
    if np.ndim(q_guess) < 2:
        q = normalized(robot, "q_guess", q_guess)
        is_batch = False
    else:
        q = with_unit_quaternions(robot, state_rows("q_guess", q_guess, robot.nq))
        is_batch = True
        if not np.isfinite(q).all():
            i = int(np.flatnonzero(~np.isfinite(q).all(axis=1))[0])
            normalized(robot, f"q_guess[{i}]", np.asarray(q_guess)[i])  # raises
    clamped = robot.clamp(q)
    for name in solver.structure.fixed:
        j = robot.model.joint(name)
        clamped[..., j.q_slice] = q[..., j.q_slice]
    return is_batch, clamped


def _with_values(
    robot: Robot, guess: Array, is_batch: bool, values: Mapping[str, npt.ArrayLike]
) -> tuple[bool, Array]:
    """Return guesses with the values of fixed joints, and whether they are a batch."""
    for name, value in values.items():
        j = robot.model.joint(name)
        n = np.size(value) // j.nq
        if n <= 1:
            x: Array = vector(f"fixed[{name!r}]", value, j.nq)
        else:
            x = state_rows(f"fixed[{name!r}]", np.reshape(value, (n, -1)), j.nq)
            if is_batch and len(guess) not in (1, n):
                raise ShapeError(
                    f"batch sizes differ: {len(guess)}, {n}; expected one size for all "
                    "targets and guesses that have a batch axis"
                )
            is_batch = True
            guess = np.array(np.broadcast_to(guess, (n, robot.nq)))
        guess = np.array(guess)
        guess[..., j.q_slice] = x
    return is_batch, with_unit_quaternions(robot, guess)


# ------------------------------------------------------------ targets


def checked_targets(
    solver: Solver, given: list[Any], first: int = 0
) -> tuple[list[Array], list[bool]]:
    """Return targets of goals as arrays, and which have a batch axis."""
    arrays: list[Array] = []
    is_batched: list[bool] = []
    goals, shapes = solver.goals[first:], solver.shapes[first:]
    for goal, shape, value in zip(goals, shapes, given, strict=False):
        if shape is None:
            if value is not None:
                raise ArgumentError(
                    f"target of {describe(goal)} is {value!r}; expected None, because "
                    "the Residual declares no target"
                )
            continue
        x = _target(goal, shape, value)
        arrays.append(x)
        is_batched.append(x.ndim > len(shape))
    return arrays, is_batched


def _target(goal: Goal, shape: tuple[int, ...], value: Any) -> Array:
    """Return a target in the shape that the kernels take."""
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        x = np.zeros(())
    own = x.shape[-len(shape) :]
    if (
        own != shape
        and x.shape[-2:] == (4, 4)
        and isinstance(goal, Task | RelativePose)
    ):
        x = x[..., :3, 3] if shape == (3,) else x[..., :3, :3]
        own = shape
    if own != shape or x.ndim > len(shape) + 1:
        or_pose = " or (4, 4)" if isinstance(goal, Task | RelativePose) else ""
        or_pose = "" if shape == (4, 4) else or_pose
        raise ShapeError(
            f"target of {describe(goal)} has shape {x.shape}; expected {shape}"
            f"{or_pose}, or that with a batch axis in front"
        )
    is_pose = shape in ((3, 3), (4, 4)) and not isinstance(goal, Residual)
    if is_pose and x.shape == shape:
        _check_rotation(goal, x.tolist())  # 2 us; with arrays of NumPy 20
        return x
    if not np.isfinite(x).all():
        raise ShapeError(f"target of {describe(goal)} has non-finite entries")
    if is_pose:
        _check_rotation(goal, np.moveaxis(x, 0, -1))
    if isinstance(goal, Direction):
        size = np.sqrt((x * x).sum(axis=-1, keepdims=True))
        if not size.all():
            raise ArgumentError(f"target of {describe(goal)} is a vector of length 0")
        x = x / size
    return np.ascontiguousarray(x)


def _check_rotation(goal: Goal, rows: Any) -> None:
    """Raise ArgumentError if a target's axes are not orthogonal unit vectors."""
    a, b, c = rows[0][0], rows[0][1], rows[0][2]
    d, e, f = rows[1][0], rows[1][1], rows[1][2]
    g, h, i = rows[2][0], rows[2][1], rows[2][2]
    # The third row is the cross product of the first two, which are unit vectors.
    gaps: Any = (
        a * a + b * b + c * c - 1.0,
        d * d + e * e + f * f - 1.0,
        a * d + b * e + c * f,
        b * f - c * e - g,
        c * d - a * f - h,
        a * e - b * d - i,
    )
    if isinstance(a, float):
        worst = max(abs(float(x)) for x in gaps)
        position = 0.0 if len(rows) == 3 else rows[0][3] + rows[1][3] + rows[2][3]
        worst += 0.0 * (position + sum(gaps))  # NaN if one is
    else:
        worst = max(float(np.abs(gap).max(initial=0.0)) for gap in gaps)
    if not worst <= ORTHOGONAL:
        if not math.isfinite(worst):
            raise ShapeError(f"target of {describe(goal)} has non-finite entries")
        raise ArgumentError(
            f"target of {describe(goal)} is not a pose: its axes are orthogonal unit "
            f"vectors only up to {worst:.2g}; expected {ORTHOGONAL:g} at most"
        )


def value_at(robot: Robot, q: Array, goal: Goal) -> Any:
    """Return where a goal is at q: the target of what is held there."""
    if isinstance(goal, Task):
        return robot.pose(q, goal.frame)
    if isinstance(goal, CenterOfMass):
        return robot.center_of_mass(q)
    if isinstance(goal, RelativePose):
        base = robot.pose(q, goal.relative_to)
        return np.linalg.inv(base) @ robot.pose(q, goal.frame)
    if isinstance(goal, Direction):
        return robot.pose(q, goal.frame)[..., :3, :3] @ np.array(goal.axis)
    if isinstance(goal, Residual) and goal.target is None:
        return None
    raise ArgumentError(
        f"constraints contains {describe(goal)} without a target; expected a "
        "dictionary with its target"
    )
