"""A Quantity: something that can be computed of a robot's state, over symbols.

A `Quantity` says which inputs it needs and how it is traced; `ramify.compile` makes
one kernel of one or several. Options come by calling it:
``forward_dynamics(algorithm="aba")``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from ramify.model.assembly import Model
from ramify.model.conventions import Conventions
from ramify.model.coordinates import Coordinates, JointVector
from ramify.model.parameters import parametrised
from ramify.model.placement import place_frames
from ramify.model.tree import Tree
from ramify.spatial.vector3 import Vec, vec
from ramify.symbolic.expr import Expr, const

Symbols = Any
"""A NumPy array of symbols."""

INPUTS: dict[str, Callable[[Model], int]] = {
    "q": lambda model: model.nq,
    "qd": lambda model: model.nv,
    "qdd": lambda model: model.nv,
    "tau": lambda model: model.nv,
}
"""The inputs that all quantities share, and their sizes, in the order of calls."""


@final
class Context:
    """One robot in one trace: its inputs as symbols, in the caller's and its terms."""

    def __init__(
        self,
        model: Model,
        conventions: Conventions,
        inputs: Mapping[str, Symbols],
        dtype: str = "float64",
        together: Sequence[Quantity] = (),
    ) -> None:
        self.model = model
        self.conventions = conventions
        self.inputs = inputs
        self.dtype = dtype
        """what the program will be run in: its rounding decides some constants"""
        self.together = together
        """all quantities of this trace: what one needs, others can share"""

    @cached_property
    def _trees(self) -> tuple[Tree, Tree]:
        return parametrised(self.model, self.conventions, self.inputs)

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
        """The configuration in the tree's terms."""
        return Coordinates(self.model, self.conventions, self.inputs["q"])

    @property
    def q(self) -> JointVector:
        """q in the tree's terms."""
        return self.coordinates.q

    @cached_property
    def qd(self) -> JointVector:
        """q̇ in the tree's terms."""
        return self.coordinates.velocity(self.inputs["qd"])

    @cached_property
    def qdd(self) -> JointVector:
        """q̈ in the tree's terms."""
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


@final
@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot's state.

    ``inputs`` are names of INPUTS; a quantity with others gives their shapes by
    ``shapes``, a function of the model and the options.
    """

    name: str
    inputs: tuple[str, ...]
    trace: Callable[..., Any]
    """(Context, **options) -> array of symbols, or a dict of arrays by name"""
    options: tuple[tuple[str, Any], ...] = ()
    shapes: Callable[..., dict[str, tuple[int, ...]]] | None = None
    """(Model, **options) -> further inputs by name"""
    algorithms: tuple[str, ...] = ()
    """what ``algorithm="auto"`` chooses from, by counting"""
    possible: Callable[[Model], tuple[str, ...]] | None = None
    """those of ``algorithms`` that a model allows, where it does not allow all"""

    def __call__(self, **options: Any) -> Quantity:
        """Return this quantity with other options."""
        return replace(self, options=tuple({**dict(self.options), **options}.items()))

    def choices(self, model: Model) -> tuple[str, ...]:
        """Return what ``algorithm="auto"`` has to choose from for this robot."""
        return self.algorithms if self.possible is None else self.possible(model)

    def __str__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.options)
        return f"{self.name}({shown})" if shown else self.name

    def input_shapes(self, model: Model) -> dict[str, tuple[int, ...]]:
        """Return the shape of every input for this robot."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name in self.inputs:
            shapes[name] = (INPUTS[name](model),)
        if self.shapes is not None:
            shapes.update(self.shapes(model, **dict(self.options)))
        return shapes

    def of(self, context: Context) -> Any:
        """Return the symbols of this quantity."""
        return self.trace(context, **dict(self.options))


def placed(model: Model) -> Model:
    """Return the model with its body frames placed, and its named frames following."""
    tree, moves = place_frames(model.tree)
    frames = {
        name: f
        if f.body < 0
        else replace(f, placement=moves[f.body].inverse() @ f.placement)
        for name, f in model.frames.items()
    }
    return replace(model, tree=tree, frames=frames)


def zeros(n: int) -> list[Expr]:
    """Return n zeros."""
    return [const(0.0)] * n


def array(rows: Any) -> Symbols:
    """Return an array of symbols."""
    return np.array(rows, dtype=object)
