"""Operational space: inertia, consistent inverse, null space, bias of some tasks.

    Λ⁻¹ = J M⁻¹ Jᵀ       J̄ = M⁻¹ Jᵀ Λ       N = 1 − J̄ J
    ẍ = J M⁻¹ τ + β      β = J̇ q̇ − J M⁻¹ (C + G)

Rows are those of the tasks, in their order. Quantities that are compiled together share
what they have in common, Λ⁻¹ first of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ramify.algorithms.crba import crba
from ramify.algorithms.ltdl import ltdl, solve
from ramify.algorithms.operational.articulated import Symmetric
from ramify.algorithms.operational.chang_khatib import chang_khatib
from ramify.algorithms.operational.efpa import efpa
from ramify.algorithms.operational.mixed import mixed
from ramify.algorithms.operational.pv import pv
from ramify.algorithms.operational.pvr import pvr
from ramify.algorithms.operational.rjk import rjk
from ramify.algorithms.operational.sfa import sfa
from ramify.algorithms.operational.tasks import Task, Tasks, ends, tasks_of
from ramify.errors import ModelError, UnknownName
from ramify.model.assembly import Model
from ramify.model.conventions import Conventions
from ramify.model.massless import check_dynamics
from ramify.model.pose import Array
from ramify.model.ranges import joint_limits, random_configurations
from ramify.quantities import kinematics
from ramify.quantities.base import Context, Quantity, Symbols, array
from ramify.quantities.dynamics import forward_dynamics, sparse_mass_matrix
from ramify.quantities.symmetric import symmetric_inverse
from ramify.simplify.passes import lower, simplify
from ramify.spatial.vector3 import ONE, ZERO
from ramify.symbolic.count import Ops, count
from ramify.symbolic.expr import Expr
from ramify.symbolic.interpreter import evaluate
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace

Matrix = list[list[Expr]]

PROPAGATIONS: dict[str, Callable[..., Symmetric]] = {
    "rjk": rjk,
    "chang_khatib": chang_khatib,
    "efpa": efpa,
    "pv": pv,
    "pvr": pvr,
    "mixed": mixed,
}
ALGORITHMS = ("sfa", *PROPAGATIONS)
NEAR = 1.15
"""times the least cost before simplification: what may be least after it"""
STATES = 4
"""configurations at which the rank of tasks is looked at"""
SINGULAR = 1e-11
"""eigenvalues of Λ⁻¹, scaled to a unit diagonal, below which a row is redundant"""


# ------------------------------------------------------------ the words of the API


def operational_inertia_inverse(tasks: Tasks, algorithm: str = "auto") -> Quantity:
    """Return the quantity Λ⁻¹ = J M⁻¹ Jᵀ of some tasks: (rows, rows), of q.

    Args:
        tasks: a frame, a `Task`, or several.
        algorithm: "auto" takes the one with the lowest count for this robot and these
            tasks (see `explain_operational`); or "sfa", "rjk", "chang_khatib", "efpa",
            "pv", "pvr", "mixed".
    """
    return _quantity(
        "operational_inertia_inverse", ("q",), _inverse, tasks, algorithm=algorithm
    )


def operational_inertia(
    tasks: Tasks, algorithm: str = "auto", damping: float = 0.0
) -> Quantity:
    """Return the quantity Λ = (J M⁻¹ Jᵀ + damping 1)⁻¹: (rows, rows), of q.

    Args:
        tasks: a frame, a `Task`, or several.
        algorithm: of Λ⁻¹.
        damping: 0 refuses tasks with more rows than can move independently.
    """
    return _quantity(
        "operational_inertia",
        ("q",),
        _inertia,
        tasks,
        algorithm=algorithm,
        damping=damping,
    )


def dynamically_consistent_inverse(
    tasks: Tasks, algorithm: str = "auto", damping: float = 0.0
) -> Quantity:
    """Return the quantity J̄ = M⁻¹ Jᵀ Λ of some tasks: (nv, rows), of q."""
    return _quantity(
        "dynamically_consistent_inverse",
        ("q",),
        _consistent_inverse,
        tasks,
        algorithm=algorithm,
        damping=damping,
    )


def null_space_projector(
    tasks: Tasks, algorithm: str = "auto", damping: float = 0.0
) -> Quantity:
    """Return the quantity N = 1 − J̄ J: (nv, nv), of q.

    Torques Nᵀ τ do not accelerate the tasks.
    """
    return _quantity(
        "null_space_projector",
        ("q",),
        _projector,
        tasks,
        algorithm=algorithm,
        damping=damping,
    )


def task_jacobian(tasks: Tasks) -> Quantity:
    """Return the quantity J, the rows of all tasks: (rows, nv), of q."""
    return _quantity("task_jacobian", ("q",), _task_jacobian, tasks)


def task_bias(tasks: Tasks) -> Quantity:
    """Return the quantity β = J̇ q̇ − J M⁻¹ (C + G): (rows,), of q and qd.

    It is how the tasks accelerate when no joint is driven.
    """
    return _quantity("task_bias", ("q", "qd"), _bias, tasks)


def task_acceleration(tasks: Tasks) -> Quantity:
    """Return the quantity ẍ = J q̈ + J̇ q̇ for given torques: (rows,), of q, qd, tau."""
    return _quantity("task_acceleration", ("q", "qd", "tau"), _acceleration, tasks)


def _quantity(
    name: str,
    inputs: tuple[str, ...],
    traced: Callable[..., Any],
    tasks: Tasks,
    **options: Any,
) -> Quantity:
    algorithm = options.get("algorithm", "auto")
    if algorithm not in ("auto", *ALGORITHMS):
        raise UnknownName(
            f"algorithm is {algorithm!r}; possible: "
            + ", ".join(map(repr, ("auto", *ALGORITHMS)))
        )
    damping = options.get("damping", 0.0)
    if not isinstance(damping, float | int) or not 0.0 <= damping < float("inf"):
        raise UnknownName(f"damping is {damping!r}; expected a number, 0 or more")
    given = (("tasks", tasks_of(tasks)), *options.items())
    return Quantity(name, inputs, traced, given)


# ------------------------------------------------------------ how each is traced


def _inverse(context: Context, tasks: tuple[Task, ...], algorithm: str) -> Any:
    return array(inverse_matrix(context, tasks, algorithm))


def inverse_matrix(
    context: Context, tasks: tuple[Task, ...], algorithm: str = "auto"
) -> Matrix:
    """Return Λ⁻¹ as symbols."""
    model = context.model
    check_dynamics(model)
    if algorithm == "auto":
        algorithm = chosen(model, context.conventions, tasks)
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


def row_count(tasks: Sequence[Task]) -> int:
    """Return how many rows some tasks have."""
    return sum(len(t.names("linear_first")) for t in tasks)


def _by_factor(context: Context, tasks: tuple[Task, ...]) -> Symmetric:
    if context.model.mimics:
        M, parents, order = sparse_mass_matrix(context)
        place = {v: k for k, v in enumerate(order)}
        J = [
            {place[v]: x for v, x in enumerate(row)}
            for row in jacobian_rows(context, tasks)
        ]
        return sfa(M, parents, J)
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


def public_indices(task: Task, conventions: Conventions) -> tuple[int, ...]:
    """Return which rows of a 6-vector in the caller's order a task has."""
    indices = task.indices(conventions.order)
    if conventions.order == "linear_first":
        return tuple((k + 3) % 6 for k in indices)
    return indices


