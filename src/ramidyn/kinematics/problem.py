"""A problem of inverse kinematics over symbols: goals, equations, limits, iterations.

    minimize ½ Σ w² |e(q)|²     subject to     c(q) = 0,  lower ≤ q ≤ upper

`search` iterates from start to start until every goal is within its tolerance. `refine`
descends from one configuration to a stationary point, for goals that cannot be met and
for preferences. `close` corrects what is left of the equations.

A joint at a limit is held if the goals and the equations push it further out,
z = Jᵀ e + Gᵀ y, by a large entry of the damping; what a step takes beyond a limit is
cut off. So at a solution z is 0 for the free joints, and points outward for the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, final

import numpy as np

from ramidyn.coordinates.configurations import (
    differences,
    integrated_q,
    joint_limits,
)
from ramidyn.kinematics.damped_step import damped_step, pushed_velocity
from ramidyn.kinematics.goal_rows import Rows, rows_of
from ramidyn.kinematics.goals import Posture, parts_of
from ramidyn.kinematics.structure import Starts, Structure
from ramidyn.quantities.closed_loops import (
    constraint_jacobian,
    constraint_residual,
    constraint_senses,
)
from ramidyn.symbolic.dense import Entries, total
from ramidyn.symbolic.expr import ONE, ZERO, Condition, Expr, const, lift
from ramidyn.symbolic.functions import maximum, minimum, where
from ramidyn.symbolic.repeat import repeat, repeat_until
from ramidyn.tracing.context import Context

BY_ERROR, AT_LEAST = 0.03, 3e-7
"""damping of the search: this part of |e|², and at least this"""
FOLLOWING = 0.3
"""damping of `follow`, over |e|: about the curvature [m] of what is out of reach"""
HELD = 1e12
"""damping of a joint that is held at its limit"""
SAFE = 3e-3
"""[rad, m]: a last step that is not longer, with no joint at a limit, is taken"""
CLOSED = 1e-6
"""|c| at which the search lets `close` finish"""
ITERATIONS = 10
"""of one start, and one more for each entry of q̇ that may move"""
REFINEMENTS, CLOSINGS = 300, 30
STATIONARY = 1e-10
"""|z| of the free joints"""


# ------------------------------------------------------------ one configuration


class Limit(NamedTuple):
    """The range of a coordinate; one side may be infinite."""

    at: int
    """entry of q"""
    lower: Any
    upper: Any
    """numbers or symbols"""

    def pushes(self, q: Any, z: Expr) -> Condition:
        """Return whether z pushes the coordinate on against a limit."""
        x = q[self.at]
        below = (x <= self.lower) & (z < 0.0)
        above = (x >= self.upper) & (z > 0.0)
        if _is_infinite(self.lower):
            return above
        return below if _is_infinite(self.upper) else below | above

    def clamped(self, x: Any) -> Any:
        """Return a coordinate within the range."""
        x = x if _is_infinite(self.lower) else maximum(x, self.lower)
        return x if _is_infinite(self.upper) else minimum(x, self.upper)


def _is_infinite(x: Any) -> bool:
    return isinstance(x, float) and math.isinf(x)


class Evaluation(NamedTuple):
    """Goals and equations at one configuration."""

    soft: list[Rows]
    """weighted"""
    hard: list[Rows]
    parts: list[Expr]
    """|e|² of each part that is judged, not weighted"""
    cost: Expr
    """Σ w² |e|²"""
    gap: Expr
    """|c|²"""
    is_reversed: Expr
    """1 if a cut of a loop has its axes in opposite directions"""


class SolverMove(NamedTuple):
    """A step at one configuration."""

    v: Entries
    multipliers: list[Expr]
    slope: Expr
    """|z|² of the joints that are not held"""
    held: Expr
    """the number of joints that are held at their limits"""


@final
class KinematicProblem:
    """A problem with its targets, as symbols."""

    def __init__(self, context: Context, structure: Structure) -> None:
        self.context, self.structure = context, structure
        model = self.model = context.model
        limits = joint_limits(model)
        self.limits: dict[int, Limit] = {}
        """by entries of q̇, where one is finite"""
        self.places: dict[int, int] = {}
        """entry of q̇ -> entry of q, of joints whose coordinates are added"""
        moving: list[int] = []
        seen: set[int] = set()
        fixed = {
            k
            for j in model.joints
            if j.name in structure.fixed
            for k in range(j.v_index, j.v_index + j.nv)
        }
        for body in model.tree.bodies:
            joint = body.joint
            if joint.v_index in seen | fixed:
                continue
            seen.add(joint.v_index)
            for c in range(joint.nv):
                k, at = joint.v_index + c, joint.q_index + c
                moving.append(k)
                if joint.nq != joint.nv:
                    continue
                self.places[k] = at
                low, high = float(limits.lower[at]), float(limits.upper[at])
                if low > -math.inf or high < math.inf:
                    self.limits[k] = Limit(at, low, high)
        self.order = moving
        self.kept = structure.loop_rows

    @property
    def has_equations(self) -> bool:
        """Whether there are loops or other equations."""
        return bool(self.kept or self.structure.equations)

    def at(self, q: Any) -> Context:
        """Return the context of another configuration."""
        return self.context.with_inputs(q=list(q))

    def evaluate(self, q: Any) -> Evaluation:
        """Return goals and equations at q."""
        here = self.at(q)
        inputs: Mapping[str, Any] = self.context.inputs
        soft: list[Rows] = []
        parts: list[Expr] = []
        first = 0
        for k, term in enumerate(self.structure.goals):
            rows = rows_of(term.goal, here, inputs.get(f"target{k}"), term.is_uniform)
            if not isinstance(term.goal, Posture):
                for part in parts_of(term.goal, self.model):
                    parts.append(total(rows.e[r] * rows.e[r] for r in part.rows))
            if term.constants:
                rows = _scaled(rows, [const(x) for x in term.constants])
            elif term.is_weighted:
                w = inputs["weights"][first : first + len(rows.e)]
                first += len(rows.e)
                rows = _scaled(rows, list(w))
            soft.append(rows)
        hard = self._equations(here)
        return Evaluation(
            soft, hard, parts, _square(soft), _square(hard), self._reversed(here)
        )

    def _equations(self, here: Context) -> list[Rows]:
        found: list[Rows] = []
        if self.kept:
            phi, J = constraint_residual.of(here), constraint_jacobian.of(here)
            e = [-lift(phi[r]) for r in self.kept]
            rows = [
                {k: lift(x) for k, x in enumerate(J[r]) if not lift(x).is_zero}
                for r in self.kept
            ]
            found.append(Rows(e, rows, False))
        first = len(self.structure.goals)
        for k, term in enumerate(self.structure.equations):
            target = self.context.inputs.get(f"target{first + k}")
            found.append(rows_of(term.goal, here, target, True))
        return found

    def _reversed(self, here: Context) -> Expr:
        if not self.model.loops:
            return ZERO
        senses = [lift(x) for x in np.ravel(constraint_senses.of(here))]
        return where(reduce(minimum, senses, ONE) < 0.0, ONE, ZERO)

    def step(
        self, q: Any, here: Evaluation, damping: Expr, multipliers: Sequence[Expr]
    ) -> SolverMove:
        """Return a damped step within the limits that are active."""
        z = pushed_velocity(here.soft, here.hard, multipliers)
        diagonal: dict[int, Expr] = {}
        held: dict[int, Condition] = {}
        for k in self.order:
            diagonal[k] = damping
            if k in self.limits and k in z:
                held[k] = self.limits[k].pushes(q, z[k])
                diagonal[k] = where(held[k], HELD, damping)
        step = damped_step(self.order, here.soft, here.hard, diagonal)
        after = pushed_velocity(here.soft, here.hard, step.multipliers)
        free = [
            where(held[k], ZERO, after[k]) if k in held else after[k]
            for k in self.order
            if k in after
        ]
        count = [where(condition, ONE, ZERO) for condition in held.values()]
        return SolverMove(
            step.v, step.multipliers, total(x * x for x in free), total(count)
        )

    def moved(self, q: Any, v: Mapping[int, Expr]) -> tuple[Any, Expr]:
        """Return q ⊕ v within limits, and the square of what was cut off."""
        steps = [v.get(k, ZERO) for k in range(self.model.nv)]
        model, conventions = self.model, self.context.conventions
        out: Any = np.array(
            integrated_q(model, conventions, list(q), steps, ONE), dtype=object
        )
        cut: list[Expr] = []
        for limit in self.limits.values():
            beyond = out[limit.at]
            out[limit.at] = x = limit.clamped(beyond)
            cut.append((x - beyond) * (x - beyond))
        return out, total(cut)

    # -------------------------------------------------------- loops

    def is_reached(self, here: Evaluation, tolerances: Any) -> Condition:
        """Return whether all parts are within tolerances (squared), loops closed."""
        ratios = [x / t for x, t in zip(here.parts, tolerances, strict=True)]
        if self.has_equations:
            ratios.append(here.gap * (1.0 / CLOSED**2))
        if self.model.loops:
            ratios.append(here.is_reversed * 2.0)
        worst = reduce(maximum, ratios) if ratios else ZERO
        return lift(worst) <= 1.0

    def search(self) -> dict[str, Any]:
        """Iterate from start to start until all goals are reached."""
        inputs: Mapping[str, Any] = self.context.inputs
        starts = Starts.of(self.model, self.structure.fixed)
        most = float(ITERATIONS + len(self.order))
        # Half of it: the step after the last one may add a little.
        tolerances = [0.25 * t * t for t in inputs["tolerances"]]

        def body(carry: Any) -> Any:
            q, s, count, k, _, left, multipliers = carry
            here = self.evaluate(q)
            damping = here.cost * BY_ERROR + AT_LEAST
            step = self.step(q, here, damping, list(multipliers))
            there, cut = self.moved(q, step.v)
            size = total(x * x for x in step.v.values())
            is_reached = self.is_reached(here, tolerances)
            is_risky = is_reached & ((size > SAFE**2) | (cut + step.held > 0.0))
            is_over = ~is_reached & (count >= most - 1.0)
            following = start_after(starts, list(s))
            q = where(is_over, s, where(is_risky, q, there))
            is_last = k + 1.0 >= inputs["starts"]
            state = where(is_reached, ONE, where(is_over & is_last, const(2.0), ZERO))
            return (
                q,
                where(is_over, np.array(following, dtype=object), s),
                where(is_over, ZERO, count + 1.0),
                where(is_over, k + 1.0, k),
                state,
                left - 1.0,
                where(is_over, ZERO, np.array(step.multipliers, dtype=object)),
            )

        carry = (
            np.array(list(inputs["q"]), dtype=object),
            inputs["next_start"],
            inputs["count"],
            inputs["start"],
            ZERO,
            inputs["budget"],
            np.array([*inputs.get("multipliers", ())], dtype=object),
        )
        found = repeat_until(
            body, carry, lambda c: c[4] + where(c[5] < 0.5, ONE, ZERO) > 0.5, 10**6
        )
        q, s, count, k, state, _, multipliers = found.carry
        out = {"q": q, "next_start": s, "count": count, "start": k}
        if len(multipliers):
            out["multipliers"] = multipliers
        return {**out, "state": state, "steps": found.steps}

    def errors(self) -> dict[str, Any]:
        """Return |e|² of judged parts and of all goals (weighted), and c."""
        here = self.evaluate(self.context.inputs["q"])
        gaps = [x for rows in here.hard for x in rows.e]
        return {
            "parts": np.array([*here.parts, ZERO], dtype=object),
            "cost": here.cost,
            "gaps": np.array([*gaps, ZERO], dtype=object),
            "is_reversed": here.is_reversed,
        }

    def close(self) -> dict[str, Any]:
        """Correct what is left of the equations."""
        q, gap = self.closed(self.context.inputs["q"])
        return {"q": q, "gap": gap}

    def closed(self, q: Any) -> tuple[Any, Expr]:
        """Return q after corrections that close the equations, and |c|²."""

        def body(carry: Any) -> Any:
            q, gap, _ = carry
            here = self.evaluate(q)
            nothing: list[Rows] = []
            diagonal = dict.fromkeys(self.order, ONE)
            first = damped_step(self.order, nothing, here.hard, diagonal)
            for k in self.limits:
                if k in diagonal:
                    is_held = self.limits[k].pushes(q, first.v[k])
                    diagonal[k] = where(is_held, HELD, ONE)
            step = damped_step(self.order, nothing, here.hard, diagonal)
            there, _ = self.moved(q, _at_most_one(step.v))
            after = _square(self._equations(self.at(there)))
            is_better = after < gap
            return (
                where(is_better, there, q),
                where(is_better, after, gap),
                where(is_better, ZERO, ONE),
            )

        q = np.array(list(q), dtype=object)
        start = (q, _square(self._equations(self.at(q))), ZERO)
        found = repeat_until(
            body, start, lambda c: c[2] + where(c[1] < 1e-30, ONE, ZERO) > 0.5, CLOSINGS
        )
        return found.carry[0], found.carry[1]

    def follow(self, iterations: int) -> dict[str, Any]:
        """Take a time step towards targets that move: no joint is too fast."""
        inputs: Mapping[str, Any] = self.context.inputs
        start: Any = np.array(list(inputs["q"]), dtype=object)
        dt, smoothness = inputs["dt"], inputs["smoothness"]
        for k, at in self.places.items():
            reach = inputs["velocity_limits"][k] * dt
            low, high = start[at] - reach, start[at] + reach
            if k in self.limits:
                low, high = map(self.limits[k].clamped, (low, high))
            self.limits[k] = Limit(at, low, high)
        model, conventions = self.model, self.context.conventions

        def body(carry: Any) -> Any:
            q, multipliers = carry
            here = self.evaluate(q)
            back = differences(model, conventions, list(q), list(start))
            e = [smoothness * back[k] for k in self.order]
            still = Rows(e, [{k: smoothness} for k in self.order], True)
            here = here._replace(soft=[*here.soft, still])
            damping = here.cost.sqrt() * FOLLOWING + AT_LEAST
            step = self.step(q, here, damping, list(multipliers))
            there, _ = self.moved(q, step.v)
            return there, np.array(step.multipliers, dtype=object)

        rows = self.structure.equation_count(model)
        multipliers: Any = np.array([ZERO] * rows, dtype=object)
        q, _ = repeat(body, (start, multipliers), iterations)
        if self.has_equations:
            q, _ = self.closed(q)
        rate = differences(model, conventions, list(start), list(q))
        return {"q": q, "qd": np.array([x / dt for x in rate], dtype=object)}

    def refine(self) -> dict[str, Any]:
        """Descend to a stationary point from a configuration, equations closed."""
        inputs: Mapping[str, Any] = self.context.inputs
        q: Any = np.array(list(inputs["q"]), dtype=object)
        gap = ZERO
        if self.has_equations:
            q, gap = self.closed(q)

        def body(carry: Any) -> Any:
            q, cost, gap, mu, multipliers, _ = carry
            here = self.evaluate(q)
            step = self.step(q, here, mu, list(multipliers))
            there, _ = self.moved(q, _at_most_one(step.v))
            left = gap
            if self.has_equations:
                there, left = self.closed(there)
            after = self.evaluate(there).cost
            is_better = (after < cost) & (left <= maximum(gap, CLOSED**4))
            is_done = (step.slope < STATIONARY**2) | (mu > 1e10)
            return (
                where(is_better, there, q),
                where(is_better, after, cost),
                where(is_better, left, gap),
                where(is_better, maximum(mu * 0.1, 1e-14), mu * 8.0),
                np.array(step.multipliers, dtype=object),
                where(is_done, ONE, ZERO),
            )

        rows = self.structure.equation_count(self.model)
        multipliers: Any = np.array([ZERO] * rows, dtype=object)
        start = (q, self.evaluate(q).cost, gap, 1e-3, multipliers, ZERO)
        found = repeat_until(body, start, lambda c: c[5] > 0.5, REFINEMENTS)
        q, cost, *_ = found.carry
        return {"q": q, "cost": cost, "steps": found.steps, "is_done": found.is_done}


def start_after(starts: Starts, s: Sequence[Expr]) -> list[Expr]:
    """Return the start after another."""
    found: list[Any] = list(s)
    for k in np.flatnonzero(starts.is_varied).tolist():
        x = found[k] + float(starts.stride[k])
        width = float(starts.upper[k] - starts.lower[k])
        found[k] = where(x > float(starts.upper[k]), x - width, x)
    return found


def _scaled(rows: Rows, weights: Sequence[Expr]) -> Rows:
    e = [w * x for w, x in zip(weights, rows.e, strict=True)]
    J = [
        {k: w * x for k, x in row.items()}
        for w, row in zip(weights, rows.J, strict=True)
    ]
    return Rows(e, J, rows.is_along_tree)


def _at_most_one(v: Entries) -> Entries:
    """Return v, scaled to length 1 if it is longer."""
    size = total(x * x for x in v.values())
    scale = minimum(1.0, 1.0 / maximum(size, 1e-300).sqrt())
    return {k: x * scale for k, x in v.items()}


def _square(parts: Sequence[Rows]) -> Expr:
    return total(x * x for rows in parts for x in rows.e)
