"""Articulated inertias and propagators of a robot (Chang & Khatib 2000, Eqs. 5 to 9).

f = Iᴬ a        a_i = A a_p,  f_p = Aᵀ f_i,  A = (1 − S D⁻¹ Uᵀ) X
"""

from __future__ import annotations

from typing import Any

from ramidyn.algorithms.operational.propagators import propagators
from ramidyn.errors import ArgumentError
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import IDENTITY, ZERO3
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.context import frame as frame_name
from ramidyn.tracing.quantity import quantity
from ramidyn.tree.frames import fixed_steps
from ramidyn.tree.model import Frame
from ramidyn.tree.singular import check_dynamics
from ramidyn.tree.tree import ROOT


@quantity("q", returns="articulated-body inertia [kg m^2, kg m, kg]")
def articulated_inertia(context: Context, frame: str) -> Any:
    """Iᴬ of the body of a frame."""
    found = context.model.frame(frame)
    _check(context, "articulated_inertia", found)
    IA = propagators(context.tree, context.q).IA[found.body]
    seen = _transform(context, found).inverted().back(IA)
    return _public(context, seen.array().tolist())


@quantity(
    "q",
    returns="acceleration of one frame per acceleration of another",
    checks={"base": frame_name},
)
def propagator(context: Context, frame: str, base: str) -> Any:
    """A of a = A a_base."""
    end, start = context.model.frame(frame), context.model.frame(base)
    for one in (end, start):
        _check(context, "propagator", one)
    support = context.tree.support(end.body)
    if start.body not in support:
        raise ArgumentError(
            f"propagator: base {base!r} does not support frame {frame!r}; expected a "
            "frame between it and the root"
        )
    ways = propagators(context.tree, context.q)
    first, last = _transform(context, start), _transform(context, end)
    columns: list[tuple[Expr, ...]] = []
    for k in range(6):
        a = first.invapply(_unit(k, base))
        for i in support[support.index(start.body) + 1 :]:
            a = ways.outwards(i, a)
        columns.append((last @ a).parts())
    return _public(context, [list(row) for row in zip(*columns, strict=True)])


def _unit(k: int, frame: str) -> Motion:
    if k < 3:
        return Motion(IDENTITY[k], ZERO3, frame)
    return Motion(ZERO3, IDENTITY[k - 3], frame)


def _transform(context: Context, frame: Frame) -> Transform:
    """Return the transform from the coordinates of a frame's body to its own."""
    name = context.tree.name(frame.body)
    return Transform(fixed_steps(frame.placement), name, frame.name)


def _public(context: Context, rows: list[list[Any]]) -> Any:
    """Return a 6 x 6 matrix with rows and columns in the caller's order."""
    order = (3, 4, 5, 0, 1, 2)
    if context.conventions.order != "linear_first":
        order = tuple(range(6))
    return array([[rows[r][c] for c in order] for r in order])


def _check(context: Context, name: str, frame: Frame) -> None:
    model = context.model
    check_dynamics(model)
    if model.mimics:
        raise ArgumentError(
            f"{name} cannot be used, because robot {model.name!r} has mimic joints, "
            f"such as {model.mimics[0]!r}, which tie branches together"
        )
    if frame.body == ROOT:
        raise ArgumentError(
            f"{name}: frame {frame.name!r} is fixed to the world, which does not move"
        )
