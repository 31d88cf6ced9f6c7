"""The rows of all loops of a robot: Φ, J = ∂Φ/∂q and γ = J̇ q̇."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from ramidyn.algorithms.loops.constraints import ConstraintRow, constraint_rows
from ramidyn.algorithms.loops.cuts import CutJoint, cuts_of
from ramidyn.errors import ModelError
from ramidyn.symbolic.expr import ZERO, Expr
from ramidyn.tracing.context import Context, zeros


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The constraints of a robot in the caller's coordinates."""

    residual: list[Expr]
    J: list[list[Expr]]
    """(rows, nv)"""
    bias: list[Expr]


def rows_of(context: Context, with_velocities: bool = True) -> Rows:
    """Return the constraints of all loops, in the caller's coordinates."""
    cuts = needed_cuts(context)
    qd = context.qd if with_velocities else None
    found = constraint_rows(context.tree, cuts, context.q, qd)
    coordinates = context.coordinates
    dofs = range(len(coordinates.P))
    J = [coordinates.row([r.J.get(k, ZERO) for k in dofs]) for r in found]
    if not with_velocities:
        return Rows([r.residual for r in found], J, [])
    still = coordinates.acceleration(zeros(context.model.nv), context.qd)
    return Rows([r.residual for r in found], J, _biases(context, found, still))


def _biases(context: Context, rows: Sequence[ConstraintRow], still: Any) -> list[Expr]:
    """Return γ, with what Ṗ q̇ adds in the caller's coordinates."""
    moved: dict[int, Expr] = {}
    for i, dofs in enumerate(context.tree.dofs):
        moved.update(zip(dofs, still[i], strict=True))
    out: list[Expr] = []
    for row in rows:
        total = row.bias
        for k, x in row.J.items():
            total = total + x * moved[k]
        out.append(total)
    return out


def needed_cuts(context: Context) -> tuple[CutJoint, ...]:
    """Return the cuts of a robot that must have some."""
    cuts = cuts_of(context.model)
    if not cuts:
        raise ModelError(
            f"robot {context.model.name!r} has no loops; add one with robot.add_loop"
        )
    return cuts
