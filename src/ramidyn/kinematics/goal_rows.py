"""The rows of goals, over symbols.

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

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ramidyn.algorithms import kinematics
from ramidyn.algorithms.operational.tasks import ANGULAR, LINEAR, Task
from ramidyn.coordinates.configurations import differences
from ramidyn.errors import ArgumentError
from ramidyn.kinematics.goals import (
    CenterOfMass,
    Direction,
    Goal,
    Posture,
    RelativePose,
    Residual,
    describe,
    posture_entries,
)
from ramidyn.quantities.directions import seeds
from ramidyn.quantities.frames import jacobian
from ramidyn.quantities.momentum_energy import center_of_mass, center_of_mass_jacobian
from ramidyn.symbolic.derivatives import forward
from ramidyn.symbolic.expr import ONE, ZERO, Expr, lift
from ramidyn.symbolic.functions import cross
from ramidyn.symbolic.lie_groups import inverse_left_jacobian, log_so3
from ramidyn.tracing.context import Context
from ramidyn.tree.model import Model


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
