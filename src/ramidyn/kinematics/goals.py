"""Goals of inverse kinematics: what a frame, a robot or a function should reach.

A goal has rows e(q), target minus value, and their Jacobian J: e(q ⊕ v) ≈ e − J v.

    position      e = p* − p                 J = Jv
    orientation   e = log(R* Rᵀ)             J = Jw, or Jr(e)⁻¹ Jw for single rows
    direction     e = d − R a                J = −(R a)× Jw

in world axes; rows in a frame's own axes turn with it:

    position      e = Rᵀ (p* − p)            J = Rᵀ Jv − e× Rᵀ Jw
    orientation   e = log(Rᵀ R*)             J = Jl(e)⁻¹ Rᵀ Jw

The gradient of ½ |e|² is the same in all axes, and that of an angle needs no Jr: it is
Jᵀ e with J = Jw. So whole positions and orientations are computed in world axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, final

import numpy as np

from ramidyn.algorithms import kinematics
from ramidyn.algorithms.operational.tasks import ANGULAR, LINEAR, Task
from ramidyn.coordinates.configurations import differences
from ramidyn.description.joint_types import joint_type
from ramidyn.errors import ArgumentError, names_of
from ramidyn.quantities.directions import seeds
from ramidyn.quantities.frames import jacobian
from ramidyn.quantities.momentum_energy import center_of_mass, center_of_mass_jacobian
from ramidyn.symbolic.derivatives import forward
from ramidyn.symbolic.expr import ONE, ZERO, Expr, lift
from ramidyn.symbolic.functions import cross
from ramidyn.symbolic.lie_groups import inverse_left_jacobian, log_so3
from ramidyn.tracing.context import Context, finite_number
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


class Part(NamedTuple):
    """Rows of a goal in one unit, judged together by their norm."""

    unit: str
    """"m", "rad", or "" for the unit of a user's function"""
    rows: tuple[int, ...]


def parts_of(goal: Goal, model: Model) -> tuple[Part, ...]:
    """Return the parts of a goal: position, orientation, or all its rows."""
    if isinstance(goal, Direction):
        return (Part("rad", (0, 1, 2)),)
    if isinstance(goal, CenterOfMass):
        return (Part("m", tuple(range(len(goal.names)))),)
    if isinstance(goal, Posture):
        return (Part("rad", tuple(range(len(posture_entries(goal, model))))),)
    if isinstance(goal, Residual):
        return (Part("", tuple(range(goal.size))),)
    names = _task(goal).names("linear_first")
    linear = tuple(k for k, n in enumerate(names) if n in LINEAR)
    angular = tuple(k for k, n in enumerate(names) if n in ANGULAR)
    both = (Part("m", linear), Part("rad", angular))
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


def _task(goal: Task | RelativePose) -> Task:
    return goal if isinstance(goal, Task) else goal.task


# ------------------------------------------------------------ rows, over symbols


class Rows(NamedTuple):
    """The rows of a goal at one configuration."""

    e: list[Expr]
    J: list[dict[int, Expr]]
    """row r of J by the entries of q̇"""
    is_along_tree: bool
    """whether rows are nonzero along one branch only, as the mass matrix is"""


def rows_of(goal: Goal, context: Context, target: Any, is_uniform: bool) -> Rows:
    """Return the rows of a goal.

    Args:
        goal: what should be reached.
        context: with q.
        target: symbols of the shape of `target_shape`.
        is_uniform: whether all rows of a part have one weight.
    """
    if isinstance(goal, Task):
        return _task_rows(goal, context, target, is_uniform)
    if isinstance(goal, Direction):
        here = _Moving.of(context, goal.frame)
        u = here.R @ np.array(goal.axis)
        J = np.transpose([cross(w, u) for w in here.Jw.T])
        return Rows(list(target - u), _sparse(J), True)
    if isinstance(goal, RelativePose):
        return _relative_rows(goal, context, target, is_uniform)
    if isinstance(goal, CenterOfMass):
        own = [LINEAR.index(n) for n in goal.names]
        e: Any = target - center_of_mass.of(context)
        return Rows(
            list(e[own]), _sparse(center_of_mass_jacobian.of(context)[own]), False
        )
    if isinstance(goal, Posture):
        q: Any = context.inputs["q"]
        v = differences(context.model, context.conventions, list(q), list(target))
        own = posture_entries(goal, context.model)
        return Rows([lift(v[k]) for k in own], [{k: ONE} for k in own], True)
    return _residual_rows(goal, context, target)


class _Moving(NamedTuple):
    """A frame in the world: its pose, and the Jacobian in world axes."""

    R: Any
    p: Any
    Jw: Any
    Jv: Any

    @staticmethod
    def of(context: Context, frame: str) -> _Moving:
        R, p = kinematics.pose(context.tree, context.q, context.model.frame(frame))
        J = jacobian(frame, "local_world_aligned").of(context)
        first, second = J[:3], J[3:]
        is_linear_first = context.conventions.order == "linear_first"
        Jv, Jw = (first, second) if is_linear_first else (second, first)
        return _Moving(np.array(R, dtype=object), np.array(p, dtype=object), Jw, Jv)


