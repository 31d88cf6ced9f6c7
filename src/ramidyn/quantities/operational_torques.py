"""Torques of an operational-space controller (Khatib 1987; Chang & Khatib 2000).

    τ = M q̈ₚ + C + G + Jᵀ F,     Λ⁻¹ F = ẍ − (J q̈ₚ + J̇ q̇)

q̈ₚ is the acceleration of the posture; F is the additional force that the tasks need,
so the posture acts in their null space. M⁻¹ is not formed, and M only where something
is not driven: the right side comes from the kinematics, Λ⁻¹ from the cheapest
algorithm, and τ from one recursive Newton-Euler sweep with the forces −F on the ends.

Levels come one after the other: a level gets what those above leave free, J̃ of its
rows. With A = J̃ M⁻¹ J̃ᵀ,

    f = A⁻¹ (ẍ − J q̈)       q̈ ← q̈ + M⁻¹ J̃ᵀ f       J̃ᵢ ← J̃ᵢ − (J̃ᵢ M⁻¹ J̃ᵀ) A⁻¹ J̃

Levels that are independent are solved together if there is no damping. With damping
μ > 0, f = (A + δ)⁻¹ (ẍ − J q̈), and no eigenvalue of A + δ is below μ', so |f| is at
most |ẍ − J q̈| / μ'. δ is 0 except near a singular configuration (`damped_ldl`), and μ'
in a level that is redundant everywhere. What a level leaves to the levels below and to
the posture comes from A = L D Lᵀ with no pivot below μ, so that they do not disturb it.

    μ' = μ + (10 h)² |J̇ q̇|² / q̇ᵀ M q̇          h  the period of the control loop

Near singularities joints become fast. The accelerations that cancel J̇ q̇ are at most
|J̇ q̇| / √μ' ≤ |q̇| / 10 h (in the norm of M): in one period they change velocities by no
more than a tenth, however small μ is. Without the second term they grow with |q̇|² / √μ,
and a loop of period h diverges. For J̇ q̇ of a level below others, what those take is
subtracted, as from its rows.

Where not every degree of freedom is driven, Zᵀ τ = 0 for the passive directions Z:

    Λ⁻¹ → Λ⁻¹ − J Z (Zᵀ M Z)⁻¹ (J Z)ᵀ        τ → τ − M Z (Zᵀ M Z)⁻¹ Zᵀ τ

With closed loops, Jc q̈ + γ = 0, Λ⁻¹ is that of the closed robot (`ClosedMotion`), and
q̈ₚ changes as little as it can (in the norm of M) until it keeps them closed. Passive
directions then move by y, with multipliers λ that pass torques on through the loops:

    Zᵀ τ + Zᵀ M Z y + Kᵀ λ = 0,   K y = 0,   K = Jc Z        τ → τ + M Z y + Jcᵀ λ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ramidyn.algorithms.momentum_energy import kinetic_energy
from ramidyn.algorithms.operational.tasks import Task, ends
from ramidyn.description.conventions import Conventions
from ramidyn.description.pose import Array
from ramidyn.mechanism.constraints.rank import rank_of
from ramidyn.quantities.applied import acting_forces, newton_euler
from ramidyn.quantities.closed_loops import ClosedMotion
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.quantities.operational_inertia import (
    BY_NAME_ONLY,
    COUNTED,
    accelerations,
    inverse_matrix,
    jacobian_rows,
    possible,
    ranks,
    row_count,
)
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.dense import (
    Factor,
    above_rounding,
    at_least,
    damped_ldl,
    ldl,
    solve,
)
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.chooser import trace_with_context
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.model import Model

Directions = tuple[tuple[float, ...], ...]
"""Vectors of numbers, one after the other."""


@final
class DrivenInverse:
    """Λ⁻¹ as far as actuated joints can move the tasks, evaluated."""

    def __init__(
        self,
        model: Model,
        conventions: Conventions,
        tasks: tuple[Task, ...],
        passive: Directions,
    ) -> None:
        def traced(context: Context) -> Any:
            closed = ClosedMotion.of(context, False) if model.loops else None
            # Every algorithm gives the same matrix; this one supports all robots.
            return array(_driven(context, tasks, passive, "sfa", closed).G)

        self.model = model
        shapes = {"q": model.nq}
        self.program = trace_with_context(traced, model, conventions, shapes)
        self.samples: Array | None = None
        if model.loops:
            self.samples = rank_of(model, conventions).samples

    def __call__(self, q: Array) -> Array:
        """Return Λ⁻¹ at q."""
        return evaluate(self.program, {"q": q})["result"]

    def ranks(self, sizes: Sequence[int]) -> list[int]:
        """Return the rank of leading blocks, where it is largest."""
        return ranks(self.model, self.program, sizes, self.samples)


def possible_trees(
    model: Model, conventions: Conventions, **options: object
) -> tuple[str, ...]:
    """Return the algorithms of Λ⁻¹; with loops there is one, for all of them."""
    return () if model.loops else possible(model, conventions, **options)


def _shapes(
    model: Model, levels: Sequence[tuple[Task, ...]], posture: bool, **_: Any
) -> Shapes:
    rows = sum(row_count(level) for level in levels)
    inputs: Shapes = {"accelerations": (rows,)}
    return {**inputs, "posture": (model.nv,)} if posture else inputs


DEPENDENT = 1e-12
"""of Jc M⁻¹ Jcᵀ: keeps rows of the loops apart that passive joints move alike"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Driven:
    """Λ⁻¹ of actuated joints, and the way back to the passive directions."""

    G: Any
    Z: Any
    JZ: Any
    factor: Factor
    K: Any
    """rows of the loops that passive directions move; none without loops"""
    loops: Factor
    """factor of K (Zᵀ M Z)⁻¹ Kᵀ"""

    def follow(self, forces: Any) -> tuple[Any, Any]:
        """Return the motion of passive directions that frees them of forces, and λ."""
        y = array(solve(*self.factor, list(-forces)))
        if not len(self.K):
            return y, self.K
        lam = array(solve(*self.loops, list(self.K @ y)))
        return y - _times_inverse(self.factor, self.K.T @ lam), lam


