"""Controllers: torques that make a robot perform tasks.

    OperationalSpace   tasks in priority levels, and a posture that disturbs none
    ILQR               plans of least cost, of one problem or a batch
    MotionPlan         such a plan: states, torques and gains

The first is the extended operational-space controller of Chang & Khatib (2000);
`quantities.operational_torques` derives its torques.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramidyn.compiler import compile
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError, ShapeError, flag_of, printable
from ramidyn.function import Function
from ramidyn.optimal_control.ilqr import ILQR, MotionPlan
from ramidyn.quantities.operational_inertia import SINGULAR, row_count
from ramidyn.quantities.operational_torques import (
    Directions,
    DrivenInverse,
    operational_torques,
)
from ramidyn.robot import Robot
from ramidyn.tree.model import Model

__all__ = ["ILQR", "MotionPlan", "OperationalSpace"]

Levels = Tasks | Sequence[Tasks]


def __dir__() -> list[str]:
    return __all__


@final
class OperationalSpace:
    """A controller that accelerates tasks as commanded, and the rest by the posture.

    Call it with q, q̇, the accelerations of all tasks, in order, and that of the
    posture; it returns the torques τ, for one state or a batch. Task accelerations are
    the rates of the tasks' velocities: to follow a path in the world, use
    ``expressed_in="local_world_aligned"``. Gravity is compensated. Closed loops stay
    closed: the inertia is that of the closed robot. Give it states that close them.

    Args:
        robot: the robot to control.
        tasks: a frame, a `Task`, several, or levels of them: a list of lists, the most
            important first. Neither a level nor the posture disturbs a level above.
        posture: whether to take the acceleration q̈ of the posture, nv entries, as an
            input; zero otherwise.
        actuated: names of the actuated joints, or a matrix B (nv, n) with τ = B u, in
            which case u is returned; all joints by default.
        damping: μ, a bound: the forces on the tasks of a level are at most its missing
            accelerations |ẍ − J q̈ − J̇ q̇| over μ, in every state. It changes nothing
            except near singularities, and in levels that can never be met in full;
            these are met as well as (A + μ)⁻¹ allows, A the level's Λ⁻¹. With 0, such
            levels raise an error, and there are no finite torques at singularities.
            `diagnostics` tells which level is singular.
        period: h, of the control loop [s]. Near singularities joints become fast.
            There μ grows by (10 h)² |J̇ q̇|² / q̇ᵀ M q̇, so that canceling J̇ q̇ changes the
            velocities by no more than a tenth in one period (in the norm of M),
            however small μ is. Used only with damping.
        algorithm: see `operational_inertia_inverse`; omit it for robots with loops.
        options: of `ramidyn.compile`: dtype, lanes, threads, layout, parameters.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Levels,
        *,
        posture: bool = True,
        actuated: Sequence[str] | Array | None = None,
        damping: float = 0.0,
        period: float = 1e-3,
        algorithm: str = "auto",
        **options: Any,
    ) -> None:
        if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"robot is {robot!r}; expected a Robot, as returned by ramidyn.load"
            )
        self.robot = robot
        self.levels: tuple[tuple[Task, ...], ...] = levels_of(tasks)
        flag_of("posture", posture)
        damping = operational_torques.declaration.checked("damping", damping) or 0.0
        operational_torques.declaration.checked("algorithm", algorithm)
        if not isinstance(period, int | float) or not 0.0 <= period < math.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"period is {period!r}; expected the period of the control loop in "
                "seconds, 0 or more"
            )
        if robot.loops and algorithm != "auto":
            raise ArgumentError(
                f"algorithm {algorithm!r} cannot be used, because robot "
                f"{robot.name!r} has closed loops; omit it"
            )
        matrix = actuation(robot.model, actuated)
        passive = passive_directions(matrix)
        self.damping: float = damping
        self.inverse: DrivenInverse = DrivenInverse(
            robot.placed_model, robot.conventions, self.tasks, passive
        )
        self.free: tuple[bool, ...] = free_levels(
            robot, self.levels, self.inverse, damping
        )
        quantity = operational_torques(
            levels=self.levels,
            free=self.free,
            damping=damping,
            period=float(period),
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

    def diagnostics(self, q: npt.ArrayLike) -> tuple[LevelDiagnostics, ...]:
        """Return how far each level is from a singularity, in one configuration.

        >>> import ramidyn
        >>> robot = ramidyn.robots.chain(3)
        >>> tip = ramidyn.tasks.Task("body2", "orientation")
        >>> control = ramidyn.control.OperationalSpace(robot, tip, damping=1e-2)
        >>> [level.is_singular for level in control.diagnostics([0.1, 0.5, 0.2])]
        [False]
        """
        inverse = self.inverse(np.asarray(q, dtype=float))
        sizes = np.cumsum([row_count(level) for level in self.levels]).tolist()
        return tuple(
            LevelDiagnostics.of(inverse, first, stop, level, is_free, self.damping)
            for first, stop, level, is_free in zip(
                [0, *sizes], sizes, self.levels, self.free, strict=False
            )
        )

    def __repr__(self) -> str:
        shown = " > ".join(", ".join(map(str, level)) for level in self.levels)
        return printable(
            f"OperationalSpace of {self.robot.name}: {shown}; {self.function.ops}"
        )


@final
@dataclass(frozen=True, slots=True)
class LevelDiagnostics:
    """How far one level of a controller is from a singularity."""

    tasks: tuple[Task, ...]
    smallest: float
    """smallest eigenvalue of the level's Λ⁻¹, after the levels above have theirs:
    what the hardest direction accelerates per unit of force"""
    largest: float
    """largest eigenvalue"""
    direction: tuple[float, ...]
    """unit vector of the hardest direction, over the rows of the level"""
    is_redundant: bool
    """the level can never be met in full, in no configuration"""
    is_singular: bool
    """the hardest direction is damped here, at rest; or undamped, cannot move"""

    @staticmethod
    def of(
        inverse: Array,
        first: int,
        stop: int,
        tasks: tuple[Task, ...],
        is_free: bool,
        damping: float,
    ) -> LevelDiagnostics:
        """Return the diagnostics of the rows from ``first`` to ``stop`` of Λ⁻¹."""
        above, own = slice(0, first), slice(first, stop)
        first_levels = inverse[above, above]
        taken = np.linalg.pinv(first_levels, rcond=SINGULAR, hermitian=True)
        left = inverse[own, own] - inverse[own, above] @ taken @ inverse[above, own]
        values, vectors = np.linalg.eigh(left)
        smallest, largest = float(values[0]), float(values[-1])
        inverses = 1.0 / np.maximum(values, 1e-300)
        is_damped = damping > 0.0 and 1.0 / float(inverses.sum()) < damping
        return LevelDiagnostics(
            tasks,
            smallest,
            largest,
            tuple(map(float, vectors[:, 0])),
            not is_free,
            is_damped or smallest <= SINGULAR * largest,
        )

    def __str__(self) -> str:
        names = ", ".join(map(str, self.tasks))
        word = "redundant" if self.is_redundant else "singular"
        state = word if self.is_singular or self.is_redundant else "regular"
        return (
            f"{names}: {state}, eigenvalues {self.smallest:.2g} to {self.largest:.2g}"
        )


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
    inverse: DrivenInverse,
    damping: float,
) -> tuple[bool, ...]:
    """Return whether each level can move independently of those above."""
    sizes = np.cumsum([row_count(level) for level in levels]).tolist()
    found: list[bool] = []
    above, rank = 0, 0
    for k, (level, n, now) in enumerate(
        zip(levels, sizes, inverse.ranks(sizes), strict=True)
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
