"""Torques of an operational-space controller (Khatib 1987; Chang & Khatib 2000).

    τ = M q̈ₚ + C + G + Jᵀ F,     Λ⁻¹ F = ẍ − (J q̈ₚ + J̇ q̇)

q̈ₚ is the acceleration of the posture; F is the additional force that the tasks need,
so the posture acts in their null space. M⁻¹ is not formed, and M only where something
is not driven: the right side comes from the kinematics, Λ⁻¹ from the cheapest
algorithm, and τ from one recursive Newton-Euler sweep with the forces −F on the ends.

Levels come one after the other: a level gets what those above leave free, J̃ of its
rows. With A = J̃ M⁻¹ J̃ᵀ,

    f = A⁻¹ (ẍ − J q̈)       q̈ ← q̈ + M⁻¹ J̃ᵀ f       J̃ᵢ ← J̃ᵢ − (J̃ᵢ M⁻¹ J̃ᵀ) A⁻¹ J̃

Levels that are independent are solved together. Where damping μ is asked for, the
pivots of A = L D Lᵀ are not let below it: that changes nothing but near a singular
configuration. A level that is redundant everywhere is met as well as it can be, by
f = (A + μ)⁻¹ (ẍ − J q̈); what it leaves to the levels below and to the posture still
comes from L D Lᵀ, for they are not to disturb it.

Where not every degree of freedom is driven, Zᵀ τ = 0 for the passive directions Z:

    Λ⁻¹ → Λ⁻¹ − J Z (Zᵀ M Z)⁻¹ (J Z)ᵀ        τ → τ − M Z (Zᵀ M Z)⁻¹ Zᵀ τ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ramify.algorithms.dense_ldl import Matrix, ldl, solve_column
from ramify.algorithms.operational.tasks import Task, ends
from ramify.algorithms.rnea import rnea
from ramify.model.conventions import Conventions
from ramify.model.model import Model
from ramify.quantities.context import Context, array
from ramify.quantities.mass_matrix import mass_matrix
from ramify.quantities.operational_inertia import (
    ALGORITHMS,
    accelerations,
    inverse_matrix,
    jacobian_rows,
    possible,
    row_count,
)
from ramify.quantities.quantity import Shapes, quantity
from ramify.spatial.vector3 import ZERO
from ramify.spatial.vectors import Force
from ramify.symbolic.expr import Expr
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace

Directions = tuple[tuple[float, ...], ...]
"""Vectors of numbers, one after the other."""


def driven_inverse(
    model: Model,
    conventions: Conventions,
    tasks: tuple[Task, ...],
    passive: Directions,
    algorithm: str,
) -> Program:
    """Return the program of Λ⁻¹ as far as actuated joints can move the tasks."""

    def traced(q: Any) -> Any:
        context = Context(model, conventions, {"q": q})
        G = inverse_matrix(context, tasks, algorithm)
        return array(_driven(context, tasks, passive, G).G)

    return trace(traced, {"q": model.nq})


def _shapes(
    model: Model, levels: Sequence[tuple[Task, ...]], posture: bool, **_: Any
) -> Shapes:
    rows = sum(row_count(level) for level in levels)
    inputs: Shapes = {"accelerations": (rows,)}
    return {**inputs, "posture": (model.nv,)} if posture else inputs


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Driven:
    """Λ⁻¹ of actuated joints, and the way back to the passive directions."""

    G: Any
    Z: Any
    JZ: Any
    factor: tuple[Matrix, list[Expr]]

    def follow(self, forces: Any) -> Any:
        """Return how passive directions accelerate to be free of some forces."""
        return _times(self.Z.T, solve_column(*self.factor, list(-forces)))


def _driven(
    context: Context, tasks: Sequence[Task], passive: Directions, inverse: Matrix
) -> _Driven:
    G: Any = array(inverse)
    if not passive:
        return _Driven(G, None, None, ([], []))
    Z: Any = array(passive)
    JZ: Any = array(jacobian_rows(context, tasks)) @ Z.T
    factor = ldl(Z @ mass_matrix.of(context) @ Z.T)
    for r in range(len(G)):
        x = solve_column(*factor, list(JZ[r]))
        for c in range(r + 1):
            G[r, c] = G[c, r] = G[r, c] - _times(JZ[c], x)
    return _Driven(G, Z, JZ, factor)


def _times(A: Any, x: Sequence[Expr]) -> Any:
    return A @ array(x)


@quantity(
    "q",
    "qd",
    algorithms=ALGORITHMS,
    possible=possible,
    further_inputs=_shapes,
    name="torques",
)
def operational_torques(
    context: Context,
    levels: tuple[tuple[Task, ...], ...],
    free: tuple[bool, ...],
    damping: float,
    passive: Directions,
    effort: Directions,
    posture: bool,
    algorithm: str = "auto",
) -> Any:
    """τ of q, qd, accelerations, and posture if there is one.

    Args:
        context: with these inputs.
        levels: tasks, the most important first.
        free: whether each level can move independently of those above.
        damping: μ.
        passive: the directions Z of q̇ that nothing drives.
        effort: rows that turn τ into what actuators do; none for τ itself.
        posture: whether there is an input for q̈ₚ.
        algorithm: of Λ⁻¹.
    """
    tasks = tuple(t for level in levels for t in level)
    d = _driven(context, tasks, passive, inverse_matrix(context, tasks, algorithm))

    def moved(qdd: Any) -> tuple[Any, Any]:
        """Return q̈ with what passive directions do, and what tasks do then."""
        if passive:
            qdd = qdd + d.follow(d.Z @ _newton_euler(context, qdd, tasks, None))
        return qdd, array(accelerations(context.with_inputs(qdd=list(qdd)), tasks))

    still = array([ZERO] * context.model.nv)
    qdd, given = moved(context.inputs["posture"] if posture else still)
    wanted: Any = context.inputs["accelerations"]
    if posture and not all(free):
        _, bias = moved(still)
        lacks = [(wanted - bias, damping), (bias - given, 0.0)]
    else:
        lacks = [(wanted - given, damping)]
    F = _forces(d.G, lacks, _blocks(levels, free), damping)
    if passive:
        qdd = qdd + d.follow(d.JZ.T @ F)
    tau = _newton_euler(context, qdd, tasks, F)
    for z in passive:
        if np.count_nonzero(z) == 1:
            tau[int(np.argmax(np.abs(z)))] = ZERO
    return _times(array(effort), tau) if effort else tau


def _newton_euler(
    context: Context, qdd: Any, tasks: Sequence[Task], F: Any | None
) -> Any:
    """Return M q̈ + C + G + Jᵀ F."""
    tree, q = context.dynamics_tree, context.q
    external: dict[int, Force] = {}
    if F is not None:
        order = context.conventions.order
        for end in ends(tree, q, context.model, tasks, order):
            for k, row in zip(end.span, end.rows, strict=True):
                pushed = external.get(end.body, Force.zero())
                external[end.body] = pushed - row * F[k]
    moved = context.with_inputs(qdd=list(qdd)).qdd
    tau = rnea(tree, q, context.qd, moved, context.gravity, external)
    return array(context.coordinates.force(tau, list(qdd)))


def _blocks(
    levels: Sequence[Sequence[Task]], free: Sequence[bool]
) -> list[tuple[range, bool]]:
    """Return the rows that are solved together, and whether these are free."""
    blocks: list[tuple[range, bool]] = []
    first = 0
    for level, is_free in zip(levels, free, strict=True):
        rows = range(first, first + row_count(level))
        if blocks and is_free and blocks[-1][1]:
            rows = range(blocks.pop()[0].start, rows.stop)
        blocks.append((rows, is_free))
        first = rows.stop
    return blocks


def _forces(
    G: Any,
    lacks: Sequence[tuple[Any, float]],
    blocks: Sequence[tuple[range, bool]],
    least: float,
) -> Any:
    """Return F of all rows, block after block.

    Args:
        G: Λ⁻¹ of all rows.
        lacks: accelerations that are missed, each with its damping where it cannot be
            met.
        blocks: rows, and whether they are free of those above.
        least: the smallest pivot.
    """
    n = len(G)
    T: Any = array(np.eye(n)) + ZERO
    left, total = G, array([ZERO] * n)
    for rows, is_free in blocks:
        own, rest = list(rows), list(range(rows.stop, n))
        A = left[np.ix_(own, own)]
        exact = ldl(A, least)
        after: list[tuple[Any, float]] = []
        for lack, damping in lacks:
            is_exact = is_free or damping == 0.0
            factor = exact if is_exact else ldl(A + damping * np.eye(len(own)))
            f = _times(T[own].T, solve_column(*factor, list(lack[own])))
            total = total + f
            after.append((lack - G @ f if rest else lack, damping))
        if rest:
            between = [list(x) for x in left[np.ix_(rest, own)]]
            T[rest] = T[rest] - _times(
                array([solve_column(*exact, x) for x in between]), T[own]
            )
            left, lacks = T @ G @ T.T, after
    return total
