"""One robot in one trace: its inputs as symbols, and the options of quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from math import inf, isfinite
from numbers import Real
from typing import Any, Final, cast, final

import numpy as np

from ramidyn.coordinates.coordinates import Coordinates, JointVector
from ramidyn.description.conventions import EXPRESSED_IN, Conventions, axes_named
from ramidyn.errors import ArgumentError, flag_of, one_of
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
        from ramidyn.tree.parameters import parametrized_trees

        plain, regrouped = parametrized_trees(self.model, self.conventions, self.inputs)
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


def array(rows: Any, columns: int | None = None) -> Symbols:
    """Return an array of symbols; ``columns`` of a matrix that may have no rows."""
    found: Symbols = np.array(rows, dtype=object)
    return found if columns is None else found.reshape(len(rows), columns)


KINDS = ("classical", "spatial")


def frame(value: object) -> str:
    """Return the name of a frame; tracing checks whether the robot has it."""
    if isinstance(value, str):
        return value
    raise ArgumentError(
        f"frame is {value!r}; expected a name, such as one of robot.frame_names"
    )


def finite_number(
    name: str,
    value: object,
    expected: str,
    is_valid: Callable[[float], bool] = lambda _: True,
) -> float:
    """Return a finite number that is valid, or raise ArgumentError."""
    if isinstance(value, Real) and value is not True and value is not False:
        try:
            number = float(value)
        except OverflowError:
            number = inf
        if isfinite(number) and is_valid(number):
            return number
    raise ArgumentError(f"{name} is {value!r}; expected {expected}")


def nonnegative(name: str) -> Callable[[object], float]:
    """Return the check of an option that is a number, 0 or more."""
    expected = "a number, 0 or more"
    return lambda value: finite_number(name, value, expected, lambda x: x >= 0.0)


def external(value: object) -> tuple[str, ...]:
    """Return the names of frames that external forces act on."""
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        names = tuple(cast(Iterable[object], value))
        if all(isinstance(n, str) for n in names):
            return cast(tuple[str, ...], names)
    raise ArgumentError(f"external is {value!r}; expected a list of frame names")


def tasks(value: object) -> Any:
    """Return the tasks as a tuple; a name stands for the pose of that frame."""
    from ramidyn.algorithms.operational.tasks import tasks_of

    return tasks_of(cast(Any, value))


def flag(name: str) -> Callable[[object], bool]:
    """Return the check of an option that is True or False."""
    return partial(flag_of, name)


Checks = Mapping[str, Callable[[Any], Any]]
"""Option -> what returns its value or raises ArgumentError."""

SHARED: Final[Checks] = {
    "frame": frame,
    "tasks": tasks,
    "expressed_in": lambda x: axes_named(x) or one_of("expressed_in", x, EXPRESSED_IN),
    "kind": partial(one_of, "kind", possible=KINDS),
    "damping": nonnegative("damping"),
    "external": external,
    "packed": flag("packed"),
    "rate": nonnegative("rate"),
    "response": partial(one_of, "response", possible=("auto", "factor", "propagators")),
}
"""The options that mean the same in every quantity; others are in its declaration."""
