"""Operational-space control of branched robots (Khatib 1987; Chang & Khatib 2000).

    τ = M q̈ₚ + C + G + Jᵀ F,     Λ⁻¹ F = ẍ − (J q̈ₚ + J̇ q̇)

q̈ₚ is the acceleration that the posture wants; F is what the tasks need in addition, so
the posture acts in their null space. Neither M nor M⁻¹ is formed: the right side comes
from the kinematics, Λ⁻¹ from the cheapest algorithm, and τ from one recursive
Newton-Euler sweep with the forces −F on the ends.

Levels come one after the other: a level gets what those above leave free. Levels that
are independent are solved together, exactly. One that is not is damped by μ, and J̃ is
what is left of its rows; with A = J̃ M⁻¹ J̃ᵀ + μ,

    f = A⁻¹ (ẍ − J q̈)       q̈ ← q̈ + M⁻¹ J̃ᵀ f       J̃ᵢ ← J̃ᵢ − (J̃ᵢ M⁻¹ J̃ᵀ) A⁻¹ J̃

Where not every degree of freedom is driven, Zᵀ τ = 0 for the passive directions Z:

    Λ⁻¹ → Λ⁻¹ − J Z (Zᵀ M Z)⁻¹ (J Z)ᵀ        τ → τ − M Z (Zᵀ M Z)⁻¹ Zᵀ τ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramify.algorithms.operational.tasks import Task, Tasks, ends, tasks_of
from ramify.algorithms.rnea import rnea
from ramify.compiling import compile
from ramify.errors import ModelError, ShapeError, UnknownName
from ramify.function import Function
from ramify.model.assembly import Model
from ramify.model.pose import Array
from ramify.model.ranges import joint_limits, random_configurations
from ramify.quantities.base import Context, Quantity, array
from ramify.quantities.dynamics import mass_matrix
from ramify.quantities.operational import inverse_of, with_inputs
from ramify.quantities.osim import accelerations, jacobian_rows, row_count
from ramify.quantities.osim_choice import SINGULAR, STATES
from ramify.quantities.symmetric import ldl, solve_column
from ramify.robot import Robot
from ramify.spatial.vector3 import ZERO
from ramify.spatial.vectors import Force
from ramify.symbolic.interpreter import evaluate
from ramify.symbolic.trace import trace

Levels = Tasks | Sequence[Tasks]
Directions = tuple[tuple[float, ...], ...]


@final
class OperationalSpace:
    """A controller that accelerates tasks as told, and the rest as the posture wants.

    Call it with q, q̇, the accelerations of all tasks, in their order, and that of the
    posture; it returns the torques τ, for one state or a batch. Task accelerations are
    the rates of the tasks' velocities: for rows in "local_world_aligned" coordinates
    what a point and its angular velocity do in the world. Gravity is compensated.

    Args:
        robot: what is controlled.
        tasks: a frame, a `Task`, several, or levels of them: a list of lists, the most
            important first. No level disturbs one above.
        posture: whether there is an input for the acceleration q̈ of the posture, nv
            entries; without it the posture does not accelerate by itself.
        actuated: the names of the joints that are driven, or a matrix B (nv, n) with
            τ = B u, and then u is returned; all joints by default.
        damping: added to the inverse inertia of levels that those above do not leave
            free enough; 0 refuses them.
        algorithm: of Λ⁻¹; see `operational_inertia_inverse`.
        options: of `ramify.compile`: dtype, lanes, threads, layout.
    """

    def __init__(  # noqa: PLR0913  what a controller is made of, by keyword
        self,
        robot: Robot,
        tasks: Levels,
        *,
        posture: bool = True,
        actuated: Sequence[str] | Array | None = None,
        damping: float = 0.0,
        algorithm: str = "auto",
        **options: Any,
    ) -> None:
        self.robot = robot
        self.levels = levels_of(tasks)
        if posture not in (True, False):
            raise UnknownName(f"posture is {posture!r}; possible: True, False")
        if not isinstance(damping, float | int) or not 0.0 <= damping < np.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnknownName(f"damping is {damping!r}; expected a number, 0 or more")
        B = actuation(robot.model, actuated)
        Z = passive_directions(B)
        damped = dampings(robot, self.levels, Z, damping, algorithm)
        effort = (
            () if B is None or not _is_matrix(actuated) else _rows(np.linalg.pinv(B))
        )
        quantity = Quantity(
            "torques",
            ("q", "qd"),
            _torques,
            (
                ("levels", self.levels),
                ("damped", damped),
                ("passive", Z),
                ("effort", effort),
                ("posture", bool(posture)),
                ("algorithm", algorithm),
            ),
            shapes=_shapes,
        )
        self.function: Function = compile(quantity, robot, **options)
        self.has_posture = bool(posture)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all levels, in the order of their accelerations."""
        return tuple(t for level in self.levels for t in level)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the rows of each task are among the accelerations."""
        ends_at = np.cumsum([row_count([t]) for t in self.tasks]).tolist()
        return tuple(
            slice(end - row_count([t]), end)
            for t, end in zip(self.tasks, ends_at, strict=True)
        )

    def __call__(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        accelerations: npt.ArrayLike,
        posture: npt.ArrayLike | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """Return the torques; see the class. ``function`` is the same, with less ado."""
        if not self.has_posture:
            if posture is not None:
                raise ShapeError("posture given to a controller made without it")
            return self.function(q, qd, accelerations, out=out)
        if posture is None:
            posture = np.zeros_like(np.asarray(qd, dtype=float))
        return self.function(q, qd, accelerations, posture, out=out)

    def __repr__(self) -> str:
        shown = " > ".join(", ".join(map(str, level)) for level in self.levels)
        return f"OperationalSpace of {self.robot.name}: {shown}; {self.function.ops}"


def levels_of(tasks: Levels) -> tuple[tuple[Task, ...], ...]:
    """Return the levels; tasks without levels are one."""
    if isinstance(tasks, str | Task) or all(isinstance(t, str | Task) for t in tasks):
        return (tasks_of(tasks),)  # type: ignore[arg-type]
    return tuple(tasks_of(level) for level in tasks)


# ------------------------------------------------------------ what is driven


def actuation(model: Model, actuated: Sequence[str] | Array | None) -> Array | None:
    """Return B of τ = B u, or None where every degree of freedom is driven."""
    if actuated is None:
        return None
    if not _is_matrix(actuated):
        if isinstance(actuated, str):
            raise UnknownName(
                f"actuated is {actuated!r}; expected a list of joint names or a matrix"
            )
        columns = [
            k
            for name in actuated
            for j in (model.joint(name),)
            for k in range(j.v_index, j.v_index + j.nv)
        ]
        return np.eye(model.nv)[:, columns]
    B = np.asarray(actuated, dtype=float)
    if B.ndim != 2 or B.shape[0] != model.nv:
        raise ShapeError(
            f"actuated has shape {B.shape}; expected ({model.nv}, n), with τ = B u"
        )
    if np.linalg.matrix_rank(B) < B.shape[1]:
        raise ShapeError(
            f"actuated has {B.shape[1]} columns but rank {np.linalg.matrix_rank(B)}; "
            "expected independent columns"
        )
    return B


def _is_matrix(actuated: object) -> bool:
    return isinstance(actuated, np.ndarray) and actuated.dtype.kind in "fiub"


def passive_directions(B: Array | None) -> Directions:
    """Return the directions of q̇ along which nothing is driven, one by one."""
    if B is None:
        return ()
    n = len(B)
    if set(np.unique(B).tolist()) <= {0.0, 1.0} and (B.sum(axis=0) == 1).all():
        return _rows(np.eye(n)[B.sum(axis=1) == 0])
    u, s, _ = np.linalg.svd(B)
    return _rows(u[:, len(s) :].T)


def _rows(A: Array) -> Directions:
    return tuple(tuple(map(float, row)) for row in A.tolist())


# ------------------------------------------------------------ which levels need damping


def dampings(
    robot: Robot,
    levels: Sequence[tuple[Task, ...]],
    passive: Directions,
    damping: float,
    algorithm: str,
) -> tuple[float, ...]:
    """Return the damping of each level: 0 where it is free of those above."""
    model = robot.placed_model
    tasks = tuple(t for level in levels for t in level)

    def traced(q: Any) -> Any:
        context = Context(model, robot.conventions, {"q": q})
        G = inverse_of(context, tasks, algorithm)
        return array(_driven(context, tasks, passive, G).G)

    rng = np.random.default_rng(0)
    q = random_configurations(model, joint_limits(model), rng, STATES)
    G = evaluate(trace(traced, {"q": model.nq}), {"q": q})["result"]
    scale = np.sqrt(np.abs(np.einsum("bii->bi", G)))
    scale[scale < 1e-12 * scale.max(initial=1e-300)] = np.inf
    G = G / (scale[:, :, None] * scale[:, None, :])
    found: list[float] = []
    above, rank = 0, 0
    for k, level in enumerate(levels):
        n = above + row_count(level)
        values = np.linalg.eigvalsh(G[:, :n, :n])
        now = int((values > SINGULAR).sum(axis=1).max())
        is_free = now - rank == n - above
        if not is_free and damping == 0.0:
            names = ", ".join(map(str, level))
            raise ModelError(
                f"robot {robot.name!r}: tasks {names} (level {k + 1}) have {n - above} "
                f"rows, but only {now - rank} can move independently"
                + (" of the levels above" if k else "")
                + "; ask for fewer rows, or give damping="
            )
        found.append(0.0 if is_free else float(damping))
        above, rank = n, now
    return tuple(found)


# ------------------------------------------------------------ the kernel


def _shapes(
    model: Model, levels: Sequence[tuple[Task, ...]], posture: bool, **_: Any
) -> dict[str, tuple[int, ...]]:
    rows = sum(row_count(level) for level in levels)
    inputs: dict[str, tuple[int, ...]] = {"accelerations": (rows,)}
    return {**inputs, "posture": (model.nv,)} if posture else inputs


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Driven:
    """Λ⁻¹ of what is driven, and the way back to the passive directions."""

    G: Any
    Z: Any
    JZ: Any
    factor: Any

    def follow(self, forces: Any) -> Any:
        """Return how passive directions accelerate to be free of some forces."""
        return self.Z.T @ np.array(solve_column(*self.factor, list(-forces)))


def _driven(
    context: Context, tasks: Sequence[Task], passive: Directions, G: Any
) -> _Driven:
    G = np.array(G, dtype=object)
    nv = context.model.nv
    Z = np.array(passive, dtype=object).reshape(len(passive), nv)
    if not passive:
        return _Driven(G, Z, None, None)
    J = np.array(jacobian_rows(context, tasks), dtype=object)
    JZ = J @ Z.T
    factor = ldl(Z @ mass_matrix.of(context) @ Z.T)
    for r, row in enumerate(JZ):
        x = np.array(solve_column(*factor, list(row)), dtype=object)
        for c in range(r + 1):
            G[r, c] = G[c, r] = G[r, c] - JZ[c] @ x
    return _Driven(G, Z, JZ, factor)


def _torques(  # noqa: PLR0913  the options of the quantity
    context: Context,
    levels: tuple[tuple[Task, ...], ...],
    damped: tuple[float, ...],
    passive: Directions,
    effort: Directions,
    posture: bool,
    algorithm: str,
) -> Any:
    tasks = tuple(t for level in levels for t in level)
    nv = context.model.nv
    qdd = context.inputs["posture"] if posture else np.array([ZERO] * nv)
    d = _driven(context, tasks, passive, inverse_of(context, tasks, algorithm))
    if passive:
        qdd = qdd + d.follow(d.Z @ _newton_euler(context, qdd, tasks, None))
    wanted = context.inputs["accelerations"]
    given = np.array(accelerations(with_inputs(context, qdd=list(qdd)), tasks))
    F = _forces(d.G, wanted - given, _blocks(levels, damped))
    if passive:
        qdd = qdd + d.follow(d.JZ.T @ F)
    tau = _newton_euler(context, qdd, tasks, F)
    for z in passive:
        if sum(map(bool, z)) == 1:
            tau[z.index(1.0)] = ZERO
    return np.array(effort, dtype=object) @ tau if effort else tau


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
    moved = with_inputs(context, qdd=list(qdd)).qdd
    tau = rnea(tree, q, context.qd, moved, context.gravity, external)
    return array(context.coordinates.force(tau))


def _blocks(
    levels: Sequence[Sequence[Task]], damped: Sequence[float]
) -> list[tuple[range, float]]:
    """Return rows and damping of what is solved together: exact levels are one."""
    blocks: list[tuple[range, float]] = []
    first = 0
    for level, damping in zip(levels, damped, strict=True):
        rows = range(first, first + row_count(level))
        if blocks and damping == 0.0 and blocks[-1][1] == 0.0:
            rows = range(blocks.pop()[0].start, rows.stop)
        blocks.append((rows, damping))
        first = rows.stop
    return blocks


def _forces(G: Any, e: Any, blocks: Sequence[tuple[range, float]]) -> Any:
    """Return F of all rows for what they lack, e, block after block."""
    n = len(e)
    T = np.array([[ZERO + float(i == j) for j in range(n)] for i in range(n)])
    left, F = G.copy(), np.array([ZERO] * n)
    for rows, damping in blocks:
        own, rest = list(rows), list(range(rows.stop, n))
        A = left[np.ix_(own, own)]
        for k in range(len(own)):
            A[k, k] = A[k, k] + damping
        factor = ldl(A)
        f = np.array(solve_column(*factor, list(e[own])))
        F = F + T[own].T @ f
        if not rest:
            break
        C = np.array([solve_column(*factor, list(x)) for x in left[np.ix_(rest, own)]])
        e = e - G @ (T[own].T @ f)
        T[rest] = T[rest] - C @ T[own]
        left[np.ix_(rest, rest)] = T[rest] @ G @ T[rest].T
    return F