def _driven(
    context: Context,
    tasks: tuple[Task, ...],
    passive: Directions,
    algorithm: str,
    closed: ClosedMotion | None,
) -> _Driven:
    if closed is None:
        G: Any = array(inverse_matrix(context, tasks, algorithm))
    else:
        G = array(closed.inverse_inertia(jacobian_rows(context, tasks)))
    none = array([])
    if not passive:
        return _Driven(G, None, None, ([], []), none, ([], []))
    Z: Any = array(passive)
    JZ: Any = array(jacobian_rows(context, tasks)) @ Z.T
    factor = ldl(Z @ mass_matrix.of(context) @ Z.T, above_rounding)
    K: Any = none
    loops: Factor = ([], [])
    if closed is not None:
        K = array(closed.public_rows()) @ Z.T
        A: Any = array([_times_inverse(factor, row) for row in K]) @ K.T
        for k, r in enumerate(closed.system.kept):
            A[k, k] = A[k, k] + DEPENDENT * closed.rank.scales[r]
        loops = ldl(A, above_rounding)
    driven = _Driven(G, Z, JZ, factor, K, loops)
    for r in range(len(G)):
        y, _ = driven.follow(-JZ[r])
        for c in range(r + 1):
            G[r, c] = G[c, r] = G[r, c] - _times(JZ[c], y)
    return driven


def _times_inverse(factor: Factor, b: Any) -> Any:
    return array(solve(*factor, list(b)))


def _times(A: Any, x: Sequence[Expr]) -> Any:
    return A @ array(x)


