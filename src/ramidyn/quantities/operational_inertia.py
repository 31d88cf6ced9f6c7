"""Λ⁻¹ = J M⁻¹ Jᵀ of some tasks by a given algorithm, and the rows of J and J M⁻¹.

The rank of tasks is that of Λ⁻¹ at a few random configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ramidyn.algorithms.operational.chang_khatib import chang_khatib
from ramidyn.algorithms.operational.efpa import efpa
from ramidyn.algorithms.operational.mixed import mixed
from ramidyn.algorithms.operational.pv import pv
from ramidyn.algorithms.operational.pvr import pvr
from ramidyn.algorithms.operational.rjk import rjk
from ramidyn.algorithms.operational.sfa import sfa
from ramidyn.algorithms.operational.tasks import Task, ends
from ramidyn.coordinates.configurations import joint_limits, random_configurations
from ramidyn.description.conventions import Conventions
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.quantities.frames import JACOBIANS, acceleration, jacobian
from ramidyn.quantities.mass_matrix import (
    CRBA,
    check_factor,
    factored_trees,
    mass_matrix,
    sparse_mass_matrix,
)
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.dense import Matrix, Symmetric
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.tracing.chooser import trace_with_context
from ramidyn.tracing.context import Context, array
from ramidyn.tree.model import Model
from ramidyn.tree.singular import check_dynamics

PROPAGATIONS: dict[str, Callable[..., Symmetric]] = {
    "rjk": rjk,
    "chang_khatib": chang_khatib,
    "efpa": efpa,
    "pv": pv,
    "pvr": pvr,
    "mixed": mixed,
}
ALGORITHMS = ("sfa", *PROPAGATIONS)
BY_NAME_ONLY = ("chang_khatib",)
COUNTED = tuple(name for name in ALGORITHMS if name not in BY_NAME_ONLY)
SMALL = 20
"""degrees of freedom up to which "auto" counts all of these: beyond, those that are not
in the next two lines save less than 1%, and only for few trees"""
FOR_INERTIA = ("sfa", "rjk", "mixed")
FOR_RESPONSE = ("sfa", "pv", "mixed")
"""J̄ and N share propagators with "pv"; else "mixed" is the same where "pv" wins"""
STATES = 4
"""configurations at which the rank of tasks is looked at"""
SINGULAR = 1e-11
"""eigenvalues of Λ⁻¹, scaled to a unit diagonal, below which a row is redundant"""


def possible(
    model: Model, _conventions: Conventions, **options: Any
) -> tuple[str, ...]:
    """Return the candidates for ``algorithm="auto"`` with this robot."""
    names = FOR_RESPONSE if "response" in options else FOR_INERTIA
    if model.nv <= SMALL or model.mimics:
        names = COUNTED
    return tuple(name for name in names if name in supported_algorithms(model))


def supported_algorithms(model: Model) -> tuple[str, ...]:
    """Return the algorithms; of those that propagate, "pv" knows mimic joints."""
    names = ("pv",) if model.mimics else tuple(PROPAGATIONS)
    return ("sfa", *names) if "ltdl" in factored_trees(model) else names


def inverse_matrix(context: Context, tasks: tuple[Task, ...], algorithm: str) -> Matrix:
    """Return Λ⁻¹ as symbols; ``algorithm`` is one of ALGORITHMS."""
    model = context.model
    check_dynamics(model)
    order = context.conventions.order
    if algorithm == "sfa":
        Lam = _by_factor(context, tasks)
    elif algorithm not in (known := supported_algorithms(model)):
        listed = ", ".join(map(repr, ("auto", *known)))
        raise ArgumentError(
            f"algorithm {algorithm!r} cannot be used, because robot {model.name!r} has "
            f"mimic joints, such as {model.mimics[0]!r}; possible: {listed}"
        )
    else:
        tree = context.dynamics_tree
        found = ends(tree, context.q, model, tasks, order)
        Lam = PROPAGATIONS[algorithm](tree, context.q, found)
    n = row_count(tasks)
    return [[Lam.get((max(r, c), min(r, c)), ZERO) for c in range(n)] for r in range(n)]


def row_count(tasks: Sequence[Task]) -> int:
    """Return the number of rows of some tasks."""
    return sum(len(t.names("linear_first")) for t in tasks)


def _by_factor(context: Context, tasks: tuple[Task, ...]) -> Symmetric:
    check_factor(context.model, "use algorithm='efpa'")
    if context.model.mimics:
        M, parents, order = sparse_mass_matrix(context)
        return sfa(M, parents, list(map(order.gather, jacobian_rows(context, tasks))))
    tree = context.dynamics_tree
    rows = jacobian_entries(context, tasks)
    M = CRBA[context.algorithm_of(mass_matrix)](tree, context.q)
    return sfa(M, tree.dof_parents, rows)


def jacobian_entries(context: Context, tasks: Sequence[Task]) -> list[dict[int, Expr]]:
    """Return the rows of J by degree of freedom of the tree, without zeros."""
    rows: list[dict[int, Expr]] = []
    for task in tasks:
        frame = context.model.frame(task.frame)
        J = JACOBIANS[task.expressed_in](context.dynamics_tree, context.q, frame).J
        rows += [
            {k: m.parts()[r] for k, m in J.items()}
            for r in task.indices(context.conventions.order)
        ]
    return rows


def jacobian_rows(context: Context, tasks: Sequence[Task]) -> list[list[Expr]]:
    """Return the rows of J in the caller's q̇."""
    rows: list[list[Expr]] = []
    for task in tasks:
        J = jacobian(task.frame, task.expressed_in).of(context)
        rows += [list(J[r]) for r in public_indices(task, context.conventions)]
    return rows


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
        a = acceleration(task.frame, kind, task.expressed_in).of(context)
        rows += [a[r] for r in public_indices(task, context.conventions)]
    return rows


# ------------------------------------------------------------ rank


def ranks(
    model: Model, program: Program, sizes: Sequence[int], q: Array | None = None
) -> list[int]:
    """Return the rank of leading blocks of a program's Λ⁻¹, where it is largest."""
    if q is None:
        rng = np.random.default_rng(0)
        q = random_configurations(model, joint_limits(model), rng, STATES)
    (G,) = evaluate(program, {"q": q}).values()
    scale = np.sqrt(np.abs(np.einsum("bii->bi", G)))
    scale[scale < 1e-12 * scale.max(initial=1e-300)] = np.inf
    scaled = G / (scale[:, :, None] * scale[:, None, :])
    values = [np.linalg.eigvalsh(scaled[:, :n, :n]) for n in sizes]
    return [int((v > SINGULAR).sum(axis=1).max()) for v in values]


@lru_cache(maxsize=64)
def rank(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...], algorithm: str
) -> int:
    """Return the number of rows of tasks that can move independently somewhere."""
    program = trace_with_context(
        lambda context: array(inverse_matrix(context, tasks, algorithm)),
        model,
        conventions,
        {"q": model.nq},
    )
    return ranks(model, program, [row_count(tasks)])[0]


def check_rank(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...], algorithm: str
) -> None:
    """Raise ModelError for tasks with more rows than can move independently."""
    rows, found = row_count(tasks), rank(model, conventions, tasks, algorithm)
    if found < rows:
        names = ", ".join(map(str, tasks))
        raise ModelError(
            f"robot {model.name!r}: tasks {names} have {rows} rows, but only {found} "
            "can move independently (the rank of J M⁻¹ Jᵀ); request fewer rows, or "
            "pass damping="
        )
