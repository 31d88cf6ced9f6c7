"""The structure of a problem of inverse kinematics, and where its search starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from ramidyn.coordinates.configurations import WIDEST, joint_limits
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.kinematics.goals import Goal, Posture, parts_of, row_count, target_shape
from ramidyn.tracing.quantity import Shapes
from ramidyn.tree.model import Model


@final
@dataclass(frozen=True, slots=True)
class Term:
    """A goal, and how its rows are weighted."""

    goal: Goal
    is_weighted: bool = False
    is_uniform: bool = True
    """whether all rows of a part have one weight"""
    constants: tuple[float, ...] = ()
    """weights of the rows that are not inputs"""


@final
@dataclass(frozen=True, slots=True)
class Structure:
    """What the code of a problem depends on; numbers are its inputs."""

    goals: tuple[Term, ...]
    equations: tuple[Term, ...]
    fixed: tuple[str, ...]
    """joints that do not move"""
    loop_rows: tuple[int, ...] = ()
    """the rows of the robot's loops, except those that follow from others"""

    def inputs(self, model: Model) -> Shapes:
        """Return the shapes of targets, weights and tolerances by name."""
        found: Shapes = {}
        for k, term in enumerate((*self.goals, *self.equations)):
            shape = target_shape(term.goal, model)
            if shape is not None:
                found[f"target{k}"] = shape
        weighted = sum(
            row_count(t.goal, model)
            for t in self.goals
            if t.is_weighted and not t.constants
        )
        if weighted:
            found["weights"] = (weighted,)
        return found

    def equation_count(self, model: Model) -> int:
        """Return the number of rows of loops and other equations."""
        further = sum(row_count(t.goal, model) for t in self.equations)
        return len(self.loop_rows) + further

    def judged_parts(self, model: Model) -> int:
        """Return the number of parts that decide on success."""
        goals = [t.goal for t in self.goals if not isinstance(t.goal, Posture)]
        return sum(len(parts_of(goal, model)) for goal in goals)


# ------------------------------------------------------------ starts


@final
@dataclass(frozen=True, slots=True, eq=False)
class Starts:
    """Where the search begins: the guess, then a low-discrepancy sequence.

        sₖ₊₁ = sₖ + α (upper − lower), less the range where it is beyond,  αᵢ = φ⁻ⁱ

    φ is the root of φⁿ⁺¹ = φ + 1 (Roberts' sequence). Entries that do not vary have
    α = 0: floating and spherical joints, unlimited distances, fixed joints.
    """

    lower: Array
    upper: Array
    stride: Array
    """(nq,) α times the range"""
    is_varied: npt.NDArray[np.bool_]

    @staticmethod
    def of(model: Model, fixed: Sequence[str]) -> Starts:
        """Return the starts of a robot."""
        limits = joint_limits(model)
        lower, upper = np.array(limits.lower), np.array(limits.upper)
        varied: list[int] = []
        for j in model.joints:
            if j.nq != j.nv or j.name in fixed:
                continue
            units = [unit for _, unit in joint_type(j.name, j.type).coordinates]
            for k, unit in enumerate(units, j.q_index):
                if not upper[k] - lower[k] <= WIDEST:
                    if unit != "rad":
                        continue
                    lower[k] = max(lower[k], -math.pi)
                    upper[k] = min(upper[k], lower[k] + 2.0 * math.pi)
                varied.append(k)
        phi = 2.0
        for _ in range(64):
            phi = (1.0 + phi) ** (1.0 / (len(varied) + 1))
        stride = np.zeros(model.nq)
        for i, k in enumerate(varied):
            stride[k] = (upper[k] - lower[k]) * phi ** -(i + 1)
        return Starts(lower, upper, stride, stride > 0.0)

    def origin(self, generator: np.random.Generator) -> Array:
        """Return a random point of the ranges, (nq,); 0 where nothing varies."""
        u = generator.random(len(self.stride))
        out = np.zeros(len(self.stride))
        k = self.is_varied
        out[k] = self.lower[k] + u[k] * (self.upper[k] - self.lower[k])
        return out

    def first(self, guess: Array, origin: Array) -> Array:
        """Return the start after the guess, (..., nq)."""
        return np.where(self.is_varied, origin, guess)

    def following(self, s: Array) -> Array:
        """Return the start after another, on numbers; see `problem.start_after`."""
        x = s + self.stride
        is_beyond = self.is_varied & (x > self.upper)
        x[is_beyond] -= np.broadcast_to(self.upper - self.lower, x.shape)[is_beyond]
        return x