@quantity(
    "q",
    "qd",
    algorithms=COUNTED,
    possible=possible_trees,
    by_name_only=BY_NAME_ONLY,
    further_inputs=_shapes,
    has_forces=True,
    name="torques",
)
def operational_torques(
    context: Context,
    levels: tuple[tuple[Task, ...], ...],
    free: tuple[bool, ...],
    damping: float,
    period: float,
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
        period: h.
        passive: the directions Z of q̇ that nothing drives.
        effort: rows that turn τ into what actuators do; none for τ itself.
        posture: whether there is an input for q̈ₚ.
        algorithm: of Λ⁻¹.
    """
    tasks = tuple(t for level in levels for t in level)
    closed = ClosedMotion.of(context) if context.model.loops else None
    d = _driven(context, tasks, passive, algorithm, closed)

    def moved(qdd: Any) -> tuple[Any, Any, Any]:
        """Return q̈ as it can be, λ of the loops, and what the tasks do then."""
        if closed is not None:
            qdd = array(closed.acceleration(list(qdd)))
        lam = d.K[:0]
        if passive:
            y, lam = d.follow(d.Z @ _newton_euler(context, qdd, tasks, None))
            qdd = qdd + _times(d.Z.T, y)
        moved_tasks = accelerations(context.with_inputs(qdd=list(qdd)), tasks)
        return qdd, lam, array(moved_tasks)

    still = array([ZERO] * context.model.nv)
    qdd, lam, given = moved(context.inputs["posture"] if posture else still)
    wanted: Any = context.inputs["accelerations"]
    lacks: list[tuple[Any, bool]] = [(wanted - given, damping > 0.0)]
    if posture and not all(free):
        *_, bias = moved(still)
        lacks = [(wanted - bias, damping > 0.0), (bias - given, False)]
    turned = None
    if damping:
        rest = list(still) if closed is None else closed.acceleration(list(still))
        turned = _task_turning(context.with_inputs(qdd=list(rest)), tasks, period)
    F = _forces(d.G, lacks, _blocks(levels, free, damping), damping, turned)
    if passive:
        y, further = d.follow(d.JZ.T @ F)
        qdd, lam = qdd + _times(d.Z.T, y), lam + further
    tau = _newton_euler(context, qdd, tasks, F)
    if closed is not None and len(lam):
        tau = tau + array(closed.public_rows()).T @ lam
    for z in passive:
        if np.count_nonzero(z) == 1:
            tau[int(np.argmax(np.abs(z)))] = ZERO
    return _times(array(effort), tau) if effort else tau


def _task_turning(context: Context, tasks: Sequence[Task], period: float) -> Any:
    """Return 10 h J̇ q̇ over the root of q̇ᵀ M q̇."""
    energy = kinetic_energy(context.dynamics_tree, context.q, context.qd)
    unit = period / CHANGE / (2.0 * energy + TINY).sqrt()
    return array([a * unit for a in accelerations(context, tasks)])


CHANGE = 0.1
"""of the velocities, in one period: what canceling J̇ q̇ may change. With 0.25, joints of
an iiwa whose target is out of reach still reach 1,000 rad/s; with 0.1, 200."""
TINY = 1e-300
"""energy: a robot at rest turns no row"""


def _newton_euler(
    context: Context, qdd: Any, tasks: Sequence[Task], F: Any | None
) -> Any:
    """Return M q̈ + C + G + Jᵀ F, less what force elements contribute."""
    applied = acting_forces(context)
    if F is not None:
        tree, order = context.dynamics_tree, context.conventions.order
        for end in ends(tree, context.q, context.model, tasks, order):
            for k, row in zip(end.span, end.rows, strict=True):
                applied.push(end.body, row * -F[k])
    return array(newton_euler(context, list(qdd), applied))


def _blocks(
    levels: Sequence[Sequence[Task]], free: Sequence[bool], damping: float
) -> list[tuple[range, bool]]:
    """Return the rows that are solved together, and whether these are free."""
    blocks: list[tuple[range, bool]] = []
    first = 0
    for level, is_free in zip(levels, free, strict=True):
        rows = range(first, first + row_count(level))
        if blocks and is_free and blocks[-1][1] and damping == 0.0:
            rows = range(blocks.pop()[0].start, rows.stop)
        blocks.append((rows, is_free))
        first = rows.stop
    return blocks


def _forces(
    G: Any,
    lacks: Sequence[tuple[Any, bool]],
    blocks: Sequence[tuple[range, bool]],
    least: float,
    turned: Any | None,
) -> Any:
    """Return F of all rows, block after block.

    Args:
        G: Λ⁻¹ of all rows.
        lacks: accelerations that are missed, and whether each is damped where it
            cannot be met.
        blocks: rows, and whether they are free of those above.
        least: μ, the smallest pivot.
        turned: 10 h J̇ q̇ over the root of q̇ᵀ M q̇, if anything is damped.
    """
    n = len(G)
    T: Any = array(np.eye(n)) + ZERO
    left, total = G, array([ZERO] * n)
    for rows, is_free in blocks:
        own, rest = list(rows), list(range(rows.stop, n))
        A = left[np.ix_(own, own)]
        exact = damped = ldl(A, at_least(least) if least else above_rounding)
        if turned is not None:
            rate = T[own] @ turned
            damping = least + rate @ rate
            damped = (
                damped_ldl(A, damping)
                if is_free
                else ldl(A + damping * np.eye(len(own)), at_least(0.5 * damping))
            )
        after: list[tuple[Any, bool]] = []
        for lack, is_damped in lacks:
            factor = damped if is_damped else exact
            f = _times(T[own].T, solve(*factor, list(lack[own])))
            total = total + f
            after.append((lack - G @ f if rest else lack, is_damped))
        if rest:
            between = [list(x) for x in left[np.ix_(rest, own)]]
            T[rest] = T[rest] - _times(
                array([solve(*exact, x) for x in between]), T[own]
            )
            left, lacks = T @ G @ T.T, after
    return total
