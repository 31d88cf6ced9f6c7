"""The traced parts of a planning problem: steps, costs and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from ramidyn.backend.planning.blocks import RiccatiSizes
from ramidyn.description.pose import Array
from ramidyn.optimal_control.box import clamp, limited_step
from ramidyn.robot import Robot
from ramidyn.simulation.actions import checked_shape
from ramidyn.simulation.state import COUNT, START
from ramidyn.simulation.traced_step import StepOptions, TracedStep, called
from ramidyn.symbolic.dense import general_solve
from ramidyn.symbolic.derivatives import forward, reverse
from ramidyn.symbolic.expr import Expr, const, lift

Cost = Callable[..., Any]
Values = Mapping[str, Any]
OWN = ("q", "qd", "tau")
FAR = 1e30
"""the limit of what has none: infinite ones would make differences of infinities"""


@final
@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """Costs and steps over symbols, by name.

    Matrices have the columns that the Riccati recursion reads (`RiccatiSizes`).
    """

    robot: Robot
    dt: float
    cost: Cost
    final_cost: Cost
    inputs: Mapping[str, tuple[int, ...]]
    limits: tuple[Array, Array]
    stabilize: str
    has_gaps: bool
    width: int
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    """derivatives of the costs that are numbers"""

    @cached_property
    def driven(self) -> Any:
        """The entries of τ that are planned; others have equal limits."""
        low, high = self.limits
        return np.flatnonzero(low < high)

    @property
    def has_limits(self) -> bool:
        """Whether an entry that is planned has limits."""
        low, high = (x[self.driven] for x in self.limits)
        return bool((low > -FAR).any() or (high < FAR).any())

    @cached_property
    def is_vector(self) -> bool:
        """Whether q ⊕ v = q + v."""
        robot = self.robot
        if robot.nq != robot.nv:
            return False
        q, v = 0.3 + 0.1 * np.arange(robot.nq), 0.2 - 0.05 * np.arange(robot.nv)
        return bool(np.allclose(robot.integrate(q, v, 1.0), q + v, rtol=0, atol=1e-12))

    @cached_property
    def sizes(self) -> RiccatiSizes:
        """What the Riccati recursion is compiled for."""
        is_short = self.base is not None and self._stabilize != "project"
        return RiccatiSizes(
            2 * self.robot.nv,
            len(self.driven),
            self.dt if is_short else None,
            self.width,
            self.has_limits,
            self.has_gaps,
            (self.base or 0) if is_short else 0,
        )

    @cached_property
    def base(self) -> int | None:
        """Entries of δq of a floating base, rounded up to whole vectors; else 0."""
        if self.is_vector:
            return 0
        robot, size = self.robot, -(-6 // self.width) * self.width
        if size > robot.nv:
            return None
        v = 0.2 - 0.05 * np.arange(robot.nv)
        q = robot.integrate(robot.neutral(), v, 1.0)
        for found, diagonal in zip(
            robot.integrate_derivatives(q, v, 0.1), (1.0, 0.1), strict=True
        ):
            unit = diagonal * np.eye(robot.nv)
            unit[:6, :6] = found[:6, :6]
            if not np.allclose(found, unit, rtol=0, atol=1e-12):
                return None
        return size

    def running_cost(self, x: Values) -> Any:
        """Return the cost of a step."""
        known = {n: x[n] for n in (*OWN, *self.inputs)}
        return checked_shape("cost", called("cost", self.cost, known, False), ())

    def last_cost(self, x: Values) -> dict[str, Any]:
        """Return the cost of the last state."""
        known = {n: x[n] for n in (*OWN[:2], *self.inputs)}
        found = called("final_cost", self.final_cost, known, False)
        return {"last": checked_shape("final_cost", found, ())}

    # Steps.

    def difference(self, start: Any, end: Any) -> Any:
        """Return end ⊖ start."""
        return end - start if self.is_vector else self.robot.difference(start, end)

    def reached(self, x: Values, tau: Any) -> tuple[Any, Any]:
        """Return q and q̇ after a step."""
        options = StepOptions("semi_implicit_euler", self._stabilize, 20.0)
        step = TracedStep(self.robot, options)
        given = {**x, "tau": tau, "dt": const(self.dt), COUNT: const(0.0)}
        given[START] = const(0.0)
        found = step.traced(*(given[n] for n in step.shapes))
        return found["next q"], found["next qd"]

    @property
    def _stabilize(self) -> str:
        return self.stabilize if self.robot.model.loops else "none"

    def limited(self, tau: Any) -> Any:
        """Return τ within its limits."""
        low, high = self.limits
        found = np.array(tau, dtype=object)
        for k, (a, b) in enumerate(zip(low, high, strict=True)):
            if a == b:
                found[k] = const(a)
            elif a > -FAR or b < FAR:
                (found[k],) = clamp([found[k]], [a], [b])
        return found

    def step(self, x: Values) -> dict[str, Any]:
        """Return a step with a new policy."""
        robot, n = self.robot, self.sizes.n
        moved = self.difference(x["q_old"], x["q"])
        change = np.concatenate([moved, x["qd"] - x["qd_old"]])
        policy = x["policy"]
        tau = np.array(x["tau_old"], dtype=object)
        tau[self.driven] += x["length"] * policy[:, n] + policy[:, :n] @ change
        tau = self.limited(tau)
        q, qd = self.reached(x, tau)
        if self.has_gaps:
            left = (x["length"] - 1.0) * x["gap"]
            q, qd = robot.integrate(q, left[: robot.nv], 1.0), qd + left[robot.nv :]
        total = x["total"] + self.running_cost({**x, "tau": tau})
        return {"q": q, "qd": qd, "tau": tau, "total": total}

    # Derivatives.

    def derivatives(self, x: Values) -> dict[str, Any]:
        """Return the derivatives of a step and of its cost."""
        sizes, nv, driven = self.sizes, self.robot.nv, self.driven
        n = sizes.n
        A, B = self.robot.linearize(
            x["q"], x["qd"], x["tau"], self.dt, stabilize=self.stabilize
        )
        if sizes.dt is not None:
            A, B = A[nv:], B[nv:]
        gradient, hessian = self._quadratic(self.running_cost(x), x, ("qd", "tau"))
        u = n + driven
        varying = [any(lift(e).op != "const" for e in row) for row in hessian[:n, :n]]
        count = 1 + max((k for k, x in enumerate(varying) if x), default=-1)
        found = {"A": _padded(A, sizes.nx), "B": _padded(B[:, driven], sizes.nu)}
        local: dict[str, Any] = {
            "lx": gradient[:n],
            "lu": gradient[u],
            "lxx": _padded(hessian[:count, :n], sizes.nx),
            "lux": _padded(hessian[u, :n], sizes.nx),
            "luu": _padded(hessian[np.ix_(u, u)], sizes.nu),
        }
        for name, value in local.items():
            if all(lift(e).op == "const" for e in value.flat):
                numbers = [lift(e).value for e in value.flat]
                self.constants[name] = np.array(numbers, dtype=float)
            else:
                found[name] = value
        constant = hessian[:n, :n] * np.where(varying, 0.0, 1.0)[:, None]
        self.constants["lxx_below"] = _padded(constant, sizes.nx).astype(float)
        if sizes.block:
            _, after = self.reached(x, self.limited(x["tau"]))
            found |= self._base_derivatives(x["q"], after)
        if self.has_limits:
            for name, limit in zip(("low", "high"), self.limits, strict=True):
                found[name] = limit[driven] - x["tau"][driven]
        if self.has_gaps:
            q, qd = self.reached(x, self.limited(x["tau"]))
            moved = self.difference(x["q_next"], q)
            found["gap"] = np.concatenate([moved, qd - x["qd_next"]])
        return found

    def _base_derivatives(self, q: Any, qd: Any) -> dict[str, Any]:
        """Return P and R of δq⁺ = R (P δq + dt a)."""
        size = self.sizes.block
        dq, dqd = self.robot.integrate_derivatives(q, qd, self.dt)
        R = dqd[:6, :6] * (1.0 / self.dt)
        found: dict[str, Any] = {}
        for name, X in (("P", general_solve(R, dq[:6, :6])), ("R", R)):
            found[name] = np.array(np.eye(size), dtype=object)
            found[name][:6, :6] = X
        return found

    def _quadratic(self, cost: Any, x: Values, names: Any) -> tuple[Any, Any]:
        """Return the gradient and the Hessian of a cost, in the tangent space of q."""
        robot, one = self.robot, const(1.0)
        along: dict[Expr, dict[int, Expr]] = {}
        for k, unit in enumerate(np.eye(robot.nv)):
            column = unit if self.is_vector else robot.configuration_rate(x["q"], unit)
            for e, value in zip(x["q"], column, strict=True):
                along.setdefault(e, {})[k] = lift(value)
        place = robot.nv
        for name in names:
            for e in x[name]:
                along[e] = {place: one}
                place += 1
        zero = const(0.0)
        (row,) = reverse([lift(cost)], [{0: one}], along) or ({},)
        gradient = [row.get(k, zero) for k in range(place)]
        second = forward(gradient, along)
        hessian: Any = np.empty((place, place), dtype=object)
        for i in range(place):
            for j in range(i, place):
                x_ij = second[i].get(j, zero) + second[j].get(i, zero)
                hessian[i, j] = hessian[j, i] = 0.5 * x_ij
        return np.array(gradient, dtype=object), hessian

    def end(self, x: Values) -> dict[str, Any]:
        """Return the value of the last state."""
        gradient, hessian = self._quadratic(self.last_cost(x)["last"], x, ("qd",))
        return {"V": _padded(np.column_stack([hessian, gradient]), self.sizes.nx)}

    def box(self, x: Values) -> dict[str, Any]:
        """Return the best change of u within limits."""
        m = self.sizes.m
        Quu = x["Quu"][:, :m] + x["damping"] * np.eye(m)
        k, free = limited_step(Quu, x["Qu"], x["low"], x["high"])
        return {"k": k, "free": free}


def _padded(matrix: Any, columns: int) -> Any:
    """Return a matrix with columns of zeros behind its own."""
    rows, own = matrix.shape
    return np.concatenate([matrix, np.zeros((rows, columns - own))], axis=1)


def no_cost(q: Any) -> Any:
    """Return zero, whatever the state."""
    return 0.0 * q[0]
