"""Iterative LQR: plans of least cost, by linearized steps and quadratic costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.integrators import check_loops, stabilizations_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError, ShapeError
from ramidyn.mechanism.state_arrays import checked_numbers
from ramidyn.optimal_control.problem import (
    FAR,
    OWN,
    Cost,
    PlanningProblem,
    no_cost,
)
from ramidyn.optimal_control.search import PlanningKernels, Workspace, run_groups
from ramidyn.robot import Robot
from ramidyn.tracing.context import nonnegative

SHOOTING = ("single", "multiple")


@final
@dataclass(frozen=True, slots=True, eq=False)
class MotionPlan:
    """Motions of least cost, of one problem or a batch; see `ILQR`."""

    q: Array
    """(steps + 1, nq) or (batch, steps + 1, nq)"""
    qd: Array
    """(steps + 1, nv) or (batch, steps + 1, nv)"""
    tau: Array
    """(steps, nv) or (batch, steps, nv)"""
    gains: Array
    """(steps, nv, 2 nv): K of τ + K δx; the first nv entries of δx are
    ``robot.difference(plan.q[k], q)``, the others q̇ minus that of the plan"""
    cost: Any
    """() or (batch,)"""
    costs: Array
    """(iterations + 1,) or (batch, iterations + 1), from that of the first motion on"""
    converged: Any
    """whether the last iteration promised no more decrease: () or (batch,)"""
    defect: Any
    """() or (batch,): Σ|f| of all steps, f the difference between where a step ends and
    where the next begins; zero but in multiple shooting that has not converged"""
    damping: Any
    """() or (batch,): μ after the last iteration, for the next plan of a controller"""

    @property
    def iterations(self) -> int:
        """How many iterations there were."""
        return self.costs.shape[-1] - 1

    def shifted(self, steps: int = 1) -> Array:
        """Return tau from a later step on, to start the next plan of a controller."""
        if not 0 <= steps < self.tau.shape[-2]:
            raise ArgumentError(
                f"steps is {steps!r}; expected 0 to {self.tau.shape[-2] - 1}"
            )
        last = np.repeat(self.tau[..., -1:, :], steps, axis=-2)
        return np.concatenate([self.tau[..., steps:, :], last], axis=-2)


@final
class ILQR:
    """Plans motions of least cost: Σ cost(q, qd, tau) + final_cost(q, qd).

    Steps are those of ``robot.rollout``: q̇⁺ = q̇ + q̈ dt, then q⁺ = q ⊕ q̇⁺ dt. Call it
    with an initial state, or with a batch of them; see `__call__`. Everything is
    compiled at the first call, and then an iteration is one call of native code.

    Args:
        robot: a robot without rigid contacts. Loops stay closed, as in rollouts: feet
            that stand still are loops.
        steps: number of steps of a plan.
        dt: time step [s].
        cost: of a step: a traced function of q, qd, tau and of names in ``inputs``.
        final_cost: of the last state: a traced function of q, qd and names in
            ``inputs``; zero by default.
        inputs: shapes of further inputs of the costs by name, such as
            ``{"goal": 7}``: their values are given in each call.
        limits: the least and the largest tau: (nv,) each; equal ones fix a joint force,
            such as (0, 0) that of a joint without motor. None: no limits.
        shooting: "single", or "multiple": a plan then begins with a guess of its
            states, and defects between its steps vanish as it improves.
        stabilize: how steps keep loops closed: "project", "baumgarte" or "none".
        threads: number of threads that share a batch.

    >>> import numpy as np, ramidyn
    >>> robot = ramidyn.robots.chain(2)
    >>> plan = ramidyn.control.ILQR(
    ...     robot, 20, 0.01, lambda tau: 1e-4 * tau @ tau, lambda q, qd: q @ q + qd @ qd
    ... )([0.1, 0.2])
    >>> plan.q.shape, bool(plan.converged), plan.cost < plan.costs[0]
    ((21, 2), True, np.True_)
    """

    def __init__(
        self,
        robot: Robot,
        steps: int,
        dt: float,
        cost: Cost,
        final_cost: Cost | None = None,
        *,
        inputs: Mapping[str, int | tuple[int, ...]] | None = None,
        limits: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        shooting: str = "single",
        stabilize: str = "project",
        threads: int = 1,
    ) -> None:
        from ramidyn.backend.llvm.target import default_lanes  # noqa: PLC0415 (llvmlite only where used)

        if robot.model.contacts:
            raise ModelError(
                f"robot {robot.name!r} has rigid contacts, hard limits or dry "
                "friction; ILQR plans smooth motions: remove them, or pin feet by loops"
            )
        for name, value in (("steps", steps), ("threads", threads)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ArgumentError(f"{name} is {value!r}; expected 1 or more")
        if not (np.ndim(dt) == 0 and np.isfinite(dt) and dt > 0.0):
            raise ArgumentError(f"dt is {dt!r}; expected a positive number of seconds")
        options = {
            "shooting": (shooting, SHOOTING),
            "stabilize": (stabilize, stabilizations_of("linearize")),
        }
        for name, (value, possible) in options.items():
            if value not in possible:
                listed = ", ".join(map(repr, possible))
                raise ArgumentError(f"{name} is {value!r}; expected one of {listed}")
        if robot.model.loops:
            check_loops(robot.name, "linearize", "semi_implicit_euler", stabilize)
        self.robot = robot
        self.steps = steps
        self.dt = float(dt)
        self.threads = threads
        shapes = {
            n: (s,) if isinstance(s, int) else tuple(s)
            for n, s in (inputs or {}).items()
        }
        for name in shapes:
            if name in OWN:
                raise ArgumentError(
                    f"inputs has {name!r}, which costs are given anyway"
                )
        self._problem = PlanningProblem(
            robot,
            self.dt,
            cost,
            final_cost or no_cost,
            shapes,
            _checked_limits(robot, limits),
            stabilize,
            shooting == "multiple",
            max(2, default_lanes("float64")),
        )
        self._idle: list[Workspace] = []
        self._kernels  # noqa: B018  mistakes in costs are found now

    @cached_property
    def _kernels(self) -> PlanningKernels:
        return PlanningKernels(self._problem, self.steps)

    def __repr__(self) -> str:
        return f"ILQR of {self.robot.name}: {self.steps} steps of {self.dt:g} s"

    def __call__(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
        *,
        guess: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        iterations: int = 100,
        tolerance: float = 1e-9,
        damping: npt.ArrayLike = 0.0,
        report: Callable[[int, Array], None] | None = None,
        **inputs: npt.ArrayLike,
    ) -> MotionPlan:
        """Return the plan from an initial state, or the plans of a batch.

        Args:
            q: (nq,) or (batch, nq), initial configuration [rad, m].
            qd: (nv,) or (batch, nv), initial velocity; zero by default.
            tau: (steps, nv) or (batch, steps, nv), to begin with, such as
                ``plan.shifted()`` of the plan before; zero by default.
            guess: q and qd of all states to begin with, in multiple shooting:
                (steps + 1, nq) and (steps + 1, nv), or with a batch axis; the initial
                state everywhere by default. The first ones are not used.
            iterations: how many at most.
            tolerance: a plan is done when an iteration promises to lower its cost by
                less than this part of it.
            damping: μ on the diagonal of Quu to begin with, () or (batch,), such as
                ``plan.damping`` of the plan before; it grows tenfold when a step does
                not lower the cost, and shrinks tenfold when it does.
            report: called after each iteration with its number and the costs (batch,).
            inputs: values of the inputs of costs: of their shape, or (batch, ...).
        """
        robot, shapes = self.robot, self._problem.inputs
        if not isinstance(iterations, int) or iterations < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"iterations is {iterations!r}; expected 0 or more")
        nonnegative("tolerance")(tolerance)
        if report is not None and not callable(report):  # pyright: ignore[reportUnnecessaryComparison]
            raise ArgumentError(
                f"report is {report!r}; expected a function of the iteration and costs"
            )
        if set(inputs) != set(shapes):
            raise ArgumentError(
                f"inputs of costs are {', '.join(inputs) or 'none'}; expected "
                f"{', '.join(shapes) or 'none'}"
            )
        if guess is not None and not self._problem.has_gaps:
            raise ArgumentError(
                "guess is given, but the motion of a plan follows from tau in single "
                "shooting; omit it, or create the planner with shooting='multiple'"
            )
        cores: dict[str, tuple[int, ...]] = {"q": (robot.nq,), "qd": (robot.nv,)}
        cores |= {"tau": (self.steps, robot.nv), "damping": (), **shapes}
        given: dict[str, Any] = {"q": q, "qd": qd, "tau": tau, "damping": damping}
        given |= inputs
        if guess is not None:
            given |= dict(zip(("guess of q", "guess of qd"), guess, strict=True))
            cores |= {f"guess of {n}": (self.steps + 1, *cores[n]) for n in ("q", "qd")}
        arrays = {n: _array(n, x, cores[n]) for n, x in given.items() if x is not None}
        sizes = {n: len(x) for n, x in arrays.items() if x.ndim > len(cores[n])}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{n} {size}" for n, size in sizes.items())
            raise ShapeError(f"batch sizes differ: {listed}")
        if (arrays["damping"] < 0.0).any():
            raise ArgumentError(f"damping is {damping!r}; expected 0 or more")
        batch = next(iter(sizes.values()), None)
        count = 1 if batch is None else batch
        try:
            space = self._idle.pop()
        except IndexError:
            space = None
        if space is None or space.batch != count:
            space = Workspace(self._kernels, count)
        self._begin(space, arrays, tolerance)
        costs = self._iterate(space, iterations, report)
        found = self._plan(space, costs)
        self._idle.append(space)
        if batch is not None:
            return found
        return MotionPlan(*(getattr(found, n)[0] for n in MotionPlan.__slots__))

    def _begin(
        self,
        space: Workspace,
        arrays: Mapping[str, Array],
        tolerance: float,
    ) -> None:
        """Roll the first motions out."""
        for x in space.state.values():
            x[:] = 0.0
        space.state["damping"][:] = arrays["damping"]
        space.tolerance[:] = tolerance
        space.policy[:] = 0.0
        space.qd[:] = 0.0
        space.tau[:] = arrays.get("tau", 0.0)
        for name, x in (("q", space.q), ("qd", space.qd)):
            if name in arrays:
                x[:] = arrays[name][..., None, :]
            if f"guess of {name}" in arrays:
                x[:, 1:] = arrays[f"guess of {name}"][..., 1:, :]
        for name, x in space.inputs.items():
            x[:] = arrays[name]
        run_groups(space, self._kernels.begin, space.groups(), self.threads)
        bad = ~np.isfinite(space.state["cost"])
        if bad.any():
            which = np.flatnonzero(bad)[0]
            raise ArgumentError(
                f"the cost of the first motion of problem {which} is not finite; begin "
                "with another tau, or a shorter dt"
            )

    def _iterate(
        self,
        space: Workspace,
        iterations: int,
        report: Callable[[int, Array], None] | None,
    ) -> Array:
        """Improve all problems; return their costs after each iteration."""
        state, run = space.state, self._kernels.iterate
        costs = [np.array(state["cost"])]
        for number in range(iterations):
            groups = [
                g
                for g in space.groups()
                if not state["done"][slice(g[0], sum(g))].all()
            ]
            if not groups:
                break
            run_groups(space, run, groups, self.threads)
            costs.append(np.array(state["cost"]))
            if report is not None:
                report(number + 1, costs[-1])
        return np.stack(costs, axis=-1)

    def _plan(self, space: Workspace, costs: Array) -> MotionPlan:
        """Return what was found, in arrays of the caller's."""
        nv, problem, state = self.robot.nv, self._problem, space.state
        gains = space.policy[..., : 2 * nv]
        if len(problem.driven) == nv:
            gains = np.array(gains)
        else:
            whole = np.zeros((space.batch, self.steps, nv, 2 * nv))
            whole[:, :, problem.driven] = gains
            gains = whole
        return MotionPlan(
            np.array(space.q),
            np.array(space.qd),
            np.array(space.tau),
            gains,
            costs[:, -1],
            costs,
            state["converged"] > 0.5,
            np.array(state["defect"]),
            np.array(state["damping"]),
        )


