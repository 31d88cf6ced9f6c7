"""Directions that a robot's inputs are differentiated along: seeds of `derivatives`.

A step of q is taken in the tangent space of the robot's conventions: direction k is
what q does while q̇ is the k-th unit vector. Then a rotation E turns by its axis,
Ė = −w× E, and its quaternion need not be differentiated. Raw coordinates are the
entries of q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramidyn.coordinates.configurations import rates
from ramidyn.spatial.vector3 import ONE, Vec, transposed_rotation, unit
from ramidyn.symbolic.derivatives import Row
from ramidyn.symbolic.expr import Expr
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tracing.quantity import quantity

SPACES = ("tangent", "coordinates")


@quantity("q", "qd", returns="time derivative of the entries of q [rad/s, m/s, 1/s]")
def configuration_rate(context: Context) -> Any:
    """dq/dt at velocity q̇."""
    q, qd = context.inputs["q"], context.inputs["qd"]
    return array(rates(context.model, context.conventions, q, qd))


def directions_shape(
    name: str, shape: tuple[int, ...], nv: int, space: str
) -> tuple[int, ...]:
    """Return the shape of the directions of an input."""
    return (nv,) if name == "q" and space == "tangent" else shape


def seeds(
    context: Context, wrt: Sequence[str], space: str = "tangent"
) -> dict[Expr, Row]:
    """Return the changes of nodes along the directions of some inputs, in order."""
    found: dict[Expr, Row] = {}
    start = 0
    for name in wrt:
        symbols: Any = context.inputs[name]
        entries: list[Expr] = (
            [symbols] if isinstance(symbols, Expr) else [*symbols.flat]
        )
        if name == "q" and space == "tangent":
            _add_tangents(found, context, entries, start)
            start += context.model.nv
        else:
            for k, e in enumerate(entries):
                found.setdefault(e, {})[start + k] = ONE
            start += len(entries)
    return found


def _add_tangents(
    found: dict[Expr, Row], context: Context, q: Sequence[Expr], start: int
) -> None:
    nv = context.model.nv
    for k in range(nv):
        along = zeros(nv)
        along[k] = ONE
        for e, rate in zip(
            q, rates(context.model, context.conventions, q, along), strict=True
        ):
            if not rate.is_zero:
                found.setdefault(e, {})[start + k] = rate
    for i, body in enumerate(context.tree.bodies):
        if body.joint.type.has_quaternion:
            E = transposed_rotation(*context.q[i][-4:])
            angular = [context.coordinates.P[k] for k in context.tree.dofs[i][:3]]
            for axis, columns in enumerate(angular):
                for k, scale in columns.items():
                    for c, column in enumerate(E.T):
                        turned = -unit(axis).cross(Vec(column)) * scale
                        for r, rate in enumerate(turned):
                            if not rate.is_zero:
                                found.setdefault(E[r][c], {})[start + k] = rate
