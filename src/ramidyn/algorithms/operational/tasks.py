"""Tasks: selected rows of the velocity of a frame.

    v = J q̇          row r of J q̇ = rows[r] · v_b,   v_b the velocity of its body

A row is a covector, so it is a `Force` in the coordinates of the body, and goes towards
the root by ``X.back``. With the axes R and the origin p of the body in the world, and
the frame at r in the body, axis e of the world is the row

    local_world_aligned   (r × Rᵀe, Rᵀe)        of linear velocity at the frame
    world                 (−Rᵀp × Rᵀe, Rᵀe)     the same at the world's origin
    either                (Rᵀe, 0)              of angular velocity

and in "local" coordinates the rows are constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import cast, final

import numpy as np

from ramidyn.algorithms.kinematics import axes, origin
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.description.conventions import EXPRESSED_IN, axes_named
from ramidyn.errors import ArgumentError
from ramidyn.spatial.vector3 import ZERO3, Vec, vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import region
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT, Tree

ANGULAR = ("rx", "ry", "rz")
LINEAR = ("x", "y", "z")


WORDS: dict[str, tuple[str, ...]] = {"position": LINEAR, "orientation": ANGULAR}
POSSIBLE = "'pose', 'position', 'orientation', 'x', 'y', 'z', 'rx', 'ry', 'rz'"


@final
@dataclass(frozen=True, slots=True)
class Task:
    """Rows of a frame's velocity that a controller controls.

    Args:
        frame: its name; any frame of the robot.
        rows: "pose" (six), "position", "orientation", or single rows such as "x" or
            ("x", "y", "rz"), in the order wanted.
        expressed_in: "local" (the frame's own axes, at its origin), "world" (world
            axes, at the world's origin) or "local_world_aligned" (world axes, at the
            frame's origin).

    >>> from ramidyn.tasks import Task
    >>> Task("hand", rows=("z", "orientation")).names("linear_first")
    ('z', 'rx', 'ry', 'rz')
    """

    frame: str
    rows: str | tuple[str, ...] = "pose"
    expressed_in: str = "local"

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"task frame is {self.frame!r}; expected the name of a frame"
            )
        if not isinstance(self.rows, str):
            object.__setattr__(self, "rows", self._words())
        axes = axes_named(self.expressed_in)
        if axes is None:
            raise ArgumentError(
                f"task {self.frame!r}: expressed_in is {self.expressed_in!r}; "
                "possible: " + ", ".join(map(repr, EXPRESSED_IN))
            )
        object.__setattr__(self, "expressed_in", axes)
        names = self.names("linear_first")
        for name in names:
            if name not in (*LINEAR, *ANGULAR):
                raise ArgumentError(
                    f"task {self.frame!r}: no row {name!r}; possible: {POSSIBLE}"
                )
            if names.count(name) > 1:
                raise ArgumentError(f"task {self.frame!r}: row {name!r} appears twice")
        if not names:
            raise ArgumentError(f"task {self.frame!r}: no rows; omit the task")

    def _words(self) -> tuple[str, ...]:
        """Return rows as a tuple of words."""
        given: object = self.rows
        if isinstance(given, list | tuple):
            words = cast("Sequence[object]", given)
            found = tuple(word for word in words if isinstance(word, str))
            if len(found) == len(words):
                return found
        raise ArgumentError(
            f"task {self.frame!r}: rows is {given!r}; expected a row name or a tuple "
            f"of row names; possible: {POSSIBLE}"
        )

    def names(self, order: str) -> tuple[str, ...]:
        """Return the name of each row; ``order`` is that of Conventions."""
        given = (self.rows,) if isinstance(self.rows, str) else self.rows
        halves = (LINEAR, ANGULAR) if order == "linear_first" else (ANGULAR, LINEAR)
        words = {**WORDS, "pose": (*halves[0], *halves[1])}
        return tuple(name for word in given for name in words.get(word, (word,)))

    def indices(self, order: str) -> tuple[int, ...]:
        """Return the indices of its rows among six, angular first."""
        six = (*ANGULAR, *LINEAR)
        return tuple(six.index(name) for name in self.names(order))

    def __str__(self) -> str:
        rows = self.rows if isinstance(self.rows, str) else " ".join(self.rows)
        return f"{self.frame!r} ({rows})"


Tasks = str | Task | Sequence[str | Task]
"""A frame, a task, or several."""


def tasks_of(tasks: Tasks) -> tuple[Task, ...]:
    """Return tasks as a tuple; a name stands for the pose of that frame."""
    if isinstance(tasks, str | Task):
        tasks = (tasks,)
    if not isinstance(tasks, Iterable) or isinstance(tasks, Set | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"tasks is {tasks!r}; expected the name of a frame, a ramidyn.tasks.Task, "
            "or a list of them"
        )
    found: list[Task] = []
    for t in tasks:
        if isinstance(t, list | tuple):
            raise ArgumentError(
                f"tasks contains a nested list: {t!r}; expected one list of frame "
                "names and tasks (only ramidyn.control.OperationalSpace takes levels)"
            )
        if not isinstance(t, str | Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{t!r} is not a task; expected the name of a frame or a "
                "ramidyn.tasks.Task"
            )
        found.append(t if isinstance(t, Task) else Task(t))
    if not found:
        raise ArgumentError(
            "no tasks given; expected a frame or a ramidyn.tasks.Task, or several"
        )
    return tuple(found)


@final
@dataclass(frozen=True, slots=True, eq=False)
class End:
    """A task on a tree: a body and rows in its coordinates; none on the world."""

    body: int
    rows: tuple[Force, ...]
    first: int
    """the place of its first row among those of all tasks"""

    @property
    def span(self) -> range:
        """The places of its rows."""
        return range(self.first, self.first + len(self.rows))


def ends(
    tree: Tree, q: JointVector, model: Model, tasks: Sequence[Task], order: str
) -> tuple[End, ...]:
    """Return the ends of some tasks."""
    found: list[End] = []
    first = 0
    for task in tasks:
        rows = _rows(tree, q, model, task, task.indices(order))
        found.append(End(model.frame(task.frame).body, rows, first))
        first += len(rows)
    return tuple(found)


def _rows(
    tree: Tree, q: JointVector, model: Model, task: Task, indices: Sequence[int]
) -> tuple[Force, ...]:
    frame = model.frame(task.frame)
    if frame.body == ROOT:
        return tuple(Force.zero() for _ in indices)
    region(f"task {task.frame}")
    body = tree.name(frame.body)
    r = vec(*map(float, frame.placement.p))
    if task.expressed_in == "local":
        columns = np.transpose(frame.placement.R).tolist()
        own = tuple(vec(*column) for column in columns)
        return tuple(_row(r, own[k % 3], k >= 3, body) for k in indices)
    support = tree.support(frame.body)
    a = axes(tree, q, support)
    R = a.R[frame.body]
    if task.expressed_in == "world":
        p = origin(a.r, support)
        r = -(R.T @ p)
    return tuple(_row(r, R[k % 3], k >= 3, body) for k in indices)


def _row(r: Vec, axis: Vec, is_linear: bool, body: str) -> Force:
    if is_linear:
        return Force(r.cross(axis), axis, body)
    return Force(axis, ZERO3, body)
