"""Robots with closed loops: their constraints, accelerations and multipliers.

    M q̈ + h = τ + Jᵀ λ,    J q̈ + γ = 0        J = ∂Φ/∂q,  γ = J̇ q̇

Rows of Φ stand in the order of `robot.loops`; `row_names` says what each holds. A
multiplier is what the loop does to the robot, with the sign of τ: for a cut between
frame A on body a and frame B on body b, λ of a position row is the force [N] on b, and
that of a turn the moment [Nm] on b about B's origin, along the axes of A; the opposite
acts on a. λ of "u" is the moment on b along z of A × x of B. λ of a distance is
positive where the rod pushes; λ of a coupling is a force on its first joint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from ramidyn.algorithms.clusters import Clusters, mimic_factors
from ramidyn.algorithms.crba import crba
from ramidyn.algorithms.forces.applied import Applied
from ramidyn.algorithms.loops import ALGORITHMS, BY_NAME_ONLY
from ramidyn.algorithms.loops.constrained_aba import constrained_aba
from ramidyn.algorithms.loops.constraints import constraint_rows, senses
from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.algorithms.loops.joint_formulation import factor, joint_formulation
from ramidyn.algorithms.loops.loop_clusters import (
    ClusterMotion,
    LoopCluster,
    loop_clusters,
)
from ramidyn.algorithms.loops.loopwise import eliminate, loopwise
from ramidyn.algorithms.loops.partition import dependent_columns, dependent_motion
from ramidyn.algorithms.loops.proximal import (
    DAMPING,
    Solver,
    idle,
    proximal,
    without_idle,
)
from ramidyn.algorithms.loops.reduced import Clustered, ReducedSystem
from ramidyn.algorithms.ltdl import DofVector, TreeEntries
from ramidyn.algorithms.operational.tasks import Task
from ramidyn.coordinates.coordinates import DofOrder
from ramidyn.description.conventions import Conventions
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.mechanism.constraints.rank import Rank, rank_of
from ramidyn.mechanism.constraints.samples import needed_cuts, rows_of
from ramidyn.quantities.applied import acting_forces, newton_euler
from ramidyn.quantities.mass_matrix import sparse_mass_matrix, sparse_rows
from ramidyn.quantities.operational_inertia import jacobian_rows
from ramidyn.symbolic.dense import dot, without_components
from ramidyn.symbolic.expr import ONE, ZERO, Expr, const
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tracing.quantity import Checks, Quantity, Shapes, quantity
from ramidyn.tree.model import Model
from ramidyn.tree.singular import check_dynamics

ARTICULATED = {"constrained_aba": False, "cluster_aba": True}
"""algorithms by articulated bodies: whether loops can be clusters"""


@quantity("q", returns="how far loops are open [m, rad]")
def constraint_residual(context: Context) -> Any:
    """Φ(q), zero where all loops are closed."""
    return array(rows_of(context, with_velocities=False).residual)


@quantity("q", returns="Jacobian of the loops")
def constraint_jacobian(context: Context) -> Any:
    """J = ∂Φ/∂q."""
    return array(rows_of(context, with_velocities=False).J)


@quantity("q", "qd", returns="Jd qd of the loops")
def constraint_bias(context: Context) -> Any:
    """γ = J̇ q̇."""
    return array(rows_of(context).bias)


# ------------------------------------------------------------ dynamics


@final
@dataclass(frozen=True, slots=True, eq=False)
class System:
    """The augmented system over the degrees of freedom, parents first."""

    M: TreeEntries
    parents: tuple[int, ...]
    order: DofOrder
    J: list[DofVector]
    gamma: list[Expr]
    residual: list[Expr]
    kept: list[int]
    """the rows in it: all but those that follow from them wherever the robot is"""
    reduced: tuple[Clustered, TreeEntries] | None = None
    """with clusters: which rows are in them, and M over the coordinates they leave"""


def system_of(context: Context, algorithm: str, with_velocities: bool = True) -> System:
    """Return the augmented system of a robot with loops, as an algorithm needs it."""
    check_dynamics(context.model)
    rows = rows_of(context, with_velocities)
    M, parents, order = sparse_mass_matrix(context)
    J = list(map(order.gather_nonzero, rows.J))
    dropped = rank_of(context.model, context.conventions).dropped
    kept = [r for r in range(len(J)) if r not in dropped]
    gamma = [rows.bias[r] for r in kept] if with_velocities else []
    residual = [rows.residual[r] for r in kept]
    system = System(M, parents, order, [J[r] for r in kept], gamma, residual, kept)
    if algorithm != "cluster_ltdl":
        return system
    return replace(system, reduced=_reduced(context, system))


def _reduced(context: Context, system: System) -> tuple[Clustered, TreeEntries]:
    """Return the rows of a system with those in clusters, and GᵀMG."""
    tree = context.dynamics_tree
    leads = [b.joint.leader is None for b in tree.bodies]
    leading = [k for i, dofs in enumerate(tree.dofs) if leads[i] for k in dofs]
    place = {k: n for n, k in enumerate(leading)}
    motion = ClusterMotion({})
    inside: list[int] = []
    for cluster in clusters_of(context.model, context.conventions):
        at = [system.kept.index(r) for r in cluster.rows]
        motion.add([place[k] for k in cluster.coordinates], [system.J[r] for r in at])
        inside += at
    G = mimic_factors(tree)
    G.update({leading[z]: {leading[z]: ONE} for z in motion.G if leading[z] not in G})
    for k, factors in G.items():
        row = motion.row({place[l]: g for l, g in factors.items()})
        G[k] = {leading[z]: g for z, g in row.items()}
    M, _, _ = sparse_rows(context, crba(tree, context.q, Clusters.of(tree, G)))
    return Clustered(system.J, motion, inside), M


def solver_of(
    system: System, algorithm: str, damping: float, scales: Sequence[float]
) -> Solver:
    """Return a solver for a factored system, with proximal passes if it is damped."""
    mu = [damping * scales[r] for r in system.kept] if damping else []
    if system.reduced is not None:
        solve: Solver = ReducedSystem.of(*system.reduced, system.M, mu).solve
    elif algorithm == "loopwise":
        E = eliminate(system.M, system.J, len(system.order), mu)
        solve = lambda Q, gamma: loopwise(E, Q, gamma)  # noqa: E731
    else:
        A = factor(system.M, system.J, system.parents, mu)
        solve = lambda Q, gamma: joint_formulation(A, Q, gamma)  # noqa: E731
    if not damping:
        return solve
    return lambda Q, gamma: proximal(solve, system.J, Q, gamma)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClosedMotion:
    """Motions of a robot that keep its loops closed.

    Φ = M⁻¹ − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹ J M⁻¹ takes forces to accelerations.
    """

    system: System
    solve: Solver
    """Q, γ → q̈ = Φ Q − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹ γ, and λ"""
    rank: Rank

    @staticmethod
    def of(
        context: Context, with_velocities: bool = True, algorithm: str = "auto"
    ) -> ClosedMotion:
        """Return the closed motions of a robot in one state."""
        if algorithm == "auto":
            algorithm = context.algorithm_of(closed_response)
        algorithm, mu, rank = resolve_solver(
            context.model, context.conventions, algorithm, None, context.dtype
        )
        system = system_of(context, algorithm, with_velocities)
        return ClosedMotion(system, solver_of(system, algorithm, mu, rank.scales), rank)

    def rows(self, J: Sequence[Sequence[Expr]]) -> list[DofVector]:
        """Return rows over q̇ as rows over the degrees of freedom, parents first."""
        return list(map(self.system.order.gather_nonzero, J))

    def public_rows(self) -> list[list[Expr]]:
        """Return the rows of the loops over q̇ in the caller's order."""
        return list(map(self.system.order.scatter, self.system.J))

    def inverse_inertia(self, J: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        """Return J Φ Jᵀ of the rows of some tasks."""
        rows = self.rows(J)
        still = zeros(len(self.system.J))
        columns = [self.solve(row, still)[0] for row in rows]
        half = [[dot(row, x) for x in columns[: r + 1]] for r, row in enumerate(rows)]
        n = range(len(rows))
        return [[half[max(r, c)][min(r, c)] for c in n] for r in n]

    def response(self, force: Sequence[Expr]) -> list[Expr]:
        """Return Φ times a force."""
        (Q,) = self.rows([force])
        return self.system.order.scatter(self.solve(Q, zeros(len(self.system.J)))[0])

    def least_motion(self, x: Sequence[Expr]) -> list[Expr]:
        """Return the smallest v in the norm of M with J v = −x."""
        return self.system.order.scatter(self.solve({}, list(x))[0])

    def acceleration(self, qdd: Sequence[Expr]) -> list[Expr]:
        """Return q̈ with the least change that keeps the loops closed."""
        (given,) = self.rows([qdd])
        open_by = [
            g + dot(row, given)
            for g, row in zip(self.system.gamma, self.system.J, strict=True)
        ]
        change = self.least_motion(open_by)
        return [a + b for a, b in zip(qdd, change, strict=True)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class LoopSolution:
    """q̈ and λ of an augmented system, and what solved it."""

    system: System
    solve: Solver
    damping: float
    qdd: list[Expr]
    found: list[Expr]
    """λ of the rows that are kept"""


def constrained_acceleration(
    context: Context,
    algorithm: str = "auto",
    damping: float | None = None,
    applied: Applied | None = None,
    rate: float = 0.0,
) -> tuple[list[Expr], list[Expr]]:
    """Return q̈ and λ of a robot with loops, for its inputs q, qd and tau.

    Without ``applied``, what acts are the robot's own force elements.

    With a ``rate`` [1/s], errors of position and velocity die out at it (Baumgarte's
    stabilization): Φ̈ = −2 rate Φ̇ − rate² Φ.
    """
    check_dynamics(context.model)
    needed_cuts(context)
    chosen, mu, rank = resolve_solver(
        context.model, context.conventions, algorithm, damping, context.dtype
    )
    if applied is None:
        applied = acting_forces(context)
    if chosen in ARTICULATED:
        with_clusters = ARTICULATED[chosen]
        return _articulated_acceleration(context, rank, applied, rate, with_clusters)
    solution = solve_augmented(context, chosen, mu, rank, applied, rate)
    multipliers = spread_multipliers(solution.system.kept, rank, solution.found)
    if rank.spare:
        multipliers = without_idle(idle_rows(solution, rank), multipliers)
    return solution.qdd, multipliers


def solve_augmented(
    context: Context,
    algorithm: str,
    damping: float,
    rank: Rank,
    applied: Applied,
    rate: float = 0.0,
) -> LoopSolution:
    """Return q̈ and λ by a factor of the augmented matrix, and the factor."""
    system = system_of(context, algorithm)
    gamma = system.gamma
    if rate:
        qd = system.order.gather(context.inputs["qd"])
        terms = zip(gamma, system.J, system.residual, strict=True)
        gamma = [stabilized_bias(g, row, qd, phi, rate) for g, row, phi in terms]
    start: DofVector = {}
    if system.reduced is not None:
        clustered, _ = system.reduced
        start = clustered.bias(gamma)
        gamma = [
            ZERO if r in clustered.inside else x + dot(system.J[r], start)
            for r, x in enumerate(gamma)
        ]
    bias = newton_euler(context, system.order.scatter(start), applied)
    Q = {k: context.inputs["tau"][v] - bias[v] for k, v in enumerate(system.order)}
    solve = solver_of(system, algorithm, damping, rank.scales)
    x, found = solve(Q, gamma)
    x = {k: e + start.get(k, ZERO) for k, e in x.items()}
    return LoopSolution(system, solve, damping, system.order.scatter(x), found)


def idle_rows(solution: LoopSolution, rank: Rank) -> list[list[Expr]]:
    """Return the combinations of rows that do nothing where the loops are closed."""
    system = solution.system
    J = dict(zip(system.kept, system.J, strict=True))
    return idle(J, rank.spare, rank.null, solution.damping)


def stabilized_bias(
    gamma: Expr, row: DofVector, qd: DofVector, phi: Expr, rate: float
) -> Expr:
    """Return γ of Baumgarte's stabilization."""
    return gamma + dot(row, qd) * (2.0 * rate) + phi * (rate * rate)


def _articulated_acceleration(
    context: Context, rank: Rank, applied: Applied, rate: float, with_clusters: bool
) -> tuple[list[Expr], list[Expr]]:
    """Return q̈ and λ by articulated bodies, for rows that are independent."""
    coordinates, tree = context.coordinates, context.dynamics_tree
    cuts = needed_cuts(context)
    rows = constraint_rows(tree, cuts, context.q, context.qd)
    if rate:
        qd: DofVector = {}
        for i, dofs in enumerate(tree.dofs):
            qd.update(zip(dofs, context.qd[i], strict=True))
        rows = [
            replace(r, bias=stabilized_bias(r.bias, r.J, qd, r.residual, rate))
            for r in rows
        ]
    tau = coordinates.tree_force(context.inputs["tau"], context.qd)
    tau = applied.added_to(tau)
    qdd, found = constrained_aba(
        tree,
        cuts,
        rows,
        rank.dropped,
        clusters_of(context.model, context.conventions) if with_clusters else [],
        context.q,
        context.qd,
        tau,
        context.gravity,
        applied.bodies,
    )
    public = coordinates.public_acceleration(qdd, context.qd)
    return public, spread_multipliers(list(found), rank, list(found.values()))


def spread_multipliers(
    kept: Sequence[int], rank: Rank, found: Sequence[Expr]
) -> list[Expr]:
    """Return multipliers of all rows, the smallest if the kept rows are independent."""
    full = zeros(rank.rows)
    for r, e in zip(kept, found, strict=True):
        full[r] = e
    return without_components(rank.null, full)


def resolve_solver(
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
    known = (*ALGORITHMS, *BY_NAME_ONLY)
    if algorithm not in known:
        listed = ", ".join(map(repr, ("auto", *known)))
        raise ArgumentError(
            f"algorithm {algorithm!r} cannot be used, because robot {model.name!r} has "
            f"closed loops; possible: {listed}"
        )
    if damping is not None and not 0.0 <= damping < 1.0:
        raise ArgumentError(f"damping is {damping:g}; expected a number in [0, 1)")
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
    allowed = _allowed(model, conventions, damping)
    if algorithm not in allowed:
        why = "rows that depend on others"
        if algorithm.startswith("cluster") and not clusters_of(model, conventions):
            why = (
                "no coupling, and no loop that leaves its joints one or two "
                "coordinates, as clusters have"
            )
            if any(loop.as_rows for loop in model.loops):
                why = "loops that are not to be clusters (without_clusters)"
        listed = ", ".join(map(repr, ("auto", *allowed)))
        raise ModelError(
            f"algorithm {algorithm!r} cannot be used, because robot {model.name!r} has "
            f"{why}; possible: {listed}"
        )
    return algorithm, damping, rank


def clusters_of(model: Model, conventions: Conventions) -> tuple[LoopCluster, ...]:
    """Return the loops whose joints are taken as one joint.

    Where rows depend on others when loops are closed, these are couplings only, whose
    rows are independent everywhere.
    """
    rank, cuts = rank_of(model, conventions), cuts_of(model)
    if rank.q is None:
        return ()
    spare = rank.spare if rank.is_redundant else None
    return tuple(loop_clusters(model.tree, cuts, rank.dropped, spare))


def clustered_loops(model: Model, conventions: Conventions) -> tuple[str, ...]:
    """Return the names of loops whose joints are taken as one joint."""
    found = {x.cut for x in clusters_of(model, conventions)}
    return tuple(cut.name for c, cut in enumerate(cuts_of(model)) if c in found)


def possible(
    model: Model,
    conventions: Conventions,
    damping: float | None = None,
    **_: Any,
) -> tuple[str, ...]:
    """Return the candidates for ``algorithm="auto"`` for a robot with loops."""
    if not model.loops:
        return ()
    found = resolve_solver(model, conventions, "joint_formulation", damping)
    return _allowed(model, conventions, damping=found[1])


def _allowed(model: Model, conventions: Conventions, damping: float) -> tuple[str, ...]:
    """Return the candidates that the rows of a robot's loops allow."""
    found = ALGORITHMS
    if damping:
        found = tuple(a for a in found if a not in ARTICULATED)
    if not clusters_of(model, conventions):
        found = tuple(a for a in found if not a.startswith("cluster"))
    return found


def of_loops(
    returns: str = "", checks: Checks | None = None
) -> Callable[[Callable[..., Any]], Quantity]:
    """Declare a quantity through the dynamics of a robot with loops."""
    return quantity(
        "q",
        "qd",
        "tau",
        algorithms=ALGORITHMS,
        possible=possible,
        by_name_only=BY_NAME_ONLY,
        has_forces=True,
        checks=checks,
        returns=returns,
    )


@of_loops()
def stabilized_forward_dynamics(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    damping: float | None = None,
    rate: float = 0.0,
) -> Any:
    """q̈ with Baumgarte's stabilization at a rate [1/s]."""
    applied = acting_forces(context, external, expressed_in)
    found = constrained_acceleration(context, algorithm, damping, applied, rate)
    return array(found[0])


@of_loops("multipliers of the loops [N, N m]")
def loop_forces(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    damping: float | None = None,
) -> Any:
    """λ of M q̈ + h = τ + Jᵀ λ."""
    applied = acting_forces(context, external, expressed_in)
    return array(constrained_acceleration(context, algorithm, damping, applied)[1])


def _rows_shape(model: Model, **_: Any) -> Shapes:
    return {"x": (sum(len(cut.rows) for cut in cuts_of(model)),)}


SOLVERS = ("loopwise", "cluster_ltdl")
"""of the augmented system, for many right sides"""


def solvers(model: Model, conventions: Conventions, **_: Any) -> tuple[str, ...]:
    """Return the solvers that a robot allows."""
    return SOLVERS if clusters_of(model, conventions) else SOLVERS[:1]


def _force_shape(model: Model, **_: Any) -> Shapes:
    return {"b": (model.nv,)}


@quantity("q", further_inputs=_force_shape, algorithms=SOLVERS, possible=solvers)
def closed_response(context: Context, algorithm: str = "auto") -> Any:
    """The q̈ that forces b cause while all loops stay closed."""
    closed = ClosedMotion.of(context, False, algorithm)
    return array(closed.response(context.inputs["b"]))


@quantity("q", further_inputs=_rows_shape, algorithms=SOLVERS, possible=solvers)
def constraint_correction(context: Context, algorithm: str = "loopwise") -> Any:
    """The smallest v in the norm of M with J v = −x, for x (rows,).

    Clusters would often be cheaper. But where a mechanism is nearly singular, g is much
    larger than v, and digits are lost.
    """
    closed = ClosedMotion.of(context, False, algorithm)
    x = context.inputs["x"]
    return array(closed.least_motion([x[r] for r in closed.system.kept]))


@quantity("q")
def dependent_velocities(context: Context) -> Any:
    """w: 1 for each dependent velocity, 0 for each independent one."""
    J = rows_of(context, with_velocities=False).J
    rows, _ = _independent_rows(context.model, context.conventions, J)
    return array(dependent_columns(rows, context.model.nv))


def dependent_correction(
    model: Model,
    conventions: Conventions,
    J: Sequence[Sequence[Expr]],
    w: Sequence[Expr],
    x: Sequence[Expr],
) -> Any:
    """Return the v of dependent velocities w alone with J v = −x, for x (rows,)."""
    rows, kept = _independent_rows(model, conventions, J)
    found = dependent_motion(rows, w, [x[r] for r in kept])
    return array([found.get(k, ZERO) for k in range(model.nv)])


def _independent_rows(
    model: Model, conventions: Conventions, J: Sequence[Sequence[Expr]]
) -> tuple[list[DofVector], list[int]]:
    """Return rows of the loops that do not depend on others, and which they are."""
    rank = rank_of(model, conventions)
    kept = [r for r in range(len(J)) if r not in {*rank.dropped, *rank.spare}]
    return [{k: e for k, e in enumerate(J[r]) if not e.is_zero} for r in kept], kept


@quantity("q")
def constraint_senses(context: Context) -> Any:
    """Values that must be positive besides Φ = 0: cut axes must not be opposite."""
    found = senses(context.tree, needed_cuts(context), context.q)
    return array([*found, const(1.0)])


@quantity(
    "q", algorithms=SOLVERS, possible=solvers, returns="Lambda^-1 with loops closed"
)
def constrained_operational_inertia_inverse(
    context: Context, tasks: tuple[Task, ...], algorithm: str = "auto"
) -> Any:
    """Λ⁻¹ of tasks while all loops stay closed."""
    closed = ClosedMotion.of(context, False, algorithm)
    return array(closed.inverse_inertia(jacobian_rows(context, tasks)))