def _checked_limits(robot: Robot, limits: Any) -> tuple[Array, Array]:
    """Return the least and the largest τ."""
    nv = robot.nv
    if limits is None:
        return np.full(nv, -FAR), np.full(nv, FAR)
    try:
        low, high = (np.asarray(x, dtype=float) for x in limits)
        low, high = (np.array(np.broadcast_to(x, (nv,))) for x in (low, high))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"limits is {limits!r}; expected two arrays ({nv},)"
        ) from error
    if np.isnan(low).any() or np.isnan(high).any():
        raise ArgumentError(f"limits is {limits!r}; expected numbers, or infinity")
    if not (low <= high).all():
        raise ArgumentError("limits has a least tau above the largest")
    if not (low < high).any():
        raise ArgumentError("limits fixes every entry of tau; nothing can be planned")
    return np.maximum(low, -FAR), np.minimum(high, FAR)


def _array(name: str, value: npt.ArrayLike, core: tuple[int, ...]) -> Array:
    """Return numbers of a shape, or of a batch."""
    array = np.asarray(checked_numbers(name, value), dtype=float)
    is_one_more = array.ndim == len(core) + 1 and array.shape[1:] == core
    if array.shape != core and not is_one_more:
        listed = ", ".join(map(str, core))
        raise ShapeError(
            f"{name} has shape {array.shape}; expected {core} or (batch, {listed})"
        )
    return array
