"""The driver of `problem`: one target, or a batch of them in lanes.

Targets wait in a queue. A pool of them runs in lanes, some iterations a call; those
that are done make room for the next. What happens to a target depends on nothing but
the target: its starts are numbered, and what an iteration needs is carried with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from ramidyn.compiler import compile
from ramidyn.coordinates.configurations import generator_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, printable
from ramidyn.function import Function
from ramidyn.kinematics.goals import (
    Goal,
    GoalPart,
    Posture,
    Residual,
    describe,
    parts_of,
    target_shape,
)
from ramidyn.kinematics.quantities import (
    kinematic_closing,
    kinematic_errors,
    kinematic_refinement,
    kinematic_search,
)
from ramidyn.kinematics.structure import Starts, Structure
from ramidyn.tracing.context import finite_number

if TYPE_CHECKING:
    from ramidyn.robot import Robot

Key = str | Goal
"""a goal; the name of a frame stands for its pose"""
POOL = 2048
"""targets in lanes at a time: their state stays in the second-level cache"""
BUDGET = 12
"""iterations of the pool between two looks at what is done"""
DESCENTS = 8
"""starts that `refine` descends from where no start reaches the goals"""
CLOSED = 1e-12
"""largest error of an equation in a solution [m, rad]"""


@final
@dataclass(frozen=True, eq=False)
class KinematicSolution:
    """What `Robot.inverse_kinematics` found, for one target or for each of a batch."""

    q: Array
    """(nq,) or (N, nq): solutions; where there is none, the best found [rad, m]"""
    success: Any
    """whether all goals are within tolerance, equations and limits exactly met"""
    iterations: Any
    """how many iterations were taken, in all starts"""
    starts: Any
    """how many starts were needed"""
    parts: Array
    """errors of all judged parts, (..., parts)"""
    gap: Any
    """largest error of an equation or loop [m, rad]"""
    _solver: Solver

    @cached_property
    def errors(self) -> dict[Key, Array]:
        """Errors of each goal, (..., parts): a pose has two, [m] and [rad]."""
        found: dict[Key, Array] = {}
        first = 0
        for key, goal in zip(self._solver.keys, self._solver.goals, strict=False):
            if not isinstance(goal, Posture):
                n = len(self._solver.parts[goal])
                found[key] = self.parts[..., first : first + n]
                first += n
        return found

    @cached_property
    def active_limits(self) -> npt.NDArray[np.int8]:
        """−1 where an entry of q is at its lower limit, 1 at its upper, else 0."""
        limits = self._solver.limits
        below, above = self.q <= limits.lower, self.q >= limits.upper
        return above.astype(np.int8) - below.astype(np.int8)

    def __repr__(self) -> str:
        success = np.ravel(self.success)
        n, solved = len(success), int(success.sum())
        if solved < n:
            what = "not solved" if n == 1 else f"{solved:,} of {n:,} targets solved"
            text = f"{what}; largest errors: {'; '.join(self._largest(~success))}"
        elif n == 1:
            text = f"solved, {int(np.ravel(self.iterations)[0])} iterations"
        else:
            count = float(np.sum(self.iterations)) / max(n, 1)
            text = f"all {n:,} targets solved, {count:.3g} iterations each"
        return printable(f"inverse kinematics of {self._solver.name!r}: {text}")

    def _largest(self, failed: npt.NDArray[np.bool_]) -> list[str]:
        """Return the largest errors of each goal that was not reached, in words."""
        found: list[str] = []
        for goal, error in zip(
            self._solver.judged_goals, self.errors.values(), strict=True
        ):
            rows = np.reshape(error, (-1, error.shape[-1]))
            own: list[float] = rows[failed].max(axis=0).tolist()
            units = [part.unit for part in self._solver.parts[goal]]
            shown = [f"{x:.2g} {u}".strip() for x, u in zip(own, units, strict=True)]
            found.append(f"{describe(goal)} {', '.join(shown)}")
        if np.max(self.gap) > self._solver.closed(float(np.max(self.gap))):
            found.append(f"equations {np.max(self.gap):.2g}")
        return found


class Judged(NamedTuple):
    """How well configurations of a batch meet goals and equations."""

    success: Any
    parts: Array
    gap: Array


class Given(NamedTuple):
    """Targets and weights of a call, checked."""

    targets: list[Array]
    """one by one, or with a batch axis"""
    is_batched: list[bool]
    weights: Array | None


@final
class Solver:
    """The compiled functions of one structure of a robot, and their driver."""

    def __init__(
        self,
        robot: Robot,
        keys: Sequence[Key],
        structure: Structure,
        threads: int,
    ) -> None:
        self.robot = robot
        self.name = robot.name
        self.keys = tuple(keys)
        self.structure = structure
        self.threads = threads
        self.limits = robot.limits
        model = robot.model
        self.goals: list[Goal] = [
            t.goal for t in (*structure.goals, *structure.equations)
        ]
        self.parts: dict[Goal, tuple[GoalPart, ...]] = {
            g: parts_of(g, model) for g in self.goals
        }
        self.shapes = [target_shape(g, model) for g in self.goals]
        self.rows = structure.equation_count(model)
        self.has_preference = any(isinstance(t.goal, Posture) for t in structure.goals)
        self.sequence = Starts.of(model, structure.fixed)
        self.guess = middle(robot)
        self.origins: dict[int, Array] = {}
        self.tolerances: dict[Any, Array] = {}
        self.default_weights: Array | None = None
        self.steps: dict[int, Function] = {}

    @property
    def judged_goals(self) -> list[Goal]:
        """The goals that decide on success."""
        goals = [term.goal for term in self.structure.goals]
        return [goal for goal in goals if not isinstance(goal, Posture)]

    def _compiled(self, quantity: Any) -> Function:
        wanted = quantity(structure=self.structure)
        return compile(wanted, self.robot, threads=self.threads)

    @cached_property
    def search(self) -> Function:
        """Iterations from start to start."""
        return self._compiled(kinematic_search)

    @cached_property
    def refine(self) -> Function:
        """Descent to a stationary point."""
        return self._compiled(kinematic_refinement)

    @cached_property
    def close(self) -> Function:
        """Corrections that close the equations."""
        return self._compiled(kinematic_closing)

    @cached_property
    def evaluate(self) -> Function:
        """Errors of goals and equations."""
        return self._compiled(kinematic_errors)

    def closed(self, gap: float) -> float:
        """Return the largest error of an equation that counts as closed.

        The digits of a file may not let its loops close better.
        """
        if gap <= CLOSED or not self.robot.model.loops:
            return CLOSED
        from ramidyn.mechanism.states import rank  # noqa: PLC0415  only with loops

        return max(CLOSED, rank(self.robot).closed)

    def tolerance(self, given: Any) -> Array:
        """Return the tolerance of each judged part."""
        is_plain = type(given) in (tuple, float)
        if is_plain and given in self.tolerances:
            return self.tolerances[given]
        by_unit = _by_unit(given)
        values: list[float] = []
        for goal in self.judged_goals:
            if isinstance(goal, Residual):
                values.append(goal.tolerance)
            else:
                values += [by_unit[part.unit] for part in self.parts[goal]]
        array = np.array(values)
        if is_plain:
            self.tolerances[given] = array
        return array

    def origin(self, rng: np.random.Generator | int) -> Array:
        """Return where the sequence of starts begins; that of a seed is kept."""
        if not isinstance(rng, int):
            return self.sequence.origin(generator_of(rng))
        if rng not in self.origins:
            self.origins[rng] = self.sequence.origin(generator_of(rng))
        return self.origins[rng]

    # -------------------------------------------------------- one target

    def solve_one(
        self, guess: Array, given: Given, tolerances: Array, starts: int, origin: Array
    ) -> KinematicSolution:
        """Return the solution for one target."""
        further = [*given.targets, *([] if given.weights is None else [given.weights])]
        multipliers = [np.zeros(self.rows)] if self.rows else []
        following = self.sequence.first(guess, origin)
        found = self.search(
            guess, following, 0.0, 0.0, float(starts), 1e9, tolerances, *further,
            *multipliers,
        )  # fmt: skip
        q, steps = found.q, int(found.steps)
        is_found = float(found.state) == 1.0
        if is_found and self.has_preference:
            refined = self.refine(q, *further)
            q, steps = refined.q, steps + int(refined.steps)
        elif is_found and self.rows:
            q = self.close(q, *further)[0]
        elif not is_found:
            begins = self._descents(guess[None], following[None])[:, 0]
            refined = self.refine(begins, *further)
            best = int(np.argmin(self._merit(refined.q, further, refined.cost)))
            q, steps = refined.q[best], steps + int(refined.steps.sum())
        errors = self.evaluate(q, *further)
        parts = np.sqrt(errors.parts[:-1])
        gap = float(np.abs(errors.gaps).max())
        is_valid = gap <= self.closed(gap) and float(errors.is_reversed) == 0.0
        success = bool((parts <= tolerances).all()) and is_valid
        used = int(found.start) + (1 if is_found else 0)
        return KinematicSolution(q, success, steps, used, parts, gap, self)

    def _descents(self, guess: Array, following: Array) -> Array:
        """Return the first starts, (DESCENTS, N, nq)."""
        found = [guess, following]
        while len(found) < DESCENTS:
            found.append(self.sequence.following(found[-1]))
        return np.array(found)

    def _merit(self, q: Array, further: Sequence[Any], cost: Array) -> Array:
        """Return costs, larger by far where equations are open."""
        if not self.rows:
            return cost
        errors = self.evaluate(q, *further)
        gaps = np.abs(errors.gaps).max(axis=-1)
        is_open = gaps > self.closed(float(gaps.max()))
        return np.where(is_open | (errors.is_reversed > 0.5), cost + 1e6, cost)

    # -------------------------------------------------------- a batch

    def solve_batch(
        self,
        guess: Array,
        given: Given,
        tolerances: Array,
        starts: int,
        origin: Array,
    ) -> KinematicSolution:
        """Return the solutions for a batch; rows of the guess are one or as many."""
        following = self.sequence.first(guess, origin)
        q, steps, used, state = self._run(guess, following, given, tolerances, starts)
        failed = np.flatnonzero(state != 1.0)
        found = np.flatnonzero(state == 1.0)
        if len(found) and (self.has_preference or self.rows):
            own = self._rows(given, found)
            finish = self.refine if self.has_preference else self.close
            refined = finish(q[found], *own)
            q[found] = refined[0]
            if self.has_preference:
                steps[found] += refined.steps.astype(int)
        if len(failed):
            begins = self._descents(guess[failed], following[failed])
            costs, best = np.full(len(failed), np.inf), np.array(guess[failed])
            own = self._rows(given, failed)
            for begin in begins:
                refined = self.refine(begin, *own)
                merit = self._merit(refined.q, own, refined.cost)
                is_better = merit < costs
                costs[is_better] = merit[is_better]
                best[is_better] = refined.q[is_better]
                steps[failed] += refined.steps.astype(int)
            q[failed] = best
        judged = self.judge(q, self._rows(given, slice(None)), tolerances)
        return KinematicSolution(
            q, judged.success, steps, used, judged.parts, judged.gap, self
        )

    def judge(self, q: Array, further: Sequence[Any], tolerances: Array) -> Judged:
        """Return how well a batch of configurations meets goals and equations."""
        errors = self.evaluate(q, *further)
        parts = np.sqrt(errors.parts[:, :-1])
        gap = np.abs(errors.gaps).max(axis=1)
        limit = self.closed(float(gap.max(initial=0.0)))
        is_valid = (gap <= limit) & (errors.is_reversed < 0.5)
        return Judged((parts <= tolerances).all(axis=1) & is_valid, parts, gap)

    def _rows(self, given: Given, rows: Any) -> list[Any]:
        """Return targets and weights of some of a batch."""
        found: list[Any] = [
            x[rows] if is_batched else x
            for x, is_batched in zip(given.targets, given.is_batched, strict=True)
        ]
        return found if given.weights is None else [*found, given.weights]

    def _run(
        self,
        guess: Array,
        following: Array,
        given: Given,
        tolerances: Array,
        starts: int,
    ) -> tuple[Array, Array, Array, Array]:
        """Return q, iterations, starts and states after the search."""
        n = len(guess)
        size = min(POOL * self.threads, n)
        out = np.empty_like(guess)
        steps, used, states = np.zeros(n, int), np.zeros(n, int), np.zeros(n)
        ids = np.arange(size)
        waiting = size  # the first that is not in the pool
        q, s = guess[:size], following[:size]
        count, start = np.zeros(size), np.zeros(size)
        multipliers = [np.zeros((size, self.rows))] if self.rows else []
        targets = [
            np.array(x[:size]) if b else x
            for x, b in zip(given.targets, given.is_batched, strict=True)
        ]
        weights = [] if given.weights is None else [given.weights]
        while len(ids):
            found = self.search(
                q, s, count, start, float(starts), float(BUDGET), tolerances,
                *targets, *weights, *multipliers,
            )  # fmt: skip
            q, s, count, start = found.q, found.next_start, found.count, found.start
            if self.rows:
                multipliers = [found.multipliers]
            steps[ids] += found.steps.astype(int)
            done = np.flatnonzero(found.state)
            if not len(done):
                continue
            which = ids[done]
            out[which], states[which] = q[done], found.state[done]
            used[which] = start[done] + (found.state[done] == 1.0)
            more = min(len(done), n - waiting)
            if more:
                new, own = np.arange(waiting, waiting + more), done[:more]
                waiting += more
                ids[own] = new
                q[own], s[own] = guess[new], following[new]
                count[own] = start[own] = 0.0
                for x in multipliers:
                    x[own] = 0.0
                for k, x in enumerate(given.targets):
                    if given.is_batched[k]:
                        targets[k][own] = x[new]
            if more < len(done):
                left = np.ones(len(ids), bool)
                left[done[more:]] = False
                ids, q, s, count, start = (x[left] for x in (ids, q, s, count, start))
                multipliers = [x[left] for x in multipliers]
                targets = [
                    x[left] if b else x
                    for x, b in zip(targets, given.is_batched, strict=True)
                ]
        return out, steps, used, states


def middle(robot: Robot) -> Array:
    """Return the middle of the limits; neutral where there are none."""
    q, limits = robot.neutral(), robot.limits
    is_limited = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    low, high = limits.lower[is_limited], limits.upper[is_limited]
    q[is_limited] = 0.5 * low + 0.5 * high
    return robot.clamp(q)


def _by_unit(tolerance: Any) -> dict[str, float]:
    """Return tolerances by unit."""
    both: Any = tolerance if type(tolerance) in (tuple, list) else (tolerance,) * 2
    if len(both) != 2:
        raise ArgumentError(
            f"tolerance is {tolerance!r}; expected one number, or two: [m] and [rad]"
        )
    values = [
        finite_number("tolerance", x, "more than 0", lambda x: x > 0.0) for x in both
    ]
    return {"m": values[0], "rad": values[1]}
