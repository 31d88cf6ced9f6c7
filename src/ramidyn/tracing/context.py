"""One robot in one trace: its inputs as symbols, for the caller and for the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from ramidyn.coordinates.coordinates import Coordinates, JointVector
from ramidyn.description.conventions import Conventions
from ramidyn.spatial.vector3 import Vec, vec
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.model import Model
from ramidyn.tree.tree import Tree

Symbols = Any
"""A NumPy array of symbols."""


@final
class Context:
    """A robot's state while quantities are traced.

    Args:
        model: the robot, its frames placed.
        conventions: the caller's.
        inputs: symbols by name.
        algorithm_of: the chooser, for quantities that are a part of others.
        dtype: what the program will run in; its rounding decides some constants.
        regroup: whether masses may move across joints (`dynamics_tree`).
    """

    def __init__(
        self,
        model: Model,
        conventions: Conventions,
        inputs: Mapping[str, Symbols],
        algorithm_of: Callable[[Any, Model, Conventions], str],
        dtype: str = "float64",
        regroup: bool = True,
    ) -> None:
        self.model = model
        self.conventions = conventions
        self.inputs = inputs
        self._algorithm_of = algorithm_of
        self.dtype = dtype
        self.regroup = regroup

    def with_inputs(self, **inputs: Symbols) -> Context:
        """Return the same robot and state with other inputs."""
        changed = {n: array(x) for n, x in inputs.items()}
        return Context(
            self.model,
            self.conventions,
            {**self.inputs, **changed},
            self._algorithm_of,
            self.dtype,
            self.regroup,
        )

    def algorithm_of(self, quantity: Any) -> str:
        """Return the cheapest algorithm of a quantity that is a part of another."""
        return self._algorithm_of(quantity, self.model, self.conventions)

    @cached_property
    def _trees(self) -> tuple[Tree, Tree]:
        from ramidyn.tree.parameters import parametrized

        plain, regrouped = parametrized(self.model, self.conventions, self.inputs)
        return (plain, regrouped) if self.regroup else (plain, plain)

    @property
    def tree(self) -> Tree:
        """The tree with frames placed, its inertias as they are."""
        return self._trees[0]

    @property
    def dynamics_tree(self) -> Tree:
        """The tree with masses regrouped: another robot with the same equations."""
        return self._trees[1]

    @cached_property
    def coordinates(self) -> Coordinates:
        """The configuration in the tree's coordinates."""
        return Coordinates(self.model, self.conventions, self.inputs["q"])

    @property
    def q(self) -> JointVector:
        """q in the tree's coordinates."""
        return self.coordinates.q

    @cached_property
    def qd(self) -> JointVector:
        """q̇ in the tree's coordinates."""
        return self.coordinates.velocity(self.inputs["qd"])

    @cached_property
    def qdd(self) -> JointVector:
        """q̈ in the tree's coordinates."""
        return self.coordinates.acceleration(self.inputs["qdd"], self.qd)

    @cached_property
    def gravity(self) -> Vec:
        """The acceleration of free fall."""
        if "gravity" in self.inputs:
            return vec(*self.inputs["gravity"])
        return vec(*map(float, self.tree.gravity))

    def six(self, angular: Sequence[Expr], linear: Sequence[Expr]) -> list[Expr]:
        """Return a 6-vector with its halves in the caller's order."""
        if self.conventions.order == "linear_first":
            return [*linear, *angular]
        return [*angular, *linear]

    def halves(self, x: Sequence[Expr]) -> tuple[Vec, Vec]:
        """Return (angular, linear) of a 6-vector in the caller's order."""
        first, second = vec(*x[:3]), vec(*x[3:])
        if self.conventions.order == "linear_first":
            return second, first
        return first, second


def zeros(n: int) -> list[Expr]:
    """Return n zeros."""
    return [const(0.0)] * n


def array(rows: Any) -> Symbols:
    """Return an array of symbols."""
    return np.array(rows, dtype=object)
