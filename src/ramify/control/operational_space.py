"""Operational-space control: torques that make a robot perform tasks.

`OperationalSpace` is the extended operational-space controller of Chang & Khatib
(2000); `quantities.operational_torques` derives its torques.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramify.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramify.compiler import compile
from ramify.errors import ArgumentError, ModelError, ShapeError
from ramify.function import Function
from ramify.model.model import Model
from ramify.model.pose import Array
from ramify.quantities.operational_inertia import ranks, row_count
from ramify.quantities.operational_torques import (
    Directions,
    driven_inverse,
    operational_torques,
)
from ramify.robot import Robot

Levels = Tasks | Sequence[Tasks]


@final
class OperationalSpace:
    """A controller that accelerates tasks as commanded, and the rest by the posture.

    Call it with q, q̇, the accelerations of all tasks, in order, and that of the
    posture; it returns the torques τ, for one state or a batch. Task accelerations are
    the rates of the tasks' velocities: to follow a path in the world, use
    ``expressed_in="local_world_aligned"``. Gravity is compensated.

    Args:
        robot: the robot to control.
        tasks: a frame, a `Task`, several, or levels of them: a list of lists, the most
            important first. Neither a level nor the posture disturbs a level above.
        posture: whether to take the acceleration q̈ of the posture, nv entries, as an
            input; zero otherwise.
        actuated: names of the actuated joints, or a matrix B (nv, n) with τ = B u, in
            which case u is returned; all joints by default.
        damping: μ. Levels that can never be met in full are met as well as (A + μ)⁻¹
            allows; in other levels μ is the smallest pivot, which bounds torques near
            singular configurations and changes nothing elsewhere. With 0, the former
            raise an error, and the latter have no finite torques at singularities.
        algorithm: see `operational_inertia_inverse`.
        options: of `ramify.compile`: dtype, lanes, threads, layout, parameters.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Levels,
        *,
        posture: bool = True,
        actuated: Sequence[str] | Array | None = None,
        damping: float = 0.0,
        algorithm: str = "auto",
        **options: Any,
    ) -> None:
        if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"robot is {robot!r}; expected a Robot, as load() returns"
            )
        if robot.loops:
            raise ModelError(
                f"robot {robot.name!r} has closed loops, which the controller does not "
                "support; control the robot without them, or compile "
                "constrained_operational_inertia_inverse"
            )
        self.robot = robot
        self.levels: tuple[tuple[Task, ...], ...] = levels_of(tasks)
        if not isinstance(posture, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"posture is {posture!r}; possible: True, False")
        damping = operational_torques.declaration.checked("damping", damping) or 0.0
        operational_torques.declaration.checked("algorithm", algorithm)
        matrix = actuation(robot.model, actuated)
        passive = passive_directions(matrix)
        quantity = operational_torques(
            levels=self.levels,
            free=free_levels(robot, self.levels, passive, damping),
            damping=damping,
            passive=passive,
            effort=_rounded(np.linalg.pinv(matrix).astype(float))
            if matrix is not None and _is_matrix(actuated)
            else (),
            posture=posture,
            algorithm=algorithm,
        )
        self.function: Function = compile(quantity, robot, **options)
        self.has_posture = posture

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all levels, in the order of their accelerations."""
        return tuple(t for level in self.levels for t in level)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The rows of each task in the vector of accelerations."""
        ends_at = np.cumsum([row_count([t]) for t in self.tasks]).tolist()
        return tuple(
            slice(end - row_count([t]), end)
            for t, end in zip(self.tasks, ends_at, strict=True)
        )

    def __call__(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        accelerations: npt.ArrayLike,
        posture: npt.ArrayLike | None = None,
        *,
        out: Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> Array:
        """Return the torques; see the class. ``function`` is the same."""
        if not self.has_posture:
            if posture is not None:
                raise ShapeError(
                    "this controller was created without a posture; omit posture"
                )
            return self.function(q, qd, accelerations, out=out, **parameters)
        if posture is None:
            posture = np.zeros_like(np.asarray(qd, dtype=float))
        return self.function(q, qd, accelerations, posture, out=out, **parameters)

    def __repr__(self) -> str:
        shown = " > ".join(", ".join(map(str, level)) for level in self.levels)
        return f"OperationalSpace of {self.robot.name}: {shown}; {self.function.ops}"


def levels_of(tasks: Levels) -> tuple[tuple[Task, ...], ...]:
    """Return the levels; tasks without levels are one."""
    if isinstance(tasks, str | Task) or not isinstance(tasks, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        return (tasks_of(tasks),)
    given = list(tasks)
    if all(isinstance(t, str | Task) for t in given):
        return (tasks_of(given),)  # type: ignore[arg-type]
    return tuple(tasks_of(level) for level in given)


# ------------------------------------------------------------ actuated joints


def actuation(model: Model, actuated: Sequence[str] | Array | None) -> Array | None:
    """Return B of τ = B u, or None if every degree of freedom is actuated."""
    if actuated is None:
        return None
    if isinstance(actuated, str) or not isinstance(actuated, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"actuated is {actuated!r}; expected a list of joint names or a matrix"
        )
    if not _is_matrix(actuated):
        columns = [
            k
            for name in actuated
            for j in (model.joint(name),)
            for k in range(j.v_index, j.v_index + j.nv)
        ]
        return np.eye(model.nv)[:, columns]
    matrix = np.asarray(actuated, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != model.nv:
        raise ShapeError(
            f"actuated has shape {matrix.shape}; expected ({model.nv}, n), with τ = B u"
        )
    if not np.isfinite(matrix).all():
        raise ShapeError("actuated has non-finite entries")
    rank = int(np.linalg.matrix_rank(matrix))
    if rank < matrix.shape[1]:
        raise ShapeError(
            f"actuated has {matrix.shape[1]} columns but rank {rank}; "
            "expected independent columns"
        )
    return matrix


def _is_matrix(actuated: Any) -> bool:
    return np.size(actuated) > 0 and np.asarray(actuated).dtype.kind in "fiub"


def passive_directions(matrix: Array | None) -> Directions:
    """Return the directions of q̇ that are not actuated, one by one."""
    if matrix is None:
        return ()
    is_choice = set(np.unique(matrix).tolist()) <= {0.0, 1.0}
    if is_choice and (matrix.sum(axis=0) == 1).all():
        return _rows(np.eye(len(matrix))[matrix.sum(axis=1) == 0])
    # The columns of 1 − B B⁺, in order: they depend only on B, while a basis from
    # LAPACK depends on the processor.
    left = np.eye(len(matrix)) - matrix @ np.linalg.pinv(matrix)
    found: list[Array] = []
    for _ in range(len(matrix) - matrix.shape[1]):
        sizes = np.diagonal(left)
        k = int(np.argmax(sizes > (1 - 1e-6) * sizes.max()))
        found.append(left[k] / np.sqrt(left[k, k]))
        left = left - np.outer(found[-1], found[-1])
    return _rounded(np.reshape(np.array(found), (-1, len(matrix))))


def _rounded(matrix: Array) -> Directions:
    """Return rows rounded to twelve digits: further digits differ by processor."""
    return _rows(np.round(matrix, 12) + 0.0)


def _rows(matrix: Array) -> Directions:
    return tuple(tuple(map(float, row)) for row in matrix.tolist())


# ------------------------------------------------------------ which levels are free


def free_levels(
    robot: Robot,
    levels: Sequence[tuple[Task, ...]],
    passive: Directions,
    damping: float,
) -> tuple[bool, ...]:
    """Return whether each level can move independently of those above."""
    tasks = tuple(t for level in levels for t in level)
    sizes = np.cumsum([row_count(level) for level in levels]).tolist()
    # Every algorithm gives the same rank; this one supports all robots.
    program = driven_inverse(
        robot.placed_model, robot.conventions, tasks, passive, "sfa"
    )
    found: list[bool] = []
    above, rank = 0, 0
    for k, (level, n, now) in enumerate(
        zip(levels, sizes, ranks(robot.placed_model, program, sizes), strict=True)
    ):
        found.append(now - rank == n - above)
        if not found[-1] and damping == 0.0:
            names = ", ".join(map(str, level))
            raise ModelError(
                f"robot {robot.name!r}: tasks {names} (level {k + 1}) have {n - above} "
                f"rows, but only {now - rank} can move independently"
                + (" of the levels above" if k else "")
                + "; request fewer rows, or pass damping="
            )
        above, rank = n, now
    return tuple(found)
