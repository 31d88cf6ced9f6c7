"""Goals of inverse kinematics: what a frame, a robot or a function should reach.

Here they are declared; `goal_rows` has their rows over symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from ramidyn.algorithms.operational.tasks import ANGULAR, LINEAR, Task
from ramidyn.description.joint_types import joint_type
from ramidyn.errors import ArgumentError, names_of
from ramidyn.tracing.context import finite_number
from ramidyn.tree.model import Model


@final
@dataclass(frozen=True, slots=True)
class Direction:
    """An axis of a frame that should point along the target, (3,) in the world.

    The robot may turn about it. The error is the chord between the two unit vectors,
    2 sin(angle / 2) [rad].

    Args:
        frame: its name; any frame of the robot.
        axis: in the frame's own axes; of any length except zero.
    """

    frame: str
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        _check_frame("Direction", self.frame)
        try:
            axis = np.array(self.axis, dtype=float)
        except (TypeError, ValueError, OverflowError):
            axis = np.zeros(0)
        size = float(np.linalg.norm(axis)) if axis.shape == (3,) else 0.0
        if not 0.0 < size < np.inf:
            raise ArgumentError(
                f"axis of Direction({self.frame!r}) is {self.axis!r}; expected three "
                "numbers, not all zero"
            )
        unit = (axis / size).tolist()
        object.__setattr__(self, "axis", (unit[0], unit[1], unit[2]))


@final
@dataclass(frozen=True, slots=True)
class RelativePose:
    """The pose of a frame in another frame, in the axes of the latter.

    Args:
        frame: its name; any frame of the robot.
        relative_to: the name of the other frame.
        rows: as in `Task`.
    """

    frame: str
    relative_to: str
    rows: str | tuple[str, ...] = "pose"

    def __post_init__(self) -> None:
        _check_frame("RelativePose", self.frame)
        _check_frame("RelativePose", self.relative_to)
        object.__setattr__(self, "rows", Task(self.frame, self.rows).rows)

    @property
    def task(self) -> Task:
        """The same rows of the first frame alone."""
        return Task(self.frame, self.rows, "world")


@final
@dataclass(frozen=True, slots=True)
class CenterOfMass:
    """The robot's center of mass in the world; its target is (3,) [m].

    Args:
        rows: "position", or single rows such as ("x", "y").
    """

    rows: str | tuple[str, ...] = "position"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", Task("center of mass", self.rows).rows)
        if set(self.names) - set(LINEAR):
            raise ArgumentError(
                f"rows of CenterOfMass is {self.rows!r}; possible: 'position', 'x', "
                "'y', 'z'"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each row."""
        return Task("center of mass", self.rows).names("linear_first")


@final
@dataclass(frozen=True, slots=True)
class Posture:
    """A configuration to stay near, (nq,): a preference, which success ignores.

    Its weight is 0.001 unless given: it decides among the configurations that reach
    the other goals, and moves these by about a millionth.

    Args:
        joints: names of joints; all except floating ones by default.
    """

    joints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = names_of("joints of Posture", self.joints)
        object.__setattr__(self, "joints", tuple(given))


@final
@dataclass(frozen=True, slots=True)
class Residual:
    """A function of q, traced like the body of a kernel, that should be zero.

    Its target is None, or an array that the function takes as its second argument.

    Args:
        function: takes q, (nq,), and returns ``size`` entries.
        size: how many.
        target: shape of the second argument; None without one.
        tolerance: largest norm of the result at which the goal is reached.
    """

    function: Callable[..., Any]
    size: int
    target: tuple[int, ...] | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not callable(self.function):  # pyright: ignore[reportUnnecessaryComparison]
            raise ArgumentError(
                f"function of Residual is {self.function!r}; expected a function of q"
            )
        if not isinstance(self.size, int) or self.size < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"size of Residual is {self.size!r}; expected the number of entries "
                "that the function returns"
            )
        finite_number("tolerance", self.tolerance, "more than 0", lambda x: x > 0.0)


Goal = Task | Direction | RelativePose | CenterOfMass | Posture | Residual
"""A goal of inverse kinematics."""
KINDS = (Task, Direction, RelativePose, CenterOfMass, Posture, Residual)


def _check_frame(kind: str, name: object) -> None:
    if not isinstance(name, str):
        raise ArgumentError(
            f"frame of {kind} is {name!r}; expected the name of a frame"
        )


# ------------------------------------------------------------ what a goal has


class GoalPart(NamedTuple):
    """Rows of a goal in one unit, judged together by their norm."""

    unit: str
    """"m", "rad", or "" for the unit of a user's function"""
    rows: tuple[int, ...]


def parts_of(goal: Goal, model: Model) -> tuple[GoalPart, ...]:
    """Return the parts of a goal: position, orientation, or all its rows."""
    if isinstance(goal, Direction):
        return (GoalPart("rad", (0, 1, 2)),)
    if isinstance(goal, CenterOfMass):
        return (GoalPart("m", tuple(range(len(goal.names)))),)
    if isinstance(goal, Posture):
        return (GoalPart("rad", tuple(range(len(posture_entries(goal, model))))),)
    if isinstance(goal, Residual):
        return (GoalPart("", tuple(range(goal.size))),)
    names = task_of(goal).names("linear_first")
    linear = tuple(k for k, n in enumerate(names) if n in LINEAR)
    angular = tuple(k for k, n in enumerate(names) if n in ANGULAR)
    both = (GoalPart("m", linear), GoalPart("rad", angular))
    return tuple(part for part in both if part.rows)


def row_count(goal: Goal, model: Model) -> int:
    """Return the number of rows of a goal."""
    return sum(len(part.rows) for part in parts_of(goal, model))


def target_shape(goal: Goal, model: Model) -> tuple[int, ...] | None:
    """Return the shape of one target; None if there is none."""
    if isinstance(goal, Direction | CenterOfMass):
        return (3,)
    if isinstance(goal, Posture):
        return (model.nq,)
    if isinstance(goal, Residual):
        return goal.target
    units = [part.unit for part in parts_of(goal, model)]
    return {"m": (3,), "rad": (3, 3)}.get("".join(units), (4, 4))


def frames_of(goal: Goal) -> tuple[str, ...]:
    """Return the frames that a goal is about."""
    if isinstance(goal, RelativePose):
        return goal.frame, goal.relative_to
    return (goal.frame,) if isinstance(goal, Task | Direction) else ()


def posture_entries(goal: Posture, model: Model) -> list[int]:
    """Return the entries of q̇ that a posture is about."""
    if goal.joints:
        joints = [model.joint(name) for name in goal.joints]
    else:
        joints = [j for j in model.joints if not joint_type(j.name, j.type).is_free]
    return [k for j in joints for k in range(j.v_index, j.v_index + j.nv)]


def describe(goal: Goal) -> str:
    """Return a goal in words, for messages and reports."""
    if isinstance(goal, Task):
        return str(goal)
    if isinstance(goal, Direction):
        return f"direction of {goal.frame!r}"
    if isinstance(goal, RelativePose):
        return f"{goal.frame!r} relative to {goal.relative_to!r}"
    if isinstance(goal, CenterOfMass):
        return "center of mass"
    if isinstance(goal, Posture):
        return "posture"
    return f"residual {getattr(goal.function, '__name__', 'of a function')!r}"


def task_of(goal: Task | RelativePose) -> Task:
    """Return the task with the rows of a goal."""
    return goal if isinstance(goal, Task) else goal.task