def _inertia(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Any:
    return array(inertia_matrix(context, tasks, algorithm, damping))


def inertia_matrix(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Matrix:
    """Return Λ as symbols; refuse tasks that are not independent, unless damped."""
    if damping == 0.0:
        check_rank(context.model, context.conventions, tasks)
    G = inverse_matrix(context, tasks, algorithm)
    for k in range(len(G)):
        G[k][k] = G[k][k] + damping
    return symmetric_inverse(G)


def _consistent_inverse(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Any:
    L = inertia_matrix(context, tasks, algorithm, damping)
    MJ = _by_mass(context, jacobian_rows(context, tasks))
    return array(_product(list(map(list, zip(*MJ, strict=True))), L))


def _by_mass(context: Context, rows: list[list[Expr]]) -> Matrix:
    """Return the rows of J M⁻¹, one solve with M = Lᵀ D L each."""
    M, parents, order = sparse_mass_matrix(context)
    L, D = ltdl(M, parents)
    out: Matrix = []
    for row in rows:
        x = solve(L, D, {k: row[v] for k, v in enumerate(order)}, parents)
        line = [ZERO] * len(order)
        for k, v in enumerate(order):
            line[v] = x[k]
        out.append(line)
    return out


def _projector(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Any:
    Jbar = _consistent_inverse(context, tasks, algorithm, damping)
    N = _product([list(r) for r in Jbar], jacobian_rows(context, tasks))
    return array(
        [
            [(ONE if i == j else ZERO) - x for j, x in enumerate(row)]
            for i, row in enumerate(N)
        ]
    )


def _product(A: Matrix, B: Matrix) -> Matrix:
    columns = list(zip(*B, strict=True))
    out: Matrix = []
    for row in A:
        line: list[Expr] = []
        for column in columns:
            total = ZERO
            for x, y in zip(row, column, strict=True):
                total = total + x * y
            line.append(total)
        out.append(line)
    return out


def _task_jacobian(context: Context, tasks: tuple[Task, ...]) -> Any:
    return array(jacobian_rows(context, tasks))


def _bias(context: Context, tasks: tuple[Task, ...]) -> Any:
    free = _with(context, tau=[ZERO] * context.model.nv)
    return _acceleration(free, tasks)


def _acceleration(context: Context, tasks: tuple[Task, ...]) -> Any:
    qdd = _forward(context)
    return array(accelerations(_with(context, qdd=list(qdd)), tasks))


def _forward(context: Context) -> Any:
    from ramify.compiling import resolve  # noqa: PLC0415  compiling knows quantities

    model, conventions = context.model, context.conventions
    return resolve(forward_dynamics, model, conventions).of(context)


def accelerations(context: Context, tasks: Sequence[Task]) -> list[Expr]:
    """Return J q̈ + J̇ q̇ of the rows of some tasks."""
    rows: list[Expr] = []
    for task in tasks:
        is_aligned = task.expressed_in == "local_world_aligned"
        kind = "classical" if is_aligned else "spatial"
        a = kinematics.acceleration(task.frame, kind, task.expressed_in).of(context)
        rows += [a[r] for r in public_indices(task, context.conventions)]
    return rows


def _with(context: Context, **inputs: Symbols) -> Context:
    """Return the same robot and state with other inputs."""
    return Context(
        context.model,
        context.conventions,
        {**context.inputs, **{n: array(x) for n, x in inputs.items()}},
    )


# ------------------------------------------------------------ counting and rank


def chosen(model: Model, conventions: Conventions, tasks: tuple[Task, ...]) -> str:
    """Return the algorithm that costs the machine least.

    Simplifying takes longer than tracing: only what is near the best is simplified.
    """
    names = _possible(model)
    costs = {n: count(_traced(model, conventions, tasks, n)).cost for n in names}
    bound = NEAR * min(costs.values())
    near = [n for n in names if costs[n] <= bound]
    return min(near, key=lambda n: lowered_count(model, conventions, tasks, n).cost)


def _possible(model: Model) -> tuple[str, ...]:
    """Couplings tie branches together: then there are no articulated bodies."""
    return ("sfa",) if model.mimics else ALGORITHMS


@lru_cache(maxsize=64)
def _traced(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...], algorithm: str
) -> Program:
    def traced(q: Symbols) -> Any:
        return _inverse(Context(model, conventions, {"q": q}), tasks, algorithm)

    return trace(traced, {"q": model.nq})


@lru_cache(maxsize=256)
def lowered_count(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...], algorithm: str
) -> Ops:
    """Return the operations of Λ⁻¹ as the machine does them, divisions shared."""
    return count(lower(simplify(_traced(model, conventions, tasks, algorithm))))


@lru_cache(maxsize=64)
def inverse_samples(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...]
) -> Array:
    """Return Λ⁻¹ at a few random configurations, scaled to unit diagonals."""
    algorithm = chosen(model, conventions, tasks)
    program = _traced(model, conventions, tasks, algorithm)
    rng = np.random.default_rng(0)
    q = random_configurations(model, joint_limits(model), rng, STATES)
    G = evaluate(program, {"q": q})["result"]
    scale = np.sqrt(np.abs(np.einsum("bii->bi", G)))
    scale[scale < 1e-12 * scale.max(initial=1e-300)] = np.inf
    return G / (scale[:, :, None] * scale[:, None, :])


def rank(model: Model, conventions: Conventions, tasks: tuple[Task, ...]) -> int:
    """Return how many rows of some tasks can move independently somewhere."""
    values = np.linalg.eigvalsh(inverse_samples(model, conventions, tasks))
    return int((values > SINGULAR).sum(axis=1).max())


def check_rank(model: Model, conventions: Conventions, tasks: tuple[Task, ...]) -> None:
    """Raise ModelError for tasks with more rows than can move independently."""
    rows, found = row_count(tasks), rank(model, conventions, tasks)
    if found < rows:
        names = ", ".join(map(str, tasks))
        raise ModelError(
            f"robot {model.name!r}: tasks {names} have {rows} rows, but only {found} "
            "can move independently (the rank of J M⁻¹ Jᵀ); ask for fewer rows, or "
            "give damping="
        )
