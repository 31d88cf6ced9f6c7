"""Operational space: inertia, consistent inverse, null space, bias of some tasks.

    Λ⁻¹ = J M⁻¹ Jᵀ       J̄ = M⁻¹ Jᵀ Λ       N = 1 − J̄ J
    ẍ = J M⁻¹ τ + β      β = J̇ q̇ − J M⁻¹ (C + G)

Rows are those of the tasks, in their order. Quantities that are compiled together share
what they have in common, Λ⁻¹ first of all, and the choice of its algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ramidyn.algorithms.ltdl import solve_L
from ramidyn.algorithms.operational.consistent_inverse import consistent_inverse
from ramidyn.algorithms.operational.tasks import Task, ends
from ramidyn.description.conventions import Conventions
from ramidyn.errors import ArgumentError
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.quantities.dynamics import possible as possible_dynamics
from ramidyn.quantities.mass_matrix import (
    MassSolver,
    check_factor,
    factored_trees,
    sparse_mass_matrix,
)
from ramidyn.quantities.operational_inertia import (
    BY_NAME_ONLY,
    COUNTED,
    accelerations,
    check_rank,
    inverse_matrix,
    jacobian_rows,
    possible,
    row_count,
)
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import Matrix, above_rounding, inner, inverse, ldl, product
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tracing.chooser import (
    NEAR_IN_PART,
    Candidate,
    cheapest,
    trace_with_context,
)
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import Quantity, quantity
from ramidyn.tree.model import Model


def _of_tasks(returns: str) -> Callable[[Callable[..., Any]], Quantity]:
    """Declare a quantity of some tasks by one of the algorithms of Λ⁻¹."""
    return quantity(
        "q",
        algorithms=COUNTED,
        possible=possible,
        by_name_only=BY_NAME_ONLY,
        shares_choice=True,
        returns=returns,
    )


@_of_tasks("Lambda^-1 = J M^-1 J'")
def operational_inertia_inverse(
    context: Context, tasks: tuple[Task, ...], algorithm: str = "auto"
) -> Any:
    """Λ⁻¹ = J M⁻¹ Jᵀ."""
    return array(inverse_matrix(context, tasks, algorithm))


@_of_tasks("Lambda")
def operational_inertia(
    context: Context,
    tasks: tuple[Task, ...],
    algorithm: str = "auto",
    damping: float = 0.0,
) -> Any:
    """Λ = (J M⁻¹ Jᵀ + damping 1)⁻¹."""
    return array(_inertia(context, tasks, algorithm, damping))


@_of_tasks("Jbar = M^-1 J' Lambda")
def dynamically_consistent_inverse(
    context: Context,
    tasks: tuple[Task, ...],
    algorithm: str = "auto",
    damping: float = 0.0,
    response: str = "auto",
) -> Any:
    """J̄ = M⁻¹ Jᵀ Λ."""
    L = _inertia(context, tasks, algorithm, damping)
    return array(_response(context, tasks, algorithm, response, L))


@_of_tasks("N = 1 - Jbar J")
def null_space_projector(
    context: Context,
    tasks: tuple[Task, ...],
    algorithm: str = "auto",
    damping: float = 0.0,
    response: str = "auto",
) -> Any:
    """N = 1 − J̄ J."""
    L = _inertia(context, tasks, algorithm, damping)
    Jbar = _response(context, tasks, algorithm, response, L)
    N = product(Jbar, jacobian_rows(context, tasks))
    return array(
        [
            [(ONE if i == j else ZERO) - x for j, x in enumerate(row)]
            for i, row in enumerate(N)
        ]
    )


# ------------------------------------------------------------ M⁻¹ Jᵀ Λ


def _response(
    context: Context,
    tasks: tuple[Task, ...],
    algorithm: str,
    response: str,
    L: Matrix,
) -> Matrix:
    """Return M⁻¹ Jᵀ Λ in one of RESPONSES; "auto" is the cheaper one."""
    if response == "auto" and (algorithm == "sfa" or context.model.mimics):
        response = "factor"  # M is there already
    elif response == "auto":
        response = _cheaper_response(context.model, context.conventions, tasks)
    return RESPONSES[response](context, tasks, L)


def _by_factor(context: Context, tasks: tuple[Task, ...], Lam: Matrix) -> Matrix:
    """Return L⁻¹ (D⁻¹ Yᵀ Λ), Y = J L⁻¹: Λ meets the nonzeros of Y, which "sfa" has."""
    check_factor(context.model, "request quantities that do not need M⁻¹ Jᵀ")
    solver = MassSolver(*sparse_mass_matrix(context))
    Y = [solver.half_solved(row) for row in jacobian_rows(context, tasks)]
    W: list[dict[int, Expr]] = [{} for _ in solver.parents]  # rows of D⁻¹ Yᵀ
    for k, d in solver.D.items():
        Dinv = ONE / d
        W[k] = {r: y[k] * Dinv for r, y in enumerate(Y) if not y[k].is_zero}
    region("consistent inverse")
    columns: list[list[Expr]] = []
    for column in zip(*Lam, strict=True):
        x = {k: inner(w.values(), [column[r] for r in w]) for k, w in enumerate(W)}
        columns.append(solver.order.scatter(solve_L(solver.L, x, solver.parents)))
    return list(map(list, zip(*columns, strict=True)))


def _by_propagators(context: Context, tasks: tuple[Task, ...], L: Matrix) -> Matrix:
    model = context.model
    if model.mimics:
        raise ArgumentError(
            f"response 'propagators' cannot be used, because robot {model.name!r} has "
            f"mimic joints, such as {model.mimics[0]!r}; possible: 'auto', 'factor'"
        )
    tree, order = context.dynamics_tree, context.conventions.order
    found = ends(tree, context.q, model, tasks, order)
    inverse = consistent_inverse(tree, context.q, found, L)
    columns = [context.coordinates.row(c) for c in zip(*inverse, strict=True)]
    return list(map(list, zip(*columns, strict=True)))


RESPONSES: dict[str, Callable[..., Matrix]] = {
    "factor": _by_factor,
    "propagators": _by_propagators,
}


@lru_cache(maxsize=64)
def _cheaper_response(
    model: Model, conventions: Conventions, tasks: tuple[Task, ...]
) -> str:
    """Return the cheapest way to M⁻¹ Jᵀ Λ beside Λ⁻¹ by propagation."""
    if "ltdl" not in factored_trees(model):
        return "propagators"
    n = row_count(tasks)

    def traced(response: str) -> Candidate:
        def run(context: Context) -> Any:
            inverse = inverse_matrix(context, tasks, "pv")
            Jbar = RESPONSES[response](context, tasks, context.inputs["Lambda"])
            return array([x for row in (*inverse, *Jbar) for x in row])

        shapes = {"q": model.nq, "Lambda": (n, n)}
        return Candidate(trace_with_context(run, model, conventions, shapes))

    return cheapest({name: traced(name) for name in RESPONSES}, NEAR_IN_PART).best


@quantity("q", returns="Jacobian of the tasks")
def task_jacobian(context: Context, tasks: tuple[Task, ...]) -> Any:
    """J, the rows of all tasks."""
    return array(jacobian_rows(context, tasks))


def _of_forward_dynamics(
    *inputs: str, returns: str
) -> Callable[[Callable[..., Any]], Quantity]:
    """Declare a quantity through forward dynamics, by one of its algorithms."""
    of = forward_dynamics.declaration
    return quantity(
        *inputs,
        algorithms=of.algorithms,
        possible=possible_dynamics,
        by_name_only=of.by_name_only,
        has_forces=True,
        returns=returns,
    )


@_of_forward_dynamics("q", "qd", returns="acceleration of the tasks without torques")
def task_bias(
    context: Context, tasks: tuple[Task, ...], algorithm: str = "auto"
) -> Any:
    """β = J̇ q̇ − J M⁻¹ (C + G)."""
    free = context.with_inputs(tau=[ZERO] * context.model.nv)
    return task_acceleration(tasks, algorithm).of(free)


@_of_forward_dynamics("q", "qd", "tau", returns="acceleration of the tasks")
def task_acceleration(
    context: Context, tasks: tuple[Task, ...], algorithm: str = "auto"
) -> Any:
    """ẍ = J q̈ + J̇ q̇."""
    qdd = forward_dynamics(algorithm=algorithm).of(context)
    return array(accelerations(context.with_inputs(qdd=qdd), tasks))


def _inertia(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Matrix:
    """Return Λ as symbols; reject tasks that are not independent, unless damped."""
    if damping == 0.0:
        check_rank(context.model, context.conventions, tasks, algorithm)
    G = inverse_matrix(context, tasks, algorithm)
    for k in range(len(G)):
        G[k][k] = G[k][k] + damping
    return inverse(*ldl(G, above_rounding))
