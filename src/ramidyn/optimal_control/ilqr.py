"""Iterative LQR: plans of least cost, by linearized steps and quadratic costs.

An iteration has three parts in native code: the derivatives of all steps, as a batch;
the Riccati recursion (`riccati`), a time loop that runs backwards; and rollouts with
the new policy for several step lengths, of which the best is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError, ShapeError
from ramidyn.kernels import kernel
from ramidyn.optimal_control.riccati import packed, packed_size, riccati_step, unpacked
from ramidyn.robot import Robot
from ramidyn.simulation.scan import scan
from ramidyn.symbolic import functions as math
from ramidyn.symbolic.derivatives import forward, reverse
from ramidyn.symbolic.expr import Expr, const, lift
from ramidyn.symbolic.parameters import parameters_of

Cost = Callable[..., Any]
LENGTHS = 0.5 ** np.arange(8)
"""step lengths that are tried"""
DECREASE = 1e-4
"""of the decrease that the quadratic model promises, that a step must reach"""
LEAST_DAMPING, SMALL_DAMPING, MOST_DAMPING, GROWTH = 1e-8, 1e-7, 1e8, 10.0
MOST_STALLS = 3
"""times that a problem may promise no decrease, each with less damping"""
OWN = ("q", "qd", "tau")


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
    compiled at the first call of each kind, and then runs in native code.

    Args:
        robot: a tree, without rigid contacts.
        steps: number of steps of a plan.
        dt: time step [s].
        cost: of a step: a traced function of q, qd, tau and of names in ``inputs``.
        final_cost: of the last state: a traced function of q, qd and names in
            ``inputs``; zero by default.
        inputs: shapes of further inputs of the costs by name, such as
            ``{"goal": 7}``: their values are given in each call.
        limits: the least and the largest tau: (nv,) each; equal ones fix a joint force,
            such as (0, 0) that of a joint without motor. None: no limits.
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
        threads: int = 1,
    ) -> None:
        if robot.model.loops or robot.model.contacts:
            what = "loops" if robot.model.loops else "rigid contacts"
            raise ModelError(
                f"robot {robot.name!r} has {what}; ILQR plans motions of trees without "
                "rigid contacts"
            )
        if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"steps is {steps!r}; expected 1 or more")
        if not (np.ndim(dt) == 0 and np.isfinite(dt) and dt > 0.0):
            raise ArgumentError(f"dt is {dt!r}; expected a positive number of seconds")
        self.robot = robot
        self.steps = steps
        self.dt = float(dt)
        self._inputs = {
            n: (s,) if isinstance(s, int) else tuple(s)
            for n, s in (inputs or {}).items()
        }
        for name in self._inputs:
            if name in OWN:
                raise ArgumentError(
                    f"inputs has {name!r}, which costs are given anyway"
                )
        self._cost = self._function("cost", cost, OWN)
        self._final = self._function("final_cost", final_cost or _no_cost, OWN[:2])
        self._limits = None if limits is None else self._checked_limits(limits)
        self._compile(threads)

    def __repr__(self) -> str:
        return f"ILQR of {self.robot.name}: {self.steps} steps of {self.dt:g} s"

    # What is compiled.

    def _function(self, what: str, function: Cost, own: tuple[str, ...]) -> Cost:
        """Return a cost as a function of all values by name."""
        parameters = parameters_of(function) if callable(function) else None
        if parameters is None:
            raise ArgumentError(
                f"{what} is {function!r}; expected a function with named parameters"
            )
        known = (*own, *self._inputs)
        names = list(parameters)
        for name in names:
            if name not in known and parameters[name].default is parameters[name].empty:
                raise ArgumentError(
                    f"{what} asks for {name!r}; possible: {', '.join(known)}; further "
                    "ones are declared by inputs="
                )

        def called(**values: Any) -> Any:
            given = {n: values[n] for n in names if n in values}
            found = np.asarray(function(**given), dtype=object)
            if found.shape != ():
                raise ShapeError(f"{what} has shape {found.shape}; expected a scalar")
            return found.item()

        return called

    def _checked_limits(self, limits: Any) -> tuple[Array, Array]:
        try:
            low, high = (np.asarray(x, dtype=float) for x in limits)
            low, high = (np.broadcast_to(x, (self.robot.nv,)) for x in (low, high))
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"limits is {limits!r}; expected two arrays ({self.robot.nv},)"
            ) from error
        if not (low <= high).all():
            raise ArgumentError("limits has a least tau above the largest")
        # Infinite ones would make differences of infinities.
        return np.maximum(low, -1e30), np.minimum(high, 1e30)

    def _compile(self, threads: int) -> None:
        robot, inputs = self.robot, self._inputs
        nq, nv = robot.nq, robot.nv
        n, size = 2 * nv, packed_size(2 * nv)
        self._is_vector = nq == nv and _is_vector_space(robot)
        rows = nv if self._is_vector else n
        name = f"of {robot.name}"

        def made(what: str, f: Any, shapes: Mapping[str, Any]) -> Any:
            order = list(shapes)

            def by_name(*values: Any) -> Any:
                return f(dict(zip(order, values, strict=True)))

            return kernel(by_name, shapes, threads=threads, name=f"{what} {name}")

        state = {"q": nq, "qd": nv}
        knot = {**state, "tau": nv, **inputs}
        self._derivatives = made("derivatives", self._traced_derivatives, knot)
        last = {**state, **inputs}
        self._end = made("final cost", self._traced_end, last)
        self._final_cost = made("final cost", self._traced_final, last)
        roll = {**state, "total": (), "q_old": nq, "qd_old": nv, "tau_old": nv}
        roll |= {"k": nv, "K": (nv, n), "length": (), **inputs}
        step = made("step", self._traced_step, roll)
        self._rollout = scan(
            step,
            carry=("q", "qd", "total"),
            per_step=("q_old", "qd_old", "tau_old", "k", "K"),
            length=self.steps,
            record=("q_at", "qd_at", "tau"),
        )
        back = {"V": size, "v": n, "slope": (), "curvature": (), "pivot": ()}
        per_step = {"A": (rows, n), "B": (rows, nv), "lx": n, "lu": nv, "lxx": size}
        per_step |= {"lux": (nv, n), "luu": packed_size(nv), "tau": nv}
        riccati = made(
            "Riccati step", self._traced_riccati, {**back, **per_step, "damping": ()}
        )
        self._riccati = scan(
            riccati,
            carry=tuple(back),
            per_step=tuple(per_step),
            length=self.steps,
            record=("k", "K"),
        )

    def _traced_step(self, x: dict[str, Any]) -> dict[str, Any]:
        robot, dt = self.robot, self.dt
        q, qd = x["q"], x["qd"]
        moved = q - x["q_old"] if self._is_vector else robot.difference(x["q_old"], q)
        change = np.concatenate([moved, qd - x["qd_old"]])
        tau = x["tau_old"] + x["length"] * x["k"] + x["K"] @ change
        if self._limits is not None:
            ends = zip(tau, *self._limits, strict=True)
            tau = np.array([math.minimum(math.maximum(t, a), b) for t, a, b in ends])
        values = {"q": q, "qd": qd, "tau": tau, **{n: x[n] for n in self._inputs}}
        after = qd + dt * robot.forward_dynamics(q, qd, tau)
        return {
            "q_at": q,
            "qd_at": qd,
            "tau": tau,
            "q": robot.integrate(q, after, dt),
            "qd": after,
            "total": x["total"] + self._cost(**values),
        }

    def _quadratic(
        self, cost: Any, x: Mapping[str, Any], names: Any
    ) -> tuple[Any, Any]:
        """Return the gradient and the Hessian of a cost, in the tangent space of q."""
        robot, one = self.robot, const(1.0)
        along: dict[Expr, dict[int, Expr]] = {}
        for k, unit in enumerate(np.eye(robot.nv)):
            column = unit if self._is_vector else robot.configuration_rate(x["q"], unit)
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

    def _traced_derivatives(self, x: dict[str, Any]) -> dict[str, Any]:
        nv = self.robot.nv
        n = 2 * nv
        A, B = self.robot.linearize(x["q"], x["qd"], x["tau"], self.dt)
        if self._is_vector:
            A, B = A[nv:], B[nv:]
        gradient, hessian = self._quadratic(self._cost(**x), x, ("qd", "tau"))
        return {
            "A": A,
            "B": B,
            "lx": gradient[:n],
            "lu": gradient[n:],
            "lxx": packed(hessian[:n, :n]),
            "lux": hessian[n:, :n],
            "luu": packed(hessian[n:, n:]),
        }

    def _traced_final(self, x: dict[str, Any]) -> dict[str, Any]:
        return {"cost": self._final(**x)}

    def _traced_end(self, x: dict[str, Any]) -> dict[str, Any]:
        gradient, hessian = self._quadratic(self._final(**x), x, ("qd",))
        return {"V": packed(hessian), "v": gradient}

    def _traced_riccati(self, x: dict[str, Any]) -> dict[str, Any]:
        nv = self.robot.nv
        n = 2 * nv
        costs = (
            x["lx"],
            x["lu"],
            unpacked(x["lxx"], n),
            x["lux"],
            unpacked(x["luu"], nv),
        )
        limits = None
        if self._limits is not None:
            limits = self._limits[0] - x["tau"], self._limits[1] - x["tau"]
        found = riccati_step(
            unpacked(x["V"], n),
            x["v"],
            x["A"],
            x["B"],
            costs,
            x["damping"],
            self.dt if self._is_vector else None,
            limits,
        )
        return {
            "V": packed(found["V"]),
            "v": found["v"],
            "slope": x["slope"] + found["slope"],
            "curvature": x["curvature"] + found["curvature"],
            "pivot": math.minimum(x["pivot"], found["pivot"]),
            "k": found["k"],
            "K": found["K"],
        }

    # What is called.

    def __call__(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
        *,
        iterations: int = 100,
        tolerance: float = 1e-9,
        damping: float = 0.0,
        report: Callable[[int, Array], None] | None = None,
        **inputs: npt.ArrayLike,
    ) -> MotionPlan:
        """Return the plan from an initial state, or the plans of a batch.

        Args:
            q: (nq,) or (batch, nq), initial configuration [rad, m].
            qd: (nv,) or (batch, nv), initial velocity; zero by default.
            tau: (steps, nv) or (batch, steps, nv), to begin with, such as
                ``plan.shifted()`` of the plan before; zero by default.
            iterations: how many at most.
            tolerance: a plan is done when an iteration promises to lower its cost by
                less than this part of it.
            damping: μ on the diagonal of Quu to begin with; it grows tenfold when a
                step does not lower the cost, and shrinks tenfold when it does.
            report: called after each iteration with its number and the costs (batch,).
            inputs: values of the inputs of costs: of their shape, or (batch, ...).
        """
        robot, nv = self.robot, self.robot.nv
        start = [_array("q", q, (robot.nq,))]
        start.append(_array("qd", np.zeros(nv) if qd is None else qd, (nv,)))
        first = np.zeros((self.steps, nv)) if tau is None else tau
        start.append(_array("tau", first, (self.steps, nv)))
        if set(inputs) != set(self._inputs):
            raise ArgumentError(
                f"inputs of costs are {', '.join(inputs) or 'none'}; expected "
                f"{', '.join(self._inputs) or 'none'}"
            )
        start += [_array(n, inputs[n], shape) for n, shape in self._inputs.items()]
        cores = [1, 1, 2, *(len(s) for s in self._inputs.values())]
        leads = [x.shape[: x.ndim - c] for x, c in zip(start, cores, strict=True)]
        sizes = {lead[0] for lead in leads if lead}
        if len(sizes) > 1:
            raise ShapeError(f"batch sizes differ: {sorted(sizes)}")
        is_batch, batch = bool(sizes), sizes.pop() if sizes else 1
        filled = [
            np.broadcast_to(x, (batch, *x.shape[len(lead) :]))
            for x, lead in zip(start, leads, strict=True)
        ]
        named = dict(zip(self._inputs, filled[3:], strict=True))
        search = _Search(self, filled, named, damping, tolerance)
        costs: list[Array] = [np.array(search.cost)]
        for number in range(iterations):
            if search.done.all():
                break
            search.iterate()
            costs.append(np.array(search.cost))
            if report is not None:
                report(number + 1, costs[-1])
        found = MotionPlan(
            search.q,
            search.qd,
            search.tau,
            search.gains,
            search.cost,
            np.stack(costs, axis=-1),
            search.converged,
        )
        if is_batch:
            return found
        return MotionPlan(*(getattr(found, n)[0] for n in MotionPlan.__slots__))


class _Search:
    """The motions of a batch of problems, and what an iteration changes."""

    def __init__(
        self,
        owner: ILQR,
        state: list[Any],
        inputs: dict[str, Array],
        damping: float,
        tolerance: float,
    ) -> None:
        q, qd, tau = state[:3]
        self.owner = owner
        self.inputs = inputs
        self.tolerance = tolerance
        batch, nv = len(q), owner.robot.nv
        self.damping = np.full(batch, float(damping))
        self.gains = np.zeros((batch, owner.steps, nv, 2 * nv))
        self.done = np.zeros(batch, dtype=bool)
        self.converged = np.zeros(batch, dtype=bool)
        self.stalls = np.zeros(batch, dtype=int)
        self.has_failed = np.zeros(batch, dtype=bool)
        everyone = np.arange(batch)
        rest = np.zeros((batch, owner.steps, nv))
        self.q0, self.qd0 = np.array(q), np.array(qd)
        old = np.repeat(self.q0[:, None], owner.steps, axis=1), rest, np.array(tau)
        zero = np.zeros(batch)
        found = self._rolled(everyone, old, rest, self.gains, zero)
        self.q, self.qd, self.tau = found[:3]
        self.cost: Array = found[3]
        bad = ~np.isfinite(self.cost)
        if bad.any():
            which = np.flatnonzero(bad)[0]
            raise ArgumentError(
                f"the cost of the first motion of problem {which} is not finite; begin "
                "with another tau, or a shorter dt"
            )

    def _rolled(
        self, at: Any, old: Any, k: Array, K: Array, length: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return the motions of some problems with a new policy, and their costs."""
        owner = self.owner
        inputs = [_some(x, at) for x in self.inputs.values()]
        first = self.q0[at], self.qd0[at], 0.0
        found = owner._rollout(*first, *old, k, K, length, *inputs)  # pyright: ignore[reportPrivateUsage]
        return self._with_end(found, inputs)

    def _with_end(self, found: Any, inputs: Any) -> tuple[Array, Array, Array, Array]:
        last = self.owner._final_cost(found.q, found.qd, *inputs)  # pyright: ignore[reportPrivateUsage]
        q = np.concatenate([found.q_at, found.q[:, None]], axis=1)
        qd = np.concatenate([found.qd_at, found.qd[:, None]], axis=1)
        return q, qd, found.tau, found.total + last

    def iterate(self) -> None:
        """Improve the problems that are not done."""
        at = np.flatnonzero(~self.done)
        k, K, promised, is_sound = self._policy(at)
        least = self.tolerance * (np.abs(self.cost[at]) + 1e-12)
        is_flat = np.abs(promised) <= least
        is_sound = is_sound & (promised > -least)
        if is_sound.all() and len(at) == len(self.done):
            self.gains = K
        else:
            self.gains = np.array(self.gains)
            self.gains[at[is_sound]] = K[is_sound]
        self._damp(at[~is_sound], up=True)
        self._finish(at[is_sound & is_flat])
        go = np.flatnonzero(is_sound & ~is_flat)
        if len(go):
            self._line_search(at[go], _some(k, go), _some(K, go), promised[go])

    def _finish(self, at: Any) -> None:
        """End problems that promise no decrease, if that is not for their damping.

        Much damping makes steps short, and they promise little: less is tried first.
        """
        ends = (self.damping[at] <= SMALL_DAMPING) | (self.stalls[at] == MOST_STALLS)
        self.done[at[ends]] = True
        self.converged[at[ends]] = ~self.has_failed[at[ends]]
        self.stalls[at] += 1
        self.damping[at[~ends]] /= GROWTH**2

    def _policy(self, at: Any) -> tuple[Any, Any, Any, Any]:
        """Return k, K, the decrease that they promise, and whether they are sound."""
        owner, steps = self.owner, self.owner.steps
        count = len(at)
        inputs = [_some(x, at) for x in self.inputs.values()]
        motion: tuple[Any, ...] = self.q[:, :-1], self.qd[:, :-1], self.tau
        flat: list[Any] = [
            np.reshape(_some(x, at), (count * steps, x.shape[-1])) for x in motion
        ]
        each = [np.repeat(x, steps, axis=0) for x in inputs]
        local = owner._derivatives(*flat, *each)  # pyright: ignore[reportPrivateUsage]
        end = owner._end(self.q[at, -1], self.qd[at, -1], *inputs)  # pyright: ignore[reportPrivateUsage]
        rows = [x.reshape(count, steps, *x.shape[1:])[:, ::-1] for x in local]
        rows.append(_some(self.tau, at)[:, ::-1])
        given: list[Any] = [end.V, end.v, 0.0, 0.0, np.inf, *rows, self.damping[at]]
        if count == 1:  # one state runs faster without lanes
            given = [x[0] if np.ndim(x) else x for x in given]
        found = owner._riccati(*given)  # pyright: ignore[reportPrivateUsage]
        names = ("k", "K", "slope", "curvature", "pivot")
        results: list[Any] = [getattr(found, n) for n in names]
        if count == 1:
            results = [x[None] for x in results]
        k, K, slope, curvature, pivot = results
        is_sound = (pivot > 0.0) & np.isfinite(slope) & np.isfinite(curvature)
        return k[:, ::-1], K[:, ::-1], -(slope + curvature), is_sound

    def _line_search(self, at: Any, k: Array, K: Array, promised: Array) -> None:
        """Take the best step length of one problem, or the first good one of many."""
        motion = self.q[:, :-1], self.qd[:, :-1], self.tau
        old = tuple(_some(x, at) for x in motion)
        if len(at) == 1:
            inputs = [x[at[0]] for x in self.inputs.values()]
            first = self.q0[at[0]], self.qd0[at[0]], 0.0
            before = (x[0] for x in old)
            found = self.owner._rollout(  # pyright: ignore[reportPrivateUsage]
                *first, *before, k[0], K[0], LENGTHS, *inputs
            )
            *tried, costs = self._with_end(found, inputs)
            best = int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))
            gain = self.cost[at[0]] - costs[best]
            if gain > DECREASE * LENGTHS[best] * promised[0]:
                self._accept(at, [x[best : best + 1] for x in (*tried, costs)])
            else:
                self._fail(at)
            return
        left = np.arange(len(at))
        for length in LENGTHS:
            part = tuple(_some(x, left) for x in old)
            full = np.full(len(left), length)
            policy = _some(k, left), _some(K, left)
            found = self._rolled(at[left], part, *policy, full)
            gain = self.cost[at[left]] - found[-1]
            good = gain > DECREASE * length * promised[left]  # NaN is not
            self._accept(at[left[good]], [x[good] for x in found])
            left = left[~good]
            if not len(left):
                return
        self._fail(at[left])

    def _fail(self, at: Any) -> None:
        self.has_failed[at] = True
        self._damp(at, up=True)

    def _accept(self, at: Any, found: Any) -> None:
        self.q[at], self.qd[at], self.tau[at], self.cost[at] = found
        self.stalls[at], self.has_failed[at] = 0, False
        self._damp(at, up=False)

    def _damp(self, at: Any, up: bool) -> None:
        """Change the damping; a problem that needs too much ends as it is."""
        now = self.damping[at]
        if up:
            now = np.maximum(GROWTH * now, LEAST_DAMPING)
            self.done[at[now > MOST_DAMPING]] = True
        else:
            now = np.where(now > GROWTH * LEAST_DAMPING, now / GROWTH, 0.0)
        self.damping[at] = now


def _some(x: Any, at: Any) -> Any:
    """Return rows by their numbers, in order; all of them are not copied."""
    return x if len(at) == len(x) else x[at]


def _array(name: str, value: npt.ArrayLike, core: tuple[int, ...]) -> Array:
    """Return numbers of a shape, or of a batch."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.full((1,) * (len(core) + 2), np.nan)
    is_one_more = array.ndim == len(core) + 1 and array.shape[1:] == core
    if array.shape != core and not is_one_more:
        listed = ", ".join(map(str, core))
        raise ShapeError(
            f"{name} has shape {np.asarray(value).shape}; expected {core} or "
            f"(batch, {listed})"
        )
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} has entries that are not finite")
    return array


def _no_cost(q: Any) -> Any:
    """Return zero, whatever the state."""
    return 0.0 * q[0]


def _is_vector_space(robot: Robot) -> bool:
    """Say whether q ⊕ v = q + v."""
    q, v = 0.3 + 0.1 * np.arange(robot.nq), 0.2 - 0.05 * np.arange(robot.nv)
    return bool(np.allclose(robot.integrate(q, v, 1.0), q + v, rtol=0, atol=1e-12))
