"""Λ⁻¹ = J M⁻¹ Jᵀ of some tasks by a given algorithm, and the rows of J and J M⁻¹.

Which algorithm costs least is for `osim_choice` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf
from numbers import Real

from ramify.algorithms.crba import crba
from ramify.algorithms.ltdl import ltdl, solve
from ramify.algorithms.operational.chang_khatib import chang_khatib
from ramify.algorithms.operational.efpa import efpa
from ramify.algorithms.operational.mixed import mixed
from ramify.algorithms.operational.pv import pv
from ramify.algorithms.operational.pvr import pvr
from ramify.algorithms.operational.rjk import rjk
from ramify.algorithms.operational.sfa import sfa
from ramify.algorithms.operational.symmetric import Symmetric
from ramify.algorithms.operational.tasks import Task, ends
from ramify.errors import ModelError, UnknownName
from ramify.model.conventions import Conventions
from ramify.model.singular import check_dynamics
from ramify.quantities import kinematics
from ramify.quantities.base import Context
from ramify.quantities.dynamics import check_factor, sparse_mass_matrix
from ramify.quantities.symmetric import Matrix
from ramify.spatial.vector3 import ZERO
from ramify.symbolic.expr import Expr

PROPAGATIONS: dict[str, Callable[..., Symmetric]] = {
    "rjk": rjk,
    "chang_khatib": chang_khatib,
    "efpa": efpa,
    "pv": pv,
    "pvr": pvr,
    "mixed": mixed,
}
ALGORITHMS = ("sfa", *PROPAGATIONS)


def inverse_matrix(context: Context, tasks: tuple[Task, ...], algorithm: str) -> Matrix:
    """Return Λ⁻¹ as symbols; ``algorithm`` is one of ALGORITHMS."""
    model = context.model
    check_dynamics(model)
    order = context.conventions.order
    if algorithm == "sfa":
        Lam = _by_factor(context, tasks)
    elif model.mimics:
        raise ModelError(
            f"robot {model.name!r}: algorithm={algorithm!r} needs joints that move on "
            f"their own, but {model.mimics[0]!r} follows another; use 'sfa' or 'auto'"
        )
    else:
        tree = context.dynamics_tree
        found = ends(tree, context.q, model, tasks, order)
        Lam = PROPAGATIONS[algorithm](tree, context.q, found)
    n = row_count(tasks)
    return [[Lam.get((max(r, c), min(r, c)), ZERO) for c in range(n)] for r in range(n)]


def check_algorithm(algorithm: object, known: Collection[str]) -> None:
    """Raise UnknownName for what is not one of the known algorithms."""
    if not isinstance(algorithm, str) or algorithm not in known:
        raise UnknownName(
            f"algorithm is {algorithm!r}; possible: " + ", ".join(map(repr, known))
        )


def damping_of(damping: object) -> float:
    """Return a damping as a float, or say what is wrong with it."""
    if not isinstance(damping, bool) and isinstance(damping, Real):
        found = float(damping)
        if 0.0 <= found < inf:
            return found
    raise UnknownName(f"damping is {damping!r}; expected a number, 0 or more")


def row_count(tasks: Sequence[Task]) -> int:
    """Return how many rows some tasks have."""
    return sum(len(t.names("linear_first")) for t in tasks)


def _by_factor(context: Context, tasks: tuple[Task, ...]) -> Symmetric:
    check_factor(context.model, "use algorithm='efpa'")
    if context.model.mimics:
        M, parents, order = sparse_mass_matrix(context)
        place = {v: k for k, v in enumerate(order)}
        public = jacobian_rows(context, tasks)
        return sfa(
            M, parents, [{place[v]: x for v, x in enumerate(row)} for row in public]
        )
    tree = context.dynamics_tree
    rows: list[dict[int, Expr]] = []
    for task in tasks:
        frame = context.model.frame(task.frame)
        J = kinematics.JACOBIANS[task.expressed_in](tree, context.q, frame).J
        rows += [
            {k: m.parts()[r] for k, m in J.items()}
            for r in task.indices(context.conventions.order)
        ]
    return sfa(crba(tree, context.q), tree.dof_parents, rows)


def jacobian_rows(context: Context, tasks: Sequence[Task]) -> list[list[Expr]]:
    """Return the rows of J in the caller's q̇."""
    rows: list[list[Expr]] = []
    for task in tasks:
        J = kinematics.jacobian(task.frame, task.expressed_in).of(context)
        rows += [list(J[r]) for r in public_indices(task, context.conventions)]
    return rows


def mass_solution(context: Context, tasks: Sequence[Task], algorithm: str) -> Matrix:
    """Return the rows of J M⁻¹, one solve with M = Lᵀ D L each.

    If Λ⁻¹ is by "sfa", M is the one that it is made of.
    """
    check_factor(context.model, "ask for quantities without M⁻¹ Jᵀ")
    is_shared = algorithm == "sfa" and not context.model.mimics
    M, parents, order = sparse_mass_matrix(context, "crba" if is_shared else "auto")
    L, D = ltdl(M, parents)
    out: Matrix = []
    for row in jacobian_rows(context, tasks):
        x = solve(L, D, {k: row[v] for k, v in enumerate(order)}, parents)
        line = [ZERO] * len(order)
        for k, v in enumerate(order):
            line[v] = x[k]
        out.append(line)
    return out


def public_indices(task: Task, conventions: Conventions) -> tuple[int, ...]:
    """Return which rows of a 6-vector in the caller's order a task has."""
    indices = task.indices(conventions.order)
    if conventions.order == "linear_first":
        return tuple((k + 3) % 6 for k in indices)
    return indices


def accelerations(context: Context, tasks: Sequence[Task]) -> list[Expr]:
    """Return J q̈ + J̇ q̇ of the rows of some tasks."""
    rows: list[Expr] = []
    for task in tasks:
        is_aligned = task.expressed_in == "local_world_aligned"
        kind = "classical" if is_aligned else "spatial"
        a = kinematics.acceleration(task.frame, kind, task.expressed_in).of(context)
        rows += [a[r] for r in public_indices(task, context.conventions)]
    return rows
