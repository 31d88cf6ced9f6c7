"""Operational space: inertia, consistent inverse, null space, bias of some tasks.

    Λ⁻¹ = J M⁻¹ Jᵀ       J̄ = M⁻¹ Jᵀ Λ       N = 1 − J̄ J
    ẍ = J M⁻¹ τ + β      β = J̇ q̇ − J M⁻¹ (C + G)

Rows are those of the tasks, in their order. Quantities that are compiled together share
what they have in common, Λ⁻¹ first of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ramify.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramify.quantities.base import Context, Quantity, Symbols, array
from ramify.quantities.dynamics import forward_dynamics
from ramify.quantities.osim import (
    ALGORITHMS,
    accelerations,
    check_algorithm,
    damping_of,
    inverse_matrix,
    jacobian_rows,
    mass_solution,
)
from ramify.quantities.osim_choice import check_rank, chosen
from ramify.quantities.symmetric import Matrix, symmetric_inverse
from ramify.spatial.vector3 import ONE, ZERO
from ramify.symbolic.expr import Expr


def operational_inertia_inverse(tasks: Tasks, algorithm: str = "auto") -> Quantity:
    """Return the quantity Λ⁻¹ = J M⁻¹ Jᵀ of some tasks: (rows, rows), of q.

    Args:
        tasks: a frame, a `Task`, or several.
        algorithm: "auto" takes the one that costs least, compiled for this robot and
            these tasks (see `explain_operational`); or "sfa", "rjk", "chang_khatib",
            "efpa", "pv", "pvr", "mixed".
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
    return _forward("task_bias", ("q", "qd"), _bias, tasks)


def task_acceleration(tasks: Tasks) -> Quantity:
    """Return the quantity ẍ = J q̈ + J̇ q̇ for given torques: (rows,), of q, qd, tau."""
    return _forward("task_acceleration", ("q", "qd", "tau"), _acceleration, tasks)


def _forward(
    name: str, inputs: tuple[str, ...], traced: Callable[..., Any], tasks: Tasks
) -> Quantity:
    """Return a quantity through forward dynamics, by articulated bodies or by M."""
    given = (("tasks", tasks_of(tasks)), ("algorithm", "auto"))
    return replace(
        forward_dynamics,
        name=name,
        inputs=inputs,
        trace=traced,
        options=given,
        shapes=None,
    )


def _quantity(
    name: str,
    inputs: tuple[str, ...],
    traced: Callable[..., Any],
    tasks: Tasks,
    **options: Any,
) -> Quantity:
    if "algorithm" in options:
        check_algorithm(options["algorithm"], ("auto", *ALGORITHMS))
    if "damping" in options:
        options["damping"] = damping_of(options["damping"])
    given = (("tasks", tasks_of(tasks)), *options.items())
    return Quantity(name, inputs, traced, given)


# ------------------------------------------------------------ how each is traced


def inverse_of(
    context: Context, tasks: tuple[Task, ...], algorithm: str = "auto"
) -> Matrix:
    """Return Λ⁻¹ as symbols."""
    return inverse_matrix(context, tasks, decided(context, tasks, algorithm))


def decided(
    context: Context, tasks: tuple[Task, ...], algorithm: str, needs: bool = False
) -> str:
    """Return the algorithm of Λ⁻¹: for one set of tasks the same in all of a kernel.

    It counts whether the caller, or another quantity of the kernel, ``needs`` J M⁻¹.
    """
    check_algorithm(algorithm, ("auto", *ALGORITHMS))
    if algorithm != "auto":
        return algorithm
    has_solution = needs or any(
        x.trace in (_consistent_inverse, _projector)
        and dict(x.options).get("tasks") == tasks
        for x in context.together
    )
    return chosen(context.model, context.conventions, tasks, has_solution)


def _inverse(context: Context, tasks: tuple[Task, ...], algorithm: str) -> Any:
    return array(inverse_of(context, tasks, algorithm))


def _inertia(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Any:
    return array(inertia_matrix(context, tasks, algorithm, damping))


def inertia_matrix(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Matrix:
    """Return Λ as symbols; refuse tasks that are not independent, unless damped."""
    damping = damping_of(damping)
    algorithm = decided(context, tasks, algorithm)
    if damping == 0.0:
        check_rank(context.model, context.conventions, tasks, algorithm)
    G = inverse_of(context, tasks, algorithm)
    for k in range(len(G)):
        G[k][k] = G[k][k] + damping
    return symmetric_inverse(G)


def _consistent_inverse(
    context: Context, tasks: tuple[Task, ...], algorithm: str, damping: float
) -> Any:
    algorithm = decided(context, tasks, algorithm, needs=True)
    L = inertia_matrix(context, tasks, algorithm, damping)
    MJ = mass_solution(context, tasks, algorithm)
    return array(_product(list(map(list, zip(*MJ, strict=True))), L))


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


def _bias(context: Context, tasks: tuple[Task, ...], algorithm: str) -> Any:
    free = with_inputs(context, tau=[ZERO] * context.model.nv)
    return _acceleration(free, tasks, algorithm)


def _acceleration(context: Context, tasks: tuple[Task, ...], algorithm: str) -> Any:
    qdd = forward_dynamics(algorithm=algorithm).of(context)
    return array(accelerations(with_inputs(context, qdd=qdd), tasks))


def with_inputs(context: Context, **inputs: Symbols) -> Context:
    """Return the same robot and state with other inputs."""
    return Context(
        context.model,
        context.conventions,
        {**context.inputs, **{n: array(x) for n, x in inputs.items()}},
        context.dtype,
        context.together,
    )
