"""Joint forces and energies as linear functions of inertial parameters.

    τ = Y(q, q̇, q̈) π        T = y_T(q, q̇) · π        V = y_V(q) · π

Columns are those of `inertial_parameters`: ten for each body, then one for each degree
of freedom and term of the joints. A term acts on the caller's own q̇ and q̈:

    armature  q̈        damping  q̇        friction  sign(q̇)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ramidyn.algorithms import regressor as by_tree
from ramidyn.errors import ArgumentError, one_of
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.functions import sign
from ramidyn.tracing.context import Checks, Context, array, zeros
from ramidyn.tracing.quantity import quantity
from ramidyn.tree.inertial_parameters import JOINT_TERMS, inertia_frames


def checked_names(option: str, value: object, example: str) -> tuple[str, ...]:
    """Return a list of names as a tuple; each may occur once."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        names = tuple(cast("Iterable[object]", value))
        if all(isinstance(n, str) for n in names):
            known = cast("tuple[str, ...]", names)
            twice = [n for k, n in enumerate(known) if n in known[:k]]
            if twice:
                raise ArgumentError(f"{option} has {twice[0]!r} twice")
            return known
    raise ArgumentError(
        f"{option} is {value!r}; expected a list of names, such as [{example}]"
    )


def checked_bodies(value: object) -> tuple[str, ...] | None:
    """Return the names of bodies; None stands for all that have a joint."""
    names = None if value is None else checked_names("bodies", value, '"hand"')
    if names == ():
        raise ArgumentError("bodies is empty; name one, or leave it out for all")
    return names


def checked_terms(value: object) -> tuple[str, ...]:
    """Return terms of joints."""
    names = checked_names("joint_terms", value, '"damping", "friction"')
    return tuple(one_of("joint_terms", n, JOINT_TERMS) for n in names)


CHECKS: Checks = {"bodies": checked_bodies, "joint_terms": checked_terms}


@quantity("q", "qd", "qdd", returns="Y of tau = Y p", checks=CHECKS)
def regressor(
    context: Context,
    bodies: tuple[str, ...] | None = None,
    joint_terms: tuple[str, ...] = (),
) -> Any:
    """Y of τ = Y π."""
    model, inputs = context.model, context.inputs
    found = by_tree.regressor(
        context.tree,
        context.q,
        context.qd,
        context.qdd,
        context.gravity,
        inertia_frames(model, bodies),
    )
    n = sum(map(len, context.tree.dofs))
    columns: list[list[Expr]] = []
    for blocks in found:
        for c in range(10):
            column = zeros(n)
            for k, ten in blocks.items():
                column[k] = ten[c]
            columns.append(context.coordinates.row(column))
    for term in joint_terms:
        of = inputs["qdd"] if term == "armature" else inputs["qd"]
        for k, x in enumerate(of):
            column = zeros(model.nv)
            column[k] = sign(x) if term == "friction" else x
            columns.append(column)
    return array(columns).T.reshape(model.nv, len(columns))


@quantity(
    "q", "qd", returns="kinetic and potential energy per parameter", checks=CHECKS
)
def energy_regressor(
    context: Context,
    bodies: tuple[str, ...] | None = None,
    joint_terms: tuple[str, ...] = (),
) -> dict[str, Any]:
    """y_T and y_V."""
    frames = inertia_frames(context.model, bodies)
    kinetic = by_tree.kinetic_regressor(context.tree, context.q, context.qd, frames)
    potential = by_tree.potential_regressor(
        context.tree, context.q, context.gravity, frames
    )
    T = [x for ten in kinetic for x in ten]
    V = [x for ten in potential for x in ten]
    for term in joint_terms:
        if term != "armature":
            raise ArgumentError(
                f"energy_regressor: joint_terms has {term!r}, which stores no energy; "
                "possible: 'armature'"
            )
        T += [x * x * 0.5 for x in context.inputs["qd"]]
        V += zeros(context.model.nv)
    return {"kinetic": array(T), "potential": array(V)}
