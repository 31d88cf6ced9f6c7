"""Robots with closed loops: their constraints, accelerations and multipliers.

    M q̈ + h = τ + Jᵀ λ,    J q̈ + γ = 0        J = ∂Φ/∂q,  γ = J̇ q̇

Rows of Φ stand in the order of `robot.loops`; `row_names` says what each holds. A
multiplier is what the loop does to the robot, with the sign of τ: for a cut between
frame A on body a and frame B on body b, λ of a position row is the force [N] on b, and
that of a turn the moment [Nm] on b about B's origin, along the axes of A; on a acts the
opposite. λ of a distance is positive where the rod pushes; λ of a coupling is a force
on its first joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, final

from ramify.algorithms.crba import TreeEntries
from ramify.algorithms.loops.constrained_aba import constrained_aba
from ramify.algorithms.loops.constraints import ConstraintRow, constraint_rows, senses
from ramify.algorithms.loops.cuts import CutJoint, cuts_of
from ramify.algorithms.loops.joint_formulation import dot, factor, joint_formulation
from ramify.algorithms.loops.loopwise import eliminate, loopwise
from ramify.algorithms.loops.proximal import (
    DAMPING,
    Solver,
    least,
    proximal,
    without,
)
from ramify.algorithms.ltdl import DofVector
from ramify.algorithms.operational.tasks import Task, Tasks, tasks_of
from ramify.algorithms.rnea import rnea
from ramify.errors import ModelError, UnknownName
from ramify.model.assembly import Model
from ramify.model.conventions import Conventions
from ramify.model.singular import check_dynamics
from ramify.quantities.base import Context, Quantity, array, zeros
from ramify.quantities.dynamics import sparse_mass_matrix
from ramify.quantities.osim import jacobian_rows
from ramify.quantities.redundancy import Rank, rank_of
from ramify.spatial.vectors import Force
from ramify.symbolic.count import Ops, count
from ramify.symbolic.expr import Expr, const
from ramify.symbolic.trace import trace

ALGORITHMS = ("joint_formulation", "loopwise", "constrained_aba")
"""what algorithm="auto" chooses from, by counting"""
POSSIBLE = ("auto", *ALGORITHMS, "proximal")


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
    cuts = _cuts(context)
    qd = context.qd if with_velocities else None
    found = constraint_rows(context.tree, cuts, context.q, qd)
    coordinates = context.coordinates
    dofs = range(len(coordinates.P))
    J = [coordinates.row([r.J.get(k, _ZERO) for k in dofs]) for r in found]
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


def _cuts(context: Context) -> tuple[CutJoint, ...]:
    cuts = cuts_of(context.model)
    if not cuts:
        raise ModelError(
            f"robot {context.model.name!r} has no loops; robot.add_loop makes one"
        )
    return cuts


def _residual(context: Context) -> Any:
    return array(rows_of(context, with_velocities=False).residual)


def _jacobian(context: Context) -> Any:
    return array(rows_of(context, with_velocities=False).J)


def _bias(context: Context) -> Any:
    return array(rows_of(context).bias)


# ------------------------------------------------------------ dynamics


@final
@dataclass(frozen=True, slots=True, eq=False)
class System:
    """The augmented system over the degrees of freedom, parents first."""

    M: TreeEntries
    parents: tuple[int, ...]
    order: tuple[int, ...]
    """the place of each degree of freedom in q̇"""
    J: list[DofVector]
    gamma: list[Expr]
    residual: list[Expr]
    kept: list[int]
    """the rows in it: all but those that follow from them wherever the robot is"""


def system_of(context: Context, with_velocities: bool = True) -> System:
    """Return the augmented system of a robot with loops."""
    check_dynamics(context.model)
    rows = rows_of(context, with_velocities)
    M, parents, order = sparse_mass_matrix(context)
    J = [
        {k: row[v] for k, v in enumerate(order) if not _is_zero(row[v])}
        for row in rows.J
    ]
    dropped = rank_of(context.model, context.conventions).dropped
    kept = [r for r in range(len(J)) if r not in dropped]
    gamma = [rows.bias[r] for r in kept] if with_velocities else []
    residual = [rows.residual[r] for r in kept]
    return System(M, parents, order, [J[r] for r in kept], gamma, residual, kept)


def solver_of(
    system: System, algorithm: str, damping: float, scales: Sequence[float]
) -> Solver:
    """Return what solves a system, factored, with proximal passes if it is damped."""
    mu = [damping * scales[r] for r in system.kept] if damping else []
    if algorithm == "loopwise":
        E = eliminate(system.M, system.J, len(system.order), mu)
        solve: Solver = lambda Q, gamma: loopwise(E, Q, gamma)  # noqa: E731
    else:
        A = factor(system.M, system.J, system.parents, mu)
        solve = lambda Q, gamma: joint_formulation(A, Q, gamma)  # noqa: E731
    if not damping:
        return solve
    return lambda Q, gamma: proximal(solve, system.J, Q, gamma)


def constrained(
    context: Context,
    algorithm: str = "auto",
    damping: float | None = None,
    forces: dict[int, Force] | None = None,
    rate: float = 0.0,
) -> tuple[list[Expr], list[Expr]]:
    """Return q̈ and λ of a robot with loops, for its inputs q, qd and tau.

    With a ``rate`` [1/s], errors of position and velocity die out at it (Baumgarte's
    stabilisation): Φ̈ = −2 rate Φ̇ − rate² Φ.
    """
    check_dynamics(context.model)
    _cuts(context)
    chosen, mu, rank = settled(
        context.model, context.conventions, algorithm, damping, context.dtype
    )
    if chosen == "constrained_aba":
        return _articulated(context, rank, forces, rate)
    system = system_of(context)
    still = zeros(context.model.nv)
    moved = context.coordinates.acceleration(still, context.qd)
    tree = context.dynamics_tree
    tau = rnea(tree, context.q, context.qd, moved, context.gravity, forces)
    bias = context.coordinates.force(tau, still)
    Q = {k: context.inputs["tau"][v] - bias[v] for k, v in enumerate(system.order)}
    solve = solver_of(system, chosen, mu, rank.scales)
    gamma = system.gamma
    if rate:
        qd = {k: context.inputs["qd"][v] for k, v in enumerate(system.order)}
        terms = zip(gamma, system.J, system.residual, strict=True)
        gamma = [_steadied(g, row, qd, phi, rate) for g, row, phi in terms]
    x, found = solve(Q, gamma)
    multipliers = _least(system.kept, rank, found)
    if rank.spare:
        J = dict(zip(system.kept, system.J, strict=True))
        multipliers = least(J, rank.spare, rank.null, multipliers, mu)
    qdd = zeros(context.model.nv)
    for k, v in enumerate(system.order):
        qdd[v] = x[k]
    return qdd, multipliers


def _steadied(
    gamma: Expr, row: DofVector, qd: DofVector, phi: Expr, rate: float
) -> Expr:
    return gamma + dot(row, qd) * (2.0 * rate) + phi * (rate * rate)


def _articulated(
    context: Context, rank: Rank, forces: dict[int, Force] | None, rate: float
) -> tuple[list[Expr], list[Expr]]:
    """Return q̈ and λ by articulated bodies, for rows that are independent."""
    coordinates, tree = context.coordinates, context.dynamics_tree
    all_cuts = _cuts(context)
    cuts = [cut for cut in all_cuts for _ in cut.rows]
    rows = constraint_rows(tree, all_cuts, context.q, context.qd)
    kept = [r for r in range(len(rows)) if r not in rank.dropped]
    if rate:
        qd: DofVector = {}
        for i, dofs in enumerate(tree.dofs):
            qd.update(zip(dofs, context.qd[i], strict=True))
        rows = [
            replace(r, bias=_steadied(r.bias, r.J, qd, r.residual, rate)) for r in rows
        ]
    tau = coordinates.tree_force(context.inputs["tau"], context.qd)
    qdd, found = constrained_aba(
        tree,
        [cuts[r] for r in kept],
        [rows[r] for r in kept],
        context.q,
        context.qd,
        tau,
        context.gravity,
        forces,
    )
    public = coordinates.public_acceleration(qdd, context.qd)
    return public, _least(kept, rank, found)


def _least(kept: Sequence[int], rank: Rank, found: Sequence[Expr]) -> list[Expr]:
    """Return multipliers of all rows, the least while the rows kept are independent."""
    full = zeros(rank.rows)
    for r, e in zip(kept, found, strict=True):
        full[r] = e
    return without(rank.null, full)


def settled(
    model: Model,
    conventions: Conventions,
    algorithm: str,
    damping: float | None,
    dtype: str = "float64",
) -> tuple[str, float, Rank]:
    """Return the algorithm and the damping to use, and the rank they are chosen by.

    Without ``damping``, constraints are damped where they are redundant, by what the
    rounding of ``dtype`` and the digits of the file need.
    """
    if algorithm not in POSSIBLE:
        raise UnknownName(
            f"algorithm is {algorithm!r}; possible for a robot with loops: "
            + ", ".join(map(repr, POSSIBLE))
        )
    if damping is not None and not 0.0 <= damping < 1.0:
        raise ModelError(f"damping is {damping!r}; expected a number in [0, 1)")
    rank = rank_of(model, conventions)
    left = rank.rows - len(rank.dropped)
    if damping == 0.0 and rank.q is not None and rank.rank < left:
        raise ModelError(
            f"robot {model.name!r}: damping is 0, but of {rank.rows} rows of its loops "
            f"only {rank.rank} are independent; leave damping out, or remove rows"
        )
    if damping is None:
        needed = rank.is_redundant or algorithm == "proximal"
        damping = max(DAMPING[dtype], rank.damping) if needed else 0.0
    if algorithm == "proximal":
        algorithm = "joint_formulation"
    if algorithm == "constrained_aba" and (damping or model.mimics):
        why = "has mimic joints" if model.mimics else "has rows that depend on others"
        raise ModelError(
            f"robot {model.name!r} {why}: algorithm 'constrained_aba' is for others; "
            "possible: 'auto', 'joint_formulation', 'loopwise'"
        )
    if algorithm == "auto":
        costs = costs_of(model, conventions, damping)
        algorithm = min(costs, key=lambda name: costs[name].cost)
    return algorithm, damping, rank


@lru_cache(maxsize=32)
def costs_of(model: Model, conventions: Conventions, damping: float) -> dict[str, Ops]:
    """Return the operations of each algorithm for the accelerations of a robot."""
    shapes = {"q": model.nq, "qd": model.nv, "tau": model.nv}
    costs: dict[str, Ops] = {}
    for algorithm in ALGORITHMS:
        if algorithm == "constrained_aba" and (damping or model.mimics):
            continue

        def traced(q: Any, qd: Any, tau: Any, algorithm: str = algorithm) -> Any:
            inputs = {"q": q, "qd": qd, "tau": tau}
            context = Context(model, conventions, inputs)
            return constrained(context, algorithm, damping)[0]

        costs[algorithm] = count(trace(traced, shapes))
    return costs


def _forward_dynamics(
    context: Context,
    algorithm: str = "auto",
    damping: float | None = None,
    rate: float = 0.0,
) -> Any:
    return array(constrained(context, algorithm, damping, rate=rate)[0])


def _loop_forces(
    context: Context, algorithm: str = "auto", damping: float | None = None
) -> Any:
    return array(constrained(context, algorithm, damping)[1])


def _correction(context: Context) -> Any:
    """Return the least v (in the norm of M) with J v = −x, for x (rows,)."""
    model, conventions = context.model, context.conventions
    _, mu, rank = settled(model, conventions, "loopwise", None, context.dtype)
    system = system_of(context, with_velocities=False)
    solve = solver_of(system, "loopwise", mu, rank.scales)
    x, _ = solve({}, [context.inputs["x"][r] for r in system.kept])
    v = zeros(context.model.nv)
    for k, place in enumerate(system.order):
        v[place] = x[k]
    return array(v)


def _rows_shape(model: Model, **_: Any) -> dict[str, tuple[int, ...]]:
    return {"x": (sum(len(cut.rows) for cut in cuts_of(model)),)}


def _senses(context: Context) -> Any:
    found = senses(context.tree, _cuts(context), context.q)
    return array([*found, const(1.0)])


def _operational(context: Context, tasks: tuple[Task, ...]) -> Any:
    model, conventions = context.model, context.conventions
    _, mu, rank = settled(model, conventions, "loopwise", None, context.dtype)
    system = system_of(context, with_velocities=False)
    solve = solver_of(system, "loopwise", mu, rank.scales)
    still = zeros(len(system.J))
    J = [
        {k: row[v] for k, v in enumerate(system.order) if not _is_zero(row[v])}
        for row in jacobian_rows(context, tasks)
    ]
    columns = [solve(row, still)[0] for row in J]
    half = [[dot(row, x) for x in columns[: r + 1]] for r, row in enumerate(J)]
    n = range(len(J))
    return array([[half[max(r, c)][min(r, c)] for c in n] for r in n])


def constrained_operational_inertia_inverse(tasks: Tasks) -> Quantity:
    """Return the quantity Λ⁻¹ of tasks of a robot with loops: (rows, rows), of q.

    It is J_t N J_tᵀ, with N = M⁻¹ − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ J M⁻¹: how the tasks
    accelerate under forces on them while all loops stay closed.

    Args:
        tasks: a frame, a `Task`, or several.
    """
    return Quantity(
        "constrained_operational_inertia_inverse",
        ("q",),
        _operational,
        (("tasks", tasks_of(tasks)),),
    )


def _is_zero(e: Expr) -> bool:
    return e.op == "const" and e.value == 0.0


_ZERO = zeros(1)[0]

constraint_residual = Quantity("constraint_residual", ("q",), _residual)
"""Φ(q): (rows,), zero where all loops are closed."""
constraint_jacobian = Quantity("constraint_jacobian", ("q",), _jacobian)
"""J = ∂Φ/∂q: (rows, nv), with Φ̇ = J q̇."""
constraint_bias = Quantity("constraint_bias", ("q", "qd"), _bias)
"""γ = J̇ q̇: (rows,), with Φ̈ = J q̈ + γ."""
constrained_forward_dynamics = Quantity(
    "constrained_forward_dynamics", ("q", "qd", "tau"), _forward_dynamics
)
"""q̈ with all loops closed. Options: ``algorithm`` and ``damping``, as in `settled`."""
loop_forces = Quantity("loop_forces", ("q", "qd", "tau"), _loop_forces)
"""λ: (rows,), with M q̈ + h = τ + Jᵀ λ.

Where rows are redundant, λ is not unique: what it does, Jᵀ λ, is, and of all λ that do
it the one with the least Σ λ² is given, over all rows, forces [N] and moments [Nm] as
they are. A row that nothing can move along (out of the plane of a planar loop) has
λ = 0: what the tree's joints carry there is not in it.
"""
constraint_correction = Quantity(
    "constraint_correction", ("q",), _correction, shapes=_rows_shape
)
"""The least v, measured by M, with J v = −x, for inputs q and x (rows,)."""
constraint_senses = Quantity("constraint_senses", ("q",), _senses)
"""What must be positive beside Φ = 0: that the axes of cuts are not opposite."""