def _task_rows(task: Task, context: Context, target: Any, is_uniform: bool) -> Rows:
    names = task.names("linear_first")
    here, R = _Moving.of(context, task.frame), None
    e: dict[str, Expr] = {}
    J: dict[str, Any] = {}
    if set(names) & set(LINEAR):
        gap = (target if target.shape == (3,) else target[:3, 3]) - here.p
        Jv = here.Jv
        if task.expressed_in == "local" and not _is_whole(names, LINEAR, is_uniform):
            R = here.R.T
            gap = R @ gap
            Jv = R @ Jv - _cross_columns(gap, R @ here.Jw)
        e |= dict(zip(LINEAR, gap, strict=True))
        J |= dict(zip(LINEAR, Jv, strict=True))
    if set(names) & set(ANGULAR):
        goal = target[:3, :3]
        if _is_whole(names, ANGULAR, is_uniform):
            w, Jw = log_so3(goal @ here.R.T), here.Jw
        elif task.expressed_in == "local":
            w = log_so3(here.R.T @ goal)
            Jw = inverse_left_jacobian(w) @ (here.R.T @ here.Jw)
        else:
            w = log_so3(goal @ here.R.T)
            Jw = np.transpose(inverse_left_jacobian(w)) @ here.Jw
        e |= dict(zip(ANGULAR, w, strict=True))
        J |= dict(zip(ANGULAR, Jw, strict=True))
    rows = np.array([J[n] for n in names], dtype=object)
    return Rows([lift(e[n]) for n in names], _sparse(rows), True)


def _is_whole(names: Sequence[str], part: Sequence[str], is_uniform: bool) -> bool:
    return is_uniform and set(part) <= set(names)


def _relative_rows(
    goal: RelativePose, context: Context, target: Any, is_uniform: bool
) -> Rows:
    names = goal.task.names("linear_first")
    tip = _Moving.of(context, goal.frame)
    base = _Moving.of(context, goal.relative_to)
    shared = _shared_entries(context.model, goal.frame, goal.relative_to)
    R = base.R.T
    e: dict[str, Expr] = {}
    J: dict[str, Any] = {}
    if set(names) & set(LINEAR):
        x = R @ (tip.p - base.p)
        wanted = target if target.shape == (3,) else target[:3, 3]
        Jv = R @ (tip.Jv - base.Jv) + _cross_columns(x, R @ base.Jw)
        e |= dict(zip(LINEAR, wanted - x, strict=True))
        J |= dict(zip(LINEAR, Jv, strict=True))
    if set(names) & set(ANGULAR):
        w = log_so3(target[:3, :3] @ (R @ tip.R).T)
        Jw = R @ (tip.Jw - base.Jw)
        if not _is_whole(names, ANGULAR, is_uniform):
            Jw = np.transpose(inverse_left_jacobian(w)) @ Jw
        e |= dict(zip(ANGULAR, w, strict=True))
        J |= dict(zip(ANGULAR, Jw, strict=True))
    rows = np.array([J[n] for n in names], dtype=object)
    rows[:, shared] = ZERO
    return Rows([lift(e[n]) for n in names], _sparse(rows), False)


def _shared_entries(model: Model, one: str, other: str) -> list[int]:
    """Return the entries of q̇ that move two frames alike."""
    supports = [set(model.tree.support(model.frame(f).body)) for f in (one, other)]
    common, either = supports[0] & supports[1], supports[0] | supports[1]

    def entries(bodies: set[int]) -> set[int]:
        joints = [model.tree.bodies[i].joint for i in bodies]
        return {k for j in joints for k in range(j.v_index, j.v_index + j.nv)}

    return sorted(entries(common) - entries(either - common))


def _residual_rows(goal: Residual, context: Context, target: Any) -> Rows:
    q: Any = context.inputs["q"]
    arguments = (q,) if goal.target is None else (q, target)
    found = [
        lift(x) for x in np.ravel(np.array(goal.function(*arguments), dtype=object))
    ]
    if len(found) != goal.size:
        raise ArgumentError(
            f"{describe(goal)} returned {len(found)} entries; expected {goal.size}, "
            "the size of the Residual"
        )
    rows = forward(found, seeds(context, ("q",)))
    return Rows([-x for x in found], [dict(row) for row in rows], False)


def _cross_columns(x: Any, matrix: Any) -> Any:
    """Return x× of every column."""
    return np.transpose([cross(x, column) for column in np.transpose(matrix)])


def _sparse(J: Any) -> list[dict[int, Expr]]:
    rows = cast("list[list[Any]]", np.asarray(J, dtype=object).tolist())
    lifted = [[lift(x) for x in row] for row in rows]
    return [{k: x for k, x in enumerate(row) if not x.is_zero} for row in lifted]
